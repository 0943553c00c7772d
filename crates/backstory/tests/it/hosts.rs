//! Other hosts: their payloads reach the store, and injections have the format that each host honors.

use std::{
    fmt::Write as _,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};

use crate::home::{Home, run, settings, text};

/// Host, its fixtures, and the position of injected text in the hook output.
struct Row {
    host: &'static str,
    folder: &'static str,
    told: Option<&'static str>,
}

const HOSTS: [Row; 6] = [
    Row {
        host: "codex",
        folder: "codex/0.166",
        told: Some("/hookSpecificOutput/additionalContext"),
    },
    Row {
        host: "cursor",
        folder: "cursor/2026-06",
        told: Some("/additional_context"),
    },
    Row {
        host: "gemini-cli",
        folder: "gemini-cli/0.61",
        told: Some("/hookSpecificOutput/additionalContext"),
    },
    Row {
        host: "opencode",
        folder: "opencode/1.18",
        told: Some("/context"),
    },
    Row {
        host: "windsurf",
        folder: "windsurf/2026-06",
        told: None,
    },
    Row {
        host: "copilot-cli",
        folder: "copilot-cli/1.0.102",
        told: Some("/additionalContext"),
    },
];

/// Returns the recorded session of a host: our name of each event, and its payload with this home's project.
fn session(home: &Home, folder: &str) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(folder);
    let files = fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let mut files: Vec<PathBuf> = files
        .filter(|file| file.extension().is_some_and(|kind| kind == "json"))
        .collect();
    files.sort();
    let read = |file: &PathBuf| {
        let name = file.file_stem().unwrap().to_str().unwrap();
        let payload = fs::read_to_string(file).unwrap();
        let payload = payload.replace("TESTDATA", home.outside().to_str().unwrap());
        (
            name[3..].to_owned(),
            payload.replace("CWD", home.project().to_str().unwrap()),
        )
    };
    files.iter().map(read).collect()
}

/// Runs a hook of a host in the project, as hosts do.
fn hook(home: &Home, host: &str, event: &str, payload: &str) -> String {
    let output = run(home.command(&["hook", event, "--host", host]), payload.as_bytes());
    assert_eq!(output.status.code(), Some(0), "{host} {event}");
    assert_eq!(text(&output.stderr), "", "{host} {event}");
    text(&output.stdout)
}

/// Writes Copilot CLI's own session file.
fn write_record(home: &Home) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/copilot-cli/1.0.102/events.jsonl");
    let record = fs::read_to_string(path).unwrap();
    let now = jiff::Timestamp::now().to_string();
    fs::write(home.outside().join("events.jsonl"), record.replace("NOW", &now)).unwrap();
}

fn play(home: &Home, row: &Row) {
    for (event, payload) in session(home, row.folder) {
        if event == "stop" {
            write_record(home);
        }
        let printed = hook(home, row.host, &event, &payload);
        let is_object = |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
        assert!(
            printed.is_empty() || is_object(&printed),
            "{}: {printed}",
            row.host
        );
    }
    home.drain();
}

#[test]
fn sessions_of_all_hosts_are_recorded() {
    let mut listing = String::new();
    for row in HOSTS {
        let home = Home::new();
        play(&home, &row);
        let sessions = home.json(&["sessions", "--json"]);
        let session = &sessions["sessions"][0];
        assert_eq!(session["host"], row.host);
        assert_eq!(session["project"], "acme", "{}", row.host);
        assert_eq!(session["prompts"], 1, "{}", row.host);
        let shown = home.json(&["session", session["session_id"].as_str().unwrap(), "--json"]);
        let turn = &shown["turns"][0];
        assert_eq!(
            turn["prompt"], "Retry the token refresh once when the server answers 401",
            "{}",
            row.host
        );
        home.assert_nowhere("someone@example.com");
        writeln!(
            listing,
            "{}: {} tools, {} failures",
            row.host, turn["tools"], turn["failures"]
        )
        .unwrap();
        for memory in home.json(&["search", "token refresh", "--json", "--kind", "observation"])["results"]
            .as_array()
            .unwrap()
        {
            let full = home.json(&["show", memory["id"].as_str().unwrap(), "--json"]);
            writeln!(
                listing,
                "  {} {} {}",
                memory["type"], memory["title"], full[0]["files_modified"]
            )
            .unwrap();
        }
    }
    settings().bind(|| insta::assert_snapshot!("hosts", listing));
}

