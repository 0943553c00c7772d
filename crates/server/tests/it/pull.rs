//! Pulling by cursor, waiting for news, snapshots, epochs.

use std::{thread, time::Instant};

use backstory_protocol::{DeletionReason, ErrorCode, PushStatus};

use crate::{
    person::{Person, pull_path, summary, tombstone},
    team_server::TeamServer,
};

#[test]
fn changes_come_in_order_and_in_pages() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let lines: Vec<_> = (0..7)
        .map(|number| ana.sign(&project, &ana.record(&number.to_string())))
        .collect();
    ana.push(&project, &lines);
    let first = ana.pull(&project, 0, "&limit=3");
    assert_eq!(
        (summary(&first.changes), first.trailer.more),
        (vec!["0".into(), "1".into(), "2".into()], true)
    );
    let second = ana.pull(&project, 3, "&limit=4");
    assert_eq!(
        (second.changes.len(), second.trailer.more, second.trailer.head),
        (4, false, 7)
    );
    let none = ana.pull(&project, 7, "");
    assert_eq!((none.changes.len(), none.trailer.head), (0, 7));
}

#[test]
fn a_page_ends_before_it_is_too_large() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    // 160 records of 60 KB: more than a page may have, although they deflate to little.
    for _ in 0..8 {
        let lines: Vec<_> = (0..20)
            .map(|_| {
                let mut record = ana.record("long");
                record.narrative = "word ".repeat(12_000);
                ana.sign(&project, &record)
            })
            .collect();
        for half in lines.chunks(10) {
            ana.push(&project, half);
        }
    }
    let (mut cursor, mut pages, mut records) = (0, 0, 0);
    loop {
        let page = ana.pull(&project, cursor, "");
        pages += 1;
        records += page.changes.len();
        if !page.trailer.more {
            break;
        }
        let Some(backstory_protocol::PullLine::Record(last)) = page.changes.last() else {
            panic!("records only");
        };
        cursor = last.seq;
    }
    assert_eq!(records, 160);
    assert!(pages >= 3, "{pages}");
}

#[test]
fn a_waiting_pull_is_woken_by_a_push() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let ben = Person::join(&server.url, &server.invite("core", "reader"), "Ben");
    let project = ana.project("example.org/app");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let start = Instant::now();
            (ben.pull(&project, 0, "&wait=25"), start.elapsed())
        });
        // Waiting requests hold no connection: the only one left after a moment is idle.
        while server.sql("select count(*) from pg_stat_activity where application_name = 'backstory-server' and state = 'idle' and query like '%head_seq from project where id = any%'") == "0" {
            thread::yield_now();
        }
        ana.share(&project, "news");
        let (pulled, took) = waiting.join().unwrap();
        assert_eq!(summary(&pulled.changes), ["news"]);
        assert!(took.as_secs() < 20, "{took:?}");
    });
}

#[test]
fn a_push_through_another_process_wakes_too() {
    let server = TeamServer::start();
    let other = TeamServer::second_of(&server);
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let ben = Person::join(&other.url, &server.invite("core", "reader"), "Ben");
    let project = ana.project("example.org/app");
    thread::scope(|scope| {
        let waiting = scope.spawn(|| ben.pull(&project, 0, "&wait=25"));
        while server.sql("select count(*) from pg_stat_activity where query like '%head_seq from project where id = any%' and application_name = 'backstory-server'") == "0" {
            thread::yield_now();
        }
        ana.share(&project, "news");
        assert_eq!(summary(&waiting.join().unwrap().changes), ["news"]);
    });
}

#[test]
fn a_pull_without_news_ends_after_its_time() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let start = Instant::now();
    let pulled = ana.pull(&project, 0, "&wait=1");
    assert!(pulled.changes.is_empty() && start.elapsed().as_millis() >= 1_000);
}

#[test]
fn a_snapshot_has_what_is_live() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let empty = ana.snapshot(&project);
    assert_eq!((empty.changes.len(), empty.trailer.head), (0, 0));
    let gone = ana.share(&project, "gone");
    for number in 0..6 {
        let lines: Vec<_> = (0..200)
            .map(|_| ana.sign(&project, &ana.record(&format!("kept {number}"))))
            .collect();
        ana.push(&project, &lines);
    }
    ana.push(&project, &[tombstone(&gone, 2, DeletionReason::Unshared)]);
    let snapshot = ana.snapshot(&project);
    assert_eq!((snapshot.changes.len(), snapshot.trailer.head), (1_200, 1_202));
    assert!(
        summary(&snapshot.changes)
            .iter()
            .all(|title| title.starts_with("kept"))
    );
    // The version that the client has is not sent again.
    let path = format!("/v1/projects/{}/snapshot", project.id);
    let tag = ana.get(&path).headers["etag"].to_str().unwrap().to_owned();
    let known = ana.request_with("GET", &path, b"", &[("if-none-match", &tag)]);
    assert_eq!((known.status, known.body.len()), (304, 0));
    ana.share(&project, "new");
    assert_eq!(
        ana.request_with("GET", &path, b"", &[("if-none-match", &tag)])
            .status,
        200
    );
}

#[test]
fn a_restored_server_makes_clients_start_over() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let record = ana.share(&project, "one");
    assert_eq!(
        ana.get(&format!("/v1/projects/{}/records?after=1", project.id))
            .status,
        400
    );
    server.run(&["rotate-epoch"]);
    assert_eq!(
        ana.get(&pull_path(&project, 1, "")).error(),
        ErrorCode::EpochChanged
    );
    let again = ana.project("example.org/app");
    assert_ne!(again.epoch, project.epoch);
    // From the start it is as before, and nothing is stored twice.
    assert_eq!(summary(&ana.pull(&again, 0, "").changes), ["one"]);
    assert_eq!(
        ana.push(&again, &[ana.sign(&again, &record)]).statuses(),
        [PushStatus::Unchanged]
    );
    // A cursor from the future shows a restore after which nobody has rotated epochs.
    assert_eq!(
        ana.get(&pull_path(&again, 99, "")).error(),
        ErrorCode::EpochChanged
    );
}

#[test]
fn an_old_cursor_expires_with_its_tombstones() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let record = ana.share(&project, "one");
    ana.push(&project, &[tombstone(&record, 2, DeletionReason::Unshared)]);
    ana.share(&project, "two");
    server.sql("update memory set changed_at = now() - interval '401 days' where kind = 0");
    assert!(server.run(&["purge"]).contains("dropped 1 old tombstones"));
    assert_eq!(
        ana.get(&pull_path(&project, 1, "")).error(),
        ErrorCode::CursorExpired
    );
    assert_eq!(summary(&ana.pull(&project, 2, "").changes), ["two"]);
    assert_eq!(summary(&ana.pull(&project, 0, "").changes), ["two"]);
}
