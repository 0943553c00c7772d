//! Memories in lists, the latest first, a page at a time.

use std::{fmt, str::FromStr};

use backstory_model::{Handle, MemoryKind, Timestamp};
use rusqlite::params;

use crate::{
    Filter, MemoryRecord, ParseCursorError, Project, Store, StoreError, schema::open::query, transfer::export,
};

/// Where a page ends: what comes next is older.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageCursor {
    at: Timestamp,
    order: u8,
    id: i64,
}

/// Some memories and where to go on.
#[derive(Clone, Debug)]
pub struct Page {
    /// The memories, the latest first.
    pub memories: Vec<(Handle, MemoryRecord)>,
    /// Where the next page begins; absent on the last.
    pub next: Option<PageCursor>,
}

/// Kinds in the order in which a turn brings them forth: it decides where times are the same.
const ORDER: [MemoryKind; 5] = [
    MemoryKind::Prompt,
    MemoryKind::Passage,
    MemoryKind::Observation,
    MemoryKind::Summary,
    MemoryKind::Note,
];

impl Store {
    /// Returns the latest memories of some kinds that pass, of one project or of all.
    pub fn page(
        &self,
        kinds: &[MemoryKind],
        project: Option<&Project>,
        filter: &Filter,
        after: Option<PageCursor>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let attempt = query("list memories");
        let mut found: Vec<PageCursor> = Vec::new();
        for &kind in kinds {
            if filter.kind.is_none_or(|wanted| wanted == kind) {
                let wanted = i64::try_from(limit).unwrap_or(i64::MAX - 1) + 1;
                found.extend(
                    self.places(kind, project, filter, after, wanted)
                        .map_err(attempt)?,
                );
            }
        }
        found.sort_unstable_by(|one, other| other.cmp(one));
        let next = (found.len() > limit).then(|| limit.checked_sub(1).map(|last| found[last]));
        let mut memories = Vec::with_capacity(limit.min(found.len()));
        for place in found.into_iter().take(limit) {
            let handle = Handle {
                kind: ORDER[usize::from(place.order)],
                id: place.id,
            };
            if let Some(line) = export::read(&self.connection, handle).map_err(attempt)? {
                memories.push((handle, line));
            }
        }
        Ok(Page {
            memories,
            next: next.flatten(),
        })
    }

    fn places(
        &self,
        kind: MemoryKind,
        project: Option<&Project>,
        filter: &Filter,
        after: Option<PageCursor>,
        limit: i64,
    ) -> rusqlite::Result<Vec<PageCursor>> {
        let escaped = |text: &str| text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
        let file = filter.file.as_deref().map(|file| file.trim_start_matches("./"));
        let order = order(kind);
        // Where times are the same, kinds come in their order: before, at or behind the memory that the last page ended with.
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
                .map(|session| format!("{}%", escaped(session))),
            filter.observation_type.map(|one| one.name()),
            filter.concept,
            file,
            file.map(|file| format!("%/{}", escaped(file))),
        ];
        let mut statement = self.connection.prepare_cached(&sql(kind, project.is_some()))?;
        let rows = statement.query_map(values, |row| {
            Ok(PageCursor {
                at: row.get(0)?,
                order,
                id: row.get(1)?,
            })
        })?;
        rows.collect()
    }
}

fn order(kind: MemoryKind) -> u8 {
    let place = ORDER.iter().position(|one| *one == kind).unwrap_or_default();
    u8::try_from(place).unwrap_or_default()
}

/// Returns the statement that lists a kind. All parameters have the same numbers everywhere; what a kind does not have
/// passes only when it is not asked for.
fn sql(kind: MemoryKind, in_project: bool) -> String {
    const OBSERVATION: &str = "(?8 is null or memory.type = ?8)
        and (?9 is null or exists (select 1 from json_each(memory.concepts) where value = ?9))
        and (?10 is null or exists (select 1 from observation_file as file where file.observation_id = memory.id
            and (file.path = ?10 or file.path like ?11 escape '\\')))";
    const SUMMARY: &str = "?8 is null and ?9 is null and (?10 is null or exists (
            select 1 from json_each(memory.files_edited) where value = ?10 or value like ?11 escape '\\'))";
    const NOTE: &str = "(?8 is null or memory.type = ?8) and ?9 is null and (?10 is null or exists (
            select 1 from json_each(memory.files) where value = ?10 or value like ?11 escape '\\'))";
    const PASSAGE: &str = "?8 is null and ?9 is null and ?10 is null and ?11 is null";
    const PROMPT: &str = "memory.prompt <> '' and memory.machine_made = 0
        and ?8 is null and ?9 is null and ?10 is null and ?11 is null";
    let (table, time, own) = match kind {
        MemoryKind::Observation => ("observation", "created_at", OBSERVATION),
        MemoryKind::Summary => ("summary", "created_at", SUMMARY),
        MemoryKind::Note => ("note", "created_at", NOTE),
        MemoryKind::Passage => ("passage", "created_at", PASSAGE),
        MemoryKind::Prompt => ("turn", "started_at", PROMPT),
    };
    let (index, project) = match (kind, in_project) {
        (MemoryKind::Prompt, true) => ("indexed by turn_by_time".to_owned(), "session.project_id = ?1"),
        (_, true) => (format!("indexed by {table}_by_project"), "memory.project_id = ?1"),
        // There are few notes.
        (MemoryKind::Note, false) => (String::new(), "?1 is null"),
        (_, false) => (format!("indexed by {table}_by_time"), "?1 is null"),
    };
    format!(
        "select memory.{time}, memory.id from {table} as memory {index}
            left join session on session.id = memory.session_db_id
        where {project} and (memory.{time}, memory.id) < (?2, ?3)
            and (?5 is null or memory.{time} >= ?5) and (?6 is null or memory.{time} <= ?6)
            and (?7 is null or session.session_id like ?7 escape '\\') and {own}
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
            (usize::from(order) < ORDER.len()).then_some(Self { at, order, id })
        };
        read().ok_or_else(|| ParseCursorError::new(text))
    }
}
