use serde::{Deserialize, Serialize};

/// One statement or action of a turn, verbatim within the capture limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceItem {
    /// The kind of item.
    pub kind: EvidenceKind,
    /// The text, whole: search indexes all of it, display cuts it.
    pub text: String,
    /// The last sentence of agent prose before it: the reason for the action.
    pub intent: Option<String>,
    /// The file it is about, relative to the root where it can be.
    pub path: Option<String>,
    /// The agent's id of the tool call.
    pub tool_use_id: Option<String>,
    /// The time, in milliseconds since 1970.
    pub at_ms: i64,
}

/// The kind of an evidence item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceKind {
    /// A message that the user typed while the agent worked.
    UserMessage,
    /// The user's answer to a question, with the question.
    UserAnswer,
    /// A tool call that the user refused, with the user's words.
    Refusal,
    /// Agent prose in the middle of the work.
    Prose,
    /// The last message of a turn.
    Report,
    /// A sub-agent's report.
    SubagentReport,
    /// The summary that replaced the agent's context.
    Compaction,
    /// A command with its result.
    Command,
    /// A failed command or tool call.
    Error,
    /// A change to a file.
    Edit,
    /// A file that was written whole.
    File,
    /// A commit message in its final form.
    Commit,
    /// Text of a pull request, an issue tracker or a review.
    Publication,
    /// A plan or task list.
    Plan,
    /// A file or a search result that was looked at: path and beginning only.
    Lookup,
    /// The answer of any other tool.
    Tool,
}

impl EvidenceKind {
    /// All kinds.
    pub const ALL: [Self; 16] = [
        Self::UserMessage,
        Self::UserAnswer,
        Self::Refusal,
        Self::Prose,
        Self::Report,
        Self::SubagentReport,
        Self::Compaction,
        Self::Command,
        Self::Error,
        Self::Edit,
        Self::File,
        Self::Commit,
        Self::Publication,
        Self::Plan,
        Self::Lookup,
        Self::Tool,
    ];

    /// Returns the name used in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UserMessage => "user_message",
            Self::UserAnswer => "user_answer",
            Self::Refusal => "refusal",
            Self::Prose => "prose",
            Self::Report => "report",
            Self::SubagentReport => "subagent_report",
            Self::Compaction => "compaction",
            Self::Command => "command",
            Self::Error => "error",
            Self::Edit => "edit",
            Self::File => "file",
            Self::Commit => "commit",
            Self::Publication => "publication",
            Self::Plan => "plan",
            Self::Lookup => "lookup",
            Self::Tool => "tool",
        }
    }

    /// Returns the kind with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Tells text written for a reader from raw tool input and output. Only the former is embedded: an encoder finds
    /// little meaning in diffs and logs, and each costs as much as a memory.
    pub const fn is_statement(self) -> bool {
        match self {
            Self::UserMessage
            | Self::UserAnswer
            | Self::Refusal
            | Self::Prose
            | Self::Report
            | Self::SubagentReport
            | Self::Compaction
            | Self::Commit
            | Self::Publication
            | Self::Plan => true,
            Self::Command | Self::Error | Self::Edit | Self::File | Self::Lookup | Self::Tool => false,
        }
    }
}
