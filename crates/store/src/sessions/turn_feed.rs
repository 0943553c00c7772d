//! The latest turns with what came of them, and memories that belong to no turn.
//!
//! A turn takes the place of its latest memory, so that a page never shows a turn that an earlier page has shown.

use std::collections::{BTreeSet, HashSet};

use backstory_model::{Handle, MemoryKind, ObservationId, SummaryId, TurnId};
use rusqlite::{Connection, params};

use super::{TURN_COLUMNS, read_turn};
use crate::{
    Filter, Memory, PageCursor, Project, Store, StoreError, Turn, memory::stored, search::pages::latest,
    sql::Statements as _,
};

/// The kinds of memories that put a turn into the list.
const KINDS: [MemoryKind; 4] = [
    MemoryKind::Prompt,
    MemoryKind::Observation,
    MemoryKind::Summary,
    MemoryKind::Note,
];

/// Memories looked at in one step, and the most steps of a page: turns with very many memories may make a page shorter.
const STEP: usize = 120;
const MAX_STEPS: usize = 4;

/// The most observations that are read of one turn.
const MAX_OBSERVATIONS: u32 = 12;

/// Holds a turn with what came of it.
#[derive(Clone, Debug)]
pub struct TurnCard {
    /// The turn.
    pub turn: Turn,
    /// The agent's id of the session.
    pub session_id: String,
    /// The agent program.
    pub host: String,
    /// The display name of the project.
    pub project: String,
    /// The key of the project.
    pub project_id: String,
    /// The first observations, in order.
    pub observations: Vec<Memory>,
    /// The number of all observations.
    pub observation_count: u64,
    /// The last summary.
    pub summary: Option<Memory>,
    /// The changed files, in alphabetical order.
    pub files: Vec<String>,
}

/// Holds one entry of the list.
#[derive(Clone, Debug)]
pub enum FeedEntry {
    /// A turn.
    Turn(Box<TurnCard>),
    /// A note or an imported memory.
    Memory(Box<Memory>),
}

/// Holds one page of entries.
#[derive(Clone, Debug, Default)]
pub struct FeedPage {
    /// The entries, the latest first.
    pub entries: Vec<FeedEntry>,
    /// The cursor of the next page; absent on the last one.
    pub next: Option<PageCursor>,
}

impl Store {
    /// Lists the latest turns, and memories without a turn, of one project or of all.
    pub fn turn_feed(
        &self,
        project: Option<&Project>,
        after: Option<PageCursor>,
        limit: usize,
    ) -> Result<FeedPage, StoreError> {
        self.read("list the latest turns", |connection| {
            let mut page = FeedPage::default();
            let mut seen: HashSet<TurnId> = HashSet::new();
            let mut cursor = after;
            for _ in 0..MAX_STEPS {
                let found = latest(connection, &KINDS, project, &Filter::default(), cursor, STEP)?;
                for place in &found {
                    if page.entries.len() == limit {
                        page.next = cursor;
                        return Ok(page);
                    }
                    cursor = Some(*place);
                    match turn_of(connection, place.handle())? {
                        None => {
                            let memory = stored::read(connection, place.handle())?;
                            page.entries
                                .extend(memory.map(|memory| FeedEntry::Memory(Box::new(memory))));
                        }
                        Some(turn) if !seen.insert(turn) => {}
                        Some(turn) => {
                            if !is_shown_before(connection, turn, after)? {
                                let card = card(connection, turn)?;
                                page.entries
                                    .extend(card.map(|card| FeedEntry::Turn(Box::new(card))));
                            }
                        }
                    }
                }
                if found.len() < STEP {
                    return Ok(page);
                }
            }
            page.next = cursor;
            Ok(page)
        })
    }

    /// Returns the turn of a memory; `None` if it has none or does not exist.
    pub fn turn_of(&self, handle: Handle) -> Result<Option<TurnId>, StoreError> {
        self.read("look for the turn of a memory", |connection| {
            turn_of(connection, handle)
        })
    }
}

fn turn_of(connection: &Connection, handle: Handle) -> rusqlite::Result<Option<TurnId>> {
    let sql = match handle.kind {
        MemoryKind::Prompt => return Ok(Some(TurnId::new(handle.id))),
        MemoryKind::Observation => "select turn_id from observation where id = ?1",
        MemoryKind::Summary => "select turn_id from summary where id = ?1",
        MemoryKind::Passage => "select turn_id from passage where id = ?1",
        MemoryKind::Note | MemoryKind::Team => return Ok(None),
    };
    Ok(connection
        .optional_row(sql, [handle.id], |row| row.get("turn_id"))?
        .flatten())
}

