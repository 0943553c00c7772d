//! `backstory config`: shows and changes the settings.

use std::io::{self, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use anyhow::{Result, bail};
use backstory_engine::settings::{
    KEYS, Resolved, SettingChange, SettingEntry, SettingKey, SettingSource, change, from_words, key_named,
    read, reference, repeatable, resolve, setting_json, to_words,
};
use clap::{Args, Subcommand};
use serde_json::{Value as Json, json};

use crate::json_output::with_envelope;

/// Show and change settings.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Show every setting, its value and where it comes from.
    List {
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print the value of one setting; a list one item per line.
    Get {
        /// The setting, such as `context.full`.
        key: String,
        /// Prints JSON.
        #[arg(long)]
        json: bool,
    },
    /// Change one setting in config.toml.
    Set(SetArgs),
    /// Return one setting to its default.
    Unset {
        /// The setting, such as `context.full`.
        key: String,
    },
    /// Print where config.toml is.
    Path,
    /// Prints docs/settings.md.
    #[command(hide = true)]
    Reference,
}

#[derive(Debug, Args)]
struct SetArgs {
    /// The setting, such as `capture.exclude`.
    key: String,
    /// The value; for a list, all of its items ('' empties it).
    #[arg(value_name = "VALUE", allow_negative_numbers = true, required_unless_present_any = ["add", "remove"])]
    values: Vec<String>,
    /// Add an item to a list.
    #[arg(long, value_name = "ITEM", conflicts_with = "values")]
    add: Vec<String>,
    /// Remove an item from a list.
    #[arg(long, value_name = "ITEM", conflicts_with = "values")]
    remove: Vec<String>,
}

/// Holds what the caller has to do after the command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct ConfigOutcome {
    /// Lines for stderr.
    pub messages: Vec<String>,
    /// True if the exit status is 1 although the command did what it could.
    pub failed: bool,
    /// True if the provider or its options changed.
    pub concerns_model: bool,
}

/// Sets a setting with a single value.
pub(crate) fn set(path: &Path, name: &str, value: &str, env: &[(String, String)]) -> Result<ConfigOutcome> {
    let arguments = ConfigArgs {
        action: Action::Set(SetArgs {
            key: name.to_owned(),
            values: vec![value.to_owned()],
            add: Vec::new(),
            remove: Vec::new(),
        }),
    };
    run(&arguments, path, env, &mut io::sink())
}

/// Runs `backstory config` on the file at `path`.
pub(crate) fn run(
    args: &ConfigArgs,
    path: &Path,
    env: &[(String, String)],
    out: &mut dyn Write,
) -> Result<ConfigOutcome> {
    match &args.action {
        Action::List { json } => {
            let resolved = resolve(path, read(path)?.as_deref(), env);
            if *json {
                list_json(&resolved, path, out)?;
            } else {
                list(&resolved, path, out)?;
            }
            Ok(ConfigOutcome {
                failed: !resolved.problems.is_empty(),
                messages: lines(&resolved.problems),
                ..ConfigOutcome::default()
            })
        }
        Action::Get { key, json } => get(
            key_named(key)?,
            *json,
            &resolve(path, read(path)?.as_deref(), env),
            out,
        ),
        Action::Set(args) => {
            let key = key_named(&args.key)?;
            changed(path, key, &wanted(key, args)?, env)
        }
        Action::Unset { key } => changed(path, key_named(key)?, &SettingChange::Unset, env),
        Action::Path => {
            writeln!(out, "{}", path.display())?;
            Ok(ConfigOutcome::default())
        }
        Action::Reference => {
            out.write_all(reference().as_bytes())?;
            Ok(ConfigOutcome::default())
        }
    }
}

