//! Damaged, deleted and replaced databases: what is preserved, and what the user sees. docs/faults.md states the outcomes.

use std::{
    fs,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    process::{Child, Stdio},
    time::Duration,
};

use serde_json::json;

use crate::{
    backup::{copies, home_with_memories, notes, record_memories_in},
    durability::small_disk,
    home::{DEFAULT_OUTPUT, Home, eventually, has_open, settings, text},
};

pub(crate) fn database(home: &Home) -> PathBuf {
    home.path().join("backstory.db")
}

/// Checkpoints the WAL, so that damage to the file has an effect.
pub(crate) fn settle(home: &Home) {
    let connection = rusqlite::Connection::open(database(home)).unwrap();
    connection
        .query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))
        .unwrap();
}

/// Returns a home whose last backup has one note and one turn, with another note and another turn since.
fn home_with_backup() -> Home {
    back_up_and_go_on(home_with_memories())
}

fn back_up_and_go_on(home: Home) -> Home {
    home.ok(&["backup"]);
    home.report("user-prompt-submit", &json!({"prompt": "now the parser"}));
    home.report(
        "stop",
        &json!({"last_assistant_message": "The parser borrows its tokens now."}),
    );
    home.ok(&["remember", "the parser is frozen"]);
    home.drain();
    settle(&home);
    home
}

/// Overwrites some bytes.
pub(crate) fn flip(path: &Path, from: u64, length: usize) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&vec![0xa5; length], from).unwrap();
}

/// Checks that hooks keep working silently, the next command repairs and reports it, and nothing of the backup is lost.
fn assert_repaired(home: &Home) -> String {
    assert_eq!(
        home.report(
            "post-tool-use",
            &json!({"tool_name": "Bash", "tool_input": {"command": "ls"}})
        ),
        DEFAULT_OUTPUT
    );
    let output = home.run(&["sessions"], b"");
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(
        notes(home).contains(&"releases are cut on Tuesdays".to_owned()),
        "{said}"
    );
    assert!(home.spooled().is_empty(), "the spool is ingested");
    assert_eq!(home.rows("pragma integrity_check"), ["ok"]);
    assert_eq!(
        copies(home, "damaged-")
            .iter()
            .filter(|path| path.extension().unwrap() == "db")
            .count(),
        1
    );
    let again = home.run(&["sessions"], b"");
    assert_eq!(text(&again.stderr), "", "said once");
    home.drain();
    assert!(home.ok(&["search", "lexer"]).contains("lexer"));
    said
}

#[test]
fn a_truncated_database_is_rebuilt() {
    let home = home_with_backup();
    let length = fs::metadata(database(&home)).unwrap().len();
    fs::File::options()
        .write(true)
        .open(database(&home))
        .unwrap()
        .set_len(length / 2)
        .unwrap();
    let said = assert_repaired(&home);
    let mut settings = settings();
    settings.add_filter(r"\d{8}T\d{9}Z", "[time]");
    settings.add_filter(r", \d+ events and \d notes", ", [n] events and [n] notes");
    settings.bind(|| insta::assert_snapshot!("rebuilt", said));
}

#[test]
fn a_database_with_a_broken_header_is_rebuilt() {
    let home = home_with_backup();
    flip(&database(&home), 0, 16);
    assert_repaired(&home);
}

#[test]
fn an_empty_database_is_rebuilt() {
    let home = home_with_backup();
    let file = fs::File::options().write(true).open(database(&home)).unwrap();
    file.set_len(0).unwrap();
    drop(file);
    assert_repaired(&home);
}

#[test]
fn an_empty_database_without_a_backup_is_reported() {
    let home = home_with_memories();
    settle(&home);
    fs::remove_dir_all(home.path().join("backups")).ok();
    fs::write(database(&home), "").unwrap();
    let said = text(&home.run(&["sessions"], b"").stderr);
    assert!(said.contains("The database was damaged"), "{said}");
    assert!(said.contains("there was no backup"), "{said}");
    assert_eq!(copies(&home, "damaged-").len(), 2, "with its report");
    home.report("user-prompt-submit", &json!({"prompt": "now the parser"}));
    home.drain();
    assert_eq!(home.events(), 1);
}

