//! The work log: everything one turn contributes to the memory of its session, in order.
//!
//! `evidence` writes a [`TurnLog`] per turn; the store keeps it; `episodes`, `memories` and `handover` read the logs of a
//! whole session. The log is the only thing they see, so the same logs always give the same memories. It holds facts
//! that were read from events (who said it, which file, passed or failed) and verbatim text; it draws no conclusions.
//!
//! The format is stored: add fields with `#[serde(default)]`, never rename or remove one.

use backstory_model::Timestamp;
use serde::{Deserialize, Serialize};

use crate::TurnEnd;

/// One prompt and everything up to the end of its turn.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TurnLog {
    /// The number of the turn in its session, from 1.
    pub number: u32,
    /// The user's prompt; absent for a machine-made prompt and when the prompt was not recorded.
    #[serde(default)]
    pub prompt: Option<String>,
    /// Set when a program wrote the prompt, such as a task notification.
    #[serde(default)]
    pub machine_made: bool,
    /// The branch at that time.
    #[serde(default)]
    pub branch: Option<String>,
    /// The start of the turn.
    #[serde(rename = "started_ms")]
    pub started_at: Timestamp,
    /// The end of the turn so far.
    pub end: TurnEnd,
    /// Statements and actions, in order.
    pub entries: Vec<LogEntry>,
}

/// One statement or action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogEntry {
    /// The time.
    #[serde(rename = "at_ms")]
    pub at: Timestamp,
    /// The position of the evidence item that shows it, within the turn.
    #[serde(default)]
    pub item: Option<u32>,
    /// The agent's id of the tool call.
    #[serde(default)]
    pub tool_use_id: Option<String>,
    /// The sub-agent that did it, if not the agent itself.
    #[serde(default)]
    pub subagent: Option<String>,
    /// The last sentence of agent prose before it.
    #[serde(default)]
    pub intent: Option<String>,
    /// The statement or action itself.
    pub action: Action,
}

/// A statement or action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// A message that the user typed while the agent worked.
    UserMessage(String),
    /// The user's answer to a question of the agent.
    UserAnswer {
        /// The question.
        question: String,
        /// The answer, with the user's own notes.
        answer: String,
        /// The options behind the answer, if it is one of those that were offered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        choice: Option<AnswerChoice>,
    },
    /// The user refused a tool call.
    Refused {
        /// The tool.
        tool: String,
        /// The command or file, if any.
        target: Option<String>,
        /// The user's words with the refusal.
        words: Option<String>,
    },
    /// The user interrupted the agent.
    Interrupted,
    /// Agent prose in the middle of the work.
    Prose(String),
    /// The last message of the turn, written for the user.
    Report(String),
    /// The report of a sub-agent.
    SubagentReport {
        /// The kind of sub-agent.
        agent_type: Option<String>,
        /// The report.
        text: String,
    },
    /// The summary that replaced the agent's context.
    Compaction(String),
    /// A shell command.
    Run(CommandRun),
    /// A change to a file.
    Change(FileChange),
    /// A git commit.
    Commit(GitCommit),
    /// A git push.
    Push {
        /// The branch that was pushed, if it is known.
        branch: Option<String>,
        /// The abbreviated hash of the last commit that was pushed, if the output shows it.
        #[serde(default)]
        tip: Option<String>,
    },
    /// Text written for other people: a pull request, an issue of a tracker, a comment.
    Publication(Publication),
    /// A change to one entry of the agent's task list.
    Task {
        /// The id of the entry, if it has one.
        id: Option<String>,
        /// The task.
        text: String,
        /// The new state.
        state: TaskState,
    },
    /// A plan that the agent wrote for the user.
    Plan {
        /// The text.
        text: String,
        /// Set when the user approved it.
        approved: Option<bool>,
    },
    /// A file or folder that was read or searched.
    Lookup {
        /// The path, relative to the root where it can be.
        path: String,
    },
}

/// The options of a question, as far as the answer does not say it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerChoice {
    /// What the agent said about the option that was chosen.
    pub details: Option<String>,
    /// The options that were not chosen.
    pub others: Vec<String>,
}

