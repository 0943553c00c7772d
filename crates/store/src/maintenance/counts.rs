//! Counts of stored memories, sessions and projects.

use std::collections::BTreeMap;

use backstory_model::{MemoryKind, ObservationType};

use crate::{Store, StoreError, sql::Statements as _};

/// Holds the number of stored things.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Memories by kind.
    pub memories: BTreeMap<MemoryKind, u64>,
    /// Observations by type.
    pub types: BTreeMap<ObservationType, u64>,
    /// Projects.
    pub projects: u64,
    /// Sessions.
    pub sessions: u64,
    /// Observations and summaries that a model wrote.
    pub by_model: u64,
}

impl Store {
    /// Counts everything. Scans whole tables: for `stats`, not for hooks.
    pub fn counts(&self) -> Result<Counts, StoreError> {
        const TABLES: &str = "select (select count(*) from project) as projects,
            (select count(*) from session) as sessions,
            (select count(*) from observation where distiller <> 'builtin')
                + (select count(*) from summary where distiller <> 'builtin') as by_model";
        const TYPES: &str = "select type, count(*) as number from observation group by type";
        self.read("count memories", |connection| {
            let mut counts = connection.row(TABLES, [], |row| {
                Ok(Counts {
                    projects: row.get("projects")?,
                    sessions: row.get("sessions")?,
                    by_model: row.get("by_model")?,
                    ..Counts::default()
                })
            })?;
            for kind in MemoryKind::ALL {
                let sql = match kind {
                    MemoryKind::Note => "select count(*) from note",
                    MemoryKind::Observation => "select count(*) from observation",
                    MemoryKind::Team => "select count(*) from team_memory where quarantine is null",
                    MemoryKind::Summary => "select count(*) from summary",
                    MemoryKind::Prompt => {
                        "select count(*) from turn where prompt is not null and machine_made = 0"
                    }
                    MemoryKind::Passage => "select count(*) from passage",
                };
                counts
                    .memories
                    .insert(kind, connection.row(sql, [], |row| row.get(0))?);
            }
            let types = connection.rows(TYPES, [], |row| Ok((row.get("type")?, row.get("number")?)))?;
            counts.types = types.into_iter().collect();
            Ok(counts)
        })
    }
}
