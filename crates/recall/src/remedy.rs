//! Finds remedies of an error that an agent asks about.
//!
//! Three sources, the surest first: memories that resolve the same error, memories of the turns in which it occurred, and
//! memories about something similar. Unlike an injection, an answer to a question may be uncertain; it says which it is.

use std::path::Path;

use backstory_model::{Handle, MemoryKind, Timestamp};
use backstory_store::{Filter, Memory, Project, Scope, Store, StoreError};
use backstory_text::error_signature;
use jiff::tz::TimeZone;

use crate::{error_lines::error_line, hit::Query, search::Searcher};

/// A memory that may help against an error.
#[derive(Clone, Debug)]
pub struct Remedy {
    /// The memory.
    pub memory: Memory,
    /// True if it is known for the same error, false if only for a similar one.
    pub is_same_error: bool,
}

/// Returns remedies of an error, the surest first.
pub fn remedies(
    store: &Store,
    vectors: &Path,
    project: &Project,
    error: &str,
    now: Timestamp,
) -> Result<Vec<Remedy>, StoreError> {
    const MAX_LINES: usize = 50;
    const MAX_SIMILAR: usize = 3;
    let mut handles: Vec<Handle> = Vec::new();
    let line = error_line(error).unwrap_or_else(|| error.trim());
    // The most specific line first; a pasted log has many.
    let lines = [line]
        .into_iter()
        .chain(error.lines().map(str::trim))
        .take(MAX_LINES);
    for line in lines.filter(|line| !line.is_empty()) {
        for handle in store.remedies(project, &error_signature(line))? {
            if !handles.contains(&handle) {
                handles.push(handle);
            }
        }
    }
    let mut searcher = Searcher::new(store, vectors)?;
    let hits = searcher.search(&Query {
        text: line,
        scope: Scope::Project(project),
        filter: &Filter::default(),
        limit: 20,
        now,
        zone: &TimeZone::UTC,
    })?;
    if handles.is_empty() {
        let seen = error_signature(line);
        for hit in hits
            .iter()
            .filter(|hit| hit.memory.handle.kind == MemoryKind::Passage)
        {
            let text = hit.memory.record.text.as_deref().unwrap_or_default();
            let is_same = text.lines().any(|line| error_signature(line) == seen);
            if let Some(turn) = hit.memory.turn_id.filter(|_| is_same) {
                handles.extend(store.solutions(turn)?);
            }
        }
        handles.dedup();
    }
    let mut remedies = Vec::new();
    for handle in &handles {
        remedies.extend(store.memory(*handle)?.map(|memory| Remedy {
            memory,
            is_same_error: true,
        }));
    }
    let similar = hits.into_iter().map(|hit| hit.memory).filter(|memory| {
        matches!(
            memory.handle.kind,
            MemoryKind::Observation | MemoryKind::Note | MemoryKind::Team
        ) && memory.is_valid()
            && !handles.contains(&memory.handle)
    });
    remedies.extend(similar.take(MAX_SIMILAR).map(|memory| Remedy {
        memory,
        is_same_error: false,
    }));
    Ok(remedies)
}
