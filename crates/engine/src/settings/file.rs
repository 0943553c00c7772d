//! `config.toml` on disk: read as a whole, changed by key, replaced atomically.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, Result, bail};

use super::keys::SettingKey;
use super::{SettingSource, SettingsProblem, document, resolve};
use crate::{atomic_file, error::HintedError};

/// Header of a new file.
const HEAD: &str = "\
# Settings of backstory. `backstory config list` shows all of them with their values;
# only what differs from the defaults has to stand here.
";

/// Change of one key.
#[derive(Clone, Debug, PartialEq)]
pub enum SettingChange {
    /// Sets a value, which must be checked.
    Set(toml::Value),
    /// Adds and removes items of a list; each removed item must exist.
    Edit {
        /// Items to append unless they exist.
        add: Vec<String>,
        /// Items to remove.
        remove: Vec<String>,
    },
    /// Resets the key to its default.
    Unset,
}

/// Result of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Changed {
    /// Value of the key in the file, or else its default.
    pub value: toml::Value,
    /// True if the file was written.
    pub written: bool,
    /// Other problems in the file.
    pub problems: Vec<SettingsProblem>,
}

/// Reads the file, which may not exist.
pub fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not read {}", path.display())),
    }
}

/// Changes one key in the file and keeps the rest.
pub fn change(path: &Path, key: &'static SettingKey, change: &SettingChange) -> Result<Changed> {
    rewrite(path, |text| changed(path, text, key, change))
}

/// Changes several keys at once: all of them or none.
pub fn change_all(path: &Path, changes: &[(&'static SettingKey, SettingChange)]) -> Result<()> {
    rewrite(path, |mut text| {
        for (key, change) in changes {
            (text, _) = changed(path, text, key, change)?;
        }
        Ok((text, ()))
    })
}

/// Replaces the text of the file, unless it is unchanged.
fn rewrite<T>(path: &Path, make: impl FnOnce(Option<String>) -> Result<(Option<String>, T)>) -> Result<T> {
    let target = atomic_file::follow_links(path)
        .with_context(|| format!("could not follow the link {}", path.display()))?;
    let folder = atomic_file::folder_of(&target);
    // Two concurrent changes must not overwrite each other. The folder is locked because the file itself is replaced.
    let _locked = atomic_file::lock(folder)
        .with_context(|| format!("could not open the folder {}", folder.display()))?;

    let text = read(&target)?;
    let (new, made) = make(text.clone())?;
    let new = new.unwrap_or_default();
    if new != text.unwrap_or_default() {
        atomic_file::write_atomically(&target, new.as_bytes())
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(made)
}

/// Returns the text with one key changed, and the result of the change.
fn changed(
    path: &Path,
    text: Option<String>,
    key: &'static SettingKey,
    change: &SettingChange,
) -> Result<(Option<String>, Changed)> {
    let before = resolve(path, text.as_deref(), &[]);
    if let Some(problem) = before.problems.iter().find(|problem| problem.is_syntax()) {
        let hint = format_args!("fix {} manually first; it was not changed", path.display());
        bail!(HintedError::new(problem).hint(hint));
    }
    let wanted = match change {
        SettingChange::Set(value) => Some(value.clone()),
        SettingChange::Edit { add, remove } => Some(edited(&before, key, add, remove)?),
        SettingChange::Unset => None,
    };
    let now = before.entry(key);
    if matches!(now.source, SettingSource::File { .. }) && wanted.as_ref() == Some(&now.value) {
        let same = Changed {
            value: now.value.clone(),
            written: false,
            problems: before.problems,
        };
        return Ok((text, same));
    }
    let new = match &wanted {
        Some(value) => document::set(text.as_deref().unwrap_or(HEAD), key, value),
        None => document::unset(text.as_deref().unwrap_or_default(), key),
    };
    let new = new.with_context(|| format!("could not change {key} in {}", path.display()))?;
    let after = resolve(path, Some(&new), &[]);
    let value = after.entry(key).value.clone();
    if wanted.is_some_and(|wanted| wanted != value)
        || after.problems.iter().any(|problem| problem.concerns(key))
    {
        bail!("could not change {key} in {}; edit it manually", path.display());
    }
    let written = new != text.as_deref().unwrap_or_default();
    let done = Changed {
        value,
        written,
        problems: after.problems,
    };
    // A missing file does not become an empty one.
    Ok((if written { Some(new) } else { text }, done))
}

/// Returns a list after removing and adding items.
fn edited(now: &super::Resolved, key: &SettingKey, add: &[String], remove: &[String]) -> Result<toml::Value> {
    if !key.kind.is_list() {
        bail!("{key} is not a list; expected {}", key.kind);
    }
    if let Some(problem) = now.problems.iter().find(|problem| problem.concerns(key)) {
        let hint = format_args!("`backstory config set {key} ITEM…` sets the whole list");
        bail!(HintedError::new(problem).hint(hint));
    }
    let mut items = super::to_words(&now.entry(key).value);
    for item in remove {
        let Some(place) = items.iter().position(|there| there == item) else {
            bail!("`{}` is not in {key}", super::repeatable(key, item));
        };
        items.remove(place);
    }
    items.extend(add.iter().cloned());
    let words: Vec<&str> = items.iter().map(String::as_str).collect();
    match super::from_words(key.kind, &words) {
        Some(value) => Ok(value),
        None => bail!(
            "{key} = {}: expected {}",
            super::repeatable(key, &items.join(", ")),
            key.kind
        ),
    }
}
