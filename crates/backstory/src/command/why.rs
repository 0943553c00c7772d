//! `backstory why`: when a memory was given to a session, and why.

use anstream::println;
use anyhow::Result;
use backstory_engine::{
    engine::Engine,
    injection_log::{self, InjectionRecord},
};
use backstory_model::Handle;
use serde_json::{Value, json};

use super::{ExitStatus, open_store, unknown};
use crate::output::{self, BOLD, DIM};

/// Show when and why a memory was injected or skipped
#[derive(clap::Args)]
pub(crate) struct Why {
    /// A handle such as 123, S12, P34, N5, V678
    handle: Handle,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Why) -> Result<ExitStatus> {
    let handle = arguments.handle;
    let memory = match open_store(engine)? {
        Some(store) => store.memory(handle)?,
        None => None,
    };
    let Some(memory) = memory else {
        return Err(unknown(handle));
    };
    let given = injection_log::of_memory(&engine.home, handle)?;
    if arguments.json {
        let list: Vec<Value> = given
            .iter()
            .map(|(session, given)| as_json(session, given))
            .collect();
        println!("{:#}", json!({"id": handle, "given": list}));
        return Ok(ExitStatus::Done);
    }
    let fields = memory.fields();
    let title = if fields.title.is_empty() {
        &fields.narrative
    } else {
        &fields.title
    };
    println!(
        "{BOLD}{handle}{BOLD:#} {}",
        output::one_line(title, output::width().saturating_sub(8))
    );
    if given.is_empty() {
        println!("Never injected or considered.");
        return Ok(ExitStatus::Done);
    }
    let now = engine.clock.timestamp();
    for (session, given) in &given {
        let verdict = match given.told {
            true => format!("injected at {}", place(&given.moment)),
            false => format!("skipped at {}", place(&given.moment)),
        };
        println!(
            "  {:>8}  session {}  {verdict}: {}",
            output::ago(now, given.at),
            output::one_line(session, 12),
            given.reason
        );
        if let Some(file) = &given.file {
            println!("            {DIM}{file}{DIM:#}");
        }
    }
    Ok(ExitStatus::Done)
}

fn place(moment: &str) -> &str {
    match moment {
        "start" => "start",
        "file" => "opening of a file",
        other => other,
    }
}

fn as_json(session: &str, given: &InjectionRecord) -> Value {
    json!({
        "session_id": session,
        "at": output::rfc3339(given.at),
        "moment": given.moment,
        "file": given.file,
        "reason": given.reason,
        "tokens": given.tokens,
        "told": given.told,
    })
}
