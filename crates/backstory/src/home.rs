//! The folder that holds everything, and what is where in it.

use std::{
    fs::DirBuilder,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use backstory_capture::spool::Spool;
use backstory_system::{HOME_VARIABLE, OwnerOnly as _};

use crate::environment;

/// The home folder; it need not exist yet.
#[derive(Clone, Debug)]
pub(crate) struct Home {
    root: PathBuf,
}

impl Home {
    /// Finds the home that the environment names.
    pub(crate) fn find() -> Option<Self> {
        environment::backstory_home().map(|root| Self { root })
    }

    /// Finds the home, or says what to do.
    pub(crate) fn require() -> Result<Self> {
        Self::find().with_context(|| {
            format!(
                "could not find your home folder\nhint: set {HOME_VARIABLE}, or BACKSTORY_HOME to a folder of your choice"
            )
        })
    }

    /// A home in a folder of a test's.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Creates the folder, for its owner alone.
    pub(crate) fn create(&self) -> Result<()> {
        let create = DirBuilder::new().recursive(true).private().create(&self.root);
        create.with_context(|| format!("could not create {}", self.root.display()))
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn spool(&self) -> Spool {
        Spool::new(self.root.join("spool"))
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.root.join("backstory.db")
    }

    /// What was written and is not in the database's own file yet.
    pub(crate) fn database_log(&self) -> PathBuf {
        self.root.join("backstory.db-wal")
    }

    /// Vectors, ready to be mapped.
    pub(crate) fn vectors(&self) -> PathBuf {
        self.root.join("vectors")
    }

    /// What sessions were given.
    pub(crate) fn injection_logs(&self) -> PathBuf {
        self.root.join("given")
    }

    pub(crate) fn backups(&self) -> PathBuf {
        self.root.join("backups")
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// The settings of capture as hooks last read them.
    pub(crate) fn config_cache(&self) -> PathBuf {
        self.root.join("spool").join("config.cache")
    }

    /// What `install` wrote, and how to undo it.
    pub(crate) fn receipt(&self) -> PathBuf {
        self.root.join("installed.json")
    }

    /// Which rules files were written into projects.
    pub(crate) fn rules(&self) -> PathBuf {
        self.root.join("rules")
    }

    pub(crate) fn worker_lock(&self) -> PathBuf {
        self.root.join("worker.lock")
    }

    pub(crate) fn worker_json(&self) -> PathBuf {
        self.root.join("worker.json")
    }

    /// Where the worker listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.root.join("worker.sock")
    }

    /// What lets a program in over HTTP.
    pub(crate) fn token(&self) -> PathBuf {
        self.root.join("token")
    }

    /// Touched whenever somebody starts a worker, so that others do not do it at the same time.
    pub(crate) fn start_stamp(&self) -> PathBuf {
        self.root.join("spool").join("start")
    }

    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.root.join("logs").join(name)
    }
}
