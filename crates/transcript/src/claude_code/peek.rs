//! Reads the two ends of a transcript: where and when a session took place, without reading all of it.

use std::{
    io::{self, Read, Seek, SeekFrom},
    path::Path,
};

use backstory_capture::payload::{Payload, to_text};
use backstory_model::Timestamp;
use backstory_system::open_regular;

/// The number of bytes in which the working folder is searched: one of the first lines has it.
const HEAD: u64 = 256 * 1024;

/// The numbers of bytes in which the last time is searched, one after the other: a line with the result of a tool is long.
const TAILS: [u64; 3] = [16 * 1024, 512 * 1024, u64::MAX];

/// The place and time of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionOrigin {
    /// The first working folder.
    pub cwd: Option<String>,
    /// The branch that was checked out there.
    pub git_branch: Option<String>,
    /// The time of the last line that has one.
    pub last_at: Option<Timestamp>,
}

/// Reads the place and time of a session.
pub(crate) fn peek(path: &Path) -> io::Result<SessionOrigin> {
    peek_file(path, |line, origin| {
        let Ok(line) = Payload::read(line) else {
            return false;
        };
        origin.cwd = line.text("cwd").map(|cwd| cwd.into_owned());
        origin.git_branch = line.text("gitBranch").map(|branch| branch.into_owned());
        origin.cwd.is_some()
    })
}

/// Reads the place of a session with a function that returns true once it has found it, and the time of the last line.
pub(crate) fn peek_file(
    path: &Path,
    mut place: impl FnMut(&str, &mut SessionOrigin) -> bool,
) -> io::Result<SessionOrigin> {
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    let mut origin = SessionOrigin::default();
    let mut head = Vec::new();
    file.by_ref().take(HEAD).read_to_end(&mut head)?;
    for line in head.split(|byte| *byte == b'\n') {
        if place(to_text(line).trim(), &mut origin) {
            break;
        }
    }
    for tail in TAILS {
        let start = length.saturating_sub(tail);
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        file.by_ref().read_to_end(&mut bytes)?;
        origin.last_at = last_time(&bytes);
        if origin.last_at.is_some() || start == 0 {
            break;
        }
    }
    Ok(origin)
}

fn last_time(bytes: &[u8]) -> Option<Timestamp> {
    let mut lines = bytes.split(|byte| *byte == b'\n').rev();
    lines.find_map(|line| {
        let text = to_text(line);
        let fields = Payload::read(text.trim()).ok()?;
        let time: jiff::Timestamp = fields.text("timestamp")?.parse().ok()?;
        Some(Timestamp::from_millis(time.as_millisecond()))
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Write;

    use super::*;

    #[test]
    fn both_ends_of_a_transcript_say_where_and_when() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        let long = "x".repeat(40_000);
        let lines = [
            r#"{"type":"queue-operation","timestamp":"2026-01-01T00:00:00.000Z"}"#.to_owned(),
            r#"{"type":"user","cwd":"/w/app","gitBranch":"feat/x","timestamp":"2026-01-01T00:00:01.000Z"}"#
                .to_owned(),
            r#"{"type":"user","cwd":"/tmp","gitBranch":"main","timestamp":"2026-01-02T00:00:00.000Z"}"#
                .to_owned(),
            format!(r#"{{"type":"file-history-snapshot","text":"{long}"}}"#),
            "{\"type\":\"user\",\"cut".to_owned(),
        ];
        let mut file = File::create(&path).unwrap();
        file.write_all(lines.join("\n").as_bytes()).unwrap();
        let origin = peek(&path).unwrap();
        assert_eq!(
            (origin.cwd.as_deref(), origin.git_branch.as_deref()),
            (Some("/w/app"), Some("feat/x"))
        );
        assert_eq!(origin.last_at, Some(Timestamp::from_millis(1_767_312_000_000)));
        File::create(&path).unwrap();
        assert_eq!(peek(&path).unwrap(), SessionOrigin::default());
    }
}
