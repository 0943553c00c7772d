//! Record of the files that `install` wrote (`installed.json`), so that `uninstall` can restore them.

use std::{
    collections::BTreeMap,
    fs::{self, DirBuilder},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use backstory_engine::error::{HintContext as _, HintedError};
use backstory_engine::{atomic_file, home::Home};
use backstory_system::{self as system, OwnerOnly as _};
use backstory_text::sha256_hex;
use serde::{Deserialize, Serialize};

/// Holds the written files by host.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Receipt {
    version: u32,
    /// The files of each host.
    pub(crate) hosts: BTreeMap<String, Vec<InstalledFile>>,
}

/// Format version of the receipt.
const VERSION: u32 = 1;

/// Describes one written file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InstalledFile {
    /// Path of the file, as the host knows it.
    pub(crate) path: PathBuf,
    /// Content without our entries; `None` if the file did not exist.
    pub(crate) before: Option<FileBackup>,
    /// True if `before` is, byte for byte, the earlier file; false if entries of an older installation were removed from it.
    #[serde(default)]
    pub(crate) is_exact: bool,
    /// Hash of the content that was written.
    pub(crate) after: String,
    /// Folders that were created for it, the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) folders: Vec<PathBuf>,
}

/// Locates a backup of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileBackup {
    pub(crate) sha256: String,
    pub(crate) copy: PathBuf,
}

impl Receipt {
    /// Reads the receipt; an absent one means that nothing is installed.
    pub(crate) fn read(home: &Home) -> Result<Self> {
        let path = home.receipt();
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error).with_context(|| format!("could not read {}", path.display())),
        };
        let receipt: Self = serde_json::from_slice(&text).hint_context(
            format_args!("could not parse {}", path.display()),
            "move it away; `backstory install` and `uninstall` work without it, less exactly",
        )?;
        if receipt.version > VERSION {
            let error = HintedError::new(format_args!("{} was written by a newer version", path.display()));
            bail!(error.hint("update backstory"));
        }
        Ok(receipt)
    }

    /// Writes the receipt, or removes it if nothing is installed.
    pub(crate) fn write(&mut self, home: &Home) -> Result<()> {
        let path = home.receipt();
        self.version = VERSION;
        if self.hosts.is_empty() {
            return match system::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(error).with_context(|| format!("could not remove {}", path.display()))
                }
                _ => Ok(()),
            };
        }
        home.create()?;
        let text = serde_json::to_string_pretty(self)? + "\n";
        atomic_file::write(&path, text.as_bytes())
            .with_context(|| format!("could not write {}", path.display()))
    }

    /// Returns the record of a file of a host.
    pub(crate) fn written(&self, host: &str, path: &Path) -> Option<&InstalledFile> {
        self.hosts.get(host)?.iter().find(|written| written.path == path)
    }
}

/// Returns true if Claude Code's settings call our hooks. Hooks ask this, so the receipt is not parsed.
pub(crate) fn has_claude_code(home: &Home) -> bool {
    fs::read_to_string(home.receipt()).is_ok_and(|text| text.contains("\"claude-code\""))
}

/// Removes the backups that no record needs. Files of other programs can contain API keys, so a copy stays only as long as
/// `uninstall` needs it.
pub(crate) fn prune_backups(home: &Home, receipt: &Receipt) -> Result<()> {
    let folder = home.backups().join("install");
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("could not list {}", folder.display())),
    };
    let records = receipt.hosts.values().flatten();
    let needed: Vec<&PathBuf> = records
        .filter_map(|file| file.before.as_ref())
        .map(|backup| &backup.copy)
        .collect();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        if !needed.contains(&&path) {
            system::remove_file(&path).with_context(|| format!("could not remove {}", path.display()))?;
        }
    }
    if needed.is_empty() {
        // Not empty: a folder that the user made.
        fs::remove_dir(&folder).ok();
    }
    Ok(())
}

/// Stores a backup of a file in the home. Equal content is stored once.
pub(crate) fn save(home: &Home, host: &str, path: &Path, content: &[u8]) -> Result<FileBackup> {
    let sha256 = sha256_hex(content);
    let folder = home.backups().join("install");
    let create = DirBuilder::new().recursive(true).private().create(&folder);
    create.with_context(|| format!("could not create {}", folder.display()))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let copy = folder.join(format!(
        "{host}-{}-{}",
        &sha256[..12],
        name.trim_start_matches('.')
    ));
    if !copy.exists() {
        atomic_file::write(&copy, content).with_context(|| format!("could not write {}", copy.display()))?;
    }
    Ok(FileBackup { sha256, copy })
}
