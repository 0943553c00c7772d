//! The latest sessions of a project as spans of time, with its decisions and failures.
//!
//! Reads a bounded number of the latest rows, as `activity` does.

use backstory_model::{ObservationId, Timestamp};
use rusqlite::params;

use crate::{Project, Store, StoreError, sql::Statements as _};

/// The most observations that are looked at for marks.
const MAX_SCANNED: u32 = 3_000;

/// Holds when a session took place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionSpan {
    /// The agent's own id.
    pub session_id: String,
    /// The title, else the first prompt.
    pub title: Option<String>,
    /// The latest branch.
    pub branch: Option<String>,
    /// The start.
    pub started_at: Timestamp,
    /// The last event.
    pub last_event_at: Timestamp,
}

/// Tells what happened at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineMarkKind {
    /// A decision.
    Decision,
    /// An error that was resolved, or an attempt that did not work.
    Failure,
}

/// Holds a decision or a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineMark {
    /// The memory.
    pub id: ObservationId,
    /// Its kind.
    pub kind: TimelineMarkKind,
    /// Its title.
    pub title: String,
    /// The branch of its session.
    pub branch: Option<String>,
    /// The time.
    pub at: Timestamp,
}

impl Store {
    /// Returns the latest sessions of a project that had turns, the latest first.
    pub fn session_spans(&self, project: &Project, limit: u32) -> Result<Vec<SessionSpan>, StoreError> {
        const SPANS: &str = "select session_id, branch, started_at, last_event_at, coalesce(title, (
                    select prompt from turn where session_db_id = session.id and machine_made = 0 and prompt is not null
                    order by number limit 1)) as title
            from session indexed by session_by_project
            where project_id = ?1 and exists (select 1 from turn where session_db_id = session.id)
            order by last_event_at desc limit ?2";
        self.read("list the sessions of a project", |connection| {
            connection.rows(SPANS, params![project.db_id, limit], |row| {
                Ok(SessionSpan {
                    session_id: row.get("session_id")?,
                    title: row.get("title")?,
                    branch: row.get("branch")?,
                    started_at: row.get("started_at")?,
                    last_event_at: row.get("last_event_at")?,
                })
            })
        })
    }

    /// Returns the decisions and failures of a project since a time, the latest first.
    pub fn timeline_marks(
        &self,
        project: &Project,
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<TimelineMark>, StoreError> {
        const MARKS: &str =
            "select latest.id as id, latest.type = 'decision' as is_decision, latest.title as title,
                session.branch as branch, latest.created_at as at
            from (select id, type, title, rejected, error_signature, session_db_id, created_at
                    from observation indexed by observation_by_project
                    where project_id = ?1 and created_at >= ?2 order by created_at desc limit ?3) as latest
                left join session on session.id = latest.session_db_id
            where latest.type = 'decision' or latest.rejected = 1 or latest.error_signature is not null
            order by latest.created_at desc limit ?4";
        self.read("look for decisions and failures", |connection| {
            let values = params![project.db_id, since, MAX_SCANNED, limit];
            connection.rows(MARKS, values, |row| {
                Ok(TimelineMark {
                    id: row.get("id")?,
                    kind: if row.get("is_decision")? {
                        TimelineMarkKind::Decision
                    } else {
                        TimelineMarkKind::Failure
                    },
                    title: row.get("title")?,
                    branch: row.get("branch")?,
                    at: row.get("at")?,
                })
            })
        })
    }
}
