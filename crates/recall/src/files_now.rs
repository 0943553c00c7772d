//! Status of the files that a memory cites.

use std::{fs, path::Path};

use backstory_model::Timestamp;
use backstory_store::{Memory, Store, StoreError};

use crate::staleness::{FileChecker, FileStatus, modified_at, trusted_time};

/// Status of a cited file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CitedFileStatus {
    /// Path from the root of the working tree.
    pub path: String,
    /// True if the memory's tools changed it.
    pub is_modified: bool,
    /// Status today.
    pub fate: FileStatus,
    /// Size at that time, in bytes.
    pub size_then: Option<u64>,
    /// Size today.
    pub size_now: Option<u64>,
    /// Time of the last change.
    pub written_at: Option<Timestamp>,
}

/// Returns the status of each file that a memory cites.
pub fn cited_file_statuses(store: &Store, memory: &Memory) -> Result<Vec<CitedFileStatus>, StoreError> {
    let Some(root) = &memory.root else {
        return Ok(Vec::new());
    };
    let root = Path::new(root);
    let since = trusted_time(memory.handle, memory.created_at);
    let files = store.cited_files(memory.handle)?;
    let checker = FileChecker::new(root);
    let now = files.into_iter().map(|file| {
        let metadata = fs::metadata(root.join(&file.path)).ok();
        Ok(CitedFileStatus {
            fate: checker.cited_status(store, memory.handle, &file, since)?,
            is_modified: file.is_modified,
            size_then: file.mark.map(|mark| mark.size),
            size_now: metadata.as_ref().map(fs::Metadata::len),
            written_at: metadata.as_ref().and_then(modified_at),
            path: file.path,
        })
    });
    now.collect()
}
