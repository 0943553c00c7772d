//! Finds the past sessions of each host on this machine.

use std::path::{Path, PathBuf};

use anyhow::Result;
use backstory_model::Timestamp;
use backstory_system::SETTINGS_FOLDER;
use backstory_transcript::{self as transcript, SessionOrigin, Transcript, TranscriptHost, TranscriptList};

use super::{cursor, opencode};
use crate::environment::Environment;

/// Returns the folders in which a host stores its sessions, whether they exist or not.
pub fn default_folders(host: TranscriptHost, environment: &Environment) -> Vec<PathBuf> {
    let below = |variable: Option<&str>, folder: &str| {
        let moved = variable.and_then(|name| environment.folder(name));
        moved.or_else(|| Some(environment.user_home()?.join(folder)))
    };
    let (base, paths): (Option<PathBuf>, &[&str]) = match host {
        TranscriptHost::ClaudeCode => (below(Some("CLAUDE_CONFIG_DIR"), ".claude"), &["projects"]),
        TranscriptHost::Codex => (
            below(Some("CODEX_HOME"), ".codex"),
            &["sessions", "archived_sessions"],
        ),
        TranscriptHost::GeminiCli => (below(None, ".gemini"), &["tmp"]),
        // It uses this folder on all systems.
        TranscriptHost::OpenCode => (
            below(Some("XDG_DATA_HOME"), ".local/share"),
            &["opencode/opencode.db"],
        ),
        TranscriptHost::CopilotCli => (below(Some("COPILOT_HOME"), ".copilot"), &["session-state"]),
        TranscriptHost::Cursor => {
            let editor = below(None, SETTINGS_FOLDER);
            let editor = editor.map(|folder| folder.join("Cursor/User/globalStorage/state.vscdb"));
            return editor.into_iter().chain(below(None, ".cursor/chats")).collect();
        }
    };
    let base = base.into_iter();
    base.flat_map(|base| paths.iter().map(move |path| base.join(path)))
        .collect()
}

/// Lists the sessions of a host in a folder, or of a single file.
pub fn find_sessions(host: TranscriptHost, folder: &Path) -> Result<TranscriptList> {
    match host {
        TranscriptHost::OpenCode => opencode::sessions(folder),
        TranscriptHost::Cursor => cursor::sessions(folder),
        host => Ok(transcript::sessions(host, folder)?),
    }
}

/// Finds the session of an imported file, whose host is not stored.
pub(crate) fn sessions_at(path: &Path) -> Vec<Transcript> {
    // The reader of Claude Code accepts any name, so it comes last.
    let found = TranscriptHost::ALL.into_iter().rev().map(|host| match host {
        TranscriptHost::OpenCode => opencode::session_at(path).map(|session| vec![session]),
        TranscriptHost::Cursor => cursor::session_at(path).map(|session| vec![session]),
        host => transcript::sessions(host, path).ok().map(|list| list.transcripts),
    });
    found
        .flatten()
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

/// Reads the place and time of a session without reading all of it.
pub fn peek(transcript: &Transcript) -> Result<SessionOrigin> {
    match transcript.host {
        TranscriptHost::OpenCode | TranscriptHost::Cursor => Ok(SessionOrigin {
            cwd: transcript.cwd.clone(),
            git_branch: None,
            last_at: Some(Timestamp::from(transcript.modified)),
        }),
        _ => Ok(transcript::peek(transcript)?),
    }
}
