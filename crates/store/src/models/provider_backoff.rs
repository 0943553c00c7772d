//! Providers in trouble: who is left alone, why and until when.
//!
//! When the time is over, one call is let through to see whether all is well again; the others wait for it.

use backstory_model::Timestamp;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

use crate::{Store, StoreError, schema::open::query};

/// Why a provider is to be left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewBackoff<'c> {
    /// The name of what went wrong.
    pub reason: &'c str,
    /// What was said about it.
    pub said: &'c str,
    /// Until when, in milliseconds since 1970.
    pub until: Timestamp,
}

/// A provider that is left alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProviderBackoff {
    /// Who.
    pub provider: String,
    /// The name of what went wrong.
    pub reason: String,
    /// What was said about it.
    pub said: String,
    /// Since when, in milliseconds since 1970.
    #[serde(skip)]
    pub since: Timestamp,
    /// Until when, in milliseconds since 1970. Past that, one call looks whether all is well again.
    #[serde(skip)]
    pub until: Timestamp,
    /// How often in a row it went wrong.
    pub failures: u32,
}

/// How long somebody may look whether a provider is well again.
const PROBE: Duration = Duration::from_mins(15);

/// No provider is left alone for longer, whatever its server says.
const MAX_BACKOFF: Duration = Duration::from_hours(24);

impl Store {
    /// Leaves a provider alone for a while.
    pub fn back_off_provider(
        &mut self,
        provider: &str,
        pause: &NewBackoff<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const PAUSE: &str = "insert into provider_pause (provider, reason, said, since, until, failures)
            values (?1, ?2, ?3, ?4, ?5, 1)
            on conflict (provider) do update set reason = ?2, said = ?3, until = ?5, failures = failures + 1, probe_until = null";
        let values = params![provider, pause.reason, pause.said, now, pause.until];
        self.connection
            .execute(PAUSE, values)
            .map(drop)
            .map_err(query("note that a provider is in trouble"))
    }

    /// Notes that a provider is well.
    pub fn resume_provider(&mut self, provider: &str) -> Result<(), StoreError> {
        const RESUME: &str = "delete from provider_pause where provider = ?1";
        self.connection
            .execute(RESUME, [provider])
            .map(drop)
            .map_err(query("note that a provider is well"))
    }

    /// Ends the wait of a provider: the next call looks whether all is well again.
    pub fn end_pause(&mut self, provider: &str, now: Timestamp) -> Result<(), StoreError> {
        const END: &str =
            "update provider_pause set until = min(until, ?2), probe_until = null where provider = ?1";
        self.connection
            .execute(END, params![provider, now])
            .map(drop)
            .map_err(query("end the wait of a provider"))
    }

    /// Notes that nobody looks any more whether a provider is well again.
    pub fn end_probe(&mut self, provider: &str) -> Result<(), StoreError> {
        const END: &str = "update provider_pause set probe_until = null where provider = ?1";
        self.connection
            .execute(END, [provider])
            .map(drop)
            .map_err(query("note that nobody looks after a provider"))
    }

    /// Returns the providers that are left alone, or were until somebody looks.
    pub fn provider_pauses(&self) -> Result<Vec<ProviderBackoff>, StoreError> {
        const PAUSES: &str =
            "select provider, reason, said, since, until, failures from provider_pause order by provider";
        let attempt = query("read which providers are in trouble");
        let mut statement = self.connection.prepare_cached(PAUSES).map_err(attempt)?;
        let rows = statement.query_map([], |row| {
            Ok(ProviderBackoff {
                provider: row.get(0)?,
                reason: row.get(1)?,
                said: row.get(2)?,
                since: row.get(3)?,
                until: row.get(4)?,
                failures: row.get(5)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }
}

/// Shortens pauses that are longer than any that is given: the clock was set back since.
pub(crate) fn clamp_backoffs(connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    const SHORTEN: &str = "update provider_pause set since = min(since, ?1), until = min(until, ?2), probe_until = min(probe_until, ?3)
        where since > ?1 or until > ?2 or probe_until > ?3";
    connection
        .execute(SHORTEN, params![now, now + MAX_BACKOFF, now + PROBE])
        .map(drop)
}

/// Says until when a provider is left alone. When that is over, the one who asks is to look, and others wait for him.
pub(crate) fn paused_until(
    connection: &Connection,
    provider: &str,
    now: Timestamp,
) -> rusqlite::Result<Option<Timestamp>> {
    const PAUSE: &str = "select max(until, coalesce(probe_until, 0)) from provider_pause where provider = ?1";
    const START_PROBE: &str = "update provider_pause set probe_until = ?2 where provider = ?1";
    let mut statement = connection.prepare_cached(PAUSE)?;
    let until: Option<Timestamp> = statement
        .query_row([provider], |row| row.get(0))
        .optional()?
        .flatten();
    if until.is_some_and(|until| until <= now) {
        connection
            .prepare_cached(START_PROBE)?
            .execute(params![provider, now + PROBE])?;
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
    fn after_a_pause_one_call_looks_and_the_others_wait_for_it() {
        let mut store = two_sessions();
        let budget = TokenBudget {
            daily_tokens: 1_000_000,
            ..BUDGET
        };
        let pause = |until| NewBackoff {
            reason: "quota-spent",
            said: "no credit",
            until: at(until),
        };
        store
            .back_off_provider("anthropic", &pause(5_000), at(2_000))
            .unwrap();
        let ask = |store: &mut Store, now| store.reserve_call(&call(1), &budget, at(now)).unwrap();
        assert_eq!(ask(&mut store, 4_999), Permit::Paused { until: at(5_000) });
        assert!(matches!(ask(&mut store, 5_000), Permit::Granted(_)));
        assert!(matches!(ask(&mut store, 5_001), Permit::Paused { .. }));
        // The look failed: a longer wait, and one more look.
        store
            .back_off_provider("anthropic", &pause(9_000), at(5_002))
            .unwrap();
        assert_eq!(ask(&mut store, 6_000), Permit::Paused { until: at(9_000) });
        let pauses = store.provider_pauses().unwrap();
        assert_eq!((pauses[0].failures, pauses[0].since), (2, at(2_000)));
        assert!(matches!(ask(&mut store, 9_000), Permit::Granted(_)));
        store.resume_provider("anthropic").unwrap();
        assert!(matches!(ask(&mut store, 9_001), Permit::Granted(_)));
        assert_eq!(store.provider_pauses().unwrap(), []);
    }
}
