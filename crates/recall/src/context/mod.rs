//! Composes the context block that is injected at session start.
//!
//! Markdown inside `<backstory-context>`: `select` chooses the memories, `block` keeps the text within the token budget
//! and the size that a host passes on, `writer` prints it. Without memories the result is no block, not an empty one.

mod block;
mod latest_summary;
mod open_work;
mod request;
mod select;
mod writer;

use backstory_store::{Note, Store, StoreError};
use backstory_text::WordSet;

pub use latest_summary::MAX_SUMMARIES;
use latest_summary::latest_summary;
pub use open_work::{OpenItem, OpenItems, OpenWork, open_items, open_work};
pub(crate) use request::age;
pub use request::{ContextBlock, ContextEntry, ContextRequest, FullField, Limits};
use select::select;
use writer::Writer;
pub(crate) use writer::in_utc;

use crate::branch::CurrentBranch;

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
    let branch = CurrentBranch {
        store,
        project: project.db_id,
        name: situation.branch,
    };
    let chosen = select(
        &candidates,
        situation,
        limits,
        own.or(last_session),
        &stated,
        branch,
    )?;
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
    if situation.is_withheld {
        context = withhold(store, situation, limits, &pinned, context);
    }
    context.entries.extend(chosen.left_out);
    context.open_steps = summary.map_or(0, open_work::count_steps) + open.len();
    context.last_work = summary.map(|summary| summary.created_at);
    Ok(Some(context))
}

/// Returns a block with the pinned notes alone, and the entries of the whole block as withheld.
fn withhold(
    store: &Store,
    situation: &ContextRequest<'_>,
    limits: &Limits,
    pinned: &[Note],
    whole: ContextBlock,
) -> ContextBlock {
    let mut writer = Writer::new(store, situation, limits);
    if !pinned.is_empty() {
        writer.title();
        writer.pinned(pinned);
    }
    let mut block = writer.finish();
    if pinned.is_empty() {
        block.text.clear();
    }
    let others = whole.entries.into_iter().filter(|entry| {
        let is_pinned = block.entries.iter().any(|known| known.handle == entry.handle);
        entry.is_included && !is_pinned
    });
    let withheld: Vec<ContextEntry> = others
        .map(|entry| ContextEntry {
            is_included: false,
            is_withheld: true,
            tokens: 0,
            reason: format!("withheld by the experiment ({})", entry.reason),
            ..entry
        })
        .collect();
    block.entries.extend(withheld);
    block
}
