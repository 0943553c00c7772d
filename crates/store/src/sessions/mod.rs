//! Sessions, turns and projects as they are displayed, and sessions that fell silent.

pub(crate) mod active_sessions;
pub(crate) mod activity;
pub(crate) mod chapters;
pub(crate) mod hosts;
pub(crate) mod project_timeline;
pub(crate) mod projects;
pub(crate) mod turn_feed;
pub(crate) mod turn_git;

use std::{collections::BTreeMap, fmt, str::FromStr, time::Duration};

use backstory_model::{Handle, SessionId, SessionStatus, Timestamp, TurnId};
use rusqlite::{Connection, Row, params};
use serde::Serialize;

use crate::{ParseCursorError, Project, Store, StoreError, sql::Statements as _};

/// A session without events for this long is interrupted.
const SILENCE: Duration = Duration::from_hours(24);

/// Holds one conversation with an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Session {
    /// The database id.
    #[serde(skip)]
    pub db_id: SessionId,
    /// The agent's own id.
    pub session_id: String,
    /// The agent program.
    pub host: String,
    /// The display name of the project.
    pub project: String,
    /// The key of the project.
    pub project_id: String,
    /// The folder it was started in.
    pub cwd: Option<String>,
    /// The latest branch.
    pub branch: Option<String>,
    /// The linked worktree it works in.
    pub worktree: Option<String>,
    /// The state.
    pub status: SessionStatus,
    /// The end reason that the agent reported.
    pub end_reason: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The latest outcome in one line.
    pub subtitle: Option<String>,
    /// The first prompt of the user.
    pub first_prompt: Option<String>,
    /// The number of prompts of the user.
    pub prompts: u64,
    /// The number of turns, including those with machine-made prompts.
    pub turns: u64,
    /// The number of events.
    pub events: u64,
    /// The start.
    #[serde(skip)]
    pub started_at: Timestamp,
    /// The last event.
    #[serde(skip)]
    pub last_event_at: Timestamp,
    /// The end.
    #[serde(skip)]
    pub ended_at: Option<Timestamp>,
}

/// Holds one prompt and the work up to the next one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Turn {
    /// The database id; the prompt's handle is `P` and this number.
    pub id: TurnId,
    /// The number in the session, from 1.
    pub number: i64,
    /// The prompt; absent if capture started in the middle of the turn.
    pub prompt: Option<String>,
    /// A program wrote the prompt, not the user.
    pub machine_made: bool,
    /// The branch at that time.
    pub branch: Option<String>,
    /// Tool uses of the agent itself.
    pub tools: u64,
    /// Failed tool uses.
    pub failures: u64,
    /// Tool uses of sub-agents.
    pub subagent_tools: u64,
    /// The start.
    #[serde(skip)]
    pub started_at: Timestamp,
    /// The end.
    #[serde(skip)]
    pub ended_at: Option<Timestamp>,
}

/// Selects sessions.
#[derive(Clone, Debug)]
pub struct SessionFilter<'p> {
    /// Only of this project.
    pub project: Option<&'p Project>,
    /// Only those after this place in the list.
    pub after: Option<SessionCursor>,
    /// The maximum number.
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

/// Marks a place in the list of sessions. Clients pass it back as text.
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

/// Reports why a session was not found.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// No session has an id that starts like this.
    #[error("no session has an id that starts with `{0}`")]
    Unknown(String),
    /// Several ids start like this.
    #[error("`{start}` is the start of several session ids: {}", .ids.join(", "))]
    Ambiguous {
        /// The given start.
        start: String,
        /// The ids to choose from.
        ids: Vec<String>,
    },
    /// The query failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

const COLUMNS: &str = "select session.id as db_id, session.session_id as session_id, session.host as host,
        project.name as project, project.key as project_id, session.cwd as cwd, session.branch as branch,
        session.worktree as worktree, session.status as status, session.end_reason as end_reason, session.title as title, session.subtitle as subtitle,
        (select prompt from turn where session_db_id = session.id and machine_made = 0 and prompt is not null
            order by number limit 1) as first_prompt,
        (select count(*) from turn where session_db_id = session.id and machine_made = 0 and prompt is not null) as prompts,
        (select count(*) from turn where session_db_id = session.id) as turns,
        (select count(*) from event where session_db_id = session.id) as events,
        session.started_at as started_at, session.last_event_at as last_event_at, session.ended_at as ended_at
    from session join project on project.id = session.project_id";