#[test]
fn the_next_session_gets_context_in_the_format_of_its_host() {
    for row in HOSTS {
        let home = Home::new();
        play(&home, &row);
        home.ok(&["index", "--wait"]);
        let rules = ["cursor", "windsurf"].contains(&row.host);
        for (event, payload) in session(&home, row.folder) {
            let payload = payload
                .replace("\"session_id\": \"", "\"session_id\": \"next-")
                .replace("_id\": \"c0", "_id\": \"next-c0")
                .replace("sessionId\": \"", "sessionId\": \"next-")
                .replace("traj-", "next-");
            let printed = hook(&home, row.host, &event, &payload);
            let answer: Value = serde_json::from_str(&printed).unwrap_or_default();
            match (event.as_str(), row.told) {
                ("session-start", Some(place)) if !rules => {
                    let told = answer.pointer(place).and_then(Value::as_str).unwrap_or_default();
                    assert!(told.contains("retry_once"), "{}: {printed}", row.host);
                    let others = answer
                        .as_object()
                        .unwrap()
                        .keys()
                        .filter(|key| *key != "systemMessage");
                    assert_eq!(others.count(), 1, "{}: {printed}", row.host);
                }
                // Everything was injected at the start.
                _ => assert!(
                    ["", "{}\n"].contains(&printed.as_str()),
                    "{} {event}: {printed}",
                    row.host
                ),
            }
        }
    }
}

#[test]
fn a_prompt_injects_memories_if_the_host_supports_it() {
    let prompt = "The token refresh fails with 401 again, look into the retry";
    let cases = [
        (
            "codex",
            json!({"session_id": "n", "turn_id": "t", "prompt": prompt}),
            "/hookSpecificOutput/additionalContext",
        ),
        (
            "gemini-cli",
            json!({"session_id": "n", "prompt": prompt}),
            "/hookSpecificOutput/additionalContext",
        ),
        (
            "opencode",
            json!({"session_id": "n", "prompt": prompt}),
            "/context",
        ),
        (
            "copilot-cli",
            json!({"sessionId": "n", "prompt": prompt}),
            "/additionalContext",
        ),
    ];
    for (host, mut payload, place) in cases {
        let home = Home::new();
        play(&home, &HOSTS[0]);
        home.ok(&["index", "--wait"]);
        payload["cwd"] = home.project().to_str().into();
        let answer: Value =
            serde_json::from_str(&hook(&home, host, "user-prompt-submit", &payload.to_string())).unwrap();
        let told = answer.pointer(place).and_then(Value::as_str).unwrap();
        assert!(told.contains("retries once"), "{host}: {told}");
        let unrelated = payload
            .to_string()
            .replace(prompt, "Draw a nicer icon for the settings page");
        assert_eq!(hook(&home, host, "user-prompt-submit", &unrelated), "", "{host}");
    }
}

#[test]
fn hosts_without_injection_read_a_rules_file_that_git_ignores() {
    for (row, path) in [
        (&HOSTS[1], ".cursor/rules/backstory-context.mdc"),
        (&HOSTS[4], ".windsurf/rules/backstory-context.md"),
    ] {
        let home = Home::new();
        let other = home.repository("other", None);
        let elsewhere =
            json!({"session_id": "s9", "cwd": other, "prompt": "Paint the zebra crossing on the map"});
        home.hook("user-prompt-submit", elsewhere.to_string().as_bytes());
        let end = json!({"session_id": "s9", "cwd": other, "last_assistant_message": "The zebra crossing is painted."});
        home.hook("stop", end.to_string().as_bytes());
        play(&home, row);
        let file = home.project().join(path);
        let written = fs::read_to_string(&file).unwrap();
        assert!(
            written.starts_with("---\n") && written.contains("<backstory-context>"),
            "{written}"
        );
        assert!(
            written.contains("token refresh now retries once") && !written.contains("zebra"),
            "{written}"
        );
        assert!(!other.join(path).exists());
        let exclude = fs::read_to_string(home.project().join(".git/info/exclude")).unwrap();
        assert_eq!(exclude, format!("/{path}\n"));
        // Forgotten memories leave the rules file.
        home.ok(&["forget", "--match", "retries", "--yes"]);
        assert!(!fs::read_to_string(&file).unwrap_or_default().contains("retries"));
        // A foreign file is not overwritten.
        fs::write(&file, "mine\n").unwrap();
        play(&home, row);
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine\n");
        fs::write(&file, written).unwrap();
        home.ok(&["install", row.host, "--yes"]);
        assert!(
            home.ok(&["uninstall", row.host, "--yes"])
                .contains("1 rules file in your projects removed")
        );
        assert!(!file.exists());
    }
}