/// Returns true if a memory of the turn comes before the start of the page.
fn is_shown_before(
    connection: &Connection,
    turn: TurnId,
    after: Option<PageCursor>,
) -> rusqlite::Result<bool> {
    // The constants are the ranks of the kinds in lists.
    const BEFORE: &str = "select 1 from turn where id = ?1 and prompt <> '' and machine_made = 0
            and (started_at, 0, id) >= (?2, ?3, ?4)
        union all select 1 from observation where turn_id = ?1 and (created_at, 2, id) >= (?2, ?3, ?4)
        union all select 1 from summary where turn_id = ?1 and (created_at, 3, id) >= (?2, ?3, ?4)";
    let Some(after) = after else { return Ok(false) };
    let (at, rank, id) = after.key();
    connection.has_row(BEFORE, params![turn, at, rank, id])
}

fn card(connection: &Connection, turn: TurnId) -> rusqlite::Result<Option<TurnCard>> {
    const OWNER: &str =
        "select session.session_id as session_id, host, project.name as project, project.key as project_id
        from turn join session on session.id = turn.session_db_id join project on project.id = session.project_id
        where turn.id = ?1";
    const OBSERVATIONS: &str = "select id from observation where turn_id = ?1 order by id limit ?2";
    const COUNT: &str = "select count(*) from observation where turn_id = ?1";
    const SUMMARY: &str =
        "select id from summary where turn_id = ?1 order by created_at desc, id desc limit 1";
    let sql = format!("{TURN_COLUMNS} where id = ?1");
    let Some(found) = connection.optional_row(&sql, [turn], read_turn)? else {
        return Ok(None);
    };
    let mut observations = Vec::new();
    let ids: Vec<ObservationId> =
        connection.rows(OBSERVATIONS, params![turn, MAX_OBSERVATIONS], |row| row.get("id"))?;
    for id in ids {
        observations.extend(stored::read(connection, Handle::from(id))?);
    }
    let summary: Option<SummaryId> = connection.optional_row(SUMMARY, [turn], |row| row.get("id"))?;
    let summary = match summary {
        Some(id) => stored::read(connection, Handle::from(id))?,
        None => None,
    };
    let edited = summary.iter().flat_map(|summary| &summary.record.files_edited);
    let files: BTreeSet<&String> = observations
        .iter()
        .flat_map(|memory| &memory.record.files_modified)
        .chain(edited)
        .collect();
    let files = files.into_iter().cloned().collect();
    let observation_count = connection.row(COUNT, [turn], |row| row.get(0))?;
    connection.optional_row(OWNER, [turn], |row| {
        Ok(TurnCard {
            turn: found,
            session_id: row.get("session_id")?,
            host: row.get("host")?,
            project: row.get("project")?,
            project_id: row.get("project_id")?,
            observations,
            observation_count,
            summary,
            files,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::store_with_turn;

    /// Four turns of one session, each with an observation at its end; a note between the second and the third.
    fn store() -> Store {
        let store = store_with_turn();
        store
            .connection
            .execute_batch(
                "delete from turn;
                insert into turn (id, session_db_id, number, prompt, started_at, ended_at)
                values (1, 1, 1, 'one', 100, 190), (2, 1, 2, 'two', 200, 290), (3, 1, 3, 'three', 300, 390),
                    (4, 1, 4, 'four', 400, 490);
                insert into observation (project_id, session_db_id, turn_id, type, title, files_modified, created_at, last_seen_at)
                values (1, 1, 1, 'change', 'a', '[\"x.rs\"]', 180, 180), (1, 1, 2, 'change', 'b', '[]', 280, 280),
                    (1, 1, 2, 'change', 'b2', '[]', 285, 285), (1, 1, 3, 'change', 'c', '[]', 380, 380),
                    (1, 1, 4, 'change', 'd', '[]', 480, 480);
                insert into summary (project_id, session_db_id, turn_id, request, files_edited, created_at)
                values (1, 1, 1, 'one', '[\"y.rs\"]', 185);
                insert into note (project_id, text, created_at) values (1, 'note', 295);",
            )
            .unwrap();
        store
    }

    fn names(page: &FeedPage) -> Vec<String> {
        let name = |entry: &FeedEntry| match entry {
            FeedEntry::Turn(card) => card.turn.prompt.clone().unwrap(),
            FeedEntry::Memory(memory) => memory.record.headline().to_owned(),
        };
        page.entries.iter().map(name).collect()
    }

    #[test]
    fn a_turn_is_listed_once_with_what_came_of_it() {
        let store = store();
        let page = store.turn_feed(None, None, 10).unwrap();
        assert_eq!(names(&page), ["four", "three", "note", "two", "one"]);
        assert!(page.next.is_none());
        let Some(FeedEntry::Turn(first)) = page.entries.last() else {
            panic!("a turn");
        };
        assert_eq!(first.files, ["x.rs", "y.rs"]);
        assert_eq!((first.observations.len(), first.observation_count), (1, 1));
        assert!(first.summary.is_some());
    }

    /// Pages of every size show the same entries as one page.
    #[test]
    fn no_turn_is_repeated_or_lost_between_pages() {
        let store = store();
        for size in 1..6 {
            let (mut all, mut after) = (Vec::new(), None);
            loop {
                let page = store.turn_feed(None, after, size).unwrap();
                all.extend(names(&page));
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(all, ["four", "three", "note", "two", "one"], "{size} per page");
        }
    }
}
