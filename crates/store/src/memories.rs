//! Distilled memories, as recall reads them.

use rusqlite::OptionalExtension;

use crate::{Project, Store, StoreError, open::query};

/// A distilled memory, as far as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Its handle.
    pub id: i64,
    /// What it is about: the name of an observation type.
    pub kind: String,
    /// What is true since.
    pub title: String,
    /// When it came to be, in milliseconds since 1970.
    pub created_ms: i64,
}

/// A checkpoint of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// What was asked.
    pub request: Option<String>,
    /// What was found out.
    pub learned: Option<String>,
    /// What was done.
    pub completed: Option<String>,
    /// What is left to do.
    pub next_steps: Option<String>,
    /// The branch that the session was on.
    pub branch: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: i64,
}

impl Store {
    /// Returns the latest checkpoint of a project.
    pub fn latest_summary(&self, project: &Project) -> Result<Option<Summary>, StoreError> {
        const LATEST: &str = "select request, learned, completed, next_steps, branch, created_at
            from summary left join session on session.id = summary.session_db_id
            where summary.project_id = ?1 order by created_at desc limit 1";
        let attempt = query("read the latest summary");
        let mut statement = self.connection.prepare_cached(LATEST).map_err(attempt)?;
        let summary = statement.query_row([project.db_id], |row| {
            Ok(Summary {
                request: row.get(0)?,
                learned: row.get(1)?,
                completed: row.get(2)?,
                next_steps: row.get(3)?,
                branch: row.get(4)?,
                created_ms: row.get(5)?,
            })
        });
        summary.optional().map_err(attempt)
    }

    /// Returns the latest memories of a project that still hold, newest first.
    pub fn recent_observations(&self, project: &Project, most: u32) -> Result<Vec<Observation>, StoreError> {
        const RECENT: &str = "select id, type, title, created_at from observation
            where project_id = ?1 and superseded_by is null order by created_at desc, id desc limit ?2";
        let attempt = query("read the latest memories");
        let mut statement = self.connection.prepare_cached(RECENT).map_err(attempt)?;
        let rows = statement.query_map((project.db_id, most), |row| {
            Ok(Observation {
                id: row.get(0)?,
                kind: row.get(1)?,
                title: row.get(2)?,
                created_ms: row.get(3)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }
}
