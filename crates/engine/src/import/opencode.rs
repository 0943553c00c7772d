//! Sessions of `OpenCode`: connects its database to the reader of its sessions.
//!
//! A session has no file of its own. Its path is that of the database, followed by the id of the session.

use std::{path::Path, time::Duration, time::SystemTime};

use anyhow::{Context, Result};
use backstory_capture::filter::CaptureSettings;
use backstory_store::{OpenCode, OpenCodeSession};
use backstory_transcript::{
    History, OpenCodePart, Transcript, TranscriptHost, TranscriptList, read_opencode,
};

/// Lists the sessions of a database, or of the database in a folder.
pub(super) fn sessions(path: &Path) -> Result<TranscriptList> {
    let database = match path.is_dir() {
        true => path.join("opencode.db"),
        false => path.to_owned(),
    };
    let sessions = OpenCode::open(&database)?.sessions()?;
    let transcript = |session: OpenCodeSession| Transcript {
        host: TranscriptHost::OpenCode,
        path: database.join(&session.id),
        size: session.size,
        modified: SystemTime::UNIX_EPOCH
            + Duration::from_millis(u64::try_from(session.updated_at.as_millis()).unwrap_or_default()),
        cwd: Some(session.folder),
        session_id: session.id,
        agents: Vec::new(),
    };
    Ok(TranscriptList {
        transcripts: sessions.into_iter().map(transcript).collect(),
        unreadable: Vec::new(),
    })
}

/// Returns the session with a path as [`sessions`] returns it.
pub(super) fn session_at(path: &Path) -> Option<Transcript> {
    let (database, id) = (
        path.parent().filter(|database| database.is_file())?,
        path.file_name()?,
    );
    let mut sessions = sessions(database).ok()?.transcripts;
    sessions.retain(|session| session.session_id.as_str() == id);
    sessions.pop()
}

/// Reads a session.
pub(super) fn read(transcript: &Transcript, settings: &CaptureSettings) -> Result<History> {
    let (database, session) = find(transcript)?;
    let parts: Vec<OpenCodePart> = database
        .parts(&session.id)?
        .into_iter()
        .map(|row| OpenCodePart {
            id: row.id,
            message_id: row.message_id,
            created_ms: row.created_ms,
            message: row.message,
            part: row.part,
        })
        .collect();
    Ok(read_opencode(&session.folder, &parts, settings))
}

fn find(transcript: &Transcript) -> Result<(OpenCode, OpenCodeSession)> {
    let path = transcript.path.parent().unwrap_or(&transcript.path);
    let database = OpenCode::open(path)?;
    let session = database.session(&transcript.session_id)?;
    let session =
        session.with_context(|| format!("no session {} in {}", transcript.session_id, path.display()))?;
    Ok((database, session))
}
