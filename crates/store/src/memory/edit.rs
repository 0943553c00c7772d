//! Corrections: what a person pins or puts right.

use backstory_model::{Handle, MemoryKind, ObservationType, Timestamp};
use rusqlite::{Transaction, TransactionBehavior, params};

use crate::{
    Store, StoreError,
    memory::changes::{ChangeEvent, record_change},
    memory::documents,
    memory::next_steps::open_steps_json,
    schema::open::query,
    transfer::import_lines::exists,
};

/// New values for some fields of a memory; the others stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryEdit {
    /// Text fields by name, such as `title`; an empty text clears the field.
    pub texts: Vec<(&'static str, String)>,
    /// The facts of an observation.
    pub facts: Option<Vec<String>>,
    /// The type of an observation or a note.
    pub kind: Option<ObservationType>,
}

impl MemoryEdit {
    /// Returns the fields that a memory of a kind lets be edited.
    pub const fn fields(kind: MemoryKind) -> &'static [&'static str] {
        match kind {
            MemoryKind::Observation => &["title", "subtitle", "narrative", "facts", "type"],
            MemoryKind::Summary => &[
                "request",
                "investigated",
                "learned",
                "completed",
                "next_steps",
                "notes",
            ],
            MemoryKind::Note => &["text", "type"],
            MemoryKind::Prompt => &["text"],
            // Evidence is what was said, word by word.
            MemoryKind::Passage => &[],
        }
    }

    /// Returns the names of the fields that it changes.
    pub fn changed(&self) -> Vec<&'static str> {
        let texts = self.texts.iter().map(|(name, _)| *name);
        let facts = self.facts.iter().map(|_| "facts");
        let kind = self.kind.iter().map(|_| "type");
        texts.chain(facts).chain(kind).collect()
    }
}

impl Store {
    /// Says whether a memory is there.
    pub fn exists(&self, handle: Handle) -> Result<bool, StoreError> {
        exists(&self.connection, handle).map_err(query("look for a memory"))
    }

    /// Pins memories, or lets them go again. Those that are not there are passed over.
    pub fn set_pinned(&mut self, handles: &[Handle], pinned: bool) -> Result<(), StoreError> {
        let attempt = query("pin memories");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        for handle in handles {
            let sql = match handle.kind {
                MemoryKind::Observation => "update observation set pinned = ?2 where id = ?1",
                MemoryKind::Summary => "update summary set pinned = ?2 where id = ?1",
                MemoryKind::Note => "update note set pinned = ?2 where id = ?1",
                MemoryKind::Prompt => "update turn set pinned = ?2 where id = ?1",
                MemoryKind::Passage => "update passage set pinned = ?2 where id = ?1",
            };
            transaction
                .execute(sql, params![handle.id, pinned])
                .map_err(attempt)?;
            record_change(&transaction, ChangeEvent::Memory(*handle)).map_err(attempt)?;
        }
        transaction.commit().map_err(attempt)
    }

    /// Changes a memory, and what is found of it. Fields that its kind does not have are passed over:
    /// see [`Edit::fields`].
    pub fn edit(&mut self, handle: Handle, edit: &MemoryEdit, now: Timestamp) -> Result<(), StoreError> {
        let attempt = query("change a memory");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        apply(&transaction, handle, edit, now).map_err(attempt)?;
        documents::put(&transaction, handle).map_err(attempt)?;
        if handle.kind == MemoryKind::Prompt {
            record_change(&transaction, ChangeEvent::Memory(handle)).map_err(attempt)?;
        }
        transaction.commit().map_err(attempt)
    }
}

fn apply(
    transaction: &Transaction<'_>,
    handle: Handle,
    edit: &MemoryEdit,
    now: Timestamp,
) -> rusqlite::Result<()> {
    for (name, text) in &edit.texts {
        if let Some(sql) = set_text(handle.kind, name) {
            let text = Some(text).filter(|text| !text.is_empty());
            transaction.execute(sql, params![handle.id, text])?;
        }
        if (handle.kind, *name) == (MemoryKind::Summary, "next_steps") {
            transaction.execute(
                "update summary set open_steps = ?2 where id = ?1",
                params![handle.id, open_steps_json(text)],
            )?;
        }
    }
    if let (Some(facts), MemoryKind::Observation) = (&edit.facts, handle.kind) {
        let facts = serde_json::Value::from(facts.as_slice()).to_string();
        transaction.execute(
            "update observation set facts = ?2 where id = ?1",
            params![handle.id, facts],
        )?;
    }
    if let (Some(kind), Some(sql)) = (edit.kind, set_text(handle.kind, "type")) {
        transaction.execute(sql, params![handle.id, kind])?;
    }
    let noted = match handle.kind {
        MemoryKind::Observation => "update observation set edited_at = ?2 where id = ?1",
        MemoryKind::Summary => "update summary set edited_at = ?2 where id = ?1",
        MemoryKind::Note => "update note set updated_at = ?2 where id = ?1",
        MemoryKind::Prompt | MemoryKind::Passage => return Ok(()),
    };
    transaction.execute(noted, params![handle.id, now]).map(drop)
}

fn set_text(kind: MemoryKind, field: &str) -> Option<&'static str> {
    Some(match (kind, field) {
        // A memory without a title could not be listed: an empty one changes nothing.
        (MemoryKind::Observation, "title") => {
            "update observation set title = coalesce(?2, title) where id = ?1"
        }
        (MemoryKind::Observation, "subtitle") => "update observation set subtitle = ?2 where id = ?1",
        (MemoryKind::Observation, "narrative") => "update observation set narrative = ?2 where id = ?1",
        (MemoryKind::Observation, "type") => "update observation set type = ?2 where id = ?1",
        (MemoryKind::Summary, "request") => "update summary set request = ?2 where id = ?1",
        (MemoryKind::Summary, "investigated") => "update summary set investigated = ?2 where id = ?1",
        (MemoryKind::Summary, "learned") => "update summary set learned = ?2 where id = ?1",
        (MemoryKind::Summary, "completed") => "update summary set completed = ?2 where id = ?1",
        (MemoryKind::Summary, "next_steps") => "update summary set next_steps = ?2 where id = ?1",
        (MemoryKind::Summary, "notes") => "update summary set notes = ?2 where id = ?1",
        (MemoryKind::Note, "text") => "update note set text = coalesce(?2, text) where id = ?1",
        (MemoryKind::Note, "type") => "update note set type = ?2 where id = ?1",
        (MemoryKind::Prompt, "text") => "update turn set prompt = coalesce(?2, prompt) where id = ?1",
        _ => return None,
    })
}
