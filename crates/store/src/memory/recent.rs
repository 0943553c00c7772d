//! The latest memories of a project, as the context block reads them.
//!
//! A session start waits for the context block, so its queries read only the columns that it uses, by position.

use std::cmp::Reverse;

use backstory_model::{ObservationId, ObservationType, SessionId, SessionStatus, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::{
    Project, Store, StoreError,
    memory::{next_steps, stored::agent_label},
    sql::{ListColumns as _, Statements as _, json_list},
};

/// Holds the part of an observation that a context block can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The id, which is also the handle.
    pub id: ObservationId,
    /// The type.
    pub kind: ObservationType,
    /// The title.
    pub title: String,
    /// The narrative.
    pub narrative: Option<String>,
    facts: String,
    /// The concepts.
    pub concepts: Vec<String>,
    /// The files that tools changed.
    pub files_modified: Vec<String>,
    /// The session.
    pub session_db_id: Option<SessionId>,
    /// The branch of its session.
    pub branch: Option<String>,
    /// The number of sightings.
    pub seen: u32,
    /// Pinned by the user.
    pub is_pinned: bool,
    /// The time of its turn.
    pub created_at: Timestamp,
    /// It was tried and did not work.
    pub rejected: bool,
    /// It is the remedy of an error.
    pub resolves_error: bool,
}

impl Observation {
    /// Returns the facts. Parsed on demand: most observations are shown by title only.
    pub fn facts(&self) -> Vec<String> {
        serde_json::from_str(&self.facts).unwrap_or_default()
    }

    /// Returns its approximate size in bytes.
    pub fn size(&self) -> usize {
        self.title.len() + self.narrative.as_ref().map_or(0, String::len) + self.facts.len()
    }
}

/// Holds a checkpoint of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The id; the handle is `S` and this number.
    pub id: i64,
    /// The session.
    pub session_db_id: Option<SessionId>,
    /// The request.
    pub request: Option<String>,
    /// The findings.
    pub learned: Option<String>,
    /// The completed work.
    pub completed: Option<String>,
    /// Open work, offers and questions, as display text.
    pub next_steps: Option<String>,
    /// The entries of `next_steps` that are work to do; absent when every entry is.
    pub open_steps: Option<Vec<String>>,
    /// The end state and warnings.
    pub notes: Option<String>,
    /// The branch of the session.
    pub branch: Option<String>,
    /// The time of the checkpoint.
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

/// Holds the part of a session that a context block lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecentSession {
    /// The session.
    pub db_id: SessionId,
    /// Its last summary; the handle is `S` and this number.
    pub summary_id: i64,
    /// The title.
    pub title: String,
    /// The latest outcome in one line.
    pub subtitle: Option<String>,
    /// The state.
    pub status: SessionStatus,
    /// The time of the last event.
    pub last_event_at: Timestamp,
}

/// Holds the part of a note that a context block can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The id; the handle is `N` and this number.
    pub id: i64,
    /// The text.
    pub text: String,
    /// The label of a note that an agent saved.
    pub agent_label: Option<String>,
    /// The time it was saved.
    pub created_at: Timestamp,
}

/// Selects pinned notes or the others.
#[derive(Clone, Copy)]
enum Pinned {
    No = 0,
    Yes = 1,
}

impl Store {
    /// Returns the latest summaries of a project, newest first.
    pub fn latest_summaries(&self, project: &Project, limit: u32) -> Result<Vec<Summary>, StoreError> {
        const LATEST: &str =
            "select summary.id, session_db_id, request, learned, completed, next_steps, open_steps, notes, branch, created_at
            from summary left join session on session.id = summary.session_db_id
            where summary.project_id = ?1 order by created_at desc, summary.id desc limit ?2";
        self.read("read the latest summaries", |connection| {
            connection.rows(LATEST, (project.db_id, limit), |row| {
                Ok(Summary {
                    id: row.get(0)?,
                    session_db_id: row.get(1)?,
                    request: row.get(2)?,
                    learned: row.get(3)?,
                    completed: row.get(4)?,
                    next_steps: row.get(5)?,
                    open_steps: row.optional_list(6)?,
                    notes: row.get(7)?,
                    branch: row.get(8)?,
                    created_at: row.get(9)?,
                })
            })
        })
    }

    /// Returns the latest observations of a project that are not superseded, newest first, and then the pinned ones that are
    /// not among them.
    pub fn recent_observations(&self, project: &Project, limit: u32) -> Result<Vec<Observation>, StoreError> {
        const RECENT: &str = "select observation.id, type, observation.title, narrative, facts, concepts, files_modified,
                session_db_id, branch, seen, pinned, created_at, rejected, error_signature is not null
            from observation left join session on session.id = observation.session_db_id
            where observation.project_id = ?1 and superseded_by is null order by created_at desc, observation.id desc limit ?2";
        const PINNED: &str =
            "select observation.id, type, observation.title, narrative, facts, concepts, files_modified,
                session_db_id, branch, seen, pinned, created_at, rejected, error_signature is not null
            from observation indexed by observation_pinned left join session on session.id = observation.session_db_id
            where observation.project_id = ?1 and pinned = 1 order by created_at desc limit ?2";
        self.read("read the latest memories", |connection| {
            let mut found = observations(connection, RECENT, project, limit)?;
            for pinned in observations(connection, PINNED, project, limit)? {
                if !found.iter().any(|known| known.id == pinned.id) {
                    found.push(pinned);
                }
            }
            Ok(found)
        })
    }

