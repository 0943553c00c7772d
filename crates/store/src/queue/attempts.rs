//! What becomes of an event that could not be distilled: another try after a while, or it is given up.
//!
//! An event that failed for good is passed over and stays visible, until a person asks for another round.

use std::time::Duration;

use backstory_model::{EventId, Timestamp};
use rusqlite::{TransactionBehavior, params};

use crate::{
    Store, StoreError,
    schema::open::{millis, query},
};

/// How often an event is tried before it is failed.
pub const MAX_ATTEMPTS: i64 = 3;

/// The wait before the second try; doubled before each further one.
pub(super) const BACKOFF: Duration = Duration::from_secs(2);

/// A session of which an event was just given up.
pub(super) const FAILED_SESSION: &str = "update session set status = 'failed' where status <> 'failed'
    and id = (select session_db_id from event where id = ?1 and state = 'failed')";

impl Store {
    /// Notes that a try failed: another one follows after a while, or the event is given up, and its session with it.
    pub fn fail(&mut self, ids: &[EventId], error: &str, now: Timestamp) -> Result<(), StoreError> {
        const FAIL: &str = "update event set lease_until = null, error = ?2,
                state = case when tries >= ?3 then 'failed' else 'pending' end,
                not_before = ?4 + (?5 << (tries - 1))
            where id = ?1 and state = 'processing'";
        let run = |statement: &mut rusqlite::Statement<'_>, id: EventId| {
            statement.execute(params![id, error, MAX_ATTEMPTS, now, millis(BACKOFF)])
        };
        self.for_each(ids, "note failed work", run, FAIL)?;
        self.for_each(
            ids,
            "note a failed session",
            |statement, id| statement.execute([id]),
            FAILED_SESSION,
        )
    }

    /// Gives failed events another round: these, or all. Returns how many. A session of which nothing is given up any
    /// more stands where it stood before.
    pub fn retry(&mut self, ids: &[EventId]) -> Result<usize, StoreError> {
        const ALL: &str = "update event set state = 'pending', tries = 0, not_before = 0 where state <> 'done' and state = 'failed'";
        const ONE: &str = "update event set state = 'pending', tries = 0, not_before = 0 where id = ?1 and state = 'failed'";
        const SESSIONS: &str =
            "update session set status = case when ended_at is null then 'active' else 'completed' end
            where status = 'failed' and not exists (select 1 from event
                where state <> 'done' and state = 'failed' and session_db_id = session.id)";
        let attempt = query("retry failed work");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let run = || -> rusqlite::Result<usize> {
            let mut retried = 0;
            if ids.is_empty() {
                retried += transaction.execute(ALL, [])?;
            }
            for id in ids {
                retried += transaction.prepare_cached(ONE)?.execute([id])?;
            }
            if retried > 0 {
                transaction.execute(SESSIONS, [])?;
            }
            Ok(retried)
        };
        let retried = run().map_err(attempt)?;
        transaction.commit().map_err(attempt)?;
        Ok(retried)
    }
}

#[cfg(test)]
mod tests {
    use backstory_model::{EventState, SessionId};

    use super::*;
    use crate::{
        queue::tests::{LEASE, kinds},
        testing::{at, event, store},
    };

    /// Lets the session after this one claim first.
    const OTHER: Option<SessionId> = Some(SessionId::new(2));

    #[test]
    fn a_try_that_fails_waits_longer_each_time_and_is_given_up_after_three() {
        let mut store = store(&[event("1", "a"), event("2", "b")]);
        let mut now = at(0);
        for wait in [BACKOFF, 2 * BACKOFF] {
            assert_eq!(kinds(store.claim(now, LEASE, OTHER, 1).unwrap()), [1]);
            store.fail(&[EventId::new(1)], "no luck", now).unwrap();
            assert_ne!(
                kinds(
                    store
                        .claim(now + wait - Duration::from_millis(1), LEASE, OTHER, 1)
                        .unwrap()
                ),
                [1],
                "too early"
            );
            now = now + wait;
        }
        assert_eq!(kinds(store.claim(now, LEASE, OTHER, 1).unwrap()), [1]);
        store.fail(&[EventId::new(1)], "no luck", now).unwrap();
        let queue = store.queue(10).unwrap();
        assert_eq!((queue.pending, queue.processing, queue.failed), (0, 1, 1));
        assert_eq!(queue.items[0].error.as_deref(), Some("no luck"));
        assert_eq!(queue.items[0].state, EventState::Failed);
        assert_eq!(
            store.retry(&[EventId::new(2)]).unwrap(),
            0,
            "only failed events are retried"
        );
        assert_eq!(store.retry(&[EventId::new(1), EventId::new(99)]).unwrap(), 1);
        assert_eq!(kinds(store.claim(now, LEASE, OTHER, 1).unwrap()), [1]);
    }

    #[test]
    fn a_poisoned_event_does_not_hold_up_its_session() {
        let mut store = store(&[event("1", "a"), event("2", "a")]);
        for now in [0, 100_000, 200_000].map(at) {
            assert_eq!(kinds(store.claim(now, LEASE, None, 1).unwrap()), [1]);
            store.fail(&[EventId::new(1)], "poison", now).unwrap();
        }
        assert_eq!(kinds(store.claim(at(300_000), LEASE, None, 1).unwrap()), [2]);
        assert_eq!(store.retry(&[]).unwrap(), 1);
    }
}
