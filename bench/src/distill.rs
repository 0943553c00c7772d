//! Distillation: delay from the end of a turn to its summary, import of past sessions, concurrent sessions.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    sync::atomic::{AtomicBool, Ordering},
    thread::{self, sleep},
    time::{Duration, Instant, SystemTime},
};

use anyhow::{Context, Result, anyhow, ensure};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::{
    Bench,
    home::Home,
    payload::{Shape, Size, payload},
    process,
    report::{Samples, Section, micros, rounded},
};

/// Tool uses of a turn, with the average sizes of real sessions.
const TURN: [(Shape, Size); 12] = [
    (Shape::Bash, Size(2 << 10)),
    (Shape::Bash, Size(6 << 10)),
    (Shape::Bash, Size::SMALL),
    (Shape::Edit, Size(8 << 10)),
    (Shape::Bash, Size(4 << 10)),
    (Shape::Edit, Size(16 << 10)),
    (Shape::Edit, Size(4 << 10)),
    (Shape::Bash, Size(12 << 10)),
    (Shape::Write, Size(10 << 10)),
    (Shape::Bash, Size(2 << 10)),
    (Shape::Edit, Size(6 << 10)),
    (Shape::Bash, Size(3 << 10)),
];

/// Interval between two checks.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// Measures the time from the exit of the stop hook until another process can read the summary.
pub(crate) fn wait(bench: &Bench) -> Result<Section> {
    let columns = &["what", "turns", "median us", "p95 us", "p99 us", "worst us"];
    let mut section = Section::new("From the end of a turn to its summary, worker up", columns);
    let mut home = Home::create(bench.folder("distill"), &bench.programs.product, None)?;
    home.start_worker()?;
    let idle = resident(home.worker_pid().context("no worker")?)?;
    let turns = bench.rounds.min(if bench.quick { 10 } else { 30 });
    for (what, paced) in [
        ("events ingested before the stop", true),
        ("all events at once", false),
    ] {
        let mut samples = Samples::default();
        for number in 0..turns {
            samples.add(one_turn(bench, &home, &format!("{paced}-{number}"), paced)?);
        }
        let times = [50, 95, 99, 100].map(|percent| micros(samples.percentile(percent)));
        section.row([vec![json!(what), json!(samples.len())], times.to_vec()].concat());
    }
    let after = resident(home.worker_pid().context("no worker")?)?;
    section.note(format!(
        "turn: a prompt, {} tool uses with {} KB, a final message of 1 KB",
        TURN.len(),
        TURN.iter().map(|(_, size)| size.0).sum::<usize>() >> 10
    ));
    section.note("measured by reading the database every millisecond; the limit is one second");
    section.note(format!(
        "resident memory of the worker: {} MB before the first event, {} MB after the last",
        megabytes(idle),
        megabytes(after)
    ));
    Ok(section)
}

/// Runs a turn; returns the time from the exit of its last hook until its summary is stored.
fn one_turn(bench: &Bench, home: &Home, name: &str, paced: bool) -> Result<Duration> {
    let hook = |shape: Shape, size: Size, number: usize| {
        let text = payload(
            shape,
            size,
            &bench.project,
            "distill",
            &format!("toolu_{name}_{number}"),
        );
        let text = with_prompt_id(&text, name)?;
        let ran = process::run(&mut home.command(&["hook", shape.hook()]), text.as_bytes())?;
        ensure!(ran.status.success(), "a hook failed: {}", ran.status);
        anyhow::Ok(())
    };
    hook(Shape::Prompt, Size(400), 0)?;
    for (number, (shape, size)) in TURN.iter().enumerate() {
        hook(*shape, *size, number)?;
    }
    if paced {
        wait_until_empty(home)?;
    }
    hook(Shape::Stop, Size::SMALL, 0)?;
    let start = Instant::now();
    let database = open_database(home)?;
    let mut summary = database.prepare(
        "select 1 from summary join turn on turn.id = summary.turn_id
            where turn.prompt_id = ?1 and turn.ended_at is not null",
    )?;
    while !summary.exists([name])? {
        ensure!(
            start.elapsed() < Duration::from_secs(60),
            "no summary after a minute"
        );
        sleep(POLL_INTERVAL);
    }
    Ok(start.elapsed())
}

fn with_prompt_id(text: &str, id: &str) -> Result<String> {
    let mut payload: Value = serde_json::from_str(text)?;
    payload["prompt_id"] = json!(id);
    Ok(payload.to_string())
}

