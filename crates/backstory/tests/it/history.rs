//! Import of past sessions of agents other than Claude Code. The sessions in `testdata` were recorded from the real clients, except
//! those of Cursor, which a script wrote.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::home::{Home, settings, text};

/// Folder with recorded sessions, and the place of the agent below the user's home.
const RECORDED: [(&str, &str, &str); 3] = [
    ("codex", "codex/0.166/sessions", ".codex/sessions"),
    ("gemini-cli", "gemini-cli/0.61/sessions", ".gemini/tmp"),
    (
        "copilot-cli",
        "copilot-cli/1.0.102/sessions",
        ".copilot/session-state",
    ),
];

fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(path)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, target).unwrap();
        }
    }
}

/// Puts the recorded sessions of all agents into a user's home.
pub(crate) fn with_history() -> Home {
    let home = Home::new();
    for (_, from, to) in RECORDED {
        copy(&testdata(from), &home.outside().join("home").join(to));
    }
    opencode(&home);
    home
}

/// Creates the database of `OpenCode`; returns its path.
fn opencode(home: &Home) -> PathBuf {
    let path = home.outside().join("home/.local/share/opencode/opencode.db");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let tables = fs::read_to_string(testdata("opencode/1.18/sessions/opencode.sql")).unwrap();
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch(&tables).unwrap();
    path
}

/// Creates a database from SQL in `testdata`.
fn database(sql: &str, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let tables = fs::read_to_string(testdata(sql)).unwrap();
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute_batch(&tables).unwrap();
}

/// Creates the databases of Cursor: one chat of the editor and one of its command-line agent. Returns the editor's.
fn cursor(home: &Home) -> PathBuf {
    let user = home.outside().join("home");
    let editor = user.join(backstory_system::SETTINGS_FOLDER).join("Cursor/User");
    let state = editor.join("globalStorage/state.vscdb");
    database("cursor/sessions/state.sql", &state);
    let window = editor.join("workspaceStorage/w1");
    database("cursor/sessions/window.sql", &window.join("state.vscdb"));
    fs::write(
        window.join("workspace.json"),
        r#"{"folder": "file:///home/dev/acme"}"#,
    )
    .unwrap();
    let chat = ".cursor/chats/0123456789abcdef/5b0c1d2e-0000-4000-8000-0000000000c1/store.db";
    database("cursor/sessions/chat.sql", &user.join(chat));
    state
}

/// Returns everything that an import stored, without what differs between runs.
fn stored(home: &Home) -> (u64, String) {
    (home.events(), home.ok(&["export"]))
}

#[test]
fn sessions_of_every_agent_are_imported_with_turns_tools_and_times() {
    let home = with_history();
    cursor(&home);
    let mut said = String::new();
    for host in ["codex", "gemini-cli", "opencode", "copilot-cli", "cursor"] {
        let report = home.json(&["import", host, "--json"]);
        assert_eq!(
            (&report["sessions"], &report["damaged_lines"]),
            (&json!(2), &json!(0)),
            "{host}: {report}"
        );
        let sessions = home.json(&["sessions", "--json"])["sessions"].clone();
        let of_host = |session: &&Value| session["host"] == host;
        for session in sessions.as_array().unwrap().iter().filter(of_host).rev() {
            assert_eq!(session["project_id"], "/home/dev/acme", "{session}");
            assert!(
                session["started_at"]
                    .as_str()
                    .unwrap()
                    .starts_with("2026-11-16T21:3"),
                "{session}"
            );
            let id = session["session_id"].as_str().unwrap();
            let events = home.rows(&format!(
                "select kind || ' ' || coalesce(tool_name, '') from event
                where session_db_id = (select id from session where session_id = '{id}') order by key"
            ));
            said.push_str(&format!(
                "{host}: {}\n  {}\n",
                session["first_prompt"],
                events.join(", ")
            ));
        }
        let shown = home.ok(&["search", "clock wrong after sleep", "--project", "/home/dev/acme"]);
        assert!(shown.contains("token refresh retries once"), "{host}: {shown}");
    }
    settings().bind(|| insta::assert_snapshot!("history", said));
    let failed = home.rows(
        "select distinct host from session join event on session_db_id = session.id
        where kind = 'post-tool-use-failure' order by host",
    );
    assert_eq!(
        failed,
        ["codex", "copilot-cli", "cursor", "gemini-cli", "opencode"]
    );
}

