//! A session and its turns as they are shown.

use backstory_model::{Handle, MemoryKind};
use backstory_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Memory, rfc3339};

/// One conversation with an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SessionJson {
    /// The number of the row.
    pub session_db_id: i64,
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
    /// active, summarizing, completed, interrupted or failed.
    pub status: &'static str,
    /// Why it ended, in the agent's words.
    pub end_reason: Option<String>,
    /// What it was about.
    pub title: Option<String>,
    /// The person's first words.
    pub first_prompt: Option<String>,
    /// How many prompts the person gave.
    pub prompts: u64,
    /// How many turns it has.
    pub turns: u64,
    /// How many events were reported.
    pub events: u64,
    /// When it began.
    pub started_at: String,
    /// When it was last heard of.
    pub last_event_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
}

impl From<store::Session> for SessionJson {
    fn from(session: store::Session) -> Self {
        Self {
            session_db_id: session.db_id,
            session_id: session.session_id,
            host: session.host,
            project: session.project,
            project_id: session.project_id,
            cwd: session.cwd,
            branch: session.branch,
            worktree: session.worktree,
            status: session.status.name(),
            end_reason: session.end_reason,
            title: session.title,
            first_prompt: session.first_prompt,
            prompts: session.prompts,
            turns: session.turns,
            events: session.events,
            started_at: rfc3339(session.started_ms),
            last_event_at: rfc3339(session.last_event_ms),
            ended_at: session.ended_ms.map(rfc3339),
        }
    }
}

/// One prompt and what followed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnJson {
    /// Counts from 1.
    pub number: i64,
    /// What names its prompt.
    pub prompt_id: String,
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
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// What was made of it.
    pub memories: Vec<Memory>,
}

impl TurnJson {
    /// Shows a turn with the memories that were made of it.
    pub fn new(turn: store::Turn, memories: Vec<Memory>) -> Self {
        let prompt = Handle {
            kind: MemoryKind::Prompt,
            id: turn.id,
        };
        Self {
            number: turn.number,
            prompt_id: prompt.to_string(),
            prompt: turn.prompt,
            machine_made: turn.machine_made,
            branch: turn.branch,
            tools: turn.tools,
            failures: turn.failures,
            subagent_tools: turn.subagent_tools,
            started_at: rfc3339(turn.started_ms),
            ended_at: turn.ended_ms.map(rfc3339),
            memories,
        }
    }
}