#[test]
fn readable_data_of_a_damaged_database_is_kept() {
    let home = home_with_backup();
    let connection = rusqlite::Connection::open(database(&home)).unwrap();
    let (root, size): (u64, u64) = connection
        .query_row(
            "select rootpage, page_size from sqlite_schema, pragma_page_size() where name = 'summary'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    drop(connection);
    flip(&database(&home), (root - 1) * size, 64);
    // It opens: the damage shows only when it is read.
    let output = home.run(&["session", "s1"], b"");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("rebuilt from") && said.contains("run the command again"),
        "{said}"
    );
    assert_eq!(
        notes(&home),
        ["releases are cut on Tuesdays", "the parser is frozen"]
    );
    home.drain();
    assert_eq!(home.events(), 5);
    assert_eq!(
        home.rows("select prompt from turn order by number"),
        ["make the lexer faster", "now the parser"]
    );
    let shown = home.ok(&["session", "s1"]);
    assert!(shown.contains("parser"), "{shown}");
    assert_eq!(home.rows("select author from note"), ["person", "person"]);
}

#[test]
fn a_damaged_database_without_a_backup_is_rebuilt_from_readable_data() {
    let home = home_with_memories();
    settle(&home);
    fs::remove_dir_all(home.path().join("backups")).ok();
    let connection = rusqlite::Connection::open(database(&home)).unwrap();
    let sql = "select (rootpage - 1) * page_size from sqlite_schema, pragma_page_size() where name = 'session_by_time'";
    let at: u64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    drop(connection);
    flip(&database(&home), at, 64);
    let said = text(&home.run(&["sessions"], b"").stderr);
    assert!(said.contains("there was no backup"), "{said}");
    home.drain();
    assert_eq!((home.events(), notes(&home).len()), (3, 1));
    assert!(home.ok(&["search", "lexer"]).contains("lexer"));
}

#[test]
fn rows_below_a_damaged_root_page_are_kept() {
    let home = home_with_memories();
    let connection = rusqlite::Connection::open(database(&home)).unwrap();
    connection
        .execute_batch(
            "with recursive n (i) as (select 1 union all select i + 1 from n where i < 3000)
            insert into note (project_id, text, created_at) select 1, 'note ' || i || hex(randomblob(40)), i from n;
            with recursive n (i) as (select 1 union all select i + 1 from n where i < 500)
            insert into event (key, session_db_id, kind, at, payload, state)
                select 'k' || i, 1, 'pre-compact', i, '{\"trigger\":\"' || hex(randomblob(40)) || '\"}', 'done' from n",
        )
        .unwrap();
    drop(connection);
    settle(&home);
    fs::remove_dir_all(home.path().join("backups")).ok();
    let (events, written) = (home.events(), notes(&home));
    let connection = rusqlite::Connection::open(database(&home)).unwrap();
    let sql = "select (rootpage - 1) * page_size from sqlite_schema, pragma_page_size() where name in ('note', 'event')";
    let mut statement = connection.prepare(sql).unwrap();
    let roots: Vec<u64> = statement
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(roots.len(), 2);
    drop(statement);
    drop(connection);
    for root in roots {
        flip(&database(&home), root, 4096);
    }
    let said = text(&home.run(&["export"], b"").stderr);
    assert!(said.contains("there was no backup"), "{said}");
    assert_eq!((home.events(), notes(&home).len()), (events, written.len()));
    assert_eq!(notes(&home), written);
    assert!(!home.path().join("backstory.db.salvage").exists());
}

#[test]
fn the_worker_repairs_a_damaged_database() {
    let home = home_with_backup();
    flip(&database(&home), 0, 16);
    home.report("stop", &json!({}));
    home.ok(&["worker", "start"]);
    eventually("the event is ingested", || home.spooled().is_empty());
    home.ok(&["worker", "stop"]);
    assert!(notes(&home).contains(&"releases are cut on Tuesdays".to_owned()));
    let log = fs::read_to_string(home.path().join("logs/worker.log")).unwrap();
    assert!(log.contains("was damaged and is rebuilt from"), "{log}");
}

#[test]
fn deleting_the_database_under_a_worker_loses_no_event() {
    let home = home_with_backup();
    home.ok(&["worker", "start"]);
    eventually("it works", || home.path().join("worker.json").exists());
    for name in ["backstory.db", "backstory.db-wal", "backstory.db-shm"] {
        fs::remove_file(home.path().join(name)).ok();
    }
    home.report("stop", &json!({}));
    eventually("the event is in the new database", || {
        home.spooled().is_empty() && database(&home).exists() && home.events() == 1
    });
    home.ok(&["worker", "stop"]);
    // After an accidental deletion there are backups.
    let copy = copies(&home, "backstory-").remove(0);
    home.ok(&["restore", copy.to_str().unwrap(), "--yes"]);
    assert_eq!(notes(&home), ["releases are cut on Tuesdays"]);
}

