//! The ledger: what models were asked, what it took, and whether the next call may be made.
//!
//! A call is entered with its estimate before it is made, in the same transaction that looks at the budget: however many ask at
//! once, the budget is passed by the last call that was let through and by no other. What the provider counted comes after.

use backstory_model::{CallId, SessionId, Timestamp, TurnId};
use std::time::Duration;

use rusqlite::{Connection, TransactionBehavior, params};
use serde::Serialize;

use crate::{
    Store, StoreError,
    models::provider_backoff::paused_until,
    schema::open::{millis, query},
};

/// A call that somebody wants to make.
#[derive(Clone, Copy, Debug)]
pub struct NewCall<'c> {
    /// Who is to be asked.
    pub provider: &'c str,
    /// Which model.
    pub model: &'c str,
    /// What a pause of this provider is noted under.
    pub place: &'c str,
    /// The session that it is about.
    pub session_db_id: SessionId,
    /// The turn that it is about.
    pub turn_id: TurnId,
    /// About how many tokens are sent.
    pub estimated_in: u64,
    /// About how many tokens come back.
    pub estimated_out: u64,
}

/// What may be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBudget {
    /// When the day began, in milliseconds since 1970: the user's day, which only the caller knows.
    pub day_start: Timestamp,
    /// The most tokens of a day.
    pub daily_tokens: u64,
    /// The most tokens of a session.
    pub session_tokens: u64,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// It may, and has this number in the ledger.
    Granted(CallId),
    /// The day's tokens are spent.
    DaySpent,
    /// The session's tokens are spent.
    SessionSpent,
    /// The provider is left alone.
    Paused {
        /// Until when, in milliseconds since 1970.
        until: Timestamp,
    },
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEnd<'c> {
    /// `ok`, or the name of what went wrong.
    pub outcome: &'c str,
    /// Tokens sent and answered, as the provider counts; absent when nobody counted, and the estimate stands.
    pub tokens: Option<(u64, u64)>,
    /// In millionths of a dollar, where the price is known.
    pub cost: Option<u64>,
    /// How long it took.
    pub duration: Duration,
}

/// What one model took in a span of time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spending {
    /// Who was asked.
    pub provider: String,
    /// Which model.
    pub model: String,
    /// How many calls were made.
    pub calls: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Tokens sent.
    pub tokens_in: u64,
    /// Tokens answered.
    pub tokens_out: u64,
    /// In millionths of a dollar; absent when no call has a known price.
    pub cost_micro_dollars: Option<u64>,
}

/// The tokens of calls: as they were counted, else as they were estimated.
const TOKENS: &str = "coalesce(sum(coalesce(tokens_in, estimated_in) + coalesce(tokens_out, estimated_out)), 0) from model_call";

impl Store {
    /// Asks whether a call may be made, and enters it when it may.
    pub fn reserve_call(
        &mut self,
        call: &NewCall<'_>,
        budget: &TokenBudget,
        now: Timestamp,
    ) -> Result<Permit, StoreError> {
        const ENTER: &str = "insert into model_call (at, provider, model, session_db_id, turn_id, estimated_in, estimated_out)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7) returning id";
        let attempt = query("enter a call into the ledger");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let run = || -> rusqlite::Result<Permit> {
            if spent(&transaction, budget.day_start)? >= budget.daily_tokens {
                return Ok(Permit::DaySpent);
            }
            if session_spent(&transaction, call.session_db_id)? >= budget.session_tokens {
                return Ok(Permit::SessionSpent);
            }
            if let Some(until) = paused_until(&transaction, call.place, now)? {
                return Ok(Permit::Paused { until });
            }
            let values = params![
                now,
                call.provider,
                call.model,
                call.session_db_id,
                call.turn_id,
                call.estimated_in,
                call.estimated_out
            ];
            let id = transaction
                .prepare_cached(ENTER)?
                .query_row(values, |row| row.get(0))?;
            Ok(Permit::Granted(id))
        };
        let permit = run().map_err(attempt)?;
        transaction.commit().map_err(attempt)?;
        Ok(permit)
    }

    /// Enters how a call ended.
    pub fn close_call(&mut self, id: CallId, end: &CallEnd<'_>) -> Result<(), StoreError> {
        const CLOSE: &str =
            "update model_call set tokens_in = ?2, tokens_out = ?3, cost = ?4, duration_ms = ?5, outcome = ?6
            where id = ?1";
        let (tokens_in, tokens_out) = end.tokens.unzip();
        let values = params![
            id,
            tokens_in,
            tokens_out,
            end.cost,
            millis(end.duration),
            end.outcome
        ];
        self.connection
            .execute(CLOSE, values)
            .map(drop)
            .map_err(query("enter the end of a call"))
    }

    /// Closes the calls of a process that is gone. What they were estimated at stays spent: nobody knows better.
    pub fn close_lost_calls(&mut self, before: Timestamp) -> Result<usize, StoreError> {
        const LOST: &str = "update model_call set outcome = 'lost' where outcome is null and at < ?1";
        self.connection
            .execute(LOST, [before])
            .map_err(query("close lost calls"))
    }

    /// Returns how many tokens were spent, or set aside, since a moment.
    pub fn tokens_since(&self, from: Timestamp) -> Result<u64, StoreError> {
        spent(&self.connection, from).map_err(query("read what was spent"))
    }

