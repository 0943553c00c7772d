//! Backups and restores.

use std::{fs, os::unix::fs::PermissionsExt, path::PathBuf, process::Stdio};

use serde_json::{Value, json};

use crate::home::{Home, eventually, settings, text};

/// Returns a home with one turn, its memories and a note.
pub(crate) fn home_with_memories() -> Home {
    record_memories_in(Home::new())
}

/// Records one turn and a note in a home.
pub(crate) fn record_memories_in(home: Home) -> Home {
    home.report("user-prompt-submit", &json!({"prompt": "make the lexer faster"}));
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "cargo bench lexer"},
            "tool_response": {"stdout": "ok"}}),
    );
    home.report(
        "stop",
        &json!({"last_assistant_message": "The lexer reads bytes now, not characters."}),
    );
    home.ok(&["remember", "releases are cut on Tuesdays"]);
    home.drain();
    home
}

/// Lists the backups whose names start with a prefix.
pub(crate) fn copies(home: &Home, prefix: &str) -> Vec<PathBuf> {
    let Ok(folder) = fs::read_dir(home.path().join("backups")) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = folder
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(prefix))
        .collect();
    found.sort();
    found
}

/// Returns the texts of all notes.
pub(crate) fn notes(home: &Home) -> Vec<String> {
    home.rows("select text from note order by id")
}

#[test]
fn a_backup_is_complete_private_and_restorable() {
    let home = home_with_memories();
    let made: Value = home.json(&["backup", "--json"]);
    let copy = PathBuf::from(made["path"].as_str().unwrap());
    assert!(
        copy.starts_with(home.path().join("backups")),
        "{}",
        copy.display()
    );
    let file = fs::metadata(&copy).unwrap();
    assert_eq!(
        (file.permissions().mode() & 0o777, file.len()),
        (0o600, made["bytes"].as_u64().unwrap())
    );

    home.ok(&["remember", "a second thought"]);
    let restored: Value = home.json(&["restore", copy.to_str().unwrap(), "--yes", "--json"]);
    assert_eq!(notes(&home), ["releases are cut on Tuesdays"]);
    assert!(home.ok(&["search", "lexer"]).contains("lexer"));
    // The replaced database is kept and can be restored the same way.
    let kept = restored["kept"].as_str().unwrap();
    home.ok(&["restore", kept, "--yes"]);
    assert_eq!(notes(&home), ["releases are cut on Tuesdays", "a second thought"]);
    // Ids are never reused.
    home.ok(&["restore", copy.to_str().unwrap(), "--yes"]);
    home.ok(&["remember", "a third thought"]);
    assert_eq!(home.rows("select cast(id as text) from note"), ["1", "3"]);
}

#[test]
fn backup_and_restore_report_what_they_do() {
    let home = home_with_memories();
    let copy = home.outside().join("mine.db");
    let copy = copy.to_str().unwrap();
    let astray = home.outside().join("astray/copy.db");
    let astray = astray.to_str().unwrap();
    let mut said = String::new();
    for arguments in [
        vec!["backup", copy],
        vec!["backup", copy],
        vec!["backup", astray],
        vec!["restore", copy],
        vec!["restore", "/nowhere.db", "--yes"],
        vec!["restore", "/etc/passwd", "--yes"],
        vec!["restore", copy, "--yes"],
        vec!["restore"],
    ] {
        let output = home.run(&arguments, b"");
        said.push_str(&format!(
            "$ backstory {}\n{}{}[{}]\n",
            arguments.join(" "),
            text(&output.stdout),
            text(&output.stderr),
            output.status.code().unwrap()
        ));
    }
    let mut settings = settings();
    settings.add_filter(r"/(?:tmp|var)/[\w./-]*?/(mine\.db)", "/[dir]/$1");
    settings.add_filter(r"/(?:tmp|var)/[\w./-]*?/(astray)", "/[dir]/$1");
    settings.add_filter(r"\d{8}T\d{9}Z", "[time]");
    settings.add_filter(r"\d+ KB", "[n] KB");
    settings.bind(|| insta::assert_snapshot!("backup", said));
}

