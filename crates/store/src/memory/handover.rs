//! Reads the hand-over of a session. Items that were ticked off are left out and read apart.

use backstory_model::{Handover, SessionId};
use rusqlite::Connection;

use super::done_items::DoneItems;
use crate::{Store, StoreError, sql::Statements as _};

impl Store {
    /// Reads the hand-over of a session, without items that were ticked off.
    pub fn handover(&self, session: SessionId) -> Result<Option<Handover>, StoreError> {
        self.read("read a hand-over", |connection| handover(connection, session))
    }

    /// Returns the items of the hand-over of a session that were ticked off.
    pub fn ticked_items(&self, session: SessionId) -> Result<Vec<String>, StoreError> {
        self.read("read the ticked items of a hand-over", |connection| {
            let found = with_ticked(connection, session)?;
            Ok(found.map(|(_, ticked)| ticked).unwrap_or_default())
        })
    }
}

/// Reads the hand-over of a session, without items that were ticked off.
pub(super) fn handover(connection: &Connection, session: SessionId) -> rusqlite::Result<Option<Handover>> {
    let found = with_ticked(connection, session)?;
    Ok(found.map(|(handover, _)| handover))
}

/// Reads the hand-over of a session and, apart from it, the items that were ticked off.
fn with_ticked(
    connection: &Connection,
    session: SessionId,
) -> rusqlite::Result<Option<(Handover, Vec<String>)>> {
    const BODY: &str = "select body, project_id from handover join session on session.id = session_db_id
        where session_db_id = ?1";
    let found = connection.optional_row(BODY, [session], |row| {
        Ok((row.get::<_, String>("body")?, row.get("project_id")?))
    })?;
    let Some((body, project)) = found else {
        return Ok(None);
    };
    let done = DoneItems::of(connection, project)?;
    Ok(serde_json::from_str(&body).ok().map(|mut handover| {
        let ticked = done.remove_from_handover(&mut handover);
        (handover, ticked)
    }))
}
