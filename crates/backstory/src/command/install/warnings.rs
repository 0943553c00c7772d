//! Finds settings of a host that keep our entries from being used. Changes nothing.

use std::{
    fs,
    path::{Path, PathBuf},
};

use backstory_capture::host::HostSpec;
use backstory_system::CLAUDE_MANAGED_FOLDER;
use serde_json::Value;

use super::{paths, plan::HostFileChange};

/// Returns the reason why the host ignores our entries in a file after the change. Tested with the real client: it ignores a
/// file with comments silently.
pub(super) fn of_file(change: &HostFileChange) -> Option<String> {
    let new = change.new.as_deref().filter(|_| change.host.wants_plain_json)?;
    let new = new.strip_prefix(b"\xef\xbb\xbf").unwrap_or(new);
    let (shown, title) = (paths::shown(&change.path), change.host.title);
    let is_json = change
        .path
        .extension()
        .is_some_and(|extension| extension == "json");
    if !is_json || new.trim_ascii().is_empty() {
        return None;
    }
    match serde_json::from_slice::<Value>(new) {
        Err(_) => Some(format!(
            "{shown} has comments or trailing commas: {title} ignores the file, and our entries in it."
        )),
        Ok(settings) if settings["disableAllHooks"] == true => Some(format!(
            "{shown} sets disableAllHooks: {title} runs no hook, so nothing is recorded until you remove it."
        )),
        Ok(_) => None,
    }
}

/// Returns the settings of an administrator that keep a host from running our hooks.
pub(crate) fn of_managed_settings(host: &HostSpec) -> Vec<String> {
    match host.name {
        "claude-code" => managed_files()
            .iter()
            .filter_map(|path| managed_problem(path))
            .collect(),
        _ => Vec::new(),
    }
}

/// Lists Claude Code's files with settings of an administrator.
fn managed_files() -> Vec<PathBuf> {
    let folder = Path::new(CLAUDE_MANAGED_FOLDER);
    let drop_ins = fs::read_dir(folder.join("managed-settings.d"));
    let drop_ins = drop_ins.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files = vec![folder.join("managed-settings.json")];
    files.extend(drop_ins.filter(|path| path.extension().is_some_and(|extension| extension == "json")));
    files
}

fn managed_problem(path: &Path) -> Option<String> {
    let settings: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let key = ["disableAllHooks", "allowManagedHooksOnly"]
        .into_iter()
        .find(|key| settings[key] == true)?;
    Some(format!(
        "{} sets {key}: Claude Code runs no hooks of users, so nothing is recorded. Ask your administrator.",
        path.display()
    ))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn managed_settings_that_switch_hooks_off_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("managed-settings.json");
        for (text, key) in [
            (r#"{"disableAllHooks": true}"#, Some("disableAllHooks")),
            (
                r#"{"allowManagedHooksOnly": true}"#,
                Some("allowManagedHooksOnly"),
            ),
            (r#"{"disableAllHooks": false, "model": "opus"}"#, None),
            ("not JSON", None),
        ] {
            fs::File::create(&path)
                .unwrap()
                .write_all(text.as_bytes())
                .unwrap();
            let found = managed_problem(&path);
            assert_eq!(found.is_some(), key.is_some(), "{text}: {found:?}");
            assert!(found.is_none_or(|found| found.contains(key.unwrap())), "{text}");
        }
        assert_eq!(managed_problem(&folder.path().join("absent.json")), None);
    }
}
