//! Degraded environments: a wrong clock, a permanent lock, two versions at once, a slow disk, a long queue, a read-only
//! home. docs/faults.md states the outcomes.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::{
    durability::small_disk,
    home::{DEFAULT_OUTPUT, Home, eventually, run, text},
    http_client::Served,
    mcp::Agent,
    network::{has_namespaces, unshared},
};

/// Preloads a library that changes the clock or the disk speed. Compiled with the C compiler that the build needs anyway.
fn interposed(home: Home, name: &str, value: &str) -> Home {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/interposed.c");
    let library = home.outside().join("interposed.so");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .status();
    assert!(built.unwrap().success(), "cc builds interposed.c");
    home.with("LD_PRELOAD", library.to_str().unwrap())
        .with(name, value)
}

fn turn(home: &Home, prompt: &str) {
    home.report("user-prompt-submit", &json!({"prompt": prompt}));
    let file = home.project().join("src/auth.rs");
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Edit", "tool_use_id": prompt, "tool_input": {"file_path": file, "old_string": "a", "new_string": "b"}, "tool_response": {}}),
    );
    home.report(
        "stop",
        &json!({"last_assistant_message": format!("Done: {prompt}.")}),
    );
}

#[test]
fn a_clock_that_jumps_back_loses_and_delays_nothing() {
    let home = Home::new();
    turn(&home, "before the jump");
    home.drain();
    let home = interposed(home, "CLOCK_SHIFT", "-7200");
    turn(&home, "after the jump");
    let key = home.spooled()[0]
        .file_name()
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned();
    let last = home.rows("select max(key) from event").remove(0);
    assert!(key < last, "the clock did not jump: {key} and {last}");
    // A worker that was killed two hours ahead of now has left a lease.
    let connection = Connection::open(home.path().join("backstory.db")).unwrap();
    connection
        .execute_batch("update event set state = 'processing', lease_until = (unixepoch() + 60) * 1000")
        .unwrap();
    drop(connection);
    home.drain();
    assert_eq!(home.events(), 6);
    assert_eq!(
        home.rows("select cast(count(*) as text) from event where state <> 'done'"),
        ["0"]
    );
    assert_eq!(
        home.rows("select prompt from turn order by number"),
        ["before the jump", "after the jump"]
    );
    assert_eq!(home.rows("select request from summary").len(), 2);
    home.ok(&["context"]);
}

