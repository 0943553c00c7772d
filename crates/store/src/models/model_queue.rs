//! The model queue: turns that the built-in rules have distilled and a model will distill.

use std::time::Duration;

use backstory_model::{ObservationId, ObservationType, ProjectId, Timestamp, TurnId};
use rusqlite::{Row, Transaction, params};

use crate::{Store, StoreError, sql::Statements as _};

/// The lease of a claimed turn: longer than two calls with their timeouts.
pub const MODEL_LEASE: Duration = Duration::from_mins(15);

/// The delay after an internal error. Each attempt may cost tokens, and other turns go first.
pub const MODEL_RETRY_DELAY: Duration = Duration::from_hours(6);

/// Holds a claim on a turn in the model queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelJob {
    /// The turn.
    pub turn_id: TurnId,
    /// The revision of the request: new events during a call queue the turn again.
    pub revision: i64,
}

/// Holds a stored observation that a model is shown, so that it can supersede it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownObservation {
    /// The id.
    pub id: ObservationId,
    /// The type.
    pub kind: ObservationType,
    /// The title.
    pub title: String,
}

/// Holds a turn that can be distilled again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastTurn {
    /// The turn.
    pub id: TurnId,
    /// Its number in the session.
    pub number: i64,
    /// The agent's id of the session.
    pub session_id: String,
}

impl Store {
    /// Claims the newest turn in the model queue.
    pub fn claim_model_job(
        &mut self,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<ModelJob>, StoreError> {
        const NEXT: &str =
            "update turn_for_model set lease_until = ?2 where turn_id = (select turn_id from turn_for_model
                where not_before <= ?1 and coalesce(lease_until, 0) <= ?1 order by turn_id desc limit 1)
            returning turn_id, revision";
        self.write("claim a turn for a model", |tx| {
            tx.optional_row(NEXT, params![now, now + lease], read_job)
        })
    }

    /// Claims a turn, queued or not; `None` if it is claimed already.
    pub fn claim_turn(
        &mut self,
        turn: TurnId,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<ModelJob>, StoreError> {
        const CLAIM: &str = "insert into turn_for_model (turn_id, lease_until) values (?1, ?3)
            on conflict (turn_id) do update set lease_until = ?3 where coalesce(lease_until, 0) <= ?2
            returning turn_id, revision";
        self.write("claim a turn for a model", |tx| {
            tx.optional_row(CLAIM, params![turn, now, now + lease], read_job)
        })
    }

    /// Removes a turn from the queue, unless it was queued again meanwhile.
    pub fn finish_model_job(&mut self, job: ModelJob) -> Result<(), StoreError> {
        self.write("remove a turn from the model queue", |tx| finish(tx, job))
    }

    /// Releases a claim without a result; the turn waits at least until `not_before`.
    pub fn release_model_job(&mut self, job: ModelJob, not_before: Timestamp) -> Result<(), StoreError> {
        const RELEASE: &str =
            "update turn_for_model set lease_until = null, not_before = ?2 where turn_id = ?1";
        self.write("release a turn", |tx| {
            tx.run(RELEASE, params![job.turn_id, not_before]).map(drop)
        })
    }

    /// Returns the length of the model queue.
    pub fn pending_model_jobs(&self) -> Result<u64, StoreError> {
        self.read("count the model queue", |connection| {
            connection.row("select count(*) from turn_for_model", [], |row| row.get(0))
        })
    }

    /// Returns ended turns, newest first: of a session, since a time, or those in the model queue if both are absent.
    pub fn past_turns(
        &self,
        session_id: Option<&str>,
        since: Option<Timestamp>,
    ) -> Result<Vec<PastTurn>, StoreError> {
        const TURNS: &str = "select turn.id as id, turn.number as number, session.session_id as session_id
            from turn join session on session.id = turn.session_db_id
            where turn.ended_at is not null and turn.forgotten = 0 and (?1 is null or session.session_id = ?1)
                and (?2 is null or turn.started_at >= ?2)
                and (?1 is not null or ?2 is not null or turn.id in (select turn_id from turn_for_model))
                and exists (select 1 from event where event.turn_id = turn.id)
            order by turn.id desc";
        self.read("read past turns", |connection| {
            connection.rows(TURNS, params![session_id, since], |row| {
                Ok(PastTurn {
                    id: row.get("id")?,
                    number: row.get("number")?,
                    session_id: row.get("session_id")?,
                })
            })
        })
    }

    /// Returns the pinned and edited observations of a turn, and the latest observations of other turns about some files.
    pub fn related_observations(
        &self,
        project: ProjectId,
        turn: TurnId,
        paths: &[String],
        limit: usize,
    ) -> Result<Vec<KnownObservation>, StoreError> {
        const EDITED: &str = "select id, type, title from observation
            where turn_id = ?1 and (pinned <> 0 or edited_at is not null) order by id";
        // Cross join pins the plan: scanning all memories of the project is too slow.
        const ABOUT: &str = "select observation.id as id, type, title from observation_file
                cross join observation on observation.id = observation_file.observation_id
            where path = ?2 and observation.project_id = ?1 and superseded_by is null and turn_id is not ?3
            order by observation_file.modified desc, observation.created_at desc limit 4";
        let read = |row: &Row<'_>| {
            Ok(KnownObservation {
                id: row.get("id")?,
                kind: row.get("type")?,
                title: row.get("title")?,
            })
        };
        self.read("look for memories about files", |connection| {
            let mut known = connection.rows(EDITED, [turn], read)?;
            for path in paths {
                for observation in connection.rows(ABOUT, params![project, path, turn], read)? {
                    if !known.contains(&observation) {
                        known.push(observation);
                    }
                }
            }
            known.truncate(limit);
            Ok(known)
        })
    }
}

