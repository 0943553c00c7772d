//! Lists of memories, the latest first, one page at a time.

use std::{fmt, str::FromStr};

use backstory_model::{Handle, MemoryKind, Timestamp};
use rusqlite::{Connection, params};

use crate::{
    Filter, Memory, ParseCursorError, Project, Store, StoreError,
    memory::stored::{self, CHRONOLOGICAL, chronological_position},
    sql::{Statements as _, escape_like},
};

/// Marks the end of a page: the next page has older memories. Clients pass it back as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageCursor {
    at: Timestamp,
    order: u8,
    id: i64,
}

impl PageCursor {
    /// Returns the memory at this place.
    pub(crate) fn handle(self) -> Handle {
        Handle {
            kind: CHRONOLOGICAL[usize::from(self.order)],
            id: self.id,
        }
    }

    /// Returns time, rank of the kind and id, by which lists are ordered.
    pub(crate) const fn key(self) -> (Timestamp, u8, i64) {
        (self.at, self.order, self.id)
    }
}

/// Holds one page.
#[derive(Clone, Debug)]
pub struct Page {
    /// The memories, the latest first.
    pub memories: Vec<Memory>,
    /// The cursor of the next page; absent on the last one.
    pub next: Option<PageCursor>,
}

impl Store {
    /// Returns the latest memories of some kinds that pass a filter, of one project or of all.
    pub fn page(
        &self,
        kinds: &[MemoryKind],
        project: Option<&Project>,
        filter: &Filter,
        after: Option<PageCursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        self.read("list memories", |connection| {
            let found = latest(connection, kinds, project, filter, after, limit + 1)?;
            let next = (found.len() > limit).then(|| limit.checked_sub(1).map(|last| found[last]));
            let mut memories = Vec::with_capacity(limit.min(found.len()));
            for row in found.into_iter().take(limit) {
                memories.extend(stored::read(connection, row.handle())?);
            }
            Ok(Page {
                memories,
                next: next.flatten(),
            })
        })
    }
}

