//! Import from claude-mem. The tables are those of claude-mem 13.25.3, as far as they are read.

use std::{collections::BTreeMap, fs, path::PathBuf};

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::home::{Home, settings, text};

const TABLES: &str = "
    create table sdk_sessions (id integer primary key autoincrement, content_session_id text not null,
        memory_session_id text unique, project text not null, platform_source text not null default 'claude',
        user_prompt text, started_at text not null, started_at_epoch integer not null, completed_at text,
        completed_at_epoch integer, status text not null default 'active', worker_port integer,
        prompt_counter integer default 0, custom_title text, observed_model text, observed_billing text);
    create table user_prompts (id integer primary key autoincrement, session_db_id integer,
        content_session_id text not null, prompt_number integer not null, prompt_text text not null,
        created_at text not null, created_at_epoch integer not null, synced_at integer);
    create table observations (id integer primary key autoincrement, memory_session_id text not null,
        project text not null, text text, type text not null, title text, subtitle text, facts text, narrative text,
        concepts text, files_read text, files_modified text, prompt_number integer, created_at text not null,
        created_at_epoch integer not null, discovery_tokens integer default 0, content_hash text,
        merged_into_project text);
    create table session_summaries (id integer primary key autoincrement, memory_session_id text not null,
        project text not null, request text, investigated text, learned text, completed text, next_steps text,
        files_read text, files_edited text, notes text, prompt_number integer, created_at text not null,
        created_at_epoch integer not null, merged_into_project text);
    create table tool_uses (id integer primary key autoincrement, tool_use_id text not null,
        content_session_id text not null, project text not null, tool_name text not null, cwd text,
        created_at text not null, created_at_epoch integer not null);";

/// One session in a project whose folder is known (`app`) and one in a project whose folder is not (`lost`).
const ROWS: &str = "
    insert into sdk_sessions (content_session_id, memory_session_id, project, started_at, started_at_epoch) values
        ('aaaa', 'mem-a', 'app', '2025-11-02T10:00:00Z', 1762077600000),
        ('bbbb', 'mem-b', 'lost', '2025-11-03T10:00:00Z', 1762164000000);
    insert into user_prompts (content_session_id, prompt_number, prompt_text, created_at, created_at_epoch) values
        ('aaaa', 1, 'why does the cache miss', '2025-11-02T10:00:00Z', 1762077600000),
        ('bbbb', 1, 'rename the widget', '2025-11-03T10:00:00Z', 1762164000000);
    insert into observations (memory_session_id, project, type, title, subtitle, facts, narrative, concepts, files_read,
        files_modified, created_at, created_at_epoch) values
        ('mem-a', 'app', 'bugfix', 'Cache keys ignore the locale', 'Two languages shared one entry',
            '[\"keys are built in cache.rs\"]', 'The key left the locale out. token=ghp_abcdefghijklmnopqrstuvwxyz0123456789',
            '[\"gotcha\"]', '[\"src/cache.rs\"]', '[\"src/cache.rs\"]', '2025-11-02T10:05:00Z', 1762077900000),
        ('mem-b', 'lost', 'security_alert', 'The widget is called gadget', null, null, null, null, null, null,
            '2025-11-03T10:05:00Z', 1762164300000),
        ('mem-b', 'lost', 'change', '', null, null, '<private>nobody</private>', null, null, null,
            '2025-11-03T10:06:00Z', 1762164360000);
    insert into session_summaries (memory_session_id, project, request, completed, next_steps, files_edited, created_at,
        created_at_epoch) values
        ('mem-a', 'app', 'why does the cache miss', 'keys carry the locale', 'clear the old entries',
            '[\"src/cache.rs\"]', '2025-11-02T10:06:00Z', 1762077960000);";

struct Theirs {
    path: PathBuf,
    connection: Connection,
}

/// Creates a claude-mem database; it stays open, with all data in its WAL.
fn theirs(home: &Home) -> Theirs {
    let folder = home.outside().join("home/.claude-mem");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("claude-mem.db");
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "journal_mode", "wal").unwrap();
    connection.execute_batch(TABLES).unwrap();
    connection.execute_batch(ROWS).unwrap();
    let app = home.repository("src/app", Some("git@github.com:acme/app.git"));
    connection
        .execute(
            "insert into tool_uses (tool_use_id, content_session_id, project, tool_name, cwd, created_at, created_at_epoch)
            values ('t', 'aaaa', 'app', 'Bash', ?1, '', 0)",
            [app.to_str().unwrap()],
        )
        .unwrap();
    Theirs { path, connection }
}

