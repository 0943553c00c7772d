//! Who works on what: events are claimed, and finished or given back.
//!
//! A claim is a lease, not an open transaction: work may take minutes. A worker that dies keeps nothing, its claims run
//! out and return. Tries are counted when work is claimed, so that an event which kills the worker is given up too; later
//! than one that fails, for a worker may be killed over work that is not to blame.
//! Within a session the order holds: nothing of it is claimed while something earlier is under way or waits for
//! another try.

use backstory_model::{EventId, EventKind, EventState, SessionId, Timestamp, TurnId};
use std::time::Duration;

use rusqlite::{Row, TransactionBehavior, params};

use super::attempts::{BACKOFF, FAILED_SESSION, MAX_ATTEMPTS};
use crate::{
    Store, StoreError, models::model_queue::clamp_leases, models::provider_backoff::clamp_backoffs,
    schema::open::query,
};

/// How often a worker may end over an event before the event is held to be the reason.
const MAX_CRASHES: i64 = 8;

/// A share of the queue that one worker has for itself until the lease runs out.
#[derive(Debug)]
pub struct Claim {
    /// The session that all of it belongs to.
    pub session_db_id: SessionId,
    /// The events, in their order.
    pub events: Vec<ClaimedEvent>,
}

/// An event under a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedEvent {
    /// The number of the event.
    pub id: EventId,
    /// The turn it belongs to; session-level events have none.
    pub turn_id: Option<TurnId>,
    /// What happened.
    pub kind: EventKind,
    /// What the hook was given, cleaned.
    pub payload: String,
    /// How often it was claimed, this time included.
    pub tries: i64,
}

impl Store {
    /// Claims the next share of one session: the first after `after` in turn that has something to do, so that sessions
    /// take turns whatever their backlog.
    pub fn claim(
        &mut self,
        now: Timestamp,
        lease: Duration,
        after: Option<SessionId>,
        most: u32,
    ) -> Result<Option<Claim>, StoreError> {
        // The earliest event that is not given up decides whether a session can go on.
        const NEXT: &str =
            "with waiting as (select distinct session_db_id from event where state <> 'done' and state = 'pending')
            select session_db_id from waiting
            where not exists (select 1 from event as busy
                  where busy.state <> 'done' and busy.state = 'processing' and busy.session_db_id = waiting.session_db_id)
              and (select not_before from event as first where first.state <> 'done' and first.state = 'pending'
                  and first.session_db_id = waiting.session_db_id order by key limit 1) <= ?1
            order by session_db_id <= coalesce(?2, 0), session_db_id limit 1";
        const EVENTS: &str = "select id, turn_id, kind, payload, tries from event
            where state <> 'done' and state = 'pending' and session_db_id = ?1 order by key limit ?2";
        const LEASE: &str = "update event set state = 'processing', lease_until = ?2, tries = tries + 1, error = null where id = ?1";
        let attempt = query("claim work from the queue");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        return_expired(&transaction, now).map_err(attempt)?;
        let run = || -> rusqlite::Result<Option<Claim>> {
            let mut next = transaction.prepare_cached(NEXT)?;
            let Some(session_db_id) = next
                .query_map(params![now, after], |row| row.get(0))?
                .next()
                .transpose()?
            else {
                return Ok(None);
            };
            let mut events = transaction.prepare_cached(EVENTS)?;
            let events = events.query_map(params![session_db_id, most], claimed)?;
            let events: Vec<ClaimedEvent> = events.collect::<Result<_, _>>()?;
            for event in &events {
                transaction
                    .prepare_cached(LEASE)?
                    .execute(params![event.id, now + lease])?;
            }
            Ok(Some(Claim {
                session_db_id,
                events,
            }))
        };
        let claim = run().map_err(attempt)?;
        transaction.commit().map_err(attempt)?;
        Ok(claim)
    }

