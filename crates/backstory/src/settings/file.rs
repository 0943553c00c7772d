//! `config.toml` on disk: read whole, changed one key at a time, replaced in one step.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::keys::Key;
use super::{Problem, Source, document, resolve};

/// What a new file starts with.
const HEAD: &str = "\
# Settings of backstory. `backstory config list` shows all of them with their values;
# only what differs from the defaults has to stand here.
";

/// What is to become of one key.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// It gets this value, which must be checked.
    Set(toml::Value),
    /// Its list loses and gains items; each one removed must be there.
    Edit {
        /// Items to append unless they are there.
        add: Vec<String>,
        /// Items to take out.
        remove: Vec<String>,
    },
    /// It returns to its default.
    Unset,
}

/// What a change did.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Changed {
    /// The value that the file, or else the default, now gives the key.
    pub value: toml::Value,
    /// Whether the file had to be written.
    pub written: bool,
    /// What else is wrong in the file.
    pub problems: Vec<Problem>,
}

/// Reads the file; there need not be one.
pub(crate) fn read(path: &Path) -> Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not read {}", path.display())),
    }
}

/// Changes one key in the file and leaves the rest of it as it is.
pub(crate) fn change(path: &Path, key: &'static Key, change: &Change) -> Result<Changed> {
    let target =
        follow_links(path).with_context(|| format!("could not follow the link {}", path.display()))?;
    let folder = target
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    // Two changes at once must not each write the file they read. The folder is locked because the file is replaced.
    let folder = lock(folder).with_context(|| format!("could not open the folder {}", folder.display()))?;

    let text = read(&target)?;
    let before = resolve(path, text.as_deref(), &[]);
    if let Some(problem) = before.problems.iter().find(|problem| problem.is_syntax()) {
        bail!(
            "{problem}\nhint: mend {} by hand first; it was not changed",
            path.display()
        );
    }
    let wanted = match change {
        Change::Set(value) => Some(value.clone()),
        Change::Edit { add, remove } => Some(edited(&before, key, add, remove)?),
        Change::Unset => None,
    };
    let now = before.entry(key);
    if matches!(now.source, Source::File { .. }) && wanted.as_ref() == Some(&now.value) {
        return Ok(Changed {
            value: now.value.clone(),
            written: false,
            problems: before.problems,
        });
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
        bail!("could not change {key} in {}; edit it by hand", path.display());
    }
    let written = new != text.unwrap_or_default();
    if written {
        write_atomically(&target, &new, &folder)
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    Ok(Changed {
        value,
        written,
        problems: after.problems,
    })
}

/// Returns a list after some items left and others came.
fn edited(now: &super::Resolved, key: &Key, add: &[String], remove: &[String]) -> Result<toml::Value> {
    if !key.kind.is_list() {
        bail!("{key} is not a list; expected {}", key.kind);
    }
    if let Some(problem) = now.problems.iter().find(|problem| problem.concerns(key)) {
        bail!("{problem}\nhint: `backstory config set {key} ITEM…` sets the whole list");
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

/// Replaces a file in one step, so that a crash leaves the old one or the new one; its mode is kept.
fn write_atomically(target: &Path, text: &str, folder: &File) -> io::Result<()> {
    let mode = fs::metadata(target).map_or(0o600, |old| old.permissions().mode() & 0o7777);
    let mut name = target.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    let temporary = target.with_file_name(name);
    let result = write_new(&temporary, text, mode).and_then(|()| fs::rename(&temporary, target));
    match result {
        Ok(()) => folder.sync_all(),
        Err(error) => {
            // The first error is the one to tell; the rest of it is a stray file of a few bytes.
            let _gone = fs::remove_file(&temporary);
            Err(error)
        }
    }
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    // Left behind by a crashed process that had our number.
    if fs::symlink_metadata(path).is_ok() {
        fs::remove_file(path)?;
    }
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Opens and locks a folder, making it when it is not there.
fn lock(folder: &Path) -> io::Result<File> {
    if !folder.exists() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let file = File::open(folder)?;
    // Some network file systems have no locks; there, the last change wins.
    let _locked = file.lock();
    Ok(file)
}

/// Returns where a file really is, so that a link into a folder of dotfiles survives a change.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..32 {
        match fs::read_link(&path) {
            Ok(link) => path = path.parent().unwrap_or(Path::new("")).join(link),
            // Not a link, or nothing there yet.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => {
                return Ok(path);
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("it leads to itself"))
}
