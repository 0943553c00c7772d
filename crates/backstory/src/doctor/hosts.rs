//! The hosts: do their settings call us?
//!
//! What `install` wrote, and where, is in its receipt, `installed.json`: each file it names is looked for here. Hooks that
//! were put into Claude Code's settings by hand or by a plugin are found by looking there.

use std::{fs, path::Path};

use serde_json::Value;

use super::{Finding, Patient};
use crate::{environment, home::Home};

/// The events that should call us, by Claude Code's names.
const WANTED: [&str; 6] = [
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "SessionEnd",
];

const INSTALL: &str = "backstory install claude-code";

pub(super) fn check(patient: &Patient<'_>) -> Vec<Finding> {
    let mut findings = receipt(patient.home);
    findings.extend(environment::user_home().and_then(|user| claude_code(&user.join(".claude"))));
    findings
}

/// Looks for every file that the receipt names.
fn receipt(home: &Home) -> Vec<Finding> {
    let path = home.root().join("installed.json");
    let Ok(text) = fs::read_to_string(&path) else {
        return Vec::new();
    };
    let Ok(receipt) = serde_json::from_str::<Value>(&text) else {
        let message = format!("{} cannot be read", path.display());
        return vec![Finding::warning("installed", message).remedy("run `backstory install` again")];
    };
    let mut paths = Vec::new();
    gather_paths(&receipt, &mut paths);
    let missing = paths.into_iter().filter(|path| !Path::new(path).exists());
    missing
        .map(|path| {
            Finding::warning("installed", format!("{path} was installed and is gone"))
                .remedy("run `backstory install` again")
        })
        .collect()
}

/// Whatever its shape: every `path` or `file` in it is one.
fn gather_paths<'r>(value: &'r Value, paths: &mut Vec<&'r str>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(path) if matches!(name.as_str(), "path" | "file") => paths.push(path),
                    other => gather_paths(other, paths),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather_paths(item, paths)),
        _ => {}
    }
}

/// Looks into Claude Code's settings; `None` where there is no Claude Code.
fn claude_code(folder: &Path) -> Option<Finding> {
    if !folder.exists() {
        return None;
    }
    let path = folder.join("settings.json");
    let Ok(text) = fs::read_to_string(&path) else {
        return Some(Finding::note("claude-code", "no hook of ours is set up").remedy(INSTALL));
    };
    let Ok(settings) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) else {
        return Some(match text.contains("backstory") {
            true => Finding::broken("claude-code", format!("{} is not plain JSON", path.display()))
                .remedy("Claude Code passes over a file with comments or trailing commas: take them out"),
            false => Finding::note("claude-code", "no hook of ours is set up").remedy(INSTALL),
        });
    };
    let is_plugin = settings["enabledPlugins"].as_object().is_some_and(|plugins| {
        plugins
            .iter()
            .any(|(name, on)| name.starts_with("backstory@") && on == true)
    });
    if is_plugin {
        return Some(Finding::ok("claude-code", "the plugin is on"));
    }
    Some(judge(&settings, &path))
}

fn judge(settings: &Value, path: &Path) -> Finding {
    if settings["disableAllHooks"] == true {
        return Finding::broken("claude-code", format!("{} says disableAllHooks", path.display()))
            .remedy("take that line out: nothing is recorded while it is there");
    }
    let missing: Vec<&str> = WANTED
        .into_iter()
        .filter(|event| !settings["hooks"][event].to_string().contains("backstory"))
        .collect();
    if missing.len() == WANTED.len() {
        return Finding::note("claude-code", "no hook of ours is set up").remedy(INSTALL);
    }
    if !missing.is_empty() {
        return Finding::warning(
            "claude-code",
            format!("no hook of ours for {}", missing.join(", ")),
        )
        .remedy(INSTALL);
    }
    match lost_program(&settings["hooks"]) {
        Some(program) => Finding::broken(
            "claude-code",
            format!("its hooks call {program}, which is not there"),
        )
        .remedy(INSTALL),
        None => Finding::ok("claude-code", format!("hooks are in {}", path.display())),
    }
}

/// Finds a program that the hooks call by its whole path and that is not there.
fn lost_program(hooks: &Value) -> Option<String> {
    let mut commands = Vec::new();
    gather_commands(hooks, &mut commands);
    commands
        .into_iter()
        .filter_map(|command| command.split_whitespace().next())
        .map(|word| word.trim_matches(['"', '\'']))
        .find(|word| word.ends_with("backstory") && word.starts_with('/') && !Path::new(word).exists())
        .map(ToOwned::to_owned)
}

fn gather_commands<'r>(value: &'r Value, commands: &mut Vec<&'r str>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(command) if name == "command" => commands.push(command),
                    other => gather_commands(other, commands),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| gather_commands(item, commands)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::doctor::Level;

    fn with(command: &str, events: &[&str]) -> Value {
        let entry = json!([{"hooks": [{"type": "command", "command": command}]}]);
        let hooks: serde_json::Map<String, Value> = events
            .iter()
            .map(|event| ((*event).to_owned(), entry.clone()))
            .collect();
        json!({"hooks": hooks})
    }

    #[test]
    fn settings_are_judged_by_what_they_call() {
        let level = |settings: &Value| judge(settings, Path::new("s.json")).level;
        assert_eq!(level(&json!({})), Level::Note);
        assert_eq!(level(&with("other hook", &WANTED)), Level::Note);
        assert_eq!(level(&with("backstory hook x", &WANTED)), Level::Ok);
        assert_eq!(level(&with("backstory hook x", &WANTED[..3])), Level::Warning);
        assert_eq!(level(&with("/nowhere/backstory hook x", &WANTED)), Level::Broken);
        assert_eq!(level(&json!({"disableAllHooks": true})), Level::Broken);
    }

    #[test]
    fn every_path_of_a_receipt_is_found() {
        let receipt = json!({"hosts": [{"files": [{"path": "/a"}, {"file": "/b", "name": "c"}]}]});
        let mut paths = Vec::new();
        gather_paths(&receipt, &mut paths);
        assert_eq!(paths, ["/a", "/b"]);
    }
}
