//! Turns that a model is to distil after the rules: which, and what is known about their files.

use backstory_model::{ObservationId, ObservationType, ProjectId, Timestamp, TurnId};
use std::time::Duration;

use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use crate::{Store, StoreError, schema::open::query};

/// How long a turn is kept for one thread at most: longer than two calls and their time-outs.
pub const MODEL_LEASE: Duration = Duration::from_mins(15);

/// How long a turn waits that made us fail: each try may cost tokens, and others come first.
pub const MODEL_RETRY_DELAY: Duration = Duration::from_hours(6);

/// A turn under a lease: nobody else asks a model about it until then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelJob {
    /// The number of the turn.
    pub turn_id: TurnId,
    /// Which wish it is: the turn may go on while a model thinks.
    pub revision: i64,
}

/// A memory that a model is shown, so that it can say what holds no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownObservation {
    /// Its number.
    pub id: ObservationId,
    /// What it is about.
    pub kind: ObservationType,
    /// What it says.
    pub title: String,
}

/// A turn that can be distilled again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastTurn {
    /// The turn.
    pub id: TurnId,
    /// Its number in its session.
    pub number: i64,
    /// The agent's id of its session.
    pub session_id: String,
}

impl Store {
    /// Claims the newest turn that waits for a model: what happened last is asked for first.
    pub fn claim_model_job(
        &mut self,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<ModelJob>, StoreError> {
        const NEXT: &str =
            "update turn_for_model set lease_until = ?2 where turn_id = (select turn_id from turn_for_model
                where not_before <= ?1 and coalesce(lease_until, 0) <= ?1 order by turn_id desc limit 1)
            returning turn_id, revision";
        let claimed = self
            .connection
            .query_row(NEXT, params![now, now + lease], claimed);
        claimed.optional().map_err(query("claim a turn for a model"))
    }

    /// Claims one turn, whether it waits or not; `None` when somebody else has it.
    pub fn claim_turn(
        &mut self,
        turn_id: TurnId,
        now: Timestamp,
        lease: Duration,
    ) -> Result<Option<ModelJob>, StoreError> {
        const CLAIM: &str = "insert into turn_for_model (turn_id, lease_until) values (?1, ?3)
            on conflict (turn_id) do update set lease_until = ?3 where coalesce(lease_until, 0) <= ?2
            returning turn_id, revision";
        let values = params![turn_id, now, now + lease];
        let claimed = self.connection.query_row(CLAIM, values, claimed);
        claimed.optional().map_err(query("claim a turn for a model"))
    }

    /// Takes a turn off the list, unless it was put there again meanwhile.
    pub fn finish_model_job(&mut self, turn: ModelJob) -> Result<(), StoreError> {
        let attempt = query("take a turn off the list");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        finish(&transaction, turn).map_err(attempt)?;
        transaction.commit().map_err(attempt)
    }

    /// Gives a turn back that no model has distilled; it waits at least until then.
    pub fn release_model_job(&mut self, turn: ModelJob, not_before: Timestamp) -> Result<(), StoreError> {
        const RELEASE: &str =
            "update turn_for_model set lease_until = null, not_before = ?2 where turn_id = ?1";
        self.connection
            .execute(RELEASE, params![turn.turn_id, not_before])
            .map(drop)
            .map_err(query("give a turn back"))
    }

    /// Returns how many turns wait for a model.
    pub fn pending_model_jobs(&self) -> Result<u64, StoreError> {
        const COUNT: &str = "select count(*) from turn_for_model";
        self.connection
            .query_row(COUNT, [], |row| row.get(0))
            .map_err(query("count the turns that wait for a model"))
    }

