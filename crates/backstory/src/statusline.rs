//! `backstory statusline`: one short line for the bar below Claude Code's prompt.
//!
//! The host runs it at every message, so it is nearly as fast as a hook: no argument parser, a read-only store, and at most
//! 50 ms of waiting for a locked database. On any error it prints nothing and exits 0. Unlike a hook it does not delay an
//! agent, so it has no thread with a deadline: that would cost an eighth of its time.

use std::{
    io::{self, Write},
    panic,
    path::Path,
};

use backstory_capture::{
    payload::{self, Payload},
    project,
};
use backstory_engine::{
    clock::Clock, engine::Engine, environment::Environment, injection_log::InjectionLog, project_claims,
};
use backstory_store::Store;
use backstory_system::read_stdin;

use crate::hook;

/// Maximum number of memories that are counted.
const MAX: u32 = 999;

pub(crate) fn run() {
    panic::set_hook(Box::new(|_| {}));
    // A panic costs the line, nothing else.
    if let Ok(Some(line)) = panic::catch_unwind(render) {
        // The host has closed the pipe, so it does not want the output.
        io::stdout().write_all(line.as_bytes()).ok();
    }
}

fn render() -> Option<String> {
    let input = read_stdin(hook::MAX_INPUT_BYTES).ok()?;
    let text = payload::to_text(&input);
    let payload = Payload::read(&text).ok()?;
    let folder = folder(&payload)?;
    let session = payload.text("session_id").map(std::borrow::Cow::into_owned);
    let engine = Engine::find(Clock::system(), Environment::process())?;
    if engine.environment.is_on("BACKSTORY_DISABLED") || project::is_ignored(Path::new(&folder)) {
        return Some("backstory · off here\n".to_owned());
    }
    read_counts(&engine, &folder, session.as_deref())
}

/// Returns the folder of the session: newer clients send it in `workspace`.
fn folder(payload: &Payload<'_>) -> Option<String> {
    let workspace = payload.raw("workspace").and_then(|raw| Payload::read(raw).ok());
    let current = workspace
        .as_ref()
        .and_then(|workspace| workspace.text("current_dir"));
    current
        .or_else(|| payload.text("cwd"))
        .map(std::borrow::Cow::into_owned)
}

fn read_counts(engine: &Engine, folder: &str, session: Option<&str>) -> Option<String> {
    let home = &engine.home;
    let memories = match home.database().exists() {
        true => {
            // Leaked: the process exits soon, and closing takes time.
            let store = Box::leak(Box::new(Store::open_immutable(&home.database()).ok()?));
            store
                .count_memories(&project_claims::locate(engine, Path::new(folder)).facts.key, MAX)
                .ok()?
        }
        false => 0,
    };
    let injected = session.map_or(0, |session| InjectionLog::of(home, session).count_injected());
    let mut line = match memories {
        0 => "backstory · no memories yet".to_owned(),
        1 => "backstory · 1 memory".to_owned(),
        MAX.. => format!("backstory · {MAX}+ memories"),
        some => format!("backstory · {some} memories"),
    };
    if injected > 0 {
        line.push_str(&format!(" · {injected} injected"));
    }
    line.push('\n');
    Some(line)
}
