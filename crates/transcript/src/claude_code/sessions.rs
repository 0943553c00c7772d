//! Finds the transcripts in Claude Code's projects folder.

use std::{
    collections::{BTreeMap, HashSet},
    fs::{self, Metadata},
    io::{self, Read},
    path::{Path, PathBuf},
    time::SystemTime,
};

use backstory_system::{identity, open_regular};
use memchr::memmem;

use super::owner::{is_uuid, session_above};
use crate::host::TranscriptHost;

/// The transcript of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transcript {
    /// The host.
    pub host: TranscriptHost,
    /// The path.
    pub path: PathBuf,
    /// The session.
    pub session_id: String,
    /// Its size in bytes.
    pub size: u64,
    /// The time of the last write.
    pub modified: SystemTime,
    /// The transcripts of its sub-agents, oldest first.
    pub agents: Vec<AgentFile>,
    /// The working folder, if the host lists it apart from the session.
    pub cwd: Option<String>,
}

/// The transcript of a sub-agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentFile {
    /// The path.
    pub path: PathBuf,
    /// The sub-agent.
    pub agent_id: String,
    /// Its size in bytes.
    pub size: u64,
    /// The time of the last write.
    pub modified: SystemTime,
}

/// The transcripts of a folder.
#[derive(Debug, Default)]
pub struct TranscriptList {
    /// The transcripts, oldest first.
    pub transcripts: Vec<Transcript>,
    /// Folders and files that could not be read.
    pub unreadable: Vec<PathBuf>,
}

/// The maximum depth below the projects folder: more than that of sub-agents' files.
const MAX_DEPTH: usize = 8;

/// The number of bytes in which the session id is searched: it is in one of the first lines.
const PEEK: u64 = 256 * 1024;

/// Lists the transcripts of a projects folder, of one project's folder in it, or of a single file.
pub(crate) fn sessions(dir: &Path) -> io::Result<TranscriptList> {
    let mut walk = Walk::default();
    let metadata = fs::metadata(dir)?;
    if metadata.is_dir() {
        fs::read_dir(dir)?;
        walk.folder(dir, MAX_DEPTH);
    } else {
        walk.file(dir, &metadata);
    }
    Ok(walk.finish())
}

#[derive(Default)]
struct Walk {
    found: TranscriptList,
    agents: BTreeMap<String, Vec<AgentFile>>,
    /// Visited folders, against cycles of symlinks.
    folders: HashSet<(u64, u64)>,
}

impl Walk {
    fn folder(&mut self, folder: &Path, deepest: usize) {
        let (Ok(identity), Ok(entries)) = (identity(folder), fs::read_dir(folder)) else {
            self.found.unreadable.push(folder.to_owned());
            return;
        };
        if !self.folders.insert(identity) {
            return;
        }
        for entry in entries {
            let Ok(path) = entry.map(|entry| entry.path()) else {
                self.found.unreadable.push(folder.to_owned());
                return;
            };
            // Follows symlinks: the projects folder may be elsewhere. A dangling one is ignored.
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_dir() && deepest > 0 => {
                    self.folder(&path, deepest - 1);
                }
                Ok(metadata) if metadata.is_file() => self.file(&path, &metadata),
                _ => {}
            }
        }
    }

    fn file(&mut self, path: &Path, metadata: &Metadata) {
        let stem = path
            .file_stem()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            return;
        }
        let size = metadata.len();
        let modified = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        let named = match stem.strip_prefix("agent-") {
            Some(_) => session_above(path),
            None => Some(stem),
        };
        let session_id = match named.filter(|id| is_uuid(id)) {
            Some(id) => id.to_owned(),
            None => match session_inside(path) {
                Ok(Some(id)) => id,
                Ok(None) => return,
                Err(_) => return self.found.unreadable.push(path.to_owned()),
            },
        };
        let path = path.to_owned();
        match stem.strip_prefix("agent-") {
            Some(id) => self.agents.entry(session_id).or_default().push(AgentFile {
                path,
                agent_id: id.to_owned(),
                size,
                modified,
            }),
            None => self.found.transcripts.push(Transcript {
                host: TranscriptHost::ClaudeCode,
                path,
                session_id,
                size,
                modified,
                agents: Vec::new(),
                cwd: None,
            }),
        }
    }

    fn finish(mut self) -> TranscriptList {
        let transcripts = &mut self.found.transcripts;
        transcripts.sort_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
        for transcript in transcripts {
            transcript.agents = self.agents.remove(&transcript.session_id).unwrap_or_default();
            transcript
                .agents
                .sort_by(|a, b| (a.modified, &a.path).cmp(&(b.modified, &b.path)));
        }
        self.found.unreadable.sort();
        self.found
    }
}

