//! The rows of the list: memories, hand-overs and sessions, with what a row shows and what its actions need.

use std::ops::Range;

use anstyle::Style;
use backstory_model::{Handle, MemoryKind, Timestamp};
use backstory_recall::{SearchHit, matches};
use backstory_store::Session;

use crate::{
    command::sessions::status_style,
    output::{self, BOLD},
};

/// The longest title of a row; longer ones are in the preview.
const MAX_TITLE: usize = 240;

/// What a row stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Memory(Handle),
    /// A session, by the agent's own id.
    Session(String),
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) target: Target,
    /// The type in one word.
    pub(super) label: &'static str,
    pub(super) style: Style,
    pub(super) title: String,
    /// The words of the query in the title.
    pub(super) marks: Vec<Range<usize>>,
    pub(super) at: Timestamp,
    pub(super) project: Option<String>,
    pub(super) session: Option<String>,
    pub(super) is_pinned: bool,
    /// Superseded, or a cited file changed.
    pub(super) is_outdated: bool,
}

impl Row {
    pub(super) fn of_hit(hit: &SearchHit, words: &[String]) -> Self {
        let memory = &hit.memory;
        let (label, style) = output::label(&memory.record, memory.rejected);
        let title = output::one_line(memory.record.headline(), MAX_TITLE);
        Self {
            target: Target::Memory(memory.handle),
            label,
            style,
            marks: matches(&title, words),
            title,
            at: memory.created_at,
            project: memory.project_name.clone(),
            session: memory.record.session_id.clone(),
            is_pinned: memory.record.pinned,
            is_outdated: hit.is_stale || memory.superseded_by.is_some(),
        }
    }

    /// Reports whether it is a prompt or evidence.
    pub(super) fn is_verbatim(&self) -> bool {
        match &self.target {
            Target::Memory(handle) => matches!(handle.kind, MemoryKind::Prompt | MemoryKind::Passage),
            Target::Session(_) => false,
        }
    }

    pub(super) fn of_session(session: &Session, words: &[String]) -> Self {
        let named = session.title.as_deref().or(session.first_prompt.as_deref());
        let title = output::one_line(named.unwrap_or("(no prompt)"), MAX_TITLE);
        Self {
            target: Target::Session(session.session_id.clone()),
            label: "session",
            style: BOLD.fg_color(status_style(session.status).get_fg_color()),
            marks: matches(&title, words),
            title,
            at: session.last_event_at,
            project: Some(session.project.clone()),
            session: Some(session.session_id.clone()),
            is_pinned: false,
            is_outdated: false,
        }
    }
}
