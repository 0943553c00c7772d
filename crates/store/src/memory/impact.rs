//! What became of injected memories.
//!
//! The engine judges a session and stores the result here; a session that goes on is judged again. The weight of a memory in
//! rankings follows from the outcomes.

use std::collections::{BTreeSet, HashMap};

use backstory_model::{Handle, ObservationId, RecallOutcome, SessionId, Timestamp};
use rusqlite::{Connection, Transaction, params};

use crate::{Store, StoreError, sql::Statements as _};

/// The weight of a memory without outcomes, in thousandths.
pub(crate) const NEUTRAL: u32 = 1_000;

/// Holds the judgement about one injection of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedRecall {
    /// The memory.
    pub handle: Handle,
    /// The trigger of the injection.
    pub moment: String,
    /// The time of the injection.
    pub at: Timestamp,
    /// The judgement.
    pub outcome: RecallOutcome,
    /// What it rests on.
    pub evidence: Option<String>,
}

/// Holds what a session did with the memories that it was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionImpact {
    /// The judgement about each injection.
    pub recalls: Vec<JudgedRecall>,
    /// The number of tool calls.
    pub tool_calls: u64,
    /// The estimated tokens of the agent's words, commands and changes.
    pub tokens: u64,
    /// The number of files read.
    pub reads: u64,
    /// Those of them that an injected memory had described.
    pub known_reads: u64,
    /// Failures about which the session was told and that did not come back.
    pub avoided: u64,
    /// Failures about which the session was told and that came back.
    pub repeated: u64,
    /// The failed commands: time and hash of the error.
    pub failures: Vec<(Timestamp, u64)>,
    /// The first moment of an experiment at which there was something to recall; true if it was withheld.
    pub eligible: Option<(Timestamp, bool)>,
}

/// Holds the sums over sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImpactSums {
    /// Sessions that received memories.
    pub sessions: u64,
    /// Injections that were judged.
    pub recalls: u64,
    /// Those whose memory was used.
    pub used: u64,
    /// Those whose memory was ignored.
    pub ignored: u64,
    /// Those whose memory was contradicted.
    pub contradicted: u64,
    /// Failures about which sessions were told and that did not come back.
    pub avoided: u64,
    /// Failures that came back all the same.
    pub repeated: u64,
    /// Files that were read.
    pub reads: u64,
    /// Those of them that an injected memory had described.
    pub known_reads: u64,
}

/// Holds how often a memory was used, ignored and contradicted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// Used.
    pub used: u32,
    /// Ignored.
    pub ignored: u32,
    /// Contradicted.
    pub contradicted: u32,
}

impl Feedback {
    /// Returns the factor by which the outcomes change the rank of a memory, in thousandths. Bounded: a memory that was never used stays
    /// findable, and one that was often used does not crowd out the rest.
    pub fn weight(self) -> u32 {
        const USED: i64 = 30;
        const IGNORED: i64 = 5;
        const CONTRADICTED: i64 = 150;
        let sum = USED * i64::from(self.used)
            - IGNORED * i64::from(self.ignored)
            - CONTRADICTED * i64::from(self.contradicted);
        NEUTRAL.saturating_add_signed(i32::try_from(sum.clamp(-300, 150)).unwrap_or_default())
    }

    /// Returns true if there is no outcome.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }
}

impl Store {
    /// Returns the time of the last event of a session; `None` if it is unknown or has undistilled events.
    pub fn last_event_if_distilled(&self, session: SessionId) -> Result<Option<Timestamp>, StoreError> {
        const LAST: &str = "select last_event_at from session where id = ?1
            and not exists (select 1 from event where state <> 'done' and session_db_id = ?1)";
        self.read("look for the last event of a session", |connection| {
            connection.optional_row(LAST, [session], |row| row.get(0))
        })
    }

    /// Returns the last event of a session that its judgement took into account.
    pub fn judged_to(&self, session: SessionId) -> Result<Option<Timestamp>, StoreError> {
        const TO: &str = "select judged_to from session_impact where session_db_id = ?1";
        self.read("look for the outcome of recalls", |connection| {
            connection.optional_row(TO, [session], |row| row.get(0))
        })
    }

