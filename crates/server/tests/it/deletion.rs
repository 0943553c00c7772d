//! Deleting: tombstones, maintainers, leaving, and erasing the bytes.

use std::{fs, path::Path};

use backstory_protocol::{DeletionReason, ErrorCode, ForgetAnswer, PullLine, PushStatus, RejectReason};

use crate::{
    person::{Person, rejected, summary, tombstone},
    team_server::TeamServer,
};

#[test]
fn a_tombstone_has_ids_only() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let mut record = ana.share(&project, "to be unshared");
    ana.push(&project, &[tombstone(&record, 2, DeletionReason::Unshared)]);
    let pulled = ana.pull(&project, 1, "");
    assert_eq!(summary(&pulled.changes), ["Unshared"]);
    let row = server.sql(
        "select body, signature, search_terms, sign_bits, created_at, kind, deletion_reason, version from memory",
    );
    assert_eq!(row, "|||||0|1|2");
    assert_eq!(server.sql("select record_count from project"), "0");
    // Its author may share it again, with a higher version.
    record.version = 3;
    let again = ana.push(&project, &[ana.sign(&project, &record)]);
    assert_eq!(again.statuses(), [PushStatus::Stored { seq: 3 }]);
    assert_eq!(server.sql("select record_count from project"), "1");
}

#[test]
fn a_maintainer_deletes_for_good() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let ben = Person::join(&server.url, &server.invite("core", "maintainer"), "Ben");
    let project = ana.project("example.org/app");
    let mut record = ana.share(&project, "one");
    ana.share(&project, "two");
    ben.share(&project, "Ben's");
    let path = format!("/v1/projects/{}/forget", project.id);
    assert_eq!(
        ben.post(&path, &serde_json::json!({})).error(),
        ErrorCode::BadRequest
    );
    let request = serde_json::json!({"author": ana.account, "dry_run": true});
    let counted: ForgetAnswer = ben.post(&path, &request).json();
    assert_eq!((counted.records, counted.head), (2, 3));
    assert_eq!(ana.snapshot(&project).changes.len(), 3);
    let early = serde_json::json!({"author": ana.account, "before": "2020-01-01T00:00:00Z"});
    assert_eq!(ben.post(&path, &early).json::<ForgetAnswer>().records, 0);
    let deleted: ForgetAnswer = ben.post(&path, &serde_json::json!({"ids": [record.id]})).json();
    assert_eq!((deleted.records, deleted.head), (1, 4));
    let PullLine::Tombstone(4, last) = ana.pull(&project, 3, "").changes[0] else {
        panic!("a tombstone");
    };
    assert_eq!((last.id, last.reason), (record.id, DeletionReason::Maintainer));
    // Neither a higher version nor a repeated request brings it back.
    record.version = 9;
    let again = ana.push(&project, &[ana.sign(&project, &record)]);
    assert_eq!(again.statuses(), [rejected(RejectReason::Deleted)]);
    let repeated: ForgetAnswer = ben.post(&path, &serde_json::json!({"ids": [record.id]})).json();
    assert_eq!((repeated.records, repeated.head), (0, 4));
    // The log says who, and how many, but not what.
    let log = String::from_utf8(ben.get(&format!("/v1/projects/{}/audit", project.id)).body).unwrap();
    assert!(
        log.contains("\"action\":\"forget\",\"subject\":\"1 records\""),
        "{log}"
    );
    assert!(!log.contains("one"), "{log}");
}

#[test]
fn a_maintainers_deletion_is_sent_again_after_a_restore() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let ben = Person::join(&server.url, &server.invite("core", "maintainer"), "Ben");
    let project = ana.project("example.org/app");
    let record = ana.share(&project, "one");
    let deletion = tombstone(&record, 2, DeletionReason::Maintainer);
    assert_eq!(
        ana.push(&project, std::slice::from_ref(&deletion)).statuses(),
        [rejected(RejectReason::Policy)]
    );
    assert_eq!(
        ben.push(&project, std::slice::from_ref(&deletion)).statuses(),
        [PushStatus::Stored { seq: 2 }]
    );
    assert_eq!(
        ben.push(&project, &[deletion]).statuses(),
        [PushStatus::Unchanged]
    );
    assert_eq!(
        server.sql("select author_id from memory"),
        ana.account.to_string()
    );
}

