//! What happened around a memory, in the order of time.

use backstory_model::{Handle, MemoryKind, ProjectId, Timestamp};
use rusqlite::{OptionalExtension, Row, params};

use crate::{MemoryRecord, Store, StoreError, schema::open::query, transfer::export};

/// A moment of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    /// What names it.
    pub handle: Handle,
    /// What it says.
    pub line: MemoryRecord,
    /// Whether it is the one that was asked for.
    pub is_anchor: bool,
}

/// Kinds in the order in which a turn brings them forth: it decides where times are the same.
const ORDER: [MemoryKind; 5] = [
    MemoryKind::Prompt,
    MemoryKind::Passage,
    MemoryKind::Observation,
    MemoryKind::Summary,
    MemoryKind::Note,
];

/// Where a memory stands in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TimelineAnchor {
    at: Timestamp,
    order: usize,
    id: i64,
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Store {
    /// Returns what happened in the project of a memory before and after it, the oldest first. Passages are among it only
    /// if the memory is one. `None` when there is no such memory.
    pub fn timeline(
        &self,
        anchor: Handle,
        before: u32,
        after: u32,
    ) -> Result<Option<Vec<TimelineEntry>>, StoreError> {
        let attempt = query("read what happened around a memory");
        let Some((project, at)) = self.where_and_when(anchor).map_err(attempt)? else {
            return Ok(None);
        };
        let place = TimelineAnchor {
            at,
            order: order(anchor.kind),
            id: anchor.id,
        };
        let mut places = vec![place];
        for (side, wanted) in [(Side::Before, before), (Side::After, after)] {
            let mut found = self
                .neighbors(anchor.kind, project, place, side, wanted)
                .map_err(attempt)?;
            found.sort_unstable();
            let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
            match side {
                Side::Before => places.extend(found.iter().rev().take(wanted)),
                Side::After => places.extend(found.iter().take(wanted)),
            }
        }
        places.sort_unstable();
        let mut moments = Vec::with_capacity(places.len());
        for TimelineAnchor { order, id, .. } in places {
            let handle = Handle {
                kind: ORDER[order],
                id,
            };
            if let Some(line) = export::read(&self.connection, handle).map_err(attempt)? {
                moments.push(TimelineEntry {
                    handle,
                    line,
                    is_anchor: handle == anchor,
                });
            }
        }
        Ok(Some(moments))
    }

    /// The project of a memory, absent when it holds everywhere, and its time.
    fn where_and_when(&self, handle: Handle) -> rusqlite::Result<Option<(Option<ProjectId>, Timestamp)>> {
        let sql = match handle.kind {
            MemoryKind::Observation => "select project_id, created_at from observation where id = ?1",
            MemoryKind::Summary => "select project_id, created_at from summary where id = ?1",
            MemoryKind::Note => "select project_id, created_at from note where id = ?1",
            MemoryKind::Passage => "select project_id, created_at from passage where id = ?1",
            MemoryKind::Prompt => {
                "select project_id, turn.started_at from turn join session on session.id = session_db_id
                where turn.id = ?1 and prompt is not null"
            }
        };
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        self.connection
            .prepare_cached(sql)?
            .query_row([handle.id], read)
            .optional()
    }

    /// Up to so many of each kind on one side of a place.
    fn neighbors(
        &self,
        anchor: MemoryKind,
        project: Option<ProjectId>,
        place: TimelineAnchor,
        side: Side,
        wanted: u32,
    ) -> rusqlite::Result<Vec<TimelineAnchor>> {
        let mut found = Vec::new();
        for (order, kind) in ORDER.into_iter().enumerate() {
            if kind == MemoryKind::Passage && anchor != kind {
                continue;
            }
            // At the same time, kinds that come first are before, those that come later after.
            let bound = match order.cmp(&place.order) {
                std::cmp::Ordering::Less => i64::MAX,
                std::cmp::Ordering::Equal => place.id,
                std::cmp::Ordering::Greater => -1,
            };
            let mut statement = self.connection.prepare_cached(one_side(kind, side))?;
            let rows = statement.query_map(params![project, place.at, bound, wanted], |row| {
                Ok(TimelineAnchor {
                    at: row.get(0)?,
                    order,
                    id: row.get(1)?,
                })
            })?;
            for row in rows {
                found.push(row?);
            }
        }
        Ok(found)
    }
}

fn order(kind: MemoryKind) -> usize {
    ORDER.iter().position(|one| *one == kind).unwrap_or_default()
}

/// Written out rather than put together: each must use the index of its table.
fn one_side(kind: MemoryKind, side: Side) -> &'static str {
    match (kind, side) {
        (MemoryKind::Observation, Side::Before) => {
            "select created_at, id from observation where project_id is ?1 and (created_at, id) < (?2, ?3)
            order by created_at desc, id desc limit ?4"
        }
        (MemoryKind::Observation, Side::After) => {
            "select created_at, id from observation where project_id is ?1 and (created_at, id) > (?2, ?3)
            order by created_at, id limit ?4"
        }
        (MemoryKind::Summary, Side::Before) => {
            "select created_at, id from summary where project_id is ?1 and (created_at, id) < (?2, ?3)
            order by created_at desc, id desc limit ?4"
        }
        (MemoryKind::Summary, Side::After) => {
            "select created_at, id from summary where project_id is ?1 and (created_at, id) > (?2, ?3)
            order by created_at, id limit ?4"
        }
        (MemoryKind::Note, Side::Before) => {
            "select created_at, id from note where project_id is ?1 and (created_at, id) < (?2, ?3)
            order by created_at desc, id desc limit ?4"
        }
        (MemoryKind::Note, Side::After) => {
            "select created_at, id from note where project_id is ?1 and (created_at, id) > (?2, ?3)
            order by created_at, id limit ?4"
        }
        (MemoryKind::Passage, Side::Before) => {
            "select created_at, id from passage where project_id is ?1 and (created_at, id) < (?2, ?3)
            order by created_at desc, id desc limit ?4"
        }
        (MemoryKind::Passage, Side::After) => {
            "select created_at, id from passage where project_id is ?1 and (created_at, id) > (?2, ?3)
            order by created_at, id limit ?4"
        }
        (MemoryKind::Prompt, Side::Before) => {
            "select turn.started_at, turn.id from session join turn on session_db_id = session.id
            where project_id is ?1 and prompt <> '' and machine_made = 0 and (turn.started_at, turn.id) < (?2, ?3)
            order by turn.started_at desc, turn.id desc limit ?4"
        }
        (MemoryKind::Prompt, Side::After) => {
            "select turn.started_at, turn.id from session join turn on session_db_id = session.id
            where project_id is ?1 and prompt <> '' and machine_made = 0 and (turn.started_at, turn.id) > (?2, ?3)
            order by turn.started_at, turn.id limit ?4"
        }
    }
}