fn list(resolved: &Resolved, path: &Path, out: &mut dyn Write) -> Result<()> {
    let dim = Style::new().dimmed();
    let bold = Style::new().bold();
    let place = Style::new().fg_color(Some(AnsiColor::Cyan.into()));
    let values: Vec<Vec<String>> = resolved.entries.iter().map(|entry| cell(&entry.value)).collect();
    let key_width = KEYS.iter().map(|key| key.to_string().len()).max().unwrap_or(0);
    let widths = values.iter().flatten().map(|line| line.chars().count());
    let value_width = widths.filter(|width| *width <= MAX_WIDTH).max().unwrap_or(0);
    for (SettingEntry { key, source, .. }, lines) in resolved.entries.iter().zip(values) {
        let is_default = *source == SettingSource::Default;
        let (mark, style, place) = if is_default {
            (' ', Style::new(), dim)
        } else {
            ('*', bold, place)
        };
        let (key, source) = (key.to_string(), source_shown(*source, path));
        let (first, rest) = lines
            .split_first()
            .map_or(("", &[][..]), |(first, rest)| (first, rest));
        write!(
            out,
            "{style}{mark} {key:key_width$}  {first:value_width$}{style:#}  "
        )?;
        writeln!(out, "{place}{source}{place:#}")?;
        for line in rest {
            writeln!(out, "{style}  {:key_width$}  {line}{style:#}", "")?;
        }
    }
    Ok(())
}

/// Maximum width of the value column.
const MAX_WIDTH: usize = 32;

/// Formats a value: one line, or several for a wide list.
fn cell(value: &toml::Value) -> Vec<String> {
    let line = shown(value);
    if value.is_array() && line.chars().count() > MAX_WIDTH {
        to_words(value)
    } else {
        vec![line]
    }
}

fn list_json(resolved: &Resolved, path: &Path, out: &mut dyn Write) -> Result<()> {
    let settings: Vec<Json> = resolved.entries.iter().map(setting_json).collect();
    let fields = json!({ "path": path, "settings": settings, "problems": lines(&resolved.problems) });
    let all = with_envelope(fields);
    writeln!(out, "{all:#}")?;
    Ok(())
}

fn get(key: &SettingKey, json: bool, resolved: &Resolved, out: &mut dyn Write) -> Result<ConfigOutcome> {
    let value = &resolved.entry(key).value;
    if json {
        writeln!(out, "{}", serde_json::to_string(value)?)?;
    } else {
        for word in to_words(value) {
            writeln!(out, "{word}")?;
        }
    }
    // A script that reads this value must not mistake the default for the user's own value.
    let failed = resolved.problems.iter().any(|problem| problem.concerns(key));
    Ok(ConfigOutcome {
        messages: lines(&resolved.problems),
        failed,
        ..ConfigOutcome::default()
    })
}

/// Parses the arguments of `set`, before the file is touched.
fn wanted(key: &SettingKey, args: &SetArgs) -> Result<SettingChange> {
    if args.values.is_empty() {
        return Ok(SettingChange::Edit {
            add: args.add.clone(),
            remove: args.remove.clone(),
        });
    }
    let words: Vec<&str> = args.values.iter().map(String::as_str).collect();
    match from_words(key.kind, &words) {
        Some(value) => Ok(SettingChange::Set(value)),
        None => bail!(
            "{key} = {}: expected {}",
            repeatable(key, &words.join(" ")),
            key.kind
        ),
    }
}

fn changed(
    path: &Path,
    key: &'static SettingKey,
    wanted: &SettingChange,
    env: &[(String, String)],
) -> Result<ConfigOutcome> {
    let done = change(path, key, wanted)?;
    let value = shown(&done.value);
    let what = match (done.written, wanted) {
        (true, SettingChange::Unset) => format!("{key} is reset to its default, {value}"),
        (true, _) => format!("{key} is now {value}"),
        (false, SettingChange::Unset) => format!(
            "{key} is not set in {}; it is at its default, {value}",
            path.display()
        ),
        (false, _) => format!("{key} is already {value}"),
    };
    let mut messages = vec![what];
    if resolve(path, None, env).entry(key).source == SettingSource::Environment {
        messages.push(format!("warning: {} is set and overrides this", key.variable()));
    }
    messages.extend(done.problems.iter().map(|problem| format!("warning: {problem}")));
    Ok(ConfigOutcome {
        messages,
        failed: false,
        concerns_model: done.written && key.section == "distill",
    })
}

fn shown(value: &toml::Value) -> String {
    let words = to_words(value).join(", ");
    if words.is_empty() {
        String::from("(empty)")
    } else {
        words
    }
}

fn source_shown(source: SettingSource, path: &Path) -> String {
    match source {
        SettingSource::Default => String::from("default"),
        SettingSource::File { line } => {
            format!(
                "{}:{line}",
                path.file_name().unwrap_or(path.as_os_str()).to_string_lossy()
            )
        }
        SettingSource::Environment => String::from("environment"),
    }
}

fn lines<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

#[cfg(test)]
mod tests;