/// Reads the files of the claude-mem folder.
fn files(theirs: &Theirs) -> BTreeMap<PathBuf, Vec<u8>> {
    let folder = fs::read_dir(theirs.path.parent().unwrap()).unwrap();
    folder
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

#[test]
fn sessions_prompts_observations_and_summaries_are_imported_once() {
    let home = Home::new().with("TZ", "UTC");
    let theirs = theirs(&home);
    let mut said = String::new();
    for arguments in [
        vec!["import", "claude-mem", "--dry-run"],
        vec!["import", "claude-mem"],
        vec!["import", "claude-mem"],
        vec!["search", "locale", "--project", "github.com/acme/app"],
        vec!["sessions"],
        vec!["show", "1", "S1", "P1", "2"],
    ] {
        let output = home.run(&arguments, b"");
        said.push_str(&format!(
            "$ backstory {}\n{}{}",
            arguments.join(" "),
            text(&output.stdout),
            text(&output.stderr)
        ));
    }
    let mut settings = settings();
    settings.add_filter(r"\d+ ms", "[n] ms");
    settings.bind(|| insta::assert_snapshot!("claude_mem", said));
    home.assert_nowhere("ghp_abcdefghijklmnopqrstuvwxyz0123456789");
    drop(theirs);
}

#[test]
fn the_database_is_only_read_with_and_without_a_wal() {
    let home = Home::new();
    let theirs = theirs(&home);
    let shared = theirs.path.with_extension("db-shm");
    let mut before = files(&theirs);
    before.remove(&shared);
    assert_eq!(
        home.json(&["import", "claude-mem", "--json"])["imported"],
        5,
        "read from the log"
    );
    let mut after = files(&theirs);
    after.remove(&shared);
    assert_eq!(after, before);
    theirs
        .connection
        .query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))
        .unwrap();
    let path = theirs.path.clone();
    let Theirs { connection, .. } = theirs;
    connection.close().unwrap();
    let before = fs::read(&path).unwrap();
    let fresh = Home::new();
    assert_eq!(
        fresh.json(&["import", "claude-mem", path.to_str().unwrap(), "--json"])["imported"],
        5
    );
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(
        fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1,
        "no file beside it"
    );
}

#[test]
fn a_known_session_determines_the_project_of_its_memories() {
    let home = Home::new();
    let theirs = theirs(&home);
    let prompt = json!({"session_id": "bbbb", "cwd": home.project(), "prompt": "rename the widget"});
    home.hook("user-prompt-submit", prompt.to_string().as_bytes());
    home.drain();
    let report = home.json(&["import", "claude-mem", "--json"]);
    assert_eq!(
        (&report["imported"], &report["left_out"]),
        (&json!(4), &json!(1)),
        "{report}"
    );
    let found: Value = home.json(&["search", "gadget", "--json"]);
    assert_eq!(found["results"][0]["title"], "The widget is called gadget");
    assert_eq!(
        home.rows("select prompt from turn where prompt like '%widget%'")
            .len(),
        1
    );
    drop(theirs);
}

#[test]
fn map_assigns_a_project_to_a_folder() {
    let home = Home::new();
    let theirs = theirs(&home);
    let map = format!("lost={}", home.project().display());
    home.ok(&["import", "claude-mem", "--map", &map]);
    assert_eq!(
        home.json(&["search", "gadget", "--json"])["results"][0]["title"],
        "The widget is called gadget"
    );
    let wrong = home.run(&["import", "claude-mem", "--map", "lost=/nowhere"], b"");
    assert_eq!(wrong.status.code(), Some(2));
    drop(theirs);
}

