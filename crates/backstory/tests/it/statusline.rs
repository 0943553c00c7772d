//! The line below the agent's prompt.

use std::fs;

use serde_json::json;

use crate::{
    backup::remembered,
    home::{Home, text},
};

/// What it prints; it exits 0 and says nothing else, whatever it is given.
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
fn it_counts_the_memories_of_the_project_and_those_that_were_given() {
    let home = Home::new();
    assert_eq!(line(&home, &status(&home, "s2")), "backstory · no memories yet\n");
    assert!(!home.path().exists(), "looking makes nothing");
    let home = remembered();
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
    assert!(said.ends_with(" 2 injected\n"), "{said}");
    // A client that names the folder at the top only, another project, a session that was given nothing.
    let older = json!({"session_id": "s3", "cwd": home.project()}).to_string();
    assert_eq!(
        line(&home, &older),
        format!("backstory · {} memories\n", memories[0])
    );
    let elsewhere = json!({"session_id": "s3", "cwd": home.outside()}).to_string();
    assert_eq!(line(&home, &elsewhere), "backstory · no memories yet\n");
}

#[test]
fn it_says_when_capture_is_off() {
    let home = remembered();
    fs::write(home.project().join(".backstory-ignore"), "").unwrap();
    assert_eq!(line(&home, &status(&home, "s1")), "backstory · off here\n");
    fs::remove_file(home.project().join(".backstory-ignore")).unwrap();
    let home = home.with("BACKSTORY_DISABLED", "1");
    assert_eq!(line(&home, &status(&home, "s1")), "backstory · off here\n");
}

#[test]
fn trouble_is_silent() {
    let home = remembered();
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