/// A shell command with its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandRun {
    /// The command line without leading `cd` and environment noise.
    pub command: String,
    /// The purpose, judged by the program.
    pub purpose: Purpose,
    /// The result.
    pub outcome: RunOutcome,
    /// The one simple command of a compound command that failed, if that is certain.
    #[serde(default)]
    pub failed_part: Option<String>,
    /// The error, if it failed.
    #[serde(default)]
    pub error: Option<ErrorSignature>,
    /// The line that sums up the output, such as `12 passed, 1 failed`.
    #[serde(default)]
    pub result_line: Option<String>,
    /// The changed files that `git status` listed; `None` for any other command.
    #[serde(default)]
    pub changed_files: Option<Vec<String>>,
}

/// The purpose of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Runs tests.
    Test,
    /// Builds or type-checks.
    Build,
    /// Lints or formats.
    Lint,
    /// Installs packages.
    Install,
    /// Looks at files, history or processes without changing them.
    Inspect,
    /// Anything else.
    Other,
}

/// The result of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// It succeeded.
    Passed,
    /// It failed.
    Failed,
    /// The result is not known.
    Unknown,
}

/// An error without the parts that change from run to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSignature {
    /// The normalized form: the merge key across sessions.
    pub key: String,
    /// The error line as it was printed.
    pub line: String,
}

/// A change to a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileChange {
    /// The path, relative to the root where it can be.
    pub path: String,
    /// The kind of change.
    pub kind: ChangeKind,
    /// Set for a file outside the project or in a temporary folder.
    #[serde(default)]
    pub scratch: bool,
    /// The header comment or first paragraph, for a file that was written.
    #[serde(default)]
    pub header: Option<String>,
    /// Values that the change sets: constants, settings, routes, dependencies, schema, as they are written.
    #[serde(default)]
    pub values: Vec<String>,
    /// Names that the change defines.
    #[serde(default)]
    pub defines: Vec<String>,
    /// Names that the change removes.
    #[serde(default)]
    pub removes: Vec<String>,
    /// Comments that the change adds and that give a reason.
    #[serde(default)]
    pub comments: Vec<String>,
    /// The change itself, if it replaces one short line by another.
    #[serde(default)]
    pub replaced: Option<Replacement>,
}

/// One line that replaces another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replacement {
    /// The line before, without indentation.
    pub before: String,
    /// The line after, without indentation.
    pub after: String,
}

/// A kind of change to a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// The file was created.
    Created,
    /// The file was modified or rewritten.
    Modified,
    /// The file was deleted.
    Deleted,
    /// The file was moved or copied from this path.
    MovedFrom(String),
    /// The file was put back to its committed state; the path `.` stands for all files.
    Restored,
}

/// A git commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitCommit {
    /// The abbreviated hash, if the output shows it.
    pub hash: Option<String>,
    /// The first line of the message.
    pub subject: String,
    /// The rest of the message without trailers.
    #[serde(default)]
    pub body: Option<String>,
    /// Set when it replaces the previous commit.
    #[serde(default)]
    pub amend: bool,
    /// Files changed, as git reports them.
    #[serde(default)]
    pub files: Option<u32>,
}

/// Text written for other people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publication {
    /// The kind of text.
    pub kind: PublicationKind,
    /// The kind of action.
    pub action: PublicationAction,
    /// The number or id, such as `#185` or `ENT-221`.
    #[serde(default)]
    pub reference: Option<String>,
    /// The title.
    #[serde(default)]
    pub title: Option<String>,
    /// The text.
    #[serde(default)]
    pub body: Option<String>,
}

/// A kind of text written for other people.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublicationKind {
    /// A pull or merge request.
    PullRequest,
    /// An issue of a tracker.
    Issue,
    /// A comment or review.
    Comment,
}

/// An action on such a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PublicationAction {
    /// It was created.
    Created,
    /// It was changed.
    Updated,
    /// It was closed or resolved.
    Closed,
    /// It was merged.
    Merged,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Not begun.
    Pending,
    /// In progress.
    InProgress,
    /// Done.
    Completed,
    /// Removed without being done.
    Deleted,
}
