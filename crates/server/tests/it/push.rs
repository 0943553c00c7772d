//! Pushing records: results per record, idempotency, hostile records.

use backstory_protocol::{
    DeletionReason, DeviceId, PullLine, PushLine, PushStatus, RejectReason, SharedKind, SharedProject,
    SignedRecord, TeamRecord, limits, stream,
};

use crate::{
    person::{Person, pushed, rejected, summary, tombstone},
    team_server::TeamServer,
};

/// The whole state of a server, to be compared.
fn tables(server: &TeamServer<'_>) -> String {
    server.sql("select * from memory order by project_id, id")
        + &server.sql("select * from project order by id")
        + &server.sql("select * from feedback order by project_id, seq")
}

/// Returns lines that must be rejected, each with its reason.
fn bad_lines(ana: &Person, project: &SharedProject) -> Vec<(String, RejectReason)> {
    let forged = |change: fn(&mut SignedRecord)| {
        let PushLine::Put(mut record) = ana.sign(project, &ana.record("forged")) else {
            unreachable!("a record was signed");
        };
        change(&mut record);
        PushLine::Put(record).to_line().unwrap()
    };
    let edited = |change: fn(&mut TeamRecord)| {
        let mut record = ana.record("edited");
        change(&mut record);
        let body = serde_json::to_string(&record).unwrap();
        let signed = SignedRecord {
            id: record.id,
            version: record.version,
            kind: record.kind,
            signature: ana.signer.sign(&project.key, record.id, record.version, &body),
            body,
        };
        PushLine::Put(signed).to_line().unwrap()
    };
    vec![
        (
            edited(|record| record.narrative = "x".repeat(limits::MAX_BODY_BYTES)),
            RejectReason::TooLarge,
        ),
        (
            edited(|record| record.narrative = "a\0b".to_owned()),
            RejectReason::InvalidText,
        ),
        (
            edited(|record| record.device = DeviceId([9; 16])),
            RejectReason::NotAuthor,
        ),
        (
            edited(|record| {
                record.facts = vec![format!(
                    "GITHUB_TOKEN=ghp_{}",
                    "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
                )];
            }),
            RejectReason::SecretDetected,
        ),
        (
            forged(|_| {}).replace("forged", "\\\\ud800"),
            RejectReason::Malformed,
        ),
        (
            forged(|record| record.signature[7] ^= 1),
            RejectReason::BadSignature,
        ),
        (
            forged(|record| record.body = record.body.replace("forged", "changed")),
            RejectReason::BadSignature,
        ),
        (forged(|record| record.version = 2), RejectReason::Malformed),
        (
            forged(|record| record.kind = SharedKind::Note),
            RejectReason::Malformed,
        ),
        ("{\"id\":7}".to_owned(), RejectReason::Malformed),
        ("no JSON at all".to_owned(), RejectReason::Malformed),
    ]
}

#[test]
fn every_record_has_its_own_result() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let good: Vec<TeamRecord> = (0..99)
        .map(|number| ana.record(&format!("good {number}")))
        .collect();
    let bad = bad_lines(&ana, &project);
    // The bad ones are spread among the good ones.
    let mut lines: Vec<String> = good
        .iter()
        .map(|record| ana.sign(&project, record).to_line().unwrap())
        .collect();
    for (number, (line, _)) in bad.iter().enumerate() {
        lines.insert(number * 7, line.clone());
    }
    let answer = pushed(&ana.push_raw(&project, &lines));
    let mut statuses = answer.statuses();
    for (number, (line, reason)) in bad.iter().enumerate().rev() {
        assert_eq!(statuses.remove(number * 7), rejected(*reason), "{line:.200}");
    }
    for (seq, status) in (1..).zip(statuses) {
        assert_eq!(status, PushStatus::Stored { seq });
    }
    assert_eq!(answer.trailer.head, 99);
    let arrived = summary(&ana.pull(&project, 0, "").changes);
    assert_eq!(
        arrived,
        good.iter().map(|record| record.title.clone()).collect::<Vec<_>>()
    );
}

#[test]
fn a_repeated_push_changes_nothing() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let kept = ana.record("kept");
    let dropped = ana.share(&project, "dropped");
    let lines = [
        ana.sign(&project, &kept),
        tombstone(&dropped, 2, DeletionReason::Unshared),
    ];
    let first = ana.push(&project, &lines);
    assert_eq!(
        first.statuses(),
        [PushStatus::Stored { seq: 2 }, PushStatus::Stored { seq: 3 }]
    );
    let before = tables(&server);
    for _ in 0..3 {
        let again = ana.push(&project, &lines);
        assert_eq!(again.statuses(), [PushStatus::Unchanged, PushStatus::Unchanged]);
        assert_eq!(again.trailer, first.trailer);
        assert_eq!(ana.project("example.org/app").id, project.id);
    }
    assert_eq!(tables(&server), before);
}