    /// Returns the sessions of the same project that began before a session, the latest first, each with the agent's own id.
    pub fn earlier_sessions(
        &self,
        session: SessionId,
        limit: u32,
    ) -> Result<Vec<(SessionId, String)>, StoreError> {
        const EARLIER: &str = "select other.id, other.session_id
            from session as this join session as other on other.project_id = this.project_id
            where this.id = ?1 and other.started_at < this.started_at
                and exists (select 1 from turn where session_db_id = other.id and log is not null)
            order by other.started_at desc limit ?2";
        self.read("look for earlier sessions", |connection| {
            connection.rows(EARLIER, params![session, limit], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })
        })
    }

    /// Stores the judgement about a session in place of an earlier one.
    pub fn store_impact(
        &mut self,
        session: SessionId,
        judged_to: Timestamp,
        impact: &SessionImpact,
    ) -> Result<(), StoreError> {
        const CLEAR: &str = "delete from recall_outcome where session_db_id = ?1 returning handle";
        const OUTCOME: &str =
            "insert or replace into recall_outcome (session_db_id, handle, moment, at, outcome, evidence)
            select ?1, ?2, ?3, ?4, ?5, ?6 where exists (select 1 from session where id = ?1)";
        const IMPACT: &str = "insert or replace into session_impact (session_db_id, judged_to, tool_calls, tokens, reads,
                known_reads, avoided, repeated, failures, eligible_at, withheld)
            select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11 where exists (select 1 from session where id = ?1)";
        let failures: Vec<(i64, i64)> = impact
            .failures
            .iter()
            .map(|(at, error)| (at.as_millis(), error.cast_signed()))
            .collect();
        let failures = serde_json::to_string(&failures).unwrap_or_default();
        self.write("store the outcome of recalls", |tx| {
            let before = tx.rows(CLEAR, [session], |row| row.get::<_, String>(0))?;
            for recall in &impact.recalls {
                let values = params![
                    session,
                    recall.handle.to_string(),
                    recall.moment,
                    recall.at,
                    recall.outcome,
                    recall.evidence
                ];
                tx.run(OUTCOME, values)?;
            }
            let values = params![
                session,
                judged_to,
                impact.tool_calls,
                impact.tokens,
                impact.reads,
                impact.known_reads,
                impact.avoided,
                impact.repeated,
                failures,
                impact.eligible.map(|(at, _)| at),
                impact.eligible.map(|(_, is_withheld)| is_withheld),
            ];
            tx.run(IMPACT, values)?;
            let before = before.iter().filter_map(|handle| handle.parse().ok());
            let handles: BTreeSet<Handle> = before
                .chain(impact.recalls.iter().map(|recall| recall.handle))
                .collect();
            handles
                .into_iter()
                .try_for_each(|handle| update_weight(tx, handle))
        })
    }

    /// Returns the sums over sessions since a moment.
    pub fn impact_since(&self, since: Timestamp) -> Result<ImpactSums, StoreError> {
        const OUTCOMES: &str =
            "select count(distinct session_db_id), count(*), coalesce(sum(outcome = 'used'), 0),
                coalesce(sum(outcome = 'ignored'), 0), coalesce(sum(outcome = 'contradicted'), 0)
            from recall_outcome where at >= ?1";
        const SESSIONS: &str =
            "select coalesce(sum(avoided), 0), coalesce(sum(repeated), 0), coalesce(sum(reads), 0),
                coalesce(sum(known_reads), 0)
            from session_impact where judged_to >= ?1";
        self.read("read the outcomes of recalls", |connection| {
            let mut sums = connection.row(OUTCOMES, [since], |row| {
                Ok(ImpactSums {
                    sessions: row.get(0)?,
                    recalls: row.get(1)?,
                    used: row.get(2)?,
                    ignored: row.get(3)?,
                    contradicted: row.get(4)?,
                    ..ImpactSums::default()
                })
            })?;
            connection.row(SESSIONS, [since], |row| {
                sums.avoided = row.get(0)?;
                sums.repeated = row.get(1)?;
                sums.reads = row.get(2)?;
                sums.known_reads = row.get(3)?;
                Ok(())
            })?;
            Ok(sums)
        })
    }

    /// Returns the judgements about a memory, oldest first, each with the agent's id of the session.
    pub fn outcomes_of(&self, handle: Handle) -> Result<Vec<(String, JudgedRecall)>, StoreError> {
        const OF_MEMORY: &str = "select session_id, moment, at, outcome, evidence from recall_outcome
            join session on session.id = session_db_id where handle = ?1 order by at";
        self.read("read the outcomes of a memory", |connection| {
            connection.rows(OF_MEMORY, [handle.to_string()], |row| {
                Ok((
                    row.get(0)?,
                    JudgedRecall {
                        handle,
                        moment: row.get(1)?,
                        at: row.get(2)?,
                        outcome: row.get(3)?,
                        evidence: row.get(4)?,
                    },
                ))
            })
        })
    }

    /// Returns the judgements about the memories that a session was given.
    pub fn outcomes_in(&self, session: SessionId) -> Result<Vec<JudgedRecall>, StoreError> {
        const OF_SESSION: &str = "select handle, moment, at, outcome, evidence from recall_outcome
            where session_db_id = ?1 order by at";
        self.read("read the outcomes of a session", |connection| {
            let judged = connection.rows(OF_SESSION, [session], |row| {
                let Ok(handle) = row.get::<_, String>(0)?.parse() else {
                    return Ok(None);
                };
                Ok(Some(JudgedRecall {
                    handle,
                    moment: row.get(1)?,
                    at: row.get(2)?,
                    outcome: row.get(3)?,
                    evidence: row.get(4)?,
                }))
            })?;
            Ok(judged.into_iter().flatten().collect())
        })
    }

    /// Returns how often each memory was used, ignored and contradicted since a moment.
    pub fn outcomes_since(&self, since: Timestamp) -> Result<HashMap<Handle, Feedback>, StoreError> {
        const BY_MEMORY: &str = "select handle, sum(outcome = 'used'), sum(outcome = 'ignored'),
                sum(outcome = 'contradicted')
            from recall_outcome where at >= ?1 group by handle";
        self.read("read the outcomes of all memories", |connection| {
            let counts = connection.rows(BY_MEMORY, [since], |row| {
                let feedback = Feedback {
                    used: row.get(1)?,
                    ignored: row.get(2)?,
                    contradicted: row.get(3)?,
                };
                Ok((row.get::<_, String>(0)?, feedback))
            })?;
            let parsed = counts
                .into_iter()
                .filter_map(|(handle, feedback)| Some((handle.parse().ok()?, feedback)));
            Ok(parsed.collect())
        })
    }

    /// Returns how often a memory was used, ignored and contradicted since the last reset.
    pub fn feedback(&self, handle: Handle) -> Result<Feedback, StoreError> {
        self.read("read the feedback of a memory", |connection| {
            feedback(connection, handle)
        })
    }

    /// Makes the outcomes so far count no more for the ranking: of one memory, or of all.
    pub fn reset_feedback(&mut self, handle: Option<Handle>, now: Timestamp) -> Result<(), StoreError> {
        const RESET: &str = "insert or replace into feedback_start (handle, at) values (?1, ?2)";
        self.write("reset the feedback of memories", |tx| {
            let name = handle.map(|handle| handle.to_string()).unwrap_or_default();
            tx.run(RESET, params![name, now])?;
            match handle {
                Some(handle) => update_weight(tx, handle),
                None => tx.run("delete from memory_weight", []).map(drop),
            }
        })
    }
}