    /// Takes finished events of a session out of the queue. When no end of a turn waits any more, its summaries are made.
    pub fn finish(&mut self, session_db_id: SessionId, ids: &[EventId]) -> Result<(), StoreError> {
        const DONE: &str = "update event set state = 'done', lease_until = null, error = null where id = ?1";
        const SUMMARIZED: &str =
            "update session set status = 'active' where id = ?1 and status = 'summarizing'
            and not exists (select 1 from event where state <> 'done' and state in ('pending', 'processing')
                and session_db_id = ?1 and kind = 'stop')";
        let attempt = query("finish work");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let run = || -> rusqlite::Result<()> {
            for &id in ids {
                transaction.prepare_cached(DONE)?.execute([id])?;
            }
            transaction
                .prepare_cached(SUMMARIZED)?
                .execute([session_db_id])
                .map(drop)
        };
        run().map_err(attempt)?;
        transaction.commit().map_err(attempt)
    }

    /// Gives claimed events back untried, as a worker does that is told to stop.
    pub fn release(&mut self, ids: &[EventId]) -> Result<(), StoreError> {
        const RELEASE: &str = "update event set state = 'pending', lease_until = null, tries = tries - 1
            where id = ?1 and state = 'processing'";
        self.for_each(
            ids,
            "release work",
            |statement, id| statement.execute([id]),
            RELEASE,
        )
    }

    /// Gives back what a worker that is gone had claimed, and shortens waits that no clock can have meant: it was set back
    /// since. Only for whoever is the one worker; the tries count.
    pub fn recover(&mut self, now: Timestamp) -> Result<usize, StoreError> {
        const RECOVER: &str =
            "update event set lease_until = 0 where state <> 'done' and state = 'processing'";
        const SHORTEN: &str = "update event set not_before = ?1
            where state <> 'done' and state = 'pending' and not_before > ?1";
        let attempt = query("recover claimed work");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let run = || -> rusqlite::Result<usize> {
            transaction.execute(SHORTEN, [now + BACKOFF * (1 << MAX_ATTEMPTS)])?;
            clamp_leases(&transaction, now)?;
            clamp_backoffs(&transaction, now)?;
            transaction.execute(RECOVER, [])
        };
        let recovered = run().map_err(attempt)?;
        transaction.commit().map_err(attempt)?;
        Ok(recovered)
    }
}

