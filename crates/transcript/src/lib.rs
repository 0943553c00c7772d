//! Reads what an agent wrote down itself: a Claude Code transcript, line by line, as records of what happened.
//!
//! Owns the format of `<session>.jsonl` and of its sub-agents' files through the client's versions (`reader`,
//! `messages`, `prompts`), and where to go on after a part was read (`position`). Every text that leaves went through
//! the same cleaning as a hook's payload (`wash`). Which turns the records make, and what is worth remembering, is left
//! to the worker.

mod blocks;
mod lines;
mod messages;
mod position;
mod prompts;
mod reader;
mod sanitize;
mod sessions;
#[cfg(test)]
mod tests;
mod time;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, BufReader, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

pub use position::Position;
pub use reader::{Reader, TranscriptOwner};
pub use sessions::{AgentFile, Transcript, TranscriptList, sessions};

use backstory_capture::filter::CaptureSettings;

/// One thing that a transcript tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it happened, in milliseconds since 1970; the time before when the line has none, 0 when nothing was known.
    pub at_ms: i64,
    /// The line's own id. Records of one line share it; a fork's copy of a line keeps it.
    pub uuid: Option<String>,
    /// Where the next line begins, in bytes from the start of the file.
    pub offset: u64,
    /// The sub-agent that did it; none for the session itself.
    pub agent_id: Option<String>,
    /// The line was written for another session and copied into this file by a fork.
    pub copied: bool,
    /// What happened.
    pub what: RecordKind,
}

/// What a record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// Something was asked, which opens a turn.
    Prompt {
        /// What was asked; a slash command as `/name arguments`.
        text: String,
        /// The client's id of the turn. In a fork all copied turns share one.
        prompt_id: Option<String>,
        /// Neither a person nor a program of theirs asked: a notification, or an agent instructing its sub-agent.
        machine_made: bool,
    },
    /// The assistant said something.
    Prose {
        /// What it said, or what was added to what it said before in the same message.
        text: String,
        /// The message of which this is a block.
        message_id: Option<String>,
    },
    /// A tool was called. A person's `!command` is a `Bash` whose id starts with `typed-`.
    ToolUse {
        /// The id that its result refers to.
        id: String,
        /// The tool.
        name: String,
        /// Its input, as JSON.
        input: String,
    },
    /// A tool answered.
    ToolResult {
        /// The call that it answers.
        id: String,
        /// The tool failed, or was refused or interrupted.
        is_error: bool,
        /// What the model was shown.
        text: Option<String>,
        /// The client's structured answer, as JSON: what `PostToolUse` has as `tool_response`.
        result: Option<String>,
    },
    /// The conversation was replaced by its summary.
    Compaction {
        /// The summary.
        summary: String,
    },
    /// The person stopped the assistant.
    Interrupted,
    /// Circumstances, whenever one of them has changed.
    Facts(SessionFacts),
}

/// The circumstances of a session, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionFacts {
    /// The client's session.
    pub session_id: Option<String>,
    /// The working folder.
    pub cwd: Option<String>,
    /// The branch checked out there.
    pub git_branch: Option<String>,
    /// The client's version.
    pub version: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// The title that a person or else the client gave the session.
    pub title: Option<String>,
}

/// What was passed over, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Lines of a type that this version does not know, by type.
    pub unknown: BTreeMap<String, u64>,
    /// Lines that are no JSON object.
    pub damaged: u64,
    /// The numbers of the first few of them, from 1.
    pub damaged_lines: Vec<u64>,
    /// Lines too long to be held in memory.
    pub too_long: u64,
    /// What hooks and the memory itself had put into the conversation.
    pub echoes: u64,
    /// Messages of the client about a failed request.
    pub api_errors: u64,
    /// Records of private turns.
    pub private: u64,
}

/// Why a transcript cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// The file could not be opened, or not from there.
    #[error("could not open transcript {path}")]
    Open {
        /// The transcript.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file is not the one that was read before, or was cut.
    #[error("transcript {path} has {length} bytes, but was read up to {offset}: read it from its start")]
    Shorter {
        /// The transcript.
        path: PathBuf,
        /// Its length now.
        length: u64,
        /// Where the last read ended.
        offset: u64,
    },
}

/// Opens a transcript where the last read of it ended.
pub fn open(
    path: &Path,
    from: Position,
    settings: &CaptureSettings,
) -> Result<Reader<BufReader<File>>, TranscriptError> {
    let failed = |source| TranscriptError::Open {
        path: path.to_owned(),
        source,
    };
    let mut file = File::open(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    if length < from.offset() {
        return Err(TranscriptError::Shorter {
            path: path.to_owned(),
            length,
            offset: from.offset(),
        });
    }
    file.seek(SeekFrom::Start(from.offset())).map_err(failed)?;
    let input = BufReader::with_capacity(256 * 1024, file);
    Ok(Reader::new(input, from, TranscriptOwner::of(path), settings))
}