#[test]
fn a_leftover_wal_is_applied_to_its_own_database_only() {
    let home = home_with_backup();
    home.report("stop", &json!({}));
    // An open reader keeps the WAL when the writing process exits.
    let reader = rusqlite::Connection::open(database(&home)).unwrap();
    reader.execute_batch("begin; select count(*) from event").unwrap();
    home.drain();
    let log = home.path().join("backstory.db-wal");
    let left = fs::read(&log).unwrap();
    assert!(!left.is_empty());
    drop(reader);
    assert_eq!(home.events(), 6);
    settle(&home);
    // It must not be applied to the database of another time.
    home.ok(&[
        "restore",
        copies(&home, "backstory-")[0].to_str().unwrap(),
        "--yes",
    ]);
    assert_eq!(home.events(), 3);
    assert_eq!(home.rows("pragma integrity_check"), ["ok"]);
}

#[test]
fn a_newer_database_is_not_damaged_and_can_be_moved_away() {
    let home = home_with_backup();
    rusqlite::Connection::open(database(&home))
        .unwrap()
        .pragma_update(None, "user_version", 999)
        .unwrap();
    let before = fs::read(database(&home)).unwrap();
    assert_eq!(home.run(&["sessions"], b"").status.code(), Some(1));
    assert_eq!(home.run(&["worker", "run", "--once"], b"").status.code(), Some(1));
    assert_eq!(fs::read(database(&home)).unwrap(), before);
    assert!(copies(&home, "damaged-").is_empty());
    home.ok(&[
        "restore",
        copies(&home, "backstory-")[0].to_str().unwrap(),
        "--yes",
    ]);
    assert_eq!(notes(&home), ["releases are cut on Tuesdays"]);
    assert_eq!(
        fs::read(&copies(&home, "before-restore-")[0]).unwrap(),
        before,
        "kept as it was"
    );
}

