//! Opinions, replacements and conflicts among people who share memories, and what maintainers may do.

use std::process::Stdio;

use serde_json::json;

use crate::{
    home::text,
    team_exchange::{MARKER, author, fixture::TeamServer, member, start_of_session},
};

#[test]
fn an_opinion_reaches_the_team_and_decides_for_its_own_agents() {
    let server = TeamServer::start();
    let (ana, ben, cem) = (
        author(&server, "Ana"),
        member(&server, "Ben", "writer"),
        member(&server, "Cem", "reader"),
    );
    ana.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} cache is warm at night"),
    ]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    assert!(start_of_session(&ben).contains(MARKER));
    assert_eq!(
        ben.ok(&["team", "rate", "wrong", "T1"]),
        "T1 is wrong, in your opinion\n"
    );
    // At once, and without the server.
    assert!(!start_of_session(&ben).contains(MARKER));
    ben.ok(&["team", "sync"]);
    for home in [&cem, &ana] {
        home.ok(&["team", "sync"]);
    }
    let start = start_of_session(&cem);
    assert!(
        start.contains("T1 · Ana · less than an hour ago · 1 person finds it wrong · "),
        "{start}"
    );
    let found = cem.ok(&["search", MARKER]);
    assert!(
        found.contains("shared by Ana, 1 person finds it wrong"),
        "{found}"
    );
    // Its author is told, and so is anyone who looks.
    let conflicts = ana.ok(&["team", "conflicts"]);
    assert!(
        conflicts.contains("Disputed: 1 person finds it wrong"),
        "{conflicts}"
    );
    assert!(conflicts.contains("backstory unshare N1"), "{conflicts}");
    assert!(ana.ok(&["team", "status"]).contains("1 conflict "));

    // A reader's opinion stays here, and does not keep the machine busy.
    cem.ok(&["team", "rate", "useful", "T1"]);
    assert_eq!(cem.ok(&["team", "sync"]), "0 sent, 0 received, 0 withdrawn\n");
    assert!(cem.ok(&["show", "T1"]).contains("you find it useful"));

    // Taken back, it is gone everywhere.
    ben.ok(&["team", "rate", "none", "T1"]);
    ben.ok(&["team", "sync"]);
    ana.ok(&["team", "sync"]);
    assert_eq!(ana.ok(&["team", "conflicts"]), "No conflicts.\n");
    assert!(start_of_session(&ben).contains(MARKER));

    let own = ana.run(&["team", "rate", "wrong", "N1"], b"");
    assert!(text(&own.stderr).contains("your own memory"), "{own:?}");
    let unknown = ben.run(&["team", "rate", "wrong", "T99"], b"");
    assert!(
        text(&unknown.stderr).contains("no memory with id T99"),
        "{unknown:?}"
    );
}

#[test]
fn a_memory_replaces_that_of_another_person_until_its_author_objects() {
    let server = TeamServer::start();
    let (ana, ben, cem) = (
        author(&server, "Ana"),
        author(&server, "Ben"),
        member(&server, "Cem", "reader"),
    );
    ana.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} gateway retries 3 times"),
    ]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    ben.ok(&["remember", &format!("The {MARKER} gateway retries 5 times")]);
    let refused = ben.run(&["team", "replace", "T1", "--by", "N1"], b"");
    assert!(
        text(&refused.stderr).contains("backstory share N1"),
        "{refused:?}"
    );
    ben.ok(&["share", "N1"]);
    // Two people, two numbers: everyone who has both sees that they disagree.
    ben.ok(&["team", "sync"]);
    for home in [&ana, &cem] {
        home.ok(&["team", "sync"]);
        let conflicts = home.json(&["team", "conflicts", "--json"]);
        assert_eq!(conflicts["conflicts"][0]["kind"], "contradiction", "{conflicts}");
    }
    let both = start_of_session(&cem);
    assert!(both.contains("3 times") && both.contains("5 times"), "{both}");

    ben.ok(&["team", "replace", "T1", "--by", "N1"]);
    assert_eq!(ben.ok(&["team", "conflicts"]), "No conflicts.\n");
    assert!(!start_of_session(&ben).contains("3 times"));
    ben.ok(&["team", "sync"]);
    for home in [&ana, &cem] {
        home.ok(&["team", "sync"]);
    }
    let told = start_of_session(&cem);
    assert!(told.contains("5 times") && !told.contains("3 times"), "{told}");
    let shown = cem.ok(&["search", &format!("{MARKER} retries 3")]);
    assert!(shown.contains("superseded by T2"), "{shown}");
    assert_eq!(cem.ok(&["team", "conflicts"]), "No conflicts.\n");
    // The author of the old one decides for their own agents, and says so to the team.
    let conflicts = ana.ok(&["team", "conflicts"]);
    assert!(conflicts.contains("Yours is replaced"), "{conflicts}");
    assert!(
        conflicts.contains("`backstory team replace T1 --by N1` keeps yours"),
        "{conflicts}"
    );
    ana.ok(&["team", "replace", "T1", "--by", "N1"]);
    assert_eq!(ana.ok(&["team", "conflicts"]), "No conflicts.\n");
    assert!(!start_of_session(&ana).contains("5 times"));
    ana.ok(&["team", "sync"]);
    cem.ok(&["team", "sync"]);
    // They replace each other: nothing is decided for others.
    let told = start_of_session(&cem);
    assert!(told.contains("5 times") && told.contains("3 times"), "{told}");
}

