//! The activity of a project by day, file and branch.
//!
//! Each query looks at a bounded number of the latest rows, so that a page does not get slower as the store grows.

use std::{ops::Range, time::Duration};

use backstory_model::{Handle, MemoryKind, ObservationType, Timestamp};
use rusqlite::params;

use crate::{
    Project, Store, StoreError,
    sql::{Statements as _, millis},
};

/// The most observations that are counted by day and type.
const MAX_COUNTED: u32 = 10_000;

/// The most observations whose files are counted.
const MAX_SCANNED: u32 = 3_000;

/// The most sessions whose branches are counted.
const MAX_SESSIONS: u32 = 1_000;

const DAY: Duration = Duration::from_hours(24);

/// Holds the number of observations of a type on a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DayCount {
    /// Days since the start of the range.
    pub day: i64,
    /// The type.
    pub kind: ObservationType,
    /// The number.
    pub count: u64,
}

/// Holds a file that memories cite.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusyFile {
    /// The path, relative to the working tree.
    pub path: String,
    /// The number of memories that cite it.
    pub memories: u64,
    /// The number of them that changed it.
    pub changes: u64,
    /// The latest of them.
    pub last_at: Timestamp,
}

/// Holds a branch that sessions worked on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The name.
    pub name: String,
    /// The number of sessions.
    pub sessions: u64,
    /// The latest event of these sessions.
    pub last_at: Timestamp,
}

/// Holds the numbers of a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActivityCounts {
    /// Turns that started.
    pub turns: u64,
    /// Observations of that time.
    pub memories: u64,
    /// Sessions with events.
    pub sessions: u64,
}

/// Covered by an index, as are the statements of [`since_sql`]: only the period is read.
const fn interval_sql(in_project: bool) -> &'static str {
    if in_project {
        "select (created_at - ?2) / ?3 as interval, count(*) as number
            from observation indexed by observation_by_project
            where project_id = ?1 and created_at >= ?2 group by 1 order by 1"
    } else {
        "select (created_at - ?2) / ?3 as interval, count(*) as number
            from observation indexed by observation_by_time
            where ?1 is null and created_at >= ?2 group by 1 order by 1"
    }
}

/// Returns the statements that count turns, observations and sessions.
const fn since_sql(in_project: bool) -> [&'static str; 3] {
    if in_project {
        [
            "select count(*) from session indexed by session_by_project cross join turn on turn.session_db_id = session.id
                where project_id = ?1 and last_event_at >= ?2 and turn.started_at >= ?2",
            "select count(*) from observation indexed by observation_by_project where project_id = ?1 and created_at >= ?2",
            "select count(*) from session indexed by session_by_project where project_id = ?1 and last_event_at >= ?2",
        ]
    } else {
        [
            "select count(*) from turn indexed by turn_by_time where ?1 is null and started_at >= ?2",
            "select count(*) from observation indexed by observation_by_time where ?1 is null and created_at >= ?2",
            "select count(*) from session indexed by session_by_time where ?1 is null and last_event_at >= ?2",
        ]
    }
}

impl Store {
    /// Returns the time of the latest observation of a project.
    pub fn last_observation_at(&self, project: &Project) -> Result<Option<Timestamp>, StoreError> {
        const LAST: &str =
            "select max(created_at) from observation indexed by observation_by_project where project_id = ?1";
        self.read("look for the latest memory", |connection| {
            connection.row(LAST, [project.db_id], |row| row.get(0))
        })
    }

    /// Counts a project's observations in a time range by day and type. The first day starts with the range.
    pub fn observations_by_day(
        &self,
        project: &Project,
        range: Range<Timestamp>,
    ) -> Result<Vec<DayCount>, StoreError> {
        const BY_DAY: &str = "select (created_at - ?2) / ?5 as day, type, count(*) as number
            from (select created_at, type from observation indexed by observation_by_project
                where project_id = ?1 and created_at >= ?2 and created_at < ?3 order by created_at desc limit ?4)
            group by 1, 2 order by 1, 2";
        self.read("count memories by day", |connection| {
            let values = params![project.db_id, range.start, range.end, MAX_COUNTED, millis(DAY)];
            connection.rows(BY_DAY, values, |row| {
                Ok(DayCount {
                    day: row.get("day")?,
                    kind: row.get("type")?,
                    count: row.get("number")?,
                })
            })
        })
    }

    /// Counts the observations of one project or of all per interval since a time; returns pairs of interval and number, the
    /// oldest first.
    pub fn activity_by_interval(
        &self,
        project: Option<&Project>,
        from: Timestamp,
        interval: Duration,
    ) -> Result<Vec<(i64, u64)>, StoreError> {
        let sql = interval_sql(project.is_some());
        self.read("count memories", |connection| {
            let values = params![
                project.map(|project| project.db_id),
                from,
                millis(interval).max(1)
            ];
            connection.rows(sql, values, |row| Ok((row.get("interval")?, row.get("number")?)))
        })
    }

