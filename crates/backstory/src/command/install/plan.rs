//! Plans changes to host files: current content, content without our entries, and new content. Writes nothing.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, anyhow, bail};
use backstory_capture::host::{ConfigPath, HostSpec, InstallItem, OUR_MARK};
use backstory_engine::error::{HintContext as _, HintedError};
use backstory_system::UNPROTECT_COMMAND;
use backstory_text::sha256_hex;

use super::{json::Document, paths, toml};
use crate::receipt::{InstalledFile, Receipt};

/// Planned change of one file.
#[derive(Clone, Debug)]
pub(crate) struct HostFileChange {
    /// Host that the file belongs to.
    pub(crate) host: &'static HostSpec,
    /// Path of the file, as the host knows it.
    pub(crate) path: PathBuf,
    /// Current content; `None` if there is no file.
    pub(crate) current: Option<Vec<u8>>,
    /// Content without our entries.
    pub(crate) base: Option<Vec<u8>>,
    /// New content; `None` to remove the file.
    pub(crate) new: Option<Vec<u8>>,
    /// True if `base` is, byte for byte, the file before the first installation.
    pub(crate) is_exact: bool,
}

impl HostFileChange {
    /// Returns true if there is something to write.
    pub(crate) fn is_needed(&self) -> bool {
        self.new != self.current
    }
}

/// Plans the installation for a host.
pub(crate) fn install(
    receipt: &Receipt,
    host: &'static HostSpec,
    program: &str,
    status_line: StatusLine,
) -> Result<Vec<HostFileChange>> {
    plan(receipt, host, files(host)?, &|file, current, base| {
        let old = base.map(readable).transpose()?.unwrap_or_default();
        let (mark, text) = match old.strip_prefix(BYTE_ORDER_MARK) {
            Some(text) => (BYTE_ORDER_MARK, text),
            None => ("", old),
        };
        let mut text = text.to_owned();
        for part in &file.parts {
            let is_optional = matches!(part, InstallItem::StatusLine { .. });
            if !is_optional || status_line == StatusLine::Add || has_status_line(current) {
                text = add(host, part, &text, program)?;
            }
        }
        Ok(Some(format!("{mark}{text}").into_bytes()))
    })
}

/// Plans the removal, also of files that were installed under other environment variables.
pub(crate) fn uninstall(receipt: &Receipt, host: &'static HostSpec) -> Result<Vec<HostFileChange>> {
    let files = known_files(receipt, host)?;
    plan(receipt, host, files, &|_, _, base| Ok(base.map(<[u8]>::to_vec)))
}

/// Decision about the status line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatusLine {
    /// Stays as it is: absent, ours or another one.
    Keep,
    /// Is added, unless there is one.
    Add,
}

fn has_status_line(content: Option<&[u8]>) -> bool {
    let text = content.and_then(|content| std::str::from_utf8(content).ok());
    let document = text.and_then(|text| Document::read(text.trim_start_matches(BYTE_ORDER_MARK)).ok());
    document.is_some_and(|document| document.has_own_status_line())
}

const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A file with everything that is written to it for one host.
pub(super) struct PlannedFile {
    pub(super) path: PathBuf,
    pub(super) parts: Vec<&'static InstallItem>,
}

/// Renders the new content of a file from its current content and from that without our entries.
type RenderFile<'m> = &'m dyn Fn(&PlannedFile, Option<&[u8]>, Option<&[u8]>) -> Result<Option<Vec<u8>>>;

fn plan(
    receipt: &Receipt,
    host: &'static HostSpec,
    files: Vec<PlannedFile>,
    make: RenderFile<'_>,
) -> Result<Vec<HostFileChange>> {
    let mut changes = Vec::new();
    for file in files {
        let shown = paths::shown(&file.path);
        let current = read(&file.path).with_context(|| format!("could not read {shown}"))?;
        let (message, hint) = (
            format!("could not parse {shown}"),
            "fix the file manually; nothing was changed",
        );
        let (base, is_exact) = base(receipt, host, &file, current.as_deref()).hint_context(&message, hint)?;
        let new = make(&file, current.as_deref(), base.as_deref()).hint_context(&message, hint)?;
        let change = HostFileChange {
            host,
            path: file.path,
            current,
            base,
            new,
            is_exact,
        };
        if change.is_needed() {
            check_writable(&change.path)?;
        }
        changes.push(change);
    }
    Ok(changes)
}

/// Lists the files of a host, and further ones from the receipt.
pub(super) fn known_files(receipt: &Receipt, host: &'static HostSpec) -> Result<Vec<PlannedFile>> {
    let mut files = files(host)?;
    for written in receipt.hosts.get(host.name).into_iter().flatten() {
        if files.iter().any(|known| known.path == written.path) {
            continue;
        }
        let is_in_it = |part: &&InstallItem| {
            let (file, instead) = paths_of(part);
            let mut places = [file].into_iter().chain(instead);
            places.any(|place| written.path.ends_with(place.path))
        };
        files.push(PlannedFile {
            path: written.path.clone(),
            parts: host.parts.iter().filter(is_in_it).collect(),
        });
    }
    Ok(files)
}

/// Lists the current files of a host, with the items that go into each.
fn files(host: &'static HostSpec) -> Result<Vec<PlannedFile>> {
    let mut files: Vec<PlannedFile> = Vec::new();
    for part in host.parts {
        let (file, instead) = paths_of(part);
        let instead = instead.map(paths::resolve).transpose()?;
        let path = match instead.filter(|path| path.exists()) {
            Some(path) => path,
            None => paths::resolve(file)?,
        };
        match files.iter_mut().find(|known| known.path == path) {
            Some(known) => known.parts.push(part),
            None => files.push(PlannedFile {
                path,
                parts: vec![part],
            }),
        }
    }
    Ok(files)
}