#[test]
fn a_pin_of_one_device_reaches_the_next_one() {
    let server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), member(&server, "Ben", "writer"));
    ana.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} cache is warm at night"),
    ]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    ben.ok(&["pin", "T1"]);
    ben.ok(&["team", "sync"]);
    let account = server.sql("select id from account where name = 'Ben'");
    let laptop = crate::home::Home::new();
    laptop.repository("acme", Some("git@example.org:acme/app.git"));
    laptop.ok(&["config", "set", "team.name", "Ben"]);
    let code = server.run(&["invite", "--account", &account]);
    let code = code.split_whitespace().last().unwrap().to_owned();
    laptop.ok(&["team", "join", &server.url, &code, "--yes"]);
    laptop.report("session-start", &json!({"session_id": "l", "source": "startup"}));
    laptop.ok(&["stats"]);
    laptop.ok(&["team", "sync"]);
    assert!(
        laptop.ok(&["show", "T1"]).contains("pinned"),
        "{}",
        laptop.ok(&["show", "T1"])
    );
}

#[test]
fn a_new_device_of_a_colleague_is_heard_once_it_is_trusted() {
    let server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), member(&server, "Ben", "reader"));
    ana.ok(&["remember", "--team", "The staging host has no clock"]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    let account = server.sql("select id from account where name = 'Ana'");
    let laptop = crate::home::Home::new();
    laptop.repository("acme", Some("git@example.org:acme/app.git"));
    laptop.ok(&["config", "set", "team.name", "Ana"]);
    let code = server.run(&["invite", "--account", &account]);
    let code = code.split_whitespace().last().unwrap().to_owned();
    laptop.ok(&["team", "join", &server.url, &code, "--yes"]);
    laptop.report("session-start", &json!({"session_id": "l", "source": "startup"}));
    laptop.ok(&["stats"]);
    laptop.ok(&["team", "enroll", "--mode", "manual", "--yes"]);
    laptop.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} cache is warm at night"),
    ]);
    laptop.ok(&["team", "sync"]);
    let synced = ben.ok(&["team", "sync"]);
    assert!(synced.contains("1 failed a check"), "{synced}");
    assert!(!start_of_session(&ben).contains(MARKER));
    ben.ok(&["team", "members", "--trust", "Ana"]);
    ben.ok(&["team", "sync"]);
    assert!(start_of_session(&ben).contains(MARKER));
}

#[test]
fn a_maintainer_deletes_for_everyone_and_it_is_on_record() {
    let server = TeamServer::start();
    let (ana, mia) = (author(&server, "Ana"), member(&server, "Mia", "maintainer"));
    ana.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} cache is warm at night"),
    ]);
    ana.ok(&["remember", "--team", "The staging host has no clock"]);
    ana.ok(&["team", "sync"]);
    mia.ok(&["team", "sync"]);
    let refused = ana.run(&["team", "forget", "--author", "Mia", "--yes"], b"");
    assert!(!refused.status.success(), "{refused:?}");
    // Everything is newer than a year.
    assert_eq!(
        mia.run(&["team", "forget", "--before", "365d"], b"").stdout,
        b"0 records would be deleted for everyone. Pass --yes to delete.\n"
    );
    let found = mia.ok(&["search", MARKER]);
    let handle = found
        .split_whitespace()
        .find(|word| word.starts_with('T'))
        .unwrap()
        .to_owned();
    let asked = mia.run(&["team", "forget", &handle], b"");
    assert_eq!(
        asked.stdout,
        b"1 record would be deleted for everyone. Pass --yes to delete.\n"
    );
    assert_eq!(
        mia.ok(&["team", "forget", &handle, "--yes"]),
        "1 record deleted for everyone\n"
    );
    mia.assert_nowhere(MARKER);
    let audit = mia.ok(&["team", "audit"]);
    assert!(audit.contains("forget") && audit.contains("Mia"), "{audit}");
    assert!(!audit.contains(MARKER), "{audit}");
    // Final: the author's record does not come back.
    ana.ok(&[
        "edit",
        "N1",
        "--text",
        &format!("The {MARKER} cache is hot at night"),
    ]);
    ana.ok(&["team", "sync"]);
    assert!(ana.ok(&["team", "status"]).contains("a maintainer deleted it"));
    mia.ok(&["team", "sync"]);
    mia.assert_nowhere(MARKER);
}

#[test]
fn a_sync_waits_for_a_server_that_comes_back() {
    let mut server = TeamServer::start();
    let ana = author(&server, "Ana");
    ana.ok(&["remember", "--team", "The staging host has no clock"]);
    server.kill();
    let given_up = ana.run(&["team", "sync", "--wait=1"], b"");
    assert!(!given_up.status.success(), "{given_up:?}");
    let mut waiting = ana.command(&["team", "sync", "--wait"]);
    let waiting = waiting
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    server.resume();
    let output = waiting.wait_with_output().unwrap();
    assert_eq!(
        text(&output.stdout),
        "1 sent, 0 received, 0 withdrawn\n",
        "{output:?}"
    );
}

#[test]
fn what_is_received_is_searchable_by_meaning_at_once() {
    let server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), member(&server, "Ben", "reader"));
    ana.ok(&["remember", "--team", "The gateway retries a login three times"]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    // No worker runs: the vector came along.
    assert_eq!(
        ben.rows("select kind from document join vector on document_id = document.id"),
        ["team"]
    );
    assert_eq!(ben.json(&["search", "--json", "login"])["vectors"], 1.0);
}
