//! Test harness: a home of its own, an empty environment, the real executable.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs and write files directly"
)]

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Output of a hook that injects nothing.
pub(crate) const DEFAULT_OUTPUT: &str = "{\"continue\":true,\"suppressOutput\":true}\n";

/// A home folder and a project next to it, isolated from the machine.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Home {
    /// Creates a home in which no worker starts by itself.
    pub(crate) fn new() -> Self {
        let home = Self {
            folder: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        };
        home.repository("acme", None);
        // Many homes exist at once: none may use the default port.
        home.with("BACKSTORY_NO_WORKER", "1")
            .with("BACKSTORY_HTTP_PORT", "0")
    }

    /// Sets a variable for all programs that are started from here on.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns the path of the backstory home.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("home/.backstory")
    }

    /// Returns the folder of this test.
    pub(crate) fn outside(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the path of the sample project.
    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("acme")
    }

    /// Creates a git repository without git.
    pub(crate) fn repository(&self, path: &str, remote: Option<&str>) -> PathBuf {
        let root = self.folder.path().join(path);
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let remote = remote
            .map(|url| format!("[remote \"origin\"]\n\turl = {url}\n"))
            .unwrap_or_default();
        fs::write(
            root.join(".git/config"),
            format!("[core]\n\tbare = false\n{remote}"),
        )
        .unwrap();
        root
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backstory"));
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path().join("home"))
            .env("PATH", "/usr/bin:/bin")
            .env("COLUMNS", "100")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.project())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Output {
        run(self.command(arguments), input)
    }

    /// Runs a command with a file size limit in blocks.
    pub(crate) fn run_with_small_files(&self, blocks: u32, arguments: &[&str], input: &[u8]) -> Output {
        let ours = self.command(arguments);
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("ulimit -f {blocks}; exec \"$0\" \"$@\"")])
            .arg(ours.get_program())
            .args(ours.get_args())
            .env_clear()
            .envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .current_dir(self.project())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        run(command, input)
    }

    /// Runs a command that must succeed; returns its output.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments, b"");
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        assert!(
            output.status.success(),
            "{arguments:?}: {}\n{stdout}{stderr}",
            output.status
        );
        stdout
    }

    /// Runs a command that prints JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.ok(arguments)).unwrap()
    }

    /// Runs a command that prints JSON; returns the keys of its own, without those that every command prints.
    pub(crate) fn fields(&self, arguments: &[&str]) -> Value {
        let mut object = self.json(arguments);
        let fields = object.as_object_mut().unwrap();
        assert!(fields.remove("schema").is_some() && fields.remove("ok").is_some());
        object
    }

    /// Runs a hook, which must exit 0 with an empty stderr; returns its output.
    pub(crate) fn hook(&self, event: &str, payload: &[u8]) -> String {
        let output = self.run(&["hook", event], payload);
        assert_eq!(output.status.code(), Some(0), "{event}");
        assert_eq!(text(&output.stderr), "", "{event}");
        text(&output.stdout)
    }

    /// Reports an event of session `s1` in the sample project.
    pub(crate) fn report(&self, event: &str, fields: &Value) -> String {
        let mut payload = json!({"session_id": "s1", "cwd": self.project()});
        for (name, value) in fields.as_object().unwrap() {
            payload[name] = value.clone();
        }
        self.hook(event, payload.to_string().as_bytes())
    }

    /// Ingests and distills all pending events.
    pub(crate) fn drain(&self) -> &Self {
        self.ok(&["worker", "run", "--once"]);
        self
    }

    /// Lists the files in the spool, oldest first.
    pub(crate) fn spooled(&self) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> = match fs::read_dir(self.path().join("spool/new")) {
            Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
            Err(_) => Vec::new(),
        };
        files.sort();
        files
    }

    /// Returns the content of the spool as text.
    pub(crate) fn spooled_text(&self) -> String {
        self.spooled()
            .iter()
            .map(|path| fs::read_to_string(path).unwrap())
            .collect()
    }

    /// Returns the number of events in the store.
    pub(crate) fn events(&self) -> u64 {
        let connection = rusqlite::Connection::open(self.path().join("backstory.db")).unwrap();
        connection
            .query_row("select count(*) from event", [], |row| row.get(0))
            .unwrap()
    }

    /// Returns the rows of a query with one text column.
    pub(crate) fn rows(&self, sql: &str) -> Vec<String> {
        let connection = rusqlite::Connection::open(self.path().join("backstory.db")).unwrap();
        let mut statement = connection.prepare(sql).unwrap();
        let rows = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// Returns the number of events that were dropped for a reason.
    pub(crate) fn lost(&self, reason: &str) -> u64 {
        let counts = fs::read_to_string(self.path().join("spool/counts")).unwrap_or_default();
        let line = counts
            .lines()
            .find(|line| line.split_whitespace().next() == Some(reason));
        line.map_or(0, |line| line.split_whitespace().nth(1).unwrap().parse().unwrap())
    }

    /// Fails if any file in the backstory home contains these bytes.
    pub(crate) fn assert_nowhere(&self, needle: &str) {
        let mut folders = vec![self.path()];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else {
                continue;
            };
            for path in entries.map(|entry| entry.unwrap().path()) {
                assert!(
                    !path.to_string_lossy().contains(needle),
                    "{needle:?} is in the name {}",
                    path.display()
                );
                if path.is_dir() {
                    folders.push(path);
                } else if path.is_file() {
                    let bytes = fs::read(&path).unwrap();
                    let found = bytes
                        .windows(needle.len())
                        .position(|window| window == needle.as_bytes());
                    if let Some(at) = found {
                        let around = &bytes[at.saturating_sub(80)..bytes.len().min(at + 80)];
                        panic!(
                            "{needle:?} is in {}: {}",
                            path.display(),
                            String::from_utf8_lossy(around)
                        );
                    }
                }
            }
        }
    }
}

