//! Reads the transcripts of Claude Code: `<session>.jsonl` and the files of its sub-agents, through the client's versions.
//!
//! `sessions` finds the files and `reader` interprets them line by line, with `messages` and `prompts` for the conversation.
//! A read continues where the last one ended (`position`). Grouping records into turns is up to the engine.

mod blocks;
mod interpreter;
mod message_queue;
mod messages;
mod owner;
mod peek;
mod position;
mod prompts;
mod queue;
mod reader;
mod refusal;
mod sessions;
#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{self, BufReader, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use backstory_capture::filter::CaptureSettings;
use backstory_system::open_regular;

pub use owner::TranscriptOwner;
pub use peek::SessionOrigin;
pub(crate) use peek::{peek, peek_file};
pub use position::Position;
pub use prompts::{TaskReport, task_report};
pub use reader::Reader;
pub use refusal::refusal;
pub(crate) use sessions::sessions;
pub use sessions::{AgentFile, Transcript, TranscriptList};

/// The reason for which a transcript cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// The file could not be opened or positioned.
    #[error("could not open transcript {path}")]
    Open {
        /// The transcript.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The file was replaced or truncated since the last read.
    #[error("transcript {path} has {length} bytes, but was read up to {offset}: read it from its start")]
    Shorter {
        /// The transcript.
        path: PathBuf,
        /// Its current length.
        length: u64,
        /// The offset at which the last read ended.
        offset: u64,
    },
}

/// Opens a transcript at the position at which the last read ended.
pub fn open(
    path: &Path,
    from: Position,
    settings: &CaptureSettings,
) -> Result<Reader<BufReader<File>>, TranscriptError> {
    let failed = |source| TranscriptError::Open {
        path: path.to_owned(),
        source,
    };
    let mut file = open_regular(path).map_err(failed)?;
    let length = file.metadata().map_err(failed)?.len();
    // The last line may have been read before its line break was written.
    if length + 1 < from.offset() {
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