#[test]
fn a_person_who_leaves_may_take_everything_along() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let ben = Person::join(&server.url, &server.invite("core", "writer"), "Ben");
    for key in ["example.org/one", "example.org/two"] {
        let project = ana.project(key);
        ana.share(&project, "Ana's");
        ben.share(&project, "Ben's");
    }
    let text = server.run(&["admin", "remove", &ana.account.to_string(), "--forget"]);
    assert!(text.contains("deleted 2 records"), "{text}");
    let project = ben.project("example.org/one");
    assert_eq!(summary(&ben.pull(&project, 0, "").changes), ["Ben's", "Left"]);
}

/// Returns the files below a folder that contain some bytes.
fn files_with(folder: &Path, bytes: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, bytes));
        } else if fs::read(&path)
            .is_ok_and(|content| content.windows(bytes.len()).any(|window| window == bytes))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

#[test]
fn a_purge_leaves_no_byte_in_the_data_files() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let marker = "zqxmarkerzqx";
    let mut record = ana.record(marker);
    record.narrative = format!("{marker} {marker}2 {marker}3");
    record.facts = vec![format!("{marker}4")];
    record.files = vec![backstory_protocol::RecordFile {
        path: format!("src/{marker}5.rs"),
        modified: false,
        hash: None,
        size: None,
    }];
    ana.push(&project, &[ana.sign(&project, &record)]);
    // An edit leaves an old version behind, and statistics may hold samples.
    record.version = 2;
    ana.push(&project, &[ana.sign(&project, &record)]);
    let neighbors: Vec<_> = (0..50)
        .map(|number| ana.sign(&project, &ana.record(&format!("neighbor {number}"))))
        .collect();
    ana.push(&project, &neighbors);
    server.sql("analyze");
    let signature = server.sql(&format!(
        "select encode(signature, 'hex') from memory where id = '{}'",
        record.id
    ));
    let signature: Vec<u8> = (0..64)
        .map(|at| u8::from_str_radix(&signature[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let folder = server.sql("select oid from pg_database where datname = current_database()");
    let files = server.cluster.data().join("base").join(folder);
    let check = |bytes: &[u8]| {
        server.cluster.control("checkpoint");
        files_with(&files, bytes)
    };
    assert!(
        !check(marker.as_bytes()).is_empty() && !check(&signature).is_empty(),
        "the test sees data files"
    );
    ana.push(&project, &[tombstone(&record, 3, DeletionReason::Forgotten)]);
    server.sql("vacuum");
    assert!(
        !check(marker.as_bytes()).is_empty(),
        "a plain vacuum is not enough, or this test sees nothing"
    );
    let doctor = server.command(&["doctor"]).output().unwrap().stdout;
    assert!(String::from_utf8_lossy(&doctor).contains("1 partitions with bytes of deleted records"));
    assert_eq!(
        server.run(&["purge"]),
        "Rewrote 1 partitions, left 0; dropped 0 old tombstones.\n"
    );
    assert_eq!((check(marker.as_bytes()), check(&signature)), (vec![], vec![]));
    assert_eq!(
        server.run(&["purge"]),
        "Rewrote 0 partitions, left 0; dropped 0 old tombstones.\n"
    );
    // The others are still there, and can be found.
    assert_eq!(ana.snapshot(&project).changes.len(), 50);
    let found = ana.post("/v1/search", &serde_json::json!({"terms": ["neighbor"]}));
    assert!(found.json::<backstory_protocol::SearchAnswer>().candidates.len() >= 50);
}
