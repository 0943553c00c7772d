//! Starts PostgreSQL and `backstory-server`, and makes invitations.
//!
//! Also included by tests and benchmarks of other crates with `#[path]`, so it uses the standard library only. One cluster
//! serves all tests of a process, each with a database of its own. It ends with the process, however that ends, because
//! `scripts/postgres` stops when its stdin is closed.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "included by several tests, none of which needs everything; it starts programs and fails by panicking"
)]

use std::{
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
};

/// A temporary PostgreSQL cluster.
#[derive(Debug)]
pub struct Cluster {
    url: String,
    script: Mutex<Script>,
    has_template: Mutex<bool>,
    process: Child,
}

/// The streams of `scripts/postgres`.
#[derive(Debug)]
struct Script {
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Cluster {
    /// Returns the cluster that the tests of this process share. Fails if PostgreSQL is missing and cannot be installed.
    pub fn shared() -> &'static Self {
        static SHARED: OnceLock<Cluster> = OnceLock::new();
        SHARED.get_or_init(|| Self::start(&[]))
    }

    /// Starts a cluster, with options of `scripts/postgres`.
    pub fn start(options: &[&str]) -> Self {
        let mut process = Command::new(repository().join("scripts/postgres"))
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scripts/postgres can be started");
        let stdin = process.stdin.take();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        let mut url = String::new();
        stdout.read_line(&mut url).unwrap();
        let url = url.trim().to_owned();
        assert!(
            url.starts_with("postgresql://"),
            "scripts/postgres printed {url:?}"
        );
        Self {
            url,
            script: Mutex::new(Script { stdin, stdout }),
            has_template: Mutex::new(false),
            process,
        }
    }

    /// Runs a command of `scripts/postgres`: `crash`, `start` or `checkpoint`.
    pub fn control(&self, command: &str) {
        let mut script = self.script.lock().unwrap();
        writeln!(script.stdin.as_ref().unwrap(), "{command}").unwrap();
        let mut answer = String::new();
        script.stdout.read_line(&mut answer).unwrap();
        assert_eq!(answer.trim(), format!("{command}: done"));
    }

    /// Returns the folder with the data files.
    pub fn data(&self) -> PathBuf {
        Path::new(self.folder()).join("data")
    }

    fn folder(&self) -> &str {
        self.url.split_once("host=").unwrap().1
    }

    /// Returns the URL of a database.
    pub fn database_url(&self, name: &str) -> String {
        format!("postgresql://postgres@/{name}?host={}", self.folder())
    }

    /// Returns a command that runs `psql` in a database.
    pub fn psql(&self, database: &str) -> Command {
        let mut command = Command::new("psql");
        let format = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"];
        command
            .args(format)
            .args(["-h", self.folder(), "-U", "postgres", "-d", database]);
        command
    }

    /// Runs SQL and returns its rows as lines, with `|` between columns.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let output = self
            .psql(database)
            .args(["-c", sql])
            .output()
            .expect("psql can be started");
        assert!(
            output.status.success(),
            "{sql}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Creates a database with the schema of the server and returns its name.
    pub fn database(&self) -> String {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        // Copying a database takes a fraction of the time of creating a thousand tables and indexes.
        let mut has_template = self.has_template.lock().unwrap();
        if !*has_template {
            self.sql(
                "postgres",
                "create database backstory_template template template0",
            );
            let output = server_command(&self.database_url("backstory_template"), &["migrate"])
                .output()
                .unwrap();
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            *has_template = true;
        }
        let name = format!("backstory_{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.sql(
            "postgres",
            &format!("create database {name} template backstory_template"),
        );
        name
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // The script ends the cluster at the end of its input.
        self.script.get_mut().unwrap().stdin = None;
        self.process.wait().ok();
    }
}

/// A running `backstory-server` with a database of its own. Ends when it is dropped.
#[derive(Debug)]
pub struct TeamServer<'c> {
    pub cluster: &'c Cluster,
    /// Name of the database.
    pub database: String,
    /// URL for clients, such as `http://127.0.0.1:43210`.
    pub url: String,
    metrics_url: Option<String>,
    variables: Vec<(String, String)>,
    process: Option<Child>,
    is_second: bool,
}

impl TeamServer<'static> {
    /// Starts a server in the shared cluster.
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a server in the shared cluster, with further variables (without `BACKSTORY_SERVER_`).
    pub fn start_with(variables: &[(&str, &str)]) -> Self {
        Self::start_in(Cluster::shared(), variables)
    }
}