#[test]
fn a_backup_is_restored_while_a_worker_is_running() {
    let home = home_with_memories();
    let copy = home.json(&["backup", "--json"])["path"]
        .as_str()
        .unwrap()
        .to_owned();
    home.ok(&["worker", "start"]);
    let before = home.json(&["worker", "status", "--json"])["pid"].clone();
    home.ok(&["remember", "a second thought"]);
    home.ok(&["restore", &copy, "--yes"]);
    let after = home.json(&["worker", "status", "--json"])["pid"].clone();
    assert!(after.is_number() && after != before, "{before} {after}");
    assert_eq!(notes(&home), ["releases are cut on Tuesdays"]);
    home.report("stop", &json!({}));
    eventually("the event is ingested", || home.events() == 4);
    // The vector file is rebuilt.
    eventually("everything has a vector", || {
        home.rows("select kind from document where embedded = 0")
            .is_empty()
    });
    home.ok(&["worker", "stop"]);
}

#[test]
fn the_worker_makes_one_backup_a_day_and_prunes_old_ones() {
    let home = home_with_memories();
    home.ok(&["config", "set", "retention.backups", "2"]);
    let folder = home.path().join("backups");
    fs::create_dir(&folder).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(48 * 3600);
    for name in [
        "daily-1.db",
        "daily-2.db",
        "backstory-1.db",
        "before-schema-2.db",
        "damaged-1.db",
        "mine.txt",
    ] {
        fs::write(folder.join(name), name).unwrap();
        let file = fs::File::options().write(true).open(folder.join(name)).unwrap();
        file.set_modified(old).unwrap();
    }
    home.ok(&["worker", "start"]);
    eventually("a backup is made", || copies(&home, "daily-20").len() == 1);
    eventually("the oldest is removed", || copies(&home, "daily-").len() == 2);
    home.ok(&["worker", "restart"]);
    eventually("maintenance was done", || {
        copies(&home, "daily-20").iter().all(|path| path.exists())
    });
    home.ok(&["worker", "stop"]);
    assert_eq!(copies(&home, "daily-20").len(), 1, "one a day");
    for name in ["backstory-1.db", "before-schema-2.db", "damaged-1.db", "mine.txt"] {
        assert!(folder.join(name).exists(), "{name}");
    }
    let taken = &copies(&home, "daily-20")[0];
    let connection = rusqlite::Connection::open(taken).unwrap();
    let check: String = connection
        .query_row("pragma integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn forgotten_memories_are_in_no_automatic_backup() {
    let home = home_with_memories();
    home.ok(&["worker", "start"]);
    eventually("a backup is made", || copies(&home, "daily-20").len() == 1);
    home.ok(&["worker", "stop"]);
    let by_hand = home.json(&["backup", "--json"])["path"]
        .as_str()
        .unwrap()
        .to_owned();
    let output = home.run(&["forget", "--match", "Tuesdays", "--yes"], b"");
    assert!(
        text(&output.stderr).contains(&by_hand),
        "{}",
        text(&output.stderr)
    );
    fs::remove_file(by_hand).unwrap();
    home.assert_nowhere("Tuesdays");
    // One backup is left.
    assert_eq!(copies(&home, "daily-").len(), 1);
}

#[test]
fn a_killed_backup_leaves_no_file_that_looks_complete() {
    let home = home_with_memories();
    home.rows("select 'x'");
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    connection
        .execute_batch(
            "with recursive n (i) as (select 1 union all select i + 1 from n where i < 20000)
            insert into passage (project_id, kind, text, created_at) select 1, 'prose', hex(randomblob(1000)), i from n",
        )
        .unwrap();
    drop(connection);
    let mut finished = 0;
    for delay in 0..20 {
        let mut child = home.command(&["backup"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(delay * 10));
        child.kill().unwrap();
        finished += usize::from(child.wait().unwrap().success());
        for copy in copies(&home, "backstory-")
            .iter()
            .filter(|path| path.extension().unwrap() == "db")
        {
            let connection = rusqlite::Connection::open(copy).unwrap();
            let check: String = connection
                .query_row("pragma quick_check", [], |row| row.get(0))
                .unwrap();
            assert_eq!(check, "ok");
            fs::remove_file(copy).unwrap();
        }
    }
    assert!(finished < 20, "the kills came too late");
    // Leftovers are removed by `forget`, or after an hour.
    home.ok(&["forget", "N1", "--yes"]);
    home.ok(&["backup"]);
    home.ok(&["forget", "P1", "--yes"]);
    assert!(
        copies(&home, "")
            .iter()
            .all(|path| path.extension().unwrap() == "db")
    );
}
