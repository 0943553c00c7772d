//! Notes: what a person or an agent saves on purpose.

use backstory_model::{Handle, MemoryKind, NoteAuthor, ObservationType, ProjectIdentity, Timestamp};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use crate::{Store, StoreError, memory::documents, schema::open::query, sessions::projects};

/// A note that is not stored yet.
#[derive(Clone, Copy, Debug)]
pub struct NewNote<'n> {
    /// The project it is about; `None` when it holds everywhere.
    pub project: Option<&'n ProjectIdentity>,
    /// The words.
    pub text: &'n str,
    /// Its type.
    pub kind: Option<ObservationType>,
    /// The files it is about, relative to the root where they can be.
    pub files: &'n [String],
    /// Whether it is to be kept in sight.
    pub pinned: bool,
    /// Who saves it.
    pub author: NoteAuthor,
}

/// What became of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedNote {
    /// Its handle.
    pub handle: Handle,
    /// Whether the same words were not there yet.
    pub is_new: bool,
}

impl Store {
    /// Saves a note. The same words in the same project are one note: saying them again can only pin it.
    pub fn remember(&mut self, note: &NewNote<'_>, now: Timestamp) -> Result<SavedNote, StoreError> {
        let attempt = query("save a note");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let saved = save(&transaction, note, now).map_err(attempt)?;
        transaction.commit().map_err(attempt)?;
        Ok(saved)
    }
}

fn save(transaction: &Transaction<'_>, note: &NewNote<'_>, now: Timestamp) -> rusqlite::Result<SavedNote> {
    const SAME: &str = "select id from note where project_id is ?1 and text = ?2";
    const PIN: &str = "update note set pinned = 1 where id = ?1";
    const INSERT: &str = "insert into note (project_id, type, text, files, pinned, author, created_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7) returning id";
    let project = note
        .project
        .map(|facts| projects::find_or_create(transaction, facts, now))
        .transpose()?;
    let known: Option<i64> = transaction
        .query_row(SAME, params![project, note.text], |row| row.get(0))
        .optional()?;
    if let Some(id) = known {
        if note.pinned {
            transaction.execute(PIN, [id])?;
        }
        return Ok(SavedNote {
            handle: handle(id),
            is_new: false,
        });
    }
    let values = params![
        project,
        note.kind,
        note.text,
        serde_json::Value::from(note.files).to_string(),
        note.pinned,
        note.author,
        now
    ];
    let id = transaction.query_row(INSERT, values, |row| row.get(0))?;
    documents::put(transaction, handle(id))?;
    Ok(SavedNote {
        handle: handle(id),
        is_new: true,
    })
}

fn handle(id: i64) -> Handle {
    Handle {
        kind: MemoryKind::Note,
        id,
    }
}
