//! What it takes to remember: from the end of a turn to its summary, past sessions, many sessions at once.

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

/// The tool uses of a turn, with the sizes that they have on average in real sessions.
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

/// Waits this long between two looks.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// From the exit of the stop hook until another process can read the summary.
pub(crate) fn wait(bench: &Bench) -> Result<Section> {
    let columns = &["what", "turns", "median us", "p95 us", "p99 us", "worst us"];
    let mut section = Section::new("From the end of a turn to its summary, worker up", columns);
    let mut home = Home::create(bench.folder("distil"), &bench.programs.product, None)?;
    home.start_worker()?;
    let idle = resident(home.worker_pid().context("no worker")?)?;
    let turns = bench.rounds.min(if bench.quick { 10 } else { 30 });
    for (what, paced) in [
        ("its events were taken in before", true),
        ("all of its events at once", false),
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
        "a turn: a prompt, {} tool uses with {} KB, an answer of 1 KB",
        TURN.len(),
        TURN.iter().map(|(_, size)| size.0).sum::<usize>() >> 10
    ));
    section.note("seen by reading the database once a millisecond; a second is the promise");
    section.note(format!(
        "the worker has {} MB resident before the first event, {} MB after the last",
        megabytes(idle),
        megabytes(after)
    ));
    Ok(section)
}

