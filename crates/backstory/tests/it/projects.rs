//! Project of a session, through the real hooks.

use std::fs;

use serde_json::json;

use crate::home::Home;

fn project_of(home: &Home, session: &str) -> (String, String) {
    let session = home.json(&["session", session, "--json"]);
    (
        session["project"].as_str().unwrap().to_owned(),
        session["project_id"].as_str().unwrap().to_owned(),
    )
}

#[test]
fn two_repositories_of_one_name_are_two_projects() {
    let home = Home::new();
    for (session, path) in [("a", "work/app"), ("b", "play/app")] {
        let root = home.repository(path, None);
        home.report(
            "user-prompt-submit",
            &json!({"session_id": session, "cwd": root, "prompt": session}),
        );
    }
    let (a, b) = (project_of(&home, "a"), project_of(&home, "b"));
    assert_eq!((a.0.as_str(), b.0.as_str()), ("app", "app"));
    assert_ne!(a.1, b.1);
    let ambiguous = home.run(&["sessions", "--project", "app"], b"");
    assert_eq!(ambiguous.status.code(), Some(1));
    let said = String::from_utf8(ambiguous.stderr).unwrap();
    assert!(
        said.contains("names 2 projects") && said.contains(&a.1) && said.contains(&b.1),
        "{said}"
    );
    let only = home.json(&["sessions", "--json", "--project", &b.1]);
    assert_eq!(only["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(only["sessions"][0]["session_id"], "b");
    let by_path = home.outside().join("work/app");
    assert_eq!(
        home.json(&["sessions", "--json", "--project", by_path.to_str().unwrap()])["sessions"][0]["session_id"],
        "a"
    );
}

#[test]
fn clones_worktrees_and_sub_folders_of_one_repository_are_one_project() {
    let home = Home::new();
    let remote = "git@github.com:Acme/App.git";
    let first = home.repository("one/app", Some(remote));
    let moved = home.repository("two/renamed", Some("https://tok:en@github.com/acme/app"));
    let sub = first.join("src/deep");
    fs::create_dir_all(&sub).unwrap();
    let worktree = home.outside().join("feature");
    let admin = first.join(".git/worktrees/feature");
    fs::create_dir_all(&worktree).unwrap();
    fs::create_dir_all(&admin).unwrap();
    fs::write(worktree.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
    fs::write(admin.join("commondir"), "../..\n").unwrap();
    fs::write(admin.join("HEAD"), "ref: refs/heads/feature/x\n").unwrap();
    for (session, cwd) in [("a", &first), ("b", &moved), ("c", &sub), ("d", &worktree)] {
        home.report(
            "session-start",
            &json!({"session_id": session, "cwd": cwd, "source": "startup"}),
        );
        assert_eq!(project_of(&home, session).1, "github.com/acme/app", "{session}");
    }
    home.assert_nowhere("tok:en");
    let session = home.json(&["session", "d", "--json"]);
    assert_eq!(session["branch"], "feature/x");
    assert!(session["worktree"].as_str().unwrap().ends_with("/feature"));
    assert_eq!(home.json(&["session", "a", "--json"])["branch"], "main");
}

#[test]
fn sessions_without_repository_or_folder_have_projects_too() {
    let home = Home::new();
    let plain = home.outside().join("plain");
    fs::create_dir(&plain).unwrap();
    let gone = home.outside().join("gone/for/good");
    for (session, cwd) in [("a", &plain), ("b", &gone)] {
        home.report(
            "post-tool-use",
            &json!({"session_id": session, "cwd": cwd, "tool_name": "Bash"}),
        );
    }
    assert_eq!(project_of(&home, "a").0, "plain");
    assert_eq!(project_of(&home, "b").0, "good");
    home.hook("stop", br#"{"session_id":"c"}"#);
    project_of(&home, "c");
}

#[test]
fn a_session_stays_with_its_project_when_the_agent_changes_folders() {
    let home = Home::new();
    let other = home.repository("other", None);
    home.report("user-prompt-submit", &json!({"prompt": "one"}));
    home.report("user-prompt-submit", &json!({"prompt": "two", "cwd": other}));
    assert_eq!(project_of(&home, "s1").0, "acme");
}

#[test]
fn a_folder_that_was_deleted_before_ingest_still_has_its_project() {
    let home = Home::new();
    let root = home.repository("short-lived", Some("https://example.test/team/short-lived.git"));
    home.report("user-prompt-submit", &json!({"cwd": root, "prompt": "x"}));
    fs::remove_dir_all(&root).unwrap();
    assert_eq!(project_of(&home, "s1").1, "example.test/team/short-lived");
}

#[test]
fn another_project_in_the_same_folder_gets_nothing_of_the_first() {
    let home = Home::new();
    let root = home.repository("workspace", Some("git@github.com:acme/secret.git"));
    let session = |id: &str, event: &str, fields: serde_json::Value| {
        let mut fields = fields;
        fields["session_id"] = json!(id);
        fields["cwd"] = json!(root);
        home.report(event, &fields)
    };
    session(
        "a",
        "user-prompt-submit",
        json!({"prompt": "Rotate the launch codes"}),
    );
    let said = "Fixed: the launch codes now rotate every night, in `codes.rs`.";
    session("a", "stop", json!({"last_assistant_message": said}));
    home.drain();
    assert!(session("b", "session-start", json!({"source": "startup"})).contains("launch codes"));
    fs::remove_dir_all(&root).unwrap();
    home.repository("workspace", None);
    let told = session("c", "session-start", json!({"source": "startup"}));
    let asked = session(
        "c",
        "user-prompt-submit",
        json!({"prompt": "Rotate the launch codes"}),
    );
    assert!(
        !told.contains("launch codes") && !asked.contains("launch codes"),
        "{told}\n{asked}"
    );
    let shown = home.run(&["context", "--cwd", root.to_str().unwrap()], b"");
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(!shown.contains("launch codes"), "{shown}");
}
