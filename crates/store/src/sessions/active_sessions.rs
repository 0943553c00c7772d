//! What goes on right now: sessions that run, and what their turns do.

use backstory_model::{EventKind, SessionStatus, Timestamp, ToolInput, ToolSubject, TurnId};
use rusqlite::params;
use serde::Deserialize;
use serde_json::Value;

use crate::{Store, StoreError, schema::open::query};

/// A session that goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveSession {
    /// The agent's own id.
    pub session_id: String,
    /// The agent program.
    pub host: String,
    /// The project, by display name.
    pub project: String,
    /// The project's id.
    pub project_id: String,
    /// The branch it is on.
    pub branch: Option<String>,
    /// What it is about.
    pub title: Option<String>,
    /// Whether the end of a turn waits to be distilled.
    pub is_summarizing: bool,
    /// When it was last heard of, in milliseconds since 1970.
    pub last_event_at: Timestamp,
    /// The number of its current turn.
    pub turn: Option<i64>,
    /// What was asked in it.
    pub prompt: Option<String>,
    /// When the turn began, in milliseconds since 1970.
    pub turn_started_at: Option<Timestamp>,
    /// Whether the turn is over: the agent waits for the person.
    pub is_waiting: bool,
    /// How many tools were used in it.
    pub tools: u64,
}

/// Something that an agent did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The tool; absent when it is another event.
    pub tool: Option<String>,
    /// The kind of the event.
    pub kind: EventKind,
    /// What the tool was used on: a file, a command, a pattern.
    pub about: Option<String>,
    /// Whether the about is a file's path.
    pub is_file: bool,
    /// Why it failed; present for failures only.
    pub error: Option<String>,
    /// Whether a sub-agent did it.
    pub is_subagent: bool,
    /// When, in milliseconds since 1970.
    pub at: Timestamp,
}

impl Store {
    /// Returns the sessions that go on and were heard of since a time, the latest first.
    pub fn running(&self, since: Timestamp, most: u32) -> Result<Vec<ActiveSession>, StoreError> {
        const RUNNING: &str = "select session.session_id, host, project.name, project.key, session.branch, session.title,
                status, last_event_at, turn.number, turn.prompt, turn.started_at, turn.ended_at,
                (select count(*) from event where turn_id = turn.id and kind in ('post-tool-use', 'post-tool-use-failure'))
            from session indexed by session_by_time cross join project on project.id = session.project_id
                left join turn on turn.session_db_id = session.id
                    and turn.number = (select max(number) from turn where session_db_id = session.id)
            where last_event_at >= ?1 and status in ('active', 'summarizing')
            order by last_event_at desc limit ?2";
        let attempt = query("look for running sessions");
        let mut statement = self.connection.prepare_cached(RUNNING).map_err(attempt)?;
        let rows = statement.query_map(params![since, most], |row| {
            let number: Option<i64> = row.get(8)?;
            Ok(ActiveSession {
                session_id: row.get(0)?,
                host: row.get(1)?,
                project: row.get(2)?,
                project_id: row.get(3)?,
                branch: row.get(4)?,
                title: row.get(5)?,
                is_summarizing: row.get::<_, SessionStatus>(6)? == SessionStatus::Summarizing,
                last_event_at: row.get(7)?,
                turn: number,
                prompt: row.get(9)?,
                turn_started_at: row.get(10)?,
                is_waiting: number.is_none() || row.get::<_, Option<Timestamp>>(11)?.is_some(),
                tools: row.get(12)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Returns what was done in a turn, in its order, so much at most.
    pub fn actions(&self, turn_id: TurnId, most: u32) -> Result<Vec<Action>, StoreError> {
        const ACTIONS: &str = "select kind, tool_name, agent_id is not null, at, payload
            from event indexed by event_by_turn
            where turn_id = ?1 and kind in ('post-tool-use', 'post-tool-use-failure', 'pre-compact')
            order by key limit ?2";
        let attempt = query("read what was done in a turn");
        let mut statement = self.connection.prepare_cached(ACTIONS).map_err(attempt)?;
        let rows = statement.query_map(params![turn_id, most], |row| {
            let kind = row.get(0)?;
            let payload = Payload::read(row.get_ref(4)?.as_str()?);
            let (about, is_file) = payload.about();
            let failed = kind == EventKind::PostToolUseFailure;
            Ok(Action {
                error: failed.then(|| payload.error()),
                kind,
                tool: row.get(1)?,
                about,
                is_file,
                is_subagent: row.get(2)?,
                at: row.get(3)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }
}

/// What of a payload tells what was done. Agents differ: whatever is missing or of another shape is passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Payload {
    tool_input: Value,
    error: Value,
}

impl Payload {
    fn read(json: &str) -> Self {
        serde_json::from_str(json).unwrap_or_default()
    }

    fn about(&self) -> (Option<String>, bool) {
        let input = ToolInput::new(|name: &str| self.tool_input.get(name)?.as_str());
        match input.subject() {
            Some(ToolSubject::File(path)) => (Some(path.to_owned()), true),
            Some(ToolSubject::Other(text)) => (Some(text.to_owned()), false),
            None => (None, false),
        }
    }

    fn error(&self) -> String {
        match &self.error {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_read_from_any_payload() {
        let about = |json: &str| Payload::read(json).about();
        let edit = r#"{"tool_input": {"file_path": "src/a.rs", "old_string": "x"}}"#;
        assert_eq!(about(edit), (Some("src/a.rs".to_owned()), true));
        let command = r#"{"tool_input": {"command": "ls", "description": "list"}, "error": "no"}"#;
        assert_eq!(about(command), (Some("ls".to_owned()), false));
        assert_eq!(Payload::read(command).error(), "no");
        for nothing in [
            "{}",
            "",
            "[]",
            r#"{"tool_input": null}"#,
            r#"{"tool_input": "x"}"#,
        ] {
            assert_eq!(about(nothing), (None, false), "{nothing}");
        }
    }
}
