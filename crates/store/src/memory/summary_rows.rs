//! Rows of summaries.

use std::collections::HashMap;

use backstory_model::{Distiller, NewSummary, ProjectId, SessionId, SummaryId, TurnId};
use rusqlite::{Transaction, params};

use crate::{
    memory::{
        changes::{ChangeEvent, record_change},
        documents,
    },
    sql::{Statements as _, json_list},
};

/// Holds a summary with its place.
pub(crate) struct SummaryRow<'s> {
    pub(crate) project_db_id: ProjectId,
    pub(crate) session_db_id: SessionId,
    pub(crate) turn_id: TurnId,
    pub(crate) distiller: &'s Distiller,
    pub(crate) summary: &'s NewSummary,
}

/// Inserts a summary, or updates the known one in place. Its time is that of the last event of its turn.
pub(crate) fn put(
    tx: &Transaction<'_>,
    known: Option<SummaryId>,
    row: &SummaryRow<'_>,
) -> rusqlite::Result<()> {
    const PUT: &str = "insert into summary (id, project_id, session_db_id, turn_id, request, investigated, learned,
            completed, next_steps, open_steps, files_read, files_edited, notes, distiller, created_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
            (select coalesce(max(at), turn.started_at) from turn left join event on event.turn_id = turn.id where turn.id = ?4))
        on conflict (id) do update set request = excluded.request, investigated = excluded.investigated,
            learned = excluded.learned, completed = excluded.completed, next_steps = excluded.next_steps,
            open_steps = excluded.open_steps, files_read = excluded.files_read, files_edited = excluded.files_edited,
            notes = excluded.notes, distiller = excluded.distiller, created_at = excluded.created_at
        returning id";
    let summary = row.summary;
    let values = params![
        known,
        row.project_db_id,
        row.session_db_id,
        row.turn_id,
        summary.request,
        summary.investigated,
        summary.learned,
        summary.completed,
        summary.next_steps,
        summary.open_steps.as_deref().map(json_list),
        json_list(&summary.files_read),
        json_list(&summary.files_edited),
        summary.notes,
        row.distiller
    ];
    let id: SummaryId = tx.row(PUT, values, |row| row.get("id"))?;
    documents::put(tx, id.into())
}

/// A summary that a distiller made before.
pub(crate) struct EarlierSummary {
    pub(crate) id: SummaryId,
    /// It was edited or pinned by the user, or a model made it: it stays.
    pub(crate) is_fixed: bool,
    pub(crate) digest: u64,
}

/// Reads the summaries of a session, by turn.
pub(crate) fn known(
    tx: &Transaction<'_>,
    session: SessionId,
) -> rusqlite::Result<HashMap<TurnId, EarlierSummary>> {
    const KNOWN: &str =
        "select id, turn_id, pinned <> 0 or edited_at is not null as is_users, distiller = ?2 as is_rules,
            request, investigated, learned, completed, next_steps, open_steps, files_read, files_edited, notes
        from summary where session_db_id = ?1 and distiller is not null
            and turn_id in (select id from turn where session_db_id = ?1 and log is not null and not forgotten)";
    const FIELDS: [&str; 9] = [
        "request",
        "investigated",
        "learned",
        "completed",
        "next_steps",
        "open_steps",
        "files_read",
        "files_edited",
        "notes",
    ];
    let rows = tx.rows(KNOWN, params![session, Distiller::Builtin], |row| {
        let mut texts: Vec<String> = Vec::with_capacity(FIELDS.len());
        for field in FIELDS {
            texts.push(row.get::<_, Option<String>>(field)?.unwrap_or_default());
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let known = EarlierSummary {
            id: row.get("id")?,
            is_fixed: row.get::<_, bool>("is_users")? || !row.get::<_, bool>("is_rules")?,
            digest: backstory_text::hash_fields(&texts),
        };
        Ok((row.get("turn_id")?, known))
    })?;
    Ok(rows.into_iter().collect())
}

/// Removes a summary.
pub(crate) fn remove(tx: &Transaction<'_>, id: SummaryId) -> rusqlite::Result<()> {
    tx.run("delete from summary where id = ?1", [id])?;
    record_change(tx, ChangeEvent::MemoryForgotten(id.into()))
}

/// Returns the hash by which a change of a summary shows.
pub(crate) fn digest(new: &NewSummary) -> u64 {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    backstory_text::hash_fields(&[
        &text(&new.request),
        &text(&new.investigated),
        &text(&new.learned),
        &text(&new.completed),
        &text(&new.next_steps),
        &text(&new.open_steps.as_deref().map(json_list)),
        &json_list(&new.files_read),
        &json_list(&new.files_edited),
        &text(&new.notes),
    ])
}
