//! A hundred thousand events through the whole path, from the hooks to the memories, while workers and hooks are killed.

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

/// Sessions that go on side by side.
const THREADS: usize = 4;

/// A session: a prompt, tool uses, a stop.
const PER_SESSION: usize = 50;

/// How much is done, and what is to be killed when.
struct Plan {
    sessions: usize,
    kills: usize,
    /// Workers die after so many hooks.
    workers: Vec<usize>,
    /// These hooks are killed: session and number.
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
            // Only tool uses: without its prompt or its stop a session is another one.
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
    let mut section = Section::new("Under fire: from hooks to memories", &["what", "count"]);
    let plan = Plan::new(bench.quick);
    let mut home = Home::create(bench.folder("fire"), &bench.programs.product, None)?;
    // Its own handle to the same folder: one thread kills workers while the others run hooks.
    let view = Home::create(bench.folder("fire"), &bench.programs.product, None)?;
    let done = AtomicUsize::new(0);
    let cut_short = Mutex::new(HashSet::new());
    let start = Instant::now();
    home.start_worker()?;
    let killed = thread::scope(|scope| {
        let killer = scope.spawn(|| kill_workers(&mut home, &plan, &done));
        let writers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (view, plan, done, cut_short) = (&view, &plan, &done, &cut_short);
                scope.spawn(move || write(bench, view, plan, thread, done, cut_short))
            })
            .collect();
        for writer in writers {
            let written = writer.join().map_err(|_| anyhow!("a writer panicked"))?;
            // Or the killer waits for hooks that never come.
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
    home.take_in()?;
    let cut_short = cut_short.into_inner().map_err(|_| anyhow!("a writer panicked"))?;
    section.row(vec![json!("hooks"), json!(plan.events())]);
    section.row(vec![json!("sessions"), json!(plan.sessions)]);
    section.row(vec![json!("workers killed"), json!(killed)]);
    section.row(vec![json!("hooks killed"), json!(cut_short.len())]);
    section.row(vec![
        json!("hooks a second"),
        rounded(plan.events() as f64 / hooks_took.as_secs_f64()),
    ]);
    section.row(vec![
        json!("seconds until all was distilled"),
        rounded(start.elapsed().as_secs_f64()),
    ]);
    section.check(
        format!("{} kills", plan.kills),
        killed + cut_short.len() == plan.kills,
    );
    check(&mut section, &home, &plan, &cut_short)?;
    Ok(section)
}

fn session(number: usize) -> String {
    format!("fire-{number:05}")
}

fn id(session: usize, number: usize) -> String {
    format!("toolu_{session:05}_{number:02}")
}

/// Runs the hooks of every fourth session, one after the other.
fn write(
    bench: &Bench,
    home: &Home,
    plan: &Plan,
    thread: usize,
    done: &AtomicUsize,
    cut_short: &Mutex<HashSet<String>>,
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
                cut_short
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

/// Kills the worker at the planned moments, and starts the next.
fn kill_workers(home: &mut Home, plan: &Plan, done: &AtomicUsize) -> Result<usize> {
    for moment in &plan.workers {
        while done.load(Ordering::Relaxed) < *moment {
            sleep(Duration::from_millis(1));
        }
        home.kill_worker()?;
        home.start_worker()?;
    }
    Ok(plan.workers.len())
}

fn check(section: &mut Section, home: &Home, plan: &Plan, cut_short: &HashSet<String>) -> Result<()> {
    let events = audit::events(&home.database())?;
    let counts = audit::counts(&events);
    let once = |id: &str| counts.get(id) == Some(&1);
    let tools =
        (0..plan.sessions).flat_map(|session| (1..PER_SESSION - 1).map(move |step| id(session, step)));
    let lost: Vec<String> = tools.filter(|id| !once(id) && !cut_short.contains(id)).collect();
    section.check(
        "no event of a hook that ended is lost or doubled",
        lost.is_empty(),
    );
    if let [first, .., last] = lost.as_slice() {
        section.note(format!("{} lost or doubled, from {first} to {last}", lost.len()));
    }
    let doubled = cut_short
        .iter()
        .filter(|id| counts.get(id.as_str()).is_some_and(|count| *count > 1));
    section.check("no event of a killed hook is doubled", doubled.count() == 0);
    let others = counts.get("").copied().unwrap_or_default();
    section.check(
        "every prompt and every stop is there once",
        others == 2 * plan.sessions,
    );
    let tally = audit::tally(&home.database())?;
    section.check("every session has its one turn", tally.turns == plan.sessions);
    section.check(
        "every turn has one summary",
        tally.summaries == plan.sessions && tally.doubled == 0,
    );
    section.check("nothing waits, nothing failed", tally.undone == 0);
    section.check(
        "pragma integrity_check is ok",
        audit::is_intact(&home.database())?,
    );
    section.check("the spool is empty", home.spooled()?.is_empty());
    section.row(vec![json!("events stored"), json!(events.len())]);
    section.row(vec![json!("observations"), json!(tally.observations)]);
    section.check(
        "every session left memories, and none is doubled",
        tally.observations >= plan.sessions && tally.alike == 0,
    );
    Ok(())
}
