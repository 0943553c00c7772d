//! The last sequence numbers of watched projects, for requests that wait for news.
//!
//! Waiting requests hold no connection: one task asks once per second, in one query, for the heads of all watched projects.
//! A push through this process wakes waiters at once; pushes through other processes are seen by the query.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

use crate::{database::Databases, sql};

/// Time between two queries.
const INTERVAL: Duration = Duration::from_secs(1);

/// Watched projects, each with its last known head.
#[derive(Debug, Default)]
pub(crate) struct Heads {
    projects: Mutex<HashMap<i32, watch::Sender<i64>>>,
}

impl Heads {
    /// Watches a project, until the receiver is dropped.
    pub(crate) fn watch(&self, project: i32, head: i64) -> watch::Receiver<i64> {
        self.lock()
            .entry(project)
            .or_insert_with(|| watch::Sender::new(head))
            .subscribe()
    }

    /// Wakes those who wait for changes of a project.
    pub(crate) fn advance(&self, project: i32, head: i64) {
        if let Some(sender) = self.lock().get(&project) {
            sender.send_if_modified(|known| {
                let is_new = head > *known;
                *known = head.max(*known);
                is_new
            });
        }
    }

    /// Returns the watched projects, and forgets those that are no longer watched.
    fn watched(&self) -> Vec<i32> {
        let mut projects = self.lock();
        projects.retain(|_, sender| sender.receiver_count() > 0);
        projects.keys().copied().collect()
    }

    /// Returns the number of waiting requests.
    pub(crate) fn waiting(&self) -> usize {
        self.lock().values().map(watch::Sender::receiver_count).sum()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<i32, watch::Sender<i64>>> {
        self.projects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks for the heads of watched projects, for ever.
pub(crate) async fn follow(heads: &Heads, databases: &Databases) {
    let mut ticks = tokio::time::interval(INTERVAL);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let watched = heads.watched();
        if watched.is_empty() {
            continue;
        }
        // While the database is down the waiters keep waiting; their own next request says so.
        if let Ok(client) = databases.primary().await
            && let Ok(current) = sql::project::heads(&client, &watched).await
        {
            for (project, head) in current {
                heads.advance(project, head);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiters_are_woken_by_higher_numbers_only() {
        let heads = Heads::default();
        let waiter = heads.watch(7, 3);
        heads.advance(7, 3);
        heads.advance(8, 9);
        assert!(!waiter.has_changed().unwrap());
        heads.advance(7, 4);
        assert!(waiter.has_changed().unwrap());
        heads.advance(7, 2);
        assert_eq!(*waiter.borrow(), 4);
        assert_eq!((heads.watched(), heads.waiting()), (vec![7], 1));
        drop(waiter);
        assert!(heads.watched().is_empty());
    }
}
