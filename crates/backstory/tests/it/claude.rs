//! The installed `claude` as a provider, simulated by a script that logs how it was started.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    process::Command,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    home::{Home, eventually},
    models::{ANSWER, KEY, titles, turn},
};

/// Returns a home in which `claude` is a script.
fn with_claude(script: &str) -> Home {
    let home = Home::new();
    let folder = home.outside().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let log = home.outside().join("claude.log");
    let program = format!(
        "#!/bin/sh\nlog={}\nfor word in \"$@\"; do printf '%s\\n' \"arg: $word\" >>$log; done\nenv | sort >>$log\n\
         printf 'folder: %s, %s files\\n' \"$PWD\" \"$(ls -A | wc -l)\" >>$log\n{script}\n",
        log.display()
    );
    fs::write(folder.join("claude"), program).unwrap();
    fs::set_permissions(folder.join("claude"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    home.with("PATH", &path)
        .with("BACKSTORY_DISTILL_PROVIDER", "claude-cli")
        .with("ANTHROPIC_API_KEY", KEY)
        .with("SOME_OTHER_SECRET", "hunter2hunter2")
}

fn log(home: &Home) -> String {
    fs::read_to_string(home.outside().join("claude.log")).unwrap_or_default()
}

fn says(text: &str, is_error: bool, status: u16) -> String {
    let answer = json!({"type": "result", "subtype": "success", "is_error": is_error, "api_error_status": status, "result": text,
        "usage": {"input_tokens": 10, "cache_read_input_tokens": 1990, "output_tokens": 250}});
    format!("cat <<'EOF'\n{answer}\nEOF")
}

#[test]
fn claude_is_called_once_without_hooks_tools_and_session_files() {
    let home = with_claude(&format!("cat >>$log\n{}", says(ANSWER, false, 200)));
    turn(&home, "s1", "test result: ok. 3 passed; 0 failed");
    home.drain();
    assert_eq!(
        titles(&home),
        ["claude-cli/haiku: A refused token is refreshed once more"]
    );
    let log = log(&home);
    let arguments: Vec<&str> = log
        .lines()
        .filter_map(|line| line.strip_prefix("arg: "))
        .collect();
    assert_eq!(
        arguments[..17],
        [
            "-p",
            "--output-format",
            "json",
            "--model",
            "haiku",
            "--tools",
            "",
            "--no-session-persistence",
            "--strict-mcp-config",
            "--setting-sources",
            "",
            "--settings",
            r#"{"disableAllHooks":true}"#,
            "--disable-slash-commands",
            "--effort",
            "low",
            "--system-prompt"
        ]
    );
    assert_eq!(
        arguments.iter().filter(|word| **word == "-p").count(),
        1,
        "one start for one turn"
    );
    for line in [
        "BACKSTORY_INTERNAL=1",
        "CLAUDE_CODE_DISABLE_THINKING=1",
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS=2000",
        &format!("ANTHROPIC_API_KEY={KEY}"),
    ] {
        assert!(log.lines().any(|one| one == line), "{line}\n{log}");
    }
    assert!(!log.contains("hunter2"), "an agent's other variables stay behind");
    let folder = log
        .lines()
        .find_map(|line| line.strip_prefix("folder: "))
        .unwrap();
    let (folder, files) = folder.split_once(", ").unwrap();
    assert_eq!(files.trim(), "0 files");
    assert!(!fs::exists(folder).unwrap(), "{folder} is left behind");
    // The digest is passed on stdin, which other users cannot see.
    assert!(log.contains("BEGIN-DATA-") && !arguments.join(" ").contains("401"));
    assert!(!arguments.join(" ").contains(KEY));
    let all = home.json(&["stats", "--json"])["models"]["all"][0].clone();
    assert_eq!(
        (&all["tokens_in"], &all["tokens_out"]),
        (&json!(2000), &json!(250))
    );
    assert_eq!(
        all["cost_micro_dollars"],
        json!(null),
        "a subscription pays for it"
    );
    home.assert_nowhere(KEY);
}

#[test]
fn errors_of_claude_are_classified() {
    for (text, status, reason) in [
        ("Invalid API key · Please run /login", 401, Some("bad-key")),
        ("Claude usage limit reached", 429, Some("quota-spent")),
        ("Rate limited", 429, Some("rate-limited")),
        ("Overloaded", 529, Some("unreachable")),
        ("Prompt is too long", 400, None),
    ] {
        let home = with_claude(&format!("{}\nexit 1", says(text, true, status)));
        turn(&home, "s1", "ok");
        home.drain();
        assert_eq!(
            home.rows("select reason from provider_pause"),
            reason.map_or(vec![], |one| vec![one]),
            "{text}"
        );
        assert!(titles(&home)[0].starts_with("builtin: "));
    }
    let home = with_claude("").with("PATH", "/usr/bin:/bin");
    turn(&home, "s1", "ok");
    home.drain();
    assert_eq!(
        home.rows("select said from provider_pause"),
        ["not set up: `claude` is not on the PATH"]
    );
}

#[test]
fn stopping_the_worker_kills_claude_and_its_children() {
    let home = with_claude("sleep 71.5 & sleep 71.5");
    let mut worker = home.command(&["worker", "run"]).spawn().unwrap();
    turn(&home, "s1", "ok");
    eventually("claude runs", || log(&home).contains("folder: "));
    let start = Instant::now();
    assert!(
        Command::new("kill")
            .arg(worker.id().to_string())
            .status()
            .unwrap()
            .success()
    );
    assert!(worker.wait().unwrap().success());
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    let alive = Command::new("pgrep")
        .args(["-f", "^sleep 71.5$"])
        .output()
        .unwrap();
    assert!(alive.stdout.is_empty(), "its children live on");
    assert_eq!(home.json(&["stats", "--json"])["models"]["waiting_turns"], 1);
}
