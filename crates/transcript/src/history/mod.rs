//! Reads the session files of agents other than Claude Code as a whole, for imports.
//!
//! One module per host turns lines into calls of [`RecordWriter`], which sanitizes and applies the capture rules. Unlike the
//! reader for Claude Code these readers do not continue where the last read ended: only imports use them. Line numbers are
//! part of event keys, so a reader must not depend on lines that a host may still change.

mod codex;
mod copilot_cli;
mod cursor;
mod cursor_chat;
mod files;
mod gemini_cli;
mod opencode;
#[cfg(test)]
mod tests;
mod writer;

use std::{
    io::{self, BufReader},
    path::Path,
};

use backstory_capture::filter::CaptureSettings;
use backstory_system::open_regular;
use serde_json::Value;

use crate::{
    claude_code::{SessionOrigin, TranscriptList, peek_file},
    host::TranscriptHost,
    lines::Lines,
    record::History,
};

pub use cursor::{CursorComposer, path_of_uri, read_cursor_composer};
pub use cursor_chat::{CursorChatRoot, CursorConversation, read_cursor_chat};
pub use opencode::{OpenCodePart, read_opencode};
use writer::RecordWriter;

/// Interprets one JSON object of a session file.
type ReadLine = fn(&mut RecordWriter, &Value);

/// Lists the sessions of a host's folder, or of a single file.
pub(crate) fn sessions(host: TranscriptHost, dir: &Path) -> io::Result<TranscriptList> {
    match host {
        TranscriptHost::Codex => files::list(host, dir, &codex::session_id),
        TranscriptHost::GeminiCli => files::list(host, dir, &gemini_cli::session_id),
        TranscriptHost::CopilotCli => files::list(host, dir, &copilot_cli::session_id),
        // Their sessions are in databases, which `backstory-store` reads.
        TranscriptHost::ClaudeCode | TranscriptHost::OpenCode | TranscriptHost::Cursor => {
            Ok(TranscriptList::default())
        }
    }
}

/// Reads the place and time of a session.
pub(crate) fn peek(host: TranscriptHost, path: &Path) -> io::Result<SessionOrigin> {
    let mut origin = peek_file(path, |line, origin| {
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            return false;
        };
        match host {
            TranscriptHost::Codex => codex::place(&line, origin),
            TranscriptHost::CopilotCli => copilot_cli::place(&line, origin),
            _ => {}
        }
        origin.cwd.is_some()
    })?;
    if host == TranscriptHost::GeminiCli {
        origin.cwd = gemini_cli::project_root(path);
    }
    Ok(origin)
}

/// Reads a session file.
pub fn read_history(host: TranscriptHost, path: &Path, settings: &CaptureSettings) -> io::Result<History> {
    let mut writer = RecordWriter::new(host, settings);
    let read_line: ReadLine = match host {
        TranscriptHost::Codex => codex::read_line,
        TranscriptHost::CopilotCli => copilot_cli::read_line,
        TranscriptHost::GeminiCli => {
            writer.folder(gemini_cli::project_root(path));
            if path.extension().is_some_and(|extension| extension == "json") {
                gemini_cli::read_document(&mut writer, path)?;
                return Ok(writer.finish());
            }
            gemini_cli::read_line
        }
        TranscriptHost::ClaudeCode | TranscriptHost::OpenCode | TranscriptHost::Cursor => {
            return Ok(History::default());
        }
    };
    let mut lines = Lines::new(BufReader::with_capacity(256 * 1024, open_regular(path)?));
    let mut number = 0;
    while let Some(line) = lines.next()? {
        number += 1;
        writer.start_line(number);
        let Some(bytes) = line.bytes else {
            writer.skipped.too_long += 1;
            continue;
        };
        let text = bytes.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(text) {
            Ok(value) if value.is_object() => read_line(&mut writer, &value),
            _ => writer.damaged(number),
        }
    }
    Ok(writer.finish())
}
