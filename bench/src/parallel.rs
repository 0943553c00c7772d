//! Concurrent hooks: their latency, and delivery of all events while the worker is killed repeatedly.

use std::{
    collections::HashMap,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, sleep},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::json;

use crate::{
    Bench, audit,
    home::Home,
    payload::{Shape, Size, payload},
    process,
    random::Random,
    report::{Samples, Section, micros, rounded},
};

const THREADS: usize = 16;
const SESSIONS: usize = 4;

/// Durations of many concurrent processes.
struct Storm {
    samples: Samples,
    wall: Duration,
}

impl Storm {
    fn per_second(&self) -> f64 {
        self.samples.len() as f64 / self.wall.as_secs_f64()
    }
}

/// Runs `runs` processes in sequence in each of 16 threads.
fn storm(runs: usize, make: impl Fn(usize, usize) -> (Command, String) + Sync) -> Result<Storm> {
    let one_thread = |thread: usize| {
        let mut samples = Samples::default();
        for run in 0..runs {
            let (mut command, input) = make(thread, run);
            let finished = process::run(&mut command, input.as_bytes())?;
            ensure!(finished.status.success(), "a process failed: {}", finished.status);
            samples.add(finished.took);
        }
        Ok(samples)
    };
    let start = Instant::now();
    let samples = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || one_thread(thread)))
            .collect();
        let mut all = Samples::default();
        for thread in threads {
            all.extend(thread.join().map_err(|_| anyhow!("a thread panicked"))??);
        }
        anyhow::Ok(all)
    })?;
    Ok(Storm {
        samples,
        wall: start.elapsed(),
    })
}

/// Measures hooks when 16 run at once.
pub(crate) fn latency(bench: &Bench) -> Result<Section> {
    let columns = &[
        "store",
        "worker",
        "process",
        "size",
        "runs",
        "median us",
        "p95 us",
        "p99 us",
        "ratio",
    ];
    let mut section = Section::new("Latency of 16 processes in parallel", columns);
    let (cycles, runs) = if bench.quick { (2, 10) } else { (5, 20) };
    let (product, empty) = (&bench.programs.product, bench.programs.noop()?);
    let large = bench.large_store()?;
    let mut homes = [
        (
            "empty",
            "down",
            Home::create(bench.folder("parallel-empty"), product, None)?,
        ),
        (
            "large",
            "up",
            Home::create(bench.folder("parallel-large"), product, Some(&large))?,
        ),
    ];
    homes[1].2.start_worker()?;
    for (store, worker, home) in &homes {
        let mut noop = Samples::default();
        let mut hooks = [Size::SMALL, Size::MEDIUM, Size::LARGE].map(|size| (size, Samples::default()));
        for _ in 0..cycles {
            noop.extend(storm(runs, |_, _| (process::command(&empty), String::new()))?.samples);
            for (size, samples) in &mut hooks {
                let input = payload(Shape::Bash, *size, &bench.project, "parallel", "toolu_parallel");
                let hook = |_, _| (home.command(&["hook", "post-tool-use"]), input.clone());
                samples.extend(storm(runs, hook)?.samples);
                if *worker == "up" {
                    home.drain()?;
                } else {
                    home.clear_spool()?;
                }
            }
        }
        let mut row = |process: &str, size: String, samples: &Samples| {
            let [median, p95, p99] = [50, 95, 99].map(|percent| micros(samples.percentile(percent)));
            let ratio = rounded(samples.median() / noop.median());
            let texts = [*store, *worker, process, size.as_str()].map(|text| json!(text));
            section.row(
                [
                    texts.to_vec(),
                    vec![json!(samples.len()), median, p95, p99, ratio],
                ]
                .concat(),
            );
        };
        row("no-op", "-".to_owned(), &noop);
        for (size, samples) in &hooks {
            row("post-tool-use Bash", size.to_string(), samples);
        }
    }
    section.note("ratio of medians to the no-op under the same conditions; no limit");
    Ok(section)
}

