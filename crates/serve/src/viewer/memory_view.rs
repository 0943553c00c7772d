//! Data of a memory's page, read from the store.

use backstory_model::Handle;
use backstory_recall::{CitedFileStatus, FileStatus, cited_file_statuses};
use backstory_store::{MemoryDetail, Store};

use super::{card::MemoryCard, relation_graph::Relations, told::MemoryTold};
use crate::{problem::ApiError, project_scope, server::Server};

/// A memory with everything that its page shows.
pub(super) struct MemoryPageView {
    pub(super) shown: MemoryDetail,
    pub(super) files: Vec<CitedFileStatus>,
    /// Texts of the first passages, by position.
    pub(super) texts: Vec<String>,
    pub(super) relations: Relations,
    pub(super) told: MemoryTold,
    /// Later memories about cited files that have changed since.
    pub(super) later: Vec<MemoryCard>,
}

impl MemoryPageView {
    pub(super) fn read(store: &Store, server: &Server, handle: Handle) -> Result<Self, ApiError> {
        const TEXTS: usize = 12;
        const LATER: usize = 6;
        let shown = store
            .show(handle)?
            .ok_or_else(|| project_scope::unknown(handle))?;
        let files = cited_file_statuses(store, &shown.memory)?;
        let mut texts = Vec::new();
        for passage in shown.passages.iter().take(TEXTS) {
            let passage = store.memory(passage.id)?;
            texts.push(
                passage
                    .and_then(|passage| passage.record.text)
                    .unwrap_or_default(),
            );
        }
        let relations = match shown.memory.handle.observation() {
            Some(id) => Relations {
                related: store.related_memories(id)?,
                sightings: store.sightings(id)?,
            },
            None => Relations {
                related: Vec::new(),
                sightings: Vec::new(),
            },
        };
        let mut later: Vec<MemoryCard> = Vec::new();
        for file in files.iter().filter(|file| is_stale(file)).take(4) {
            let project = shown
                .memory
                .record
                .project
                .as_deref()
                .map(|id| store.project(id))
                .transpose()?;
            for other in store.file_history(project.as_ref(), &file.path, 20)? {
                let is_known = later.iter().any(|known| known.handle == other);
                if let (false, Some(memory)) = (is_known || other == handle, store.memory(other)?)
                    && memory.created_at > shown.memory.created_at
                {
                    later.push(MemoryCard::new(&memory));
                }
            }
        }
        later.sort_by_key(|item| std::cmp::Reverse(item.created_at));
        later.truncate(LATER);
        Ok(Self {
            told: MemoryTold::read(store, server, shown.memory.handle)?,
            shown,
            files,
            texts,
            relations,
            later,
        })
    }
}

/// Returns whether a cited file changed or disappeared since the memory was made.
pub(super) fn is_stale(file: &CitedFileStatus) -> bool {
    matches!(file.fate, FileStatus::Changed | FileStatus::Gone)
}