/// Runs a command to its end. A child that closes its input early is fine.
pub(crate) fn run(mut command: Command, input: &[u8]) -> Output {
    // A program that was just copied may still be open for writing in a child that another test has forked.
    let busy = std::io::ErrorKind::ExecutableFileBusy;
    let mut child = loop {
        match command.spawn() {
            Err(error) if error.kind() == busy => std::thread::sleep(Duration::from_millis(5)),
            other => break other.unwrap(),
        }
    };
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input).ok());
        child.wait_with_output().unwrap()
    })
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Waits until a condition holds; fails after half a minute, which a busy machine does not need.
pub(crate) fn eventually(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(30), "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns true if a process has a file of this name open. Always true on systems without `/proc`.
pub(crate) fn has_open(process: &Child, name: &str) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{}/fd", process.id())) else {
        return true;
    };
    let mut targets = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    targets.any(|target| target.ends_with(name))
}

/// Returns snapshot settings that mask what differs between runs.
pub(crate) fn settings() -> insta::Settings {
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"\b\d+[smhd] ago", "[age]");
    settings.add_filter(r"20\d\d-\d\d-\d\d \d\d:\d\d \(\[age\]\)", "[time] ([age])");
    settings.add_filter(r"/(?:tmp|var)/[\w./-]*?/(acme|home)\b", "/[dir]/$1");
    settings.set_prepend_module_to_snapshot(false);
    settings
}

/// Returns the folder of payloads recorded from a real client.
pub(crate) fn recorded_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/claude-code/2.1.325")
}

/// Returns all recorded payloads with their names.
pub(crate) fn recorded() -> Vec<(String, String)> {
    let folder = recorded_folder();
    let mut payloads: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| {
            (
                path.file_stem().unwrap().to_str().unwrap().to_owned(),
                fs::read_to_string(&path).unwrap(),
            )
        })
        .collect();
    payloads.sort();
    assert!(payloads.len() > 50, "the recorded payloads are missing");
    payloads
}
