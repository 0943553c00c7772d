//! `backstory sessions`: lists sessions.

use anstream::println;
use anyhow::Result;
use backstory_engine::engine::Engine;
use backstory_model::{SessionStatus, Timestamp};
use backstory_serve::api_types;
use backstory_store::{Session, SessionFilter};

use super::{ExitStatus, open_store, project};
use crate::output::{self, BAD, BOLD, BUSY, DIM, GOOD};

/// List sessions, newest first
#[derive(clap::Args)]
pub(crate) struct Sessions {
    /// Only this project: its folder name, a path inside it, or its id
    #[arg(long, value_name = "P")]
    project: Option<String>,
    /// Maximum number of results
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Sessions) -> Result<ExitStatus> {
    let Some(store) = open_store(engine)? else {
        if arguments.json {
            println!("{{\"sessions\":[]}}");
        } else {
            println!("No sessions yet. `backstory demo` shows an example.");
        }
        return Ok(ExitStatus::Done);
    };
    let project = arguments
        .project
        .as_deref()
        .map(|named| project(engine, &store, named))
        .transpose()?;
    let sessions = store.sessions(&SessionFilter {
        after: None,
        project: project.as_ref(),
        limit: arguments.limit,
    })?;
    if arguments.json {
        let list: Vec<api_types::SessionJson> =
            sessions.into_iter().map(api_types::SessionJson::from).collect();
        println!("{}", serde_json::json!({ "sessions": list }));
    } else if sessions.is_empty() {
        println!("No sessions yet.");
    } else {
        let now = engine.clock.timestamp();
        sessions.iter().for_each(|session| print(session, now));
    }
    Ok(ExitStatus::Done)
}

/// Returns the color of a status.
pub(crate) fn status_style(status: SessionStatus) -> anstyle::Style {
    match status {
        SessionStatus::Active => GOOD,
        SessionStatus::Summarizing => BUSY,
        SessionStatus::Completed => DIM,
        SessionStatus::Interrupted | SessionStatus::Failed => BAD,
    }
}

fn print(session: &Session, now: Timestamp) {
    /// Width of the columns before the project.
    const LEFT_WIDTH: usize = 31;
    let style = status_style(session.status);
    let id: String = session.session_id.chars().take(8).collect();
    let branch = session
        .branch
        .as_deref()
        .map(|branch| format!(" on {branch}"))
        .unwrap_or_default();
    let width = output::width();
    let place = output::one_line(
        &format!("{}{branch}", session.project),
        (width - LEFT_WIDTH).min(40),
    );
    let counts = format!(
        "{} · {}",
        output::count(session.prompts, "prompt"),
        output::count(session.events, "event")
    );
    let fits = LEFT_WIDTH + place.chars().count() + 3 + counts.chars().count() <= width;
    let gap = if fits { " · " } else { "\n         " };
    println!(
        "{BOLD}{:<8}{BOLD:#} {DIM}{:>8}{DIM:#}  {style}{:<11}{style:#} {place}{DIM}{gap}{counts}{DIM:#}",
        output::one_line(&id, 8),
        output::ago(now, session.last_event_at),
        session.status,
    );
    let title = session
        .title
        .as_deref()
        .or(session.first_prompt.as_deref())
        .unwrap_or("");
    if !title.is_empty() {
        println!("         {}", output::one_line(title, width - 9));
    }
}
