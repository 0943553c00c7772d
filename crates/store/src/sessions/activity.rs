//! What a project was busy with: by day, by file, by branch.
//!
//! Looks at the latest memories of a project, so many at most: what a page reads does not grow with the store.

use backstory_model::{Handle, MemoryKind, ObservationType, Timestamp};
use std::{ops::Range, time::Duration};

use rusqlite::params;

use crate::{
    Project, Store, StoreError,
    schema::open::{millis, query},
};

/// So many of the latest observations are counted by day and type.
const COUNTED: u32 = 10_000;

/// So many of the latest observations are looked at for their files.
const SCAN_LIMIT: u32 = 3_000;

const DAY_MS: i64 = 86_400_000;

/// How many observations of a type a day brought.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayCount {
    /// Days since 1970.
    pub day: i64,
    /// The type.
    pub kind: ObservationType,
    /// How many.
    pub count: u64,
}

/// A file that memories speak of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusyFile {
    /// Where it is, from the root of the working tree.
    pub path: String,
    /// How many of the latest memories speak of it.
    pub memories: u64,
    /// In how many of them it was changed.
    pub changes: u64,
    /// When the latest of them came to be, in milliseconds since 1970.
    pub last_at: Timestamp,
}

/// A branch that sessions worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Its name.
    pub name: String,
    /// How many of the latest sessions were on it.
    pub sessions: u64,
    /// When the latest of them was last heard of, in milliseconds since 1970.
    pub last_at: Timestamp,
}

impl Store {
    /// Returns when the latest observation of a project came to be.
    pub fn last_observation_at(&self, project: &Project) -> Result<Option<Timestamp>, StoreError> {
        const LAST: &str =
            "select max(created_at) from observation indexed by observation_by_project where project_id = ?1";
        self.connection
            .prepare_cached(LAST)
            .and_then(|mut statement| statement.query_row([project.db_id], |row| row.get(0)))
            .map_err(query("look for the latest memory"))
    }

    /// Counts a project's observations by day and type, from one time to another. Days begin so many milliseconds before
    /// those of UTC do.
    pub fn observations_by_day(
        &self,
        project: &Project,
        days: Range<Timestamp>,
        offset_ms: i64,
    ) -> Result<Vec<DayCount>, StoreError> {
        const BY_DAY: &str = "select (created_at + ?4) / ?6, type, count(*)
            from (select created_at, type from observation indexed by observation_by_project
                where project_id = ?1 and created_at >= ?2 and created_at < ?3 order by created_at desc limit ?5)
            group by 1, 2 order by 1, 2";
        let attempt = query("count memories by day");
        let mut statement = self.connection.prepare_cached(BY_DAY).map_err(attempt)?;
        let values = params![project.db_id, days.start, days.end, offset_ms, COUNTED, DAY_MS];
        let rows = statement.query_map(values, |row| {
            Ok(DayCount {
                day: row.get(0)?,
                kind: row.get(1)?,
                count: row.get(2)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Counts a project's observations in steps of time since a moment, the oldest first.
    pub fn activity_by_interval(
        &self,
        project: &Project,
        from: Timestamp,
        step: Duration,
    ) -> Result<Vec<(i64, u64)>, StoreError> {
        // Only the index is read.
        const PULSE: &str =
            "select (created_at - ?2) / ?3, count(*) from observation indexed by observation_by_project
            where project_id = ?1 and created_at >= ?2 group by 1 order by 1";
        let attempt = query("count memories");
        let mut statement = self.connection.prepare_cached(PULSE).map_err(attempt)?;
        let rows = statement.query_map(params![project.db_id, from, millis(step).max(1)], |row| {
            Ok((row.get(0)?, row.get(1)?))
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Returns the files that most of the latest memories of a project speak of.
    pub fn busy_files(&self, project: &Project, most: u32) -> Result<Vec<BusyFile>, StoreError> {
        const BUSY: &str = "select path, count(*), sum(modified), max(latest.created_at)
            from (select id, created_at from observation indexed by observation_by_project
                    where project_id = ?1 order by created_at desc limit ?2) as latest
                cross join observation_file as file on file.observation_id = latest.id
            group by path order by 2 desc, 4 desc, path limit ?3";
        let attempt = query("look for busy files");
        let mut statement = self.connection.prepare_cached(BUSY).map_err(attempt)?;
        let rows = statement.query_map(params![project.db_id, SCAN_LIMIT, most], |row| {
            Ok(BusyFile {
                path: row.get(0)?,
                memories: row.get(1)?,
                changes: row.get(2)?,
                last_at: row.get(3)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Returns the branches that the latest sessions of a project were on, the latest first.
    pub fn branches(&self, project: &Project, most: u32) -> Result<Vec<Branch>, StoreError> {
        const BRANCHES: &str = "select branch, count(*), max(last_event_at)
            from (select branch, last_event_at from session indexed by session_by_project
                where project_id = ?1 order by last_event_at desc limit 1000)
            where branch is not null group by branch order by 3 desc, branch limit ?2";
        let attempt = query("list branches");
        let mut statement = self.connection.prepare_cached(BRANCHES).map_err(attempt)?;
        let rows = statement.query_map(params![project.db_id, most], |row| {
            Ok(Branch {
                name: row.get(0)?,
                sessions: row.get(1)?,
                last_at: row.get(2)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Returns what a person pinned in a project: notes first, then observations, the latest first.
    pub fn pinned(&self, project: &Project, most: u32) -> Result<Vec<Handle>, StoreError> {
        const NOTES: &str = "select id from note where (project_id = ?1 or project_id is null) and pinned = 1
            order by created_at desc limit ?2";
        const OBSERVATIONS: &str = "select id from observation indexed by observation_pinned
            where project_id = ?1 and pinned = 1 order by created_at desc limit ?2";
        let attempt = query("read what is pinned");
        let mut pinned = Vec::new();
        for (kind, sql) in [(MemoryKind::Note, NOTES), (MemoryKind::Observation, OBSERVATIONS)] {
            let mut statement = self.connection.prepare_cached(sql).map_err(attempt)?;
            let rows = statement.query_map(params![project.db_id, most], |row| {
                Ok(Handle {
                    kind,
                    id: row.get(0)?,
                })
            });
            for row in rows.map_err(attempt)? {
                pinned.push(row.map_err(attempt)?);
            }
        }
        Ok(pinned)
    }
}
