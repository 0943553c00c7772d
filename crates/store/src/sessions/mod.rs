//! Sessions and their turns, as they are shown.

pub(crate) mod active_sessions;
pub(crate) mod activity;
pub(crate) mod hosts;
pub(crate) mod projects;

use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use backstory_model::{Handle, SessionId, SessionStatus, Timestamp, TurnId};
use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use serde::Serialize;

use crate::{ParseCursorError, Project, Store, StoreError, schema::open::query};

/// One conversation with an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Session {
    /// The number of the row.
    #[serde(skip)]
    pub db_id: SessionId,
    /// The agent's own id.
    pub session_id: String,
    /// The agent program.
    pub host: String,
    /// The project, by display name.
    pub project: String,
    /// The project's id.
    pub project_id: String,
    /// Where it was started.
    pub cwd: Option<String>,
    /// The branch it last worked on.
    pub branch: Option<String>,
    /// The linked worktree it works in.
    pub worktree: Option<String>,
    /// Where it stands.
    pub status: SessionStatus,
    /// Why it ended, in the agent's words.
    pub end_reason: Option<String>,
    /// What it was about.
    pub title: Option<String>,
    /// The person's first words.
    pub first_prompt: Option<String>,
    /// How many prompts the person gave.
    pub prompts: u64,
    /// How many turns it has, those that a program asked for included.
    pub turns: u64,
    /// How many events were reported.
    pub events: u64,
    /// When it began, in milliseconds since 1970.
    #[serde(skip)]
    pub started_at: Timestamp,
    /// When it was last heard of, in milliseconds since 1970.
    #[serde(skip)]
    pub last_event_at: Timestamp,
    /// When it ended, in milliseconds since 1970.
    #[serde(skip)]
    pub ended_at: Option<Timestamp>,
}

/// One prompt and what followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Turn {
    /// The number of the row: the prompt's handle is `P` and this.
    pub id: TurnId,
    /// Counts from 1 in a session.
    pub number: i64,
    /// What was asked; absent when the turn was under way before anyone listened.
    pub prompt: Option<String>,
    /// Whether a program asked, not the person.
    pub machine_made: bool,
    /// The branch at that time.
    pub branch: Option<String>,
    /// Tool uses by the agent itself.
    pub tools: u64,
    /// Tool uses that failed.
    pub failures: u64,
    /// Tool uses by its sub-agents.
    pub subagent_tools: u64,
    /// When it began, in milliseconds since 1970.
    #[serde(skip)]
    pub started_at: Timestamp,
    /// When it ended, in milliseconds since 1970.
    #[serde(skip)]
    pub ended_at: Option<Timestamp>,
}

/// Which sessions to list.
#[derive(Clone, Debug)]
pub struct SessionFilter<'p> {
    /// Of this project only.
    pub project: Option<&'p Project>,
    /// Only those that come after this place in the list.
    pub after: Option<SessionCursor>,
    /// At most so many.
    pub limit: u32,
}

impl Session {
    /// Returns its place in the list of sessions.
    pub fn cursor(&self) -> SessionCursor {
        SessionCursor {
            last_event_at: self.last_event_at,
            id: self.db_id,
        }
    }
}

/// Marks a place in the list of sessions; clients pass it back as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionCursor {
    last_event_at: Timestamp,
    id: SessionId,
}

impl SessionCursor {
    const START: Self = Self {
        last_event_at: Timestamp::MAX,
        id: SessionId::new(i64::MAX),
    };
}

impl fmt::Display for SessionCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.last_event_at.as_millis(), self.id)
    }
}

impl FromStr for SessionCursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, ParseCursorError> {
        let read = || {
            let (at, id) = text.rsplit_once('-')?;
            Some(Self {
                last_event_at: Timestamp::from_millis(at.parse().ok()?),
                id: SessionId::new(id.parse().ok()?),
            })
        };
        read().ok_or_else(|| ParseCursorError::new(text))
    }
}

/// Why a session was not found.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// There is none.
    #[error("no session has an id that starts with `{0}`")]
    Unknown(String),
    /// The beginning of an id fits several.
    #[error("`{start}` is the start of several session ids: {}", .ids.join(", "))]
    Ambiguous {
        /// What was given.
        start: String,
        /// The ids to choose from.
        ids: Vec<String>,
    },
    /// The database did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

