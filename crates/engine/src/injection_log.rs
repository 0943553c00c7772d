//! Injection log, one file per session: prevents repeated injections and is the data of `backstory why`.
//!
//! Written by hooks, which never write to the database, and only appended to, because hooks of one session run
//! concurrently. Holds handles, reasons and paths, never the content of a memory.

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
use backstory_model::{CommandKey, Handle, Timestamp};
use backstory_system::{self as system, OwnerOnly as _};
use serde::{Deserialize, Serialize};

use crate::home::Home;

/// Records that a memory was injected or skipped. The field names are a file format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InjectionRecord {
    /// Time of the decision.
    pub at: Timestamp,
    /// Trigger: `start`, `prompt`, `file`, `failure` or `command`.
    pub moment: String,
    /// Handle of the memory; absent if there was nothing to inject about a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// File of the lookup.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Key of the command that a warning was about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<i64>,
    /// Reason for the decision.
    pub reason: String,
    /// Approximate size in tokens.
    pub tokens: usize,
    /// True if the memory was injected.
    pub told: bool,
    /// True if only its title was injected; it may be injected in full later.
    #[serde(default)]
    pub brief: bool,
    /// True if it would have been injected, and an experiment withheld it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withheld: bool,
}

/// Log of one session.
#[derive(Debug)]
pub struct InjectionLog {
    path: PathBuf,
    entries: OnceCell<Vec<InjectionRecord>>,
}

impl InjectionLog {
    /// Returns the log of a session. It is read lazily, because some hooks only append.
    pub fn of(home: &Home, session_id: &str) -> Self {
        Self {
            path: home.injection_logs().join(private::file_name(session_id)),
            entries: OnceCell::new(),
        }
    }

    /// Returns all records.
    pub fn records(&self) -> &[InjectionRecord] {
        self.entries()
    }

    /// Returns the log with this file name.
    pub fn named(home: &Home, name: &str) -> Self {
        Self {
            path: home.injection_logs().join(name),
            entries: OnceCell::new(),
        }
    }

    /// Returns the records of earlier hooks. Skips a line that a crash has truncated.
    fn entries(&self) -> &[InjectionRecord] {
        self.entries.get_or_init(|| {
            let text = fs::read_to_string(&self.path).unwrap_or_default();
            let entries = text.lines().map(serde_json::from_str);
            entries.filter_map(Result::ok).collect()
        })
    }

    /// Returns the memories that were injected in full.
    pub fn injected(&self) -> HashSet<Handle> {
        let injected = self.entries().iter().filter(|entry| entry.told && !entry.brief);
        injected
            .filter_map(|entry| entry.id.as_deref()?.parse().ok())
            .collect()
    }

    /// Returns the number of injected memories, in full or by title.
    pub fn count_injected(&self) -> usize {
        let injected = self.entries().iter().filter(|entry| entry.told);
        injected
            .filter_map(|entry| entry.id.as_deref())
            .collect::<HashSet<_>>()
            .len()
    }

    /// Returns the number of memories that were injected since a time, and their tokens.
    pub fn injected_since(&self, since: Timestamp) -> (usize, usize) {
        let told = self
            .entries()
            .iter()
            .filter(|entry| entry.told && entry.at >= since);
        let told = told.filter(|entry| entry.id.is_some());
        told.fold((0, 0), |(count, tokens), entry| {
            (count + 1, tokens + entry.tokens)
        })
    }

    /// Returns true if there was a lookup of the file, even without an injection.
    pub fn has_file_injection(&self, path: &str) -> bool {
        self.entries()
            .iter()
            .any(|entry| entry.file.as_deref() == Some(path))
    }

    /// Returns true if there was a warning about the command.
    pub fn has_command_warning(&self, key: CommandKey) -> bool {
        self.entries()
            .iter()
            .any(|entry| entry.command == Some(key.get()))
    }

    /// Appends records.
    pub fn append(&self, entries: &[InjectionRecord]) -> io::Result<()> {
        const TYPICAL_LEN: usize = 160;
        let mut lines = Vec::with_capacity(entries.len() * TYPICAL_LEN);
        for entry in entries {
            serde_json::to_writer(&mut lines, entry)?;
            lines.push(b'\n');
        }
        if let Some(folder) = self.path.parent() {
            DirBuilder::new().recursive(true).private().create(folder)?;
        }
        let mut options = OpenOptions::new();
        let mut file = options.append(true).create(true).private().open(&self.path)?;
        // In one write: another hook may append at the same time.
        file.write_all(&lines)
    }
}

/// Returns the records of a memory in all sessions, each with the session's file name.
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

/// Removes the logs of sessions that no longer exist.
pub fn forget(home: &Home, is_known: impl Fn(&str) -> Result<bool>) -> Result<()> {
    let folder = match fs::read_dir(home.injection_logs()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for file in folder {
        let file = file?;
        // A session id that is not a valid file name is not recognized; that session may see a memory twice.
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
