//! Distilled memories, as recall reads them.

use backstory_model::{ObservationId, ObservationType, SessionId, Timestamp, TurnId};
use rusqlite::{OptionalExtension, Row, params};
use serde::Serialize;

use crate::{Project, Session, Store, StoreError, memory::next_steps, schema::open::query};

/// A distilled memory, as far as a new session may be told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Its handle.
    pub id: ObservationId,
    /// What it is about.
    pub kind: ObservationType,
    /// What is true since.
    pub title: String,
    /// What happened and why.
    pub narrative: Option<String>,
    facts: String,
    /// Concepts.
    pub concepts: Vec<String>,
    /// Files that tools changed.
    pub files_modified: Vec<String>,
    /// Its session.
    pub session_db_id: Option<SessionId>,
    /// The branch that its session was on.
    pub branch: Option<String>,
    /// How often it was seen.
    pub seen: u32,
    /// Whether a person pinned it.
    pub is_pinned: bool,
    /// When it came to be, in milliseconds since 1970.
    pub created_at: Timestamp,
}

impl Observation {
    /// Returns single facts. Read when asked for: most memories are not told in full.
    pub fn facts(&self) -> Vec<String> {
        serde_json::from_str(&self.facts).unwrap_or_default()
    }

    /// Returns about how many bytes it has.
    pub fn size(&self) -> usize {
        self.title.len() + self.narrative.as_ref().map_or(0, String::len) + self.facts.len()
    }
}

/// A checkpoint of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Its number: its handle is `S` and this.
    pub id: i64,
    /// Its session.
    pub session_db_id: Option<SessionId>,
    /// What was asked.
    pub request: Option<String>,
    /// What was found out.
    pub learned: Option<String>,
    /// What was done.
    pub completed: Option<String>,
    /// What is left to do.
    pub next_steps: Option<String>,
    /// The entries of `next_steps` that are work to do; absent when every entry is.
    pub open_steps: Option<Vec<String>>,
    /// What else to know: how it ended, what to beware of.
    pub notes: Option<String>,
    /// The branch that the session was on.
    pub branch: Option<String>,
    /// When it was made, in milliseconds since 1970.
    pub created_at: Timestamp,
}

impl Summary {
    /// Returns the entries of `next_steps` that are work to do.
    pub fn open_work(&self) -> Vec<String> {
        let text = self.next_steps.as_deref().unwrap_or_default();
        let all = || next_steps::entries(text).map(ToOwned::to_owned).collect();
        self.open_steps.clone().unwrap_or_else(all)
    }
}

/// A note, as far as a new session may be told of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Its number: its handle is `N` and this.
    pub id: i64,
    /// What it says.
    pub text: String,
    /// When it was saved, in milliseconds since 1970.
    pub created_at: Timestamp,
}

/// A memory of one turn, as the turn's session shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TurnMemory {
    /// Its handle.
    pub id: ObservationId,
    /// The turn it was made of.
    #[serde(skip)]
    pub turn_id: TurnId,
    /// What it is about.
    #[serde(rename = "type")]
    pub kind: ObservationType,
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
    pub turn_id: TurnId,
    /// What was done.
    pub completed: Option<String>,
    /// What is left to do.
    pub next_steps: Option<String>,
    /// What else to know: how it ended, what to beware of.
    pub notes: Option<String>,
}

