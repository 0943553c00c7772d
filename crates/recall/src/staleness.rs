//! Detects whether the files that a memory cites have changed.

use std::{
    fs::{self, DirEntry, Metadata},
    io::Read,
    path::Path,
};

use backstory_model::{ObservationId, Timestamp};
use backstory_store::{FileFingerprint, Memory, Store, StoreError};
use backstory_system::open_regular;
use backstory_text::sha256;

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

/// Returns the fingerprint of a file, unless it was modified after `by_time`: then the memory describes other content.
pub fn fingerprint_file(root: &Path, path: &str, by_time: Timestamp) -> Option<FileFingerprint> {
    let path = root.join(path);
    let metadata = fs::metadata(&path).ok()?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES || modified_at(&metadata)? > by_time {
        return None;
    }
    let hash = hash(&path)?;
    Some(FileFingerprint {
        hash,
        size: metadata.len(),
    })
}

/// Returns the status of a file since a memory was made. Reads nothing if the file was not modified since.
pub(crate) fn file_status(root: &Path, path: &str, then: &FileFingerprint, since: Timestamp) -> FileStatus {
    let full = root.join(path);
    let Ok(metadata) = fs::metadata(&full) else {
        return if was_moved(root, path, then) {
            FileStatus::Unchanged
        } else {
            FileStatus::Gone
        };
    };
    if metadata.len() != then.size {
        return FileStatus::Changed;
    }
    if modified_at(&metadata).is_some_and(|modified| modified <= since) {
        return FileStatus::Unchanged;
    }
    match hash(&full) {
        Some(hash) if hash == then.hash => FileStatus::Unchanged,
        Some(_) => FileStatus::Changed,
        None => FileStatus::Unknown,
    }
}

/// Returns true if a file was renamed in its folder, or moved under its name: same size and same content.
fn was_moved(root: &Path, path: &str, then: &FileFingerprint) -> bool {
    let old = root.join(path);
    let is_it = |file: &DirEntry| {
        file.metadata().is_ok_and(|metadata| metadata.len() == then.size)
            && hash(&file.path()).as_ref() == Some(&then.hash)
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

fn hash(path: &Path) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    open_regular(path)
        .ok()?
        .take(MAX_BYTES)
        .read_to_end(&mut content)
        .ok()?;
    Some(sha256(&content)[..HASH_BYTES].to_vec())
}

pub(crate) fn modified_at(metadata: &Metadata) -> Option<Timestamp> {
    metadata.modified().ok().map(Timestamp::from)
}

/// Reports whether a file that a memory cites was changed or deleted since.
pub fn is_stale(store: &Store, memory: &Memory) -> Result<bool, StoreError> {
    let (Some(observation), Some(root)) = (memory.handle.observation(), &memory.root) else {
        return Ok(false);
    };
    files_changed(store, observation, Path::new(root), memory.created_at)
}

/// Reports whether a file that an observation cites was changed or deleted since.
pub(crate) fn files_changed(
    store: &Store,
    observation: ObservationId,
    root: &Path,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let files = store.cited_files(observation)?;
    // What was only read may have been any file; what was changed is what the memory speaks of.
    let changed_then = files.iter().any(|file| file.is_modified);
    let stale = files
        .iter()
        .filter(|file| file.is_modified || !changed_then)
        .any(|file| {
            let fate = file
                .mark
                .as_ref()
                .map(|mark| file_status(root, &file.path, mark, since));
            matches!(fate, Some(FileStatus::Changed | FileStatus::Gone))
        });
    Ok(stale)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests may write files in place")]
mod tests {
    use super::*;

    const LATER: Timestamp = Timestamp::MAX;

    #[test]
    fn changes_renames_and_removal_are_detected() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("src")).unwrap();
        fs::write(root.join("src/a.rs"), "one").unwrap();
        let then = fingerprint_file(root, "src/a.rs", LATER).unwrap();
        assert_eq!(
            file_status(root, "src/a.rs", &then, Timestamp::EPOCH),
            FileStatus::Unchanged
        );

        fs::write(root.join("src/a.rs"), "two").unwrap();
        assert_eq!(
            file_status(root, "src/a.rs", &then, Timestamp::EPOCH),
            FileStatus::Changed
        );
        fs::write(root.join("src/a.rs"), "three").unwrap();
        assert_eq!(file_status(root, "src/a.rs", &then, LATER), FileStatus::Changed);

        fs::write(root.join("src/a.rs"), "one").unwrap();
        assert_eq!(
            file_status(root, "src/a.rs", &then, Timestamp::EPOCH),
            FileStatus::Unchanged
        );
        fs::rename(root.join("src/a.rs"), root.join("src/b.rs")).unwrap();
        assert_eq!(
            file_status(root, "src/a.rs", &then, Timestamp::EPOCH),
            FileStatus::Unchanged
        );
        fs::create_dir_all(root.join("lib/deep")).unwrap();
        fs::rename(root.join("src/b.rs"), root.join("lib/deep/a.rs")).unwrap();
        assert_eq!(
            file_status(root, "src/a.rs", &then, Timestamp::EPOCH),
            FileStatus::Unchanged
        );
        fs::remove_file(root.join("lib/deep/a.rs")).unwrap();
        assert_eq!(
            file_status(root, "src/a.rs", &then, Timestamp::EPOCH),
            FileStatus::Gone
        );
    }

    #[test]
    fn a_file_modified_after_the_memory_has_no_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "one").unwrap();
        assert_eq!(fingerprint_file(folder.path(), "a", Timestamp::EPOCH), None);
        assert_eq!(fingerprint_file(folder.path(), "missing", LATER), None);
    }
}
