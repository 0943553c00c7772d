//! Two people and the real team server on a real PostgreSQL: join, share, hear of it, withdraw, leave.

#[path = "../../../server/tests/it/team_server.rs"]
pub(crate) mod fixture;

use std::{fs, process::Child};

use fixture::TeamServer;
use serde_json::json;

use crate::home::{Home, eventually, text};

/// A word that is in everything that is shared, and nowhere else.
pub(crate) const MARKER: &str = "zanzibarine";

/// Returns the home of a person who has joined the server's team and works on the project.
pub(crate) fn member(server: &TeamServer<'_>, name: &str, role: &str) -> Home {
    member_with(server, name, role, "git@example.org:acme/app.git")
}

/// Returns the home of a person who has joined the server's team and works on a project with this remote.
pub(crate) fn member_with(server: &TeamServer<'_>, name: &str, role: &str, remote: &str) -> Home {
    let home = Home::new();
    home.repository("acme", Some(remote));
    home.ok(&["config", "set", "team.name", name]);
    let joined = home.ok(&["team", "join", &server.url, &server.invite("core", role), "--yes"]);
    assert!(joined.contains("Joined core"), "{joined}");
    // The project is known once a session has begun in it.
    home.report("session-start", &json!({"session_id": name, "source": "startup"}));
    home.ok(&["stats"]);
    home
}

/// Returns a member who shares the project.
pub(crate) fn author(server: &TeamServer<'_>, name: &str) -> Home {
    let home = member(server, name, "writer");
    home.ok(&["team", "enroll", "--mode", "manual", "--yes"]);
    home
}

pub(crate) fn start_of_session(home: &Home) -> String {
    home.report(
        "session-start",
        &json!({"session_id": "next", "source": "startup"}),
    )
}

/// A worker that runs until it is dropped.
struct Worker(Child);

impl Worker {
    fn of(home: &Home) -> Self {
        Self(home.command(&["worker", "run"]).spawn().unwrap())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

#[test]
fn a_colleague_is_told_what_was_shared_until_it_is_withdrawn() {
    let server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), member(&server, "Ben", "reader"));
    let note = format!("The {MARKER} token is rotated twice");
    ana.ok(&["remember", "--team", "--type", "decision", &note]);
    assert_eq!(ana.ok(&["team", "sync"]), "1 sent, 0 received, 0 withdrawn\n");
    assert_eq!(ana.ok(&["team", "sync"]), "0 sent, 0 received, 0 withdrawn\n");

    assert_eq!(ben.ok(&["team", "sync"]), "0 sent, 1 received, 0 withdrawn\n");
    let start = start_of_session(&ben);
    assert!(
        start.contains(&format!("T1 · Ana · less than an hour ago · 🎯 {note}")),
        "{start}"
    );
    assert!(ben.ok(&["team", "members"]).starts_with("Ana"));

    ana.ok(&["unshare", "N1"]);
    assert_eq!(ana.ok(&["team", "sync"]), "1 sent, 0 received, 0 withdrawn\n");
    assert_eq!(ben.ok(&["team", "sync"]), "0 sent, 0 received, 1 withdrawn\n");
    ben.assert_nowhere(MARKER);

