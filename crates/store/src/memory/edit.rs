//! Edits by the user: pins and corrections. Distilling again never overwrites them.

use backstory_model::{Handle, MemoryKind, ObservationType, Timestamp};
use rusqlite::{Transaction, params};

use crate::{
    Store, StoreError,
    memory::{
        changes::{ChangeEvent, record_change},
        documents,
        next_steps::open_steps_json,
        stored,
    },
    sql::{Statements as _, json_list},
};

/// Holds new values for some fields of a memory.
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
    /// Returns the fields of a kind of memory that can be edited.
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
            // Evidence is verbatim, and a memory of another person is that person's.
            MemoryKind::Passage | MemoryKind::Team => &[],
        }
    }

    /// Returns the names of the changed fields.
    pub fn changed(&self) -> Vec<&'static str> {
        let texts = self.texts.iter().map(|(name, _)| *name);
        let facts = self.facts.iter().map(|_| "facts");
        let kind = self.kind.iter().map(|_| "type");
        texts.chain(facts).chain(kind).collect()
    }
}

impl Store {
    /// Returns true if a memory or its successor exists.
    pub fn exists(&self, handle: Handle) -> Result<bool, StoreError> {
        self.read("look for a memory", |connection| {
            stored::exists(connection, stored::resolve(connection, handle)?)
        })
    }

    /// Pins or unpins memories. Skips those that do not exist.
    pub fn set_pinned(&mut self, handles: &[Handle], pinned: bool) -> Result<(), StoreError> {
        // The team learns of it as the user's opinion.
        const PIN_OPINION: &str = "insert into team_opinion (record_id, account_id, pinned, unsent)
            select record_id, 0, ?2, 1 from team_memory where id = ?1
            on conflict do update set pinned = excluded.pinned, unsent = 1";
        self.write("pin memories", |tx| {
            for handle in handles {
                let handle = stored::resolve(tx, *handle)?;
                let sql = match handle.kind {
                    MemoryKind::Observation => "update observation set pinned = ?2 where id = ?1",
                    MemoryKind::Summary => "update summary set pinned = ?2 where id = ?1",
                    MemoryKind::Note => "update note set pinned = ?2 where id = ?1",
                    MemoryKind::Prompt => "update turn set pinned = ?2 where id = ?1",
                    MemoryKind::Passage => "update passage set pinned = ?2 where id = ?1",
                    MemoryKind::Team => "update team_memory set pinned = ?2 where id = ?1",
                };
                tx.run(sql, params![handle.id, pinned])?;
                if handle.kind == MemoryKind::Team {
                    tx.run(PIN_OPINION, params![handle.id, pinned])?;
                }
                record_change(tx, ChangeEvent::Memory(handle))?;
            }
            Ok(())
        })
    }

    /// Changes a memory and indexes it again. Skips fields that its kind does not have, see [`MemoryEdit::fields`].
    pub fn edit(&mut self, handle: Handle, edit: &MemoryEdit, now: Timestamp) -> Result<(), StoreError> {
        self.write("change a memory", |tx| {
            let handle = stored::resolve(tx, handle)?;
            apply(tx, handle, edit, now)?;
            documents::put(tx, handle)?;
            if handle.kind == MemoryKind::Prompt {
                record_change(tx, ChangeEvent::Memory(handle))?;
            }
            Ok(())
        })
    }
}

fn apply(tx: &Transaction<'_>, handle: Handle, edit: &MemoryEdit, now: Timestamp) -> rusqlite::Result<()> {
    for (name, text) in &edit.texts {
        if let Some(sql) = set_text(handle.kind, name) {
            let text = Some(text).filter(|text| !text.is_empty());
            tx.run(sql, params![handle.id, text])?;
        }
        if (handle.kind, *name) == (MemoryKind::Summary, "next_steps") {
            const OPEN_STEPS: &str = "update summary set open_steps = ?2 where id = ?1";
            tx.run(OPEN_STEPS, params![handle.id, open_steps_json(text)])?;
        }
    }
    if let (Some(facts), MemoryKind::Observation) = (&edit.facts, handle.kind) {
        const FACTS: &str = "update observation set facts = ?2 where id = ?1";
        tx.run(FACTS, params![handle.id, json_list(facts)])?;
    }
    if let (Some(kind), Some(sql)) = (edit.kind, set_text(handle.kind, "type")) {
        tx.run(sql, params![handle.id, kind])?;
    }
    let mark_edited = match handle.kind {
        MemoryKind::Observation => "update observation set edited_at = ?2 where id = ?1",
        MemoryKind::Summary => "update summary set edited_at = ?2 where id = ?1",
        MemoryKind::Note => "update note set updated_at = ?2 where id = ?1",
        MemoryKind::Prompt | MemoryKind::Passage | MemoryKind::Team => return Ok(()),
    };
    tx.run(mark_edited, params![handle.id, now]).map(drop)
}

fn set_text(kind: MemoryKind, field: &str) -> Option<&'static str> {
    Some(match (kind, field) {
        // An observation without a title cannot be listed, so an empty title changes nothing.
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
