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

use crate::{
    access::{Credential, require_owner},
    problem::ApiError,
};

/// Returns every setting by its name.
pub(crate) fn all(engine: &Engine) -> Value {
    let path = engine.home.config();
    let text = read(&path).ok().flatten();
    let resolved = resolve(&path, text.as_deref(), &engine.environment.settings());
    let named = resolved.entries.iter().zip(meanings()).map(|(entry, about)| {
        let mut setting = setting_json(entry);
        setting["about"] = about.into();
        setting["control"] = control(entry.key.kind);
        setting["guarded"] = entry.key.is_guarded.into();
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

/// Changes settings: all of them, or none if one of them is invalid or not open to the client.
pub(crate) fn change(
    engine: &Engine,
    new: &Map<String, Value>,
    credential: Option<&Credential>,
) -> Result<(), ApiError> {
    let bad = |error: anyhow::Error| ApiError::bad_request(&error);
    let mut changes: Vec<(&'static SettingKey, SettingChange)> = Vec::new();
    for (name, value) in new {
        let key = key_named(name).map_err(bad)?;
        if key.is_guarded {
            require_owner(credential)
                .map_err(|problem| problem.hint(format!("run `backstory config set {key} …`")))?;
        }
        changes.push((key, parse(key, value).map_err(bad)?));
    }
    change_all(&engine.home.config(), &changes).map_err(bad)
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