/// Measures speed and memory of importing past sessions.
pub(crate) fn import(bench: &Bench) -> Result<Section> {
    let columns = &["what", "seconds", "MB per second", "peak MB"];
    let mut section = Section::new("Past sessions", columns);
    let Some(folder) = &bench.transcripts else {
        section.note("not measured: pass --transcripts DIR");
        return Ok(section);
    };
    let bytes: u64 = files(folder)?
        .iter()
        .map(|file| Ok(fs::metadata(file)?.len()))
        .sum::<Result<u64>>()?;
    let alone = Home::create(bench.folder("import"), &bench.programs.product, None)?;
    let speed = |took: Duration| rounded(bytes as f64 / 1e6 / took.as_secs_f64());
    for what in ["first import, distilled", "the same again"] {
        let (took, peak) = run_import(&alone, folder)?;
        let is_first = what.starts_with("first");
        section.row(vec![
            json!(what),
            rounded(took.as_secs_f64()),
            if is_first { speed(took) } else { Value::Null },
            json!(megabytes(peak)),
        ]);
    }
    let mut with_worker = Home::create(bench.folder("import-up"), &bench.programs.product, None)?;
    with_worker.start_worker()?;
    let start = Instant::now();
    let (took, peak) = run_import(&with_worker, folder)?;
    section.row(vec![
        json!("import with a running worker: reading"),
        rounded(took.as_secs_f64()),
        speed(took),
        json!(megabytes(peak)),
    ]);
    wait_until_empty(&with_worker)?;
    let worker = with_worker.worker_pid().context("the worker is gone")?;
    section.row(vec![
        json!("import with a running worker: until all is distilled"),
        rounded(start.elapsed().as_secs_f64()),
        speed(start.elapsed()),
        json!(megabytes(status(worker, "VmHWM")?)),
    ]);
    let same = memory_counts(&alone)? == memory_counts(&with_worker)?;
    section.check("both ways produce the same number of memories", same);
    section.note(format!("{:.1} MB of transcripts", bytes as f64 / 1e6));
    Ok(section)
}

/// Runs an import; returns its duration and its peak memory.
pub(crate) fn run_import(home: &Home, folder: &Path) -> Result<(Duration, u64)> {
    let start = Instant::now();
    let mut child = home
        .command(&["import", "claude-code", "--json"])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let mut peak = 0;
    let status_code = loop {
        // After the process has exited the last value counts.
        peak = status(child.id(), "VmHWM").unwrap_or(0).max(peak);
        if let Some(status_code) = child.try_wait()? {
            break status_code;
        }
        sleep(POLL_INTERVAL);
    };
    ensure!(status_code.success(), "the import failed: {status_code}");
    Ok((start.elapsed(), peak))
}

/// Returns the numbers of observations and summaries.
pub(crate) fn memory_counts(home: &Home) -> Result<(u64, u64)> {
    let sql = "select (select count(*) from observation), (select count(*) from summary)";
    Ok(open_database(home)?.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

pub(crate) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("could not read {}", folder.display()))? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            found.push(path);
        }
    }
    Ok(found)
}

/// Measures the maximum age of undistilled events with eight concurrent sessions.
pub(crate) fn concurrent(bench: &Bench) -> Result<Section> {
    const SESSIONS: usize = 8;
    let events = if bench.quick { 400 } else { 2_000 };
    let columns = &["what", "value"];
    let mut section = Section::new("8 concurrent sessions, worker up", columns);
    let mut home = Home::create(bench.folder("concurrent"), &bench.programs.product, None)?;
    home.start_worker()?;
    let over = AtomicBool::new(false);
    let start = Instant::now();
    let (fed, seen) = thread::scope(|scope| {
        let watcher = scope.spawn(|| max_pending_age(&home, &over));
        let sessions: Vec<_> = (0..SESSIONS)
            .map(|session| {
                let home = &home;
                scope.spawn(move || feed(bench, home, session, events / SESSIONS))
            })
            .collect();
        for session in sessions {
            session.join().map_err(|_| anyhow!("a session panicked"))??;
        }
        let fed = start.elapsed();
        wait_until_empty(&home)?;
        over.store(true, Ordering::Relaxed);
        let seen = watcher.join().map_err(|_| anyhow!("the watcher panicked"))??;
        anyhow::Ok((fed, seen))
    })?;
    let worker = home.worker_pid().context("the worker is gone")?;
    for (what, value) in [
        ("events", json!(events)),
        ("seconds until the last hook exited", rounded(fed.as_secs_f64())),
        (
            "seconds until all was distilled",
            rounded(start.elapsed().as_secs_f64()),
        ),
        (
            "maximum age of a pending event, seconds",
            rounded(seen.as_secs_f64()),
        ),
        (
            "worker, CPU seconds",
            rounded(processor_time(worker)?.as_secs_f64()),
        ),
        ("worker, peak MB", json!(megabytes(status(worker, "VmHWM")?))),
    ] {
        section.row(vec![json!(what), value]);
    }
    let stored: usize =
        open_database(&home)?.query_row("select count(*) from event where state = 'done'", [], |row| {
            row.get(0)
        })?;
    section.note("the worker runs at low priority, so its CPU time says more than the elapsed time");
    section.check(format!("all {events} events are distilled"), stored == events);
    Ok(section)
}

