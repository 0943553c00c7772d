//! The ledger of model calls, and the budget.
//!
//! A call is entered with its estimate in the transaction that checks the budget, so that with any number of concurrent
//! calls at most the last one exceeds it. The provider's token counts replace the estimate later.

use std::time::Duration;

use backstory_model::{CallId, SessionId, Timestamp, TurnId};
use rusqlite::{Connection, params};
use serde::Serialize;

use crate::{
    Store, StoreError,
    models::provider_backoff::backoff_until,
    sql::{Statements as _, millis},
};

/// Holds a call before it is made.
#[derive(Clone, Copy, Debug)]
pub struct NewCall<'c> {
    /// The provider.
    pub provider: &'c str,
    /// The model.
    pub model: &'c str,
    /// The name under which a backoff of the provider is stored.
    pub backoff_key: &'c str,
    /// The session.
    pub session_db_id: SessionId,
    /// The turn.
    pub turn_id: TurnId,
    /// The estimated number of input tokens.
    pub estimated_in: u64,
    /// The estimated number of output tokens.
    pub estimated_out: u64,
}

/// Holds the token limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBudget {
    /// The start of the user's day, which depends on the time zone.
    pub day_start: Timestamp,
    /// The most tokens of a day.
    pub daily_tokens: u64,
    /// The most tokens of a session.
    pub session_tokens: u64,
}

/// Tells whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// It may, with this id in the ledger.
    Granted(CallId),
    /// The budget of the day is spent.
    DaySpent,
    /// The budget of the session is spent.
    SessionSpent,
    /// The provider is in backoff.
    Paused {
        /// The end of the backoff.
        until: Timestamp,
    },
}

/// Holds the end of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEnd<'c> {
    /// `ok`, or the name of the error.
    pub outcome: &'c str,
    /// The input and output tokens that the provider counted; absent if it did not count, then the estimate stays.
    pub tokens: Option<(u64, u64)>,
    /// The cost in millionths of a dollar, if the price is known.
    pub cost: Option<u64>,
    /// The duration.
    pub duration: Duration,
}

/// Holds the calls of one model in a time range.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Spending {
    /// The provider.
    pub provider: String,
    /// The model.
    pub model: String,
    /// The number of calls.
    pub calls: u64,
    /// The number of failed calls.
    pub failed: u64,
    /// The input tokens.
    pub tokens_in: u64,
    /// The output tokens.
    pub tokens_out: u64,
    /// The cost in millionths of a dollar; absent if no price is known.
    pub cost_micro_dollars: Option<u64>,
}

/// Sums the tokens of calls: counted ones, else estimated ones.
const TOKENS: &str = "coalesce(sum(coalesce(tokens_in, estimated_in) + coalesce(tokens_out, estimated_out)), 0) from model_call";

impl Store {
    /// Checks budget and backoff, and enters the call if it may be made.
    pub fn reserve_call(
        &mut self,
        call: &NewCall<'_>,
        budget: &TokenBudget,
        now: Timestamp,
    ) -> Result<Permit, StoreError> {
        const ENTER: &str = "insert into model_call (at, provider, model, session_db_id, turn_id, estimated_in, estimated_out)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7) returning id";
        self.write("enter a call into the ledger", |tx| {
            if tokens_since(tx, budget.day_start)? >= budget.daily_tokens {
                return Ok(Permit::DaySpent);
            }
            if tokens_of_session(tx, call.session_db_id)? >= budget.session_tokens {
                return Ok(Permit::SessionSpent);
            }
            if let Some(until) = backoff_until(tx, call.backoff_key, now)? {
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
            tx.row(ENTER, values, |row| row.get("id")).map(Permit::Granted)
        })
    }

    /// Enters the end of a call.
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
        self.write("enter the end of a call", |tx| tx.run(CLOSE, values).map(drop))
    }

    /// Closes the calls of a process that died. Their estimates stay spent, because the real numbers are unknown.
    pub fn close_lost_calls(&mut self, before: Timestamp) -> Result<usize, StoreError> {
        const LOST: &str = "update model_call set outcome = 'lost' where outcome is null and at < ?1";
        self.write("close lost calls", |tx| tx.run(LOST, [before]))
    }

    /// Returns the tokens that were spent or reserved since a time.
    pub fn tokens_since(&self, from: Timestamp) -> Result<u64, StoreError> {
        self.read("read the ledger", |connection| tokens_since(connection, from))
    }

    /// Returns the spending of each model in a time range, the most input tokens first.
    pub fn spending(&self, from: Timestamp, to: Timestamp) -> Result<Vec<Spending>, StoreError> {
        const SPENDING: &str =
            "select provider, model, count(*) as calls, count(*) filter (where outcome <> 'ok') as failed,
                sum(coalesce(tokens_in, estimated_in)) as tokens_in,
                sum(coalesce(tokens_out, estimated_out)) as tokens_out, sum(cost) as cost
            from model_call where at >= ?1 and at < ?2 group by provider, model order by 5 desc, 1, 2";
        self.read("read the ledger", |connection| {
            connection.rows(SPENDING, [from, to], |row| {
                Ok(Spending {
                    provider: row.get("provider")?,
                    model: row.get("model")?,
                    calls: row.get("calls")?,
                    failed: row.get("failed")?,
                    tokens_in: row.get("tokens_in")?,
                    tokens_out: row.get("tokens_out")?,
                    cost_micro_dollars: row.get("cost")?,
                })
            })
        })
    }

    /// Returns the spending of each day, given by the starts of the days; the last day is open-ended.
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

fn tokens_since(connection: &Connection, from: Timestamp) -> rusqlite::Result<u64> {
    let sql = format!("select {TOKENS} where at >= ?1");
    connection.row(&sql, [from], |row| row.get(0))
}

fn tokens_of_session(connection: &Connection, session: SessionId) -> rusqlite::Result<u64> {
    let sql = format!("select {TOKENS} where session_db_id = ?1");
    connection.row(&sql, [session], |row| row.get(0))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::testing::{at, event, store};

    pub(crate) fn call(turn: i64) -> NewCall<'static> {
        NewCall {
            provider: "anthropic",
            model: "m",
            backoff_key: "anthropic",
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
    fn at_most_one_call_exceeds_the_budget() {
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
        // It took less than its estimate, so there is room again.
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
        // Another day has its own budget.
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
    fn a_session_has_its_own_budget() {
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
    fn the_estimate_of_a_lost_call_stays_spent() {
        let mut store = two_sessions();
        store.reserve_call(&call(1), &BUDGET, at(2_000)).unwrap();
        assert_eq!(store.close_lost_calls(at(3_000)).unwrap(), 1);
        assert_eq!(store.close_lost_calls(at(3_000)).unwrap(), 0);
        assert_eq!(store.tokens_since(at(0)).unwrap(), 800);
    }
}