    /// Returns what each model took from one moment to before another, the most expensive first.
    pub fn spending(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Spending>, StoreError> {
        const SPENDING: &str = "select provider, model, count(*), count(*) filter (where outcome <> 'ok'),
                sum(coalesce(tokens_in, estimated_in)), sum(coalesce(tokens_out, estimated_out)), sum(cost)
            from model_call where at >= ?1 and at < ?2 group by provider, model order by 5 desc, 1, 2";
        let attempt = query("read what was spent");
        let mut statement = self.connection.prepare_cached(SPENDING).map_err(attempt)?;
        let rows = statement.query_map([from, to], |row| {
            Ok(Spending {
                provider: row.get(0)?,
                model: row.get(1)?,
                calls: row.get(2)?,
                failed: row.get(3)?,
                tokens_in: row.get(4)?,
                tokens_out: row.get(5)?,
                cost_micro_dollars: row.get(6)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Returns what was spent on each of some days, each given by its beginning; the last one goes on until now.
    pub fn spending_by_day(
        &self,
        starts: &[Timestamp],
    ) -> Result<Vec<(Timestamp, Vec<Spending>)>, StoreError> {
        let ends = starts.iter().skip(1).copied().chain([Timestamp::MAX]);
        let days = starts.iter().zip(ends);
        days.map(|(&start, end)| Ok((start, self.spending(start, end)?)))
            .collect()
    }
}

fn spent(connection: &Connection, from: Timestamp) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(&format!("select {TOKENS} where at >= ?1"))?
        .query_row([from], |row| row.get(0))
}

fn session_spent(connection: &Connection, session_db_id: SessionId) -> rusqlite::Result<u64> {
    connection
        .prepare_cached(&format!("select {TOKENS} where session_db_id = ?1"))?
        .query_row([session_db_id], |row| row.get(0))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{at, event, store};

    pub(crate) fn call(turn: i64) -> NewCall<'static> {
        NewCall {
            provider: "anthropic",
            model: "m",
            place: "anthropic",
            session_db_id: SessionId::new(turn),
            turn_id: TurnId::new(turn),
            estimated_in: 600,
            estimated_out: 200,
        }
    }

    pub(crate) const BUDGET: TokenBudget = TokenBudget {
        day_start: at(1_000),
        daily_tokens: 1_000,
        session_tokens: 5_000,
    };

    pub(crate) fn two_sessions() -> Store {
        store(&[event("1", "a"), event("2", "b")])
    }

    #[test]
    fn the_call_that_passes_the_budget_is_the_last_one() {
        let mut store = two_sessions();
        let Permit::Granted(first) = store.reserve_call(&call(1), &BUDGET, at(2_000)).unwrap() else {
            panic!("the first call is within the budget");
        };
        assert!(matches!(
            store.reserve_call(&call(2), &BUDGET, at(2_001)).unwrap(),
            Permit::Granted(_)
        ));
        assert_eq!(
            store.reserve_call(&call(1), &BUDGET, at(2_002)).unwrap(),
            Permit::DaySpent
        );
        // It took less than was set aside: there is room again.
        let end = CallEnd {
            outcome: "ok",
            tokens: Some((100, 50)),
            cost: Some(7),
            duration: Duration::from_millis(5),
        };
        store.close_call(first, &end).unwrap();
        assert_eq!(store.tokens_since(at(0)).unwrap(), 950);
        assert!(matches!(
            store.reserve_call(&call(1), &BUDGET, at(2_003)).unwrap(),
            Permit::Granted(_)
        ));
        // Another day has a budget of its own.
        let tomorrow = TokenBudget {
            day_start: at(90_000),
            ..BUDGET
        };
        assert!(matches!(
            store.reserve_call(&call(1), &tomorrow, at(90_001)).unwrap(),
            Permit::Granted(_)
        ));
        let days = store.spending_by_day(&[at(0), at(90_000)]).unwrap();
        assert_eq!((days[0].1[0].calls, days[1].1[0].calls), (3, 1));
        assert_eq!(days[0].1[0].cost_micro_dollars, Some(7));
    }

    #[test]
    fn a_session_has_a_budget_of_its_own() {
        let mut store = two_sessions();
        let budget = TokenBudget {
            daily_tokens: 1_000_000,
            session_tokens: 800,
            ..BUDGET
        };
        assert!(matches!(
            store.reserve_call(&call(1), &budget, at(2_000)).unwrap(),
            Permit::Granted(_)
        ));
        assert_eq!(
            store.reserve_call(&call(1), &budget, at(2_000)).unwrap(),
            Permit::SessionSpent
        );
        assert!(matches!(
            store.reserve_call(&call(2), &budget, at(2_000)).unwrap(),
            Permit::Granted(_)
        ));
    }

    #[test]
    fn what_a_lost_call_was_estimated_at_stays_spent() {
        let mut store = two_sessions();
        store.reserve_call(&call(1), &BUDGET, at(2_000)).unwrap();
        assert_eq!(store.close_lost_calls(at(3_000)).unwrap(), 1);
        assert_eq!(store.close_lost_calls(at(3_000)).unwrap(), 0);
        assert_eq!(store.tokens_since(at(0)).unwrap(), 800);
    }
}
