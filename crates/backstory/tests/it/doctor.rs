//! Findings and remedies of `doctor`.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::{Value, json};

use crate::{
    backup::home_with_memories,
    home::{Home, settings, text},
};

/// Runs `doctor`; returns the exit code and the findings of one check.
fn findings(home: &Home, check: &str) -> (i32, Vec<Value>) {
    let output = home.run(&["doctor", "--json"], b"");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let code = output.status.code().unwrap();
    assert_eq!(report["ok"], code == 0, "{report}");
    for finding in report["findings"].as_array().unwrap() {
        let is_bad = matches!(finding["level"].as_str().unwrap(), "warning" | "broken");
        assert!(!is_bad || finding["remedy"].is_string(), "no remedy: {finding}");
    }
    let all = report["findings"].as_array().unwrap().iter();
    (
        code,
        all.filter(|finding| finding["check"] == check).cloned().collect(),
    )
}

/// Returns the exit code and the severity of the only finding of a check.
fn level(home: &Home, check: &str) -> (i32, String) {
    let (code, found) = findings(home, check);
    assert_eq!(found.len(), 1, "{found:?}");
    (code, found[0]["level"].as_str().unwrap().to_owned())
}

fn filters() -> insta::Settings {
    let mut settings = settings();
    settings.add_filter(r"\d+ (GB|MB) free", "[n] free");
    settings.add_filter(r"home: \d+ ms", "home: [n] ms");
    settings.add_filter(r"\d+ KB", "[n] KB");
    settings.add_filter(r"in \d+\.\d s", "in [n] s");
    settings.add_filter(r"\d{8}T\d{9}Z", "[time]");
    settings
}

#[test]
fn a_new_home_and_one_in_use_have_no_problems() {
    let home = Home::new().with("COLUMNS", "200");
    let mut said = home.ok(&["doctor"]);
    assert!(!home.path().exists(), "looking changes nothing");
    let home = home_with_memories().with("COLUMNS", "200");
    home.ok(&["backup"]);
    said.push_str("\n---\n");
    said.push_str(&home.ok(&["doctor"]));
    filters().bind(|| insta::assert_snapshot!("doctor_well", said));
}

