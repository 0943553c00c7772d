//! Writes to the team server while it and PostgreSQL are killed; readers must see every change once.

use std::{
    collections::HashMap,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use backstory_protocol::{
    DeletionReason, PullLine, PushLine, PushStatus, RecordId, SharedProject, TeamRecord,
};
use serde_json::json;

use crate::{
    person::{Person, pull_path, pulled, pushed, tombstone},
    random::Random,
    report::Section,
    team_server::{Cluster, TeamServer},
};

const WRITERS: usize = 16;
const READERS: usize = 8;

/// Accounts; two writers share one.
const PEOPLE: usize = 8;

/// Writers of one project wait for each other; readers follow one project each.
const PROJECTS: usize = 4;

/// Lines of one push.
const BATCH: usize = 50;

/// Pause before a request is repeated.
const PAUSE: Duration = Duration::from_millis(50);

/// Shared counters of a run.
#[derive(Default)]
struct Progress {
    acknowledged: AtomicUsize,
    repeated: AtomicUsize,
    is_written: AtomicBool,
}

/// The last acknowledged or received state of each record: its version, negative for a tombstone.
type States = HashMap<RecordId, i64>;

pub(crate) fn measure(is_quick: bool) -> Result<Section> {
    let (records, kills) = if is_quick { (2_000, 4) } else { (100_000, 20) };
    let cluster = Cluster::start(&[]);
    let mut server = TeamServer::start_in(
        &cluster,
        &[("REQUESTS_PER_SECOND", "100000"), ("CONNECTIONS", "24")],
    );
    let people: Vec<Person> = (0..PEOPLE)
        .map(|_| Person::join(&server.url, &server.invite("fire", "writer"), "person"))
        .collect();
    let projects: Vec<SharedProject> = (0..PROJECTS)
        .map(|number| people[0].project(&format!("example.org/{number}")))
        .collect();
    let progress = Progress::default();
    let start = Instant::now();
    let (written, received) = thread::scope(|scope| {
        let place = |number: usize| (&people[number % PEOPLE], &projects[number % PROJECTS], &progress);
        let start_reader = |number| {
            let (person, project, progress) = place(number);
            scope.spawn(move || read(person, project, progress))
        };
        let start_writer = |number| {
            let (person, project, progress) = place(number);
            scope.spawn(move || write(person, project, records / WRITERS, progress, number as u64))
        };
        let readers: Vec<_> = (0..READERS).map(start_reader).collect();
        let writers: Vec<_> = (0..WRITERS).map(start_writer).collect();
        let killer = scope.spawn(|| kill(&mut server, &cluster, kills, records, &progress));
        let written: Vec<States> = writers
            .into_iter()
            .filter_map(|writer| writer.join().ok())
            .collect();
        killer.join().ok();
        progress.is_written.store(true, Ordering::SeqCst);
        let received: Vec<Received> = readers
            .into_iter()
            .filter_map(|reader| reader.join().ok())
            .collect();
        (written, received)
    });
    let seconds = start.elapsed().as_secs_f64();
    ensure!(
        written.len() == WRITERS && received.len() == READERS,
        "a writer or a reader failed"
    );
    let mut section = report(&server, &projects, &written, &received);
    let acknowledged = progress.acknowledged.into_inner();
    section.row(vec![json!("changes acknowledged"), json!(acknowledged)]);
    section.row(vec![
        json!("pushes repeated"),
        json!(progress.repeated.into_inner()),
    ]);
    section.row(vec![json!("kills"), json!(kills)]);
    section.note(format!(
        "{seconds:.0} s, {:.0} changes per second",
        acknowledged as f64 / seconds
    ));
    Ok(section)
}

/// Shares records, edits some and deletes some. Repeats each push until it is answered.
fn write(person: &Person, project: &SharedProject, records: usize, progress: &Progress, seed: u64) -> States {
    let mut random = Random::new(seed);
    let mut states = States::new();
    let mut mine: Vec<TeamRecord> = Vec::new();
    let mut sent = 0;
    while sent < records {
        let mut lines = Vec::new();
        let mut expected = Vec::new();
        for _ in 0..BATCH.min(records - sent) {
            let record = if !mine.is_empty() && random.below(10) == 0 {
                let at = random.below(mine.len());
                let mut record = mine.swap_remove(at);
                record.version += 1;
                record
            } else {
                person.record(&format!("record {} of {seed}", mine.len()))
            };
            if record.version > 1 && random.below(3) == 0 {
                lines.push(tombstone(&record, record.version, DeletionReason::Unshared));
                expected.push((record.id, -i64::from(record.version)));
            } else {
                lines.push(person.sign(project, &record));
                expected.push((record.id, i64::from(record.version)));
                mine.push(record);
            }
        }
        drop_repeated(&mut lines, &mut expected);
        sent += BATCH.min(records - sent);
        push_until_answered(person, project, &lines, progress);
        progress.acknowledged.fetch_add(lines.len(), Ordering::SeqCst);
        states.extend(expected);
    }
    states
}

/// Keeps the last change of each record of a push.
fn drop_repeated(lines: &mut Vec<PushLine>, expected: &mut Vec<(RecordId, i64)>) {
    let last: HashMap<RecordId, usize> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (line.id(), at))
        .collect();
    let mut at = 0;
    lines.retain(|line| {
        at += 1;
        last[&line.id()] == at - 1
    });
    let mut at = 0;
    expected.retain(|(id, _)| {
        at += 1;
        last[id] == at - 1
    });
}

