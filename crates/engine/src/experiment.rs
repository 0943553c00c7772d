//! The experiment: compares sessions that received memories with sessions from which they were withheld.
//!
//! The group of a session follows from its id alone, so that a resumed session stays in its group and hooks need no state. Both
//! groups are judged alike: only sessions count in which there was something to recall.

use std::collections::HashMap;

use anyhow::Result;
use backstory_model::{ProjectId, Timestamp};
use backstory_store::{Experiment, ExperimentSession, Store};
use backstory_text::hash64;
use serde_json::{Value, json};

use crate::time_arg::rfc3339;

/// The least number of sessions in each group from which a difference is reported. Below, the interval is as wide as the
/// numbers themselves.
pub const MIN_SESSIONS: usize = 20;

/// The number of resamples: the limits of the interval change by less than a twentieth of its width from run to run.
const RESAMPLES: usize = 2_000;

/// Returns true if recall is withheld from a session, at a share in percent.
pub fn is_withheld(session_id: &str, percent: u32) -> bool {
    percent > 0 && mix(hash64(session_id.as_bytes())) % 100 < u64::from(percent)
}

/// Name and value of a measure of a session.
type Measure<'m> = (&'static str, &'m dyn Fn(&ExperimentSession) -> f64);

/// The difference between both groups in one measure, per session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// What is counted.
    pub measure: &'static str,
    /// Mean with recall.
    pub with_recall: f64,
    /// Mean without.
    pub without: f64,
    /// Limits of the 95 % confidence interval of the difference `with_recall - without`.
    pub interval: (f64, f64),
}

impl Difference {
    /// Returns the difference of the means.
    pub fn difference(&self) -> f64 {
        self.with_recall - self.without
    }

    /// Returns true if the interval excludes zero.
    pub fn is_effect(&self) -> bool {
        self.interval.0 > 0.0 || self.interval.1 < 0.0
    }

    /// Says what the interval shows.
    pub fn verdict(&self) -> &'static str {
        match (self.is_effect(), self.difference() < 0.0) {
            (true, true) => "fewer with recall",
            (true, false) => "more with recall",
            (false, _) => "no difference shown",
        }
    }
}

/// Formats a mean: to two decimals if it is small.
pub fn format_mean(value: f64) -> String {
    if value.abs() >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

/// Formats a difference of means, with its sign.
pub fn format_difference(value: f64) -> String {
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", format_mean(value))
}

/// The result of an experiment so far.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentReport {
    /// The experiment.
    pub experiment: Experiment,
    /// Sessions with recall.
    pub with_recall: usize,
    /// Sessions without.
    pub without: usize,
    /// The differences; empty if there is too little data.
    pub differences: Vec<Difference>,
}

impl ExperimentReport {
    /// Compares the groups of the latest experiment; `None` if there was none.
    pub fn collect(store: &Store) -> Result<Option<Self>> {
        let Some(experiment) = store.latest_experiment()? else {
            return Ok(None);
        };
        let sessions = store.experiment_sessions(&experiment)?;
        let repeated = RepeatedFailures::read(store, &sessions)?;
        let (without, with): (Vec<_>, Vec<_>) = sessions.iter().partition(|session| session.is_withheld);
        let mut report = Self {
            experiment,
            with_recall: with.len(),
            without: without.len(),
            differences: Vec::new(),
        };
        if with.len() < MIN_SESSIONS || without.len() < MIN_SESSIONS {
            return Ok(Some(report));
        }
        let measures: [Measure<'_>; 3] = [
            ("repeated failures", &|session| repeated.count(session)),
            ("tool calls", &|session| as_f64(session.tool_calls)),
            ("tokens", &|session| as_f64(session.tokens)),
        ];
        let mut random = experiment.started_at.as_millis().cast_unsigned();
        for (measure, value) in measures {
            let values = |group: &[&ExperimentSession]| {
                group.iter().map(|session| value(session)).collect::<Vec<f64>>()
            };
            let (with, without) = (values(&with), values(&without));
            report.differences.push(Difference {
                measure,
                with_recall: mean(&with),
                without: mean(&without),
                interval: interval(&with, &without, &mut random),
            });
        }
        Ok(Some(report))
    }

