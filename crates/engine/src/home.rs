//! The folder that holds everything, and what is where in it.

use std::{
    fs::DirBuilder,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use backstory_capture::spool::Spool;
use backstory_system::OwnerOnly as _;

/// The home folder; it need not exist yet.
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// Returns the home in a given folder.
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Creates the folder, for its owner alone.
    pub fn create(&self) -> Result<()> {
        let create = DirBuilder::new().recursive(true).private().create(&self.root);
        create.with_context(|| format!("could not create {}", self.root.display()))
    }

    /// Returns the folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the spool of captured events.
    pub fn spool(&self) -> Spool {
        Spool::new(self.root.join("spool"))
    }

    /// Returns the path of the SQLite database.
    pub fn database(&self) -> PathBuf {
        self.root.join("backstory.db")
    }

    /// What was written and is not in the database's own file yet.
    pub fn database_log(&self) -> PathBuf {
        self.root.join("backstory.db-wal")
    }

    /// Vectors, ready to be mapped.
    pub fn vectors(&self) -> PathBuf {
        self.root.join("vectors")
    }

    /// What sessions were given.
    pub fn injection_logs(&self) -> PathBuf {
        self.root.join("given")
    }

    /// Returns the folder of database copies.
    pub fn backups(&self) -> PathBuf {
        self.root.join("backups")
    }

    /// Returns the path of the settings file.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The settings of capture as hooks last read them.
    pub fn config_cache(&self) -> PathBuf {
        self.root.join("spool").join("config.cache")
    }

    /// What `install` wrote, and how to undo it.
    pub fn receipt(&self) -> PathBuf {
        self.root.join("installed.json")
    }

    /// Which rules files were written into projects.
    pub fn rules(&self) -> PathBuf {
        self.root.join("rules")
    }

    /// Returns the lock file that makes the worker unique.
    pub fn worker_lock(&self) -> PathBuf {
        self.root.join("worker.lock")
    }

    /// Returns the file in which a running worker describes itself.
    pub fn worker_json(&self) -> PathBuf {
        self.root.join("worker.json")
    }

    /// Where the worker listens.
    pub fn socket(&self) -> PathBuf {
        self.root.join("worker.sock")
    }

    /// What lets a program in over HTTP.
    pub fn token(&self) -> PathBuf {
        self.root.join("token")
    }

    /// Touched whenever somebody starts a worker, so that others do not do it at the same time.
    pub fn start_stamp(&self) -> PathBuf {
        self.root.join("spool").join("start")
    }

    /// Returns the path of a log file.
    pub fn log(&self, name: &str) -> PathBuf {
        self.root.join("logs").join(name)
    }
}
