//! The memories before and after a memory, in chronological order.

use std::cmp::Ordering;

use backstory_model::{Handle, MemoryKind, ProjectId, Timestamp};
use rusqlite::{Connection, params};

use crate::{
    Memory, Store, StoreError,
    memory::stored::{self, CHRONOLOGICAL, chronological_position},
    sql::Statements as _,
};

/// Holds one memory of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineEntry {
    /// The memory.
    pub memory: Memory,
    /// It is the memory that the timeline was requested for.
    pub is_anchor: bool,
}

/// Holds the number of memories on both sides of the anchor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimelineSpan {
    /// Before the anchor.
    pub before: u32,
    /// After the anchor.
    pub after: u32,
}

/// Holds the position of a memory in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    at: Timestamp,
    order: u8,
    id: i64,
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Store {
    /// Returns the memories of the anchor's project around the anchor, the oldest first; `None` if the anchor does not exist.
    /// Passages are included only if the anchor is one.
    pub fn timeline(
        &self,
        anchor: Handle,
        span: TimelineSpan,
    ) -> Result<Option<Vec<TimelineEntry>>, StoreError> {
        self.read("read the timeline of a memory", |connection| {
            let Some((project, at)) = project_and_time(connection, anchor)? else {
                return Ok(None);
            };
            let position = Position {
                at,
                order: chronological_position(anchor.kind),
                id: anchor.id,
            };
            let mut positions = vec![position];
            for (side, limit) in [(Side::Before, span.before), (Side::After, span.after)] {
                let mut found = neighbors(connection, anchor.kind, project, position, side, limit)?;
                found.sort_unstable();
                let limit = usize::try_from(limit).unwrap_or(usize::MAX);
                match side {
                    Side::Before => positions.extend(found.iter().rev().take(limit)),
                    Side::After => positions.extend(found.iter().take(limit)),
                }
            }
            positions.sort_unstable();
            let mut entries = Vec::with_capacity(positions.len());
            for Position { order, id, .. } in positions {
                let handle = Handle {
                    kind: CHRONOLOGICAL[usize::from(order)],
                    id,
                };
                let memory = stored::read(connection, handle)?;
                entries.extend(memory.map(|memory| TimelineEntry {
                    memory,
                    is_anchor: handle == anchor,
                }));
            }
            Ok(Some(entries))
        })
    }
}

/// Returns the project of a memory, absent if it applies everywhere, and its time.
fn project_and_time(
    connection: &Connection,
    handle: Handle,
) -> rusqlite::Result<Option<(Option<ProjectId>, Timestamp)>> {
    let sql = match handle.kind {
        MemoryKind::Observation => "select project_id, created_at as at from observation where id = ?1",
        MemoryKind::Team => "select project_id, created_at as at from team_memory where id = ?1",
        MemoryKind::Summary => "select project_id, created_at as at from summary where id = ?1",
        MemoryKind::Note => "select project_id, created_at as at from note where id = ?1",
        MemoryKind::Passage => "select project_id, created_at as at from passage where id = ?1",
        MemoryKind::Prompt => {
            "select project_id, turn.started_at as at from turn join session on session.id = session_db_id
            where turn.id = ?1 and prompt is not null"
        }
    };
    connection.optional_row(sql, [handle.id], |row| {
        Ok((row.get("project_id")?, row.get("at")?))
    })
}

/// Returns the nearest memories of each kind on one side of a position.
fn neighbors(
    connection: &Connection,
    anchor: MemoryKind,
    project: Option<ProjectId>,
    position: Position,
    side: Side,
    limit: u32,
) -> rusqlite::Result<Vec<Position>> {
    let mut found = Vec::new();
    for kind in CHRONOLOGICAL {
        if kind == MemoryKind::Passage && anchor != kind {
            continue;
        }
        let order = chronological_position(kind);
        // At the same time, kinds with a lower position come before the anchor, kinds with a higher one after it.
        let bound = match order.cmp(&position.order) {
            Ordering::Less => i64::MAX,
            Ordering::Equal => position.id,
            Ordering::Greater => -1,
        };
        let values = params![project, position.at, bound, limit];
        found.extend(connection.rows(one_side(kind, side), values, |row| {
            Ok(Position {
                at: row.get(0)?,
                order,
                id: row.get(1)?,
            })
        })?);
    }
    Ok(found)
}

/// Returns the statement for a kind and a side: time and id. Each uses the index of its table.
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
        (MemoryKind::Team, Side::Before) => {
            "select created_at, id from team_memory where project_id is ?1 and (created_at, id) < (?2, ?3)
                and quarantine is null order by created_at desc, id desc limit ?4"
        }
        (MemoryKind::Team, Side::After) => {
            "select created_at, id from team_memory where project_id is ?1 and (created_at, id) > (?2, ?3)
                and quarantine is null order by created_at, id limit ?4"
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
