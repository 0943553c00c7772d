//! Finds the session files below a host's folder.

use std::{
    collections::HashSet,
    fs::{self, Metadata},
    io,
    path::Path,
    time::SystemTime,
};

use backstory_system::identity;

use crate::{
    claude_code::{Transcript, TranscriptList},
    host::TranscriptHost,
};

/// The maximum depth below the folder: Codex has one folder per year, month and day.
const MAX_DEPTH: usize = 6;

/// Returns the session of a file; `None` if the file is none.
type SessionOf<'f> = &'f dyn Fn(&Path) -> io::Result<Option<String>>;

/// Lists the sessions of a folder, or of a single file, oldest first.
pub(super) fn list(
    host: TranscriptHost,
    dir: &Path,
    session_of: SessionOf<'_>,
) -> io::Result<TranscriptList> {
    let mut walk = Walk {
        host,
        session_of,
        found: TranscriptList::default(),
        folders: HashSet::new(),
    };
    let metadata = fs::metadata(dir)?;
    if metadata.is_dir() {
        fs::read_dir(dir)?;
        walk.folder(dir, MAX_DEPTH);
    } else {
        walk.file(dir, &metadata);
    }
    let transcripts = &mut walk.found.transcripts;
    transcripts.sort_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
    Ok(walk.found)
}

struct Walk<'f> {
    host: TranscriptHost,
    session_of: SessionOf<'f>,
    found: TranscriptList,
    /// Visited folders, against cycles of symlinks.
    folders: HashSet<(u64, u64)>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, deepest: usize) {
        let (Ok(identity), Ok(entries)) = (identity(folder), fs::read_dir(folder)) else {
            self.found.unreadable.push(folder.to_owned());
            return;
        };
        if !self.folders.insert(identity) {
            return;
        }
        for path in entries.flatten().map(|entry| entry.path()) {
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() && deepest > 0 => self.folder(&path, deepest - 1),
                Ok(metadata) if metadata.is_file() => self.file(&path, &metadata),
                _ => {}
            }
        }
    }

    fn file(&mut self, path: &Path, metadata: &Metadata) {
        match (self.session_of)(path) {
            Ok(Some(session_id)) => self.found.transcripts.push(Transcript {
                host: self.host,
                path: path.to_owned(),
                session_id,
                size: metadata.len(),
                modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                agents: Vec::new(),
                cwd: None,
            }),
            Ok(None) => {}
            Err(_) => self.found.unreadable.push(path.to_owned()),
        }
    }
}

/// Reads the first line of a file as JSON; `None` if it is not.
pub(super) fn first_line(path: &Path) -> io::Result<Option<serde_json::Value>> {
    let input = io::BufReader::new(backstory_system::open_regular(path)?);
    let mut lines = crate::lines::Lines::new(input);
    let line = lines.next()?.and_then(|line| line.bytes.map(<[u8]>::to_vec));
    Ok(line.and_then(|line| serde_json::from_slice(&line).ok()))
}