#[test]
fn a_second_import_changes_nothing() {
    let home = with_history();
    cursor(&home);
    let listed = home.ok(&["import", "--dry-run"]);
    for line in [
        "Codex CLI    2 sessions",
        "Gemini CLI   2 sessions",
        "OpenCode     2 sessions",
        "Copilot CLI  2 sessions",
        "Cursor       2 sessions",
    ] {
        assert!(listed.contains(line), "{listed}");
    }
    assert!(!home.path().exists(), "a dry run changes nothing");
    let first = home.json(&["import", "--yes", "--json"]);
    assert_eq!(first["sessions"], 10, "{first}");
    let before = stored(&home);
    let second = home.json(&["import", "--yes", "--json"]);
    assert_eq!(
        (&second["sessions"], &second["new_events"], &second["unchanged"]),
        (&json!(0), &json!(0), &json!(10)),
        "{second}"
    );
    assert_eq!(stored(&home), before);
    // A changed file is read again, and still adds nothing that is known.
    for path in fs::read_dir(home.outside().join("home/.codex/sessions/2026/11/16")).unwrap() {
        let path = path.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}\n")).unwrap();
    }
    assert_eq!(home.json(&["import", "codex", "--json"])["new_events"], 0);
}

#[test]
fn without_a_terminal_the_overview_asks_for_yes() {
    let home = with_history();
    let output = home.run(&["import"], b"y\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("Pass --yes to import"));
    home.ok(&["import", "--yes"]);
    let again = home.ok(&["import"]);
    assert!(
        again.contains("Nothing new: all of them were imported before."),
        "{again}"
    );
    assert_eq!(home.ok(&["import", "codex"]), "Nothing new in 2 sessions.\n");
    let empty = Home::new();
    assert_eq!(empty.ok(&["import"]), "No past sessions found on this machine.\n");
}

#[test]
fn damaged_records_are_reported_by_file_and_line() {
    let home = with_history();
    let folder = home.outside().join("home/.codex/sessions/2026/11/16");
    for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let cut = [&lines[..9], &["{\"type\": \"response_it"], &lines[9..]].concat();
        fs::write(&path, cut.join("\n") + "\n").unwrap();
    }
    let output = home.run(&["import", "codex", "--json"], b"");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["sessions"], &report["damaged_lines"]),
        (&json!(2), &json!(2))
    );
    assert!(
        report["unreadable"][0].as_str().unwrap().ends_with(".jsonl:10"),
        "{report}"
    );
    assert!(text(&output.stderr).contains(".jsonl:10"));
}

#[test]
fn damaged_records_of_a_database_are_reported_by_file_and_key() {
    let home = Home::new();
    let state = cursor(&home);
    let connection = rusqlite::Connection::open(&state).unwrap();
    let key = "bubbleId:5b0c1d2e-0000-4000-8000-00000000c0de:b5";
    let changed = connection.execute(
        "update cursorDiskKV set value = substr(value, 1, 40) where key = ?1",
        [key],
    );
    assert_eq!(changed.unwrap(), 1);
    drop(connection);
    let output = home.run(&["import", "cursor", "--json"], b"");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["sessions"], &report["damaged_lines"]),
        (&json!(2), &json!(1)),
        "{report}"
    );
    assert_eq!(report["unreadable"][0], format!("{}:{key}", state.display()));
    assert!(text(&output.stderr).contains(key));
}