#[test]
fn the_highest_version_wins() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let mut record = ana.record("one");
    let mut version = |version: u32, title: &str| {
        record.version = version;
        title.clone_into(&mut record.title);
        ana.sign(&project, &record)
    };
    let (one, two, three) = (version(1, "one"), version(2, "two"), version(3, "three"));
    // The same record three times in one push.
    let answer = ana.push(&project, &[one, three.clone(), two.clone()]);
    assert_eq!(
        answer.statuses(),
        [
            PushStatus::Stale,
            PushStatus::Stored { seq: 1 },
            PushStatus::Stale
        ]
    );
    assert_eq!(ana.push(&project, &[two]).statuses(), [PushStatus::Stale]);
    assert_eq!(ana.push(&project, &[three]).statuses(), [PushStatus::Unchanged]);
    assert_eq!(summary(&ana.pull(&project, 0, "").changes), ["three"]);
}

#[test]
fn nobody_changes_the_record_of_another() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let ben = Person::join(&server.url, &server.invite("core", "maintainer"), "Ben");
    let project = ana.project("example.org/app");
    let record = ana.share(&project, "Ana's");
    // Ben signs the same id as his own, with a higher version.
    let mut stolen = ben.record("Ben's now");
    stolen.id = record.id;
    stolen.version = 9;
    let answer = ben.push(
        &project,
        &[
            ben.sign(&project, &stolen),
            tombstone(&ben.record("unknown"), 1, DeletionReason::Unshared),
        ],
    );
    assert_eq!(answer.statuses()[0], rejected(RejectReason::NotAuthor));
    let unshare = ben.push(&project, &[tombstone(&record, 9, DeletionReason::Unshared)]);
    assert_eq!(unshare.statuses(), [rejected(RejectReason::NotAuthor)]);
    // Replaying Ana's own bytes through Ben's account does not make them his.
    let mut replayed = ana.record("Ana's other");
    replayed.version = 1;
    assert_eq!(
        ben.push(&project, &[ana.sign(&project, &replayed)]).statuses(),
        [rejected(RejectReason::NotAuthor)]
    );
    // A record signed for one project is worthless in another.
    let other = ana.project("example.org/other");
    assert_eq!(
        ana.push(&other, &[ana.sign(&project, &ana.record("misplaced"))])
            .statuses(),
        [rejected(RejectReason::BadSignature)]
    );
    let pulled = ben.pull(&project, 0, "");
    let PullLine::Record(first) = &pulled.changes[0] else {
        panic!("the record is live");
    };
    assert_eq!((first.author, first.device), (ana.account, ana.device));
}

#[test]
fn a_policy_stops_records_but_not_tombstones() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let record = ana.share(&project, "shared before");
    server.run(&["admin", "project", &project.id.to_string(), "--policy", "off"]);
    let lines = [
        ana.sign(&project, &ana.record("shared after")),
        tombstone(&record, 2, DeletionReason::Forgotten),
    ];
    assert_eq!(
        ana.push(&project, &lines).statuses(),
        [rejected(RejectReason::Policy), PushStatus::Stored { seq: 2 }]
    );
}

#[test]
fn an_alias_is_as_good_as_the_key() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let mut project = ana.project("example.org/app");
    server.run(&[
        "admin",
        "project",
        &project.id.to_string(),
        "--alias",
        "example.org/renamed",
    ]);
    let renamed = ana.project("example.org/renamed");
    assert_eq!(
        (renamed.id, renamed.aliases.as_slice()),
        (project.id, ["example.org/renamed".to_owned()].as_slice())
    );
    "example.org/renamed".clone_into(&mut project.key);
    ana.share(&project, "signed with the new name");
}

#[test]
fn bodies_above_the_limits_are_refused_as_a_whole() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let path = format!("/v1/projects/{}/records", project.id);
    let bomb = "a".repeat(limits::MAX_INFLATED_BYTES / 2 + 1);
    let many: Vec<String> = (0..=limits::MAX_PUSH_RECORDS)
        .map(|number| number.to_string())
        .collect();
    for (body, status) in [
        (stream::encode([bomb.as_str(), bomb.as_str()]), 413),
        (vec![0; limits::MAX_STREAM_BYTES + 1], 413),
        (stream::encode(many.iter().map(String::as_str)), 413),
        (b"not a stream".to_vec(), 413),
        (b"\0\0\0\x09xx".to_vec(), 400),
    ] {
        assert_eq!(
            ana.request("POST", &path, &body).status,
            status,
            "{} bytes",
            body.len()
        );
    }
    ana.share(&project, "still possible");
}
