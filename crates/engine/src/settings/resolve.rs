//! Resolves each setting: the environment overrides the file, as far as [`super::Overrides`] allows, and the file the default.

use std::path::Path;

use toml_edit::{Document, Item, TableLike};

use super::keys::{KEYS, Kind, SettingKey, section_names};
use super::problem::{SettingsProblem, shown};
use super::suggest::nearest;
use super::{Settings, defaults, value};

/// All settings with their sources, and the problems found.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// One entry per key, in the order of [`KEYS`].
    pub entries: Vec<SettingEntry>,
    /// Problems: those of the file by line, then those of the environment.
    pub problems: Vec<SettingsProblem>,
}

/// Resolved setting.
#[derive(Clone, Debug, PartialEq)]
pub struct SettingEntry {
    /// Key of the setting.
    pub key: &'static SettingKey,
    /// Checked value.
    pub value: toml::Value,
    /// Source of the value.
    pub source: SettingSource,
}

/// Source of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// Not set.
    Default,
    /// The settings file, on this line.
    File {
        /// Counted from 1.
        line: usize,
    },
    /// The environment variable.
    Environment,
}

/// Parses the text of the file and the environment, and records the source of each value.
pub fn resolve(path: &Path, text: Option<&str>, env: &[(String, String)]) -> Resolved {
    let mut resolved = Resolved::with_defaults();
    if let Some(text) = text {
        let name = path
            .file_name()
            .map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
        FileReader {
            name: shown(&name),
            text,
            resolved: &mut resolved,
        }
        .read();
    }
    for (variable, text) in env {
        resolved.read_variable(variable, text);
    }
    resolved
}

impl Resolved {
    fn with_defaults() -> Self {
        let entry = |key: &'static SettingKey| {
            let value = defaults()[key.section][key.name].clone();
            SettingEntry {
                key,
                value,
                source: SettingSource::Default,
            }
        };
        Self {
            entries: KEYS.iter().map(entry).collect(),
            problems: Vec::new(),
        }
    }

    /// Returns the settings as typed fields.
    pub fn settings(&self) -> Settings {
        let mut table = toml::Table::new();
        for SettingEntry { key, value, .. } in &self.entries {
            let section = table
                .entry(key.section)
                .or_insert_with(|| toml::Table::new().into());
            if let Some(section) = section.as_table_mut() {
                section.insert(key.name.to_owned(), value.clone());
            }
        }
        Settings::from_table(table)
    }

    /// Returns the entry of one key.
    pub fn entry(&self, key: &SettingKey) -> &SettingEntry {
        self.entries
            .iter()
            .find(|entry| entry.key == key)
            .expect("every key has an entry")
    }

    fn put(&mut self, key: &'static SettingKey, value: toml::Value, source: SettingSource) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.key == key) {
            *entry = SettingEntry { key, value, source };
        }
    }

    /// Reads one variable, if it is a setting or resembles one.
    fn read_variable(&mut self, variable: &str, text: &str) {
        let Some(rest) = variable.strip_prefix("BACKSTORY_") else {
            return;
        };
        let rest = rest.to_ascii_lowercase();
        let (section, name) = rest.split_once('_').unwrap_or((&rest, ""));
        // The address and the credential of a machine without a home are no settings.
        if !section_names().contains(&section) || ["team_url", "team_token"].contains(&rest.as_str()) {
            return;
        }
        let Some(key) = KEYS.iter().find(|key| key.variable() == variable) else {
            let known = match SettingKey::nearest(Some(section), name) {
                Some(key) => format!("did you mean {}?", key.variable()),
                None => String::from("`backstory config list --json` lists them"),
            };
            return self
                .problems
                .push(SettingsProblem::unknown(shown(variable), "variable", &known));
        };
        match from_variable(key.kind, text) {
            Ok(Some(value)) => match value::overridden(key.overrides, &self.entry(key).value, value) {
                Some(value) => self.put(key, value, SettingSource::Environment),
                None => self.problems.push(SettingsProblem::looser(key)),
            },
            Ok(None) => {}
            Err(BadValue) => {
                let given = format!("={}", repeatable(key, text));
                self.problems
                    .push(SettingsProblem::value(key.variable(), &given, key));
            }
        }
    }
}

/// Error for a text that is not of the expected kind.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadValue;

/// Parses a variable; an empty one counts as not set, unless empty is a value of this kind.
pub(super) fn from_variable(kind: Kind, text: &str) -> Result<Option<toml::Value>, BadValue> {
    let words: Vec<&str> = if kind.is_list() {
        text.split(',').collect()
    } else {
        vec![text]
    };
    match value::from_words(kind, &words) {
        None if text.trim().is_empty() => Ok(None),
        None => Err(BadValue),
        some => Ok(some),
    }
}

