//! Injections during a session: at prompts, files and failures; once, and only relevant ones.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::home::{Home, settings};

/// Returns a home with past work on token refresh: a failure, the fix, and its reason.
pub(crate) fn past() -> Home {
    let home = Home::new();
    let file = home.project().join("src/auth.rs");
    fs::create_dir_all(home.project().join("src")).unwrap();
    fs::write(&file, "retry_once(|| refresh(token))\n").unwrap();
    let tell = |event: &str, fields: Value| {
        let mut fields = fields;
        fields["session_id"] = "old".into();
        fields["prompt_id"] = "p1".into();
        home.report(event, &fields);
    };
    tell(
        "user-prompt-submit",
        json!({"prompt": "Token refresh fails with 401 after the laptop slept, mend it"}),
    );
    tell(
        "post-tool-use-failure",
        json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "cargo test auth"},
        "error": "Exit code 101\nthread 'auth::refreshes' panicked at src/auth.rs:12:5:\nRefreshError: clock skew of 312 s is not allowed"}),
    );
    tell(
        "post-tool-use",
        json!({"tool_name": "Edit", "tool_use_id": "t2",
        "tool_input": {"file_path": file, "old_string": "refresh(token)", "new_string": "retry_once(|| refresh(token))"},
        "tool_response": {"filePath": file, "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1, "newLines": 1,
            "lines": ["-refresh(token)", "+retry_once(|| refresh(token))"]}]}}),
    );
    tell(
        "post-tool-use",
        json!({"tool_name": "Bash", "tool_use_id": "t3", "tool_input": {"command": "cargo test auth"},
        "tool_response": {"stdout": "test result: ok. 4 passed", "stderr": ""}}),
    );
    tell(
        "stop",
        json!({"last_assistant_message":
        "Fixed: the token refresh now retries once on a 401 before it gives up, because the clock is wrong for a moment after the laptop slept."}),
    );
    home.drain();
    home.ok(&["index", "--wait"]);
    home
}

pub(crate) fn injected(printed: &str) -> Option<String> {
    let answer: Value = serde_json::from_str(printed.trim()).ok()?;
    answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .map(ToOwned::to_owned)
}

pub(crate) fn prompt(home: &Home, session: &str, prompt: &str) -> Option<String> {
    injected(&home.report(
        "user-prompt-submit",
        &json!({"session_id": session, "prompt": prompt}),
    ))
}

pub(crate) const ALIKE: &str = "users get a 401 from the token refresh when their laptop wakes up";

#[test]
fn a_prompt_injects_related_work_once() {
    let home = past();
    let mut settings = settings();
    settings.add_filter(r"20\d\d-\d\d-\d\d", "[day]");
    settings.bind(|| insta::assert_snapshot!("recall_prompt", prompt(&home, "s1", ALIKE).unwrap()));
    assert_eq!(prompt(&home, "s1", ALIKE), None, "it was told already");
    assert!(
        prompt(&home, "s2", ALIKE).is_some(),
        "another session was not told"
    );
    assert_eq!(prompt(&home, "old", ALIKE), None, "the session did it itself");
}

#[test]
fn an_error_in_a_prompt_or_an_output_brings_the_memory_that_resolved_it() {
    let home = past();
    let signature = home.rows("select error_signature from observation where error_signature is not null");
    assert_eq!(signature.len(), 1, "{signature:?}");
    let pasted = "This one is back on my machine:\nRefreshError: clock skew of 99 s is not allowed";
    let text = prompt(&home, "s1", pasted).unwrap();
    assert!(text.contains("Known failure; earlier solution"), "{text}");
    assert!(text.contains("retries once on a 401"), "{text}");
    let (change, failure) = (
        text.find("retry_once").unwrap(),
        text.find("clock skew of 312").unwrap(),
    );
    assert!(change < failure, "the remedy comes first: {text}");
    let other = prompt(
        &home,
        "s2",
        "This one is new:\nRefreshError: the token is not signed",
    );
    assert!(!other.unwrap_or_default().contains("Known failure"));
}