const COLUMNS: &str = "select session.id, session.session_id, session.host, project.name, project.key, session.cwd,
        session.branch, session.worktree, session.status, session.end_reason, session.title,
        (select prompt from turn where session_db_id = session.id and machine_made = 0 and prompt is not null
            order by number limit 1),
        (select count(*) from turn where session_db_id = session.id and machine_made = 0 and prompt is not null),
        (select count(*) from turn where session_db_id = session.id),
        (select count(*) from event where session_db_id = session.id),
        session.started_at, session.last_event_at, session.ended_at
    from session join project on project.id = session.project_id";

impl Store {
    /// Lists sessions, the latest first. A session that ended without ever having a turn says nothing and is left out.
    pub fn sessions(&self, filter: &SessionFilter<'_>) -> Result<Vec<Session>, StoreError> {
        let attempt = query("list the sessions");
        let sql = format!(
            "{COLUMNS} where (?1 is null or session.project_id = ?1)
               and (session.status <> 'completed' or exists (select 1 from turn where session_db_id = session.id))
               and (session.last_event_at, session.id) < (?3, ?4)
             order by session.last_event_at desc, session.id desc limit ?2"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(attempt)?;
        let project = filter.project.map(|project| project.db_id);
        let after = filter.after.unwrap_or(SessionCursor::START);
        let rows = statement
            .query_map(
                params![project, filter.limit, after.last_event_at, after.id],
                read,
            )
            .map_err(attempt)?;
        rows.collect::<Result<_, _>>().map_err(attempt)
    }

    /// Marks the sessions of which nothing was heard for a day as interrupted, and puts what they left open into the queue:
    /// nothing else will tell that it is over. Looks at sessions that were heard of since a time: whoever looks all day need
    /// not go through those of years. Returns how many.
    pub fn mark_interrupted(&mut self, now: Timestamp, since: Timestamp) -> Result<usize, StoreError> {
        const SILENCE: Duration = Duration::from_hours(24);
        const SILENT: &str = "select id from session where last_event_at >= ?1 and last_event_at < ?2
            and status in ('active', 'summarizing')";
        const OPEN: &str = "select id from turn where session_db_id = ?1 and ended_at is null";
        const AGAIN: &str = "update event set state = 'pending', tries = 0, not_before = ?2
            where state = 'done' and id = (select id from event where turn_id = ?1 order by key desc limit 1)";
        const CLOSE: &str = "update turn set ended_at = (select last_event_at from session where id = session_db_id) where id = ?1";
        const INTERRUPT: &str = "update session set status = 'interrupted' where id = ?1";
        let attempt = query("look for silent sessions");
        let silent = |connection: &Connection| -> rusqlite::Result<Vec<SessionId>> {
            let mut statement = connection.prepare_cached(SILENT)?;
            let rows = statement.query_map([since, now - SILENCE], |row| row.get(0))?;
            rows.collect()
        };
        let open = |connection: &Connection, session: SessionId| -> rusqlite::Result<Vec<TurnId>> {
            let mut statement = connection.prepare_cached(OPEN)?;
            let rows = statement.query_map([session], |row| row.get(0))?;
            rows.collect()
        };
        // Asked first without a lock: mostly there is none.
        if silent(&self.connection).map_err(attempt)?.is_empty() {
            return Ok(0);
        }
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let run = || -> rusqlite::Result<usize> {
            let silent = silent(&transaction)?;
            for &session in &silent {
                for turn in open(&transaction, session)? {
                    transaction.prepare_cached(AGAIN)?.execute(params![turn, now])?;
                    transaction.prepare_cached(CLOSE)?.execute([turn])?;
                }
                transaction.prepare_cached(INTERRUPT)?.execute([session])?;
            }
            Ok(silent.len())
        };
        let interrupted = run().map_err(attempt)?;
        transaction.commit().map_err(attempt)?;
        Ok(interrupted)
    }

    /// Finds a session by its id or the beginning of it.
    pub fn session(&self, start: &str) -> Result<Session, SessionError> {
        let attempt = query("look for a session");
        let sql = format!(
            "{COLUMNS} where substr(session.session_id, 1, length(?1)) = ?1
             order by session.session_id <> ?1, session.session_id limit 6"
        );
        let mut statement = self.connection.prepare_cached(&sql).map_err(attempt)?;
        let rows = statement.query_map([start], read).map_err(attempt)?;
        let mut found: Vec<Session> = rows.collect::<Result<_, _>>().map_err(attempt)?;
        match found.as_slice() {
            [] => Err(SessionError::Unknown(start.to_owned())),
            [one, ..] if found.len() == 1 || one.session_id == start => Ok(found.swap_remove(0)),
            _ => {
                let ids = found.into_iter().map(|session| session.session_id).collect();
                Err(SessionError::Ambiguous {
                    start: start.to_owned(),
                    ids,
                })
            }
        }
    }

    /// Finds a session by the number of its row.
    pub fn session_by_number(&self, db_id: SessionId) -> Result<Option<Session>, StoreError> {
        let sql = format!("{COLUMNS} where session.id = ?1");
        self.connection
            .prepare_cached(&sql)
            .and_then(|mut statement| statement.query_row([db_id], read).optional())
            .map_err(query("look for a session"))
    }

    /// Returns the number of the last turn of a session, if it has any.
    pub fn last_turn_number(&self, session_db_id: SessionId) -> Result<Option<i64>, StoreError> {
        const LAST: &str = "select max(number) from turn where session_db_id = ?1";
        self.connection
            .prepare_cached(LAST)
            .and_then(|mut statement| statement.query_row([session_db_id], |row| row.get(0)))
            .map_err(query("look for a turn"))
    }

    /// Returns what was made of each turn of a session, by the number of the turn's row.
    pub fn memories_by_turn(&self, session: &Session) -> Result<BTreeMap<TurnId, Vec<Handle>>, StoreError> {
        const MADE: &str = "select turn_id, 'observation', id from observation where session_db_id = ?1 and turn_id is not null
            union all select turn_id, 'summary', id from summary where session_db_id = ?1 and turn_id is not null
            order by 1, 2, 3";
        let attempt = query("read what was made of a session");
        let mut statement = self.connection.prepare_cached(MADE).map_err(attempt)?;
        let mut rows = statement.query([session.db_id]).map_err(attempt)?;
        let mut made: BTreeMap<TurnId, Vec<Handle>> = BTreeMap::new();
        while let Some(row) = rows.next().map_err(attempt)? {
            let (turn, kind, id) = (row.get(0), row.get(1), row.get(2));
            let (kind, id) = (kind.map_err(attempt)?, id.map_err(attempt)?);
            made.entry(turn.map_err(attempt)?)
                .or_default()
                .push(Handle { kind, id });
        }
        Ok(made)
    }

    /// Lists the turns of a session in their order.
    pub fn turns(&self, session: &Session) -> Result<Vec<Turn>, StoreError> {
        const TURNS: &str = "select id, number, prompt, machine_made, branch,
                (select count(*) from event where turn_id = turn.id and agent_id is null
                    and kind in ('post-tool-use', 'post-tool-use-failure')),
                (select count(*) from event where turn_id = turn.id and kind = 'post-tool-use-failure'),
                (select count(*) from event where turn_id = turn.id and agent_id is not null
                    and kind in ('post-tool-use', 'post-tool-use-failure')),
                started_at, ended_at
            from turn where session_db_id = ?1 order by number";
        let attempt = query("list the turns of a session");
        let mut statement = self.connection.prepare_cached(TURNS).map_err(attempt)?;
        let rows = statement.query_map([session.db_id], read_turn).map_err(attempt)?;
        rows.collect::<Result<_, _>>().map_err(attempt)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        db_id: row.get(0)?,
        session_id: row.get(1)?,
        host: row.get(2)?,
        project: row.get(3)?,
        project_id: row.get(4)?,
        cwd: row.get(5)?,
        branch: row.get(6)?,
        worktree: row.get(7)?,
        status: row.get(8)?,
        end_reason: row.get(9)?,
        title: row.get(10)?,
        first_prompt: row.get(11)?,
        prompts: row.get(12)?,
        turns: row.get(13)?,
        events: row.get(14)?,
        started_at: row.get(15)?,
        last_event_at: row.get(16)?,
        ended_at: row.get(17)?,
    })
}

fn read_turn(row: &Row<'_>) -> rusqlite::Result<Turn> {
    Ok(Turn {
        id: row.get(0)?,
        number: row.get(1)?,
        prompt: row.get(2)?,
        machine_made: row.get(3)?,
        branch: row.get(4)?,
        tools: row.get(5)?,
        failures: row.get(6)?,
        subagent_tools: row.get(7)?,
        started_at: row.get(8)?,
        ended_at: row.get(9)?,
    })
}