    /// Counts what happened since a time, in one project or in all.
    pub fn activity_since(
        &self,
        project: Option<&Project>,
        since: Timestamp,
    ) -> Result<ActivityCounts, StoreError> {
        let [turns, memories, sessions] = since_sql(project.is_some());
        let project = project.map(|project| project.db_id);
        self.read("count what happened", |connection| {
            let count = |sql: &str| connection.row(sql, params![project, since], |row| row.get(0));
            Ok(ActivityCounts {
                turns: count(turns)?,
                memories: count(memories)?,
                sessions: count(sessions)?,
            })
        })
    }

    /// Returns the files that the latest memories of a project cite most often.
    pub fn busy_files(&self, project: &Project, limit: u32) -> Result<Vec<BusyFile>, StoreError> {
        const BUSY: &str =
            "select path, count(*) as memories, sum(modified) as changes, max(latest.created_at) as last_at
            from (select id, created_at from observation indexed by observation_by_project
                    where project_id = ?1 order by created_at desc limit ?2) as latest
                cross join observation_file as file on file.observation_id = latest.id
            group by path order by memories desc, last_at desc, path limit ?3";
        self.read("look for busy files", |connection| {
            connection.rows(BUSY, params![project.db_id, MAX_SCANNED, limit], |row| {
                Ok(BusyFile {
                    path: row.get("path")?,
                    memories: row.get("memories")?,
                    changes: row.get("changes")?,
                    last_at: row.get("last_at")?,
                })
            })
        })
    }

    /// Returns the branches of the latest sessions of a project, the latest first.
    pub fn branches(&self, project: &Project, limit: u32) -> Result<Vec<Branch>, StoreError> {
        const BRANCHES: &str = "select branch, count(*) as sessions, max(last_event_at) as last_at
            from (select branch, last_event_at from session indexed by session_by_project
                where project_id = ?1 order by last_event_at desc limit ?2)
            where branch is not null group by branch order by last_at desc, branch limit ?3";
        self.read("list branches", |connection| {
            connection.rows(BRANCHES, params![project.db_id, MAX_SESSIONS, limit], |row| {
                Ok(Branch {
                    name: row.get("branch")?,
                    sessions: row.get("sessions")?,
                    last_at: row.get("last_at")?,
                })
            })
        })
    }

    /// Returns the pinned notes and observations of a project, notes first, the latest first.
    pub fn pinned(&self, project: &Project, limit: u32) -> Result<Vec<Handle>, StoreError> {
        const NOTES: &str = "select id from note where (project_id = ?1 or project_id is null) and pinned = 1
            order by created_at desc limit ?2";
        const OBSERVATIONS: &str = "select id from observation indexed by observation_pinned
            where project_id = ?1 and pinned = 1 order by created_at desc limit ?2";
        self.read("read pinned memories", |connection| {
            let mut pinned = Vec::new();
            for (kind, sql) in [(MemoryKind::Note, NOTES), (MemoryKind::Observation, OBSERVATIONS)] {
                pinned.extend(connection.rows(sql, params![project.db_id, limit], |row| {
                    Ok(Handle {
                        kind,
                        id: row.get("id")?,
                    })
                })?);
            }
            Ok(pinned)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{event, scans, store};

    #[test]
    fn counts_read_their_period_only() {
        let store = store(&[event("1", "a")]);
        for in_project in [true, false] {
            for sql in since_sql(in_project)
                .into_iter()
                .chain([interval_sql(in_project)])
            {
                assert_eq!(scans(&store, sql), Vec::<String>::new(), "{sql}");
            }
        }
    }

    #[test]
    fn what_happened_since_a_time_is_counted() {
        let store = crate::testing::store_with_turn();
        store
            .connection
            .execute_batch(
                "insert into observation (project_id, type, title, created_at, last_seen_at)
                values (1, 'change', 'old', 10, 10), (1, 'change', 'new', 5000, 5000)",
            )
            .unwrap();
        let counts = store.activity_since(None, Timestamp::from_millis(900)).unwrap();
        assert_eq!((counts.turns, counts.memories, counts.sessions), (1, 1, 1));
        let none = store.activity_since(None, Timestamp::from_millis(9_000)).unwrap();
        assert_eq!(none, ActivityCounts::default());
        let intervals = store
            .activity_by_interval(None, Timestamp::from_millis(0), Duration::from_secs(1))
            .unwrap();
        assert_eq!(intervals, [(0, 1), (5, 1)]);
    }
}
