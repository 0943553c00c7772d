//! Rows of summaries.

use backstory_model::{Distiller, NewSummary, ProjectId, SessionId, SummaryId, TurnId};
use rusqlite::{Transaction, params};

use crate::{
    memory::documents,
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
pub(crate) fn put_summary(
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
