//! No captured event is lost: kills, parallel writers, full disks, damaged and newer databases.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs and write files directly"
)]

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::home::{DEFAULT_OUTPUT, Home, settings};

/// Seeded random numbers, so that a failing run can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

fn payload(home: &Home, session: usize, writer: usize, number: usize) -> Vec<u8> {
    let marks = json!({"session_id": format!("s{session}"), "cwd": home.project(), "tool_name": "Bash",
        "tool_input": {"writer": writer, "number": number}});
    marks.to_string().into_bytes()
}

/// Reads the markers of all events from the database file, in the order of their keys.
fn stored(home: &Home) -> Vec<(String, u64, u64)> {
    let output = home.run(&["queue", "--json", "--limit", "0"], b"");
    assert!(output.status.success());
    let sql = "select s.session_id || ' ' || json_extract(payload, '$.tool_input.writer') || ' ' ||
        json_extract(payload, '$.tool_input.number') from event e join session s on s.id = e.session_db_id order by key";
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    let check: String = connection
        .query_row("pragma integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    let mut statement = connection.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(|row| {
        let row = row.unwrap();
        let mut words = row.split(' ');
        let session = words.next().unwrap().to_owned();
        (
            session,
            words.next().unwrap().parse().unwrap(),
            words.next().unwrap().parse().unwrap(),
        )
    })
    .collect()
}

#[test]
fn parallel_hooks_lose_nothing_while_the_ingesting_process_is_killed() {
    const WRITERS: usize = 16;
    const EVENTS: usize = 25;
    let home = Home::new();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let taker = scope.spawn(|| {
            let mut dice = Dice(0x5eed);
            let mut kills = 0;
            while !done.load(Ordering::Relaxed) || kills < 20 {
                let mut worker = home
                    .command(&["worker", "run"])
                    .stdout(Stdio::null())
                    .spawn()
                    .unwrap();
                thread::sleep(Duration::from_millis(20 + dice.roll(60)));
                worker.kill().unwrap();
                worker.wait().unwrap();
                kills += 1;
            }
        });
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let home = &home;
                scope.spawn(move || {
                    for number in 0..EVENTS {
                        assert_eq!(
                            home.hook("post-tool-use", &payload(home, writer % 4, writer, number)),
                            DEFAULT_OUTPUT
                        );
                    }
                })
            })
            .collect();
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
        taker.join().unwrap();
    });
    home.drain();
    let events = stored(&home);
    assert_eq!(events.len(), WRITERS * EVENTS);
    for writer in 0..WRITERS as u64 {
        let session = format!("s{}", writer % 4);
        let numbers: Vec<u64> = events
            .iter()
            .filter(|(s, w, _)| *w == writer && *s == session)
            .map(|(.., number)| *number)
            .collect();
        assert_eq!(numbers, (0..EVENTS as u64).collect::<Vec<_>>(), "writer {writer}");
    }
    assert!(home.spooled().is_empty());
}

#[test]
fn a_hook_that_exited_0_has_recorded_its_event() {
    let home = Home::new();
    let mut dice = Dice(0xd1ce);
    let mut finished = BTreeSet::new();
    // Kill times range from the start of a hook to well after its end, on a machine under any load.
    let start = Instant::now();
    for number in 1000..1010 {
        home.hook("post-tool-use", &payload(&home, 0, 0, number));
    }
    let range = u64::try_from(start.elapsed().as_micros()).unwrap() / 5;
    for number in 0..120 {
        let mut child = home.command(&["hook", "post-tool-use"]).spawn().unwrap();
        let start = Instant::now();
        // A hook that is killed before it reads its input closes the pipe.
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &payload(&home, 0, 0, number)).ok();
        let moment = Duration::from_micros(dice.roll(range));
        while start.elapsed() < moment {
            std::hint::spin_loop();
        }
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            finished.insert(number as u64);
        }
    }
    home.drain();
    let events: Vec<u64> = stored(&home).into_iter().map(|(.., number)| number).collect();
    let unique: BTreeSet<u64> = events.iter().copied().collect();
    assert_eq!(unique.len(), events.len(), "an event is doubled");
    assert!(
        finished.is_subset(&unique),
        "lost: {:?}",
        finished.difference(&unique)
    );
    assert!(
        !finished.is_empty() && finished.len() < 120,
        "the kills came too early or too late: {}",
        finished.len()
    );
}

#[test]
fn a_locked_database_delays_no_hook_and_loses_nothing() {
    let home = Home::new();
    home.report("stop", &json!({}));
    home.drain();
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    connection.execute_batch("begin exclusive").unwrap();
    let start = Instant::now();
    for event in [
        "session-start",
        "user-prompt-submit",
        "post-tool-use",
        "stop",
        "session-end",
    ] {
        home.report(event, &json!({"prompt": "x"}));
    }
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    connection.execute_batch("rollback").unwrap();
    home.drain();
    assert_eq!(home.events(), 6);
}

