//! Composes the context block that is injected at session start.
//!
//! Markdown inside `<backstory-context>`: `select` chooses the memories, `block` keeps the text within the token budget
//! and the size that a host passes on, `writer` prints it. Without memories the result is no block, not an empty one.

mod block;
mod open_work;
mod request;
mod select;
mod writer;

use std::time::Duration;

use backstory_model::SessionId;
use backstory_store::{Store, StoreError, Summary};
use backstory_text::WordSet;

pub use open_work::{OpenWork, open_work};
pub(crate) use request::age;
pub use request::{ContextBlock, ContextEntry, ContextRequest, FullField, Limits};
use select::select;
use writer::Writer;
pub(crate) use writer::in_utc;

/// Number of latest summaries that are searched for the hand-over and for open work.
pub const MAX_SUMMARIES: u32 = 60;

/// Maximum number of earlier sessions whose open work is listed.
const MAX_OPEN: usize = 3;

/// The number of recent sessions whose hand-overs are listed.
const MAX_SESSIONS: u32 = 10;

/// Number of latest notes that are considered.
const MAX_NOTES: u32 = 20;

/// Builds the block; `None` if no memory is worth including.
pub fn context(
    store: &Store,
    situation: &ContextRequest<'_>,
    limits: &Limits,
) -> Result<Option<ContextBlock>, StoreError> {
    let project = situation.project;
    let pinned = store.pinned_notes(project)?;
    let notes = store.latest_notes(project, MAX_NOTES)?;
    let summaries = store.latest_summaries(project, MAX_SUMMARIES)?;
    let own = match situation.compacted_session {
        Some(session) => store.session_db_id(session)?,
        None => None,
    };
    let summary = latest_summary(&summaries, situation.branch, own);
    let candidates = select::candidates(store, project, limits)?;
    let last_session = summary.and_then(|summary| summary.session_db_id);
    // Repetition is measured against the text that is printed.
    let stated = summary.map(writer::summary_lines).unwrap_or_default();
    let stated: WordSet = stated.iter().map(String::as_str).collect();
    let chosen = select(&candidates, situation, limits, own.or(last_session), &stated);
    if pinned.is_empty() && notes.is_empty() && summary.is_none() && chosen.included.is_empty() {
        return Ok(None);
    }
    let open = open_work(&summaries, summary, situation, MAX_OPEN);
    let mut writer = Writer::new(store, situation, limits);
    writer.title();
    if !chosen.included.is_empty() {
        writer.legend();
    }
    writer.pinned(&pinned);
    writer.notes(&notes);
    if let Some(summary) = summary {
        writer.summary(summary, own.is_some() && summary.session_db_id == own);
    }
    writer.open_work(&open);
    let sessions = store.recent_sessions(project, MAX_SESSIONS + 1)?;
    let sessions = writer.fitting_sessions(&sessions, summary.and_then(|summary| summary.session_db_id));
    writer.memories(&chosen, &stated)?;
    writer.sessions(&sessions);
    let mut context = writer.finish();
    context.entries.extend(chosen.left_out);
    context.open_steps = summary.map_or(0, open_work::count_steps) + open.len();
    context.last_work = summary.map(|summary| summary.created_at);
    Ok(Some(context))
}

/// Returns the summary where work stopped: that of the session that continues, else the latest of this branch unless it is
/// much older than the latest of any branch.
fn latest_summary<'s>(
    summaries: &'s [Summary],
    branch: Option<&str>,
    own: Option<SessionId>,
) -> Option<&'s Summary> {
    const NOT_MUCH: Duration = Duration::from_hours(7 * 24);
    let says_something = |summary: &&Summary| {
        let fields = [
            &summary.completed,
            &summary.next_steps,
            &summary.learned,
            &summary.notes,
        ];
        fields.into_iter().flatten().any(|text| !text.trim().is_empty())
    };
    let mut telling = summaries.iter().filter(says_something);
    if own.is_some()
        && let Some(summary) = telling.clone().find(|summary| summary.session_db_id == own)
    {
        return Some(summary);
    }
    let latest = telling.next()?;
    let on_branch = summaries.iter().filter(says_something).find(|summary| {
        branch.is_some()
            && summary.branch.as_deref() == branch
            && latest.created_at.since(summary.created_at) < NOT_MUCH
    });
    Some(on_branch.unwrap_or(latest))
}