#[test]
fn problems_fail_with_a_remedy() {
    let home = home_with_memories().with("COLUMNS", "200");
    fs::write(
        home.path().join("config.toml"),
        "[distill]\nprovider = \"anthropic\"\nmodle = 1\n",
    )
    .unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    home.hook("stop", b"no json");
    home.hook("no-such-event", b"{}");
    let database = home.path().join("backstory.db");
    let mut bytes = fs::read(&database).unwrap();
    bytes[..16].fill(0);
    fs::write(&database, bytes).unwrap();
    fs::create_dir_all(home.outside().join("home/.claude")).unwrap();
    fs::write(
        home.outside().join("home/.claude/settings.json"),
        r#"{"disableAllHooks": true, "enabledPlugins": {"backstory@backstory": true}}"#,
    )
    .unwrap();
    let output = home.run(&["doctor"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "");
    let mut filters = filters();
    filters.add_filter(r"others can read .*", "others can read [files]");
    filters.bind(|| insta::assert_snapshot!("doctor_broken", text(&output.stdout)));
}

#[test]
fn a_missing_api_key_is_reported() {
    let home = Home::new().with("BACKSTORY_DISTILL_PROVIDER", "anthropic");
    assert_eq!(level(&home, "provider"), (1, "broken".to_owned()));
    let home = home.with("ANTHROPIC_API_KEY", "x");
    assert_eq!(level(&home, "provider"), (0, "ok".to_owned()));
    let home = home.with("BACKSTORY_DISTILL_API_KEY_ENV", "MY_KEY");
    assert_eq!(level(&home, "provider"), (1, "broken".to_owned()));
    let home = Home::new().with("BACKSTORY_DISTILL_PROVIDER", "claude-cli");
    assert_eq!(level(&home, "provider"), (1, "broken".to_owned()));
}

#[test]
fn a_newer_database_is_broken_and_a_missing_one_with_backups_a_warning() {
    let home = home_with_memories();
    let path = home.path().join("backstory.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    let schema: i64 = connection
        .query_row("pragma user_version", [], |row| row.get(0))
        .unwrap();
    connection.pragma_update(None, "user_version", 999).unwrap();
    assert_eq!(level(&home, "database"), (1, "broken".to_owned()));
    connection.pragma_update(None, "user_version", schema).unwrap();
    drop(connection);
    home.ok(&["backup"]);
    fs::remove_file(path).unwrap();
    assert_eq!(level(&home, "database"), (0, "warning".to_owned()));
}

#[test]
fn a_recent_repair_is_reported() {
    let home = home_with_memories();
    home.ok(&["backup"]);
    fs::write(
        home.path().join("backstory.db"),
        "no database at all, whatever it was before",
    )
    .unwrap();
    home.run(&["sessions"], b"");
    assert_eq!(level(&home, "repair"), (0, "warning".to_owned()));
    assert_eq!(level(&home, "database"), (0, "ok".to_owned()));
}

#[test]
fn stuck_events_and_future_timestamps_are_reported() {
    let home = home_with_memories();
    home.report("stop", &json!({}));
    assert_eq!(level(&home, "queue"), (0, "ok".to_owned()));
    let waiting = home.spooled().remove(0);
    let name = waiting.file_name().unwrap().to_str().unwrap().to_owned();
    // Renamed as if it had been recorded years ago.
    fs::rename(&waiting, waiting.with_file_name(format!("00{}", &name[2..]))).unwrap();
    assert_eq!(level(&home, "queue"), (0, "warning".to_owned()));
    assert_eq!(level(&home, "clock"), (0, "ok".to_owned()));
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    connection
        .execute(
            "update session set last_event_at = last_event_at + 3600000000",
            [],
        )
        .unwrap();
    assert_eq!(level(&home, "clock"), (0, "warning".to_owned()));
    connection
        .execute("update event set state = 'failed'", [])
        .unwrap();
    assert_eq!(level(&home, "failed"), (0, "warning".to_owned()));
}

/// Returns a home after a first installation, and the path of Claude Code's settings, which existed before.
fn installed(host: &str) -> (Home, std::path::PathBuf) {
    let home = Home::new();
    let settings = home.outside().join("home/.claude/settings.json");
    fs::create_dir_all(settings.parent().unwrap()).unwrap();
    fs::write(&settings, "{}\n").unwrap();
    home.ok(&["install", host, "--yes"]);
    (home, settings)
}

#[test]
fn a_first_installation_has_no_problems() {
    let (home, _) = installed("claude-code");
    assert_eq!(level(&home, "database"), (0, "note".to_owned()));
    assert_eq!(level(&home, "claude-code"), (0, "ok".to_owned()));
}

#[test]
fn a_missing_installed_file_is_reported() {
    let (home, settings) = installed("claude-code");
    fs::remove_file(settings).unwrap();
    assert_eq!(level(&home, "installed"), (0, "warning".to_owned()));
    fs::write(home.path().join("installed.json"), "[").unwrap();
    assert_eq!(level(&home, "installed"), (0, "warning".to_owned()));
}

#[test]
fn hooks_that_cannot_run_are_reported() {
    let plugin = json!({"enabledPlugins": {"backstory@backstory": true}});
    let mut off = plugin.clone();
    off["disableAllHooks"] = true.into();
    let calling = |command: &str, arguments: Value| {
        let hook = json!([{"hooks": [{"type": "command", "command": command, "args": arguments}]}]);
        let spec = backstory_capture::host::find("claude-code").unwrap();
        let events = spec.hooks.iter().map(|row| (row.theirs.to_owned(), hook.clone()));
        json!({"hooks": events.collect::<serde_json::Map<_, _>>()})
    };
    let mut some = calling(env!("CARGO_BIN_EXE_backstory"), json!(["hook", "stop"]));
    some["hooks"].as_object_mut().unwrap().remove("Stop");
    for (settings, expected) in [
        (&json!({}), (0, "note")),
        (&some, (0, "warning")),
        (&plugin, (0, "ok")),
        (&off, (1, "broken")),
        (&json!({"disableAllHooks": true}), (0, "note")),
        (
            &calling(env!("CARGO_BIN_EXE_backstory"), json!(["hook", "stop"])),
            (0, "ok"),
        ),
        (
            &calling("/no where/backstory", json!(["hook", "stop"])),
            (1, "broken"),
        ),
        (&calling("/bin/true", json!(["backstory", "hook"])), (0, "note")),
        (&calling("/bin/true backstory", Value::Null), (0, "note")),
    ] {
        let home = Home::new();
        let path = home.outside().join("home/.claude/settings.json");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, settings.to_string()).unwrap();
        assert_eq!(
            level(&home, "claude-code"),
            (expected.0, expected.1.to_owned()),
            "{settings}"
        );
    }
    // The client ignores such a file.
    let (home, settings) = installed("claude-code");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, format!("// mine\n{text}")).unwrap();
    assert_eq!(level(&home, "claude-code"), (1, "broken".to_owned()));
    // The plugin's hooks yield to those of the settings, which were removed by hand.
    let (home, settings) = installed("claude-code");
    fs::write(&settings, "{}").unwrap();
    assert_eq!(level(&home, "claude-code"), (0, "warning".to_owned()));
    fs::write(&settings, plugin.to_string()).unwrap();
    assert_eq!(level(&home, "claude-code"), (1, "broken".to_owned()));
    home.ok(&["uninstall", "--yes"]);
    assert_eq!(level(&home, "claude-code"), (0, "ok".to_owned()));
}

#[test]
fn a_folder_whose_sessions_are_not_recorded_is_reported() {
    let home = Home::new();
    assert_eq!(findings(&home, "switched-off").1, [] as [Value; 0]);
    let ignore = home.project().join(".backstory-ignore");
    fs::write(&ignore, "").unwrap();
    let (_, found) = findings(&home, "switched-off");
    assert!(
        found[0]["message"]
            .as_str()
            .unwrap()
            .ends_with(".backstory-ignore file"),
        "{found:?}"
    );
    fs::remove_file(ignore).unwrap();
    let project = home.project();
    home.ok(&[
        "config",
        "set",
        "capture.exclude",
        "--add",
        project.to_str().unwrap(),
    ]);
    let (code, found) = findings(&home, "switched-off");
    assert!(
        found[0]["message"]
            .as_str()
            .unwrap()
            .contains("capture.exclude names"),
        "{found:?}"
    );
    assert_eq!((code, &found[0]["level"]), (0, &json!("note")));
}

