//! `backstory sessions`: lists sessions.

use anstream::println;
use anyhow::Result;
use backstory_engine::engine::Engine;
use backstory_model::SessionStatus;
use backstory_serve::api_types;
use backstory_store::{Session, SessionFilter};
use serde_json::json;

use super::{ExitStatus, open_store, scope::ScopeArguments};
use crate::{
    json_output::print_json,
    output::{self, BAD, BOLD, BUSY, DIM, GOOD, Page, Times},
};

/// List sessions, newest first
///
/// Of all projects, or of one.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory sessions             the last 20 sessions of all projects
  backstory sessions -p . -n 5   the last five of this project")]
pub(crate) struct Sessions {
    #[command(flatten)]
    scope: ScopeArguments,
    /// Maximum number of results
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Sessions) -> Result<ExitStatus> {
    let Some(store) = open_store(engine)? else {
        if arguments.json {
            print_json(json!({"sessions": []}));
        } else {
            println!("No sessions yet. `backstory demo` shows an example.");
        }
        return Ok(ExitStatus::Done);
    };
    let project = arguments.scope.find_or_all(engine, &store)?;
    let sessions = store.sessions(&SessionFilter {
        after: None,
        project: project.as_ref(),
        limit: arguments.limit,
    })?;
    if arguments.json {
        let list: Vec<api_types::SessionJson> =
            sessions.into_iter().map(api_types::SessionJson::from).collect();
        print_json(json!({ "sessions": list }));
    } else if sessions.is_empty() {
        println!("No sessions yet.");
    } else {
        let times = Times::new(engine)?;
        let mut page = Page::new(output::width());
        for session in &sessions {
            write(&mut page, session, &times);
        }
        page.print(&engine.environment);
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

fn write(page: &mut Page, session: &Session, times: &Times) {
    /// Width of the columns before the project.
    const LEFT_WIDTH: usize = 33;
    let style = status_style(session.status);
    let id: String = session.session_id.chars().take(8).collect();
    let branch = session
        .branch
        .as_deref()
        .map(|branch| format!(" on {branch}"))
        .unwrap_or_default();
    let width = page.width;
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
    page.line(format_args!(
        "{BOLD}{:<8}{BOLD:#} {DIM}{:>10}{DIM:#}  {style}{:<11}{style:#} {place}{DIM}{gap}{counts}{DIM:#}",
        output::one_line(&id, 8),
        times.ago(session.last_event_at),
        session.status,
    ));
    let title = session
        .title
        .as_deref()
        .or(session.first_prompt.as_deref())
        .unwrap_or("");
    if !title.is_empty() {
        page.line(format_args!("         {}", output::one_line(title, width - 9)));
    }
}