#[test]
fn unrelated_prompts_inject_nothing() {
    let home = past();
    let silent = [
        "thanks, that looks great",
        "run the tests again please",
        "<task-notification><task-id>1</task-id><summary>token refresh 401 laptop</summary></task-notification>",
        "/token refresh 401 laptop slept",
        "please write a landing page with a hero image and three pricing columns",
        "<private>token refresh 401 laptop slept</private>",
        "",
    ];
    for one in silent {
        assert_eq!(prompt(&home, "s1", one), None, "{one}");
    }
    let home = home.with("BACKSTORY_CONTEXT_ON_PROMPT", "off");
    assert_eq!(prompt(&home, "s1", ALIKE), None);
}

#[test]
fn injections_stay_within_their_budget() {
    let home = past().with("BACKSTORY_CONTEXT_PROMPT_TOKENS", "80");
    let block = prompt(&home, "s1", ALIKE).unwrap();
    assert!(block.len().div_ceil(4) <= 80, "{block}");
}

#[test]
fn a_hook_parses_the_settings_file_only_when_it_has_changed() {
    let home = past();
    let path = home.path().join("config.toml");
    fs::write(&path, "[context]\non_prompt = false\n").unwrap();
    assert_eq!(prompt(&home, "s1", ALIKE), None, "the cache is renewed");
    let modified = fs::metadata(&path).unwrap().modified().unwrap();
    // Another value with the same size and time is invisible to a hook that does not parse the file.
    fs::write(&path, "[context]\non_prompt =  true\n").unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(modified).unwrap();
    assert_eq!(prompt(&home, "s1", ALIKE), None, "the file was parsed");
    file.set_modified(modified + Duration::from_millis(1)).unwrap();
    assert!(prompt(&home, "s1", ALIKE).is_some(), "the change was not seen");
}

#[test]
fn the_history_of_a_file_is_injected_once() {
    let home = past();
    let look = |session: &str, file: &str| {
        let path = home.project().join(file);
        injected(&home.report(
            "pre-tool-use",
            &json!({"session_id": session, "tool_name": "Edit", "tool_input": {"file_path": path}}),
        ))
    };
    let mut settings = settings();
    settings.add_filter(r"20\d\d-\d\d-\d\d", "[day]");
    settings.bind(|| insta::assert_snapshot!("recall_file", look("s1", "src/auth.rs").unwrap()));
    assert_eq!(look("s1", "src/auth.rs"), None, "once per session and file");
    assert_eq!(look("s1", "src/other.rs"), None);
    assert!(look("s2", "src/auth.rs").is_some());
    assert_eq!(home.events(), 5, "nothing is recorded");
}

#[test]
fn a_private_turn_gets_no_injection_and_leaves_no_log() {
    let home = past();
    prompt(&home, "s1", "<private>all of this</private>");
    let path = home.project().join("src/auth.rs");
    let look = json!({"session_id": "s1", "tool_name": "Edit", "tool_input": {"file_path": path}});
    assert_eq!(home.report("pre-tool-use", &look), "");
    assert!(!home.path().join("given/s1").exists());
    prompt(&home, "s1", "and now in the open");
    assert!(injected(&home.report("pre-tool-use", &look)).is_some());
    assert!(home.path().join("given/s1").exists());
    home.drain();
    home.ok(&["forget", "--session", "s1", "--yes"]);
    assert!(!home.path().join("given/s1").exists());
}

