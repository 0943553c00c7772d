//! Speed and size of the team server with many records.
//!
//! Besides the time of a request as a client sees it, the table shows the processor time of the server and of PostgreSQL
//! together, which other programs on the machine do not change as much.

use std::{
    collections::HashMap,
    fs,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use backstory_protocol::{PushLine, SearchRequest, SharedProject};
use serde_json::json;

use crate::{
    person::{Person, pull_path, pulled},
    random::Random,
    report::Section,
    team_load,
    team_server::{Cluster, TeamServer},
};

/// Time of each measurement with several clients.
const LOAD_TIME: Duration = Duration::from_secs(10);

/// Clients of the mixed load.
const CLIENTS: usize = 50;

pub(crate) fn measure(is_quick: bool) -> Result<Section> {
    let sizes = sizes(is_quick);
    let rounds = if is_quick { 30 } else { 100 };
    let cluster = Cluster::start(&["--fsync"]);
    let variables = [("REQUESTS_PER_SECOND", "100000"), ("CONNECTIONS", "24")];
    let server = TeamServer::start_in(&cluster, &variables);
    let person = Person::join(&server.url, &server.invite("bench", "maintainer"), "bench");
    let start = Instant::now();
    let projects = team_load::load(&server, &person, &sizes)?;
    let total: usize = sizes.iter().sum();
    let mut section = Section::new("Team server", &["what", "p50 ms", "p95 ms", "CPU ms"]);
    section.note(format!(
        "{total} records in {} projects, loaded in {:.0} s",
        sizes.len(),
        start.elapsed().as_secs_f64()
    ));
    let bytes: f64 = server
        .sql("select sum(pg_total_relation_size(relid)) from pg_partition_tree('memory') where isleaf")
        .parse()?;
    section.note(format!(
        "{:.0} bytes per record, indexes included",
        bytes / total as f64
    ));
    let bench = Requests {
        cpu: Cpu::new(&server)?,
        person: &person,
    };
    let middle = projects.iter().zip(&sizes).find(|(_, size)| **size == 5_000);
    let (middle, _) = middle.ok_or_else(|| anyhow::anyhow!("one project has 5,000 records"))?;
    let mut random = Random::new(3);
    for (project, size) in [(middle, 5_000), (&projects[0], sizes[0])] {
        let what = format!("search among {size}");
        bench.row(&mut section, &what, rounds, || {
            search(&person, project, &mut random)
        })?;
    }
    bench.row(&mut section, "pull of the last 20", rounds, || {
        pull(&person, middle)
    })?;
    bench.row(&mut section, "push of 20", rounds, || {
        push(&person, middle, 20, &mut Random::new(9))
    })?;
    let start = Instant::now();
    let received = person.snapshot(middle).changes.len();
    ensure!(received >= 5_000, "{received} records in the snapshot");
    section.note(format!(
        "snapshot of {received} records in {:.2} s",
        start.elapsed().as_secs_f64()
    ));
    let small = &projects[projects.len() / 2..];
    mixed_load(&person, small, &mut section);
    ingest(&person, small, &mut section);
    Ok(section)
}

/// Returns the numbers of records of all projects, the largest first.
fn sizes(is_quick: bool) -> Vec<usize> {
    let groups: &[(usize, usize)] = if is_quick {
        &[(1, 20_000), (2, 5_000), (70, 421)]
    } else {
        &[(2, 100_000), (8, 25_000), (40, 5_000), (950, 421)]
    };
    groups
        .iter()
        .flat_map(|(count, size)| std::iter::repeat_n(*size, *count))
        .collect()
}

/// Sends requests one after the other.
struct Requests<'a> {
    cpu: Cpu,
    person: &'a Person,
}

impl Requests<'_> {
    fn row(
        &self,
        section: &mut Section,
        what: &str,
        rounds: usize,
        mut request: impl FnMut() -> u16,
    ) -> Result<()> {
        // The first ones fill caches.
        for _ in 0..5 {
            ensure!(request() == 200, "{what} of {} works", self.person.url);
        }
        let before = self.cpu.seconds()?;
        let mut times = Vec::new();
        for _ in 0..rounds {
            let start = Instant::now();
            ensure!(request() == 200, "{what} works");
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
        let cpu = (self.cpu.seconds()? - before) * 1e3 / rounds as f64;
        times.sort_by(f64::total_cmp);
        let rounded = |value: f64| json!((value * 10.0).round() / 10.0);
        section.row(vec![
            json!(what),
            rounded(times[rounds / 2]),
            rounded(times[rounds * 95 / 100]),
            rounded(cpu),
        ]);
        Ok(())
    }
}