#[test]
fn a_plugin_of_another_version_is_reported_with_the_way_to_the_same() {
    let own = env!("CARGO_PKG_VERSION");
    let home = Home::new();
    let folder = home.outside().join("home/.claude");
    fs::create_dir_all(folder.join("plugins")).unwrap();
    fs::write(
        folder.join("settings.json"),
        json!({"enabledPlugins": {"backstory@backstory": true}}).to_string(),
    )
    .unwrap();
    for (version, level, message, remedy) in [
        (
            "0.1.0",
            "warning",
            "the plugin is version 0.1.0, this is",
            "claude plugin update backstory@backstory",
        ),
        (
            "10.0.0",
            "warning",
            "the plugin is version 10.0.0, this is",
            "install backstory 10.0.0",
        ),
        (own, "ok", "the plugin is on", ""),
    ] {
        let plugin = json!([{"scope": "user", "installPath": "/plugins/backstory", "version": version}]);
        let list = json!({"version": 2, "plugins": {"other@else": [], "backstory@backstory": plugin}});
        fs::write(folder.join("plugins/installed_plugins.json"), list.to_string()).unwrap();
        let (_, found) = findings(&home, "claude-code");
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0]["level"], level, "{found:?}");
        assert!(
            found[0]["message"].as_str().unwrap().contains(message),
            "{found:?}"
        );
        assert_eq!(found[0]["remedy"].as_str().unwrap_or_default(), remedy);
        let told = format!("plugin: {version}, not the same; `{remedy}`");
        assert_eq!(home.ok(&["--version"]).contains(&told), version != own);
    }
}

#[test]
fn settings_in_another_folder_are_checked() {
    let home = Home::new();
    let folder = home.outside().join("cc");
    let home = home.with("CLAUDE_CONFIG_DIR", folder.to_str().unwrap());
    home.ok(&["install", "claude-code", "--yes"]);
    assert_eq!(level(&home, "claude-code"), (0, "ok".to_owned()));
}

#[test]
fn every_installed_host_is_checked() {
    for (host, file) in [
        ("cursor", ".cursor/hooks.json"),
        ("codex", ".codex/config.toml"),
        ("opencode", ".config/opencode/opencode.json"),
    ] {
        let (home, _) = installed(host);
        assert_eq!(level(&home, host), (0, "ok".to_owned()));
        let path = home.outside().join("home").join(file);
        let text = fs::read_to_string(&path).unwrap();
        let program = env!("CARGO_BIN_EXE_backstory");
        fs::write(&path, text.replace(program, "/no/where/backstory")).unwrap();
        assert_eq!(level(&home, host), (1, "broken".to_owned()));
        fs::write(&path, if file.ends_with(".toml") { "" } else { "{}" }).unwrap();
        assert_eq!(level(&home, host), (0, "warning".to_owned()));
    }
}

#[test]
fn the_size_includes_the_wal() {
    let home = Home::new();
    home.report("stop", &json!({}));
    home.drain();
    // An open reader keeps new data in the WAL.
    let looking = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    looking
        .query_row("select count(*) from event", [], |_| Ok(()))
        .unwrap();
    home.ok(&["remember", &"long words ".repeat(4_000)]);
    let length = |name: &str| fs::metadata(home.path().join(name)).unwrap().len();
    let (database, log) = (length("backstory.db"), length("backstory.db-wal"));
    assert!(log > 10_000);
    let (_, found) = findings(&home, "database");
    let said = found[0]["message"]
        .as_str()
        .unwrap_or_else(|| panic!("{found:?}"));
    assert!(
        said.contains(&format!("{} KB", (database + log) / 1_000)),
        "{said}"
    );
}

#[test]
fn the_connection_is_not_called_healthy_before_a_session_has_reported() {
    let home = Home::new();
    let state = |home: &Home| {
        let connection = home.json(&["doctor", "--json"])["connection"].clone();
        let said = home.ok(&["doctor"]);
        let last = said.lines().last().unwrap_or_default().to_owned();
        (connection, last)
    };
    assert_eq!(
        state(&home),
        (
            json!("not_connected"),
            "Not connected: no agent reports to backstory yet.".to_owned()
        )
    );
    fs::create_dir_all(home.outside().join("home/.codex")).unwrap();
    home.ok(&["install", "codex", "--yes"]);
    assert_eq!(
        state(&home),
        (
            json!("waiting"),
            "Installed; waiting for the first session.".to_owned()
        )
    );
    home.report("user-prompt-submit", &json!({"prompt": "Retry the refresh once"}));
    home.drain();
    assert_eq!(
        state(&home),
        (json!("connected"), "No problems found.".to_owned())
    );
}