/// Returns the places of at most `limit` memories, the latest first.
pub(crate) fn latest(
    connection: &Connection,
    kinds: &[MemoryKind],
    project: Option<&Project>,
    filter: &Filter,
    after: Option<PageCursor>,
    limit: usize,
) -> rusqlite::Result<Vec<PageCursor>> {
    let mut found: Vec<PageCursor> = Vec::new();
    for &kind in kinds {
        if filter.kind.is_none_or(|wanted| wanted == kind) {
            let most = i64::try_from(limit).unwrap_or(i64::MAX);
            found.extend(candidates(connection, kind, project, filter, after, most)?);
        }
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.truncate(limit);
    Ok(found)
}

fn candidates(
    connection: &Connection,
    kind: MemoryKind,
    project: Option<&Project>,
    filter: &Filter,
    after: Option<PageCursor>,
    limit: i64,
) -> rusqlite::Result<Vec<PageCursor>> {
    let file = filter.file.as_deref().map(|file| file.trim_start_matches("./"));
    let order = chronological_position(kind);
    // At the time of the cursor, a kind that sorts before the cursor's kind is still to come, one that sorts after it is not.
    let (at, id) = match after {
        None => (Timestamp::MAX, i64::MAX),
        Some(after) if order < after.order => (after.at, i64::MAX),
        Some(after) if order == after.order => (after.at, after.id),
        Some(after) => (after.at, i64::MIN),
    };
    let values = params![
        project.map(|project| project.db_id),
        at,
        id,
        limit,
        filter.since,
        filter.until,
        filter
            .session
            .as_deref()
            .map(|session| format!("{}%", escape_like(session))),
        filter.observation_type,
        filter.concept,
        file,
        file.map(|file| format!("%/{}", escape_like(file))),
        filter.branch,
    ];
    connection.rows(&sql(kind, project.is_some()), values, |row| {
        Ok(PageCursor {
            at: row.get("at")?,
            order,
            id: row.get("id")?,
        })
    })
}

/// Returns the statement that lists a kind. Parameters have the same numbers for all kinds. A filter on a field that the kind
/// does not have matches nothing.
fn sql(kind: MemoryKind, in_project: bool) -> String {
    const OBSERVATION: &str = "(?8 is null or memory.type = ?8)
        and (?9 is null or exists (select 1 from json_each(memory.concepts) where value = ?9))
        and (?10 is null or exists (select 1 from observation_file as file where file.observation_id = memory.id
            and (file.path = ?10 or file.path like ?11 escape '\\')))";
    const SUMMARY: &str = "?8 is null and ?9 is null and (?10 is null or exists (
            select 1 from json_each(memory.files_edited) where value = ?10 or value like ?11 escape '\\'))";
    const NOTE: &str = "(?8 is null or memory.type = ?8) and ?9 is null and (?10 is null or exists (
            select 1 from json_each(memory.files) where value = ?10 or value like ?11 escape '\\'))";
    const TEAM: &str = "memory.quarantine is null and (?8 is null or memory.type = ?8)
        and (?9 is null or exists (select 1 from json_each(memory.concepts) where value = ?9))
        and (?10 is null or exists (select 1 from team_memory_file as file where file.team_memory_id = memory.id
            and (file.path = ?10 or file.path like ?11 escape '\\')))";
    const PASSAGE: &str = "?8 is null and ?9 is null and ?10 is null and ?11 is null";
    const PROMPT: &str = "memory.prompt <> '' and memory.machine_made = 0
        and ?8 is null and ?9 is null and ?10 is null and ?11 is null";
    let (table, time, own) = match kind {
        MemoryKind::Observation => ("observation", "created_at", OBSERVATION),
        MemoryKind::Team => ("team_memory", "created_at", TEAM),
        MemoryKind::Summary => ("summary", "created_at", SUMMARY),
        MemoryKind::Note => ("note", "created_at", NOTE),
        MemoryKind::Passage => ("passage", "created_at", PASSAGE),
        MemoryKind::Prompt => ("turn", "started_at", PROMPT),
    };
    let (index, project) = match (kind, in_project) {
        (MemoryKind::Prompt, true) => ("indexed by turn_by_time".to_owned(), "session.project_id = ?1"),
        // A scan: there are few notes. Some are for all projects.
        (MemoryKind::Note, true) => (
            String::new(),
            "(memory.project_id = ?1 or memory.project_id is null)",
        ),
        (_, true) => (format!("indexed by {table}_by_project"), "memory.project_id = ?1"),
        // A scan: there are few notes.
        (MemoryKind::Note, false) => (String::new(), "?1 is null"),
        (_, false) => (format!("indexed by {table}_by_time"), "?1 is null"),
    };
    let session = if kind == MemoryKind::Team {
        "null"
    } else {
        "memory.session_db_id"
    };
    format!(
        "select memory.{time} as at, memory.id as id from {table} as memory {index}
            left join session on session.id = {session}
        where {project} and (memory.{time}, memory.id) < (?2, ?3)
            and (?5 is null or memory.{time} >= ?5) and (?6 is null or memory.{time} <= ?6)
            and (?7 is null or session.session_id like ?7 escape '\\')
            and (?12 is null or session.branch = ?12) and {own}
        order by memory.{time} desc, memory.id desc limit ?4"
    )
}

impl fmt::Display for PageCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.at.as_millis(), self.order, self.id)
    }
}

impl FromStr for PageCursor {
    type Err = ParseCursorError;

    fn from_str(text: &str) -> Result<Self, ParseCursorError> {
        let read = || {
            let mut parts = text.rsplitn(3, '-');
            let id = parts.next()?.parse().ok()?;
            let order: u8 = parts.next()?.parse().ok()?;
            let at = Timestamp::from_millis(parts.next()?.parse().ok()?);
            (usize::from(order) < CHRONOLOGICAL.len()).then_some(Self { at, order, id })
        };
        read().ok_or_else(|| ParseCursorError::new(text))
    }
}