/// Checks that all events of 4 sessions from 16 threads arrive while the worker is killed 20 times.
pub(crate) fn arrival(bench: &Bench) -> Result<Section> {
    let mut section = Section::new(
        "16 processes in parallel, 4 sessions, worker killed 20 times",
        &["what", "processes", "per second", "median us", "p99 us"],
    );
    const KILLS: usize = 20;
    let runs = if bench.quick { 125 } else { 500 };
    let empty = bench.programs.noop()?;
    let noop = || storm(runs, |_, _| (process::command(&empty), String::new()));
    let template = payload(Shape::Bash, Size::SMALL, &bench.project, "SESSION", "TOOL_USE");
    let hook = |home: &Home, thread: usize, run: usize| {
        let input = template
            .replace("SESSION", &session(thread))
            .replace("TOOL_USE", &id(thread, run));
        (home.command(&["hook", "post-tool-use"]), input)
    };

    let calm = Home::create(bench.folder("arrival-calm"), &bench.programs.product, None)?;
    let mut home = Home::create(bench.folder("arrival"), &bench.programs.product, None)?;
    let before = noop()?;
    let without_worker = storm(runs, |thread, run| hook(&calm, thread, run))?;
    // A second handle to the same folder, because one thread kills workers while the others run hooks.
    let view = Home::create(bench.folder("arrival"), &bench.programs.product, None)?;
    let over = AtomicBool::new(false);
    let (during, kills) = thread::scope(|scope| {
        let killer = scope.spawn(|| kill_repeatedly(&mut home, KILLS, &over));
        let during = storm(runs, |thread, run| hook(&view, thread, run));
        over.store(true, Ordering::Relaxed);
        let kills = killer.join().map_err(|_| anyhow!("the killer panicked"))??;
        anyhow::Ok((during?, kills))
    })?;
    let after = noop()?;
    home.ingest()?;

    for (what, storm) in [
        ("no-op, before", &before),
        ("hooks, no worker", &without_worker),
        ("hooks, worker killed", &during),
        ("no-op, after", &after),
    ] {
        let [median, p99] = [50, 99].map(|percent| micros(storm.samples.percentile(percent)));
        section.row(vec![
            json!(what),
            json!(storm.samples.len()),
            micros(storm.per_second()),
            median,
            p99,
        ]);
    }
    let noops = (before.per_second() + after.per_second()) / 2.0;
    for (what, storm) in [
        ("without a worker", &without_worker),
        ("while the worker is killed", &during),
    ] {
        let share = storm.per_second() / noops;
        let verdict = if share >= 0.6 { "ok" } else { "OVER" };
        section.note(format!(
            "throughput of hooks {what}: {share:.2} of the no-op's (at least 0.6): {verdict}"
        ));
    }
    section.note(format!(
        "{} of {KILLS} kills while hooks ran; the worker and its restarts use some CPU time",
        kills.while_hooks_ran
    ));
    section.check(format!("the worker was killed {KILLS} times"), kills.all == KILLS);
    check_arrival(&mut section, &home, runs)?;
    Ok(section)
}

fn session(thread: usize) -> String {
    format!("arrival-{}", thread % SESSIONS)
}

fn id(thread: usize, run: usize) -> String {
    format!("toolu_{thread:02}_{run:05}")
}

struct Kills {
    all: usize,
    while_hooks_ran: usize,
}

/// Kills the worker after a random time and starts the next one, repeatedly.
fn kill_repeatedly(home: &mut Home, times: usize, over: &AtomicBool) -> Result<Kills> {
    let mut random = Random::new(11);
    let mut kills = Kills {
        all: 0,
        while_hooks_ran: 0,
    };
    for _ in 0..times {
        home.start_worker()?;
        sleep(Duration::from_micros(random.below(120_000) as u64));
        kills.while_hooks_ran += usize::from(!over.load(Ordering::Relaxed));
        home.kill_worker()?;
        kills.all += 1;
    }
    // One more worker ingests the events after the last kill.
    home.start_worker()?;
    while !over.load(Ordering::Relaxed) {
        sleep(Duration::from_millis(5));
    }
    home.drain()?;
    home.kill_worker()?;
    Ok(kills)
}

fn check_arrival(section: &mut Section, home: &Home, runs: usize) -> Result<()> {
    let events = audit::events(&home.database())?;
    let counts = audit::counts(&events);
    section.check(
        format!("{} events arrived", THREADS * runs),
        events.len() == THREADS * runs,
    );
    let all_once =
        (0..THREADS).all(|thread| (0..runs).all(|run| counts.get(id(thread, run).as_str()) == Some(&1)));
    section.check("each event arrived once", all_once);
    let mut last: HashMap<(&str, &str), &str> = HashMap::new();
    let mut in_order = true;
    for event in &events {
        let (thread, run) = event.id.rsplit_once('_').context("an event with an unknown id")?;
        let previous = last.insert((&event.session, thread), run);
        in_order &= previous.is_none_or(|previous| previous < run);
    }
    section.check("events are in order per session and thread", in_order);
    section.check("each thread's events are in its session", last.len() == THREADS);
    section.check(
        "pragma integrity_check is ok",
        audit::is_intact(&home.database())?,
    );
    section.check("the spool is empty", home.spooled()?.is_empty());
    Ok(())
}