/// Shortens leases and delays that are longer than any this version sets: the system clock was set back.
pub(crate) fn clamp_leases(tx: &Transaction<'_>, now: Timestamp) -> rusqlite::Result<()> {
    // Shortened, not ended: `backstory distill` may hold a claim while a worker starts.
    const CLAMP: &str = "update turn_for_model
        set lease_until = min(lease_until, ?1), not_before = min(not_before, ?2)
        where lease_until > ?1 or not_before > ?2";
    tx.run(CLAMP, params![now + MODEL_LEASE, now + MODEL_RETRY_DELAY])
        .map(drop)
}

/// Queues a turn, unless a model has seen all of its events or all of them were imported.
pub(crate) fn ask(tx: &Transaction<'_>, turn: TurnId) -> rusqlite::Result<()> {
    const ASK: &str = "insert into turn_for_model (turn_id) select id from turn where id = ?1
            and coalesce(modelled, 0) < (select count(*) from event where turn_id = turn.id)
            and exists (select 1 from event where turn_id = turn.id and source = 'hook')
        on conflict (turn_id) do update set revision = revision + 1, not_before = 0";
    tx.run(ASK, [turn]).map(drop)
}

/// Returns true if a claim is still valid. Forgetting a part of the turn removes it from the queue.
pub(crate) fn is_claimed(tx: &Transaction<'_>, job: ModelJob) -> rusqlite::Result<bool> {
    tx.has_row("select 1 from turn_for_model where turn_id = ?1", [job.turn_id])
}

/// Stores the number of events that a model has seen.
pub(crate) fn mark_modeled(tx: &Transaction<'_>, turn: TurnId, events: usize) -> rusqlite::Result<()> {
    const MARK: &str = "update turn set modelled = ?2 where id = ?1";
    tx.run(MARK, params![turn, events]).map(drop)
}

/// Removes a turn from the queue, unless it was queued again meanwhile.
pub(crate) fn finish(tx: &Transaction<'_>, job: ModelJob) -> rusqlite::Result<()> {
    const DONE: &str = "delete from turn_for_model where turn_id = ?1 and revision = ?2";
    const RELEASE: &str = "update turn_for_model set lease_until = null where turn_id = ?1";
    tx.run(DONE, params![job.turn_id, job.revision])?;
    tx.run(RELEASE, [job.turn_id]).map(drop)
}

fn read_job(row: &Row<'_>) -> rusqlite::Result<ModelJob> {
    Ok(ModelJob {
        turn_id: row.get("turn_id")?,
        revision: row.get("revision")?,
    })
}