#[test]
fn a_known_failure_injects_its_solution() {
    let home = past();
    let fail = |session: &str, error: &str| {
        injected(&home.report(
            "post-tool-use-failure",
            &json!({"session_id": session, "tool_name": "Bash",
            "tool_input": {"command": "cargo test"}, "error": error}),
        ))
    };
    let again = "Exit code 101\nthread 'main' panicked at src/main.rs:3:1:\nRefreshError: clock skew of 40 s is not allowed";
    let mut settings = settings();
    settings.add_filter(r"20\d\d-\d\d-\d\d", "[day]");
    settings.bind(|| insta::assert_snapshot!("recall_failure", fail("s1", again).unwrap()));
    assert_eq!(fail("s1", again), None);
    assert_eq!(fail("s1", "Exit code 1\nerror: no such command: `clock`"), None);
}

#[test]
fn a_known_error_in_the_answer_of_a_command_injects_its_solution() {
    let home = past();
    let answer = |session: &str, tool: &str, input: Value, stdout: &str| {
        injected(&home.report(
            "post-tool-use",
            &json!({"session_id": session, "tool_name": tool, "tool_input": input,
                "tool_response": {"stdout": stdout, "stderr": ""}}),
        ))
    };
    let command = json!({"command": "cargo test 2>&1 | tail -5"});
    let again = "test result: FAILED\nRefreshError: clock skew of 40 s is not allowed";
    let injection = answer("s1", "Bash", command.clone(), again).unwrap();
    assert!(injection.contains("retries once on a 401"), "{injection}");
    assert_eq!(
        answer("s1", "Bash", command.clone(), again),
        None,
        "once per session"
    );
    let other = "test result: ok. 4 passed; 0 failed\nno errors";
    assert_eq!(answer("s2", "Bash", command.clone(), other), None);
    // A file may quote any error.
    let file = json!({"file_path": home.project().join("notes.md")});
    assert_eq!(answer("s2", "Read", file, again), None);
    home.ok(&["config", "set", "context.on_error", "false"]);
    assert_eq!(answer("s2", "Bash", command, again), None);
}

#[test]
fn a_memory_with_a_changed_file_is_marked_stale() {
    let home = past();
    assert!(!home.ok(&["context"]).contains("file changed since"));
    assert_eq!(
        home.json(&["search", "--json", "token refresh"])["results"][0]["stale"],
        false
    );
    fs::write(
        home.project().join("src/auth.rs"),
        "retry_twice(|| refresh(token))\n",
    )
    .unwrap();
    assert!(home.ok(&["context"]).contains("⚠ file changed since"));
    assert_eq!(
        home.json(&["search", "--json", "token refresh"])["results"][0]["stale"],
        true
    );
    fs::write(
        home.project().join("src/auth.rs"),
        "retry_once(|| refresh(token))\n",
    )
    .unwrap();
    fs::rename(
        home.project().join("src/auth.rs"),
        home.project().join("src/login.rs"),
    )
    .unwrap();
    assert!(
        !home.ok(&["context"]).contains("file changed since"),
        "renamed, not changed"
    );
}

#[test]
fn why_explains_injections() {
    let home = past();
    assert!(home.ok(&["why", "1"]).contains("Never injected or considered"));
    home.report("session-start", &json!({"session_id": "s1", "source": "startup"}));
    prompt(&home, "s2", ALIKE).unwrap();
    let why = home.json(&["why", "1", "--json"]);
    let moments: Vec<&Value> = why["given"]
        .as_array()
        .unwrap()
        .iter()
        .map(|given| &given["moment"])
        .collect();
    assert_eq!(moments, ["start", "prompt"]);
    assert_eq!(why["given"][0]["told"], true);
    let mut settings = settings();
    settings.add_filter(r"\(\d\.\d\d\)", "([sure])");
    settings.bind(|| {
        insta::assert_snapshot!(
            "why",
            home.ok(&["why", "1"]) + &home.ok(&["context", "--explain"])
        );
    });
}

#[test]
fn a_compacted_session_gets_its_own_work_first() {
    let home = past();
    let start = |session: &str, source: &str| {
        injected(&home.report("session-start", &json!({"session_id": session, "source": source}))).unwrap()
    };
    assert!(start("old", "compact").contains("## This session so far"));
    assert!(start("new", "startup").contains("## Where work stopped"));
}
