//! Sends 100,000 events through the whole path, from hooks to memories, while workers and hooks are killed.

use std::{
    collections::HashSet,
    process::Stdio,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread::{self, sleep},
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow, ensure};
use serde_json::json;

use crate::{
    Bench, audit,
    home::Home,
    payload::Shape,
    process,
    random::Random,
    report::{Section, rounded},
    turns::Turn,
};

/// Number of concurrent sessions.
const THREADS: usize = 4;

/// Events of a session: a prompt, tool uses, a stop.
const PER_SESSION: usize = 50;

/// Number of sessions, and the kills.
struct Plan {
    sessions: usize,
    kills: usize,
    /// Numbers of completed hooks at which the worker is killed.
    workers: Vec<usize>,
    /// Hooks to kill: session and step.
    hooks: HashSet<(usize, usize)>,
}

impl Plan {
    fn new(quick: bool) -> Self {
        let (events, kills) = if quick { (2_000, 10) } else { (100_000, 50) };
        let sessions = events / PER_SESSION;
        let mut random = Random::new(29);
        let mut workers: Vec<usize> = (0..kills / 2).map(|_| random.below(events)).collect();
        workers.sort_unstable();
        let mut hooks = HashSet::new();
        while hooks.len() < kills - workers.len() {
            // Only tool uses: without its prompt or stop a session would change.
            hooks.insert((random.below(sessions), 1 + random.below(PER_SESSION - 2)));
        }
        Self {
            sessions,
            kills,
            workers,
            hooks,
        }
    }

    fn events(&self) -> usize {
        self.sessions * PER_SESSION
    }
}

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let mut section = Section::new("Kills on the path from hooks to memories", &["what", "count"]);
    let plan = Plan::new(bench.quick);
    let mut home = Home::create(bench.folder("fire"), &bench.programs.product, None)?;
    // A second handle to the same folder, because one thread kills workers while the others run hooks.
    let view = Home::create(bench.folder("fire"), &bench.programs.product, None)?;
    let done = AtomicUsize::new(0);
    let killed_hooks = Mutex::new(HashSet::new());
    let start = Instant::now();
    home.start_worker()?;
    let killed_workers = thread::scope(|scope| {
        let killer = scope.spawn(|| kill_workers(&mut home, &plan, &done));
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (view, plan, done, killed_hooks) = (&view, &plan, &done, &killed_hooks);
                scope.spawn(move || write(bench, view, plan, thread, done, killed_hooks))
            })
            .collect();
        for writer in writers {
            let written = writer.join().map_err(|_| anyhow!("a writer panicked"))?;
            // Otherwise the killer would wait for hooks that never run.
            done.fetch_max(
                if written.is_err() { plan.events() } else { 0 },
                Ordering::Relaxed,
            );
            written?;
        }
        killer.join().map_err(|_| anyhow!("the killer panicked"))?
    })?;
    let hooks_took = start.elapsed();
    home.kill_worker()?;
    home.ingest()?;
    let killed_hooks = killed_hooks
        .into_inner()
        .map_err(|_| anyhow!("a writer panicked"))?;
    section.row(vec![json!("hooks"), json!(plan.events())]);
    section.row(vec![json!("sessions"), json!(plan.sessions)]);
    section.row(vec![json!("workers killed"), json!(killed_workers)]);
    section.row(vec![json!("hooks killed"), json!(killed_hooks.len())]);
    section.row(vec![
        json!("hooks per second"),
        rounded(plan.events() as f64 / hooks_took.as_secs_f64()),
    ]);
    section.row(vec![
        json!("seconds until all was distilled"),
        rounded(start.elapsed().as_secs_f64()),
    ]);
    section.check(
        format!("{} kills", plan.kills),
        killed_workers + killed_hooks.len() == plan.kills,
    );
    check(&mut section, &home, &plan, &killed_hooks)?;
    Ok(section)
}

fn session(number: usize) -> String {
    format!("fire-{number:05}")
}