/// Searches with five words and a vector.
fn search(person: &Person, project: &SharedProject, random: &mut Random) -> u16 {
    let request = SearchRequest {
        projects: vec![project.id],
        terms: backstory_text::search_terms(&team_load::words(random, 5)),
        embedding: Some(team_load::embedding(random)),
        encoder: Some(backstory_embed::MODEL.to_owned()),
    };
    person.post("/v1/search", &request).status
}

fn pull(person: &Person, project: &SharedProject) -> u16 {
    let answer = person.get(&pull_path(project, project.head - 20, "&limit=20"));
    if answer.status == 200 && pulled(&answer).changes.len() != 20 {
        return 0;
    }
    answer.status
}

fn push(person: &Person, project: &SharedProject, count: usize, random: &mut Random) -> u16 {
    let line = |_| {
        let mut record = person.record("");
        team_load::fill(&mut record, random);
        person.sign(project, &record)
    };
    let lines: Vec<PushLine> = (0..count).map(line).collect();
    let texts: Vec<String> = lines.iter().filter_map(|line| line.to_line().ok()).collect();
    person.push_raw(project, &texts).status
}

/// 60 % pulls, 25 % searches, 15 % pushes of 20.
fn mixed_load(person: &Person, projects: &[SharedProject], section: &mut Section) {
    let (requests, failed) = run_clients(CLIENTS, |random| {
        let project = &projects[random.below(projects.len())];
        match random.below(100) {
            0..60 => pull(person, project),
            60..85 => search(person, project, random),
            _ => push(person, project, 20, random),
        }
    });
    section.note(format!(
        "{CLIENTS} clients, 60 % pulls, 25 % searches, 15 % pushes of 20: {requests:.0} requests per second, {failed} failed"
    ));
    section.check("no request failed", failed == 0);
}

fn ingest(person: &Person, projects: &[SharedProject], section: &mut Section) {
    const AT_ONCE: usize = 200;
    let (requests, failed) = run_clients(8, |random| {
        push(person, &projects[random.below(projects.len())], AT_ONCE, random)
    });
    section.note(format!(
        "8 clients pushing {AT_ONCE} records at once: {:.0} records per second, {failed} failed",
        requests * AT_ONCE as f64
    ));
}

/// Runs requests on several threads. Returns the number per second, and of those that failed.
fn run_clients(clients: usize, request: impl Fn(&mut Random) -> u16 + Sync) -> (f64, usize) {
    let (done, failed, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let start = Instant::now();
    thread::scope(|scope| {
        for client in 0..clients {
            let (done, failed, is_over, request) = (&done, &failed, &is_over, &request);
            scope.spawn(move || {
                let mut random = Random::new(1 + client as u64);
                while !is_over.load(Ordering::Relaxed) {
                    let counter = if request(&mut random) == 200 { done } else { failed };
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(LOAD_TIME);
        is_over.store(true, Ordering::Relaxed);
    });
    let seconds = start.elapsed().as_secs_f64();
    (done.into_inner() as f64 / seconds, failed.into_inner())
}

/// Processor time of the server and of all processes of its cluster.
struct Cpu {
    server: u32,
    postmaster: u32,
}

impl Cpu {
    fn new(server: &TeamServer<'_>) -> Result<Self> {
        let pid = fs::read_to_string(server.cluster.data().join("postmaster.pid"))?;
        Ok(Self {
            server: server.process_id(),
            postmaster: pid.lines().next().unwrap_or_default().parse()?,
        })
    }

    fn seconds(&self) -> Result<f64> {
        /// Clock ticks per second, on every Linux.
        const TICKS: f64 = 100.0;
        let mut ticks = HashMap::new();
        for entry in fs::read_dir("/proc")?.flatten() {
            let name = entry.file_name().to_string_lossy().parse::<u32>();
            let (Ok(pid), Ok(stat)) = (name, fs::read_to_string(entry.path().join("stat"))) else {
                continue;
            };
            // The name of the program is in parentheses and may contain spaces.
            let Some((_, fields)) = stat.rsplit_once(") ") else {
                continue;
            };
            let fields: Vec<&str> = fields.split(' ').collect();
            let number = |at: usize| {
                fields
                    .get(at)
                    .and_then(|field| field.parse::<u32>().ok())
                    .unwrap_or(0)
            };
            if pid == self.server || number(1) == self.postmaster {
                ticks.insert(pid, number(11) + number(12));
            }
        }
        Ok(f64::from(ticks.values().sum::<u32>()) / TICKS)
    }
}
