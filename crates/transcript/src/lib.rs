//! Readers for the session files that agents write themselves: `claude_code`, and `history` with one module for each other host.
//!
//! A transcript becomes a sequence of [`Record`]s. Every text in a record went through the same sanitizing as a hook payload,
//! so callers may store it. Used by the worker and by imports, never in a hook.

mod claude_code;
mod history;
mod host;
mod lines;
mod record;

pub use claude_code::{
    AgentFile, Position, Reader, SessionOrigin, TaskReport, Transcript, TranscriptError, TranscriptList,
    TranscriptOwner, open, refusal, task_report,
};
pub use history::{
    CursorChatRoot, CursorComposer, CursorConversation, OpenCodePart, path_of_uri, read_cursor_chat,
    read_cursor_composer, read_history, read_opencode,
};
pub use host::TranscriptHost;
pub use record::{History, Record, RecordKind, SessionFacts, Skipped};

use std::{io, path::Path};

/// Lists the sessions of a host in a folder, or of a single file, oldest first.
pub fn sessions(host: TranscriptHost, dir: &Path) -> io::Result<TranscriptList> {
    match host {
        TranscriptHost::ClaudeCode => claude_code::sessions(dir),
        host => history::sessions(host, dir),
    }
}

/// Reads the place and time of a session without reading all of it.
pub fn peek(transcript: &Transcript) -> io::Result<SessionOrigin> {
    match transcript.host {
        TranscriptHost::ClaudeCode => claude_code::peek(&transcript.path),
        host => history::peek(host, &transcript.path),
    }
}