fn id(session: usize, number: usize) -> String {
    format!("toolu_{session:05}_{number:02}")
}

/// Runs the hooks of every fourth session in sequence.
fn write(
    bench: &Bench,
    home: &Home,
    plan: &Plan,
    thread: usize,
    done: &AtomicUsize,
    killed_hooks: &Mutex<HashSet<String>>,
) -> Result<()> {
    let mut random = Random::new(thread as u64 + 1);
    for number in (thread..plan.sessions).step_by(THREADS) {
        let mut turn = Turn::new(number, session(number), &bench.project);
        for step in 0..PER_SESSION {
            let shape = match step {
                0 => Shape::Prompt,
                _ if step + 1 == PER_SESSION => Shape::Stop,
                _ if step % 8 == 1 => Shape::Edit,
                _ => Shape::Bash,
            };
            let id = id(number, step);
            let input = turn.event(shape, &id);
            let mut command = home.command(&["hook", shape.hook()]);
            if plan.hooks.contains(&(number, step)) {
                let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
                if let Some(mut stdin) = child.stdin.take() {
                    process::feed(&mut stdin, input.as_bytes())?;
                }
                sleep(Duration::from_micros(random.below(1500) as u64));
                child.kill()?;
                child.wait()?;
                killed_hooks
                    .lock()
                    .map_err(|_| anyhow!("a writer panicked"))?
                    .insert(id);
            } else {
                let finished = process::run(&mut command, input.as_bytes())?;
                ensure!(finished.status.success(), "a hook failed: {}", finished.status);
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Kills the worker at the planned times and starts the next one.
fn kill_workers(home: &mut Home, plan: &Plan, done: &AtomicUsize) -> Result<usize> {
    for at in &plan.workers {
        while done.load(Ordering::Relaxed) < *at {
            sleep(Duration::from_millis(1));
        }
        home.kill_worker()?;
        home.start_worker()?;
    }
    Ok(plan.workers.len())
}

fn check(section: &mut Section, home: &Home, plan: &Plan, killed_hooks: &HashSet<String>) -> Result<()> {
    let events = audit::events(&home.database())?;
    let counts = audit::counts(&events);
    let once = |id: &str| counts.get(id) == Some(&1);
    let tools =
        (0..plan.sessions).flat_map(|session| (1..PER_SESSION - 1).map(move |step| id(session, step)));
    let lost: Vec<String> = tools
        .filter(|id| !once(id) && !killed_hooks.contains(id))
        .collect();
    section.check(
        "no event of a completed hook is lost or duplicated",
        lost.is_empty(),
    );
    if let [first, .., last] = lost.as_slice() {
        section.note(format!(
            "{} lost or duplicated, from {first} to {last}",
            lost.len()
        ));
    }
    let duplicated = killed_hooks
        .iter()
        .filter(|id| counts.get(id.as_str()).is_some_and(|count| *count > 1));
    section.check("no event of a killed hook is duplicated", duplicated.count() == 0);
    let others = counts.get("").copied().unwrap_or_default();
    section.check(
        "every prompt and every stop is stored once",
        others == 2 * plan.sessions,
    );
    let tally = audit::tally(&home.database())?;
    section.check("every session has one turn", tally.turns == plan.sessions);
    section.check(
        "every turn has one summary",
        tally.summaries == plan.sessions && tally.duplicate_summaries == 0,
    );
    section.check("no event is pending or failed", tally.unfinished == 0);
    section.check(
        "pragma integrity_check is ok",
        audit::is_intact(&home.database())?,
    );
    section.check("the spool is empty", home.spooled()?.is_empty());
    section.row(vec![json!("events stored"), json!(events.len())]);
    section.row(vec![json!("observations"), json!(tally.observations)]);
    section.check(
        "every session has memories, without duplicates",
        tally.observations >= plan.sessions && tally.duplicate_observations == 0,
    );
    Ok(())
}
