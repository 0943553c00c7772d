//! Folders for what is tried out and thrown away.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use backstory_engine::clock::Clock;

/// A folder that is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes one among the system's temporary files.
    pub(crate) fn new(purpose: &str) -> Result<Self> {
        let name = format!(
            "backstory-{purpose}-{}-{}",
            std::process::id(),
            Clock::system().timestamp().as_millis()
        );
        let path = std::env::temp_dir().join(name);
        // Not `create_dir_all`: a folder that is there already is somebody else's.
        fs::create_dir(&path).with_context(|| format!("could not create {}", path.display()))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left over is in the system's folder for temporary files.
        fs::remove_dir_all(&self.0).ok();
    }
}
