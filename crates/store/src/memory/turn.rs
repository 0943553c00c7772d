//! Turns as distillation reads them.

use backstory_model::{EventKind, ProjectId, SessionId, Timestamp, TurnId};
use rusqlite::{Connection, params};

use crate::{EventPayload, Store, StoreError, sql::Statements as _};

/// Holds a turn with its events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTurn {
    /// The turn.
    pub id: TurnId,
    /// The number of the turn in its session.
    pub number: u32,
    /// The start of the turn.
    pub started_at: Timestamp,
    /// The session.
    pub session_db_id: SessionId,
    /// The project.
    pub project_db_id: ProjectId,
    /// The prompt.
    pub prompt: Option<String>,
    /// The agent's id of the prompt.
    pub prompt_id: Option<String>,
    /// A program wrote the prompt, not the user.
    pub machine_made: bool,
    /// The branch at that time.
    pub branch: Option<String>,
    /// The working tree; the linked one if the session runs in one.
    pub root: String,
    /// The turn has ended.
    pub is_ended: bool,
    /// The user typed another prompt while the agent worked: the next turn continues this one.
    pub goes_on: bool,
    /// The transcript of the session.
    pub transcript_path: Option<String>,
    /// The start of the turn in the transcript: the position of the reader when the turn was first distilled.
    pub transcript_from: Option<String>,
    /// The events, in order.
    pub events: Vec<TurnEvent>,
}

/// Holds an event of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEvent {
    /// The kind of report.
    pub kind: EventKind,
    /// The time.
    pub at: Timestamp,
    /// The agent's id of the call, for a tool use.
    pub tool_use_id: Option<String>,
    /// The payload, as captured.
    pub payload: EventPayload,
}

/// Tells whether a model distills the turn after the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFollowUp {
    /// No model is configured.
    Never,
    /// A model is configured, but the turn has not ended or is too small.
    NotNow,
    /// The turn goes into the model queue.
    Wanted,
}

/// Identifies the content of a file, to detect later changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFingerprint {
    /// The hash of the content.
    pub hash: Vec<u8>,
    /// The size in bytes.
    pub size: u64,
    /// The lines that a memory is about, in the format of the crate that compares them; empty if it is about the whole file.
    pub lines: Vec<u8>,
}

/// Holds the progress of a turn now and when it was last distilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnProgress {
    /// The turn has ended.
    pub is_ended: bool,
    /// The events so far.
    pub events: u64,
    /// The events when it was last distilled.
    pub distilled: u64,
}

impl Store {
    /// Returns the progress of a turn; `None` if it was forgotten.
    pub fn turn_progress(&self, id: TurnId) -> Result<Option<TurnProgress>, StoreError> {
        const PROGRESS: &str =
            "select ended_at is not null as is_ended, max(distilled, 0) as distilled, (select count(*) from event
                where turn_id = turn.id) as events
            from turn where id = ?1";
        self.read("read the progress of a turn", |connection| {
            connection.optional_row(PROGRESS, [id], |row| {
                Ok(TurnProgress {
                    is_ended: row.get("is_ended")?,
                    distilled: row.get("distilled")?,
                    events: row.get("events")?,
                })
            })
        })
    }

    /// Returns the turn before a turn, or the last one of a session, if it ended without a Stop.
    pub fn interrupted_turn(
        &self,
        session: SessionId,
        before: Option<TurnId>,
    ) -> Result<Option<TurnId>, StoreError> {
        const LAST: &str = "with last as (select id, ended_at from turn where session_db_id = ?1
                and (?2 is null or number < (select number from turn where id = ?2)) order by number desc limit 1)
            select id from last where ended_at is not null
                and not exists (select 1 from event where turn_id = last.id and kind = 'stop')";
        self.read("look for an interrupted turn", |connection| {
            connection.optional_row(LAST, params![session, before], |row| row.get("id"))
        })
    }

    /// Returns a turn with its events; `None` if it was forgotten.
    pub fn turn_to_distil(&self, id: TurnId) -> Result<Option<StoredTurn>, StoreError> {
        const TURN: &str = "select turn.id as id, session.id as session_db_id, project.id as project_db_id, turn.prompt as prompt,
                turn.prompt_id as prompt_id, turn.machine_made as machine_made,
                coalesce(turn.branch, session.branch) as branch, coalesce(session.worktree, project.root) as root,
                turn.ended_at is not null as is_ended,
                -- Imported events contain everything that the transcript has.
                case when exists (select 1 from event where turn_id = turn.id and source = 'import') then null
                    else session.transcript_path end as transcript_path,
                coalesce(turn.transcript_from, session.transcript_read) as transcript_from,
                exists (select 1 from turn as next where next.session_db_id = session.id
                    and next.number = turn.number + 1 and next.prompt_id = turn.prompt_id) as goes_on,
                turn.number as number, turn.started_at as started_at
            from turn join session on session.id = turn.session_db_id join project on project.id = session.project_id
            where turn.id = ?1";
        self.read("read a turn", |connection| {
            let turn = connection.optional_row(TURN, [id], |row| {
                Ok(StoredTurn {
                    id: row.get("id")?,
                    session_db_id: row.get("session_db_id")?,
                    project_db_id: row.get("project_db_id")?,
                    prompt: row.get("prompt")?,
                    prompt_id: row.get("prompt_id")?,
                    machine_made: row.get("machine_made")?,
                    branch: row.get("branch")?,
                    root: row.get("root")?,
                    is_ended: row.get("is_ended")?,
                    transcript_path: row.get("transcript_path")?,
                    transcript_from: row.get("transcript_from")?,
                    goes_on: row.get("goes_on")?,
                    number: row.get("number")?,
                    started_at: row.get("started_at")?,
                    events: Vec::new(),
                })
            })?;
            let Some(turn) = turn else { return Ok(None) };
            let events = events(connection, id)?;
            Ok(Some(StoredTurn { events, ..turn }))
        })
    }
}

fn events(connection: &Connection, turn: TurnId) -> rusqlite::Result<Vec<TurnEvent>> {
    const EVENTS: &str =
        "select kind, at, tool_use_id, payload, packed from event where turn_id = ?1 order by key";
    let mut statement = connection.prepare_cached(EVENTS)?;
    let mut rows = statement.query([turn])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(TurnEvent {
            kind: row.get("kind")?,
            at: row.get("at")?,
            tool_use_id: row.get("tool_use_id")?,
            payload: EventPayload::from_row(row)?,
        });
    }
    Ok(events)
}