/// Returns the path of an item, and the path that is used instead if it exists.
fn paths_of(part: &InstallItem) -> (&ConfigPath, Option<&ConfigPath>) {
    match part {
        InstallItem::Server { file, instead, .. } => (file, instead.as_ref()),
        InstallItem::Hooks { file, .. }
        | InstallItem::ServerToml { file, .. }
        | InstallItem::StatusLine { file, .. }
        | InstallItem::File { file, .. } => (file, None),
    }
}

pub(super) fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(content) => Ok(Some(content)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Refuses a write-protected file, although replacing it would be possible.
fn check_writable(path: &Path) -> Result<()> {
    let is_protected = fs::metadata(path).is_ok_and(|file| file.permissions().readonly());
    if is_protected {
        let shown = paths::shown(path);
        bail!(
            HintedError::new(format_args!("{shown} is write-protected")).hint(format_args!(
                "`{UNPROTECT_COMMAND} {shown}` allows it; nothing was changed"
            ))
        );
    }
    Ok(())
}

/// Returns the content of a file without our entries: exactly, if it is unchanged since; else by removing them.
fn base(
    receipt: &Receipt,
    host: &HostSpec,
    file: &PlannedFile,
    current: Option<&[u8]>,
) -> Result<(Option<Vec<u8>>, bool)> {
    let Some(current) = current else {
        return Ok((None, true));
    };
    let written = receipt.written(host.name, &file.path);
    if let Some(written) = written.filter(|written| written.after == sha256_hex(current)) {
        match saved(written) {
            Ok(before) => return Ok((before, written.is_exact)),
            // Without the backup, our entries can still be removed.
            Err(_) => return Ok((without_ours(file, current)?, false)),
        }
    }
    let base = without_ours(file, current)?;
    // A file that we created and that has no other entries.
    let is_left_over =
        |text: &[u8]| is_empty(text) && written.is_some_and(|written| written.before.is_none());
    if base.as_deref().is_some_and(is_left_over) {
        return Ok((None, true));
    }
    let is_exact = base.as_deref() == Some(current);
    Ok((base, is_exact))
}

fn saved(written: &InstalledFile) -> Result<Option<Vec<u8>>> {
    let Some(before) = &written.before else {
        return Ok(None);
    };
    let content = fs::read(&before.copy)?;
    match sha256_hex(&content) == before.sha256 {
        true => Ok(Some(content)),
        false => bail!("{} was modified", before.copy.display()),
    }
}

fn is_empty(content: &[u8]) -> bool {
    let text: String = String::from_utf8_lossy(content).split_whitespace().collect();
    matches!(text.as_str(), "" | "{}" | "{\"version\":1}")
}

fn without_ours(file: &PlannedFile, current: &[u8]) -> Result<Option<Vec<u8>>> {
    let old = readable(current)?;
    let (mark, text) = match old.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => (BYTE_ORDER_MARK, text),
        None => ("", old),
    };
    let mut text = text.to_owned();
    for part in &file.parts {
        match remove(part, &text)? {
            Some(left) => text = left,
            None => return Ok(None),
        }
    }
    Ok(Some(format!("{mark}{text}").into_bytes()))
}

fn readable(content: &[u8]) -> Result<&str> {
    std::str::from_utf8(content).map_err(|_| anyhow!("not valid UTF-8"))
}

/// Adds one item to a file.
fn add(host: &HostSpec, part: &InstallItem, text: &str, program: &str) -> Result<String> {
    let start = if text.trim().is_empty() { "{}\n" } else { text };
    match part {
        InstallItem::Hooks { version, entry, .. } => {
            let document = Document::read(start)?;
            if let Some(version) = version {
                document.add_version(*version)?;
            }
            for row in host.hooks {
                document.add_hook(row, &entry(row, program))?;
            }
            Ok(document.text())
        }
        InstallItem::Server { key, entry, .. } => {
            let document = Document::read(start)?;
            document.add_server(key, &entry(program))?;
            Ok(document.text())
        }
        InstallItem::StatusLine { entry, .. } => {
            let document = Document::read(start)?;
            document.add_status_line(&entry(program))?;
            Ok(document.text())
        }
        InstallItem::ServerToml { key, .. } => toml::add_server(text, key, program),
        InstallItem::File { text, .. } => {
            Ok(text.replace("{program}", &serde_json::Value::from(program).to_string()))
        }
    }
}

/// Removes one item from a file; `None` if the file is entirely ours.
fn remove(part: &InstallItem, text: &str) -> Result<Option<String>> {
    match part {
        InstallItem::Hooks { .. } | InstallItem::Server { .. } | InstallItem::StatusLine { .. }
            if text.trim().is_empty() =>
        {
            Ok(Some(text.to_owned()))
        }
        InstallItem::StatusLine { .. } => {
            let document = Document::read(text)?;
            document.remove_status_line();
            Ok(Some(document.text()))
        }
        InstallItem::Hooks { .. } => {
            let document = Document::read(text)?;
            document.remove_hooks();
            Ok(Some(document.text()))
        }
        InstallItem::Server { key, .. } => {
            let document = Document::read(text)?;
            document.remove_server(key);
            Ok(Some(document.text()))
        }
        InstallItem::ServerToml { key, .. } => toml::remove_server(text, key).map(Some),
        InstallItem::File { .. } if text.contains(OUR_MARK) => Ok(None),
        InstallItem::File { .. } => bail!("another program wrote it"),
    }
}
