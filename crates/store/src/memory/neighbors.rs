//! The memories that are connected with one: by supersession, by an error, by a file, and the turns that repeated it.

use backstory_model::{Handle, ObservationId, Timestamp};
use rusqlite::{Connection, params};

use crate::{Memory, Store, StoreError, memory::stored, sql::Statements as _};

/// The most memories of each relation.
const MAX_RELATED: u32 = 5;

/// Names a relation between two memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryRelation {
    /// The other one replaced it.
    SupersededBy,
    /// It replaced the other one.
    Supersedes,
    /// Both are about the same error.
    SameError,
    /// Both changed the same file.
    SameFile,
}

/// Holds a connected memory.
#[derive(Clone, Debug)]
pub struct RelatedMemory {
    /// The relation.
    pub relation: MemoryRelation,
    /// The other memory.
    pub memory: Memory,
}

/// Holds a turn that came to the same result again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The agent's id of the session.
    pub session_id: String,
    /// The number of the turn.
    pub turn: i64,
    /// The time.
    pub at: Timestamp,
}

/// Both memories changed the file: memories that only read it are many and say little.
const SAME_FILE: &str = "select other.observation_id as id from observation_file as own
        cross join observation_file as other indexed by observation_file_by_path on other.path = own.path
        cross join observation on observation.id = other.observation_id
    where own.observation_id = ?1 and own.modified = 1 and other.modified = 1 and other.observation_id <> ?1
        and observation.project_id = (select project_id from observation where id = ?1)
    group by other.observation_id order by other.observation_id desc limit ?2";

const SAME_ERROR: &str = "select other.id as id from observation as own
        cross join observation as other indexed by observation_by_error
            on other.project_id = own.project_id and other.error_signature = own.error_signature
    where own.id = ?1 and own.error_signature is not null and other.id <> ?1 order by other.created_at desc limit ?2";

const SUPERSEDES: &str = "select id from observation indexed by observation_superseding
    where superseded_by = ?1 order by created_at desc limit ?2";

const SUPERSEDED_BY: &str =
    "select superseded_by as id from observation where id = ?1 and superseded_by is not null limit ?2";

impl Store {
    /// Returns the memories that are connected with an observation. Each is listed once, with its closest relation.
    pub fn related_memories(&self, id: ObservationId) -> Result<Vec<RelatedMemory>, StoreError> {
        self.read("look for related memories", |connection| {
            let mut related: Vec<RelatedMemory> = Vec::new();
            for (relation, sql) in [
                (MemoryRelation::SupersededBy, SUPERSEDED_BY),
                (MemoryRelation::Supersedes, SUPERSEDES),
                (MemoryRelation::SameError, SAME_ERROR),
                (MemoryRelation::SameFile, SAME_FILE),
            ] {
                for memory in read_all(connection, sql, id)? {
                    if related.iter().all(|known| known.memory.handle != memory.handle) {
                        related.push(RelatedMemory { relation, memory });
                    }
                }
            }
            Ok(related)
        })
    }

    /// Returns the turns that repeated an observation, the latest first.
    pub fn sightings(&self, id: ObservationId) -> Result<Vec<Sighting>, StoreError> {
        const SIGHTINGS: &str = "select session.session_id as session_id, turn.number as number, at
            from sighting cross join turn on turn.id = sighting.turn_id
                cross join session on session.id = turn.session_db_id
            where observation_id = ?1 order by at desc limit 10";
        self.read("look for repetitions", |connection| {
            connection.rows(SIGHTINGS, [id], |row| {
                Ok(Sighting {
                    session_id: row.get("session_id")?,
                    turn: row.get("number")?,
                    at: row.get("at")?,
                })
            })
        })
    }
}

fn read_all(connection: &Connection, sql: &str, id: ObservationId) -> rusqlite::Result<Vec<Memory>> {
    let ids: Vec<ObservationId> = connection.rows(sql, params![id, MAX_RELATED], |row| row.get("id"))?;
    let mut memories = Vec::new();
    for id in ids {
        memories.extend(stored::read(connection, Handle::from(id))?);
    }
    Ok(memories)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{scans, store_with_turn};

    #[test]
    fn related_memories_are_found_by_index() {
        let store = store_with_turn();
        for sql in [SAME_FILE, SAME_ERROR, SUPERSEDES, SUPERSEDED_BY] {
            assert_eq!(scans(&store, sql), Vec::<String>::new(), "{sql}");
        }
    }

    #[test]
    fn each_memory_is_related_once_and_most_closely() {
        let store = store_with_turn();
        store
            .connection
            .execute_batch(
                "insert into observation (id, project_id, type, title, error_signature, superseded_by, created_at, last_seen_at)
                values (1, 1, 'bugfix', 'this', 'E1', null, 30, 30), (2, 1, 'bugfix', 'older', 'E1', 1, 10, 10),
                    (3, 1, 'bugfix', 'same error', 'E1', null, 20, 20), (4, 1, 'change', 'same file', null, null, 40, 40),
                    (5, 1, 'change', 'only read it', null, null, 50, 50);
                insert into observation_file (observation_id, path, modified)
                values (1, 'a.rs', 1), (2, 'a.rs', 1), (4, 'a.rs', 1), (5, 'a.rs', 0);",
            )
            .unwrap();
        let related = store.related_memories(ObservationId::new(1)).unwrap();
        let found: Vec<(MemoryRelation, i64)> = related
            .iter()
            .map(|related| (related.relation, related.memory.handle.id))
            .collect();
        assert_eq!(
            found,
            [
                (MemoryRelation::Supersedes, 2),
                (MemoryRelation::SameError, 3),
                (MemoryRelation::SameFile, 4)
            ]
        );
        let back = store.related_memories(ObservationId::new(2)).unwrap();
        assert_eq!(back[0].relation, MemoryRelation::SupersededBy);
    }
}
