//! Reads the state of our entries in the files of a host. Writes nothing and draws no conclusions: `doctor` does.

use std::path::PathBuf;

use anyhow::{Result, anyhow};
use backstory_capture::host::{HostSpec, InstallItem, OUR_MARK};
use serde_json::Value;

use super::{json::Document, owned_entries, plan};
use crate::receipt::Receipt;

/// State of a file of a host.
#[derive(Debug)]
pub(crate) struct HostFile {
    pub(crate) path: PathBuf,
    /// True if the receipt lists the file.
    pub(crate) is_noted: bool,
    pub(crate) state: State,
}

/// Content of a file, or the reason why it cannot be read.
#[derive(Debug)]
pub(crate) enum State {
    /// The file does not exist.
    Gone,
    /// The host or we cannot parse the file.
    Odd {
        why: String,
        /// True if our name is in it.
        names_us: bool,
        /// True if comments or trailing commas are the only problem.
        is_commented: bool,
    },
    /// The file was parsed.
    Read(Content),
}

/// Parsed file.
#[derive(Debug, Default)]
pub(crate) struct Content {
    /// The whole value, unless the file is a program.
    pub(crate) value: Value,
    /// Programs that our entries call.
    pub(crate) programs: Vec<String>,
    /// Entries that should be there and are not.
    pub(crate) missing: Vec<&'static str>,
}

/// Reads the files of a host: the current ones, and those in the receipt.
pub(crate) fn inspect(receipt: &Receipt, host: &'static HostSpec) -> Result<Vec<HostFile>> {
    let files = plan::known_files(receipt, host)?.into_iter();
    Ok(files
        .map(|file| {
            let is_noted = receipt.written(host.name, &file.path).is_some();
            let state = match plan::read(&file.path) {
                Ok(None) => State::Gone,
                Ok(Some(bytes)) => {
                    let text = String::from_utf8_lossy(&bytes);
                    let text = text.trim_start_matches('\u{feff}');
                    match content(host, &file.parts, is_noted, text) {
                        Ok(content) => State::Read(content),
                        Err(error) => odd(&error, text),
                    }
                }
                Err(error) => odd(&error, ""),
            };
            HostFile {
                path: file.path,
                is_noted,
                state,
            }
        })
        .collect())
}

fn odd(error: &anyhow::Error, text: &str) -> State {
    State::Odd {
        why: format!("{error:#}"),
        names_us: text.contains("backstory"),
        is_commented: !text.is_empty() && Document::read(text).is_ok(),
    }
}

fn content(host: &HostSpec, parts: &[&InstallItem], is_noted: bool, text: &str) -> Result<Content> {
    let mut content = Content::default();
    for part in parts {
        match part {
            InstallItem::Hooks { .. } => {
                content.value = json(host, text)?;
                add_hooks(&mut content, host);
            }
            InstallItem::Server { key, .. } => {
                content.value = json(host, text)?;
                add_server(&mut content, key, is_noted);
            }
            InstallItem::ServerToml { key, .. } => {
                content.value = toml::from_str(text).map_err(|error| anyhow!("{}", error.message()))?;
                add_server(&mut content, key, is_noted);
            }
            InstallItem::StatusLine { .. } => {}
            InstallItem::File { .. } if text.contains(OUR_MARK) => {}
            InstallItem::File { .. } => content.missing.push("the plugin"),
        }
    }
    Ok(content)
}

fn json(host: &HostSpec, text: &str) -> Result<Value> {
    match host.wants_plain_json && !text.trim().is_empty() {
        true => Ok(serde_json::from_str(text)?),
        false => Ok(Document::read(text)?.value()),
    }
}

fn add_hooks(content: &mut Content, host: &HostSpec) {
    for row in host.hooks {
        let entries = content.value["hooks"][row.theirs].as_array();
        let hooks = entries
            .into_iter()
            .flatten()
            .flat_map(|entry| match &entry["hooks"] {
                Value::Array(group) => group.as_slice(),
                _ => std::slice::from_ref(entry),
            });
        let programs: Vec<String> = hooks.filter_map(owned_entries::hook_program).collect();
        if programs.is_empty() {
            content.missing.push(row.theirs);
        }
        content.programs.extend(programs);
    }
}

/// Reports a missing MCP server only if we wrote it: a user may want hooks alone, or have a server of that name.
fn add_server(content: &mut Content, key: &str, is_noted: bool) {
    let entry = &content.value[key]["backstory"];
    if entry.is_null() && is_noted {
        content.missing.push("the MCP server");
    }
    content.programs.extend(owned_entries::server_program(entry));
}