/// Parses one file into the settings.
struct FileReader<'a> {
    name: String,
    text: &'a str,
    resolved: &'a mut Resolved,
}

impl FileReader<'_> {
    fn read(mut self) {
        let document = match Document::parse(self.text) {
            Ok(document) => document,
            Err(error) => {
                let (line, column) = position(self.text, error.span().map_or(0, |span| span.start));
                let location = format!("{}:{line}:{column}", self.name);
                return self
                    .resolved
                    .problems
                    .push(SettingsProblem::syntax(location, plain(error.message())));
            }
        };
        let mut problems = Vec::new();
        for (name, item) in document.iter() {
            let line = self.line(document.as_table(), name);
            self.read_section(name, item, line, &mut problems);
        }
        problems.sort_by_key(|(line, _)| *line);
        self.resolved
            .problems
            .extend(problems.into_iter().map(|(_, problem)| problem));
    }

    fn read_section(
        &mut self,
        section: &str,
        item: &Item,
        line: usize,
        problems: &mut Vec<(usize, SettingsProblem)>,
    ) {
        let location = format!("{}:{line}", self.name);
        if !section_names().contains(&section) {
            let is_section = item.is_table_like() || item.is_array_of_tables();
            return problems.push((line, unknown_at_top(location, section, is_section)));
        }
        let Some(table) = item.as_table_like() else {
            let found = if item.is_array_of_tables() {
                "a list of sections"
            } else {
                "a value"
            };
            let message = format!("`{section}` is {found}; expected one section, headed [{section}]");
            return problems.push((line, SettingsProblem::shape(location, &message)));
        };
        for (name, item) in table.iter() {
            let line = self.line(table, name);
            if let Err(problem) = self.read_key(section, name, item, line) {
                problems.push((line, problem));
            }
        }
    }

    fn read_key(
        &mut self,
        section: &str,
        name: &str,
        item: &Item,
        line: usize,
    ) -> Result<(), SettingsProblem> {
        let location = format!("{}:{line}", self.name);
        let Some(key) = SettingKey::at(section, name) else {
            return Err(unknown_key(location, Some(section), name));
        };
        let value = item
            .as_value()
            .and_then(|value| value::from_toml(key.kind, value));
        let Some(value) = value else {
            let text = item
                .span()
                .and_then(|span| self.text.get(span))
                .filter(|_| item.is_value());
            let given = format!(
                ": {key} = {}",
                text.map_or_else(|| "(a section)".into(), |text| repeatable(key, text))
            );
            return Err(SettingsProblem::value(location, &given, key));
        };
        self.resolved.put(key, value, SettingSource::File { line });
        Ok(())
    }

    /// Returns the line of a key in a table.
    fn line(&self, table: &dyn TableLike, name: &str) -> usize {
        let (key, item) = table.get_key_value(name).unzip();
        let span = key
            .and_then(toml_edit::Key::span)
            .or_else(|| item.and_then(Item::span));
        position(self.text, span.map_or(0, |span| span.start)).0
    }
}

fn unknown_at_top(location: String, name: &str, is_section: bool) -> SettingsProblem {
    if !is_section {
        return unknown_key(location, None, name);
    }
    let names = section_names();
    let known = match nearest(&names, name) {
        Some(section) => format!("did you mean `[{section}]`?"),
        None => format!("there are {}", names.join(", ")),
    };
    SettingsProblem::unknown(location, &format!("section `[{}]`", shown(name)), &known)
}

fn unknown_key(location: String, section: Option<&str>, name: &str) -> SettingsProblem {
    // A name with a dot was written in quotes, which is the mistake.
    let quoted = if name.contains('.') {
        format!("\"{}\"", shown(name))
    } else {
        shown(name)
    };
    let full = section.map_or_else(|| quoted.clone(), |section| format!("{section}.{quoted}"));
    let known = match SettingKey::named(name).or_else(|| SettingKey::nearest(section, name)) {
        Some(key) => format!("did you mean `{key}`?"),
        None => String::from("`backstory config list` lists them"),
    };
    let known_section = section_names().into_iter().find(|known| Some(*known) == section);
    SettingsProblem::unknown(location, &format!("key `{full}`"), &known).in_section(known_section)
}

/// Returns a bad value in a form that may be printed: instead of a variable's name, users often enter the secret itself.
pub fn repeatable(key: &SettingKey, text: &str) -> String {
    if key.kind == Kind::Variable {
        return String::from("(not shown)");
    }
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.is_empty() {
        String::from("(empty)")
    } else {
        shown(&text)
    }
}

/// Simplifies the parser's message: keeps missing characters, drops grammar rules.
fn plain(message: &str) -> &str {
    match message.split_once(", expected ") {
        Some((plain, expected)) if !expected.starts_with('`') => plain,
        _ => message,
    }
}

/// Returns line and column of a byte, both counted from 1.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}
