//! The hook path: stdin to spool in well under a millisecond.
//!
//! Never fails, never blocks, and prints only output that the host honors. Not on this path: argument parser, SQLite
//! writes, TOML (unless the settings changed), regular expressions, time zones, logging frameworks, waits for other processes.

mod name;
mod output;
mod receipt_line;
mod session_context;
mod tool_lookup;

use std::{
    io::{self, Write},
    panic,
};

use backstory_capture::{
    host::{self, HostPayload},
    payload::{self, Payload},
};

use backstory_engine::{
    clock::Clock,
    engine::Engine,
    environment::Environment,
    record::{self, RecordOutcome},
};
use backstory_model::Host;
use backstory_system::read_stdin;

use crate::receipt;
use name::Hook;
use tool_lookup::ToolLookup;

/// Runs `backstory hook <words>`.
pub(crate) fn run(words: &[String]) {
    let environment = Environment::process();
    let debug = environment.is_on("BACKSTORY_DEBUG");
    if !debug {
        panic::set_hook(Box::new(|_| {}));
    }
    // A host takes a failing hook as a request to stop: a panic here must not cause that.
    let outcome = panic::catch_unwind(|| handle(words, environment))
        .unwrap_or(RecordOutcome::Failed("a panic".to_owned()));
    if debug {
        // If stderr is closed, the outcome cannot be reported.
        writeln!(io::stderr(), "backstory: {outcome}").ok();
    }
}

fn handle(words: &[String], environment: Environment) -> RecordOutcome {
    // Leaked: the process exits soon, and freeing the pages takes time.
    let input = read_stdin(MAX_INPUT_BYTES).map(|input| &*input.leak());
    #[cfg(debug_assertions)]
    assert!(
        !environment.is_on("BACKSTORY_TEST_PANIC"),
        "a test asked for this"
    );
    if environment.is_on("BACKSTORY_INTERNAL") {
        return RecordOutcome::Off("BACKSTORY_INTERNAL is set");
    }
    let Some(engine) = Engine::find(Clock::system(), environment) else {
        return RecordOutcome::Failed("no home folder: set HOME or BACKSTORY_HOME".to_owned());
    };
    if let Err(error) = engine.home.check() {
        return RecordOutcome::Failed(error.to_string());
    }
    let name = words.first().map_or("", String::as_str);
    if words.iter().any(|word| word == "--plugin") && receipt::has_claude_code(&engine.home) {
        return RecordOutcome::Off("Claude Code's settings call this hook too");
    }
    let host = host(words);
    let spec = host::find(host.as_str());
    let (name, input) = match (spec.and_then(|spec| spec.normalize), input) {
        (Some(translate), Ok(input)) => match normalize(translate, name, input) {
            Ok((name, input)) => (name, Ok(input)),
            Err(outcome) => return outcome,
        },
        (_, input) => (name, input),
    };
    let Some(hook) = Hook::from_name(name) else {
        return record::unknown_event(&engine, name);
    };
    // An unknown host is assumed to send the payloads of the first host.
    let spec = spec.unwrap_or(host::HOSTS[0]);
    let outcome = match (hook, input) {
        (Hook::PreToolUse, input) => {
            if let Some(look) = input.ok().and_then(|input| ToolLookup::read(&engine, input)) {
                output::print_lookup(&engine, spec, &look);
            }
            return RecordOutcome::Nothing("no event is recorded before a tool use");
        }
        (Hook::Record(kind), Ok(input)) => record::record(&engine, kind, &host, input, None),
        (Hook::Record(_), Err(error)) => RecordOutcome::Failed(format!("could not read stdin: {error}")),
    };
    output::print(&engine, spec, hook, &outcome);
    outcome
}

/// Maps the payload of another host to ours. Input that is not JSON stays as it is; the caller counts it.
fn normalize<'w>(
    mapping: host::Normalize,
    name: &'w str,
    input: &'static [u8],
) -> Result<(&'w str, &'static [u8]), RecordOutcome> {
    let text = payload::to_text(input);
    let Ok(payload) = Payload::read(&text) else {
        return Ok((name, input));
    };
    let folder = std::env::current_dir().unwrap_or_default();
    let report = HostPayload {
        event: name,
        payload: &payload,
        folder: &folder.to_string_lossy(),
    };
    match mapping(&report) {
        Some(ours) => Ok((ours.event, ours.json.leak().as_bytes())),
        // An unknown event is counted by its name.
        None if Hook::from_name(name).is_none() => Ok((name, input)),
        None => Err(RecordOutcome::Nothing("not an event of ours")),
    }
}

/// Parses `--host NAME` or `--host=NAME`; anything else means the first host of the table.
fn host(words: &[String]) -> Host {
    let named = words
        .iter()
        .enumerate()
        .find_map(|(index, word)| match word.strip_prefix("--host")? {
            "" => words.get(index + 1).map(String::as_str),
            rest => rest.strip_prefix('='),
        });
    named.and_then(Host::new).unwrap_or_else(Host::claude_code)
}

/// Maximum input of a hook. No agent sends this much; beyond it the JSON is truncated and the event is counted as
/// unreadable.
pub(crate) const MAX_INPUT_BYTES: usize = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_named_or_assumed() {
        let named = |words: &[&str]| {
            host(&words.iter().map(ToString::to_string).collect::<Vec<_>>())
                .as_str()
                .to_owned()
        };
        assert_eq!(named(&["stop"]), "claude-code");
        assert_eq!(named(&["stop", "--host", "codex"]), "codex");
        assert_eq!(named(&["stop", "--host=gemini-cli"]), "gemini-cli");
        assert_eq!(named(&["stop", "--host"]), "claude-code");
        assert_eq!(named(&["stop", "--host", "../x"]), "claude-code");
    }
}
