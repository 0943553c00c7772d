//! Converts values from TOML or strings to the form of `defaults.toml`, and checks them.

use backstory_distill::Price;
use toml::Value;

use super::keys::{Kind, Overrides};

/// Converts a value of `config.toml`; `None` if it is not of this kind.
pub(super) fn from_toml(kind: Kind, value: &toml_edit::Value) -> Option<Value> {
    use toml_edit::Value as Toml;
    match value {
        Toml::Boolean(flag) => switch(kind, *flag.value()),
        Toml::Integer(number) => whole(kind, *number.value()),
        Toml::Array(items) if kind.is_list() => {
            let items: Option<Vec<&str>> = items.iter().map(toml_edit::Value::as_str).collect();
            list(kind, items?)
        }
        Toml::String(text) => match (kind, text.value().as_str()) {
            (Kind::Flag | Kind::OnOff, "on") => switch(kind, true),
            (Kind::Flag | Kind::OnOff, "off") => switch(kind, false),
            (_, text) => string(kind, text),
        },
        _ => None,
    }
}

/// Parses strings of a command line or the environment; `None` if they are not of this kind.
///
/// Empty strings are not items of a list, so that one empty string is the empty list.
pub fn from_words(kind: Kind, words: &[&str]) -> Option<Value> {
    let words = words.iter().map(|word| word.trim());
    if kind.is_list() {
        return list(kind, words.filter(|word| !word.is_empty()).collect());
    }
    let [word] = words.collect::<Vec<_>>()[..] else {
        return None;
    };
    match kind {
        Kind::Flag | Kind::OnOff => match word.to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => switch(kind, true),
            "false" | "off" | "0" => switch(kind, false),
            _ => None,
        },
        Kind::Number { .. } | Kind::Limit { .. } => whole(kind, word.parse().ok()?),
        _ => string(kind, word),
    }
}

/// Returns a value as plain strings: one, or the items of a list.
pub fn to_words(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(to_words).collect(),
        Value::String(text) => vec![text.clone()],
        other => vec![other.to_string()],
    }
}

/// Returns the value that a variable makes of the value of the file; `None` if it would loosen it.
pub(super) fn overridden(overrides: Overrides, file: &Value, variable: Value) -> Option<Value> {
    match (overrides, file, variable) {
        (_, file, variable) if *file == variable => Some(variable),
        (Overrides::Any, _, variable) => Some(variable),
        (Overrides::Only(word), _, variable) => (to_words(&variable) == [word]).then_some(variable),
        (Overrides::Adds, Value::Array(file), Value::Array(more)) => {
            let new = more.into_iter().filter(|item| !file.contains(item));
            Some(file.iter().cloned().chain(new).collect::<Vec<_>>().into())
        }
        (Overrides::Lowers, Value::Integer(file), Value::Integer(variable)) => {
            (variable < *file).then_some(Value::Integer(variable))
        }
        (Overrides::Adds | Overrides::Lowers, ..) => None,
    }
}

fn switch(kind: Kind, on: bool) -> Option<Value> {
    match kind {
        Kind::Flag => Some(Value::Boolean(on)),
        Kind::OnOff => Some(Value::from(if on { "on" } else { "off" })),
        _ => None,
    }
}

fn whole(kind: Kind, number: i64) -> Option<Value> {
    let fits = match kind {
        Kind::Number { min, max } => (i64::from(min)..=i64::from(max)).contains(&number),
        Kind::Limit { min, max } => number == 0 || (i64::from(min)..=i64::from(max)).contains(&number),
        _ => false,
    };
    fits.then_some(Value::Integer(number))
}

fn string(kind: Kind, text: &str) -> Option<Value> {
    let fits = match kind {
        Kind::Choice(words) => words.contains(&text),
        Kind::Text => !text.contains(char::is_control),
        Kind::Address => text.is_empty() || is_address(text),
        Kind::Variable => text.is_empty() || is_variable_name(text),
        Kind::TimeZone => text.is_empty() || is_time_zone(text),
        Kind::Loopback => text
            .parse()
            .is_ok_and(|address: std::net::IpAddr| address.is_loopback()),
        _ => false,
    };
    fits.then(|| Value::from(text))
}

fn list(kind: Kind, items: Vec<&str>) -> Option<Value> {
    let fits = match kind {
        Kind::List => items
            .iter()
            .all(|item| !item.trim().is_empty() && !item.contains(char::is_control)),
        Kind::Prices => items.iter().all(|item| item.parse::<Price>().is_ok()),
        Kind::ListOf(words) => !items.is_empty() && items.iter().all(|item| words.contains(item)),
        _ => false,
    };
    let mut distinct: Vec<&str> = Vec::new();
    for item in items {
        if !distinct.contains(&item) {
            distinct.push(item);
        }
    }
    fits.then(|| Value::from(distinct))
}

fn is_address(text: &str) -> bool {
    let rest = text
        .strip_prefix("http://")
        .or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        rest.starts_with(|first: char| first.is_alphanumeric() || first == '[')
            && !rest.contains(|letter: char| letter.is_whitespace() || letter.is_control())
    })
}

fn is_variable_name(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && text
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

fn is_time_zone(name: &str) -> bool {
    let known = jiff::tz::db();
    // Without a time zone database a good name cannot be told from a bad one.
    known.get(name).is_ok()
        || (known.is_definitively_empty() && !name.contains(|c: char| c.is_control() || c == ' '))
}
