//! Running sessions and the actions of their turns.

use backstory_model::{EventKind, SessionStatus, Timestamp, ToolInput, ToolSubject, TurnId};
use rusqlite::params;
use serde::Deserialize;
use serde_json::Value;

use crate::{EventPayload, Store, StoreError, sql::Statements as _};

/// Holds a running session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveSession {
    /// The agent's own id.
    pub session_id: String,
    /// The agent program.
    pub host: String,
    /// The display name of the project.
    pub project: String,
    /// The key of the project.
    pub project_id: String,
    /// The branch.
    pub branch: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The end of a turn awaits distillation.
    pub is_summarizing: bool,
    /// The last event.
    pub last_event_at: Timestamp,
    /// The number of the current turn.
    pub turn: Option<i64>,
    /// The prompt of the current turn.
    pub prompt: Option<String>,
    /// The start of the current turn.
    pub turn_started_at: Option<Timestamp>,
    /// The current turn has ended: the agent waits for the user.
    pub is_waiting: bool,
    /// The number of tool uses in the current turn.
    pub tools: u64,
}

/// Holds one action of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnAction {
    /// The tool; absent for other events.
    pub tool: Option<String>,
    /// The kind of the event.
    pub kind: EventKind,
    /// The subject of the tool use: a file, a command, a pattern.
    pub about: Option<String>,
    /// The subject is the path of a file.
    pub is_file: bool,
    /// The error of a failed tool use.
    pub error: Option<String>,
    /// A sub-agent did it.
    pub is_subagent: bool,
    /// The time.
    pub at: Timestamp,
}

impl Store {
    /// Returns the running sessions with events since a time, the latest first.
    pub fn running(&self, since: Timestamp, limit: u32) -> Result<Vec<ActiveSession>, StoreError> {
        const RUNNING: &str = "select session.session_id as session_id, host, project.name as project,
                project.key as project_id, session.branch as branch, session.title as title, status, last_event_at,
                turn.number as turn, turn.prompt as prompt, turn.started_at as turn_started_at, turn.ended_at as turn_ended_at,
                (select count(*) from event where turn_id = turn.id and kind in ('post-tool-use', 'post-tool-use-failure'))
                    as tools
            from session indexed by session_by_time cross join project on project.id = session.project_id
                left join turn on turn.session_db_id = session.id
                    and turn.number = (select max(number) from turn where session_db_id = session.id)
            where last_event_at >= ?1 and status in ('active', 'summarizing')
            order by last_event_at desc limit ?2";
        self.read("look for running sessions", |connection| {
            connection.rows(RUNNING, params![since, limit], |row| {
                let turn: Option<i64> = row.get("turn")?;
                let turn_ended_at: Option<Timestamp> = row.get("turn_ended_at")?;
                Ok(ActiveSession {
                    session_id: row.get("session_id")?,
                    host: row.get("host")?,
                    project: row.get("project")?,
                    project_id: row.get("project_id")?,
                    branch: row.get("branch")?,
                    title: row.get("title")?,
                    is_summarizing: row.get::<_, SessionStatus>("status")? == SessionStatus::Summarizing,
                    last_event_at: row.get("last_event_at")?,
                    turn,
                    prompt: row.get("prompt")?,
                    turn_started_at: row.get("turn_started_at")?,
                    is_waiting: turn.is_none() || turn_ended_at.is_some(),
                    tools: row.get("tools")?,
                })
            })
        })
    }

    /// Returns the first actions of a turn in order.
    pub fn actions(&self, turn: TurnId, limit: u32) -> Result<Vec<TurnAction>, StoreError> {
        const ACTIONS: &str =
            "select kind, tool_name, agent_id is not null as is_subagent, at, payload, packed
            from event indexed by event_by_turn
            where turn_id = ?1 and kind in ('post-tool-use', 'post-tool-use-failure', 'pre-compact')
            order by key limit ?2";
        self.read("read the actions of a turn", |connection| {
            connection.rows(ACTIONS, params![turn, limit], |row| {
                let kind = row.get("kind")?;
                let payload = Payload::read(&EventPayload::from_row(row)?.text());
                let (about, is_file) = payload.about();
                Ok(TurnAction {
                    error: (kind == EventKind::PostToolUseFailure).then(|| payload.error()),
                    kind,
                    tool: row.get("tool_name")?,
                    about,
                    is_file,
                    is_subagent: row.get("is_subagent")?,
                    at: row.get("at")?,
                })
            })
        })
    }
}

/// Holds the fields of a payload that describe an action. Agents differ: a field that is missing or of another type is
/// empty.
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
    fn the_subject_is_read_from_any_payload() {
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