/// Runs turns of a session, one hook after the other, until `events` events are sent.
fn feed(bench: &Bench, home: &Home, session: usize, events: usize) -> Result<()> {
    let turn = TURN.len() + 2;
    let id = format!("concurrent-{session}");
    for event in 0..events {
        let (shape, size) = match event % turn {
            0 => (Shape::Prompt, Size(400)),
            last if last == turn - 1 || event == events - 1 => (Shape::Stop, Size::SMALL),
            tool => TURN[tool - 1],
        };
        let text = payload(
            shape,
            size,
            &bench.project,
            &id,
            &format!("toolu_{session}_{event}"),
        );
        let text = with_prompt_id(&text, &format!("{session}-{}", event / turn))?;
        let ran = process::run(&mut home.command(&["hook", shape.hook()]), text.as_bytes())?;
        ensure!(ran.status.success(), "a hook failed: {}", ran.status);
    }
    Ok(())
}

/// Returns the maximum age of events in the spool or the queue, observed until `over` is set.
fn max_pending_age(home: &Home, over: &AtomicBool) -> Result<Duration> {
    let database = open_database(home)?;
    let mut queued = database
        .prepare("select min(at) from event where state <> 'done' and state in ('pending', 'processing')")?;
    let mut max_age = Duration::ZERO;
    while !over.load(Ordering::Relaxed) {
        let spooled = home
            .spooled()?
            .iter()
            .filter_map(|path| path.file_name()?.to_str()?.split('-').next()?.parse().ok())
            .map(Duration::from_nanos)
            .min();
        let queued: Option<i64> = queued.query_row([], |row| row.get(0))?;
        let queued = queued
            .and_then(|at| u64::try_from(at).ok())
            .map(Duration::from_millis);
        let ages = [spooled, queued].into_iter().flatten();
        max_age = ages
            .map(|at| since_1970().saturating_sub(at))
            .fold(max_age, Duration::max);
        sleep(Duration::from_millis(5));
    }
    Ok(max_age)
}

#[expect(
    clippy::disallowed_methods,
    reason = "events carry wall-clock times, and their age is measured"
)]
fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Waits until the spool and the queue are empty.
fn wait_until_empty(home: &Home) -> Result<()> {
    let database = open_database(home)?;
    let mut pending = database.prepare(
        "select 1 from event where state <> 'done' and state in ('pending', 'processing') limit 1",
    )?;
    let start = Instant::now();
    while !home.spooled()?.is_empty() || pending.exists([])? {
        ensure!(
            start.elapsed() < Duration::from_secs(600),
            "the queue did not become empty"
        );
        sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn open_database(home: &Home) -> Result<Connection> {
    let connection = Connection::open_with_flags(home.database(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

/// Returns the resident memory of a process, in bytes.
fn resident(pid: u32) -> Result<u64> {
    status(pid, "VmRSS")
}

/// Reads a size from `/proc/PID/status`, in bytes.
pub(crate) fn status(pid: u32, name: &str) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: u64 = number
        .with_context(|| format!("no {name} in /proc/PID/status"))?
        .parse()?;
    Ok(kilobytes << 10)
}

/// Returns the CPU time of a process.
pub(crate) fn processor_time(pid: u32) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in parentheses may contain anything; the fields after it start with the third.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = |at: usize| -> Result<u64> {
        let field = fields.split_whitespace().nth(at - 3);
        Ok(field.context("no CPU time in /proc/PID/stat")?.parse()?)
    };
    // A tick is 10 ms on every Linux.
    Ok(Duration::from_millis((ticks(14)? + ticks(15)?) * 10))
}

pub(crate) fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}