/// Plays a turn; returns the time from the exit of its last hook until its summary is there.
fn one_turn(bench: &Bench, home: &Home, name: &str, paced: bool) -> Result<Duration> {
    let hook = |shape: Shape, size: Size, number: usize| {
        let text = payload(
            shape,
            size,
            &bench.project,
            "distil",
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
        until_empty(home)?;
    }
    hook(Shape::Stop, Size::SMALL, 0)?;
    let start = Instant::now();
    let database = look_into(home)?;
    let mut there = database.prepare(
        "select 1 from summary join turn on turn.id = summary.turn_id
            where turn.prompt_id = ?1 and turn.ended_at is not null",
    )?;
    while !there.exists([name])? {
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

/// Past sessions: how fast they are taken over, and what that takes.
pub(crate) fn import(bench: &Bench) -> Result<Section> {
    let columns = &["what", "seconds", "MB per second", "peak MB"];
    let mut section = Section::new("Past sessions", columns);
    let Some(folder) = &bench.transcripts else {
        section.note("not measured: --transcripts DIR names a folder of transcripts");
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
        json!("import beside a worker: reading"),
        rounded(took.as_secs_f64()),
        speed(took),
        json!(megabytes(peak)),
    ]);
    until_empty(&with_worker)?;
    let worker = with_worker.worker_pid().context("the worker is gone")?;
    section.row(vec![
        json!("import beside a worker: the worker, until all is distilled"),
        rounded(start.elapsed().as_secs_f64()),
        speed(start.elapsed()),
        json!(megabytes(status(worker, "VmHWM")?)),
    ]);
    let same = remembered(&alone)? == remembered(&with_worker)?;
    section.check("both ways leave the same number of memories", same);
    section.note(format!("{:.1} MB of transcripts", bytes as f64 / 1e6));
    Ok(section)
}

/// Runs an import to its end; returns its time and the most memory that it had.
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
    let ended = loop {
        // Gone between two looks: what was seen last stands.
        peak = status(child.id(), "VmHWM").unwrap_or(0).max(peak);
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        sleep(POLL_INTERVAL);
    };
    ensure!(ended.success(), "the import failed: {ended}");
    Ok((start.elapsed(), peak))
}

pub(crate) fn remembered(home: &Home) -> Result<(u64, u64)> {
    let sql = "select (select count(*) from observation), (select count(*) from summary)";
    Ok(look_into(home)?.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?)
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

/// Eight sessions at once: how old the oldest event gets before it is distilled.
pub(crate) fn crowd(bench: &Bench) -> Result<Section> {
    const SESSIONS: usize = 8;
    let events = if bench.quick { 400 } else { 2_000 };
    let columns = &["what", "value"];
    let mut section = Section::new("8 sessions at once, worker up", columns);
    let mut home = Home::create(bench.folder("crowd"), &bench.programs.product, None)?;
    home.start_worker()?;
    let over = AtomicBool::new(false);
    let start = Instant::now();
    let (fed, seen) = thread::scope(|scope| {
        let watcher = scope.spawn(|| oldest_until(&home, &over));
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
        until_empty(&home)?;
        over.store(true, Ordering::Relaxed);
        let seen = watcher.join().map_err(|_| anyhow!("the watcher panicked"))??;
        anyhow::Ok((fed, seen))
    })?;
    let worker = home.worker_pid().context("the worker is gone")?;
    for (what, value) in [
        ("events", json!(events)),
        (
            "seconds until the last hook had exited",
            rounded(fed.as_secs_f64()),
        ),
        (
            "seconds until all was distilled",
            rounded(start.elapsed().as_secs_f64()),
        ),
        (
            "oldest event ever seen waiting, seconds",
            rounded(seen.as_secs_f64()),
        ),
        (
            "worker, seconds of a processor",
            rounded(processor_time(worker)?.as_secs_f64()),
        ),
        ("worker, peak MB", json!(megabytes(status(worker, "VmHWM")?))),
    ] {
        section.row(vec![json!(what), value]);
    }
    let stored: usize =
        look_into(&home)?.query_row("select count(*) from event where state = 'done'", [], |row| {
            row.get(0)
        })?;
    section.note(
        "the worker makes way for everybody else on the machine: its processor time tells what it needs",
    );
    section.check(format!("{events} events are distilled"), stored == events);
    Ok(section)
}

/// Plays turns of a session, one hook after the other, until so many events were sent.
fn feed(bench: &Bench, home: &Home, session: usize, events: usize) -> Result<()> {
    let turn = TURN.len() + 2;
    let id = format!("crowd-{session}");
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

/// Looks until told otherwise; returns the greatest age of what waited, in the spool or in the queue.
fn oldest_until(home: &Home, over: &AtomicBool) -> Result<Duration> {
    let database = look_into(home)?;
    let mut queued = database
        .prepare("select min(at) from event where state <> 'done' and state in ('pending', 'processing')")?;
    let mut greatest = Duration::ZERO;
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
        greatest = ages
            .map(|at| since_1970().saturating_sub(at))
            .fold(greatest, Duration::max);
        sleep(Duration::from_millis(5));
    }
    Ok(greatest)
}

#[expect(
    clippy::disallowed_methods,
    reason = "events carry the time of day, and their age is what is measured"
)]
fn since_1970() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// Waits until nothing is left to do.
fn until_empty(home: &Home) -> Result<()> {
    let database = look_into(home)?;
    let mut waits = database.prepare(
        "select 1 from event where state <> 'done' and state in ('pending', 'processing') limit 1",
    )?;
    let start = Instant::now();
    while !home.spooled()?.is_empty() || waits.exists([])? {
        ensure!(
            start.elapsed() < Duration::from_secs(600),
            "the queue does not get empty"
        );
        sleep(POLL_INTERVAL);
    }
    Ok(())
}

fn look_into(home: &Home) -> Result<Connection> {
    let connection = Connection::open_with_flags(home.database(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.busy_timeout(Duration::from_secs(5))?;
    Ok(connection)
}

/// Returns what a process has in memory now, in bytes.
fn resident(pid: u32) -> Result<u64> {
    status(pid, "VmRSS")
}

/// Reads a number of kilobytes that the kernel knows of a process.
pub(crate) fn status(pid: u32, name: &str) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let number = line.and_then(|line| line.split_whitespace().next());
    let kilobytes: u64 = number
        .with_context(|| format!("the kernel does not tell {name}"))?
        .parse()?;
    Ok(kilobytes << 10)
}

/// Returns how long a process has had a processor.
pub(crate) fn processor_time(pid: u32) -> Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    // The name in brackets may hold anything; behind it the numbers are the third and following.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = |at: usize| -> Result<u64> {
        let field = fields.split_whitespace().nth(at - 3);
        Ok(field
            .context("the kernel does not tell the time of a process")?
            .parse()?)
    };
    // Ticks are hundredths of a second on every Linux.
    Ok(Duration::from_millis((ticks(14)? + ticks(15)?) * 10))
}

pub(crate) fn megabytes(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}
