//! The home folder and the paths inside it.

use std::{
    fs::DirBuilder,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use backstory_capture::spool::Spool;
use backstory_system::{OwnerOnly as _, folder_risk};

use crate::error::HintedError;

/// The home folder; it need not exist yet.
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
}

impl Home {
    /// Returns the home at a path.
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// Creates the folder, readable by its owner alone.
    pub fn create(&self) -> Result<()> {
        let create = DirBuilder::new().recursive(true).private().create(&self.root);
        create.with_context(|| format!("could not create {}", self.root.display()))
    }

    /// Fails if other users could replace what is in the folder: they could read new memories and plant others.
    pub fn check(&self) -> Result<(), HintedError> {
        let Some(risk) = folder_risk(&self.root) else {
            return Ok(());
        };
        let shown = self.root.display();
        Err(
            HintedError::new(format_args!("{shown} is not used: {risk}")).hint(format_args!(
                "`chmod go-w {shown}`, or set BACKSTORY_HOME to a folder of your own"
            )),
        )
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

    /// Returns the path of the database's write-ahead log.
    pub fn database_log(&self) -> PathBuf {
        self.root.join("backstory.db-wal")
    }

    /// Returns the path of the vector file.
    pub fn vectors(&self) -> PathBuf {
        self.root.join("vectors")
    }

    /// Returns the folder of injection logs.
    pub fn injection_logs(&self) -> PathBuf {
        self.root.join("given")
    }

    /// Returns the folder of backups.
    pub fn backups(&self) -> PathBuf {
        self.root.join("backups")
    }

    /// Returns the path of the settings file.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// Returns the path of the cached capture settings of hooks.
    pub fn config_cache(&self) -> PathBuf {
        self.root.join("spool").join("config.cache")
    }

    /// Returns the path of the receipt: the files that `install` wrote, and how to undo it.
    pub fn receipt(&self) -> PathBuf {
        self.root.join("installed.json")
    }

    /// Returns the path of the list of rules files in projects.
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

    /// Returns the file that exists while a worker works.
    pub fn activity_flag(&self) -> PathBuf {
        self.root.join("activity.flag")
    }

    /// Returns the file that asks a worker to end which cannot be signaled.
    pub fn stop_request(&self) -> PathBuf {
        self.root.join("worker.stop")
    }

    /// Returns the path of the worker's socket.
    pub fn socket(&self) -> PathBuf {
        self.root.join("worker.sock")
    }

    /// Returns the path of the token that authenticates HTTP clients.
    pub fn token(&self) -> PathBuf {
        self.root.join("token")
    }

    /// Returns the path of the list of folders that share the memories of a project.
    pub fn roots(&self) -> PathBuf {
        self.root.join("roots")
    }

    /// Returns the path of the list of signed-in browsers.
    pub fn logins(&self) -> PathBuf {
        self.root.join("logins.json")
    }

    /// Returns the page by which `open` passes a login link to the browser.
    pub fn open_page(&self) -> PathBuf {
        self.root.join("open.html")
    }

    /// Returns the file that is touched at every start of a worker, so that two processes do not start one at the same time.
    pub fn start_stamp(&self) -> PathBuf {
        self.root.join("spool").join("start")
    }

    /// Returns the folder of the signing key and of the credential for the team's server.
    pub fn team(&self) -> PathBuf {
        self.root.join("team")
    }

    /// Returns the path of a log file.
    pub fn log(&self, name: &str) -> PathBuf {
        self.root.join("logs").join(name)
    }
}
