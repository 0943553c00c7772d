//! A full house: listeners and requests while a session is captured. Does a hook notice, does a listener miss anything?

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle, sleep},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

use crate::{
    Bench,
    distil::{megabytes, status},
    home::Home,
    payload::{Shape, Size, payload},
    process,
    report::{Samples, Section, micros, rounded},
};

/// So many listen to live events.
const LISTENERS: usize = 200;

/// So many requests come in a second.
const REQUESTS: u32 = 50;

/// So many hooks run in a second: a session that works without a pause.
const HOOKS: u32 = 20;

/// What is asked for, in turn.
const PATHS: [&str; 6] = [
    "/api/search?query=retry%20the%20connection%20when%20it%20times%20out",
    "/api/observations?limit=20",
    "/api/sessions",
    "/api/health",
    "/api/context/inject?project=project",
    "/metrics",
];

/// Where the worker is reached, and by whom.
#[derive(Clone, Debug)]
struct Door {
    port: u16,
    token: String,
}

pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let columns = &[
        "what",
        "how many",
        "median us",
        "p95 us",
        "p99 us",
        "ratio of medians",
    ];
    let mut section = Section::new(
        "200 listeners and 50 requests a second while a session is captured",
        columns,
    );
    let store = bench.large_store()?;
    let mut home = Home::create(bench.folder("audience"), &bench.programs.product, Some(&store))?;
    home.start_worker()?;
    let door = Door::read(&home.database().with_file_name(""))?;
    let pid = home.worker_pid().context("no worker")?;
    let seconds = if bench.quick { 10 } else { 60 };
    let alone = status(pid, "VmRSS")?;
    // Before and after, so that a machine that grows faster or slower does not count.
    let mut quiet = session(bench, &home, "before", seconds / 2)?;
    // All begin to listen in the same silence: what one hears, all must hear.
    home.drain()?;
    sleep(Duration::from_secs(2));
    let first = last_change(&home.database())?;
    let listeners: Vec<Listener> = (0..LISTENERS)
        .map(|_| Listener::start(&door))
        .collect::<Result<_>>()?;
    let visitors = Visitors::start(&door);
    let busy = session(bench, &home, "among-many", seconds)?;
    let (answers, refused) = visitors.end();
    sleep(Duration::from_secs(2));
    let last = last_change(&home.database())?;
    let among_many = status(pid, "VmRSS")?;
    let heard: Vec<BTreeSet<i64>> = listeners.into_iter().map(Listener::end).collect();
    quiet.extend(session(bench, &home, "after", seconds / 2)?);
    let ratio = busy.median() / quiet.median();
    for (what, samples, ratio) in [
        ("hooks, nobody there", &quiet, 1.0),
        ("hooks, a full house", &busy, ratio),
    ] {
        section.row(row(what, samples, rounded(ratio)));
    }
    section.row(row("requests", &answers, json!("")));
    // What a listener must have heard is what any of them heard: some changes are of things that were gone at once.
    let all: BTreeSet<i64> = heard.iter().flatten().copied().collect();
    let missed: usize = heard.iter().map(|one| all.difference(one).count()).sum();
    section.note(format!(
        "{} changes told, {} in the store",
        all.len(),
        last - first
    ));
    section.note(format!(
        "the worker has {} MB resident before, {} MB with a full house, {} MB at most",
        megabytes(alone),
        megabytes(among_many),
        megabytes(status(pid, "VmHWM")?)
    ));
    section.check(
        format!("no listener missed any of {} events", all.len()),
        missed == 0 && !all.is_empty(),
    );
    section.check("every request was answered", refused == 0);
    Ok(section)
}

fn row(what: &str, samples: &Samples, ratio: Value) -> Vec<Value> {
    let times = [50, 95, 99].map(|percent| micros(samples.percentile(percent)));
    [
        vec![json!(what), json!(samples.len())],
        times.to_vec(),
        vec![ratio],
    ]
    .concat()
}

