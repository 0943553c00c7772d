//! Index of all injection logs, for pages about many sessions.
//!
//! Kept in memory by a server and brought up to date before use: only logs whose size or time of change differs are read
//! again. Holds what was injected, not what was skipped; reasons and files are in the logs themselves.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    time::SystemTime,
};

use backstory_model::{Handle, Timestamp};

use crate::{home::Home, injection_log::InjectionRecord};

/// One injected memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedMemory {
    /// Time of the injection.
    pub at: Timestamp,
    /// The memory; absent for a warning about a command.
    pub handle: Option<Handle>,
    /// Approximate size in tokens.
    pub tokens: u64,
    /// True if only its title was injected.
    pub is_brief: bool,
}

/// Injections of all sessions.
#[derive(Debug, Default)]
pub struct InjectionIndex {
    logs: HashMap<String, IndexedLog>,
}

#[derive(Debug)]
struct IndexedLog {
    changed: Option<SystemTime>,
    len: u64,
    injections: Vec<InjectedMemory>,
}

impl InjectionIndex {
    /// Reads the logs that are new or have changed, and drops those that are gone.
    pub fn refresh(&mut self, home: &Home) -> io::Result<()> {
        let folder = match fs::read_dir(home.injection_logs()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.logs.clear();
                return Ok(());
            }
            other => other?,
        };
        let mut present = HashSet::new();
        for file in folder {
            let file = file?;
            let name = file.file_name().to_string_lossy().into_owned();
            // A log that is removed meanwhile has no metadata.
            let Ok(metadata) = file.metadata() else { continue };
            let (changed, len) = (metadata.modified().ok(), metadata.len());
            let is_known = self
                .logs
                .get(&name)
                .is_some_and(|log| log.len == len && log.changed == changed);
            if !is_known {
                let text = fs::read_to_string(file.path()).unwrap_or_default();
                let injections = parse(&text);
                self.logs.insert(
                    name.clone(),
                    IndexedLog {
                        changed,
                        len,
                        injections,
                    },
                );
            }
            present.insert(name);
        }
        self.logs.retain(|name, _| present.contains(name));
        Ok(())
    }

    /// Returns all injections, each with the name of its log, in no particular order.
    pub fn all(&self) -> impl Iterator<Item = (&str, &InjectedMemory)> {
        self.logs
            .iter()
            .flat_map(|(name, log)| log.injections.iter().map(move |one| (name.as_str(), one)))
    }

    /// Returns the names of the logs in which a memory was injected.
    pub fn logs_with(&self, handle: Handle) -> Vec<String> {
        let has_it = |log: &IndexedLog| log.injections.iter().any(|one| one.handle == Some(handle));
        let found = self.logs.iter().filter(|(_, log)| has_it(log));
        found.map(|(name, _)| name.clone()).collect()
    }
}

/// Returns the injections of a log. Skips a line that a crash has truncated.
fn parse(text: &str) -> Vec<InjectedMemory> {
    let records = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    records
        .filter(|record: &InjectionRecord| record.told)
        .map(|record| InjectedMemory {
            at: record.at,
            handle: record.id.as_deref().and_then(|id| id.parse().ok()),
            tokens: record.tokens as u64,
            is_brief: record.brief,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::injection_log::InjectionLog;

    fn record(at: i64, id: &str, told: bool) -> InjectionRecord {
        InjectionRecord {
            at: Timestamp::from_millis(at),
            moment: "prompt".to_owned(),
            id: Some(id.to_owned()),
            file: None,
            command: None,
            reason: "same words".to_owned(),
            tokens: 40,
            told,
            brief: false,
            withheld: false,
        }
    }

    #[test]
    fn the_index_follows_the_logs() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let mut index = InjectionIndex::default();
        index.refresh(&home).unwrap();
        assert_eq!(index.all().count(), 0);
        InjectionLog::of(&home, "a")
            .append(&[record(1, "7", true), record(2, "8", false)])
            .unwrap();
        InjectionLog::of(&home, "b")
            .append(&[record(3, "7", true)])
            .unwrap();
        index.refresh(&home).unwrap();
        let tokens: u64 = index.all().map(|(_, one)| one.tokens).sum();
        assert_eq!((index.all().count(), tokens), (2, 80));
        let mut logs = index.logs_with("7".parse().unwrap());
        logs.sort();
        assert_eq!(logs, ["a", "b"]);
        assert!(index.logs_with("8".parse().unwrap()).is_empty());
        InjectionLog::of(&home, "b")
            .append(&[record(4, "9", true)])
            .unwrap();
        fs::remove_file(home.injection_logs().join("a")).unwrap();
        index.refresh(&home).unwrap();
        assert_eq!(index.logs_with("9".parse().unwrap()), ["b"]);
        assert_eq!(index.logs_with("7".parse().unwrap()), ["b"]);
    }
}
