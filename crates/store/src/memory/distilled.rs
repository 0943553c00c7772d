//! What a turn is made of.

use std::collections::BTreeMap;

use backstory_model::{Distilled, EventKind, ProjectId, SessionId, Timestamp, TurnId};
use rusqlite::{OptionalExtension, params};

use crate::{ModelJob, Store, StoreError, schema::open::query};

/// Everything that the store knows of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTurn {
    /// The number of the turn.
    pub id: TurnId,
    /// The session it belongs to.
    pub session_db_id: SessionId,
    /// The project it belongs to.
    pub project_db_id: ProjectId,
    /// What was asked.
    pub prompt: Option<String>,
    /// The agent's id of the prompt.
    pub prompt_id: Option<String>,
    /// Whether a program asked.
    pub machine_made: bool,
    /// The branch at that time.
    pub branch: Option<String>,
    /// The working tree: the linked one if the session runs in one.
    pub root: String,
    /// Whether it is over.
    pub is_ended: bool,
    /// Whether the person said more while the agent worked on it: the next turn is the rest of it.
    pub goes_on: bool,
    /// The agent's own record of the session.
    pub transcript_path: Option<String>,
    /// Where the turn's part of it begins: how far it had been read when the turn was first distilled.
    pub transcript_from: Option<String>,
    /// Its events, in their order.
    pub events: Vec<TurnEvent>,
}

/// An event of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEvent {
    /// What happened.
    pub kind: EventKind,
    /// When, in milliseconds since 1970.
    pub at: Timestamp,
    /// What the hook was given, cleaned.
    pub payload: String,
}

/// What was made of a turn.
#[derive(Clone, Copy, Debug)]
pub struct TurnResult<'m> {
    /// The memories.
    pub distilled: &'m Distilled,
    /// What the files that they cite held then, as far as that is known.
    pub files: &'m BTreeMap<String, FileFingerprint>,
    /// How far the transcript was read, in the reader's own terms.
    pub transcript_read: Option<&'m str>,
    /// Who made them.
    pub by: DistillRun<'m>,
}

/// Who makes memories of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistillRun<'n> {
    /// The built-in rules.
    Rules(ModelFollowUp),
    /// A model.
    Model {
        /// Its name.
        name: &'n str,
        /// The claim on the turn: without it, somebody wanted the turn or a memory of it gone meanwhile.
        claim: ModelJob,
    },
}

/// Whether a model follows the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFollowUp {
    /// There is none.
    Never,
    /// There is one, but this turn is not over or not worth it.
    NotNow,
    /// The turn is to be distilled by it.
    Wanted,
}

/// What a file held, to tell later whether it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFingerprint {
    /// A hash of its content.
    pub hash: Vec<u8>,
    /// Its size in bytes.
    pub size: u64,
}

/// How far a turn is, and how far it was when it was last distilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnProgress {
    /// Whether it is over.
    pub is_ended: bool,
    /// Its tool uses.
    pub tool_uses: u64,
    /// Its tool uses when it was last distilled.
    pub distilled: u64,
}

/// The most that is read of one turn, newest first: a turn that ran for days must fit into memory.
const MAX_EVENTS: u32 = 2_000;
const MAX_BYTES: usize = 16 << 20;

impl Store {
    /// Says how far a turn is; `None` when it was forgotten meanwhile.
    pub fn turn_progress(&self, id: TurnId) -> Result<Option<TurnProgress>, StoreError> {
        const PROGRESS: &str = "select ended_at is not null, distilled, (select count(*) from event
                where turn_id = turn.id and kind in ('post-tool-use', 'post-tool-use-failure'))
            from turn where id = ?1";
        let attempt = query("read how far a turn is");
        let mut statement = self.connection.prepare_cached(PROGRESS).map_err(attempt)?;
        let progress = statement.query_row([id], |row| {
            Ok(TurnProgress {
                is_ended: row.get(0)?,
                distilled: row.get(1)?,
                tool_uses: row.get(2)?,
            })
        });
        progress.optional().map_err(attempt)
    }

    /// Returns the turn before a turn, or the last of a session, if it ended without a word: none of its own events told.
    pub fn interrupted_turn(
        &self,
        session_db_id: SessionId,
        before: Option<TurnId>,
    ) -> Result<Option<TurnId>, StoreError> {
        const LAST: &str = "with last as (select id, ended_at from turn where session_db_id = ?1
                and (?2 is null or number < (select number from turn where id = ?2)) order by number desc limit 1)
            select id from last where ended_at is not null
                and not exists (select 1 from event where turn_id = last.id and kind = 'stop')";
        let attempt = query("look for a turn that was cut off");
        let mut statement = self.connection.prepare_cached(LAST).map_err(attempt)?;
        let found = statement.query_row(params![session_db_id, before], |row| row.get(0));
        found.optional().map_err(attempt)
    }

    /// Reads a turn with its events; `None` when it was forgotten meanwhile.
    pub fn turn_to_distil(&self, id: TurnId) -> Result<Option<StoredTurn>, StoreError> {
        const TURN: &str = "select turn.id, session.id, project.id, turn.prompt, turn.prompt_id, turn.machine_made,
                coalesce(turn.branch, session.branch), coalesce(session.worktree, project.root), turn.ended_at is not null,
                session.transcript_path, coalesce(turn.transcript_from, session.transcript_read),
                exists (select 1 from turn as next where next.session_db_id = session.id
                    and next.number = turn.number + 1 and next.prompt_id = turn.prompt_id)
            from turn join session on session.id = turn.session_db_id join project on project.id = session.project_id
            where turn.id = ?1";
        const EVENTS: &str =
            "select kind, at, payload from event where turn_id = ?1 order by key desc limit ?2";
        let attempt = query("read a turn");
        let mut statement = self.connection.prepare_cached(TURN).map_err(attempt)?;
        let turn = statement.query_row([id], |row| {
            Ok(StoredTurn {
                id: row.get(0)?,
                session_db_id: row.get(1)?,
                project_db_id: row.get(2)?,
                prompt: row.get(3)?,
                prompt_id: row.get(4)?,
                machine_made: row.get(5)?,
                branch: row.get(6)?,
                root: row.get(7)?,
                is_ended: row.get(8)?,
                transcript_path: row.get(9)?,
                transcript_from: row.get(10)?,
                goes_on: row.get(11)?,
                events: Vec::new(),
            })
        });
        let Some(turn) = turn.optional().map_err(attempt)? else {
            return Ok(None);
        };
        let mut statement = self.connection.prepare_cached(EVENTS).map_err(attempt)?;
        let rows = statement.query_map((id, MAX_EVENTS), |row| {
            Ok(TurnEvent {
                kind: row.get(0)?,
                at: row.get(1)?,
                payload: row.get(2)?,
            })
        });
        let (mut events, mut bytes) = (Vec::new(), 0);
        for event in rows.map_err(attempt)? {
            let event = event.map_err(attempt)?;
            bytes += event.payload.len();
            if bytes > MAX_BYTES {
                break;
            }
            events.push(event);
        }
        events.reverse();
        Ok(Some(StoredTurn { events, ..turn }))
    }
}

/// Writes a list the way the database keeps it.
pub(crate) fn list(items: &[String]) -> String {
    serde_json::Value::from(items).to_string()
}
