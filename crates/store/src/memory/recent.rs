//! The latest memories of a project, as the context block reads them.
//!
//! A session start waits for the context block, so its queries read only the columns that it uses, by position.

use std::cmp::Reverse;

use backstory_model::{
    BranchState, Handle, MemoryKind, ObservationId, ObservationType, SessionId, SessionStatus, Timestamp,
};
use backstory_text::words;
use rusqlite::{Connection, Row, params};

use crate::{
    Opinions, Project, Store, StoreError,
    memory::{done_items::DoneItems, impact, next_steps, stored::agent_label},
    sql::{ListColumns as _, Statements as _, json_list},
    team::opinions::TOLD,
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
    /// The branch of its turn.
    pub branch: Option<String>,
    /// The state of its work.
    pub branch_state: Option<BranchState>,
    /// The commit with its work.
    pub commit: Option<String>,
    /// Its work was reverted.
    pub is_reverted: bool,
    /// The factor by which earlier outcomes of its injections change its rank, in thousandths.
    pub weight: u32,
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
    /// The person who shared it; absent for an own memory.
    pub shared_by: Option<String>,
    /// Memories of others: what people think of it.
    pub opinions: Opinions,
}

impl Observation {
    /// Returns the facts. Parsed on demand: most observations are shown by title only.
    pub fn facts(&self) -> Vec<String> {
        serde_json::from_str(&self.facts).unwrap_or_default()
    }