/// Searches the start of a file for a session id; a file without one is no transcript.
fn session_inside(path: &Path) -> io::Result<Option<String>> {
    let mut start = Vec::new();
    open_regular(path)?.take(PEEK).read_to_end(&mut start)?;
    // Quotes inside a string would be escaped, so this is a field name.
    const FIELD: &[u8] = b"\"sessionId\":\"";
    let id = memmem::find(&start, FIELD).and_then(|at| start.get(at + FIELD.len()..at + FIELD.len() + 36));
    Ok(id
        .and_then(|id| std::str::from_utf8(id).ok())
        .filter(|id| is_uuid(id))
        .map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::{io::Write, time::Duration};

    use super::*;

    const A: &str = "aaaaaaaa-0000-4000-8000-000000000000";
    const B: &str = "bbbbbbbb-0000-4000-8000-000000000000";

    fn write(path: &Path, text: &str, seconds: u64) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = File::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
            .unwrap();
    }

    fn list(dir: &Path) -> Vec<String> {
        let found = sessions(dir).unwrap();
        assert_eq!(found.unreadable, Vec::<PathBuf>::new());
        let all = found.transcripts.iter();
        all.map(|transcript| {
            let agents: Vec<&str> = transcript
                .agents
                .iter()
                .map(|agent| agent.agent_id.as_str())
                .collect();
            format!(
                "{} {} {}",
                &transcript.session_id[..4],
                transcript.size,
                agents.join(",")
            )
        })
        .collect()
    }

    #[test]
    fn transcripts_are_found_with_their_sub_agents_oldest_first() {
        let folder = tempfile::tempdir().unwrap();
        let project = folder.path().join("-home-dev-acme");
        let line = format!("{{\"type\":\"user\",\"sessionId\":\"{A}\"}}\n");
        write(&project.join(format!("{A}.jsonl")), "12345", 200);
        write(&project.join(A).join("subagents/agent-late.jsonl"), "", 9);
        write(
            &project.join(A).join("subagents/workflows/w1/agent-early.jsonl"),
            "",
            8,
        );
        write(&project.join("agent-flat.jsonl"), &line, 7);
        write(&project.join("agent-orphan.jsonl"), "{}\n", 7);
        write(&folder.path().join("-other").join(format!("{B}.jsonl")), "1", 100);
        write(&project.join("notes.jsonl"), "{\"a\":1}\n", 1);
        write(&project.join(A).join("subagents/agent-late.meta.json"), "{}", 1);
        write(&project.join("memory/MEMORY.md"), "", 1);
        assert_eq!(list(folder.path()), ["bbbb 1 ", "aaaa 5 flat,early,late"]);
        assert_eq!(list(&project.join(format!("{A}.jsonl"))), ["aaaa 5 "]);
        write(&project.join("short.jsonl"), &line.replace(A, B), 300);
        assert_eq!(
            list(&project),
            ["aaaa 5 flat,early,late", &format!("bbbb {} ", line.len())]
        );
    }

    #[test]
    #[cfg(unix)]
    fn symlinks_are_followed_once() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        write(&real.join(format!("p/{A}.jsonl")), "1", 1);
        let projects = folder.path().join("projects");
        symlink(&real, &projects).unwrap();
        symlink("..", real.join("p/up")).unwrap();
        symlink("nowhere", real.join("p/broken.jsonl")).unwrap();
        symlink("loop.jsonl", real.join("p/loop.jsonl")).unwrap();
        assert_eq!(list(&projects), ["aaaa 1 "]);
        assert!(sessions(&folder.path().join("missing")).is_err());
    }
}