#[test]
fn map_moves_the_memories_of_an_earlier_import() {
    let home = Home::new();
    let theirs = theirs(&home);
    home.ok(&["import", "claude-mem"]);
    let before = home.run(&["search", "gadget"], b"");
    assert_eq!(before.status.code(), Some(1), "they are not in this project yet");
    let map = format!("lost={}", home.project().display());
    let dry = home.ok(&["import", "claude-mem", "--dry-run", "--map", &map]);
    assert!(dry.contains("Would move"), "{dry}");
    let report = home.json(&["import", "claude-mem", "--map", &map, "--json"]);
    assert_eq!(
        (&report["imported"], &report["moved"]),
        (&json!(0), &json!(2)),
        "{report}"
    );
    let found = home.json(&["search", "gadget", "--json"]);
    assert_eq!(found["results"][0]["title"], "The widget is called gadget");
    let report = home.json(&["import", "claude-mem", "--map", &map, "--json"]);
    assert_eq!(report["moved"], 0, "{report}");
    assert!(
        !home
            .rows("select key from project")
            .contains(&"claude-mem:lost".to_owned())
    );
    drop(theirs);
}

#[test]
fn an_import_without_a_folder_leaves_project_names_unambiguous() {
    let home = Home::new();
    let theirs = theirs(&home);
    home.repository("lost", None);
    let prompt =
        json!({"session_id": "cccc", "cwd": home.outside().join("lost"), "prompt": "Add a changelog"});
    home.hook("user-prompt-submit", prompt.to_string().as_bytes());
    home.drain();
    home.ok(&["import", "claude-mem"]);
    let found = home.json(&["sessions", "--project", "lost", "--json"]);
    assert_eq!(found["sessions"][0]["session_id"], "cccc", "{found}");
    drop(theirs);
}

#[test]
fn forgotten_memories_are_not_imported_again() {
    let home = Home::new();
    let theirs = theirs(&home);
    home.ok(&["import", "claude-mem"]);
    home.ok(&["forget", "--session", "bbbb", "--yes"]);
    let report = home.json(&["import", "claude-mem", "--json"]);
    assert_eq!(report["imported"], 0, "{report}");
    drop(theirs);
}

#[test]
fn an_older_database_is_read_and_a_foreign_one_rejected() {
    let home = Home::new();
    let path = home.outside().join("old.db");
    let connection = Connection::open(&path).unwrap();
    let old = TABLES
        .replace("content_session_id", "claude_session_id")
        .replace("memory_session_id", "sdk_session_id")
        .replace(", merged_into_project text", "");
    let rows = ROWS
        .replace("content_session_id", "claude_session_id")
        .replace("memory_session_id", "sdk_session_id");
    connection.execute_batch(&old).unwrap();
    connection.execute_batch(&rows).unwrap();
    connection.close().unwrap();
    assert_eq!(
        home.json(&["import", "claude-mem", path.to_str().unwrap(), "--json"])["imported"],
        5
    );
    let other = home.outside().join("other.db");
    Connection::open(&other)
        .unwrap()
        .execute_batch("create table x (y)")
        .unwrap();
    for path in [&other, &home.outside().join("nowhere.db")] {
        let output = home.run(&["import", "claude-mem", path.to_str().unwrap()], b"");
        assert_eq!(output.status.code(), Some(1));
        assert!(
            text(&output.stderr).contains("hint: name claude-mem's database"),
            "{}",
            text(&output.stderr)
        );
    }
}

/// The tables of version 3: sessions with text summaries.
const TABLES_OF_3: &str = "
    create table sessions (id integer primary key autoincrement, session_id text unique not null, project text not null,
        created_at text not null, created_at_epoch integer not null, source text not null default 'compress',
        archive_path text, archive_bytes integer, archive_checksum text, archived_at text, metadata_json text);
    create table overviews (id integer primary key autoincrement, session_id text not null, content text not null,
        created_at text not null, created_at_epoch integer not null, project text not null,
        origin text not null default 'claude');
    create table memories (id integer primary key autoincrement, session_id text not null, text text not null,
        document_id text unique, keywords text, created_at text not null, created_at_epoch integer not null,
        project text not null, archive_basename text, origin text not null default 'transcript', title text,
        subtitle text, facts text, concepts text, files_touched text);
    insert into sessions (session_id, project, created_at, created_at_epoch) values
        ('cccc', 'app', '2025-09-02T10:00:00Z', 1756807200000);
    insert into overviews (session_id, content, created_at, created_at_epoch, project) values
        ('cccc', 'Moved the session store to Redis and removed the file lock.', '2025-09-02T11:00:00Z', 1756810800000, 'app');
    insert into memories (session_id, text, created_at, created_at_epoch, project, title, facts, concepts, files_touched) values
        ('cccc', 'The file lock blocked parallel logins.', '2025-09-02T10:30:00Z', 1756809000000, 'app',
            'File lock blocked logins', '[\"the lock was in store.rs\"]', '[\"gotcha\"]', '[\"src/store.rs\"]'),
        ('cccc', 'Redis keys expire after a day.', '2025-09-02T10:40:00Z', 1756809600, 'app', null, null, null, null);";