    ana.ok(&["remember", "--team", "The staging host has no clock"]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    assert!(start_of_session(&ben).contains("no clock"));
    assert_eq!(
        ben.ok(&["team", "leave", "--yes"]),
        "Left. 1 copy of others deleted.\n"
    );
    assert!(!start_of_session(&ben).contains("no clock"));
    let output = ben.run(&["team", "sync"], b"");
    assert!(text(&output.stderr).contains("has not joined"), "{output:?}");
}

#[test]
fn a_new_colleague_receives_before_the_first_session() {
    let server = TeamServer::start();
    let ana = author(&server, "Ana");
    ana.ok(&["remember", "--team", "The staging host has no clock"]);
    ana.ok(&["team", "sync"]);
    let ben = Home::new();
    ben.repository("acme", Some("git@example.org:acme/app.git"));
    ben.ok(&["config", "set", "team.name", "Ben"]);
    ben.ok(&[
        "team",
        "join",
        &server.url,
        &server.invite("core", "reader"),
        "--yes",
    ]);
    assert_eq!(ben.ok(&["team", "sync"]), "0 sent, 1 received, 0 withdrawn\n");
    assert!(start_of_session(&ben).contains("no clock"));
}

#[test]
fn the_worker_exchanges_by_itself() {
    let server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), member(&server, "Ben", "reader"));
    // Makes the project known to the server: a worker without one looks again after ten seconds only.
    ana.ok(&["team", "sync"]);
    let _workers = [Worker::of(&ana), Worker::of(&ben)];
    ana.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} cache is cold at night"),
    ]);
    eventually("the memory arrives", || {
        text(&ben.run(&["search", MARKER], b"").stdout).contains("shared by Ana")
    });
    ana.ok(&["unshare", "N1"]);
    eventually("the memory is gone", || {
        !text(&ben.run(&["search", MARKER], b"").stdout).contains("shared by Ana")
    });
}

#[test]
fn a_server_that_is_down_changes_nothing() {
    let mut server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), member(&server, "Ben", "reader"));
    ana.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} cache is cold at night"),
    ]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    server.kill();
    ana.ok(&["remember", "--team", "The staging host has no clock"]);
    let output = ana.run(&["team", "sync"], b"");
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("does not answer"), "{output:?}");
    assert!(start_of_session(&ben).contains(MARKER));
    assert_eq!(ana.json(&["team", "status", "--json"])["unsent"], 1);
    server.resume();
    assert_eq!(ana.ok(&["team", "sync"]), "1 sent, 0 received, 0 withdrawn\n");
    assert_eq!(ben.ok(&["team", "sync"]), "0 sent, 1 received, 0 withdrawn\n");
}

#[test]
fn a_restored_server_gets_back_what_it_lost() {
    let server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), member(&server, "Ben", "reader"));
    ana.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} cache is cold at night"),
    ]);
    ana.ok(&["remember", "--team", "The staging host has no clock"]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    ana.ok(&["unshare", "N1"]);
    // A backup from before both were shared.
    server.sql("delete from memory");
    server.run(&["rotate-epoch"]);
    assert_eq!(ana.ok(&["team", "sync"]), "2 sent, 0 received, 0 withdrawn\n");
    assert_eq!(ben.ok(&["team", "sync"]), "0 sent, 0 received, 1 withdrawn\n");
    ben.assert_nowhere(MARKER);
    assert!(start_of_session(&ben).contains("no clock"));
}

#[test]
fn a_record_that_the_operator_changed_is_kept_from_agents() {
    let server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), member(&server, "Ben", "reader"));
    ana.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} cache is cold at night"),
    ]);
    ana.ok(&["remember", "--team", "The staging host has no clock"]);
    ana.ok(&["team", "sync"]);
    // The signature of one record under the body of another.
    server.sql("update memory set signature = decode(repeat('ab', 64), 'hex') where seq = (select min(seq) from memory)");
    let synced = ben.ok(&["team", "sync"]);
    assert!(
        synced.starts_with("0 sent, 1 received, 0 withdrawn\n1 failed a check"),
        "{synced}"
    );
    let status = ben.json(&["team", "status", "--json"]);
    assert_eq!(status["quarantined"][0]["reason"], "not signed by Ana");
}

#[test]
fn a_removed_member_loses_the_copies() {
    let server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), member(&server, "Ben", "reader"));
    ana.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} cache is cold at night"),
    ]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    let account = server.sql("select id from account where name = 'Ben'");
    server.run(&["admin", "remove", &account]);
    let output = ben.run(&["team", "sync"], b"");
    assert!(!output.status.success(), "{output:?}");
    ben.assert_nowhere(MARKER);
    assert!(!fs::exists(ben.path().join("team/server.json")).unwrap());
}
