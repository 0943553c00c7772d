//! Detects whether what a memory is about has changed in the files that it cites.
//!
//! A memory that names functions or settings is compared by their lines, any other by the whole file. A file that was renamed is
//! looked up under its new name.

use std::{
    cell::RefCell,
    collections::HashMap,
    fs::{self, DirEntry, Metadata},
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

use backstory_model::{Handle, MemoryKind, Timestamp};
use backstory_store::{CitedFile, FileFingerprint, Memory, Store, StoreError};
use backstory_system::open_regular;
use backstory_text::sha256;

use crate::cited_lines::{cited_lines, has_lines, line_hashes};

/// Maximum size of a file that is hashed.
const MAX_BYTES: u64 = 4 << 20;

/// Bytes of a SHA-256 that are stored: enough to avoid collisions.
const HASH_BYTES: usize = 16;

/// Status of a file since a memory was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileStatus {
    /// Same content, perhaps under another name.
    Unchanged,
    /// Other content.
    Changed,
    /// The file does not exist anymore.
    Gone,
    /// The earlier content is unknown.
    Unknown,
}

/// The content of a file when a memory was made.
#[derive(Clone, Debug)]
pub struct FileSnapshot {
    content: Vec<u8>,
    hash: Vec<u8>,
}

impl FileSnapshot {
    /// Reads a file, unless it was modified after `by_time`: then the memory describes other content.
    pub fn read(root: &Path, path: &str, by_time: Timestamp) -> Option<Self> {
        let path = root.join(path);
        let metadata = fs::metadata(&path).ok()?;
        if !metadata.is_file() || metadata.len() > MAX_BYTES || modified_at(&metadata)? > by_time {
            return None;
        }
        let content = read(&path)?;
        Some(Self {
            hash: hash(&content),
            content,
        })
    }

    /// Returns the fingerprint of the file for a memory with this text.
    pub fn fingerprint(&self, text: &str) -> FileFingerprint {
        let content = std::str::from_utf8(&self.content).unwrap_or_default();
        FileFingerprint {
            hash: self.hash.clone(),
            size: self.content.len() as u64,
            lines: cited_lines(content, text),
        }
    }
}

/// Checks files of one working tree. Reads each file once, although many memories cite it.
#[derive(Debug)]
pub(crate) struct FileChecker<'r> {
    root: &'r Path,
    /// Hash and line hashes of files that were read.
    contents: RefCell<HashMap<PathBuf, Option<FileContent>>>,
}

#[derive(Debug)]
struct FileContent {
    hash: Vec<u8>,
    lines: Vec<u32>,
}

impl<'r> FileChecker<'r> {
    pub(crate) fn new(root: &'r Path) -> Self {
        Self {
            root,
            contents: RefCell::default(),
        }
    }

    /// Returns the status of a file since a memory was made. Reads nothing if the file was not modified since.
    pub(crate) fn status(&self, path: &str, then: &FileFingerprint, since: Timestamp) -> FileStatus {
        let full = self.root.join(path);
        let Ok(metadata) = fs::metadata(&full) else {
            return if was_moved(self.root, path, then) {
                FileStatus::Unchanged
            } else {
                FileStatus::Gone
            };
        };
        let is_same_size = metadata.len() == then.size;
        if !is_same_size && (then.lines.is_empty() || metadata.len() > MAX_BYTES) {
            return FileStatus::Changed;
        }
        if is_same_size && modified_at(&metadata).is_some_and(|modified| modified <= since) {
            return FileStatus::Unchanged;
        }
        let mut contents = self.contents.borrow_mut();
        let content = contents.entry(full).or_insert_with_key(|full| {
            let bytes = read(full)?;
            Some(FileContent {
                hash: hash(&bytes),
                lines: line_hashes(&String::from_utf8_lossy(&bytes)),
            })
        });
        match content {
            None => FileStatus::Unknown,
            Some(content) if content.hash == then.hash => FileStatus::Unchanged,
            Some(content) if !then.lines.is_empty() && has_lines(&content.lines, &then.lines) => {
                FileStatus::Unchanged
            }
            Some(_) => FileStatus::Changed,
        }
    }

    /// Returns the status of a file that a memory cites, also under a name that git recorded later.
    pub(crate) fn cited_status(
        &self,
        store: &Store,
        handle: Handle,
        file: &CitedFile,
        since: Timestamp,
    ) -> Result<FileStatus, StoreError> {
        /// Commit times have seconds, and a commit may come before the end of its turn.
        const SLACK: Duration = Duration::from_mins(1);
        let Some(then) = &file.mark else {
            return Ok(FileStatus::Unknown);
        };
        let is_there = self.root.join(&file.path).exists();
        let renamed = match handle.observation() {
            Some(observation) if !is_there => store.renamed_to(observation, &file.path, since - SLACK)?,
            _ => None,
        };
        let renamed = renamed.filter(|path| self.root.join(path).exists());
        Ok(self.status(renamed.as_deref().unwrap_or(&file.path), then, since))
    }
}

/// Returns true if a file was renamed in its folder, or moved under its name: same size and same content.
fn was_moved(root: &Path, path: &str, then: &FileFingerprint) -> bool {
    let old = root.join(path);
    let is_it = |file: &DirEntry| {
        file.metadata().is_ok_and(|metadata| metadata.len() == then.size)
            && read(&file.path()).is_some_and(|content| hash(&content) == then.hash)
    };
    let beside = old
        .parent()
        .is_some_and(|folder| files(folder).any(|file| is_it(&file)));
    beside
        || below(root, &|file| {
            old.file_name() == Some(&file.file_name()) && is_it(file)
        })
}

