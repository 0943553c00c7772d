//! Backoff of providers that fail.
//!
//! After the backoff one call is the probe; the other calls wait for its result.

use std::time::Duration;

use backstory_model::Timestamp;
use rusqlite::{Connection, params};
use serde::Serialize;

use crate::{Store, StoreError, sql::Statements as _};

/// Holds the reason and the end of a backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewBackoff<'c> {
    /// The name of the error.
    pub reason: &'c str,
    /// The error message.
    pub message: &'c str,
    /// The end of the backoff.
    pub until: Timestamp,
}

/// Holds a provider in backoff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProviderBackoff {
    /// The provider.
    pub provider: String,
    /// The name of the error.
    pub reason: String,
    /// The error message.
    #[serde(rename = "said")]
    pub message: String,
    /// The first failure.
    #[serde(skip)]
    pub since: Timestamp,
    /// The end of the backoff; then one call probes the provider.
    #[serde(skip)]
    pub until: Timestamp,
    /// The number of failures in a row.
    pub failures: u32,
}

/// The time after which another call may probe: the process of the first probe may have died.
const PROBE_LEASE: Duration = Duration::from_mins(15);

/// Maximum backoff, also for a delay that the provider's server requests.
const MAX_BACKOFF: Duration = Duration::from_hours(24);

impl Store {
    /// Starts or extends the backoff of a provider.
    pub fn back_off_provider(
        &mut self,
        provider: &str,
        backoff: &NewBackoff<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const BACK_OFF: &str = "insert into provider_pause (provider, reason, said, since, until, failures)
            values (?1, ?2, ?3, ?4, ?5, 1)
            on conflict (provider) do update set reason = ?2, said = ?3, until = ?5, failures = failures + 1, probe_until = null";
        let values = params![provider, backoff.reason, backoff.message, now, backoff.until];
        self.write("store the backoff of a provider", |tx| {
            tx.run(BACK_OFF, values).map(drop)
        })
    }

    /// Ends the backoff of a provider that answered.
    pub fn resume_provider(&mut self, provider: &str) -> Result<(), StoreError> {
        const RESUME: &str = "delete from provider_pause where provider = ?1";
        self.write("end the backoff of a provider", |tx| {
            tx.run(RESUME, [provider]).map(drop)
        })
    }

    /// Ends the wait of a provider: the next call is a probe.
    pub fn end_backoff(&mut self, provider: &str, now: Timestamp) -> Result<(), StoreError> {
        const END: &str =
            "update provider_pause set until = min(until, ?2), probe_until = null where provider = ?1";
        self.write("end the backoff of a provider", |tx| {
            tx.run(END, params![provider, now]).map(drop)
        })
    }

    /// Ends a probe without a result: the next call probes again.
    pub fn end_probe(&mut self, provider: &str) -> Result<(), StoreError> {
        const END: &str = "update provider_pause set probe_until = null where provider = ?1";
        self.write("end the probe of a provider", |tx| {
            tx.run(END, [provider]).map(drop)
        })
    }

    /// Returns the providers in backoff, including those that await a probe.
    pub fn provider_backoffs(&self) -> Result<Vec<ProviderBackoff>, StoreError> {
        const BACKOFFS: &str =
            "select provider, reason, said, since, until, failures from provider_pause order by provider";
        self.read("read the backoff of providers", |connection| {
            connection.rows(BACKOFFS, [], |row| {
                Ok(ProviderBackoff {
                    provider: row.get("provider")?,
                    reason: row.get("reason")?,
                    message: row.get("said")?,
                    since: row.get("since")?,
                    until: row.get("until")?,
                    failures: row.get("failures")?,
                })
            })
        })
    }
}

/// Shortens backoffs that are longer than any this version sets: the system clock was set back.
pub(crate) fn clamp_backoffs(connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    const CLAMP: &str = "update provider_pause set since = min(since, ?1), until = min(until, ?2), probe_until = min(probe_until, ?3)
        where since > ?1 or until > ?2 or probe_until > ?3";
    connection
        .run(CLAMP, params![now, now + MAX_BACKOFF, now + PROBE_LEASE])
        .map(drop)
}

/// Returns the end of a provider's backoff. After the backoff, the caller's call becomes the probe, and other calls wait.
pub(crate) fn backoff_until(
    connection: &Connection,
    provider: &str,
    now: Timestamp,
) -> rusqlite::Result<Option<Timestamp>> {
    const UNTIL: &str =
        "select max(until, coalesce(probe_until, 0)) as until from provider_pause where provider = ?1";
    const START_PROBE: &str = "update provider_pause set probe_until = ?2 where provider = ?1";
    let until: Option<Timestamp> = connection.optional_row(UNTIL, [provider], |row| row.get("until"))?;
    if until.is_some_and(|until| until <= now) {
        connection.run(START_PROBE, params![provider, now + PROBE_LEASE])?;
    }
    Ok(until.filter(|until| *until > now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Permit, TokenBudget,
        models::ledger::tests::{BUDGET, call, two_sessions},
        testing::at,
    };

    #[test]
    fn after_a_backoff_one_call_probes_and_the_others_wait() {
        let mut store = two_sessions();
        let budget = TokenBudget {
            daily_tokens: 1_000_000,
            ..BUDGET
        };
        let backoff = |until| NewBackoff {
            reason: "quota-spent",
            message: "no credit",
            until: at(until),
        };
        store
            .back_off_provider("anthropic", &backoff(5_000), at(2_000))
            .unwrap();
        let ask = |store: &mut Store, now| store.reserve_call(&call(1), &budget, at(now)).unwrap();
        assert_eq!(ask(&mut store, 4_999), Permit::Paused { until: at(5_000) });
        assert!(matches!(ask(&mut store, 5_000), Permit::Granted(_)));
        assert!(matches!(ask(&mut store, 5_001), Permit::Paused { .. }));
        // The probe failed: a longer backoff, and another probe.
        store
            .back_off_provider("anthropic", &backoff(9_000), at(5_002))
            .unwrap();
        assert_eq!(ask(&mut store, 6_000), Permit::Paused { until: at(9_000) });
        let backoffs = store.provider_backoffs().unwrap();
        assert_eq!((backoffs[0].failures, backoffs[0].since), (2, at(2_000)));
        assert!(matches!(ask(&mut store, 9_000), Permit::Granted(_)));
        store.resume_provider("anthropic").unwrap();
        assert!(matches!(ask(&mut store, 9_001), Permit::Granted(_)));
        assert_eq!(store.provider_backoffs().unwrap(), []);
    }
}
