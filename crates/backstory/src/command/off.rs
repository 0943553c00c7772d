//! `backstory off`, `backstory on`: take the running session off the record.

use std::time::Duration;

use anstream::println;
use anyhow::{Context, Result, bail};
use backstory_capture::private::PrivateTurns;
use backstory_engine::{engine::Engine, error::HintedError, forgetting::forget};
use backstory_store::{Selection, SessionError, Store};

use super::{ExitStatus, current_project, open_for_writing, open_store};
use crate::output::{count, print_hint};

/// Take the running session off the record
///
/// From now on nothing of the session is recorded, imported or recalled in it, also after it is resumed or compacted. This
/// cannot be undone. Without an id, the session of the agent that runs the command is meant, or else the only session that
/// runs in this project.
#[derive(clap::Args)]
pub(crate) struct Off {
    /// The session: its id, or a prefix of the id of a recorded session
    #[arg(value_name = "SESSION")]
    session: Option<String>,
    /// Also delete what the session has recorded so far
    #[arg(long)]
    forget: bool,
}

/// Show how to go back on the record: start a new session
///
/// New sessions are recorded. A session that was taken off the record stays off.
#[derive(clap::Args)]
pub(crate) struct On {}

/// Variable in which Claude Code passes the id of the session to the commands that it runs.
const SESSION_VARIABLE: &str = "CLAUDE_CODE_SESSION_ID";

pub(crate) fn off(engine: &Engine, arguments: &Off) -> Result<ExitStatus> {
    let store = open_store(engine)?;
    let session_id = match &arguments.session {
        Some(given) => full_id(store.as_ref(), given)?,
        None => running_session(engine, store.as_ref())?,
    };
    let spool = engine.home.spool();
    spool.create().context("could not create the spool")?;
    let private = PrivateTurns::of(&spool, &session_id);
    private
        .and_then(|session| session.turn_off())
        .context("could not take the session off the record")?;
    // Events of hooks that ran meanwhile.
    drop(store);
    let mut store = match open_store(engine)? {
        Some(store) => store,
        None => open_for_writing(engine)?,
    };
    store.take_off_the_record(&session_id)?;
    println!(
        "Session {session_id} is off the record: nothing more of it is recorded, and nothing is recalled in it."
    );
    let recorded = match store.session(&session_id) {
        Ok(session) => Some(session),
        Err(SessionError::Unknown(_)) => None,
        Err(error) => return Err(error.into()),
    };
    match recorded {
        None => println!("Nothing of it was recorded before."),
        Some(session) if arguments.forget => {
            let settings = engine.checked_settings()?.context;
            forget(engine, &mut store, Selection::Session(&session), &settings)?;
            println!("Deleted what it had recorded.");
        }
        Some(session) => {
            println!("{} recorded before.", count(session.events, "event"));
            print_hint(format_args!(
                "`backstory off {session_id} --forget` deletes what was recorded"
            ));
        }
    }
    Ok(ExitStatus::Done)
}

pub(crate) fn on(engine: &Engine, _: &On) -> Result<ExitStatus> {
    let is_off = match engine.environment.text(SESSION_VARIABLE) {
        Some(id) => PrivateTurns::of(&engine.home.spool(), &id)?.is_off(),
        None => false,
    };
    if is_off {
        println!("This session stays off the record.");
    }
    println!("New sessions are recorded. A session that was taken off the record stays off.");
    Ok(ExitStatus::Done)
}

/// Completes the id of a recorded session. Another id is taken as it is: the session may not have recorded anything yet.
fn full_id(store: Option<&Store>, given: &str) -> Result<String> {
    /// Agents use UUIDs.
    const MIN_LEN: usize = 32;
    let unknown = || Err(SessionError::Unknown(given.to_owned()));
    match store.map_or_else(unknown, |store| store.session(given)) {
        Ok(session) => Ok(session.session_id),
        Err(SessionError::Unknown(_)) if given.len() >= MIN_LEN => Ok(given.to_owned()),
        Err(error) => {
            bail!(HintedError::new(format_args!("{error}")).hint("`backstory sessions` lists them"))
        }
    }
}

/// Returns the session of the agent that runs the command, or else the only one that runs in this project.
fn running_session(engine: &Engine, store: Option<&Store>) -> Result<String> {
    /// An agent reports something at least this often while it is used.
    const RECENT: Duration = Duration::from_mins(30);
    const MAX_SESSIONS: u32 = 50;
    if let Some(id) = engine
        .environment
        .text(SESSION_VARIABLE)
        .filter(|id| !id.is_empty())
    {
        return Ok(id);
    }
    let mut here = Vec::new();
    if let Some(store) = store
        && let Some(project) = current_project(engine, store)?
    {
        here = store.running(engine.clock.timestamp() - RECENT, MAX_SESSIONS)?;
        here.retain(|session| session.project_id == project.id);
    }
    match here.as_slice() {
        [only] => Ok(only.session_id.clone()),
        [] => bail!(
            HintedError::new("no session runs in this project, as far as is known")
                .hint("pass its id: `backstory off SESSION`; `backstory sessions` lists recorded sessions")
        ),
        several => {
            let ids: Vec<&str> = several
                .iter()
                .map(|session| session.session_id.as_str())
                .collect();
            bail!(
                HintedError::new(format_args!("{} sessions run in this project", ids.len()))
                    .hint(format!("pass one of their ids: {}", ids.join(", ")))
            )
        }
    }
}
