//! Distilled memories, as recall reads them.

use rusqlite::OptionalExtension;
use serde::Serialize;

use crate::{Project, Session, Store, StoreError, open::query};

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

/// A memory of one turn, as the turn's session shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnMemory {
    /// Its handle.
    pub id: i64,
    /// The turn it was made of.
    #[serde(skip)]
    pub turn_id: i64,
    /// What it is about: the name of an observation type.
    #[serde(rename = "type")]
    pub kind: String,
    /// What is true since.
    pub title: String,
    /// The circumstances.
    pub subtitle: Option<String>,
    /// What happened and why.
    pub narrative: Option<String>,
    /// Single facts.
    pub facts: Vec<String>,
    /// Files that tools changed.
    pub files_modified: Vec<String>,
}

/// What a turn left to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnSummary {
    /// The turn it was made of.
    pub turn_id: i64,
    /// What was done.
    pub completed: Option<String>,
    /// What is left to do.
    pub next_steps: Option<String>,
}

impl Store {
    /// Returns the memories of a session, in the order in which they came to be.
    pub fn memories_of(&self, session: &Session) -> Result<Vec<TurnMemory>, StoreError> {
        // What a turn said again is its memory too.
        const OF_SESSION: &str = "select id, turn_id, type, title, subtitle, narrative, facts, files_modified
            from observation where session_db_id = ?1 and turn_id is not null
            union all
            select observation.id, turn.id, type, title, subtitle, narrative, facts, files_modified
            from turn join sighting on sighting.turn_id = turn.id
                join observation on observation.id = sighting.observation_id
            where turn.session_db_id = ?1
            order by 1, 2";
        let attempt = query("read the memories of a session");
        let mut statement = self.connection.prepare_cached(OF_SESSION).map_err(attempt)?;
        let list = |json: String| serde_json::from_str(&json).unwrap_or_default();
        let rows = statement.query_map([session.db_id], |row| {
            Ok(TurnMemory {
                id: row.get(0)?,
                turn_id: row.get(1)?,
                kind: row.get(2)?,
                title: row.get(3)?,
                subtitle: row.get(4)?,
                narrative: row.get(5)?,
                facts: list(row.get(6)?),
                files_modified: list(row.get(7)?),
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Returns the summaries of a session, in their order.
    pub fn summaries_of(&self, session: &Session) -> Result<Vec<TurnSummary>, StoreError> {
        const OF_SESSION: &str = "select turn_id, completed, next_steps from summary
            where session_db_id = ?1 and turn_id is not null order by id";
        let attempt = query("read the summaries of a session");
        let mut statement = self.connection.prepare_cached(OF_SESSION).map_err(attempt)?;
        let rows = statement.query_map([session.db_id], |row| {
            Ok(TurnSummary {
                turn_id: row.get(0)?,
                completed: row.get(1)?,
                next_steps: row.get(2)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

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
