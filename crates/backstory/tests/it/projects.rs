//! Project of a session, through the real hooks.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use crate::home::{Home, run};

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
    let first = home.repository("home/one/app", Some(remote));
    let moved = home.repository("home/two/renamed", Some("https://tok:en@github.com/acme/app"));
    let sub = first.join("src/deep");
    fs::create_dir_all(&sub).unwrap();
    let worktree = home.outside().join("feature");
    let admin = first.join(".git/worktrees/feature");
    fs::create_dir_all(&worktree).unwrap();
    fs::create_dir_all(&admin).unwrap();
    fs::write(worktree.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
    fs::write(admin.join("commondir"), "../..\n").unwrap();
    fs::write(admin.join("gitdir"), format!("{}/.git\n", worktree.display())).unwrap();
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
    let session = |id: &str, event: &str, fields: Value| {
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

const REMOTE: &str = "git@github.com:acme/secret.git";

/// Records a session with a memory of the launch codes in a folder.
fn remember_launch_codes(home: &Home, root: &Path) {
    let common = json!({"session_id": "first", "cwd": root});
    let with = |more: Value| {
        let mut fields = common.clone();
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        fields
    };
    home.report(
        "user-prompt-submit",
        &with(json!({"prompt": "Rotate the launch codes every night"})),
    );
    home.report(
        "post-tool-use-failure",
        &with(
            json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make codes"},
            "error": "RotationError: the launch codes are locked by bunker 7"}),
        ),
    );
    home.report(
        "post-tool-use",
        &with(json!({"tool_name": "Edit", "tool_use_id": "t2",
            "tool_input": {"file_path": root.join("codes.rs"), "old_string": "daily", "new_string": "nightly"},
            "tool_response": {}})),
    );
    let said = "Fixed: the launch codes now rotate every night, because bunker 7 locks them by day.";
    home.report("stop", &with(json!({"last_assistant_message": said})));
    home.drain();
    let note = ["remember", "--file", "codes.rs", "Ask Kim about the launch codes"];
    let saved = home.command(&note).current_dir(root).status().unwrap();
    assert!(saved.success());
}

