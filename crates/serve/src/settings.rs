//! Settings as JSON: all of them with their source and a form control, and changes to them.

use anyhow::Result;
use backstory_engine::{
    engine::Engine,
    error::HintedError,
    settings::{
        Kind, SettingChange, SettingKey, change_all, from_words, key_named, meanings, read, resolve,
        setting_json,
    },
};
use serde_json::{Map, Value, json};

/// Returns every setting by its name.
pub(crate) fn all(engine: &Engine) -> Value {
    let path = engine.home.config();
    let text = read(&path).ok().flatten();
    let resolved = resolve(&path, text.as_deref(), &engine.environment.settings());
    let named = resolved.entries.iter().zip(meanings()).map(|(entry, about)| {
        let mut setting = setting_json(entry);
        setting["about"] = about.into();
        setting["control"] = control(entry.key.kind);
        (entry.key.to_string(), setting)
    });
    Value::Object(named.collect())
}

/// Returns the form control for a kind of setting.
fn control(kind: Kind) -> Value {
    match kind {
        Kind::Flag => json!({"kind": "choice", "of": ["true", "false"]}),
        Kind::OnOff => json!({"kind": "choice", "of": ["on", "off"]}),
        Kind::Number { min, max } => json!({"kind": "number", "min": min, "max": max}),
        // Zero is valid too, although it is below the minimum: it switches the limit off.
        Kind::Limit { max, .. } => json!({"kind": "number", "min": 0, "max": max}),
        Kind::Choice(words) => json!({"kind": "choice", "of": words}),
        Kind::ListOf(words) => json!({"kind": "several", "of": words}),
        Kind::List | Kind::Prices => json!({"kind": "list"}),
        Kind::Text | Kind::Address | Kind::Variable | Kind::TimeZone | Kind::Loopback => {
            json!({"kind": "text"})
        }
    }
}

/// Changes settings: all of them, or none if one of them is invalid.
pub(crate) fn change(engine: &Engine, new: &Map<String, Value>) -> Result<()> {
    let mut changes: Vec<(&'static SettingKey, SettingChange)> = Vec::new();
    for (name, value) in new {
        let key = key_named(name)?;
        changes.push((key, parse(key, value)?));
    }
    change_all(&engine.home.config(), &changes)
}

fn parse(key: &'static SettingKey, value: &Value) -> Result<SettingChange> {
    let word = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    };
    let words: Option<Vec<String>> = match value {
        Value::Null => return Ok(SettingChange::Unset),
        Value::Array(items) => items.iter().map(word).collect(),
        other => word(other).map(|word| vec![word]),
    };
    let words = words.unwrap_or_default();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let value = from_words(key.kind, &words).ok_or_else(|| {
        HintedError::new(format_args!("{key}: expected {}", key.kind)).hint("nothing was changed")
    })?;
    Ok(SettingChange::Set(value))
}