    /// Returns the turns that are over: of one session, since a moment, or those that wait for a model. Newest first.
    pub fn past_turns(
        &self,
        session_id: Option<&str>,
        since: Option<Timestamp>,
    ) -> Result<Vec<PastTurn>, StoreError> {
        const TURNS: &str = "select turn.id, turn.number, session.session_id
            from turn join session on session.id = turn.session_db_id
            where turn.ended_at is not null and turn.forgotten = 0 and (?1 is null or session.session_id = ?1)
                and (?2 is null or turn.started_at >= ?2)
                and (?1 is not null or ?2 is not null or turn.id in (select turn_id from turn_for_model))
                and exists (select 1 from event where event.turn_id = turn.id)
            order by turn.id desc";
        let attempt = query("read past turns");
        let mut statement = self.connection.prepare_cached(TURNS).map_err(attempt)?;
        let rows = statement.query_map(params![session_id, since], |row| {
            Ok(PastTurn {
                id: row.get(0)?,
                number: row.get(1)?,
                session_id: row.get(2)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Returns what is known about some files of a project besides what was made of a turn, and what of the turn itself stays
    /// whatever a model says.
    pub fn related_observations(
        &self,
        project_db_id: ProjectId,
        turn_id: TurnId,
        paths: &[String],
        most: usize,
    ) -> Result<Vec<KnownObservation>, StoreError> {
        const STAYS: &str = "select id, type, title from observation
            where turn_id = ?1 and (pinned <> 0 or edited_at is not null) order by id";
        // Crossed: whoever looks through all memories of a project for the path is too slow.
        const ABOUT: &str = "select observation.id, type, title from observation_file
                cross join observation on observation.id = observation_file.observation_id
            where path = ?2 and observation.project_id = ?1 and superseded_by is null and turn_id is not ?3
            order by observation_file.modified desc, observation.created_at desc limit 4";
        let attempt = query("look for what is known about files");
        let read = |row: &rusqlite::Row<'_>| {
            Ok(KnownObservation {
                id: row.get(0)?,
                kind: row.get(1)?,
                title: row.get(2)?,
            })
        };
        let mut known: Vec<KnownObservation> = Vec::new();
        let mut stays = self.connection.prepare_cached(STAYS).map_err(attempt)?;
        for row in stays.query_map([turn_id], read).map_err(attempt)? {
            known.push(row.map_err(attempt)?);
        }
        let mut about = self.connection.prepare_cached(ABOUT).map_err(attempt)?;
        for path in paths {
            let rows = about.query_map(params![project_db_id, path, turn_id], read);
            for row in rows.map_err(attempt)? {
                let row = row.map_err(attempt)?;
                if !known.contains(&row) {
                    known.push(row);
                }
            }
        }
        known.truncate(most);
        Ok(known)
    }
}

/// Shortens leases and waits that are longer than any that is given: the clock was set back since.
pub(crate) fn clamp_leases(transaction: &Transaction<'_>, now: Timestamp) -> rusqlite::Result<()> {
    // Not ended: `backstory distill` may be at work beside a worker that starts.
    const SHORTEN: &str = "update turn_for_model
        set lease_until = min(lease_until, ?1), not_before = min(not_before, ?2)
        where lease_until > ?1 or not_before > ?2";
    transaction
        .execute(SHORTEN, params![now + MODEL_LEASE, now + MODEL_RETRY_DELAY])
        .map(drop)
}

/// Puts a turn on the list, unless a model has seen all of it, or it is history that was imported.
pub(crate) fn ask(transaction: &Transaction<'_>, turn_id: TurnId) -> rusqlite::Result<()> {
    const ASK: &str = "insert into turn_for_model (turn_id) select id from turn where id = ?1
            and coalesce(modelled, 0) < (select count(*) from event where turn_id = turn.id)
            and exists (select 1 from event where turn_id = turn.id and source = 'hook')
        on conflict (turn_id) do update set revision = revision + 1, not_before = 0";
    transaction.prepare_cached(ASK)?.execute([turn_id]).map(drop)
}

/// Says whether a claim still stands: a turn of which something was forgotten is on the list no more.
pub(crate) fn is_claimed(transaction: &Transaction<'_>, claim: ModelJob) -> rusqlite::Result<bool> {
    const CLAIMED: &str = "select 1 from turn_for_model where turn_id = ?1";
    transaction.prepare_cached(CLAIMED)?.exists([claim.turn_id])
}

/// Notes how much of a turn a model has seen.
pub(crate) fn mark_modeled(
    transaction: &Transaction<'_>,
    turn: TurnId,
    events: usize,
) -> rusqlite::Result<()> {
    const MODELLED: &str = "update turn set modelled = ?2 where id = ?1";
    transaction
        .prepare_cached(MODELLED)?
        .execute(params![turn, events])
        .map(drop)
}

/// Takes a turn off the list, unless it was put there again meanwhile.
pub(crate) fn finish(transaction: &Transaction<'_>, turn: ModelJob) -> rusqlite::Result<()> {
    const DONE: &str = "delete from turn_for_model where turn_id = ?1 and revision = ?2";
    const AGAIN: &str = "update turn_for_model set lease_until = null where turn_id = ?1";
    transaction
        .prepare_cached(DONE)?
        .execute(params![turn.turn_id, turn.revision])?;
    transaction
        .prepare_cached(AGAIN)?
        .execute([turn.turn_id])
        .map(drop)
}

fn claimed(row: &rusqlite::Row<'_>) -> rusqlite::Result<ModelJob> {
    Ok(ModelJob {
        turn_id: row.get(0)?,
        revision: row.get(1)?,
    })
}
