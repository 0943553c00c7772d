//! What goes in: one turn, as its events or its transcript tell it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One prompt and everything up to the end of its turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnInput {
    /// The number of the turn in its session, from 1.
    pub number: u32,
    /// The start of the turn, in milliseconds since 1970.
    pub started_ms: i64,
    /// What was asked; absent when the turn was under way before anyone listened.
    pub prompt: Option<String>,
    /// Whether a program asked (a task notification, say), not the person.
    pub machine_made: bool,
    /// The absolute path of the working tree: paths below it are shown relative to it.
    pub root: Option<String>,
    /// The branch at that time.
    pub branch: Option<String>,
    /// What happened, in order.
    pub steps: Vec<TurnStep>,
    /// The agent's last words of the turn, when the hook told them; they may also be the last prose of `steps`.
    pub last_message: Option<String>,
    /// How it ended.
    pub end: TurnEnd,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    /// The agent was done.
    Stopped,
    /// The agent stopped while something it started still runs.
    Background,
    /// The person interrupted it, or the session ended in the middle.
    Interrupted,
    /// It still runs: this is an episode of a long turn.
    #[default]
    Open,
}

/// One thing of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnStep {
    /// What the agent said between its tool uses.
    Prose(String),
    /// A tool was used.
    Tool(ToolUse),
    /// A sub-agent reported back.
    SubAgent {
        /// The sub-agent's id.
        agent_id: Option<String>,
        /// What kind of sub-agent it was.
        agent_type: Option<String>,
        /// Its last words.
        report: String,
    },
    /// The agent's context was compacted into this summary.
    Compaction(String),
    /// A message that the user typed while the agent worked.
    UserMessage(String),
    /// The user interrupted the agent.
    Interrupted,
}

/// One use of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolUse {
    /// The agent's id of the call.
    pub id: Option<String>,
    /// The sub-agent that made it, if not the agent itself.
    pub agent_id: Option<String>,
    /// The tool: `Bash`, `Edit`, `Write`, `Read`, `Grep`, `mcp__…`.
    pub name: String,
    /// What it was given.
    pub input: Value,
    /// What came of it.
    pub outcome: ToolOutcome,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// What came of a tool use.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// It answered: the structured answer of the hook (`tool_response`) or of the transcript (`toolUseResult`), or text.
    Answered(Value),
    /// It failed with this text.
    Failed(String),
    /// The user refused the call, perhaps with these words.
    Refused(Option<String>),
    /// Nothing is known of the end.
    Unknown,
}
