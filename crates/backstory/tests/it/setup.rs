//! `backstory setup`: from nothing to a memory of past sessions.

use std::{collections::BTreeMap, fs, path::PathBuf};

use serde_json::json;

use crate::{
    history::with_history,
    home::{Home, text},
    terminal::Terminal,
    tmux::Tmux,
};

/// Creates a user's home with three agents and past sessions in the folder of the sample project.
fn with_agents() -> Home {
    let home = with_history();
    let user = home.outside().join("home");
    fs::create_dir_all(user.join(".claude")).unwrap();
    let mut folders = vec![user.join(".codex/sessions")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else {
                let text = fs::read_to_string(&path).unwrap();
                let here = home.project().to_string_lossy().into_owned();
                fs::write(&path, text.replace("/home/dev/acme", &here)).unwrap();
            }
        }
    }
    home
}

/// Reads all files below the user's home, except the memory's own.
fn files(home: &Home) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![home.outside().join("home")];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() && !path.ends_with(".backstory") {
                folders.push(path);
            } else if path.is_file() {
                found.insert(path.clone(), fs::read(path).unwrap());
            }
        }
    }
    found
}

#[test]
fn one_command_connects_agents_and_imports_their_sessions() {
    let home = with_agents();
    let said = home.ok(&["setup", "--yes"]);
    for line in [
        "Claude Code  9 hooks, 1 MCP server, skill and commands → ",
        "Codex CLI    7 hooks, 1 MCP server → 2 files",
        "8 past sessions of Codex CLI, Gemini CLI, OpenCode and Copilot CLI in 2 project folders",
        "8 sessions imported.",
        "What I know about acme",
        "token refresh retries once",
        "Waiting for the first session: start a new one in Claude Code, Codex CLI, ",
    ] {
        assert!(said.contains(line), "{line}\n{said}");
    }
    let skill = home
        .outside()
        .join("home/.claude/skills/backstory-search/SKILL.md");
    assert!(
        fs::read_to_string(skill)
            .unwrap()
            .starts_with("---\ndescription:")
    );
    let context = home.ok(&["context"]);
    assert!(context.contains("token refresh retries once"), "{context}");
}

#[test]
fn running_setup_again_changes_nothing() {
    let home = with_agents();
    home.ok(&["setup", "--yes"]);
    let before = (files(&home), home.events(), home.ok(&["export"]));
    let again = home.ok(&["setup", "--yes"]);
    assert!(again.contains("Claude Code  already set up"), "{again}");
    assert!(!again.contains("is already set up."), "once is enough: {again}");
    assert!(!again.contains("past session"), "{again}");
    assert_eq!((files(&home), home.events(), home.ok(&["export"])), before);
    home.ok(&["uninstall", "--yes"]);
    assert!(!home.outside().join("home/.claude/skills").exists());
    assert!(!home.outside().join("home/.claude/commands").exists());
}

#[test]
fn a_dry_run_and_a_missing_terminal_change_nothing() {
    let home = with_agents();
    let before = files(&home);
    let said = home.ok(&["setup", "--dry-run"]);
    assert!(said.contains("8 past sessions"), "{said}");
    let plan = home.json(&["setup", "--dry-run", "--json"]);
    assert_eq!(
        (&plan["agents"][0]["host"], &plan["past_sessions"]),
        (&json!("claude-code"), &json!(8)),
        "{plan}"
    );
    let refused = home.run(&["setup"], b"");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("Pass --yes to apply"));
    assert_eq!(files(&home), before);
    assert!(!home.path().exists());
}

#[test]
fn json_reports_files_sessions_and_the_connection() {
    let home = with_agents();
    let report = home.json(&["setup", "--yes", "--json"]);
    assert_eq!(
        (&report["imported_sessions"], &report["connection"]),
        (&json!(8), &json!("waiting")),
        "{report}"
    );
    assert_eq!(report["known"].as_array().unwrap().len(), 3, "{report}");
    assert!(report["files"].as_array().unwrap().len() >= 7, "{report}");
}

#[test]
fn a_file_that_cannot_be_parsed_concerns_its_agent_alone() {
    let home = with_agents();
    fs::write(home.outside().join("home/.codex/config.toml"), "[broken").unwrap();
    let said = home.ok(&["setup", "--yes"]);
    assert!(said.contains("Codex CLI    skipped: could not parse"), "{said}");
    assert!(said.contains("Claude Code is set up."), "{said}");
}

#[test]
fn agents_are_chosen_with_single_keys() {
    let home = with_agents();
    let mut terminal = Terminal::run(&home, &["setup"]);
    terminal.until("space: toggle");
    terminal.says("d");
    terminal.until("settings.json");
    terminal.until("space: toggle");
    terminal.says("j ");
    terminal.until("[ ]");
    terminal.says("\n");
    terminal.until("Claude Code is set up");
    terminal.until("Import them? [Y/n]");
    terminal.says("n\n");
    terminal.until("status line? [y/N]");
    terminal.says("y\n");
    terminal.until("Open the viewer? [y/N]");
    terminal.says("n\n");
    assert_eq!(terminal.end(), Some(0));
    assert!(!home.outside().join("home/.codex/hooks.json").exists());
    let settings = fs::read_to_string(home.outside().join("home/.claude/settings.json")).unwrap();
    assert!(settings.contains("backstory statusline"), "{settings}");
    let mut quits = Terminal::run(&home, &["setup"]);
    quits.until("space: toggle");
    quits.says("q");
    quits.until("Nothing was changed.");
    assert_eq!(quits.end(), Some(1));
}

#[test]
fn the_list_of_agents_is_drawn_over_itself() {
    let home = with_agents();
    // The error is longer than the terminal is wide.
    fs::write(home.outside().join("home/.codex/config.toml"), "[broken").unwrap();
    let Some(tmux) = Tmux::run(&home, "setup") else {
        return;
    };
    tmux.until("space: toggle").press(&["j"]).until("> [ ] Codex CLI");
    tmux.press(&["k"]).until("> [x] Claude Code");
    tmux.press(&["j"]).until("> [ ] Codex CLI");
    let screen = tmux.screen();
    for title in ["Claude Code", "Codex CLI", "Gemini CLI", "space: toggle"] {
        assert_eq!(screen.matches(title).count(), 1, "{title}\n{screen}");
    }
    tmux.press(&["q"]).until("left with 1");
}
