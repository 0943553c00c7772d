//! Sessions and turns.

use backstory_model::{Handle, Handover};
use backstory_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use super::{MemoryJson, rfc3339};

/// One conversation with an agent.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Session")]
pub struct SessionJson {
    /// Id of the session in the database.
    pub session_db_id: i64,
    /// The agent's own id of the session.
    pub session_id: String,
    /// Agent program, such as `claude-code`.
    pub host: String,
    /// Display name of the project.
    pub project: String,
    /// Id of the project.
    pub project_id: String,
    /// Working directory at the start.
    pub cwd: Option<String>,
    /// Current or last branch.
    pub branch: Option<String>,
    /// Linked worktree of the session.
    pub worktree: Option<String>,
    /// active, summarizing, completed, interrupted or failed.
    pub status: &'static str,
    /// Reason why the session ended, as reported by the agent.
    pub end_reason: Option<String>,
    /// Title.
    pub title: Option<String>,
    /// Latest outcome, in one line.
    pub subtitle: Option<String>,
    /// First prompt of the user.
    pub first_prompt: Option<String>,
    /// Number of user prompts.
    pub prompts: u64,
    /// Number of turns.
    pub turns: u64,
    /// Number of events.
    pub events: u64,
    /// Start time.
    pub started_at: String,
    /// Time of the last event.
    pub last_event_at: String,
    /// End time.
    pub ended_at: Option<String>,
}

impl From<store::Session> for SessionJson {
    fn from(session: store::Session) -> Self {
        Self {
            session_db_id: session.db_id.get(),
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
            subtitle: session.subtitle,
            first_prompt: session.first_prompt,
            prompts: session.prompts,
            turns: session.turns,
            events: session.events,
            started_at: rfc3339(session.started_at),
            last_event_at: rfc3339(session.last_event_at),
            ended_at: session.ended_at.map(rfc3339),
        }
    }
}

/// State of the work at the end of a session, for the next session.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Handover")]
pub struct HandoverJson {
    /// Requests in the user's words, oldest first.
    pub requests: Vec<String>,
    /// Completed work, with commits and pull requests.
    pub done: Vec<String>,
    /// Last result of each test, build and lint command.
    pub checks: Vec<String>,
    /// State of the branch and the working tree.
    pub state: Vec<String>,
    /// Open work.
    pub open: Vec<String>,
    /// Decisions to know.
    pub decisions: Vec<String>,
    /// Failures with their remedy, and attempts that did not work.
    pub traps: Vec<String>,
    /// Branch at the end.
    pub branch: Option<String>,
}

impl From<Handover> for HandoverJson {
    fn from(handover: Handover) -> Self {
        Self {
            requests: handover.requests,
            done: handover.done,
            checks: handover.checks,
            state: handover.state,
            open: handover.open,
            decisions: handover.decisions,
            traps: handover.traps,
            branch: handover.branch,
        }
    }
}

/// One prompt and everything up to its Stop.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Turn")]
pub struct TurnJson {
    /// Number in the session, from 1.
    pub number: i64,
    /// Handle of the prompt.
    pub prompt_id: String,
    /// Text of the prompt; absent if it was not recorded.
    pub prompt: Option<String>,
    /// True if a program wrote the prompt, not the user.
    pub machine_made: bool,
    /// Branch during the turn.
    pub branch: Option<String>,
    /// Tool uses of the main agent.
    pub tools: u64,
    /// Failed tool uses.
    pub failures: u64,
    /// Tool uses of sub-agents.
    pub subagent_tools: u64,
    /// Start time.
    pub started_at: String,
    /// End time.
    pub ended_at: Option<String>,
    /// Memories distilled from the turn.
    pub memories: Vec<MemoryJson>,
}

impl TurnJson {
    /// Converts a stored turn and its memories.
    pub fn new(turn: store::Turn, memories: Vec<MemoryJson>) -> Self {
        Self {
            number: turn.number,
            prompt_id: Handle::from(turn.id).to_string(),
            prompt: turn.prompt,
            machine_made: turn.machine_made,
            branch: turn.branch,
            tools: turn.tools,
            failures: turn.failures,
            subagent_tools: turn.subagent_tools,
            started_at: rfc3339(turn.started_at),
            ended_at: turn.ended_at.map(rfc3339),
            memories,
        }
    }
}
