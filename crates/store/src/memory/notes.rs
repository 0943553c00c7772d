//! Notes: memories that a user or an agent saves on purpose.

use backstory_model::{Handle, MemoryKind, NoteAuthor, ObservationType, ProjectIdentity, Timestamp};
use rusqlite::{Transaction, params};

use crate::{
    Store, StoreError,
    memory::documents,
    sessions::projects,
    sql::{Statements as _, json_list},
};

/// Holds a note before it has an id.
#[derive(Clone, Copy, Debug)]
pub struct NewNote<'n> {
    /// The project; `None` for a note that applies everywhere.
    pub project: Option<&'n ProjectIdentity>,
    /// The text.
    pub text: &'n str,
    /// The type.
    pub kind: Option<ObservationType>,
    /// The files it is about, relative to the project root if inside.
    pub files: &'n [String],
    /// Pins the note.
    pub pinned: bool,
    /// The author.
    pub author: NoteAuthor,
}

/// Holds the result of saving a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SavedNote {
    /// The note.
    pub handle: Handle,
    /// False if the project had a note with the same text.
    pub is_new: bool,
}

impl Store {
    /// Saves a note. A project has one note per text: saving it again can pin it, and makes an agent's note the user's own.
    pub fn remember(&mut self, note: &NewNote<'_>, now: Timestamp) -> Result<SavedNote, StoreError> {
        self.write("save a note", |tx| save(tx, note, now))
    }
}

fn save(tx: &Transaction<'_>, note: &NewNote<'_>, now: Timestamp) -> rusqlite::Result<SavedNote> {
    const SAME: &str = "select id from note where project_id is ?1 and text = ?2";
    const PIN: &str = "update note set pinned = 1 where id = ?1";
    const ADOPT: &str = "update note set author = ?2 where id = ?1";
    const INSERT: &str = "insert into note (project_id, type, text, files, pinned, author, created_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7) returning id";
    let project = note
        .project
        .map(|identity| projects::find_or_create(tx, identity, now))
        .transpose()?;
    let handle = |id| Handle {
        kind: MemoryKind::Note,
        id,
    };
    if let Some(id) = tx.optional_row(SAME, params![project, note.text], |row| row.get("id"))? {
        if note.pinned {
            tx.run(PIN, [id])?;
        }
        if note.author == NoteAuthor::User {
            tx.run(ADOPT, params![id, note.author])?;
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
        json_list(note.files),
        note.pinned,
        note.author,
        now
    ];
    let handle = handle(tx.row(INSERT, values, |row| row.get("id"))?);
    documents::put(tx, handle)?;
    Ok(SavedNote { handle, is_new: true })
}
