//! `backstory team conflicts`: memories of a team that cannot all be right.

use anstream::println;
use anyhow::Result;
use backstory_engine::{
    engine::Engine,
    team::overview::{self, TeamConflict},
};
use backstory_store::TeamStatement;
use serde_json::{Value, json};

use crate::{
    command::{ExitStatus, open_store},
    json_output::print_json,
    output::{BOLD, DIM, Times, one_line, width},
};

/// List memories of the team that disagree
///
/// Memories of different people with the same words but other numbers or a negation, memories that somebody finds wrong,
/// and memories of others that replace yours. Nothing is decided for you.
#[derive(clap::Args)]
pub(super) struct Conflicts {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(engine: &Engine, arguments: &Conflicts) -> Result<ExitStatus> {
    let found = match open_store(engine)? {
        Some(store) => overview::conflicts(&store)?,
        None => Vec::new(),
    };
    if arguments.json {
        let conflicts: Vec<Value> = found.iter().map(as_json).collect();
        print_json(json!({ "conflicts": conflicts }));
        return Ok(ExitStatus::Done);
    }
    if found.is_empty() {
        println!("No conflicts.");
        return Ok(ExitStatus::Done);
    }
    let times = Times::new(engine)?;
    for conflict in &found {
        let statements = conflict.statements();
        match conflict {
            TeamConflict::Contradiction(_) => println!("{BOLD}Different statements{BOLD:#}"),
            TeamConflict::Disputed(one) => {
                println!(
                    "{BOLD}Disputed{BOLD:#}: {}",
                    one.opinions.label().unwrap_or_default()
                );
            }
            TeamConflict::Replaced(_) => println!("{BOLD}Yours is replaced{BOLD:#} by the first"),
        }
        for statement in statements {
            print_statement(&times, statement);
        }
        println!("  {DIM}{}{DIM:#}", remedy(conflict));
    }
    Ok(ExitStatus::Done)
}

fn print_statement(times: &Times, statement: &TeamStatement) {
    let author = statement.author.as_deref().unwrap_or("you");
    let commit = statement
        .commit
        .as_deref()
        .map(|commit| format!(", at {}", &commit[..commit.len().min(12)]));
    println!(
        "  {:>5} {} {DIM}{}, {}{}{DIM:#}",
        statement.handle.to_string(),
        one_line(&statement.title, width() / 2),
        one_line(author, 30),
        times.ago(statement.created_at),
        commit.unwrap_or_default()
    );
}

/// Returns the commands that end a conflict.
fn remedy(conflict: &TeamConflict) -> String {
    match conflict {
        TeamConflict::Contradiction(both) => {
            let [newer, older] = &**both;
            match (&newer.author, &older.author) {
                (Some(_), Some(_)) => format!(
                    "`backstory team replace {} --by {}`, or the other way round",
                    older.handle, newer.handle
                ),
                (Some(_), None) => keep_or_unshare(newer, older),
                (None, _) => keep_or_unshare(older, newer),
            }
        }
        TeamConflict::Disputed(one) if one.author.is_none() => format!(
            "`backstory edit {0}` corrects it, `backstory unshare {0}` takes it back",
            one.handle
        ),
        TeamConflict::Disputed(one) => format!(
            "`backstory team rate useful|wrong {}` says what you think",
            one.handle
        ),
        TeamConflict::Replaced(both) => {
            let [theirs, yours] = &**both;
            keep_or_unshare(theirs, yours)
        }
    }
}

fn keep_or_unshare(theirs: &TeamStatement, yours: &TeamStatement) -> String {
    format!(
        "`backstory team replace {} --by {}` keeps yours, `backstory unshare {1}` takes it back",
        theirs.handle, yours.handle
    )
}

fn as_json(conflict: &TeamConflict) -> Value {
    let statement = |one: &TeamStatement| {
        json!({"id": one.handle.to_string(), "author": one.author, "title": one.title, "project": one.project_key,
            "commit": one.commit, "useful": one.opinions.useful, "wrong": one.opinions.wrong})
    };
    let statements: Vec<Value> = conflict.statements().iter().map(statement).collect();
    json!({"kind": conflict.name(), "memories": statements})
}
