//! A hermetic home: its own database, spool and worker, and a project to work in.

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

/// One `BACKSTORY_HOME`. The worker that was started for it ends with it.
#[derive(Debug)]
pub(crate) struct Home {
    root: PathBuf,
    product: PathBuf,
    worker: Option<Child>,
}

impl Home {
    /// Creates a home, with a copy of a database or without any.
    pub(crate) fn create(root: PathBuf, product: &Path, store: Option<&Path>) -> Result<Self> {
        fs::create_dir_all(root.join("spool/new"))?;
        if let Some(store) = store {
            let to = root.join("backstory.db");
            fs::copy(store, &to).with_context(|| format!("could not copy {}", store.display()))?;
            // Written out now, or the system does it while we measure.
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

    /// Prepares a run of the product in this home; it starts no worker by itself.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.inside(&self.product);
        command.args(arguments);
        command
    }

    /// Prepares a run of any program with this home in its environment.
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

    /// Returns the worker that was started here.
    pub(crate) fn worker_pid(&self) -> Option<u32> {
        self.worker.as_ref().map(Child::id)
    }

    /// Kills the worker, hung or not, and waits for its end.
    pub(crate) fn kill_worker(&mut self) -> Result<()> {
        let Some(mut worker) = self.worker.take() else {
            return Ok(());
        };
        worker.kill()?;
        worker.wait()?;
        Ok(())
    }

    /// Stops the worker, best in the middle of its sleep.
    pub(crate) fn hang_worker(&self) -> Result<()> {
        let worker = self.worker.as_ref().context("no worker to hang")?;
        // What it removed from the spool is committed; the end of its round comes a moment later.
        sleep(Duration::from_millis(100));
        kill_process(Pid::from_child(worker), Signal::STOP)?;
        Ok(())
    }

    /// Waits until the worker has taken everything in.
    pub(crate) fn drain(&self) -> Result<()> {
        until("the worker takes the spool in", || Ok(self.spooled()?.is_empty()))
    }

    /// Takes everything in, in a process of its own.
    pub(crate) fn take_in(&self) -> Result<()> {
        let finished = process::run(&mut self.command(&["worker", "run", "--once"]), b"")?;
        ensure!(finished.status.success(), "worker run --once failed");
        Ok(())
    }

    /// Returns the files that wait.
    pub(crate) fn spooled(&self) -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(self.root.join("spool/new"))?;
        Ok(entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?)
    }

    /// Puts aside what waits. Not deleted before the end: ext4 steps over every inode that was deleted in the last minutes
    /// when it creates a file, and hooks that work for days do not delete thousands of files in that time.
    pub(crate) fn clear_spool(&self) -> Result<()> {
        let (new, aside) = (self.root.join("spool/new"), self.root.join("aside"));
        fs::create_dir_all(&aside)?;
        let number = fs::read_dir(&aside)?.count();
        fs::rename(&new, aside.join(number.to_string()))?;
        fs::create_dir(&new).with_context(|| format!("could not create {}", new.display()))
    }

    /// Puts aside what the session was told: one that starts in every round would have a log as no session has.
    pub(crate) fn clear_given(&self) -> Result<()> {
        let (given, aside) = (self.root.join("given"), self.root.join("given-aside"));
        fs::create_dir_all(&aside)?;
        let number = fs::read_dir(&aside)?.count();
        match fs::rename(&given, aside.join(number.to_string())) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("could not move {}", given.display()))
            }
            _ => Ok(()),
        }
    }

    /// Forgets that anybody started a worker, so that the next hook does.
    pub(crate) fn forget_start(&self) -> Result<()> {
        remove(&self.root.join("spool/start"))?;
        remove(&self.root.join("worker.json"))
    }

    /// Ends the worker that a hook started.
    pub(crate) fn end_started_worker(&self) -> Result<()> {
        let path = self.root.join("worker.json");
        until("a worker was started", || Ok(path.exists()))?;
        let facts: serde_json::Value = serde_json::from_slice(&fs::read(&path)?)?;
        let pid = facts["pid"]
            .as_i64()
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(Pid::from_raw);
        kill_process(pid.context("worker.json names no process")?, Signal::KILL)?;
        // Its lock is gone with it, a moment later.
        sleep(Duration::from_millis(5));
        Ok(())
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // Ended by itself already: nothing to do about it.
        self.kill_worker().ok();
    }
}

/// Makes the repository that most questions work in.
pub(crate) fn create_project(root: &Path) -> Result<()> {
    create_repository(root, "https://github.com/acme/bench.git")
}

/// Makes a repository to work in, with a remote: the project is the same wherever the folder is.
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

fn until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !is_so()? {
        if start.elapsed() > Duration::from_secs(60) {
            bail!("waited a minute until {what}, in vain");
        }
        sleep(Duration::from_millis(1));
    }
    Ok(())
}
