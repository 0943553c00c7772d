//! The program as the server sees it: clock, folders, capture and settings.

use std::path::Path;

use backstory_capture::project;
use backstory_model::{EventKind, Host, ProjectIdentity};
use backstory_serve::{Backend, BackendError, RecordOutcome};
use backstory_store::{Selection, Store};
use serde_json::{Map, Value, json};

use crate::{
    clock, environment,
    forgetting::forget,
    home::Home,
    models,
    record::{self, HookOutcome},
    sanitize::Sanitizer,
    settings::{
        self, Kind, SettingChange, SettingKey, Settings, change_all, from_words, key_named, meanings,
        resolve, setting_json,
    },
    stats::StatsReport,
    time_arg, worker,
};

/// Returns what the server asks for, of a home.
pub fn backend(home: &Home) -> Backend {
    let with_home = || home.clone();
    Backend {
        now: clock::timestamp,
        moment: {
            let home = with_home();
            Box::new(move |text| {
                time_arg::parse_time_arg(text)
                    .ok()?
                    .timestamp(&models::zone(&current(&home)))
                    .ok()
            })
        },
        locate: |folder| project::locate(folder).facts,
        record: {
            let home = with_home();
            Box::new(move |kind, host, json, project| record(&home, kind, host, json, project))
        },
        take_in: {
            let home = with_home();
            // What cannot be taken in now stays in the spool, and the worker says why.
            Box::new(move |store: &mut Store| drop(worker::ingest(&home.spool(), store)))
        },
        spooled: {
            let spool = home.spool();
            Box::new(move || spool.waiting().map_or(0, |waiting| waiting.len() as u64))
        },
        wash: {
            let home = with_home();
            Box::new(move |text| Sanitizer::new(current(&home).capture.redact).text(text))
        },
        limits: {
            let home = with_home();
            Box::new(move || current(&home).context.limits())
        },
        forget: {
            let home = with_home();
            Box::new(move |store, handles| {
                let selection = Selection::Memories(handles);
                match forget(&home, store, selection, &current(&home).context) {
                    Ok(_) => Ok(()),
                    Err(error) => Err(refusal(&error)),
                }
            })
        },
        stats: {
            let home = with_home();
            Box::new(move |store| {
                Ok(StatsReport::collect(&home, &current(&home), store, clock::timestamp())?.to_json())
            })
        },
        settings: {
            let home = with_home();
            Box::new(move || all_settings(&home))
        },
        change_settings: {
            let home = with_home();
            Box::new(move |new| change_settings(&home.config(), new))
        },
    }
}

fn record(
    home: &Home,
    kind: EventKind,
    host: &Host,
    json: &str,
    project: Option<ProjectIdentity>,
) -> RecordOutcome {
    match record::record(home, kind, host, json.as_bytes(), project) {
        HookOutcome::Recorded(_) => RecordOutcome::Queued,
        HookOutcome::Off(why) | HookOutcome::Nothing(why) => RecordOutcome::Skipped(why.to_owned()),
        HookOutcome::Failed(why) => RecordOutcome::Failed(why),
    }
}

/// Reads the settings as they are now; one that is wrong has its default.
fn current(home: &Home) -> Settings {
    let text = settings::read(&home.config()).ok().flatten();
    settings::load(&home.config(), text.as_deref(), &environment::settings()).0
}

fn all_settings(home: &Home) -> Value {
    let path = home.config();
    let text = settings::read(&path).ok().flatten();
    let resolved = resolve(&path, text.as_deref(), &environment::settings());
    let named = resolved.entries.iter().zip(meanings()).map(|(entry, about)| {
        let mut setting = setting_json(entry);
        setting["about"] = about.into();
        setting["control"] = control(entry.key.kind);
        (entry.key.to_string(), setting)
    });
    Value::Object(named.collect())
}

/// Says how a page lets a person set it.
fn control(kind: Kind) -> Value {
    match kind {
        Kind::Flag => json!({"kind": "choice", "of": ["true", "false"]}),
        Kind::OnOff => json!({"kind": "choice", "of": ["on", "off"]}),
        Kind::Number { min, max } => json!({"kind": "number", "min": min, "max": max}),
        // Zero is allowed too, below the smallest limit.
        Kind::Limit { max, .. } => json!({"kind": "number", "min": 0, "max": max}),
        Kind::Choice(words) => json!({"kind": "choice", "of": words}),
        Kind::ListOf(words) => json!({"kind": "several", "of": words}),
        Kind::List | Kind::Prices => json!({"kind": "list"}),
        Kind::Text | Kind::Address | Kind::Variable | Kind::TimeZone | Kind::Loopback => {
            json!({"kind": "text"})
        }
    }
}

/// Changes settings when all of them can be.
fn change_settings(path: &Path, new: &Map<String, Value>) -> Result<(), BackendError> {
    let mut changes: Vec<(&'static SettingKey, SettingChange)> = Vec::new();
    for (name, value) in new {
        let key = key_named(name).map_err(|error| refusal(&error))?;
        changes.push((key, wanted(key, value)?));
    }
    change_all(path, &changes).map_err(|error| refusal(&error))
}

fn wanted(key: &'static SettingKey, value: &Value) -> Result<SettingChange, BackendError> {
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
    from_words(key.kind, &words)
        .map(SettingChange::Set)
        .ok_or_else(|| BackendError {
            message: format!("{key}: expected {}", key.kind),
            hint: Some("nothing was changed".to_owned()),
        })
}

fn refusal(error: &anyhow::Error) -> BackendError {
    let text = format!("{error:#}");
    let (message, hint) = match text.split_once("\nhint: ") {
        Some((message, hint)) => (message.to_owned(), Some(hint.to_owned())),
        None => (text, None),
    };
    BackendError { message, hint }
}
