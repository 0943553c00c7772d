//! How much is remembered.

use std::collections::BTreeMap;

use backstory_model::{MemoryKind, ObservationType};

use crate::{Store, StoreError, schema::open::query};

/// How much is remembered of what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Memories, by kind.
    pub memories: BTreeMap<MemoryKind, u64>,
    /// Observations, by type, in the order in which types are shown.
    pub types: BTreeMap<ObservationType, u64>,
    /// Projects.
    pub projects: u64,
    /// Sessions.
    pub sessions: u64,
    /// Observations and summaries that a model wrote.
    pub by_model: u64,
}

impl Store {
    /// Counts what is remembered.
    pub fn counts(&self) -> Result<Counts, StoreError> {
        const TABLES: &str = "select (select count(*) from project), (select count(*) from session),
            (select count(*) from observation where distiller <> 'builtin')
                + (select count(*) from summary where distiller <> 'builtin')";
        const KINDS: [(MemoryKind, &str); 5] = [
            (MemoryKind::Note, "select count(*) from note"),
            (MemoryKind::Observation, "select count(*) from observation"),
            (MemoryKind::Summary, "select count(*) from summary"),
            (
                MemoryKind::Prompt,
                "select count(*) from turn where prompt is not null and machine_made = 0",
            ),
            (MemoryKind::Passage, "select count(*) from passage"),
        ];
        const TYPES: &str = "select type, count(*) from observation group by type";
        let attempt = query("count what is remembered");
        let run = || -> rusqlite::Result<Counts> {
            let mut counts = self.connection.query_row(TABLES, [], |row| {
                Ok(Counts {
                    projects: row.get(0)?,
                    sessions: row.get(1)?,
                    by_model: row.get(2)?,
                    ..Counts::default()
                })
            })?;
            for (kind, sql) in KINDS {
                let count = self.connection.query_row(sql, [], |row| row.get(0))?;
                counts.memories.insert(kind, count);
            }
            let mut statement = self.connection.prepare(TYPES)?;
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
            counts.types = rows.collect::<Result<_, _>>()?;
            Ok(counts)
        };
        run().map_err(attempt)
    }
}