#[test]
fn a_newer_database_is_rejected_with_a_hint_and_unchanged() {
    let home = Home::new();
    home.report("stop", &json!({}));
    home.drain();
    let path = home.path().join("backstory.db");
    rusqlite::Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 999)
        .unwrap();
    let before = fs::read(&path).unwrap();
    assert_eq!(home.report("stop", &json!({})), DEFAULT_OUTPUT);
    let mut said = String::new();
    for arguments in [
        vec!["sessions"],
        vec!["queue", "--json"],
        vec!["worker", "run", "--once"],
    ] {
        let output = home.run(&arguments, b"");
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        said.push_str(&format!(
            "$ backstory {}\n{}",
            arguments.join(" "),
            String::from_utf8(output.stderr).unwrap()
        ));
    }
    let log = fs::read_to_string(home.path().join("logs/worker.log")).unwrap();
    assert!(log.contains("has schema 999, this version knows"), "{log}");
    settings().bind(|| insta::assert_snapshot!("newer_database", said));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(
        home.spooled().len(),
        1,
        "the event waits for the version that can take it"
    );
}

#[test]
fn an_event_that_does_not_fit_the_file_size_limit_is_dropped_and_counted() {
    let home = Home::new();
    home.report("stop", &json!({}));
    assert_eq!(home.lost("dropped"), 0);
    let event =
        json!({"session_id": "s1", "tool_name": "Bash", "tool_response": "word ".repeat(5000)}).to_string();
    let output = home.run_with_small_files(8, &["hook", "post-tool-use"], event.as_bytes());
    assert_eq!(
        (output.status.code(), output.stdout.as_slice()),
        (Some(0), DEFAULT_OUTPUT.as_bytes())
    );
    assert_eq!((home.lost("dropped"), home.spooled().len()), (1, 1));
}

#[test]
fn a_hook_that_cannot_write_at_all_still_exits_0() {
    let private = r#"{"session_id": "s1", "prompt": "<private>all of it</private>"}"#;
    for input in ["no JSON", private, r#"{"session_id": "s1", "prompt": "plain"}"#] {
        let home = Home::new();
        fs::create_dir_all(home.path()).unwrap();
        fs::write(home.path().join("config.toml"), "[capture]\nredact = true\n").unwrap();
        let output = home.run_with_small_files(0, &["hook", "user-prompt-submit"], input.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{input}");
    }
}

/// Mounts a small file system; `None` without permission.
pub(crate) fn small_disk(at: &Path, size: &str) -> Option<impl Drop + use<>> {
    struct Mounted(std::path::PathBuf);
    impl Drop for Mounted {
        fn drop(&mut self) {
            Command::new("umount").arg(&self.0).status().ok();
        }
    }
    fs::create_dir_all(at).unwrap();
    let mount = Command::new("mount")
        .args(["-t", "tmpfs", "-o", &format!("size={size},mode=0700"), "tmpfs"])
        .arg(at)
        .stderr(Stdio::null())
        .status();
    mount
        .is_ok_and(|status| status.success())
        .then(|| Mounted(at.to_owned()))
}

#[test]
fn events_are_counted_that_are_dropped_because_no_inodes_are_left() {
    let home = Home::new();
    let Some(_disk) = small_disk(&home.path(), "16m,nr_inodes=64") else {
        eprintln!("not checked: mounting needs root");
        return;
    };
    home.report("user-prompt-submit", &json!({"prompt": "before"}));
    home.drain();
    let full = (0..100).find(|n| fs::write(home.path().join(format!("{n}.fill")), "").is_err());
    assert!(full.is_some(), "the disk has inodes left");
    for _ in 0..3 {
        home.report("user-prompt-submit", &json!({"prompt": "lost"}));
    }
    assert_eq!(home.lost("dropped"), 3);
}

#[test]
fn on_a_full_disk_events_are_dropped_and_counted_and_those_before_are_kept() {
    let home = Home::new();
    let Some(_disk) = small_disk(&home.path(), "64k") else {
        eprintln!("not checked: mounting needs root");
        return;
    };
    home.hook("no-such-event", b"");
    let mut kept = 0;
    for n in 0..40 {
        let before = home.spooled().len();
        assert_eq!(
            home.report(
                "post-tool-use",
                &json!({"tool_name": "Bash", "n": n, "tool_response": "word ".repeat(800)})
            ),
            DEFAULT_OUTPUT
        );
        kept += home.spooled().len() - before;
    }
    assert!((5..40).contains(&kept), "{kept}");
    assert_eq!(home.lost("dropped"), 40 - kept as u64);
    for file in home.spooled() {
        let text = fs::read_to_string(file).unwrap();
        let payload: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
        assert_eq!(payload["tool_name"], "Bash");
    }
}