impl<'c> TeamServer<'c> {
    /// Starts a server in a cluster.
    pub fn start_in(cluster: &'c Cluster, variables: &[(&str, &str)]) -> Self {
        let database = cluster.database();
        let variables = variables
            .iter()
            .map(|(name, value)| (format!("BACKSTORY_SERVER_{name}"), (*value).to_owned()))
            .collect();
        let mut server = Self {
            cluster,
            database,
            url: "http://127.0.0.1:0".to_owned(),
            metrics_url: None,
            variables,
            process: None,
            is_second: false,
        };
        server.resume();
        server
    }

    /// Starts a second process on the database of a server.
    pub fn second_of(first: &Self) -> Self {
        Self::second_with(first, &[])
    }

    /// Starts a second process on the database of a server, with further variables.
    pub fn second_with(first: &Self, variables: &[(&str, &str)]) -> Self {
        let further = variables
            .iter()
            .map(|(name, value)| (format!("BACKSTORY_SERVER_{name}"), (*value).to_owned()));
        let mut server = Self {
            cluster: first.cluster,
            database: first.database.clone(),
            url: "http://127.0.0.1:0".to_owned(),
            metrics_url: None,
            variables: first.variables.iter().cloned().chain(further).collect(),
            process: None,
            is_second: true,
        };
        server.resume();
        server
    }

    /// Starts the process, on the same port as before.
    pub fn resume(&mut self) {
        let address = self.url.split_once("//").unwrap().1.to_owned();
        let mut process = self
            .command(&["serve"])
            .env("BACKSTORY_SERVER_LISTEN", address)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        self.process = Some(process);
        for line in lines {
            let line = line.unwrap();
            if let Some((_, url)) = line.split_once("metrics on ") {
                self.metrics_url = Some(url.to_owned());
            } else if let Some((_, url)) = line.split_once(" listens on ") {
                self.url = url.to_owned();
                return;
            }
        }
        panic!("the server does not start");
    }

    /// Returns the URL of the metrics.
    pub fn metrics_url(&self) -> &str {
        self.metrics_url.as_deref().unwrap()
    }

    /// Kills the process without warning.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Asks the process to stop, and returns whether it did so without an error.
    pub fn terminate(&mut self) -> bool {
        let mut process = self.process.take().unwrap();
        let id = process.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        process.wait().unwrap().success()
    }

    /// Returns the id of the process.
    pub fn process_id(&self) -> u32 {
        self.process.as_ref().unwrap().id()
    }

    /// Returns a command of the operator.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = server_command(&self.cluster.database_url(&self.database), arguments);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs a command of the operator and returns what it prints.
    pub fn run(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Makes an invitation to a team and returns its code.
    pub fn invite(&self, team: &str, role: &str) -> String {
        let text = self.run(&["invite", "--team", team, "--role", role]);
        text.trim().rsplit(' ').next().unwrap().to_owned()
    }

    /// Runs SQL in the server's database.
    pub fn sql(&self, sql: &str) -> String {
        self.cluster.sql(&self.database, sql)
    }
}

impl Drop for TeamServer<'_> {
    fn drop(&mut self) {
        self.kill();
        if !self.is_second {
            // A test may have stopped the cluster.
            let sql = format!("drop database {} with (force)", self.database);
            self.cluster.psql("postgres").args(["-c", &sql]).output().ok();
        }
    }
}

/// Returns a command of `backstory-server` with a database and otherwise the defaults.
fn server_command(database_url: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(server_binary());
    command
        .args(arguments)
        .env_clear()
        .env("BACKSTORY_SERVER_DATABASE_URL", database_url)
        .env("BACKSTORY_SERVER_PURGE_HOUR", "never");
    command
}

/// Returns the binary: of this package's tests, that of `BACKSTORY_SERVER`, or built next to the running test.
fn server_binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(binary) = option_env!("CARGO_BIN_EXE_backstory-server") {
            return binary.into();
        }
        if let Some(binary) = std::env::var_os("BACKSTORY_SERVER") {
            return binary.into();
        }
        let target = std::env::current_exe().unwrap();
        let profile = target
            .ancestors()
            .find(|folder| folder.ends_with("debug") || folder.ends_with("release"))
            .expect("the test is in a folder of cargo");
        let mut build = Command::new(option_env!("CARGO").unwrap_or("cargo"));
        build
            .args(["build", "--quiet", "-p", "backstory-server"])
            .current_dir(repository());
        if profile.ends_with("release") {
            build.arg("--release");
        }
        build.env("CARGO_TARGET_DIR", profile.parent().unwrap());
        assert!(
            build.status().unwrap().success(),
            "backstory-server cannot be built"
        );
        profile.join("backstory-server")
    })
}

/// Returns the top folder of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .find(|folder| folder.join("scripts/postgres").is_file())
        .expect("the crate is in the repository")
        .to_owned()
}
