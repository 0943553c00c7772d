//! The input of the distiller: one turn, read from its events and its transcript.
//!
//! Steps are serializable because an import stores those that no hook reports next to the event that follows them.

use backstory_model::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One prompt and everything up to the end of its turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnInput {
    /// The number of the turn in its session, from 1.
    pub number: u32,
    /// The start of the turn.
    pub started_at: Timestamp,
    /// The prompt; absent when the turn had started before recording did.
    pub prompt: Option<String>,
    /// Set when a program wrote the prompt, such as a task notification.
    pub machine_made: bool,
    /// The absolute path of the working tree: paths below it are shown relative to it.
    pub root: Option<String>,
    /// The branch at that time.
    pub branch: Option<String>,
    /// The steps, in order.
    pub steps: Vec<TurnStep>,
    /// The agent's last message, if a hook reported it; it may also be the last prose of `steps`.
    pub last_message: Option<String>,
    /// The end of the turn so far.
    pub end: TurnEnd,
}

/// The end of a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The agent finished.
    Stopped,
    /// The agent stopped while something it started is still running.
    Background,
    /// The user interrupted it, or the session ended in the middle.
    Interrupted,
    /// It is still running.
    #[default]
    Open,
}

/// One step of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnStep {
    /// Agent prose between tool calls.
    Prose(String),
    /// A tool call.
    Tool(ToolUse),
    /// The report of a sub-agent.
    SubAgent {
        /// The sub-agent's id.
        agent_id: Option<String>,
        /// The kind of sub-agent.
        agent_type: Option<String>,
        /// Its last message.
        report: String,
    },
    /// The summary that replaced the agent's context.
    Compaction(String),
    /// A message that the user typed while the agent worked.
    UserMessage(String),
    /// The user interrupted the agent.
    Interrupted,
}

/// A tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolUse {
    /// The agent's id of the call.
    pub id: Option<String>,
    /// The sub-agent that made it, if not the agent itself.
    #[serde(default)]
    pub agent_id: Option<String>,
    /// The tool: `Bash`, `Edit`, `Write`, `Read`, `Grep`, `mcp__…`.
    pub name: String,
    /// The input.
    pub input: Value,
    /// The result.
    pub outcome: ToolOutcome,
    /// The time of the result.
    #[serde(rename = "at_ms")]
    pub at: Timestamp,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolOutcome {
    /// It answered: the structured answer of the hook (`tool_response`) or of the transcript (`toolUseResult`), or text.
    Answered(Value),
    /// It failed with this text.
    Failed(String),
    /// The user refused the call, perhaps with these words.
    Refused(Option<String>),
    /// The end is not known.
    Unknown,
}