pub(crate) const TURN_COLUMNS: &str = "select id, number, prompt, machine_made, branch,
        (select count(*) from event where turn_id = turn.id and agent_id is null
            and kind in ('post-tool-use', 'post-tool-use-failure')) as tools,
        (select count(*) from event where turn_id = turn.id and kind = 'post-tool-use-failure') as failures,
        (select count(*) from event where turn_id = turn.id and agent_id is not null
            and kind in ('post-tool-use', 'post-tool-use-failure')) as subagent_tools,
        started_at, ended_at
    from turn";

impl Store {
    /// Lists sessions, the latest first. Leaves out sessions that ended without a turn.
    pub fn sessions(&self, filter: &SessionFilter<'_>) -> Result<Vec<Session>, StoreError> {
        let sql = format!(
            "{COLUMNS} where (?1 is null or session.project_id = ?1)
               and (session.status <> 'completed' or exists (select 1 from turn where session_db_id = session.id))
               and (session.last_event_at, session.id) < (?3, ?4)
             order by session.last_event_at desc, session.id desc limit ?2"
        );
        let project = filter.project.map(|project| project.db_id);
        let after = filter.after.unwrap_or(SessionCursor::START);
        self.read("list the sessions", |connection| {
            let values = params![project, filter.limit, after.last_event_at, after.id];
            connection.rows(&sql, values, read_session)
        })
    }

    /// Marks sessions without events for a day as interrupted and queues the last event of their open turns, because nothing
    /// else will end these turns. Looks only at sessions with events since a time: a worker that runs this all day must not
    /// scan the sessions of years. Returns the number of sessions.
    pub fn mark_interrupted(&mut self, now: Timestamp, since: Timestamp) -> Result<usize, StoreError> {
        const ATTEMPT: &str = "look for silent sessions";
        const OPEN: &str = "select id from turn where session_db_id = ?1 and ended_at is null";
        const QUEUE: &str = "update event set state = 'pending', tries = 0, not_before = ?2
            where state = 'done' and id = (select id from event where turn_id = ?1 order by key desc limit 1)";
        const CLOSE: &str = "update turn set ended_at = (select last_event_at from session where id = session_db_id) where id = ?1";
        const INTERRUPT: &str = "update session set status = 'interrupted' where id = ?1";
        let before = now - SILENCE;
        // First without a write lock: usually there is none.
        if self
            .read(ATTEMPT, |connection| silent_sessions(connection, since, before))?
            .is_empty()
        {
            return Ok(0);
        }
        self.write(ATTEMPT, |tx| {
            let sessions = silent_sessions(tx, since, before)?;
            for &session in &sessions {
                let turns: Vec<TurnId> = tx.rows(OPEN, [session], |row| row.get("id"))?;
                for turn in turns {
                    tx.run(QUEUE, params![turn, now])?;
                    tx.run(CLOSE, [turn])?;
                }
                tx.run(INTERRUPT, [session])?;
            }
            Ok(sessions.len())
        })
    }