/// Editors and file synchronizers use up the instances of inotify that one user may have.
#[test]
#[cfg(target_os = "linux")]
fn a_worker_without_file_notifications_polls() {
    if !has_namespaces() {
        return;
    }
    let home = Home::new();
    let program = home.command(&["worker", "run"]);
    let mut command = Command::new("unshare");
    let without = r#"echo 0 >/proc/sys/user/max_inotify_instances && exec "$0" "$@""#;
    command
        .args(["--user", "--map-root-user", "sh", "-c", without])
        .arg(program.get_program())
        .args(program.get_args())
        .env_clear()
        .envs(
            program
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut worker = command.spawn().unwrap();
    eventually("the worker is ready", || home.path().join("worker.json").exists());
    turn(&home, "without notifications");
    eventually("the turn is distilled", || {
        home.rows("select request from summary").len() == 1
    });
    worker.kill().unwrap();
    worker.wait().unwrap();
}

/// In a container, the session that a program belongs to may have its leader outside.
#[test]
#[cfg(target_os = "linux")]
fn a_worker_runs_where_the_leader_of_its_session_is_out_of_sight() {
    if !has_namespaces() {
        return;
    }
    let home = Home::new();
    turn(&home, "in a container");
    let namespaces = ["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"];
    let worked = unshared(&home, &namespaces, &["worker", "run", "--once"]);
    assert!(worked.contains("distilled 3 events"), "{worked}");
}

/// Holds SQLite's write lock until it is dropped.
fn lock(home: &Home) -> Connection {
    let connection = Connection::open(home.path().join("backstory.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection.execute_batch("begin immediate").unwrap();
    connection
}

/// Writes under the lock, until the busy timeout of a command ends. The worker has the same one and began before.
fn fail_to_write(home: &Home) {
    let output = home.run(&["remember", "a note"], b"");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("locked"), "{said}");
}

#[test]
fn a_permanent_lock_stops_no_hook_and_no_worker() {
    let served = Served::start();
    let home = &served.home;
    turn(home, "before the lock");
    eventually("distilled", || {
        home.spooled().is_empty() && home.rows("select request from summary").len() == 1
    });
    let connection = lock(home);
    let start = Instant::now();
    turn(home, "under the lock");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    fail_to_write(home);
    assert!(
        !home.spooled().is_empty(),
        "nothing is removed that is not stored"
    );
    let start = Instant::now();
    for path in [
        "/api/health",
        "/api/search?q=lock",
        "/api/sessions",
        "/api/context/inject?project=acme",
        "/status",
    ] {
        assert_eq!(served.get(path).status, 200, "{path}");
    }
    let here = json!({"session_id": "s1", "cwd": home.project()}).to_string();
    let line = home.run(&["statusline"], here.as_bytes());
    assert_eq!(text(&line.stdout), "backstory · 2 memories\n");
    let mut agent = Agent::start(home);
    agent.greet("2025-11-25");
    let (is_error, found) = agent.call("search", &json!({"query": "before the lock"}));
    assert!(!is_error && found.contains("before the lock"), "{found}");
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    agent.end();
    drop(connection);
    eventually("the worker ingests and distills the pending events", || {
        home.spooled().is_empty() && home.rows("select request from summary").len() == 2
    });
    assert_eq!(home.json(&["worker", "status", "--json"])["pid"], served.pid());
    assert_eq!(home.events(), 6);
    assert_eq!(home.rows("pragma integrity_check"), ["ok"]);
}

#[test]
fn a_worker_that_starts_under_a_lock_works_once_it_is_released() {
    let home = Home::new();
    turn(&home, "before the lock");
    home.drain();
    let connection = lock(&home);
    turn(&home, "under the lock");
    let served = Served::start_in(home);
    let home = &served.home;
    assert_eq!(served.get("/api/search?q=lock").status, 200);
    fail_to_write(home);
    drop(connection);
    eventually("everything is distilled and has its vector", || {
        let waiting = "select key from event where state <> 'done' union all
            select cast(id as text) from document where id not in (select document_id from vector)";
        home.spooled().is_empty() && home.rows(waiting).is_empty()
    });
    assert_eq!(home.json(&["worker", "status", "--json"])["pid"], served.pid());
}

#[test]
fn an_older_worker_writes_nothing_after_a_schema_change() {
    let served = Served::start();
    let home = &served.home;
    turn(home, "with the old schema");
    eventually("the events are ingested", || home.spooled().is_empty());
    let connection = Connection::open(home.path().join("backstory.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    let events = home.events();
    turn(home, "with the new schema");
    let log = home.path().join("logs/worker.log");
    eventually("the worker has exited and logged the reason", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("has schema 999"))
    });
    assert_eq!((home.events(), home.spooled().len()), (events, 3));
}

#[test]
fn an_older_worker_exits_even_without_events() {
    let served = Served::start();
    let home = &served.home;
    let connection = Connection::open(home.path().join("backstory.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    let log = home.path().join("logs/worker.log");
    eventually("the worker has exited and logged the reason", || {
        fs::read_to_string(&log).is_ok_and(|log| log.contains("has schema 999"))
    });
}

#[test]
fn an_older_server_writes_nothing_after_a_schema_change() {
    let home = Home::new();
    let mut agent = Agent::start(&home);
    agent.greet("2025-11-25");
    assert!(!agent.call("remember", &json!({"text": "with the old schema"})).0);
    Connection::open(home.path().join("backstory.db"))
        .unwrap()
        .pragma_update(None, "user_version", 999)
        .unwrap();
    let (is_error, said) = agent.call("remember", &json!({"text": "with the new schema"}));
    assert!(is_error && said.contains("has schema 999"), "{said}");
    agent.end();
    assert_eq!(home.rows("select text from note"), ["with the old schema"]);
}

#[test]
fn a_worker_of_another_version_is_reported_and_not_stopped() {
    let served = Served::start();
    let home = &served.home;
    let path = home.path().join("worker.json");
    let mut facts: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    facts["version"] = json!("0.0.1");
    facts["from_the_future"] = json!({"what": "ever"});
    fs::write(&path, facts.to_string()).unwrap();
    turn(home, "two versions");
    eventually("the events are ingested", || home.spooled().is_empty());
    let doctor = text(&home.run(&["doctor"], b"").stdout);
    assert!(doctor.contains("is version 0.0.1"), "{doctor}");
    assert!(home.ok(&["worker", "status"]).contains("version 0.0.1"));
}

#[test]
fn a_slow_disk_only_slows_hooks_down() {
    let home = Home::new();
    turn(&home, "on a fast disk");
    home.drain();
    let home = interposed(home, "DISK_DELAY_MS", "60");
    let start = Instant::now();
    let told = home.report("session-start", &json!({"session_id": "s2", "source": "startup"}));
    let took = start.elapsed();
    assert!(
        took >= Duration::from_millis(60),
        "the disk is not slow: {took:?}"
    );
    // A debug build waits five seconds for recall, a release build 50 ms.
    assert!(took < Duration::from_secs(7), "{took:?} {told}");
    turn(&home, "on a slow disk");
    let home = home.with("DISK_DELAY_MS", "2");
    home.drain();
    assert_eq!(home.events(), 7);
}

#[test]
fn ten_thousand_spooled_events_are_ingested() {
    const EVENTS: usize = 10_000;
    let home = Home::new();
    home.report("user-prompt-submit", &json!({"prompt": "a long day"}));
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "a"}}),
    );
    let sample = home.spooled().pop().unwrap();
    let name = sample.file_name().unwrap().to_str().unwrap().to_owned();
    for number in 0..EVENTS - 2 {
        // As if hooks had written them one after the other.
        fs::copy(&sample, sample.with_file_name(format!("{name}{number:05}"))).unwrap();
    }
    let start = Instant::now();
    // Without a worker, a reading command ingests the events.
    home.ok(&["sessions"]);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    assert_eq!((home.events(), home.spooled().len()), (EVENTS as u64, 0));
    home.drain();
    let queue = home.json(&["queue", "--json"]);
    assert_eq!(
        (&queue["failed"], &queue["processing"]),
        (&json!(0), &json!(0)),
        "{queue}"
    );
}