/// Returns everything that a session is given in a folder, by hooks, commands and MCP.
fn everything_given(home: &Home, session: &str, root: &Path) -> String {
    let hook = |event: &str, more: Value| {
        let mut fields = json!({"session_id": session, "cwd": root});
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        home.report(event, &fields)
    };
    let run = |arguments: &[&str]| {
        let output = home.command(arguments).current_dir(root).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    [
        hook("session-start", json!({"source": "startup"})),
        hook(
            "user-prompt-submit",
            json!({"prompt": "Rotate the launch codes every night"}),
        ),
        hook(
            "pre-tool-use",
            json!({"tool_name": "Edit", "tool_input": {"file_path": root.join("codes.rs")}}),
        ),
        hook(
            "post-tool-use-failure",
            json!({"tool_name": "Bash", "tool_use_id": "t9", "tool_input": {"command": "make codes"},
                "error": "RotationError: the launch codes are locked by bunker 7"}),
        ),
        run(&["context"]),
        run(&["search", "launch codes"]),
        run(&["timeline", "launch codes"]),
    ]
    .join("\n")
}

#[test]
fn a_folder_that_only_names_a_known_remote_gets_nothing_until_it_is_confirmed() {
    let home = Home::new();
    let first = home.repository("home/src/secret", Some(REMOTE));
    remember_launch_codes(&home, &first);
    assert!(
        everything_given(&home, "again", &first)
            .matches("Ask Kim")
            .count()
            >= 3
    );
    // An archive with a `.git` folder, and one with a `.git` file, unpacked beside the clone.
    let unpacked = home.repository("home/src/unpacked", Some(REMOTE));
    let pointing = home.outside().join("home/src/pointing");
    fs::create_dir_all(&pointing).unwrap();
    fs::write(
        pointing.join(".git"),
        format!("gitdir: {}/.git\n", first.display()),
    )
    .unwrap();
    let linked = home.outside().join("home/src/linked");
    fs::create_dir_all(&linked).unwrap();
    std::os::unix::fs::symlink(first.join(".git"), linked.join(".git")).unwrap();
    for root in [&unpacked, &pointing, &linked] {
        let id = root.file_name().unwrap().to_str().unwrap();
        let start = home.report(
            "session-start",
            &json!({"session_id": id, "cwd": root, "source": "startup"}),
        );
        let shown: Value = serde_json::from_str(&start).unwrap();
        let message = shown["systemMessage"].as_str().unwrap();
        assert!(message.contains("backstory project confirm"), "{message}");
        let given = everything_given(&home, id, root);
        assert!(
            !given.contains("Ask Kim") && !given.contains("every night, because"),
            "{given}"
        );
        // Nothing is planted there either.
        assert_eq!(project_of(&home, id).1, root.to_str().unwrap());
        let doctor = String::from_utf8(home.run(&["doctor"], b"").stdout).unwrap();
        assert!(
            doctor.contains(&format!("backstory project confirm {}", root.display())),
            "{doctor}"
        );
    }
    let root = unpacked.to_str().unwrap();
    assert_eq!(
        home.run(&["project", "confirm", root], b"").status.code(),
        Some(1)
    );
    assert_eq!(
        home.ok(&["project", "confirm", root, "--yes"]),
        format!("{root} now shares the memories of github.com/acme/secret.\n")
    );
    assert!(everything_given(&home, "confirmed", &unpacked).contains("Ask Kim"));
    assert_eq!(project_of(&home, "confirmed").1, "github.com/acme/secret");
    assert!(
        home.ok(&["project", "confirm", root])
            .starts_with("Nothing to confirm")
    );
}

/// Runs git for a user whose home is that of the test.
fn git(home: &Home, arguments: &[&str]) {
    let output = Command::new("git")
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home.outside().join("home"))
        .envs(
            [
                "GIT_AUTHOR_NAME",
                "GIT_AUTHOR_EMAIL",
                "GIT_COMMITTER_NAME",
                "GIT_COMMITTER_EMAIL",
            ]
            .map(|name| (name, "x")),
        )
        .current_dir(home.outside())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn clones_worktrees_and_older_copies_of_the_user_need_no_confirmation() {
    let home = Home::new();
    fs::create_dir_all(home.outside().join("home/src")).unwrap();
    git(&home, &["init", "--quiet", "origin"]);
    git(
        &home,
        &["-C", "origin", "commit", "--quiet", "--allow-empty", "-m", "x"],
    );
    let at = |path: &str| -> PathBuf { home.outside().join(path).canonicalize().unwrap() };
    git(&home, &["clone", "--quiet", "origin", "home/src/secret"]);
    // Without a log of its clone, but there before the first session.
    git(&home, &["clone", "--quiet", "origin", "home/older"]);
    fs::remove_dir_all(home.outside().join("home/older/.git/logs")).unwrap();
    remember_launch_codes(&home, &at("home/src/secret"));
    git(&home, &["clone", "--quiet", "origin", "home/play/second"]);
    git(
        &home,
        &["-C", "home/src/secret", "worktree", "add", "--quiet", "../side"],
    );
    fs::create_dir_all(home.outside().join("home/src/secret/packages/one")).unwrap();
    for path in [
        "home/older",
        "home/play/second",
        "home/src/side",
        "home/src/secret/packages/one",
    ] {
        let given = everything_given(&home, path, &at(path));
        assert!(
            given.contains("Ask Kim") && !given.contains("project confirm"),
            "{path}: {given}"
        );
    }
    // A copy is not a clone: its log is older than the file.
    git(&home, &["clone", "--quiet", "origin", "elsewhere"]);
    let given = everything_given(&home, "elsewhere", &at("elsewhere"));
    assert!(
        given.contains("backstory project confirm"),
        "outside the home folder: {given}"
    );
}

#[test]
fn an_agent_that_changes_folders_stays_with_the_memories_of_its_session() {
    let home = Home::new();
    let secret = home.repository("home/src/secret", Some(REMOTE));
    remember_launch_codes(&home, &secret);
    let other = home.repository("home/src/other", None);
    let start = json!({"session_id": "s9", "cwd": other, "source": "startup"});
    home.report("session-start", &start);
    home.drain();
    let mut given = String::new();
    for (event, more) in [
        (
            "user-prompt-submit",
            json!({"prompt": "Rotate the launch codes every night"}),
        ),
        (
            "pre-tool-use",
            json!({"tool_name": "Edit", "tool_input": {"file_path": secret.join("codes.rs")}}),
        ),
        (
            "post-tool-use-failure",
            json!({"tool_name": "Bash", "tool_use_id": "t9", "tool_input": {"command": "make codes"},
                "error": "RotationError: the launch codes are locked by bunker 7"}),
        ),
        ("session-start", json!({"source": "compact"})),
    ] {
        let mut fields = json!({"session_id": "s9", "cwd": secret});
        fields
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        given.push_str(&home.report(event, &fields));
    }
    assert!(
        !given.contains("Ask Kim") && !given.contains("bunker 7 locks"),
        "{given}"
    );
}

#[test]
fn a_hook_that_starts_in_the_root_names_no_project() {
    let home = Home::new();
    let start = |event: &str, payload: &str| {
        let mut command = home.command(&["hook", event]);
        command.current_dir("/");
        assert!(run(command, payload.as_bytes()).status.success());
    };
    start("session-start", r#"{"session_id":"alone","source":"startup"}"#);
    start("session-start", r#"{"session_id":"placed","source":"startup"}"#);
    let project = home.repository("acme", None);
    let prompt = json!({"session_id": "placed", "cwd": project, "prompt": "Sort the shelves"});
    start("user-prompt-submit", &prompt.to_string());
    home.drain();
    assert_eq!(project_of(&home, "alone").0, "unknown");
    assert_eq!(project_of(&home, "placed").0, "acme");
}

#[test]
fn a_session_whose_first_event_has_no_folder_belongs_to_the_folder_of_the_hook() {
    let home = Home::new();
    let tool = json!({"session_id": "s8", "tool_name": "Bash", "tool_input": {"command": "make"},
        "tool_response": {"stdout": "ok"}});
    home.hook("post-tool-use", tool.to_string().as_bytes());
    home.drain();
    assert_eq!(home.rows("select name from project"), ["acme"]);
}