    /// Finds a session by its id or the start of its id.
    pub fn session(&self, start: &str) -> Result<Session, SessionError> {
        let sql = format!(
            "{COLUMNS} where substr(session.session_id, 1, length(?1)) = ?1
             order by session.session_id <> ?1, session.session_id limit 6"
        );
        let mut found = self.read("look for a session", |connection| {
            connection.rows(&sql, [start], read_session)
        })?;
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

    /// Finds a session by its database id.
    pub fn session_by_number(&self, id: SessionId) -> Result<Option<Session>, StoreError> {
        let sql = format!("{COLUMNS} where session.id = ?1");
        self.read("look for a session", |connection| {
            connection.optional_row(&sql, [id], read_session)
        })
    }

    /// Returns the database id of a session by the agent's id.
    pub fn session_db_id(&self, session_id: &str) -> Result<Option<SessionId>, StoreError> {
        self.read("look for a session", |connection| {
            find_session(connection, session_id)
        })
    }

    /// Returns the number of the last turn of a session.
    pub fn last_turn_number(&self, session: SessionId) -> Result<Option<i64>, StoreError> {
        const LAST: &str = "select max(number) from turn where session_db_id = ?1";
        self.read("look for a turn", |connection| {
            connection.row(LAST, [session], |row| row.get(0))
        })
    }

    /// Returns the prompt of a turn.
    pub fn prompt_of_turn(&self, session: SessionId, number: u32) -> Result<Option<String>, StoreError> {
        const PROMPT: &str = "select prompt from turn where session_db_id = ?1 and number = ?2";
        self.read("look for a turn", |connection| {
            let prompt =
                connection.optional_row(PROMPT, params![session, number], |row| row.get("prompt"))?;
            Ok(prompt.flatten())
        })
    }

    /// Returns the observations and summaries of each turn of a session. An observation of another session that a turn
    /// repeated is not among them, see [`Store::sightings_by_turn`].
    pub fn memories_by_turn(&self, session: &Session) -> Result<BTreeMap<TurnId, Vec<Handle>>, StoreError> {
        const MEMORIES: &str = "select turn_id, 'observation' as kind, id from observation
                where session_db_id = ?1 and turn_id is not null
            union all select turn_id, 'summary', id from summary where session_db_id = ?1 and turn_id is not null
            order by 1, 2, 3";
        self.handles_by_turn(MEMORIES, session)
    }

    /// Returns the observations that each turn of a session repeated.
    pub fn sightings_by_turn(&self, session: &Session) -> Result<BTreeMap<TurnId, Vec<Handle>>, StoreError> {
        const SIGHTINGS: &str =
            "select turn.id as turn_id, 'observation' as kind, sighting.observation_id as id
            from turn join sighting on sighting.turn_id = turn.id where turn.session_db_id = ?1 order by 1, 3";
        self.handles_by_turn(SIGHTINGS, session)
    }

    fn handles_by_turn(
        &self,
        sql: &str,
        session: &Session,
    ) -> Result<BTreeMap<TurnId, Vec<Handle>>, StoreError> {
        self.read("read the memories of a session", |connection| {
            let handles = connection.rows(sql, [session.db_id], |row| {
                let handle = Handle {
                    kind: row.get("kind")?,
                    id: row.get("id")?,
                };
                Ok((row.get("turn_id")?, handle))
            })?;
            let mut by_turn: BTreeMap<TurnId, Vec<Handle>> = BTreeMap::new();
            for (turn, handle) in handles {
                by_turn.entry(turn).or_default().push(handle);
            }
            Ok(by_turn)
        })
    }

    /// Lists the turns of a session in order.
    pub fn turns(&self, session: &Session) -> Result<Vec<Turn>, StoreError> {
        let sql = format!("{TURN_COLUMNS} where session_db_id = ?1 order by number");
        self.read("list the turns of a session", |connection| {
            connection.rows(&sql, [session.db_id], read_turn)
        })
    }
}

/// Finds a session by the agent's id.
pub(crate) fn find_session(connection: &Connection, session_id: &str) -> rusqlite::Result<Option<SessionId>> {
    const FIND: &str = "select id from session where session_id = ?1";
    connection.optional_row(FIND, [session_id], |row| row.get("id"))
}

fn silent_sessions(
    connection: &Connection,
    since: Timestamp,
    before: Timestamp,
) -> rusqlite::Result<Vec<SessionId>> {
    const SILENT: &str = "select id from session where last_event_at >= ?1 and last_event_at < ?2
        and status in ('active', 'summarizing')";
    connection.rows(SILENT, [since, before], |row| row.get("id"))
}

/// Reads a row of [`TURN_COLUMNS`].
pub(crate) fn read_turn(row: &Row<'_>) -> rusqlite::Result<Turn> {
    Ok(Turn {
        id: row.get("id")?,
        number: row.get("number")?,
        prompt: row.get("prompt")?,
        machine_made: row.get("machine_made")?,
        branch: row.get("branch")?,
        tools: row.get("tools")?,
        failures: row.get("failures")?,
        subagent_tools: row.get("subagent_tools")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
    })
}

fn read_session(row: &Row<'_>) -> rusqlite::Result<Session> {
    Ok(Session {
        db_id: row.get("db_id")?,
        session_id: row.get("session_id")?,
        host: row.get("host")?,
        project: row.get("project")?,
        project_id: row.get("project_id")?,
        cwd: row.get("cwd")?,
        branch: row.get("branch")?,
        worktree: row.get("worktree")?,
        status: row.get("status")?,
        end_reason: row.get("end_reason")?,
        title: row.get("title")?,
        subtitle: row.get("subtitle")?,
        first_prompt: row.get("first_prompt")?,
        prompts: row.get("prompts")?,
        turns: row.get("turns")?,
        events: row.get("events")?,
        started_at: row.get("started_at")?,
        last_event_at: row.get("last_event_at")?,
        ended_at: row.get("ended_at")?,
    })
}