#[test]
fn a_chat_of_cursor_is_found_by_its_window_and_grows() {
    let home = Home::new();
    let state = cursor(&home);
    let connection = rusqlite::Connection::open(&state).unwrap();
    // Older versions list chats only in the database of the window, and bubbles have no times.
    connection
        .execute_batch(
            "delete from ItemTable;
            update cursorDiskKV set value = replace(replace(value, 'createdAt', 'x'), 'workspaceUris', 'y')
            where key like 'bubbleId:%'",
        )
        .unwrap();
    assert_eq!(home.json(&["import", "cursor", "--json"])["sessions"], 2);
    let sessions = home.json(&["sessions", "--json"]);
    let editor = "5b0c1d2e-0000-4000-8000-00000000c0de";
    let found = sessions["sessions"].as_array().unwrap();
    let found = found
        .iter()
        .find(|session| session["session_id"] == editor)
        .unwrap();
    assert_eq!(
        (&found["project_id"], &found["prompts"]),
        (&json!("/home/dev/acme"), &json!(1)),
        "{found}"
    );
    let before = home.events();
    connection
        .execute_batch(&format!(
            r#"insert into cursorDiskKV values ('bubbleId:{editor}:b11',
                '{{"type": 1, "bubbleId": "b11", "text": "Now retry twice", "createdAt": "2026-11-16T21:40:00Z"}}');
            update cursorDiskKV set value = json_set(value, '$.fullConversationHeadersOnly[#]',
                json('{{"bubbleId": "b11", "type": 1}}'), '$.lastUpdatedAt', 1794865200000)
            where key = 'composerData:{editor}'"#
        ))
        .unwrap();
    let again = home.json(&["import", "cursor", "--json"]);
    assert_eq!(
        (&again["sessions"], &again["new_events"]),
        (&json!(1), &json!(home.events() - before)),
        "{again}"
    );
    assert!(home.events() > before);
}

#[test]
fn secrets_and_private_turns_of_past_sessions_are_not_stored() {
    const SECRET: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let home = with_history();
    let state = cursor(&home);
    let connection = rusqlite::Connection::open(&state).unwrap();
    connection
        .execute(
            "update cursorDiskKV set value = replace(value, 'RefreshError', ?1)",
            [format!("token={SECRET} RefreshError")],
        )
        .unwrap();
    drop(connection);
    let user = home.outside().join("home");
    let files = [".codex/sessions", ".gemini/tmp", ".copilot/session-state"];
    let mut folders: Vec<PathBuf> = files.iter().map(|path| user.join(path)).collect();
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                let text = text
                    .replace("RefreshError", &format!("token={SECRET} RefreshError"))
                    .replace(
                        "Which file holds the retry of the token refresh?",
                        "<private>Lilac?</private>",
                    )
                    .replace("in the function again", "near lilacs");
                fs::write(&path, text).unwrap();
            }
        }
    }
    home.ok(&["import", "--yes"]);
    home.assert_nowhere(SECRET);
    home.assert_nowhere("Lilac");
    home.assert_nowhere("lilacs");
}

#[test]
fn sessions_that_hooks_recorded_are_not_imported_again() {
    let home = Home::new();
    let to = home.outside().join("home/.codex/sessions");
    copy(&testdata("codex/0.166/sessions"), &to);
    let id = "01a1e645-988d-7e93-a6a9-8f83566f2913";
    let turn = "01a1e645-98af-73b2-9d9a-1d1c6fadd902";
    let prompt =
        json!({"session_id": id, "turn_id": turn, "cwd": home.project(), "prompt": "Token refresh fails"});
    home.run(
        &["hook", "user-prompt-submit", "--host", "codex"],
        prompt.to_string().as_bytes(),
    );
    home.drain();
    let report = home.json(&["import", "codex", "--json"]);
    // The other session has one prompt and no tool; the recorded one gets at most its end, which no hook reported.
    assert_eq!(
        (&report["prompts"], &report["tool_uses"]),
        (&json!(1), &json!(0)),
        "{report}"
    );
}