/// Stores the weight of an observation. Other memories have none: they are rarely injected.
fn update_weight(tx: &Transaction<'_>, handle: Handle) -> rusqlite::Result<()> {
    const SET: &str = "insert or replace into memory_weight (observation_id, weight)
        select id, ?2 from observation where id = ?1";
    const CLEAR: &str = "delete from memory_weight where observation_id = ?1";
    let Some(observation) = handle.observation() else {
        return Ok(());
    };
    let feedback = feedback(tx, handle)?;
    match feedback.is_empty() {
        true => tx.run(CLEAR, [observation]).map(drop),
        false => tx.run(SET, params![observation, feedback.weight()]).map(drop),
    }
}

/// Returns the weight of an observation in rankings.
pub(crate) fn weight(connection: &Connection, observation: ObservationId) -> rusqlite::Result<u32> {
    const WEIGHT: &str = "select weight from memory_weight where observation_id = ?1";
    let weight = connection.optional_row(WEIGHT, [observation], |row| row.get(0))?;
    Ok(weight.unwrap_or(NEUTRAL))
}

/// Returns how often a memory was used, ignored and contradicted since the last reset.
fn feedback(connection: &Connection, handle: Handle) -> rusqlite::Result<Feedback> {
    const COUNTS: &str = "select coalesce(sum(outcome = 'used'), 0), coalesce(sum(outcome = 'ignored'), 0),
            coalesce(sum(outcome = 'contradicted'), 0)
        from recall_outcome where handle = ?1
            and at > coalesce((select max(at) from feedback_start where handle in ('', ?1)), -1)";
    connection.row(COUNTS, [handle.to_string()], |row| {
        Ok(Feedback {
            used: row.get(0)?,
            ignored: row.get(1)?,
            contradicted: row.get(2)?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feedback_is_bounded_and_contradictions_weigh_most() {
        let weight = |used, ignored, contradicted| {
            Feedback {
                used,
                ignored,
                contradicted,
            }
            .weight()
        };
        assert_eq!(weight(0, 0, 0), NEUTRAL);
        assert!(weight(1, 0, 0) > NEUTRAL && weight(1, 0, 0) < weight(3, 0, 0));
        assert_eq!(weight(100, 0, 0), 1_150);
        assert!(weight(0, 3, 0) < NEUTRAL && weight(0, 3, 0) > weight(0, 0, 1));
        assert_eq!(weight(0, 0, 100), 700);
        assert_eq!(weight(0, 1_000, 0), 700);
    }
}
