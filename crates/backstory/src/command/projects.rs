//! `backstory projects`: lists projects.

use anstream::println;
use anyhow::Result;
use backstory_engine::engine::Engine;
use serde_json::{Value, json};

use super::{ExitStatus, current_project, open_store};
use crate::{
    json_output::print_json,
    output::{self, BOLD, DIM, GOOD, Page, Times, count, memories},
};

/// List projects, the latest first
#[derive(clap::Args)]
pub(crate) struct Projects {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Projects) -> Result<ExitStatus> {
    let Some(store) = open_store(engine)? else {
        match arguments.json {
            true => print_json(json!({"projects": []})),
            false => println!("No projects yet. `backstory demo` shows an example."),
        }
        return Ok(ExitStatus::Done);
    };
    let projects = store.projects()?;
    if arguments.json {
        let list: Vec<Value> = projects
            .iter()
            .map(|card| {
                json!({
                    "id": card.project.id,
                    "name": card.project.name,
                    "root": card.project.root,
                    "sessions": card.sessions,
                    "observations": card.observations,
                    "last_event_at": card.last_event_at.map(output::rfc3339),
                })
            })
            .collect();
        print_json(json!({ "projects": list }));
        return Ok(ExitStatus::Done);
    }
    let times = Times::new(engine)?;
    let here = current_project(engine, &store)?;
    let mut page = Page::new(output::width());
    for card in &projects {
        let when = card.last_event_at.map(|at| times.ago(at)).unwrap_or_default();
        let name = output::one_line(&card.project.name, 24);
        let mark = match &here {
            Some(here) if here.id == card.project.id => format!("  {GOOD}this folder{GOOD:#}"),
            _ => String::new(),
        };
        page.line(format_args!(
            "{BOLD}{name:<24}{BOLD:#} {DIM}{when:>10}{DIM:#}  {}, {}{mark}",
            count(card.sessions, "session"),
            memories(card.observations)
        ));
        page.line(format_args!(
            "  {DIM}{}{DIM:#}",
            output::one_line(&card.project.id, page.width - 2)
        ));
    }
    page.print(&engine.environment);
    Ok(ExitStatus::Done)
}
