//! What sessions were given, one small log per session: so that nothing is said twice, and `why` can tell.
//!
//! Written by hooks, which never write to the database; only ever appended to, because hooks of one session run side by
//! side. Holds handles, reasons and paths, never what a memory says.

use std::{
    cell::OnceCell,
    collections::HashSet,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Write},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use anyhow::Result;
use backstory_capture::private;
use backstory_model::{Handle, Timestamp};
use backstory_system::{self as system, OwnerOnly as _};
use serde::{Deserialize, Serialize};

use crate::home::Home;

/// A memory that was given to a session, or left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectionRecord {
    /// The time.
    pub at: Timestamp,
    /// Beside what: `start`, `prompt`, `file` or `failure`.
    pub moment: String,
    /// Which memory; absent when a file was looked at and nothing was worth saying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The file in question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Why it was given, or why not.
    pub reason: String,
    /// About how many tokens it took.
    pub tokens: usize,
    /// Whether it was told.
    pub told: bool,
    /// Whether only its title was: then it may be told in full later.
    #[serde(default)]
    pub brief: bool,
}

/// What one session was given.
#[derive(Debug)]
pub struct InjectionLog {
    path: PathBuf,
    entries: OnceCell<Vec<InjectionRecord>>,
}

impl InjectionLog {
    /// Returns the log of a session. It is read when something is asked: who only adds to it need not know what it holds.
    pub fn of(home: &Home, session_id: &str) -> Self {
        Self {
            path: home.injection_logs().join(private::file_name(session_id)),
            entries: OnceCell::new(),
        }
    }

    /// Returns what earlier hooks noted. A line that a crash cut short is passed over.
    fn entries(&self) -> &[InjectionRecord] {
        self.entries.get_or_init(|| {
            let text = fs::read_to_string(&self.path).unwrap_or_default();
            let entries = text.lines().map(serde_json::from_str);
            entries.filter_map(Result::ok).collect()
        })
    }

    /// Returns the memories that the session was told in full.
    pub fn injected(&self) -> HashSet<Handle> {
        let told = self.entries().iter().filter(|entry| entry.told && !entry.brief);
        told.filter_map(|entry| entry.id.as_deref()?.parse().ok())
            .collect()
    }

    /// Says how many memories the session was told, in full or by their titles.
    pub fn count_injected(&self) -> usize {
        let told = self.entries().iter().filter(|entry| entry.told);
        told.filter_map(|entry| entry.id.as_deref())
            .collect::<HashSet<_>>()
            .len()
    }

    /// Says whether the session was told about a file, or nothing was worth telling.
    pub fn has_file_injection(&self, path: &str) -> bool {
        self.entries()
            .iter()
            .any(|entry| entry.file.as_deref() == Some(path))
    }

    /// Notes what is given now.
    pub fn append(&self, entries: &[InjectionRecord]) -> io::Result<()> {
        const USUAL_LENGTH: usize = 160;
        let mut lines = Vec::with_capacity(entries.len() * USUAL_LENGTH);
        for entry in entries {
            serde_json::to_writer(&mut lines, entry)?;
            lines.push(b'\n');
        }
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).private().create(folder)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).private().open(&self.path)?;
        // In one piece: another hook may append at the same time.
        file.write_all(&lines)
    }
}

/// Returns what all sessions were given of one memory: the session's file name with each entry.
pub fn of_memory(home: &Home, handle: Handle) -> io::Result<Vec<(String, InjectionRecord)>> {
    let mut found = Vec::new();
    let folder = match fs::read_dir(home.injection_logs()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        other => other?,
    };
    for file in folder {
        let file = file?;
        let session = file.file_name().to_string_lossy().into_owned();
        let text = fs::read_to_string(file.path()).unwrap_or_default();
        for line in text.lines() {
            let entry: Option<InjectionRecord> = serde_json::from_str(line).ok();
            let is_it =
                |entry: &InjectionRecord| entry.id.as_deref().and_then(|id| id.parse().ok()) == Some(handle);
            found.extend(entry.filter(is_it).map(|entry| (session.clone(), entry)));
        }
    }
    found.sort_by_key(|(_, entry)| entry.at);
    Ok(found)
}

/// Removes the logs of sessions that are not known any more.
pub fn forget(home: &Home, is_known: impl Fn(&str) -> Result<bool>) -> Result<()> {
    let folder = match fs::read_dir(home.injection_logs()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for file in folder {
        let file = file?;
        // A name that had to be spelt differently is not recognised, and its session may be told something twice.
        if !is_known(&file.file_name().to_string_lossy())? {
            system::remove_file(file.path())?;
        }
    }
    Ok(())
}

/// Removes the logs of sessions that ended long ago.
pub fn sweep(home: &Home, now: SystemTime, older_than: Duration) -> io::Result<()> {
    let folder = match fs::read_dir(home.injection_logs()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for file in folder {
        let file = file?;
        let modified = file.metadata()?.modified()?;
        if now.duration_since(modified).is_ok_and(|age| age > older_than) {
            system::remove_file(file.path())?;
        }
    }
    Ok(())
}