#[test]
fn a_read_only_home_only_prevents_recording() {
    let home = Home::new();
    let Some(_disk) = small_disk(&home.path(), "16m") else {
        eprintln!("not checked: mounting needs root");
        return;
    };
    turn(&home, "while it could be written to");
    home.drain();
    let remount = |how: &str| {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,{how}")]).arg(home.path());
        assert!(mount.stderr(Stdio::null()).status().unwrap().success());
    };
    remount("ro");
    for event in ["user-prompt-submit", "post-tool-use", "stop"] {
        let answer = home.report(
            event,
            &json!({"prompt": "x", "tool_name": "Bash", "tool_input": {"command": "ls"}}),
        );
        assert!(answer.is_empty() || answer == DEFAULT_OUTPUT, "{event}: {answer}");
    }
    let output = run(home.command(&["remember", "a note"]), b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(!text(&output.stderr).is_empty());
    for arguments in [
        &["search", "written"][..],
        &["context"],
        &["export"],
        &["session", "s1"],
    ] {
        let shown = home.ok(arguments);
        assert!(
            shown.contains("while it could be written to"),
            "{arguments:?}: {shown}"
        );
    }
    remount("rw");
    assert_eq!(home.events(), 3);
    turn(&home, "again");
    home.drain();
    assert_eq!(home.events(), 6);
}

#[test]
fn pipes_and_devices_in_place_of_files_do_not_stop_the_worker() {
    let home = Home::new();
    turn(&home, "before the pipe");
    let pipe = |path: &Path| {
        let made = Command::new("mkfifo").arg(path).status();
        assert!(made.unwrap().success());
    };
    let spool = home.path().join("spool");
    pipe(&spool.join("new/00000000000000000001-0000000001-stop"));
    std::os::unix::fs::symlink(
        "/dev/zero",
        spool.join("new/00000000000000000002-0000000001-stop"),
    )
    .unwrap();
    let transcript = home.outside().join("transcript.jsonl");
    pipe(&transcript);
    home.report(
        "stop",
        &json!({"transcript_path": transcript, "last_assistant_message": ""}),
    );
    let mut worker = home.command(&["worker", "run", "--once"]).spawn().unwrap();
    let start = Instant::now();
    while worker.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(10) {
            worker.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(worker.wait().unwrap().success(), "the worker waits for a pipe");
    assert_eq!(
        (home.events(), home.lost("torn"), home.spooled().len()),
        (4, 2, 0)
    );

    let import = home.run(&["import", "claude-code", transcript.to_str().unwrap()], b"");
    assert!(import.status.success(), "{}", text(&import.stderr));
}
