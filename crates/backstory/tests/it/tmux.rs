//! A real terminal: tmux runs the program, types keys and shows the screen.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    process::Command,
    thread::sleep,
    time::{Duration, Instant},
};

use crate::home::{Home, text};

/// A machine under load may be slow; a screen that never comes fails after this time.
const PATIENCE: Duration = Duration::from_secs(60);

/// A terminal of 80 by 24 with a shell, in which the program runs.
pub(crate) struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// Starts the program with arguments. After it, the shell prints its status and whether the terminal is as before.
    /// `None` without tmux, unless the tests must run.
    pub(crate) fn run(home: &Home, arguments: &str) -> Option<Self> {
        Self::run_in_rows(home, arguments, 24)
    }

    /// Starts the program in a terminal of another height.
    pub(crate) fn run_in_rows(home: &Home, arguments: &str, rows: u16) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            assert!(
                std::env::var_os("BACKSTORY_TEST_MUST_RUN").is_none(),
                "tmux is not installed"
            );
            return None;
        }
        let ours = home.command(&[]);
        let variables: String = ours
            .get_envs()
            .filter_map(|(name, value)| Some((name, value?)))
            .filter(|(name, _)| *name != "COLUMNS")
            .map(|(name, value)| format!("export {}='{}'\n", name.display(), value.display()))
            .collect();
        let program = ours.get_program().display().to_string();
        let script = home.outside().join("script.sh");
        fs::write(
            &script,
            format!(
                "cd '{}'\n{variables}stty -a > ../before\n'{program}' {arguments}\nstatus=$?\nstty -a > ../after\n\
                cmp -s ../before ../after && echo \"left with $status\" || echo 'terminal broken'\ncat\n",
                home.project().display()
            ),
        )
        .unwrap();
        let tmux = Self {
            socket: home.outside().join("tmux"),
        };
        let script = script.display().to_string();
        let rows = rows.to_string();
        tmux.tmux(&["new-session", "-d", "-x", "80", "-y", &rows, "sh", &script]);
        tmux.tmux(&["set-option", "-g", "set-clipboard", "on"]);
        Some(tmux)
    }

    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        let output = Command::new("tmux")
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("TERM", "xterm-256color")
            .env("LC_ALL", "C.UTF-8")
            .args(["-u", "-f", "/dev/null", "-S"])
            .arg(&self.socket)
            .args(arguments)
            .output()
            .unwrap();
        text(&output.stdout)
    }

    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits for a text on the screen.
    pub(crate) fn until(&self, words: &str) -> &Self {
        self.until_screen(words, |screen| screen.contains(words))
    }

    pub(crate) fn until_screen(&self, what: &str, is_it: impl Fn(&str) -> bool) -> &Self {
        let start = Instant::now();
        loop {
            let screen = self.screen();
            if is_it(&screen) {
                return self;
            }
            assert!(start.elapsed() < PATIENCE, "never shown: {what}\n{screen}");
            sleep(Duration::from_millis(20));
        }
    }

    /// Presses keys by their tmux names, such as `Enter` or `M-y`.
    pub(crate) fn press(&self, keys: &[&str]) -> &Self {
        self.tmux(&[&["send-keys"], keys].concat());
        self
    }

    pub(crate) fn types(&self, words: &str) -> &Self {
        self.tmux(&["send-keys", "-l", words]);
        self
    }

    pub(crate) fn pid(&self) -> String {
        let shell = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let children = Command::new("pgrep").args(["-P", shell.trim()]).output().unwrap();
        text(&children.stdout)
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    }

    pub(crate) fn signal(&self, signal: &str) {
        let status = Command::new("kill").args([signal, &self.pid()]).status().unwrap();
        assert!(status.success());
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

/// Writes a script that the program can start.
pub(crate) fn executable(home: &Home, name: &str, script: &str) -> PathBuf {
    let folder = home.outside().join("bin");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}
