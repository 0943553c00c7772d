//! A hermetic home with its own database, spool and worker.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::process;

/// One `BACKSTORY_HOME`. Dropping it kills its worker.
#[derive(Debug)]
pub(crate) struct Home {
    root: PathBuf,
    product: PathBuf,
    worker: Option<Child>,
}

impl Home {
    /// Creates a home, with or without a copy of a database.
    pub(crate) fn create(root: PathBuf, product: &Path, store: Option<&Path>) -> Result<Self> {
        fs::create_dir_all(root.join("spool/new"))?;
        if let Some(store) = store {
            let to = root.join("backstory.db");
            fs::copy(store, &to).with_context(|| format!("could not copy {}", store.display()))?;
            // Flushed now, so that the system does not do it during a measurement.
            File::open(&to)?.sync_all()?;
        }
        Ok(Self {
            root,
            product: product.to_owned(),
            worker: None,
        })
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.root.join("backstory.db")
    }

    /// Returns a command that runs the product in this home without starting a worker.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.inside(&self.product);
        command.args(arguments);
        command
    }

    /// Returns a command that runs any program with this home in its environment.
    pub(crate) fn inside(&self, program: &Path) -> Command {
        let mut command = process::command(program);
        command
            .env("HOME", &self.root)
            .env("BACKSTORY_HOME", &self.root)
            .env("BACKSTORY_NO_WORKER", "1")
            .env("BACKSTORY_HTTP_PORT", "0");
        command
    }

    /// Starts a worker and waits until it listens.
    pub(crate) fn start_worker(&mut self) -> Result<()> {
        self.kill_worker()?;
        let ready = self.root.join("worker.json");
        remove(&ready)?;
        let streams = (Stdio::null(), Stdio::null());
        let child = self
            .command(&["worker", "run"])
            .stdin(streams.0)
            .stdout(streams.1)
            .spawn()?;
        self.worker = Some(child);
        until("the worker listens", || Ok(ready.exists()))
    }

    /// Returns the process id of the worker.
    pub(crate) fn worker_pid(&self) -> Option<u32> {
        self.worker.as_ref().map(Child::id)
    }

    /// Kills the worker and waits until it has exited.
    pub(crate) fn kill_worker(&mut self) -> Result<()> {
        let Some(mut worker) = self.worker.take() else {
            return Ok(());
        };
        worker.kill()?;
        worker.wait()?;
        Ok(())
    }

    /// Stops the worker with SIGSTOP while it is idle.
    pub(crate) fn hang_worker(&self) -> Result<()> {
        let worker = self.worker.as_ref().context("no worker to hang")?;
        // The spool is empty once the events are committed; the round ends shortly after.
        sleep(Duration::from_millis(100));
        kill_process(Pid::from_child(worker), Signal::STOP)?;
        Ok(())
    }

    /// Waits until the worker has ingested all events.
    pub(crate) fn drain(&self) -> Result<()> {
        until("the worker ingests the spool", || Ok(self.spooled()?.is_empty()))
    }

    /// Ingests and distills all events with `worker run --once`.
    pub(crate) fn ingest(&self) -> Result<()> {
        let finished = process::run(&mut self.command(&["worker", "run", "--once"]), b"")?;
        ensure!(finished.status.success(), "worker run --once failed");
        Ok(())
    }

    /// Returns the files in the spool.
    pub(crate) fn spooled(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.root.join("spool/new"))?;
        Ok(entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?)
    }

    /// Moves spooled events aside. They are not deleted before the end: ext4 skips every recently deleted inode when it creates
    /// a file, which would slow down hooks in a way that does not happen in practice.
    pub(crate) fn clear_spool(&self) -> Result<()> {
        let (new, aside) = (self.root.join("spool/new"), self.root.join("aside"));
        fs::create_dir_all(&aside)?;
        let number = fs::read_dir(&aside)?.count();
        fs::rename(&new, aside.join(number.to_string()))?;
        fs::create_dir(&new).with_context(|| format!("could not create {}", new.display()))
    }

    /// Moves the injection log aside: a session that restarts in every round would grow it unrealistically.
    pub(crate) fn clear_injection_log(&self) -> Result<()> {
        let (log, aside) = (self.root.join("given"), self.root.join("given-aside"));
        fs::create_dir_all(&aside)?;
        let number = fs::read_dir(&aside)?.count();
        match fs::rename(&log, aside.join(number.to_string())) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("could not move {}", log.display()))
            }
            _ => Ok(()),
        }
    }

    /// Clears the record of the last worker start, so that the next hook starts one.
    pub(crate) fn clear_worker_start(&self) -> Result<()> {
        remove(&self.root.join("spool/start"))?;
        remove(&self.root.join("worker.json"))
    }

    /// Kills the worker that a hook started.
    pub(crate) fn kill_started_worker(&self) -> Result<()> {
        let path = self.root.join("worker.json");
        until("a hook starts a worker", || Ok(path.exists()))?;
        let facts: serde_json::Value = serde_json::from_slice(&fs::read(&path)?)?;
        let pid = facts["pid"]
            .as_i64()
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw);
        kill_process(pid.context("worker.json has no pid")?, Signal::KILL)?;
        // The kernel releases its lock shortly after.
        sleep(Duration::from_millis(5));
        Ok(())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Fails if the worker has already exited.
        self.kill_worker().ok();
    }
}

/// Creates the repository that most benchmarks use.
pub(crate) fn create_project(root: &Path) -> Result<()> {
    create_repository(root, "https://github.com/acme/bench.git")
}

/// Creates a repository with a remote, so that the project's identity does not depend on the folder.
pub(crate) fn create_repository(root: &Path, remote: &str) -> Result<()> {
    fs::create_dir_all(root.join(".git/refs/heads"))?;
    let config = format!("[core]\n\tbare = false\n[remote \"origin\"]\n\turl = {remote}\n");
    let files = [
        (".git/HEAD", "ref: refs/heads/main\n"),
        (".git/config", config.as_str()),
        ("README.md", "# A sample\n"),
    ];
    for (name, text) in files {
        File::create(root.join(name))?.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("could not remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

pub(crate) fn until(description: &str, mut condition: impl FnMut() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !condition()? {
        if start.elapsed() > Duration::from_secs(60) {
            bail!("timed out after a minute: {description}");
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}