/// Whether notes are wanted that a person pinned, or the others.
#[derive(Clone, Copy)]
enum Pinned {
    No = 0,
    Yes = 1,
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
        let rows = statement.query_map([session.db_id], |row| {
            Ok(TurnMemory {
                id: row.get(0)?,
                turn_id: row.get(1)?,
                kind: row.get(2)?,
                title: row.get(3)?,
                subtitle: row.get(4)?,
                narrative: row.get(5)?,
                facts: list(row, 6)?,
                files_modified: list(row, 7)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Returns the summaries of a session, in their order.
    pub fn summaries_of(&self, session: &Session) -> Result<Vec<TurnSummary>, StoreError> {
        const OF_SESSION: &str = "select turn_id, completed, next_steps, notes from summary
            where session_db_id = ?1 and turn_id is not null order by id";
        let attempt = query("read the summaries of a session");
        let mut statement = self.connection.prepare_cached(OF_SESSION).map_err(attempt)?;
        let rows = statement.query_map([session.db_id], |row| {
            Ok(TurnSummary {
                turn_id: row.get(0)?,
                completed: row.get(1)?,
                next_steps: row.get(2)?,
                notes: row.get(3)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Returns the latest checkpoints of a project that say something, newest first.
    pub fn latest_summaries(&self, project: &Project, most: u32) -> Result<Vec<Summary>, StoreError> {
        const LATEST: &str =
            "select summary.id, session_db_id, request, learned, completed, next_steps, open_steps, notes, branch, created_at
            from summary left join session on session.id = summary.session_db_id
            where summary.project_id = ?1 order by created_at desc, summary.id desc limit ?2";
        let attempt = query("read the latest summaries");
        let mut statement = self.connection.prepare_cached(LATEST).map_err(attempt)?;
        let rows = statement.query_map((project.db_id, most), |row| {
            Ok(Summary {
                id: row.get(0)?,
                session_db_id: row.get(1)?,
                request: row.get(2)?,
                learned: row.get(3)?,
                completed: row.get(4)?,
                next_steps: row.get(5)?,
                open_steps: optional_list(row, 6)?,
                notes: row.get(7)?,
                branch: row.get(8)?,
                created_at: row.get(9)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Returns the latest memories of a project that still hold, newest first, and those that are pinned.
    pub fn recent_observations(&self, project: &Project, most: u32) -> Result<Vec<Observation>, StoreError> {
        const RECENT: &str = "select observation.id, type, observation.title, narrative, facts, concepts, files_modified,
                session_db_id, branch, seen, pinned, created_at
            from observation left join session on session.id = observation.session_db_id
            where observation.project_id = ?1 and superseded_by is null order by created_at desc, observation.id desc limit ?2";
        const PINNED: &str =
            "select observation.id, type, observation.title, narrative, facts, concepts, files_modified,
                session_db_id, branch, seen, pinned, created_at
            from observation indexed by observation_pinned left join session on session.id = observation.session_db_id
            where observation.project_id = ?1 and pinned = 1 order by created_at desc limit ?2";
        let mut found = self.observations_where(RECENT, project, most)?;
        for pinned in self.observations_where(PINNED, project, most)? {
            if !found.iter().any(|known| known.id == pinned.id) {
                found.push(pinned);
            }
        }
        Ok(found)
    }

    fn observations_where(
        &self,
        sql: &str,
        project: &Project,
        most: u32,
    ) -> Result<Vec<Observation>, StoreError> {
        let attempt = query("read the latest memories");
        let mut statement = self.connection.prepare_cached(sql).map_err(attempt)?;
        let rows = statement.query_map((project.db_id, most), |row| {
            Ok(Observation {
                id: row.get(0)?,
                kind: row.get(1)?,
                title: row.get(2)?,
                narrative: row.get(3)?,
                facts: row.get(4)?,
                concepts: list(row, 5)?,
                files_modified: list(row, 6)?,
                session_db_id: row.get(7)?,
                branch: row.get(8)?,
                seen: row.get(9)?,
                is_pinned: row.get(10)?,
                created_at: row.get(11)?,
            })
        });
        let mut found = Vec::with_capacity(most as usize);
        for observation in rows.map_err(attempt)? {
            found.push(observation.map_err(attempt)?);
        }
        Ok(found)
    }

    /// Returns the notes that are pinned in a project or everywhere, newest first.
    pub fn pinned_notes(&self, project: &Project) -> Result<Vec<Note>, StoreError> {
        self.notes_of(project, Pinned::Yes, 20)
    }

    /// Returns the latest notes of a project and of all projects that are not pinned, newest first.
    pub fn latest_notes(&self, project: &Project, most: u32) -> Result<Vec<Note>, StoreError> {
        self.notes_of(project, Pinned::No, most)
    }

    fn notes_of(&self, project: &Project, pinned: Pinned, most: u32) -> Result<Vec<Note>, StoreError> {
        // Once for each kind: together they would have to be sorted, however many there are.
        const LATEST: &str = "select id, text, created_at from note indexed by note_by_project
            where project_id is ?1 and pinned = ?2 order by created_at desc, id desc limit ?3";
        let attempt = query("read notes");
        let mut statement = self.connection.prepare_cached(LATEST).map_err(attempt)?;
        let mut notes = Vec::new();
        for project in [Some(project.db_id), None] {
            let rows = statement.query_map(params![project, pinned as u8, most], |row| {
                Ok(Note {
                    id: row.get(0)?,
                    text: row.get(1)?,
                    created_at: row.get(2)?,
                })
            });
            for note in rows.map_err(attempt)? {
                notes.push(note.map_err(attempt)?);
            }
        }
        notes.sort_by_key(|note: &Note| std::cmp::Reverse((note.created_at, note.id)));
        notes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(notes)
    }

    /// Returns the number of a session's row.
    pub fn session_db_id(&self, session_id: &str) -> Result<Option<SessionId>, StoreError> {
        const BY_ID: &str = "select id from session where session_id = ?1";
        let attempt = query("look for a session");
        let mut statement = self.connection.prepare_cached(BY_ID).map_err(attempt)?;
        statement
            .query_row([session_id], |row| row.get(0))
            .optional()
            .map_err(attempt)
    }
}

/// Reads a list that is kept as JSON, or null. One that is damaged is absent.
fn optional_list(row: &Row<'_>, column: usize) -> rusqlite::Result<Option<Vec<String>>> {
    let json = row.get_ref(column)?.as_str_or_null()?;
    Ok(json.and_then(|json| serde_json::from_str(json).ok()))
}

/// Reads a list that is kept as JSON. One that is damaged is empty.
fn list(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    let json = row.get_ref(column)?.as_str()?;
    Ok(serde_json::from_str(json).unwrap_or_default())
}
