//! Temporary folders.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use backstory_engine::clock::Clock;

/// Temporary folder that is deleted on drop.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Creates a folder in the system's temporary folder.
    pub(crate) fn new(purpose: &str) -> Result<Self> {
        let name = format!(
            "backstory-{purpose}-{}-{}",
            std::process::id(),
            Clock::system().timestamp().as_millis()
        );
        let path = std::env::temp_dir().join(name);
        // Not `create_dir_all`: an existing folder belongs to another program.
        fs::create_dir(&path).with_context(|| format!("could not create {}", path.display()))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // On failure the rest stays in the system's temporary folder.
        fs::remove_dir_all(&self.0).ok();
    }
}