/// A cloned repository can contain links to any place.
#[test]
fn rules_files_are_not_written_through_links() {
    let row = &HOSTS[1];
    let path = ".cursor/rules/backstory-context.mdc";
    let outside = |home: &Home| {
        let folder = home.outside().join("outside");
        fs::create_dir_all(folder.join("rules")).unwrap();
        fs::write(folder.join("ours.mdc"), "<backstory-context> of another project").unwrap();
        folder
    };
    for (name, target) in [
        (".cursor", ""),
        (".cursor/rules", ""),
        (path, "ours.mdc"),
        (".git/info", ""),
    ] {
        let home = Home::new();
        let outside = outside(&home);
        let link = home.project().join(name);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(outside.join(target), &link).unwrap();
        play(&home, row);
        home.ok(&["forget", "--match", "retries", "--yes"]);
        home.ok(&["install", row.host, "--yes"]);
        home.ok(&["uninstall", row.host, "--yes"]);
        let left: Vec<PathBuf> = walk(&outside);
        assert_eq!(left, [outside.join("ours.mdc")], "{name}");
        assert_eq!(
            fs::read_to_string(&left[0]).unwrap(),
            "<backstory-context> of another project",
            "{name}"
        );
        assert!(name == path || !home.project().join(path).exists(), "{name}");
    }
}

/// Lists all files below a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| walk(folder)));
    files
}

#[test]
fn no_payload_of_a_host_makes_a_hook_fail() {
    let values = [
        json!(null),
        json!(5),
        json!("x"),
        json!("{"),
        json!([]),
        json!([{"a": null}]),
        json!({"b": {}}),
    ];
    let fields = [
        "conversation_id",
        "workspace_roots",
        "hook_event_name",
        "tool_info",
        "agent_action_name",
        "toolArgs",
        "toolResult",
        "tool_input",
        "tool_response",
        "tool_output",
        "prompt",
        "prompt_response",
        "exit",
        "cwd",
        "text",
        "edits",
    ];
    for row in HOSTS {
        let home = Home::new();
        for event in [
            "session-start",
            "user-prompt-submit",
            "post-tool-use",
            "post-tool-use-failure",
            "stop",
            "session-end",
            "nope",
        ] {
            for value in &values {
                let mut payload = json!({"session_id": "s1", "sessionId": "s1", "trajectory_id": "s1"});
                for field in fields {
                    payload[field] = value.clone();
                }
                hook(&home, row.host, event, &payload.to_string());
            }
            hook(&home, row.host, event, "no JSON at all");
        }
        home.drain();
        assert_eq!(home.json(&["queue", "--json"])["failed"], 0, "{}", row.host);
    }
}

#[test]
fn the_plugin_does_nothing_if_the_settings_call_the_hooks() {
    let home = Home::new();
    let payload = json!({"session_id": "s1", "cwd": home.project(), "prompt": "go"}).to_string();
    let plugin = |home: &Home| text(&home.run(&["hook", "stop", "--plugin"], payload.as_bytes()).stdout);
    assert!(!plugin(&home).is_empty());
    assert_eq!(home.spooled().len(), 1);
    home.ok(&["install", "claude-code", "--yes"]);
    assert_eq!(plugin(&home), "");
    assert_eq!(home.spooled().len(), 1);
    home.ok(&["uninstall", "--yes"]);
    assert!(!plugin(&home).is_empty());
    assert_eq!(home.spooled().len(), 2);
}
