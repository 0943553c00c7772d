//! `backstory statusline`.

use std::fs;

use serde_json::json;

use crate::{
    backup::home_with_memories,
    home::{Home, text},
};

/// Returns the line; the command must exit 0 with an empty stderr for any input.
fn line(home: &Home, input: &str) -> String {
    let output = home.run(&["statusline"], input.as_bytes());
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(text(&output.stderr), "");
    text(&output.stdout)
}

fn status(home: &Home, session: &str) -> String {
    let folder = home.project();
    json!({"hook_event_name": "Status", "session_id": session, "cwd": "/", "model": {"id": "m", "display_name": "M"},
        "workspace": {"current_dir": folder, "project_dir": folder}, "version": "2.1.325"})
    .to_string()
}

#[test]
fn it_counts_memories_and_injections() {
    let home = Home::new();
    assert_eq!(line(&home, &status(&home, "s2")), "backstory · no memories yet\n");
    assert!(!home.path().exists(), "looking makes nothing");
    let home = home_with_memories();
    let count = "select cast((select count(*) from observation) + (select count(*) from summary)
        + (select count(*) from note) as text)";
    let memories = home.rows(count);
    assert_ne!(memories, ["1"]);
    assert_eq!(
        line(&home, &status(&home, "s2")),
        format!("backstory · {} memories\n", memories[0])
    );
    home.ok(&["pin", "N1"]);
    home.report("session-start", &json!({"session_id": "s2", "source": "startup"}));
    let said = line(&home, &status(&home, "s2"));
    assert!(said.ends_with(" 3 injected\n"), "{said}");
    // A client with the folder at the top level only, another project, a session without injections.
    let older = json!({"session_id": "s3", "cwd": home.project()}).to_string();
    assert_eq!(
        line(&home, &older),
        format!("backstory · {} memories\n", memories[0])
    );
    let elsewhere = json!({"session_id": "s3", "cwd": home.outside()}).to_string();
    assert_eq!(line(&home, &elsewhere), "backstory · no memories yet\n");
}

#[test]
fn it_shows_that_capture_is_off() {
    let home = home_with_memories();
    fs::write(home.project().join(".backstory-ignore"), "").unwrap();
    assert_eq!(line(&home, &status(&home, "s1")), "backstory · off here\n");
    fs::remove_file(home.project().join(".backstory-ignore")).unwrap();
    let home = home.with("BACKSTORY_DISABLED", "1");
    assert_eq!(line(&home, &status(&home, "s1")), "backstory · off here\n");
}

#[test]
fn errors_are_silent() {
    let home = home_with_memories();
    for input in [
        "",
        "nonsense",
        "[]",
        "{}",
        "{\"cwd\": 3}",
        "{\"workspace\": 7, \"cwd\": null}",
    ] {
        assert_eq!(line(&home, input), "", "{input}");
    }
    let database = home.path().join("backstory.db");
    rusqlite::Connection::open(&database)
        .unwrap()
        .pragma_update(None, "user_version", 999)
        .unwrap();
    assert_eq!(line(&home, &status(&home, "s1")), "");
    fs::write(&database, "no database").unwrap();
    assert_eq!(line(&home, &status(&home, "s1")), "");
    assert_eq!(
        fs::read_to_string(&database).unwrap(),
        "no database",
        "only looked at"
    );
}
