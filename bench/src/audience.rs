//! Server load: latency of hooks and completeness of live events with many listeners and requests.

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
    distill::{megabytes, status},
    home::Home,
    payload::{Shape, Size, payload},
    process,
    report::{Samples, Section, micros, rounded},
};

/// Number of subscribers to live events.
const LISTENERS: usize = 200;

/// Requests per second.
const REQUESTS: u32 = 50;

/// Hooks per second: a session without pauses.
const HOOKS: u32 = 20;

/// Requested paths, in turn.
const PATHS: [&str; 6] = [
    "/api/search?query=retry%20the%20connection%20when%20it%20times%20out",
    "/api/observations?limit=20",
    "/api/sessions",
    "/api/health",
    "/api/context/inject?project=project",
    "/metrics",
];

/// Port and token of the worker.
#[derive(Clone, Debug)]
struct Endpoint {
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
        "200 listeners and 50 requests per second while a session is captured",
        columns,
    );
    let store = bench.large_store()?;
    let mut home = Home::create(bench.folder("audience"), &bench.programs.product, Some(&store))?;
    home.start_worker()?;
    let endpoint = Endpoint::read(&home.database().with_file_name(""))?;
    let pid = home.worker_pid().context("no worker")?;
    let seconds = if bench.quick { 10 } else { 60 };
    let baseline = status(pid, "VmRSS")?;
    // Measured before and after, so that a drift of the machine's speed cancels out.
    let mut quiet = session(bench, &home, "before", seconds / 2)?;
    // All subscribe while nothing changes, so that all must receive the same events.
    home.drain()?;
    sleep(Duration::from_secs(2));
    let first = last_change(&home.database())?;
    let listeners: Vec<Listener> = (0..LISTENERS)
        .map(|_| Listener::start(&endpoint))
        .collect::<Result<_>>()?;
    let clients = Clients::start(&endpoint);
    let busy = session(bench, &home, "busy", seconds)?;
    let (answers, failed) = clients.end();
    sleep(Duration::from_secs(2));
    let last = last_change(&home.database())?;
    let under_load = status(pid, "VmRSS")?;
    let received: Vec<BTreeSet<i64>> = listeners.into_iter().map(Listener::end).collect();
    quiet.extend(session(bench, &home, "after", seconds / 2)?);
    let ratio = busy.median() / quiet.median();
    for (what, samples, ratio) in [
        ("hooks, no listeners", &quiet, 1.0),
        ("hooks, 200 listeners", &busy, ratio),
    ] {
        section.row(row(what, samples, rounded(ratio)));
    }
    section.row(row("requests", &answers, json!("")));
    // A listener must receive what any other received: some changes have no event, because the item was already gone.
    let all: BTreeSet<i64> = received.iter().flatten().copied().collect();
    let missed: usize = received.iter().map(|one| all.difference(one).count()).sum();
    section.note(format!(
        "{} changes broadcast, {} in the store",
        all.len(),
        last - first
    ));
    section.note(format!(
        "resident memory of the worker: {} MB before, {} MB under load, {} MB peak",
        megabytes(baseline),
        megabytes(under_load),
        megabytes(status(pid, "VmHWM")?)
    ));
    section.check(
        format!("no listener missed any of {} events", all.len()),
        missed == 0 && !all.is_empty(),
    );
    section.check("every request was answered", failed == 0);
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

/// Runs hooks at a constant rate; returns their durations.
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
        // Hooks that search take longer by design and are not compared.
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

impl Endpoint {
    fn read(home: &Path) -> Result<Self> {
        let facts: Value = serde_json::from_slice(&fs::read(home.join("worker.json"))?)?;
        let port = facts["port"].as_u64().context("the worker has no HTTP server")?;
        Ok(Self {
            port: u16::try_from(port)?,
            token: fs::read_to_string(home.join("token"))?.trim().to_owned(),
        })
    }

    fn get(&self, path: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let (port, token) = (self.port, &self.token);
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
        )?;
        Ok(stream)
    }
}

/// A subscriber that records the ids of received events.
struct Listener {
    stream: TcpStream,
    thread: JoinHandle<BTreeSet<i64>>,
}

impl Listener {
    fn start(endpoint: &Endpoint) -> Result<Self> {
        let stream = endpoint.get("/api/events")?;
        let mut lines = BufReader::new(stream.try_clone()?);
        let mut line = String::new();
        // From the first event on the subscription is complete.
        while !line.starts_with("event: ") {
            line.clear();
            ensure!(lines.read_line(&mut line)? > 0, "the stream ended immediately");
        }
        let thread = thread::Builder::new().stack_size(256 << 10).spawn(move || {
            let mut received = BTreeSet::new();
            for line in lines.lines() {
                let Ok(line) = line else { break };
                received.extend(line.strip_prefix("id: ").and_then(|id| id.parse::<i64>().ok()));
            }
            received
        })?;
        Ok(Self { stream, thread })
    }

    fn end(self) -> BTreeSet<i64> {
        // Fails if the stream already ended; the received events still count.
        self.stream.shutdown(std::net::Shutdown::Both).ok();
        self.thread.join().unwrap_or_default()
    }
}

/// Clients that send requests at a constant rate.
struct Clients {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<(Samples, usize)>>,
}

impl Clients {
    fn start(endpoint: &Endpoint) -> Self {
        const THREADS: u32 = 5;
        let stop = Arc::new(AtomicBool::new(false));
        let client = |number: u32| {
            let (endpoint, stop) = (endpoint.clone(), Arc::clone(&stop));
            thread::spawn(move || {
                let (mut samples, mut failed) = (Samples::default(), 0);
                let start = Instant::now();
                for request in 0.. {
                    let next = start + Duration::from_secs(1) * (request * THREADS + number) / REQUESTS;
                    sleep(next.saturating_duration_since(Instant::now()));
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let path = PATHS[(request + number) as usize % PATHS.len()];
                    let start = Instant::now();
                    match is_ok(&endpoint, path) {
                        Ok(true) => samples.add(start.elapsed()),
                        _ => failed += 1,
                    }
                }
                (samples, failed)
            })
        };
        let threads = (0..THREADS).map(client).collect();
        Self { stop, threads }
    }

    fn end(self) -> (Samples, usize) {
        self.stop.store(true, Ordering::Relaxed);
        let (mut all, mut failed) = (Samples::default(), 0);
        for thread in self.threads {
            let (samples, missed) = thread.join().unwrap_or((Samples::default(), 1));
            all.extend(samples);
            failed += missed;
        }
        (all, failed)
    }
}

fn is_ok(endpoint: &Endpoint, path: &str) -> Result<bool> {
    let mut response = Vec::new();
    endpoint.get(path)?.read_to_end(&mut response)?;
    Ok(response.starts_with(b"HTTP/1.1 200"))
}
