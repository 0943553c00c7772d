//! The records that a transcript consists of, independent of the host.

use std::collections::BTreeMap;

use backstory_model::Timestamp;
use serde::{Deserialize, Serialize};

/// One entry of a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The time; that of the previous line if the line has none, `EPOCH` if no time is known yet.
    pub at: Timestamp,
    /// The id of the line. Records of one line share it; a fork's copy of a line keeps it.
    pub uuid: Option<String>,
    /// The offset of the next line in the file, in bytes.
    pub offset: u64,
    /// The sub-agent; `None` for the session itself.
    pub agent_id: Option<String>,
    /// True if the line was written for another session and copied into this file by a fork.
    pub copied: bool,
    /// The content.
    pub kind: RecordKind,
}

/// The content of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A prompt, which starts a turn.
    Prompt {
        /// The prompt; a slash command as `/name arguments`.
        text: String,
        /// The host's id of the turn. In a fork all copied turns share one.
        prompt_id: Option<String>,
        /// True for a notification, or an agent that instructs its sub-agent.
        machine_made: bool,
    },
    /// A text of the assistant.
    Prose {
        /// The text, or the part that was added to a block of the same message.
        text: String,
        /// The message that the block belongs to.
        message_id: Option<String>,
    },
    /// A tool call. A `!command` of the user is a `Bash` call whose id starts with `typed-`.
    ToolUse {
        /// The id that the result refers to.
        id: String,
        /// The name of the tool.
        name: String,
        /// Its input, as JSON.
        input: String,
    },
    /// The result of a tool call.
    ToolResult {
        /// The id of the call.
        id: String,
        /// True if the tool failed, was refused or interrupted.
        is_error: bool,
        /// The text that the model received.
        text: Option<String>,
        /// The structured result as JSON, which `PostToolUse` reports as `tool_response`.
        result: Option<String>,
    },
    /// A message that the user typed while the assistant worked, delivered in the middle of the turn.
    QueuedMessage {
        /// The message.
        text: String,
    },
    /// A compaction: the conversation was replaced by a summary.
    Compaction {
        /// The summary.
        summary: String,
    },
    /// The user interrupted the assistant.
    Interrupted,
    /// Facts about the session, whenever one has changed.
    Facts(SessionFacts),
}

/// Facts about a session, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionFacts {
    /// The host's id of the session.
    pub session_id: Option<String>,
    /// The working folder.
    pub cwd: Option<String>,
    /// The branch that is checked out there.
    pub git_branch: Option<String>,
    /// The version of the host.
    pub version: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// The title of the session, by the user or else by the host.
    pub title: Option<String>,
}

/// Counts of skipped lines and records, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Lines of unknown types, by type.
    pub unknown: BTreeMap<String, u64>,
    /// Lines that are not JSON objects.
    pub damaged: u64,
    /// The line numbers of the first few of them, from 1.
    pub damaged_lines: Vec<u64>,
    /// The keys of the first few damaged records of a database.
    pub damaged_keys: Vec<String>,
    /// Lines that are too long to hold in memory.
    pub too_long: u64,
    /// Texts that hooks and the memory itself put into the conversation.
    pub echoes: u64,
    /// Messages of the host about failed requests.
    pub api_errors: u64,
    /// Records of private turns.
    pub private: u64,
}

/// A past session that was read as a whole.
#[derive(Debug, Default)]
pub struct History {
    /// The records, in the order of the file.
    pub records: Vec<Record>,
    /// What was skipped.
    pub skipped: Skipped,
}