/// The tables of version 4: the prompt is a column of the session, and observations are plain text.
const TABLES_OF_4: &str = "
    create table sdk_sessions (id integer primary key autoincrement, claude_session_id text unique not null,
        sdk_session_id text unique, project text not null, user_prompt text, started_at text not null,
        started_at_epoch integer not null, completed_at text, completed_at_epoch integer,
        status text not null default 'active');
    create table observation_queue (id integer primary key autoincrement, sdk_session_id text not null,
        tool_name text not null, tool_input text not null, tool_output text not null,
        created_at_epoch integer not null, processed_at_epoch integer);
    create table observations (id integer primary key autoincrement, sdk_session_id text not null, project text not null,
        text text not null, type text not null, created_at text not null, created_at_epoch integer not null);
    create table session_summaries (id integer primary key autoincrement, sdk_session_id text unique not null,
        project text not null, request text, investigated text, learned text, completed text, next_steps text,
        files_read text, files_edited text, notes text, created_at text not null, created_at_epoch integer not null);
    insert into sdk_sessions (claude_session_id, sdk_session_id, project, user_prompt, started_at, started_at_epoch) values
        ('dddd', 'sdk-d', 'app', 'make logins faster', '2025-10-02T10:00:00Z', 1759399200000);
    insert into observations (sdk_session_id, project, text, type, created_at, created_at_epoch) values
        ('sdk-d', 'app', 'Password hashes are cached for a minute. The cache is per process.', 'decision',
            '2025-10-02T10:05:00Z', 1759399500000);
    insert into session_summaries (sdk_session_id, project, request, completed, created_at, created_at_epoch) values
        ('sdk-d', 'app', 'make logins faster', 'hashes are cached', '2025-10-02T10:06:00Z', 1759399560000);";

#[test]
fn databases_of_older_versions_are_imported_once() {
    let rows = |home: &Home| {
        home.rows(
            "select 'prompt ' || session.session_id || ' ' || prompt from turn join session on session.id = session_db_id
            union all select type || ' ' || title || ': ' || coalesce(narrative, '') || ' ' || facts from observation
            union all select 'summary ' || coalesce(request, '-') || ': ' || completed from summary order by 1",
        )
    };
    let three = [
        "change File lock blocked logins: The file lock blocked parallel logins. [\"the lock was in store.rs\"]",
        "change Redis keys expire after a day.: Redis keys expire after a day. []",
        "summary -: Moved the session store to Redis and removed the file lock.",
    ];
    let four = [
        "decision Password hashes are cached for a minute. The cache is per process.: Password hashes are cached for a minute. The cache is per process. []",
        "prompt dddd make logins faster",
        "summary make logins faster: hashes are cached",
    ];
    let mut both: Vec<&str> = three.iter().chain(&four).copied().collect();
    both.sort_unstable();
    // An update kept the tables of the version before.
    for (tables, expected) in [
        (vec![TABLES_OF_3], three.to_vec()),
        (vec![TABLES_OF_4], four.to_vec()),
        (vec![TABLES_OF_3, TABLES_OF_4], both),
    ] {
        let home = Home::new();
        let path = home.outside().join("claude-mem.db");
        let connection = Connection::open(&path).unwrap();
        for sql in tables {
            connection.execute_batch(sql).unwrap();
        }
        connection.close().unwrap();
        let import = ["import", "claude-mem", path.to_str().unwrap(), "--json"];
        assert_eq!(home.json(&import)["imported"], expected.len());
        assert_eq!(rows(&home), expected);
        assert_eq!(home.json(&import)["imported"], 0);
        assert_eq!(
            home.rows(
                "select distinct substr(datetime(created_at / 1000, 'unixepoch'), 1, 4) from observation"
            ),
            ["2025"]
        );
    }
}
