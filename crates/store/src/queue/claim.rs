//! Claims: a worker takes events of one session and finishes or releases them.
//!
//! A claim is a lease, not an open transaction, because distilling may take minutes. The claims of a dead worker expire.
//! Attempts are counted when events are claimed, so that an event which kills the worker fails too; later than one that
//! returns an error, because a worker can be killed for other reasons. Events of a session are processed in order: nothing of
//! it is claimed while an earlier event is claimed or waits for its next attempt.

use std::time::Duration;

use backstory_model::{EventId, EventKind, EventState, SessionId, Timestamp, TurnId};
use rusqlite::{Connection, params};

use super::attempts::{BACKOFF, FAIL_SESSION, MAX_ATTEMPTS};
use crate::{
    Store, StoreError,
    models::{model_queue::clamp_leases, provider_backoff::clamp_backoffs},
    sql::Statements as _,
};

/// The number of workers that may die over an event before it fails.
const MAX_CRASHES: i64 = 8;

/// Holds events of one session under a lease.
#[derive(Debug)]
pub struct Claim {
    /// The session.
    pub session_db_id: SessionId,
    /// The events, in order.
    pub events: Vec<ClaimedEvent>,
}

/// Holds a claimed event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedEvent {
    /// The event.
    pub id: EventId,
    /// The turn; absent for events of the session itself.
    pub turn_id: Option<TurnId>,
    /// The kind of report.
    pub kind: EventKind,
    /// The number of attempts, including this one.
    pub tries: i64,
}

// The first event that has not failed decides whether a session can be claimed.
pub(super) const NEXT_SESSION: &str =
    "with waiting as (select distinct session_db_id from event where state <> 'done' and state = 'pending')
    select session_db_id from waiting
    where not exists (select 1 from event as busy
          where busy.state <> 'done' and busy.state = 'processing' and busy.session_db_id = waiting.session_db_id)
      and (select not_before from event as first where first.state <> 'done' and first.state = 'pending'
          and first.session_db_id = waiting.session_db_id order by key limit 1) <= ?1
    order by session_db_id <= coalesce(?2, 0), session_db_id limit 1";

pub(super) const NEXT_EVENTS: &str = "select id, turn_id, kind, tries from event
    where state <> 'done' and state = 'pending' and session_db_id = ?1 order by key limit ?2";

pub(super) const LEASE: &str =
    "update event set state = 'processing', lease_until = ?2, tries = tries + 1, error = null where id = ?1";

pub(super) const DONE: &str =
    "update event set state = 'done', lease_until = null, error = null where id = ?1";

pub(super) const SUMMARIZED: &str =
    "update session set status = 'active' where id = ?1 and status = 'summarizing'
    and not exists (select 1 from event where state <> 'done' and state in ('pending', 'processing')
        and session_db_id = ?1 and kind = 'stop')";

pub(super) const RELEASE: &str = "update event set state = 'pending', lease_until = null, tries = tries - 1
    where id = ?1 and state = 'processing'";

pub(super) const EXPIRE_ALL: &str =
    "update event set lease_until = 0 where state <> 'done' and state = 'processing'";

pub(super) const CLAMP: &str = "update event set not_before = ?1
    where state <> 'done' and state = 'pending' and not_before > ?1";

pub(super) const EXPIRED: &str = "update event set lease_until = null,
        state = case when tries >= ?2 then 'failed' else 'pending' end,
        error = 'the worker ended while it worked on this'
    where state <> 'done' and state = 'processing' and lease_until <= ?1
    returning id, state";

impl Store {
    /// Claims the next events of one session: the first session after `after` that has work, so that sessions alternate.
    pub fn claim(
        &mut self,
        now: Timestamp,
        lease: Duration,
        after: Option<SessionId>,
        limit: u32,
    ) -> Result<Option<Claim>, StoreError> {
        self.write("claim events", |tx| {
            return_expired(tx, now)?;
            let next = tx.optional_row(NEXT_SESSION, params![now, after], |row| row.get("session_db_id"))?;
            let Some(session_db_id) = next else {
                return Ok(None);
            };
            let events = tx.rows(NEXT_EVENTS, params![session_db_id, limit], |row| {
                Ok(ClaimedEvent {
                    id: row.get("id")?,
                    turn_id: row.get("turn_id")?,
                    kind: row.get("kind")?,
                    tries: row.get::<_, i64>("tries")? + 1,
                })
            })?;
            for event in &events {
                tx.run(LEASE, params![event.id, now + lease])?;
            }
            Ok(Some(Claim {
                session_db_id,
                events,
            }))
        })
    }

