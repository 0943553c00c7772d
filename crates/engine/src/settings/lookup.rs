//! Finds a setting by its name, and renders one as JSON.

use anyhow::{Result, anyhow};
use serde_json::{Value as Json, json};

use super::keys::{KEYS, SettingKey, section_names};
use super::resolve::{SettingEntry, SettingSource};

/// Returns a setting as JSON.
pub fn setting_json(entry: &SettingEntry) -> Json {
    let (source, line) = match entry.source {
        SettingSource::Default => ("default", None),
        SettingSource::File { line } => ("file", Some(line)),
        SettingSource::Environment => ("environment", None),
    };
    json!({
        "key": entry.key.to_string(),
        "value": entry.value,
        "source": source,
        "line": line,
        "environment": entry.key.variable(),
        "expected": entry.key.kind.to_string(),
    })
}

/// Finds a key by its name, or suggests a similar one.
pub fn key_named(name: &str) -> Result<&'static SettingKey> {
    SettingKey::named(name).ok_or_else(|| {
        let wrong = name.escape_debug();
        if section_names().contains(&name) {
            let keys: Vec<String> = KEYS
                .iter()
                .filter(|key| key.section == name)
                .map(ToString::to_string)
                .collect();
            return anyhow!("`{name}` is a section; its settings are {}", keys.join(", "));
        }
        let (section, rest) = name
            .split_once('.')
            .map_or((None, name), |(section, rest)| (Some(section), rest));
        match SettingKey::nearest(section, rest) {
            Some(key) => anyhow!("unknown setting `{wrong}`; did you mean `{key}`?"),
            None => anyhow!("unknown setting `{wrong}`; `backstory config list` lists them"),
        }
    })
}