/// Searches a folder tree for a file. Bounded, because the tree may be large.
fn below(root: &Path, is_it: &dyn Fn(&DirEntry) -> bool) -> bool {
    const MAX_FOLDERS: usize = 400;
    const SKIPPED: [&str; 5] = [".git", "node_modules", "target", "dist", ".venv"];
    let mut folders = vec![root.to_owned()];
    for _ in 0..MAX_FOLDERS {
        let Some(folder) = folders.pop() else { return false };
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
                folders.push(entry.path());
            } else if kind.is_file() && is_it(&entry) {
                return true;
            }
        }
    }
    false
}

fn files(folder: &Path) -> impl Iterator<Item = DirEntry> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    open_regular(path)
        .ok()?
        .take(MAX_BYTES)
        .read_to_end(&mut content)
        .ok()?;
    Some(content)
}

fn hash(content: &[u8]) -> Vec<u8> {
    sha256(content)[..HASH_BYTES].to_vec()
}

pub(crate) fn modified_at(metadata: &Metadata) -> Option<Timestamp> {
    metadata.modified().ok().map(Timestamp::from)
}

/// Reports whether what a memory is about was changed or deleted since.
pub fn is_stale(store: &Store, memory: &Memory) -> Result<bool, StoreError> {
    let Some(root) = &memory.root else {
        return Ok(false);
    };
    let checker = FileChecker::new(Path::new(root));
    files_changed(store, memory.handle, &checker, memory.created_at)
}

/// Returns the time up to which a file's own time shows that it is unchanged. Files that another person cites were written
/// here by a checkout, whose time says nothing: their content is always compared.
pub(crate) fn trusted_time(handle: Handle, created_at: Timestamp) -> Timestamp {
    match handle.kind {
        MemoryKind::Team => Timestamp::MIN,
        _ => created_at,
    }
}

/// Reports whether what a memory is about was changed or deleted since.
pub(crate) fn files_changed(
    store: &Store,
    handle: Handle,
    checker: &FileChecker<'_>,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let files = store.cited_files(handle)?;
    let since = trusted_time(handle, since);
    // What was only read may have been any file; what was changed is what the memory speaks of.
    let changed_then = files.iter().any(|file| file.is_modified);
    for file in files.iter().filter(|file| file.is_modified || !changed_then) {
        let status = checker.cited_status(store, handle, file, since)?;
        if matches!(status, FileStatus::Changed | FileStatus::Gone) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may write files in place")]
mod tests {
    use super::*;

    const LATER: Timestamp = Timestamp::MAX;

    fn status(root: &Path, path: &str, then: &FileFingerprint, since: Timestamp) -> FileStatus {
        FileChecker::new(root).status(path, then, since)
    }

    fn fingerprint(root: &Path, path: &str, text: &str) -> FileFingerprint {
        FileSnapshot::read(root, path, LATER).unwrap().fingerprint(text)
    }

    #[test]
    fn changes_renames_and_removal_are_detected() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("src")).unwrap();
        fs::write(root.join("src/a.rs"), "one").unwrap();
        let then = fingerprint(root, "src/a.rs", "");
        let now = || status(root, "src/a.rs", &then, Timestamp::EPOCH);
        assert_eq!(now(), FileStatus::Unchanged);

        fs::write(root.join("src/a.rs"), "two").unwrap();
        assert_eq!(now(), FileStatus::Changed);
        fs::write(root.join("src/a.rs"), "three").unwrap();
        assert_eq!(status(root, "src/a.rs", &then, LATER), FileStatus::Changed);

        fs::write(root.join("src/a.rs"), "one").unwrap();
        assert_eq!(now(), FileStatus::Unchanged);
        fs::rename(root.join("src/a.rs"), root.join("src/b.rs")).unwrap();
        assert_eq!(now(), FileStatus::Unchanged);
        fs::create_dir_all(root.join("lib/deep")).unwrap();
        fs::rename(root.join("src/b.rs"), root.join("lib/deep/a.rs")).unwrap();
        assert_eq!(now(), FileStatus::Unchanged);
        fs::remove_file(root.join("lib/deep/a.rs")).unwrap();
        assert_eq!(now(), FileStatus::Gone);
    }

    #[test]
    fn a_memory_about_a_function_survives_an_edit_elsewhere_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let file = "fn one() {\n    1\n}\n\nfn two() {\n    2\n}\n";
        fs::write(root.join("a.rs"), file).unwrap();
        let about_one = fingerprint(root, "a.rs", "`one` returns 1");
        let about_file = fingerprint(root, "a.rs", "Added the file");
        let now = |then| status(root, "a.rs", then, Timestamp::EPOCH);
        fs::write(root.join("a.rs"), file.replace("    2", "    22")).unwrap();
        assert_eq!(now(&about_one), FileStatus::Unchanged);
        assert_eq!(now(&about_file), FileStatus::Changed);
        fs::write(root.join("a.rs"), file.replace("    1", "    7")).unwrap();
        assert_eq!(now(&about_one), FileStatus::Changed);
    }

    #[test]
    fn a_file_modified_after_the_memory_has_no_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "one").unwrap();
        assert!(FileSnapshot::read(folder.path(), "a", Timestamp::EPOCH).is_none());
        assert!(FileSnapshot::read(folder.path(), "missing", LATER).is_none());
    }
}