/// Runs hooks at an even pace; returns how long each took.
fn session(bench: &Bench, home: &Home, name: &str, seconds: u32) -> Result<Samples> {
    let mut samples = Samples::default();
    let start = Instant::now();
    for number in 0..seconds * HOOKS {
        let shape = match number % 20 {
            0 => Shape::Prompt,
            19 => Shape::Stop,
            odd if odd % 2 == 1 => Shape::Bash,
            _ => Shape::Edit,
        };
        let text = payload(
            shape,
            Size(4 << 10),
            &bench.project,
            name,
            &format!("toolu_{name}_{number}"),
        );
        let ran = process::run(&mut home.command(&["hook", shape.hook()]), text.as_bytes())?;
        ensure!(ran.status.success(), "a hook failed: {}", ran.status);
        // Those that look something up take longer by nature.
        if matches!(shape, Shape::Bash | Shape::Edit) {
            samples.add(ran.took);
        }
        let next = start + Duration::from_secs(1) * (number + 1) / HOOKS;
        sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(samples)
}

fn last_change(database: &Path) -> Result<i64> {
    let database = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    Ok(database.query_row("select coalesce(max(id), 0) from change", [], |row| row.get(0))?)
}

impl Door {
    fn read(home: &Path) -> Result<Self> {
        let facts: Value = serde_json::from_slice(&fs::read(home.join("worker.json"))?)?;
        let port = facts["port"].as_u64().context("the worker serves nothing")?;
        Ok(Self {
            port: u16::try_from(port)?,
            token: fs::read_to_string(home.join("token"))?.trim().to_owned(),
        })
    }

    fn ask(&self, path: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let (port, token) = (self.port, &self.token);
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        )?;
        Ok(stream)
    }
}

/// Somebody who listens and notes the numbers of what is told.
struct Listener {
    stream: TcpStream,
    thread: JoinHandle<BTreeSet<i64>>,
}

impl Listener {
    fn start(door: &Door) -> Result<Self> {
        let stream = door.ask("/api/events")?;
        let mut lines = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        // From the first event on nothing may be missed.
        while !line.starts_with("event: ") {
            line.clear();
            ensure!(lines.read_line(&mut line)? > 0, "the stream ended at once");
        }
        let thread = thread::Builder::new().stack_size(256 << 10).spawn(move || {
            let mut heard = BTreeSet::new();
            for line in lines.lines() {
                let Ok(line) = line else { break };
                heard.extend(line.strip_prefix("id: ").and_then(|id| id.parse::<i64>().ok()));
            }
            heard
        })?;
        Ok(Self { stream, thread })
    }

    fn end(self) -> BTreeSet<i64> {
        // It ended by itself: what it heard counts all the same.
        self.stream.shutdown(std::net::Shutdown::Both).ok();
        self.thread.join().unwrap_or_default()
    }
}

/// Those who ask something, at an even pace.
struct Visitors {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<(Samples, usize)>>,
}

impl Visitors {
    fn start(door: &Door) -> Self {
        const BATCH_SIZE: u32 = 5;
        let stop = Arc::new(AtomicBool::new(false));
        let visit = |number: u32| {
            let (door, stop) = (door.clone(), Arc::clone(&stop));
            thread::spawn(move || {
                let (mut samples, mut refused) = (Samples::default(), 0);
                let start = Instant::now();
                for asked in 0.. {
                    let next = start + Duration::from_secs(1) * (asked * BATCH_SIZE + number) / REQUESTS;
                    sleep(next.saturating_duration_since(Instant::now()));
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let path = PATHS[(asked + number) as usize % PATHS.len()];
                    let begun = Instant::now();
                    match answered(&door, path) {
                        Ok(true) => samples.add(begun.elapsed()),
                        _ => refused += 1,
                    }
                }
                (samples, refused)
            })
        };
        let threads = (0..BATCH_SIZE).map(visit).collect();
        Self { stop, threads }
    }

    fn end(self) -> (Samples, usize) {
        self.stop.store(true, Ordering::Relaxed);
        let (mut all, mut refused) = (Samples::default(), 0);
        for thread in self.threads {
            let (samples, missing) = thread.join().unwrap_or((Samples::default(), 1));
            all.extend(samples);
            refused += missing;
        }
        (all, refused)
    }
}

fn answered(door: &Door, path: &str) -> Result<bool> {
    let mut answer = Vec::new();
    door.ask(path)?.read_to_end(&mut answer)?;
    Ok(answer.starts_with(b"HTTP/1.1 200"))
}
