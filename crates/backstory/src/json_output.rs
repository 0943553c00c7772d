//! Prints JSON: one object per command, with the same first keys everywhere.
//!
//! `schema` names the command and the version of its keys, `ok` is false if `error` follows; all other keys are those of the
//! command. What was a list before there was an envelope (`show`, `logins`, lines of `restore` and `export`) stays one until
//! 1.0, and `config get` prints the bare value.

use std::{
    io::{self, IsTerminal as _},
    sync::OnceLock,
};

use anstream::println;
use backstory_engine::error::hints;
use clap::ArgMatches;
use serde_json::{Map, Value, json};

/// Version of the keys. It changes when a key is removed or gets another meaning, not when one is added.
const VERSION: u32 = 1;

/// The command that runs.
#[derive(Debug)]
struct Invocation {
    /// Its name as it is typed, such as `team status`.
    command: String,
    has_json: bool,
}

static INVOCATION: OnceLock<Invocation> = OnceLock::new();

/// Notes which command runs, and whether it prints JSON.
pub(crate) fn set_invocation(matches: &ArgMatches) {
    let mut names = Vec::new();
    let mut has_json = false;
    let mut level = matches;
    while let Some((name, inner)) = level.subcommand() {
        names.push(name);
        has_json |= inner
            .try_get_one::<bool>("json")
            .is_ok_and(|json| json == Some(&true));
        level = inner;
    }
    let command = names.join(" ");
    INVOCATION.set(Invocation { command, has_json }).ok();
}

/// Prints the result of a command: in one line, or indented for a reader.
pub(crate) fn print_json(fields: Value) {
    let object = with_envelope(fields);
    if io::stdout().is_terminal() {
        println!("{object:#}");
    } else {
        println!("{object}");
    }
}

/// Returns the result of a command behind the keys of every command; a list as it is.
pub(crate) fn with_envelope(fields: Value) -> Value {
    match fields {
        Value::Object(fields) => envelope(true, fields),
        list => list,
    }
}

/// Prints an error beside its text on stderr, if the command prints JSON.
pub(crate) fn print_json_error(error: &anyhow::Error) {
    if INVOCATION.get().is_some_and(|invocation| invocation.has_json) {
        let mut messages = error.chain().map(ToString::to_string);
        let message = messages.next();
        let causes: Vec<String> = messages.collect();
        let hints: Vec<String> = hints(error).iter().map(ToString::to_string).collect();
        let error = json!({"message": message, "causes": causes, "hints": hints});
        println!(
            "{}",
            envelope(false, Map::from_iter([("error".to_owned(), error)]))
        );
    }
}

/// Returns an object that starts with the keys of every command. A key of the command replaces one of these.
fn envelope(is_ok: bool, fields: Map<String, Value>) -> Value {
    let command = INVOCATION.get().map_or("", |invocation| &invocation.command);
    let schema = format!("backstory.{}/{VERSION}", command.replace(' ', "."));
    let mut object = Map::from_iter([
        ("schema".to_owned(), json!(schema)),
        ("ok".to_owned(), json!(is_ok)),
    ]);
    object.extend(fields);
    Value::Object(object)
}