    /// Marks events of a session as distilled. The session is no longer `summarizing` once no Stop is left in the queue.
    pub fn finish(&mut self, session: SessionId, ids: &[EventId]) -> Result<(), StoreError> {
        self.write("finish events", |tx| {
            for id in ids {
                tx.run(DONE, [id])?;
            }
            tx.run(SUMMARIZED, [session]).map(drop)
        })
    }

    /// Releases claimed events without counting an attempt, as a worker does that is stopped.
    pub fn release(&mut self, ids: &[EventId]) -> Result<(), StoreError> {
        self.write("release events", |tx| {
            for id in ids {
                tx.run(RELEASE, [id])?;
            }
            Ok(())
        })
    }

    /// Expires all claims, and shortens waits that exceed the longest backoff because the system clock was set back. Only for
    /// the process that holds the worker lock. The attempts count. Returns the number of claims.
    pub fn recover(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        self.write("recover claimed events", |tx| {
            tx.run(CLAMP, [now + BACKOFF * (1 << MAX_ATTEMPTS)])?;
            clamp_leases(tx, now)?;
            clamp_backoffs(tx, now)?;
            tx.run(EXPIRE_ALL, [])
        })
    }
}

/// Returns events with an expired lease to the queue: their worker is dead.
fn return_expired(connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    let returned: Vec<(EventId, EventState)> =
        connection.rows(EXPIRED, params![now, MAX_CRASHES], |row| {
            Ok((row.get("id")?, row.get("state")?))
        })?;
    for (id, state) in returned {
        if state == EventState::Failed {
            connection.run(FAIL_SESSION, [id])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use backstory_model::TurnId;

    use super::*;
    use crate::{
        MODEL_LEASE, MODEL_RETRY_DELAY, NewBackoff,
        queue::tests::{LEASE, ids},
        testing::{at, event, store},
    };

    #[test]
    fn events_are_claimed_in_order_and_finished_once() {
        let mut store = store(&[event("2", "a"), event("1", "a"), event("3", "b")]);
        let claim = store.claim(at(0), LEASE, None, 10).unwrap().unwrap();
        assert_eq!(
            claim
                .events
                .iter()
                .map(|event| event.id.get())
                .collect::<Vec<_>>(),
            [2, 1],
            "by key, not by arrival"
        );
        assert_eq!(
            ids(store.claim(at(0), LEASE, Some(claim.session_db_id), 10).unwrap()),
            [3]
        );
        assert!(
            store.claim(at(0), LEASE, None, 10).unwrap().is_none(),
            "everything is claimed"
        );
        store
            .finish(SessionId::new(1), &[1, 2, 3].map(EventId::new))
            .unwrap();
        assert_eq!(store.queue(10).unwrap().pending, 0);
        assert!(store.claim(at(0) + LEASE * 2, LEASE, None, 10).unwrap().is_none());
    }

    #[test]
    fn sessions_alternate() {
        let events: Vec<_> = (0..6)
            .map(|n| event(&format!("{n}"), ["a", "b", "c"][n % 3]))
            .collect();
        let mut store = store(&events);
        let mut after = None;
        let mut order = Vec::new();
        while let Some(claim) = store.claim(at(0), LEASE, after, 1).unwrap() {
            after = Some(claim.session_db_id);
            order.push(claim.session_db_id.get());
            store.finish(claim.session_db_id, &[claim.events[0].id]).unwrap();
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 3]);
    }

    #[test]
    fn no_event_overtakes_a_claimed_one_of_its_session() {
        let mut store = store(&[event("1", "a"), event("2", "a")]);
        assert_eq!(ids(store.claim(at(0), LEASE, None, 1).unwrap()), [1]);
        assert!(store.claim(at(0), LEASE, None, 1).unwrap().is_none());
        store.finish(SessionId::new(1), &[EventId::new(1)]).unwrap();
        assert_eq!(ids(store.claim(at(0), LEASE, None, 1).unwrap()), [2]);
    }

    #[test]
    fn claims_of_a_dead_worker_expire_and_an_event_that_kills_workers_fails() {
        let mut store = store(&[event("1", "a")]);
        for round in 0..u32::try_from(MAX_CRASHES).unwrap() {
            let now = at(0) + LEASE * round;
            assert_eq!(ids(store.claim(now, LEASE, None, 1).unwrap()), [1]);
            assert!(
                store
                    .claim(now + LEASE - Duration::from_millis(1), LEASE, None, 1)
                    .unwrap()
                    .is_none(),
                "the lease is valid"
            );
        }
        assert!(store.claim(at(0) + LEASE * 8, LEASE, None, 1).unwrap().is_none());
        assert_eq!(store.queue(1).unwrap().failed, 1);
    }

    #[test]
    fn a_new_worker_recovers_claims_at_once() {
        let mut store = store(&[event("1", "a")]);
        assert_eq!(ids(store.claim(at(0), LEASE, None, 1).unwrap()), [1]);
        assert_eq!(store.recover(at(1)).unwrap(), 1);
        assert_eq!(
            store.claim(at(1), LEASE, None, 1).unwrap().unwrap().events[0].tries,
            2
        );
    }

    #[test]
    fn waits_are_shortened_after_the_clock_was_set_back() {
        const YEAR: Timestamp = at(365 * 24 * 3_600_000);
        let mut store = store(&[event("1", "a"), event("2", "b")]);
        assert_eq!(ids(store.claim(YEAR, LEASE, None, 1).unwrap()), [1]);
        store.fail(&[EventId::new(1)], "no luck", YEAR).unwrap();
        let queue = "insert into turn_for_model (turn_id) values (1), (2)";
        store.connection.execute_batch(queue).unwrap();
        let later = store.claim_model_job(YEAR, MODEL_LEASE).unwrap().unwrap();
        store.release_model_job(later, YEAR + MODEL_RETRY_DELAY).unwrap();
        assert_eq!(
            store.claim_model_job(YEAR, MODEL_LEASE).unwrap().unwrap().turn_id,
            TurnId::new(1)
        );
        let backoff = NewBackoff {
            reason: "unreachable",
            message: "away",
            until: YEAR,
        };
        store.back_off_provider("p", &backoff, YEAR).unwrap();
        store.recover(at(0)).unwrap();

        assert_eq!(
            ids(store
                .claim(
                    at(0) + BACKOFF * (1 << MAX_ATTEMPTS),
                    LEASE,
                    Some(SessionId::new(2)),
                    1
                )
                .unwrap()),
            [1]
        );
        let mut next = |now| {
            let claimed = store.claim_model_job(now, MODEL_LEASE).unwrap();
            claimed.map(|turn| turn.turn_id.get())
        };
        assert_eq!(next(at(0) + MODEL_LEASE - Duration::from_millis(1)), None);
        assert_eq!(next(at(0) + MODEL_LEASE), Some(1));
        assert_eq!(next(at(0) + MODEL_RETRY_DELAY), Some(2));
        let backoff = store.provider_backoffs().unwrap().remove(0);
        assert_eq!((backoff.since, backoff.until), (at(0), at(24 * 3_600_000)));
        // Valid waits are not changed.
        store.recover(at(1_000)).unwrap();
        assert_eq!(store.provider_backoffs().unwrap().remove(0), backoff);
    }

    #[test]
    fn a_release_does_not_count_as_an_attempt() {
        let mut store = store(&[event("1", "a")]);
        for _ in 0..10 {
            assert_eq!(
                store.claim(at(0), LEASE, None, 1).unwrap().unwrap().events[0].tries,
                1
            );
            store.release(&[EventId::new(1)]).unwrap();
        }
    }
}
