//! `backstory session`: one conversation, turn by turn.

use anstream::println;
use anyhow::{Result, bail};
use backstory_store::{Session, SessionError, Turn};
use serde_json::{Map, Value};

use super::{Status, open_store, sessions};
use crate::{
    clock,
    home::Home,
    output::{self, BAD, BOLD, DIM},
};

/// Show one session, turn by turn
#[derive(clap::Args)]
pub(crate) struct Show {
    /// The session's id, or the beginning of it
    #[arg(value_name = "ID")]
    id: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(home: &Home, arguments: &Show) -> Result<Status> {
    let unknown = || SessionError::Unknown(arguments.id.clone());
    let found = match open_store(home)? {
        Some(store) => match store.session(&arguments.id) {
            Ok(session) => Ok((store.turns(&session)?, session)),
            Err(error) => Err(error),
        },
        None => Err(unknown()),
    };
    let (turns, session) = match found {
        Ok(found) => found,
        Err(error) => bail!("{error}\nhint: `backstory sessions` lists them"),
    };
    if arguments.json {
        println!("{}", as_json(&session, &turns));
    } else {
        print(&session, &turns);
    }
    Ok(Status::Done)
}

fn as_json(session: &Session, turns: &[Turn]) -> Value {
    let mut fields = sessions::as_json(session);
    let list: Vec<Value> = turns.iter().map(turn_json).collect();
    fields["turns"] = list.into();
    fields
}

fn turn_json(turn: &Turn) -> Value {
    let mut fields = match serde_json::to_value(turn) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.insert("started_at".to_owned(), output::rfc3339(turn.started_ms).into());
    fields.insert("ended_at".to_owned(), turn.ended_ms.map(output::rfc3339).into());
    Value::Object(fields)
}

fn print(session: &Session, turns: &[Turn]) {
    let now_ms = clock::now_ms();
    let width = output::width();
    let style = sessions::status_style(session.status);
    println!(
        "{BOLD}{}{BOLD:#}  {style}{}{style:#}",
        output::one_line(&session.session_id, 128),
        session.status
    );
    let line = |name: &str, value: Option<&str>| {
        if let Some(value) = value {
            println!("{DIM}{name:<9}{DIM:#} {}", output::one_line(value, width - 10));
        }
    };
    line(
        "project",
        Some(&format!("{} ({})", session.project, session.project_id)),
    );
    line("branch", session.branch.as_deref());
    line("worktree", session.worktree.as_deref());
    line("agent", Some(&session.host));
    line("started", Some(&output::ago(now_ms, session.started_ms)));
    line("last", Some(&output::ago(now_ms, session.last_event_ms)));
    line("events", Some(&session.events.to_string()));
    for turn in turns {
        let prompt = match (&turn.prompt, turn.machine_made) {
            (None, _) => "(the prompt was not heard)".to_owned(),
            (Some(_), true) => "(the agent itself)".to_owned(),
            (Some(prompt), false) => output::one_line(prompt, width - 5),
        };
        println!("\n{BOLD}{:>3}{BOLD:#}. {prompt}", turn.number);
        let mut facts = vec![output::count(turn.tools, "tool use")];
        if turn.subagent_tools > 0 {
            facts.push(format!("{} by sub-agents", turn.subagent_tools));
        }
        let failures = if turn.failures > 0 {
            format!(", {BAD}{} failed{BAD:#}", turn.failures)
        } else {
            String::new()
        };
        let open = if turn.ended_ms.is_none() {
            ", not ended"
        } else {
            ""
        };
        println!(
            "     {DIM}{}{DIM:#}{failures}{DIM}{open}{DIM:#}",
            facts.join(", ")
        );
    }
}
