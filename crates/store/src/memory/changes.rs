//! The change log: every change of a session or a memory, in order.
//!
//! Code that stores, changes or forgets a memory records it here in the same transaction. A subscriber reads on from the
//! last change it knows. An entry says what changed, never the content.

use backstory_model::{ChangeId, Handle, MemoryKind, SessionId};
use rusqlite::{Connection, Row, params};

use crate::{Store, StoreError, sql::Statements as _};

/// Holds one entry of the change log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Increases with time.
    pub id: ChangeId,
    /// The event.
    pub event: ChangeEvent,
}

/// Names what a change happened to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeEvent {
    /// A session started.
    SessionStarted(SessionId),
    /// A session ended.
    SessionCompleted(SessionId),
    /// A session was forgotten.
    SessionForgotten(SessionId),
    /// A memory was stored or changed.
    Memory(Handle),
    /// A memory was forgotten or replaced.
    MemoryForgotten(Handle),
}

/// The suffix of the stored name when something was forgotten.
const FORGOTTEN: &str = "_forgotten";

impl ChangeEvent {
    /// Reads the stored form; `None` for a name of a newer version.
    fn from_stored(name: &str, id: i64) -> Option<Self> {
        match (name, name.strip_suffix(FORGOTTEN)) {
            ("session_started", _) => Some(Self::SessionStarted(SessionId::new(id))),
            ("session_completed", _) => Some(Self::SessionCompleted(SessionId::new(id))),
            (_, Some("session")) => Some(Self::SessionForgotten(SessionId::new(id))),
            (_, Some(kind)) => {
                MemoryKind::from_name(kind).map(|kind| Self::MemoryForgotten(Handle { kind, id }))
            }
            (kind, None) => MemoryKind::from_name(kind).map(|kind| Self::Memory(Handle { kind, id })),
        }
    }

    fn stored(self) -> (String, i64) {
        match self {
            Self::SessionStarted(id) => ("session_started".to_owned(), id.get()),
            Self::SessionCompleted(id) => ("session_completed".to_owned(), id.get()),
            Self::SessionForgotten(id) => (format!("session{FORGOTTEN}"), id.get()),
            Self::Memory(handle) => (handle.kind.name().to_owned(), handle.id),
            Self::MemoryForgotten(handle) => (format!("{}{FORGOTTEN}", handle.kind), handle.id),
        }
    }
}

impl Store {
    /// Returns the changes after one, the oldest first.
    pub fn changes_after(&self, id: ChangeId, limit: u32) -> Result<Vec<Change>, StoreError> {
        const AFTER: &str = "select id, name, memory_id from change where id > ?1 order by id limit ?2";
        self.read("read changes", |connection| {
            let changes = connection.rows(AFTER, params![id, limit], read)?;
            Ok(changes.into_iter().flatten().collect())
        })
    }

    /// Returns the last change; 0 if there is none.
    pub fn last_change(&self) -> Result<ChangeId, StoreError> {
        const LAST: &str = "select coalesce(max(id), 0) from change";
        self.read("read changes", |connection| {
            connection.row(LAST, [], |row| row.get(0))
        })
    }

    /// Returns a number that changes when another connection commits.
    pub fn data_version(&self) -> Result<i64, StoreError> {
        self.read("read the data version", |connection| {
            connection.row("pragma data_version", [], |row| row.get(0))
        })
    }

    /// Drops all but the latest `kept` changes. A subscriber that was away for longer reloads everything.
    pub fn drop_old_changes(&mut self, kept: u32) -> Result<usize, StoreError> {
        const OLD: &str = "delete from change where id <= (select max(id) from change) - ?1";
        self.write("drop old changes", |tx| tx.run(OLD, [kept]))
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Option<Change>> {
    let id = row.get("id")?;
    let event = ChangeEvent::from_stored(row.get_ref("name")?.as_str()?, row.get("memory_id")?);
    Ok(event.map(|event| Change { id, event }))
}

/// Adds an entry.
pub(crate) fn record_change(connection: &Connection, event: ChangeEvent) -> rusqlite::Result<()> {
    const INSERT: &str = "insert into change (name, memory_id) values (?1, ?2)";
    connection.run(INSERT, event.stored()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_changes_are_read_back() {
        let id = SessionId::new(7);
        let handle = Handle {
            kind: MemoryKind::Note,
            id: 7,
        };
        for event in [
            ChangeEvent::SessionStarted(id),
            ChangeEvent::SessionCompleted(id),
            ChangeEvent::SessionForgotten(id),
            ChangeEvent::Memory(handle),
            ChangeEvent::MemoryForgotten(handle),
        ] {
            let (name, id) = event.stored();
            assert_eq!(ChangeEvent::from_stored(&name, id), Some(event));
        }
        assert_eq!(ChangeEvent::from_stored("newer", 7), None);
    }
}