    /// Returns the latest valid observations of a project with one of the types and, unless there are none, one of the concepts,
    /// newest first. Looks at a bounded number: a session start waits for them.
    pub fn recent_observations_of(
        &self,
        project: &Project,
        types: &[ObservationType],
        concepts: &[String],
        limit: u32,
    ) -> Result<Vec<Observation>, StoreError> {
        const LOOKED_AT: u32 = 5_000;
        const RECENT: &str = "select recent.id, type, recent.title, narrative, facts, concepts, files_modified,
                session_db_id, branch, seen, pinned, created_at, rejected, error_signature is not null
            from (select * from observation where project_id = ?1 and superseded_by is null
                    order by created_at desc, id desc limit ?5) as recent
                left join session on session.id = recent.session_db_id
            where type in (select value from json_each(?2)) and (?3 = '[]' or exists (
                select 1 from json_each(concepts) as own join json_each(?3) as wanted on own.value = wanted.value))
            order by created_at desc, recent.id desc limit ?4";
        let types: Vec<String> = types.iter().map(|kind| kind.name().to_owned()).collect();
        self.read("read the latest memories", |connection| {
            let values = params![
                project.db_id,
                json_list(&types),
                json_list(concepts),
                limit,
                LOOKED_AT
            ];
            connection.rows(RECENT, values, observation)
        })
    }

    /// Returns the latest sessions of a project that have a title and a summary, newest first.
    pub fn recent_sessions(&self, project: &Project, limit: u32) -> Result<Vec<RecentSession>, StoreError> {
        const RECENT: &str = "select session.id, max(summary.id), title, subtitle, status, last_event_at
            from session join summary on summary.session_db_id = session.id
            where session.project_id = ?1 and title is not null
            group by session.id order by last_event_at desc, session.id desc limit ?2";
        self.read("read the latest sessions", |connection| {
            connection.rows(RECENT, (project.db_id, limit), |row| {
                Ok(RecentSession {
                    db_id: row.get(0)?,
                    summary_id: row.get(1)?,
                    title: row.get(2)?,
                    subtitle: row.get(3)?,
                    status: row.get(4)?,
                    last_event_at: row.get(5)?,
                })
            })
        })
    }

    /// Returns the pinned notes of a project and of all projects, newest first.
    pub fn pinned_notes(&self, project: &Project) -> Result<Vec<Note>, StoreError> {
        self.read("read notes", |connection| {
            notes(connection, project, Pinned::Yes, 20)
        })
    }

    /// Returns the latest notes of a project and of all projects that are not pinned, newest first.
    pub fn latest_notes(&self, project: &Project, limit: u32) -> Result<Vec<Note>, StoreError> {
        self.read("read notes", |connection| {
            notes(connection, project, Pinned::No, limit)
        })
    }
}

fn observations(
    connection: &Connection,
    sql: &str,
    project: &Project,
    limit: u32,
) -> rusqlite::Result<Vec<Observation>> {
    connection.rows(sql, (project.db_id, limit), observation)
}

fn observation(row: &Row<'_>) -> rusqlite::Result<Observation> {
    Ok(Observation {
        id: row.get(0)?,
        kind: row.get(1)?,
        title: row.get(2)?,
        narrative: row.get(3)?,
        facts: row.get(4)?,
        concepts: row.list(5)?,
        files_modified: row.list(6)?,
        session_db_id: row.get(7)?,
        branch: row.get(8)?,
        seen: row.get(9)?,
        is_pinned: row.get(10)?,
        created_at: row.get(11)?,
        rejected: row.get(12)?,
        resolves_error: row.get(13)?,
    })
}

fn notes(
    connection: &Connection,
    project: &Project,
    pinned: Pinned,
    limit: u32,
) -> rusqlite::Result<Vec<Note>> {
    // Two queries: one for both would have to sort all notes.
    const LATEST: &str = "select id, text, created_at, author from note indexed by note_by_project
        where project_id is ?1 and pinned = ?2 order by created_at desc, id desc limit ?3";
    let mut notes = Vec::new();
    for project in [Some(project), None] {
        let values = params![project.map(|project| project.db_id), pinned as u8, limit];
        let name = project.map(|project| project.name.as_str());
        notes.extend(connection.rows(LATEST, values, |row| {
            Ok(Note {
                id: row.get(0)?,
                text: row.get(1)?,
                created_at: row.get(2)?,
                agent_label: agent_label(row.get(3)?, name),
            })
        })?);
    }
    notes.sort_by_key(|note: &Note| Reverse((note.created_at, note.id)));
    notes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Ok(notes)
}