/// Ends leases that ran out: the worker that held them is gone.
fn return_expired(connection: &rusqlite::Connection, now: Timestamp) -> rusqlite::Result<()> {
    const EXPIRED: &str = "update event set lease_until = null,
            state = case when tries >= ?2 then 'failed' else 'pending' end,
            error = 'the worker ended while it worked on this'
        where state <> 'done' and state = 'processing' and lease_until <= ?1
        returning id, state";
    let mut expired = connection.prepare_cached(EXPIRED)?;
    let returned = expired
        .query_map(params![now, MAX_CRASHES], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<Vec<(EventId, EventState)>>>()?;
    for (id, _) in returned.iter().filter(|(_, state)| *state == EventState::Failed) {
        connection.prepare_cached(FAILED_SESSION)?.execute([id])?;
    }
    Ok(())
}

fn claimed(row: &Row<'_>) -> rusqlite::Result<ClaimedEvent> {
    let tries: i64 = row.get(4)?;
    Ok(ClaimedEvent {
        id: row.get(0)?,
        turn_id: row.get(1)?,
        kind: row.get(2)?,
        payload: row.get(3)?,
        tries: tries + 1,
    })
}

#[cfg(test)]
mod tests {
    use backstory_model::TurnId;

    use super::*;
    use crate::{
        MODEL_LEASE, MODEL_RETRY_DELAY, NewBackoff,
        queue::tests::{LEASE, kinds},
        testing::{at, event, store},
    };

    #[test]
    fn work_is_claimed_in_order_and_finished_once() {
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
            kinds(store.claim(at(0), LEASE, Some(claim.session_db_id), 10).unwrap()),
            [3]
        );
        assert!(
            store.claim(at(0), LEASE, None, 10).unwrap().is_none(),
            "all is claimed"
        );
        store
            .finish(SessionId::new(1), &[1, 2, 3].map(EventId::new))
            .unwrap();
        assert_eq!(store.queue(10).unwrap().pending, 0);
        assert!(store.claim(at(0) + LEASE * 2, LEASE, None, 10).unwrap().is_none());
    }

    #[test]
    fn sessions_take_turns() {
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
    fn nothing_of_a_session_overtakes_what_is_under_way() {
        let mut store = store(&[event("1", "a"), event("2", "a")]);
        assert_eq!(kinds(store.claim(at(0), LEASE, None, 1).unwrap()), [1]);
        assert!(store.claim(at(0), LEASE, None, 1).unwrap().is_none());
        store.finish(SessionId::new(1), &[EventId::new(1)]).unwrap();
        assert_eq!(kinds(store.claim(at(0), LEASE, None, 1).unwrap()), [2]);
    }

    #[test]
    fn what_a_dead_worker_held_returns_and_what_kills_workers_is_given_up() {
        let mut store = store(&[event("1", "a")]);
        for round in 0..u32::try_from(MAX_CRASHES).unwrap() {
            let now = at(0) + LEASE * round;
            assert_eq!(kinds(store.claim(now, LEASE, None, 1).unwrap()), [1]);
            assert!(
                store
                    .claim(now + LEASE - Duration::from_millis(1), LEASE, None, 1)
                    .unwrap()
                    .is_none(),
                "the lease holds"
            );
        }
        assert!(store.claim(at(0) + LEASE * 8, LEASE, None, 1).unwrap().is_none());
        assert_eq!(store.queue(1).unwrap().failed, 1);
    }

    #[test]
    fn a_new_worker_takes_over_at_once() {
        let mut store = store(&[event("1", "a")]);
        assert_eq!(kinds(store.claim(at(0), LEASE, None, 1).unwrap()), [1]);
        assert_eq!(store.recover(at(1)).unwrap(), 1);
        assert_eq!(
            store.claim(at(1), LEASE, None, 1).unwrap().unwrap().events[0].tries,
            2
        );
    }

    #[test]
    fn a_clock_that_was_set_back_holds_nothing_up_for_longer_than_it_was_meant_to() {
        const YEAR: Timestamp = at(365 * 24 * 3_600_000);
        let mut store = store(&[event("1", "a"), event("2", "b")]);
        assert_eq!(kinds(store.claim(YEAR, LEASE, None, 1).unwrap()), [1]);
        store.fail(&[EventId::new(1)], "no luck", YEAR).unwrap();
        let wish = "insert into turn_for_model (turn_id) values (1), (2)";
        store.connection.execute_batch(wish).unwrap();
        let later = store.claim_model_job(YEAR, MODEL_LEASE).unwrap().unwrap();
        store.release_model_job(later, YEAR + MODEL_RETRY_DELAY).unwrap();
        assert_eq!(
            store.claim_model_job(YEAR, MODEL_LEASE).unwrap().unwrap().turn_id,
            TurnId::new(1)
        );
        let pause = NewBackoff {
            reason: "unreachable",
            said: "away",
            until: YEAR,
        };
        store.back_off_provider("p", &pause, YEAR).unwrap();
        store.recover(at(0)).unwrap();

        assert_eq!(
            kinds(
                store
                    .claim(
                        at(0) + BACKOFF * (1 << MAX_ATTEMPTS),
                        LEASE,
                        Some(SessionId::new(2)),
                        1
                    )
                    .unwrap()
            ),
            [1]
        );
        let mut next = |now| {
            let claimed = store.claim_model_job(now, MODEL_LEASE).unwrap();
            claimed.map(|turn| turn.turn_id.get())
        };
        assert_eq!(next(at(0) + MODEL_LEASE - Duration::from_millis(1)), None);
        assert_eq!(next(at(0) + MODEL_LEASE), Some(1));
        assert_eq!(next(at(0) + MODEL_RETRY_DELAY), Some(2));
        let pause = store.provider_pauses().unwrap().remove(0);
        assert_eq!((pause.since, pause.until), (at(0), at(24 * 3_600_000)));
        // What is as it should be stays as it is.
        store.recover(at(1_000)).unwrap();
        assert_eq!(store.provider_pauses().unwrap().remove(0), pause);
    }

    #[test]
    fn released_work_was_not_tried() {
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