    /// Returns the report as `backstory experiment report --json` prints it.
    pub fn to_json(&self) -> Value {
        let differences: Vec<Value> = self
            .differences
            .iter()
            .map(|one| {
                json!({
                    "measure": one.measure,
                    "with_recall": one.with_recall,
                    "without_recall": one.without,
                    "difference": one.difference(),
                    "interval_95": [one.interval.0, one.interval.1],
                    "effect": one.is_effect(),
                })
            })
            .collect();
        json!({
            "started_at": rfc3339(self.experiment.started_at),
            "stopped_at": self.experiment.stopped_at.map(rfc3339),
            "share": self.experiment.share,
            "sessions": {"with_recall": self.with_recall, "without_recall": self.without},
            "enough_data": !self.differences.is_empty(),
            "needed_per_group": MIN_SESSIONS,
            "differences": differences,
        })
    }
}

/// Tells failures that happened before from new ones.
struct RepeatedFailures {
    /// The first time of each error in each project.
    first: HashMap<(ProjectId, u64), Timestamp>,
}

impl RepeatedFailures {
    fn read(store: &Store, sessions: &[ExperimentSession]) -> Result<Self> {
        let mut first = HashMap::new();
        let mut projects: Vec<ProjectId> = sessions.iter().map(|session| session.project_db_id).collect();
        projects.sort_unstable();
        projects.dedup();
        for project in projects {
            for (at, error) in store.known_failures(project, Timestamp::MAX)? {
                let known = first.entry((project, error)).or_insert(at);
                *known = at.min(*known);
            }
        }
        Ok(Self { first })
    }

    /// Counts the failures of a session after its first moment of recall that had happened before.
    fn count(&self, session: &ExperimentSession) -> f64 {
        let is_repeated = |(at, error): &&(Timestamp, u64)| {
            let first = self.first.get(&(session.project_db_id, *error));
            *at >= session.eligible_at && first.is_some_and(|first| first < at)
        };
        as_f64(session.failures.iter().filter(is_repeated).count() as u64)
    }
}

/// Returns the 95 % interval of the difference of two means, by resampling sessions within each group (bootstrap-t). The means
/// of few and skewed numbers spread unevenly; percentiles of resampled differences miss the truth more often.
fn interval(with: &[f64], without: &[f64], random: &mut u64) -> (f64, f64) {
    let difference = mean(with) - mean(without);
    let error = standard_error(with, without);
    let mut ratios: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            let (with, without) = (resample(with, random), resample(without, random));
            let error = standard_error(&with, &without);
            // Without any spread the ratio is unknown; the middle one changes the limits least.
            let distance = mean(&with) - mean(&without) - difference;
            if error > 0.0 { distance / error } else { 0.0 }
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let cut = RESAMPLES / 40;
    (
        difference - ratios[RESAMPLES - 1 - cut] * error,
        difference - ratios[cut] * error,
    )
}

/// Returns the standard error of the difference of two means.
fn standard_error(with: &[f64], without: &[f64]) -> f64 {
    let of_mean = |values: &[f64]| {
        let (mean, count) = (mean(values), as_f64(values.len() as u64));
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        squares / (count - 1.0).max(1.0) / count.max(1.0)
    };
    (of_mean(with) + of_mean(without)).sqrt()
}

fn resample(values: &[f64], random: &mut u64) -> Vec<f64> {
    let count = values.len() as u64;
    (0..count)
        .map(|_| values[usize::try_from(next(random) % count).unwrap_or_default()])
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / as_f64(values.len().max(1) as u64)
}

/// Returns the next number of a generator with a state of 64 bits (splitmix64). Seeded, so that a report does not change between
/// two calls.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mix(*state)
}

/// Spreads the bits of a number.
const fn mix(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of a session are far below 2^52"
)]
fn as_f64(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_follows_from_the_session_and_has_the_share() {
        let withheld = (0..10_000)
            .filter(|number| is_withheld(&format!("{number:08x}-aaaa-bbbb-cccc-0123456789ab"), 10))
            .count();
        assert!((900..1_100).contains(&withheld), "{withheld}");
        assert_eq!(is_withheld("a", 10), is_withheld("a", 10));
        assert!(!is_withheld("a", 0));
        assert!(is_withheld("a", 100));
        // A session of the smaller group is also in the larger one.
        assert!(
            (0..1_000)
                .all(|number| !is_withheld(&number.to_string(), 5) || is_withheld(&number.to_string(), 20))
        );
    }

    #[test]
    fn the_interval_excludes_zero_only_where_groups_differ() {
        let mut random = 7;
        let low: Vec<f64> = (0..100).map(|number| f64::from(number % 3)).collect();
        let high: Vec<f64> = low.iter().map(|value| value + 2.0).collect();
        let (from, to) = interval(&high, &low, &mut random);
        assert!(from > 1.5 && to < 2.5, "{from} {to}");
        let (from, to) = interval(&low, &low, &mut random);
        assert!(from < 0.0 && to > 0.0, "{from} {to}");
    }
}
