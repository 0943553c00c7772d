//! Experiments, and the numbers of sessions with and without recall.

use backstory_model::{ProjectId, SessionId, Timestamp};
use rusqlite::params;

use crate::{Store, StoreError, sql::Statements as _};

/// Holds the numbers of a session of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentSession {
    /// The session.
    pub session_db_id: SessionId,
    /// The project.
    pub project_db_id: ProjectId,
    /// The first moment at which there was something to recall.
    pub eligible_at: Timestamp,
    /// Nothing was injected.
    pub is_withheld: bool,
    /// The number of tool calls.
    pub tool_calls: u64,
    /// The estimated tokens.
    pub tokens: u64,
    /// The failed commands: time and hash of the error.
    pub failures: Vec<(Timestamp, u64)>,
}

/// Holds an experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Experiment {
    /// The start. It also decides the group of each session.
    pub started_at: Timestamp,
    /// The end; absent while it runs.
    pub stopped_at: Option<Timestamp>,
    /// The share of sessions without recall, from 0 to 1.
    pub share: f64,
}

impl Store {
    /// Starts an experiment, unless one runs; returns false then.
    pub fn start_experiment(&mut self, share: f64, now: Timestamp) -> Result<bool, StoreError> {
        const START: &str = "insert into experiment (started_at, share)
            select ?1, ?2 where not exists (select 1 from experiment where stopped_at is null)";
        self.write("start an experiment", |tx| {
            Ok(tx.run(START, params![now, share])? > 0)
        })
    }

    /// Stops the experiment that runs; returns false if none does.
    pub fn stop_experiment(&mut self, now: Timestamp) -> Result<bool, StoreError> {
        const STOP: &str = "update experiment set stopped_at = ?1 where stopped_at is null";
        self.write("stop an experiment", |tx| Ok(tx.run(STOP, [now])? > 0))
    }

    /// Returns the latest experiment.
    pub fn latest_experiment(&self) -> Result<Option<Experiment>, StoreError> {
        const LATEST: &str = "select started_at, stopped_at, share from experiment order by id desc limit 1";
        self.read("read the latest experiment", |connection| {
            connection.optional_row(LATEST, [], |row| {
                Ok(Experiment {
                    started_at: row.get(0)?,
                    stopped_at: row.get(1)?,
                    share: row.get(2)?,
                })
            })
        })
    }

    /// Returns the sessions of an experiment that had something to recall, in order.
    pub fn experiment_sessions(&self, experiment: &Experiment) -> Result<Vec<ExperimentSession>, StoreError> {
        const SESSIONS: &str =
            "select session_db_id, project_id, eligible_at, withheld, tool_calls, tokens, failures
            from session_impact join session on session.id = session_db_id
            where eligible_at >= ?1 and eligible_at <= ?2 order by eligible_at, session_db_id";
        let until = experiment.stopped_at.unwrap_or(Timestamp::MAX);
        self.read("read the sessions of an experiment", |connection| {
            connection.rows(SESSIONS, params![experiment.started_at, until], |row| {
                let failures: String = row.get(6)?;
                let failures: Vec<(i64, i64)> = serde_json::from_str(&failures).unwrap_or_default();
                Ok(ExperimentSession {
                    session_db_id: row.get(0)?,
                    project_db_id: row.get(1)?,
                    eligible_at: row.get(2)?,
                    is_withheld: row.get(3)?,
                    tool_calls: row.get(4)?,
                    tokens: row.get(5)?,
                    failures: failures
                        .into_iter()
                        .map(|(at, error)| (Timestamp::from_millis(at), error.cast_unsigned()))
                        .collect(),
                })
            })
        })
    }

    /// Returns the errors of a project that failed before a moment, as hashes.
    pub fn known_failures(
        &self,
        project: ProjectId,
        before: Timestamp,
    ) -> Result<Vec<(Timestamp, u64)>, StoreError> {
        const FAILURES: &str =
            "select failures from session_impact join session on session.id = session_db_id
            where project_id = ?1 and started_at < ?2 and failures <> '[]'";
        self.read("read known failures", |connection| {
            let lists = connection.rows(FAILURES, params![project, before], |row| row.get::<_, String>(0))?;
            let mut found = Vec::new();
            for list in lists {
                let failures: Vec<(i64, i64)> = serde_json::from_str(&list).unwrap_or_default();
                let failures = failures.into_iter();
                found.extend(failures.map(|(at, error)| (Timestamp::from_millis(at), error.cast_unsigned())));
            }
            Ok(found)
        })
    }
}