    /// Returns the handle. The id of a memory of another person is that of its own table.
    pub fn handle(&self) -> Handle {
        match self.shared_by {
            Some(_) => Handle {
                kind: MemoryKind::Team,
                id: self.id.get(),
            },
            None => self.id.into(),
        }
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
    /// Steps that the user ticked off: neither in `next_steps` nor in `open_steps`.
    pub done_steps: Vec<String>,
    /// The end state and warnings.
    pub notes: Option<String>,
    /// The branch of the turn.
    pub branch: Option<String>,
    /// The state of its work.
    pub branch_state: Option<BranchState>,
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

    /// Moves ticked steps to `done_steps`.
    fn leave_out(&mut self, done: &DoneItems) {
        if done.is_empty() {
            return;
        }
        let (ticked, open): (Vec<_>, Vec<_>) =
            self.open_work().into_iter().partition(|step| done.contains(step));
        if ticked.is_empty() {
            return;
        }
        let text = self.next_steps.take().unwrap_or_default();
        let text = ticked
            .iter()
            .fold(text, |text, step| text.replacen(step.as_str(), "", 1));
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| words(line).next().is_some())
            .collect();
        self.next_steps = (!lines.is_empty()).then(|| lines.join("\n"));
        self.open_steps = Some(open);
        self.done_steps = ticked;
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
    /// Returns the latest summaries of a project, newest first, without steps that were ticked off.
    pub fn latest_summaries(&self, project: &Project, limit: u32) -> Result<Vec<Summary>, StoreError> {
        const LATEST: &str =
            "select summary.id, session_db_id, request, learned, completed, next_steps, open_steps, notes,
                coalesce(branch, (select branch from session where session.id = session_db_id)), created_at, state
            from summary left join turn_git on turn_git.turn_id = summary.turn_id
            where summary.project_id = ?1 order by created_at desc, summary.id desc limit ?2";
        self.read("read the latest summaries", |connection| {
            let done = DoneItems::of(connection, project.db_id)?;
            connection.rows(LATEST, (project.db_id, limit), |row| {
                let mut summary = Summary {
                    id: row.get(0)?,
                    session_db_id: row.get(1)?,
                    request: row.get(2)?,
                    learned: row.get(3)?,
                    completed: row.get(4)?,
                    next_steps: row.get(5)?,
                    open_steps: row.optional_list(6)?,
                    done_steps: Vec::new(),
                    notes: row.get(7)?,
                    branch: row.get(8)?,
                    created_at: row.get(9)?,
                    branch_state: row.get(10)?,
                };
                summary.leave_out(&done);
                Ok(summary)
            })
        })
    }

    /// Returns the latest observations of a project that are not superseded, newest first, and then the pinned ones that are
    /// not among them.
    pub fn recent_observations(&self, project: &Project, limit: u32) -> Result<Vec<Observation>, StoreError> {
        const RECENT: &str = "select observation.id, type, observation.title, narrative, facts, concepts, files_modified,
                session_db_id, coalesce(branch, (select branch from session where session.id = session_db_id)), seen, pinned,
                created_at, rejected, error_signature is not null, state, work, reverted_by is not null, weight
            from observation left join turn_git on turn_git.turn_id = observation.turn_id
                left join memory_weight on memory_weight.observation_id = observation.id
            where observation.project_id = ?1 and superseded_by is null order by created_at desc, observation.id desc limit ?2";
        const PINNED: &str =
            "select observation.id, type, observation.title, narrative, facts, concepts, files_modified,
                session_db_id, coalesce(branch, (select branch from session where session.id = session_db_id)), seen, pinned,
                created_at, rejected, error_signature is not null, state, work, reverted_by is not null, weight
            from observation indexed by observation_pinned left join turn_git on turn_git.turn_id = observation.turn_id
                left join memory_weight on memory_weight.observation_id = observation.id
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
                session_db_id, coalesce(branch, (select branch from session where session.id = session_db_id)), seen, pinned,
                created_at, rejected, error_signature is not null, state, work, reverted_by is not null, weight
            from (select * from observation where project_id = ?1 and superseded_by is null
                    order by created_at desc, id desc limit ?5) as recent
                left join turn_git on turn_git.turn_id = recent.turn_id
                left join memory_weight on memory_weight.observation_id = recent.id
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

    /// Returns the latest memories that others shared with a project and that are valid in the user's view, newest first.
    pub fn recent_team_memories(
        &self,
        project: &Project,
        limit: u32,
    ) -> Result<Vec<Observation>, StoreError> {
        let recent = format!(
            "select id, type, title, narrative, facts, concepts, files_modified, branch, pinned, created_at, author,
                (select coalesce(sum(account_id <> 0 and verdict > 0), 0) from team_opinion
                    where team_opinion.record_id = team_memory.record_id) as useful,
                (select coalesce(sum(account_id <> 0 and verdict < 0), 0) from team_opinion
                    where team_opinion.record_id = team_memory.record_id) as wrong
            from team_memory where project_id = ?1 and {TOLD} order by created_at desc, id desc limit ?2"
        );
        self.read("read the latest memories of the team", |connection| {
            connection.rows(&recent, (project.db_id, limit), team_observation)
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

/// Reads a memory of another person in the form of an observation; a note of theirs has the type of a decision or discovery.
fn team_observation(row: &Row<'_>) -> rusqlite::Result<Observation> {
    let opinions = Opinions {
        useful: row.get("useful")?,
        wrong: row.get("wrong")?,
        ..Opinions::default()
    };
    Ok(Observation {
        id: row.get("id")?,
        kind: row
            .get::<_, Option<ObservationType>>("type")?
            .unwrap_or(ObservationType::Discovery),
        title: row.get("title")?,
        narrative: row.get("narrative")?,
        facts: row.get("facts")?,
        concepts: row.list("concepts")?,
        files_modified: row.list("files_modified")?,
        session_db_id: None,
        branch: row.get("branch")?,
        seen: 1,
        is_pinned: row.get("pinned")?,
        created_at: row.get("created_at")?,
        rejected: false,
        resolves_error: false,
        branch_state: None,
        commit: None,
        is_reverted: false,
        weight: opinions.weight(),
        opinions,
        shared_by: row.get("author")?,
    })
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
        branch_state: row.get(14)?,
        commit: row.get(15)?,
        is_reverted: row.get(16)?,
        weight: row.get::<_, Option<u32>>(17)?.unwrap_or(impact::NEUTRAL),
        shared_by: None,
        opinions: Opinions::default(),
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
