//! Evidence: the statements and actions of a turn.

use crate::{Timestamp, named::named_enum};

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
    /// The time.
    pub at: Timestamp,
}

named_enum! {
    /// The kind of an evidence item, and of the passage that stores it.
    pub enum EvidenceKind {
        /// A message that the user typed while the agent worked.
        UserMessage = "user_message",
        /// The user's answer to a question, with the question.
        UserAnswer = "user_answer",
        /// A tool call that the user refused, with the user's words.
        Refusal = "refusal",
        /// Agent prose in the middle of the work.
        Prose = "prose",
        /// The last message of a turn.
        Report = "report",
        /// A sub-agent's report.
        SubagentReport = "subagent_report",
        /// The summary that replaced the agent's context.
        Compaction = "compaction",
        /// A command with its result.
        Command = "command",
        /// A failed command or tool call.
        Error = "error",
        /// A change to a file.
        Edit = "edit",
        /// A file that was written whole.
        File = "file",
        /// A commit message in its final form.
        Commit = "commit",
        /// Text of a pull request, an issue tracker or a review.
        Publication = "publication",
        /// A plan or task list.
        Plan = "plan",
        /// A file or a search result that was looked at: path and beginning only.
        Lookup = "lookup",
        /// The answer of any other tool.
        Tool = "tool",
        /// A prompt that was imported without a session.
        Prompt = "prompt",
    }
}
