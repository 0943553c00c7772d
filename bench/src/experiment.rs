//! Simulated months of an experiment with a known effect: how often the reported interval covers the truth, and how often it
//! shows an effect where there is none.
//!
//! Sessions are stored as the worker stores them, and the report is the one of `backstory experiment report`. The group of a
//! session follows from its id, as in hooks. With `--hooks` a scripted user runs them through the hooks of a program instead.

mod scripted_user;

use std::{fs, path::PathBuf};

use anyhow::{Context as _, Result, ensure};
use backstory_engine::experiment::{Difference, ExperimentReport, is_withheld};
use backstory_model::{Event, EventKind, EventSource, Host, Timestamp};
use backstory_store::{SessionImpact, SessionProjects, Store};

use self::scripted_user::ScriptedUser;
use crate::random::Random;

/// Sessions of a month that have something to recall.
const SESSIONS: u32 = 300;

/// The hash of the error that is repeated.
const ERROR: u64 = 7;

/// Share of sessions without recall, in percent.
const SHARE: u32 = 20;

/// Mean number of repeated failures of a session without recall.
const FAILURES: f64 = 2.0;

/// Share of these failures that recall avoids in the months with an effect.
const DROP: f64 = 0.4;

/// Runs months with and without an effect. Fails if the interval misses the truth too often.
pub(crate) fn print(words: impl Iterator<Item = String>) -> Result<()> {
    let options = Options::read(words)?;
    let mut counts = Counts::default();
    let user = options.product.as_deref().map(ScriptedUser::create).transpose()?;
    for month in 0..options.months {
        // Months with and without an effect are different ones.
        let seed = options.seed * 1_000_000 + 2 * u64::from(month);
        let month = |seed: u64, avoided: f64| match &user {
            Some(user) => user.month(seed, avoided),
            None => simulate(seed, avoided),
        };
        counts.add(&month(seed, DROP)?, &month(seed + 1, 0.0)?);
    }
    println!("months                                     {}", options.months);
    match &user {
        Some(_) => println!(
            "sessions through the hooks per month       {}",
            scripted_user::SESSIONS
        ),
        None => println!("sessions per month, share without recall   {SESSIONS}, {SHARE} %"),
    }
    println!("interval covers the planted effect         {}", counts.covered);
    println!("planted effect is reported                 {}", counts.found);
    println!(
        "effect reported where there is none        {}",
        counts.false_effects
    );
    ensure!(
        counts.covered * 10 >= options.months * 9,
        "the interval covers the truth too seldom"
    );
    ensure!(
        counts.false_effects * 10 <= options.months,
        "too many effects where there is none"
    );
    Ok(())
}

/// What to simulate.
struct Options {
    months: u32,
    seed: u64,
    /// The program whose hooks a scripted user calls; without it sessions are stored directly.
    product: Option<PathBuf>,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self> {
        let mut options = Self {
            months: 100,
            seed: 0,
            product: None,
        };
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--seed" => options.seed = value()?.parse().context("--seed needs a number")?,
                "--hooks" => options.product = Some(value()?.into()),
                months => options.months = months.parse().context("expected the number of months")?,
            }
        }
        Ok(options)
    }
}

/// Results of all months.
#[derive(Default)]
struct Counts {
    covered: u32,
    found: u32,
    false_effects: u32,
}

impl Counts {
    fn add(&mut self, effect: &Difference, none: &Difference) {
        let truth = -DROP * FAILURES;
        self.covered += u32::from(effect.interval.0 <= truth && truth <= effect.interval.1);
        self.found += u32::from(effect.is_effect());
        self.false_effects += u32::from(none.is_effect());
    }
}

/// Simulates a month in which repeated failures drop by a share where the agent is told; returns the reported difference.
fn simulate(seed: u64, avoided: f64) -> Result<Difference> {
    let folder = std::env::temp_dir().join(format!("backstory-experiment-{}", std::process::id()));
    fs::remove_dir_all(&folder).ok();
    fs::create_dir_all(&folder)?;
    let mut store = Store::open(&folder.join("backstory.db"), &folder)?;
    store.set_bulk_mode()?;
    let mut random = Random::new(seed);
    let start = Timestamp::from_millis(1_000_000);
    store.start_experiment(f64::from(SHARE) / 100.0, start)?;
    let events: Vec<Event> = (0..SESSIONS).map(|number| event(seed, number)).collect();
    store.ingest_batch(&events, &SessionProjects::new())?;
    // The error that is known: it failed before the month began.
    let before = SessionImpact {
        failures: vec![(Timestamp::EPOCH, ERROR)],
        ..SessionImpact::default()
    };
    for event in &events {
        let Some(session) = store.session_db_id(&event.session_id)? else {
            continue;
        };
        let is_withheld = is_withheld(&event.session_id, SHARE);
        let mean = if is_withheld {
            FAILURES
        } else {
            FAILURES * (1.0 - avoided)
        };
        // Sessions differ in length, so failures vary more than by chance alone.
        let length = 0.25 + 1.5 * random.unit();
        let failures = poisson(&mut random, mean * length);
        let impact = SessionImpact {
            tool_calls: 10 + failures * 3,
            tokens: 2_000 + failures * 400,
            failures: (0..failures).map(|_| (event.at, ERROR)).collect(),
            eligible: Some((event.at, is_withheld)),
            ..SessionImpact::default()
        };
        store.store_impact(session, event.at, &impact)?;
    }
    let first = Event {
        key: "before".to_owned(),
        session_id: "before".to_owned(),
        at: Timestamp::EPOCH,
        ..event(seed, 0)
    };
    store.ingest_batch(&[first], &SessionProjects::new())?;
    if let Some(session) = store.session_db_id("before")? {
        store.store_impact(session, Timestamp::EPOCH, &before)?;
    }
    let report = ExperimentReport::collect(&store)?;
    drop(store);
    fs::remove_dir_all(&folder).ok();
    let differences = report.map(|report| report.differences).unwrap_or_default();
    let failures = differences
        .into_iter()
        .find(|one| one.measure == "repeated failures");
    failures.ok_or_else(|| anyhow::anyhow!("too little data"))
}

fn event(seed: u64, number: u32) -> Event {
    Event {
        key: format!("{number:08}"),
        source: EventSource::Hook,
        kind: EventKind::SessionStart,
        host: Host::claude_code(),
        at: Timestamp::from_millis(2_000_000 + i64::from(number) * 60_000),
        session_id: format!("{seed:08x}-{number:04x}-4000-8000-000000000000"),
        project: None,
        payload: "{}".to_owned(),
    }
}

/// Draws a number of events with a mean (Knuth's method, for small means).
fn poisson(random: &mut Random, mean: f64) -> u64 {
    let limit = (-mean).exp();
    let mut product = random.unit();
    let mut count = 0;
    while product > limit {
        product *= random.unit();
        count += 1;
    }
    count
}