fn push_until_answered(person: &Person, project: &SharedProject, lines: &[PushLine], progress: &Progress) {
    let texts: Vec<String> = lines.iter().filter_map(|line| line.to_line().ok()).collect();
    let body = backstory_protocol::stream::encode(texts.iter().map(String::as_str));
    let path = format!("/v1/projects/{}/records", project.id);
    loop {
        if let Ok(answer) = person.try_request("POST", &path, &body, &[])
            && answer.status == 200
        {
            for status in pushed(&answer).statuses() {
                let is_accepted = matches!(status, PushStatus::Stored { .. } | PushStatus::Unchanged);
                assert!(is_accepted, "{status:?}");
            }
            return;
        }
        progress.repeated.fetch_add(1, Ordering::SeqCst);
        thread::sleep(PAUSE);
    }
}

/// What a reader has received.
#[derive(Default)]
struct Received {
    states: States,
    doubled: usize,
    changes: usize,
}

/// Follows a project by cursor until everything is written and received.
fn read(person: &Person, project: &SharedProject, progress: &Progress) -> Received {
    let mut received = Received::default();
    let mut cursor = 0;
    loop {
        let is_written = progress.is_written.load(Ordering::SeqCst);
        let answer = person.try_request("GET", &pull_path(project, cursor, "&wait=1"), b"", &[]);
        let Ok(answer) = answer
            .map_err(|_| ())
            .and_then(|answer| if answer.status == 200 { Ok(answer) } else { Err(()) })
        else {
            thread::sleep(PAUSE);
            continue;
        };
        let page = pulled(&answer);
        if is_written && page.changes.is_empty() && !page.trailer.more {
            return received;
        }
        for change in &page.changes {
            let (seq, id, state) = match change {
                PullLine::Record(record) => (record.seq, record.record.id, i64::from(record.record.version)),
                PullLine::Tombstone(seq, tombstone) => (*seq, tombstone.id, -i64::from(tombstone.version)),
                PullLine::Feedback(..) | PullLine::Trailer(_) => continue,
            };
            received.changes += 1;
            // The same change again, or a sequence number that is not above all before it.
            if seq <= cursor || received.states.insert(id, state) == Some(state) {
                received.doubled += 1;
            }
            cursor = seq;
        }
        if !page.trailer.more {
            cursor = page.trailer.head;
        }
    }
}

/// Kills the server and PostgreSQL in turn, whenever a part of the records is acknowledged.
fn kill(server: &mut TeamServer<'_>, cluster: &Cluster, kills: usize, records: usize, progress: &Progress) {
    for number in 0..kills {
        let due = records * (number + 1) / (kills + 2);
        while progress.acknowledged.load(Ordering::SeqCst) < due * 9 / 10 {
            thread::sleep(Duration::from_millis(5));
        }
        if number % 2 == 0 {
            server.kill();
            server.resume();
        } else {
            cluster.control("crash");
            cluster.control("start");
        }
    }
}

fn report(
    server: &TeamServer<'_>,
    projects: &[SharedProject],
    written: &[States],
    received: &[Received],
) -> Section {
    let mut section = Section::new("Kills of the team server and of PostgreSQL", &["what", "count"]);
    let mut tables: Vec<States> = Vec::new();
    for project in projects {
        let rows = server.sql(&format!(
            "select id, case when kind = 0 then -version else version end from memory where project_id = {}",
            project.id
        ));
        let row = |line: &str| {
            let (id, version) = line.split_once('|')?;
            Some((id.parse().ok()?, version.parse().ok()?))
        };
        tables.push(rows.lines().filter_map(row).collect());
    }
    let lost: usize = written
        .iter()
        .enumerate()
        .map(|(writer, states)| differences(states, &tables[writer % PROJECTS]))
        .sum();
    let missed: usize = received
        .iter()
        .enumerate()
        .map(|(reader, received)| differences(&tables[reader % PROJECTS], &received.states))
        .sum();
    let doubled: usize = received.iter().map(|received| received.doubled).sum();
    let changes: usize = received.iter().map(|received| received.changes).sum();
    for (what, count) in [
        ("records in the tables", tables.iter().map(HashMap::len).sum()),
        ("changes received by readers", changes),
        ("acknowledged but not stored", lost),
        ("missed by a reader", missed),
        ("received twice", doubled),
    ] {
        section.row(vec![json!(what), json!(count)]);
    }
    section.check("every acknowledged change is stored", lost == 0);
    section.check("readers equal the tables", missed == 0);
    section.check("nothing is received twice", doubled == 0);
    section
}

/// Counts the states that another map does not have.
fn differences(states: &States, other: &States) -> usize {
    states
        .iter()
        .filter(|(id, state)| other.get(id) != Some(state))
        .count()
}
