//! Failed attempts: backoff, and the failed state after the last one.
//!
//! A failed event is skipped and stays visible until the user retries it.

use std::time::Duration;

use backstory_model::{EventId, Timestamp};
use rusqlite::params;

use crate::{
    Store, StoreError,
    sql::{Statements as _, millis},
};

/// The number of attempts before an event fails permanently.
pub const MAX_ATTEMPTS: i64 = 3;

/// The delay before the second attempt. It doubles with every further one.
pub(super) const BACKOFF: Duration = Duration::from_secs(2);

/// Marks the session of an event that has just failed permanently.
pub(super) const FAIL_SESSION: &str = "update session set status = 'failed' where status <> 'failed'
    and id = (select session_db_id from event where id = ?1 and state = 'failed')";

pub(super) const FAIL: &str = "update event set lease_until = null, error = ?2,
        state = case when tries >= ?3 then 'failed' else 'pending' end,
        not_before = ?4 + (?5 << (tries - 1))
    where id = ?1 and state = 'processing'";

pub(super) const RETRY_ALL: &str = "update event set state = 'pending', tries = 0, not_before = 0 where state <> 'done' and state = 'failed'";

pub(super) const RETRY_ONE: &str =
    "update event set state = 'pending', tries = 0, not_before = 0 where id = ?1 and state = 'failed'";

pub(super) const RESUME_SESSIONS: &str =
    "update session set status = case when ended_at is null then 'active' else 'completed' end
    where status = 'failed' and not exists (select 1 from event
        where state <> 'done' and state = 'failed' and session_db_id = session.id)";

impl Store {
    /// Ends a failed attempt: the events wait for the next one, or fail permanently, and their sessions with them.
    pub fn fail(&mut self, ids: &[EventId], error: &str, now: Timestamp) -> Result<(), StoreError> {
        self.write("store a failed attempt", |tx| {
            for id in ids {
                tx.run(FAIL, params![id, error, MAX_ATTEMPTS, now, millis(BACKOFF)])?;
                tx.run(FAIL_SESSION, [id])?;
            }
            Ok(())
        })
    }

    /// Puts failed events back into the queue: the given ones, or all if none are given. A session without failed events
    /// returns to its earlier state. Returns the number of events.
    pub fn retry(&mut self, ids: &[EventId]) -> Result<usize, StoreError> {
        self.write("retry failed events", |tx| {
            let mut retried = 0;
            if ids.is_empty() {
                retried += tx.run(RETRY_ALL, [])?;
            }
            for id in ids {
                retried += tx.run(RETRY_ONE, [id])?;
            }
            if retried > 0 {
                tx.run(RESUME_SESSIONS, [])?;
            }
            Ok(retried)
        })
    }
}

#[cfg(test)]
mod tests {
    use backstory_model::{EventState, SessionId};

    use super::*;
    use crate::{
        queue::tests::{LEASE, ids},
        testing::{at, event, store},
    };

    /// Lets the session after this one go first.
    const OTHER: Option<SessionId> = Some(SessionId::new(2));

    #[test]
    fn failed_attempts_back_off_and_the_third_is_final() {
        let mut store = store(&[event("1", "a"), event("2", "b")]);
        let mut now = at(0);
        for wait in [BACKOFF, 2 * BACKOFF] {
            assert_eq!(ids(store.claim(now, LEASE, OTHER, 1).unwrap()), [1]);
            store.fail(&[EventId::new(1)], "no luck", now).unwrap();
            assert_ne!(
                ids(store
                    .claim(now + wait - Duration::from_millis(1), LEASE, OTHER, 1)
                    .unwrap()),
                [1],
                "too early"
            );
            now = now + wait;
        }
        assert_eq!(ids(store.claim(now, LEASE, OTHER, 1).unwrap()), [1]);
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
        assert_eq!(ids(store.claim(now, LEASE, OTHER, 1).unwrap()), [1]);
    }

    #[test]
    fn an_event_that_always_fails_does_not_block_its_session() {
        let mut store = store(&[event("1", "a"), event("2", "a")]);
        for now in [0, 100_000, 200_000].map(at) {
            assert_eq!(ids(store.claim(now, LEASE, None, 1).unwrap()), [1]);
            store.fail(&[EventId::new(1)], "poison", now).unwrap();
        }
        assert_eq!(ids(store.claim(at(300_000), LEASE, None, 1).unwrap()), [2]);
        assert_eq!(store.retry(&[]).unwrap(), 1);
    }
}