#[test]
fn a_backup_without_disk_space_leaves_no_file_and_an_unchanged_store() {
    let home = home_with_backup();
    let before = copies(&home, "");
    let output = home.run_with_small_files(64, &["backup"], b"");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("check the free disk space"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(copies(&home, ""), before);
    assert_eq!(notes(&home).len(), 2);
}

#[test]
fn a_killed_repair_is_completed_by_the_next_command() {
    let home = home_with_backup();
    let original = fs::read(database(&home)).unwrap();
    let mut killed = 0;
    for delay in 0..15 {
        // Damaged again each time; earlier damaged copies are removed to keep their number small.
        for copy in copies(&home, "damaged-") {
            fs::remove_file(copy).unwrap();
        }
        fs::remove_file(home.path().join("backstory.db-wal")).ok();
        fs::write(database(&home), &original).unwrap();
        flip(&database(&home), 0, 16);
        let mut child = home
            .command(&["sessions"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(5 + delay * 4));
        child.kill().unwrap();
        killed += usize::from(!child.wait().unwrap().success());
        home.ok(&["sessions"]);
        assert!(
            notes(&home).contains(&"releases are cut on Tuesdays".to_owned()),
            "after {delay}"
        );
    }
    assert!(killed > 0, "the kills came too late");
}

#[test]
fn a_repair_killed_between_two_renames_is_completed() {
    for (ready, aside) in [("ready", "damaged-"), ("restored", "before-restore-")] {
        let home = home_with_backup();
        // The salvaged data was in the WAL, which is already moved away: without it the database looks intact.
        let ready = home.path().join(format!("backstory.db.{ready}"));
        fs::copy(database(&home), &ready).unwrap();
        home.rows("update note set text = 'as it was before the log' where id = 2 returning text");
        settle(&home);
        home.ok(&["sessions"]);
        assert_eq!(
            notes(&home),
            ["releases are cut on Tuesdays", "the parser is frozen"]
        );
        assert!(!ready.exists() && !home.path().join("vectors").exists());
        let old = rusqlite::Connection::open(&copies(&home, aside)[0]).unwrap();
        let note: String = old
            .query_row("select text from note where id = 2", [], |row| row.get(0))
            .unwrap();
        assert_eq!(note, "as it was before the log");
    }
}

#[test]
fn a_restore_overrides_an_earlier_killed_repair() {
    let home = home_with_backup();
    let copy = copies(&home, "backstory-").remove(0);
    fs::rename(database(&home), home.path().join("backstory.db.ready")).unwrap();
    home.ok(&["restore", copy.to_str().unwrap(), "--yes"]);
    assert_eq!(notes(&home), ["releases are cut on Tuesdays"]);
    home.ok(&["sessions"]);
    assert_eq!(notes(&home), ["releases are cut on Tuesdays"]);
    // The finished replacement was put in place first, and is kept.
    let kept = rusqlite::Connection::open(&copies(&home, "before-restore-")[0]).unwrap();
    let count: i64 = kept
        .query_row("select count(*) from note", [], |row| row.get(0))
        .unwrap();
    assert_eq!(count, 2);
}

/// Opens the ingest lock: shared during ingest, exclusive while the database is replaced.
fn ingest_lock(home: &Home) -> fs::File {
    let path = home.path().join("spool/taking.lock");
    let mut options = fs::File::options();
    options
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .unwrap()
}

#[test]
fn no_event_is_ingested_while_the_database_is_replaced() {
    let home = home_with_backup();
    let lock = ingest_lock(&home);
    lock.lock().unwrap();
    let events = home.events();
    home.report("stop", &json!({}));
    let output = home.run(&["sessions"], b"");
    // Stored data is shown; the event is safe in the spool.
    assert!(output.status.success() && !output.stdout.is_empty());
    assert!(
        text(&output.stderr).contains("1 events are still in the spool: the database is being replaced"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!((home.events(), home.spooled().len()), (events, 1));
    lock.unlock().unwrap();
    home.ok(&["sessions"]);
    assert_eq!((home.events(), home.spooled().len()), (events + 1, 0));
}

/// Asserts that a process tries to take the ingest lock, and does not go on without it.
fn assert_waits(child: &mut Child) {
    eventually("it tries to take the lock", || has_open(child, "taking.lock"));
    // Ten attempts.
    std::thread::sleep(Duration::from_millis(100));
    assert!(
        has_open(child, "taking.lock") && child.try_wait().unwrap().is_none(),
        "it waits"
    );
}

#[test]
fn the_database_is_not_replaced_during_ingest() {
    let home = home_with_backup();
    let copy = copies(&home, "backstory-").remove(0);
    let lock = ingest_lock(&home);
    lock.lock_shared().unwrap();
    let restore = ["restore", copy.to_str().unwrap(), "--yes"];
    let mut child = home.command(&restore).spawn().unwrap();
    assert_waits(&mut child);
    // Committed just before the file is removed from the spool: it must be in the copy that is kept.
    home.rows("update note set text = 'a word in time' where id = 1 returning text");
    lock.unlock().unwrap();
    assert!(child.wait().unwrap().success());
    assert_eq!(notes(&home), ["releases are cut on Tuesdays"]);
    let kept = rusqlite::Connection::open(&copies(&home, "before-restore-")[0]).unwrap();
    let note: String = kept
        .query_row("select text from note where id = 1", [], |row| row.get(0))
        .unwrap();
    assert_eq!(note, "a word in time");
    // A rebuild waits too.
    settle(&home);
    flip(&database(&home), 0, 16);
    lock.lock_shared().unwrap();
    let mut child = home.command(&["sessions"]).spawn().unwrap();
    assert_waits(&mut child);
    lock.unlock().unwrap();
    assert!(child.wait().unwrap().success());
}

#[test]
fn on_a_full_disk_nothing_is_lost_and_a_repair_waits_for_free_space() {
    let home = Home::new();
    let Some(_disk) = small_disk(&home.path(), "4m") else {
        eprintln!("NOT CHECKED: mounting needs root");
        return;
    };
    let home = back_up_and_go_on(record_memories_in(home));
    let filler = home.path().join("filler");
    let fill = || {
        let mut file = fs::File::create(&filler).unwrap();
        // Filled up, then a little space is freed.
        while std::io::Write::write_all(&mut file, &[1; 4096]).is_ok() {}
        file.set_len(file.metadata().unwrap().len().saturating_sub(64 << 10))
            .unwrap();
    };
    fill();
    let before = copies(&home, "");
    let output = home.run(&["backup"], b"");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert_eq!(copies(&home, ""), before, "no half backup");
    home.report("stop", &json!({}));
    assert_eq!(home.spooled().len(), 1, "there is room for an event");

    // Damaged while the disk is full: it stays until there is free space.
    flip(&database(&home), 0, 16);
    let damaged = fs::read(database(&home)).unwrap();
    let output = home.run(&["sessions"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("could not rebuild the damaged database"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(fs::read(database(&home)).unwrap(), damaged);
    assert_eq!(home.spooled().len(), 1);
    fs::remove_file(&filler).unwrap();
    home.ok(&["sessions"]);
    assert!(home.spooled().is_empty());
    assert!(notes(&home).contains(&"releases are cut on Tuesdays".to_owned()));
}
