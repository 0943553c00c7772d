//! `backstory demo`: a short session through the real hooks, in a temporary home.

use std::{
    fs,
    io::{self, IsTerminal, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use anstream::println;
use anyhow::{Context, Result, ensure};
use backstory_system::shutdown_flag;
use serde_json::Value;

use super::ExitStatus;
use crate::{
    output::{BOLD, DIM, GOOD},
    process,
    scratch::Scratch,
};

/// Run a sample session through the real hooks, in a temporary home
///
/// Needs no setup and does not touch your data.
#[derive(clap::Args)]
pub(crate) struct Demo {}

/// Sample session: event, explanation for the user, and payload. `CWD` is replaced.
const SAMPLE_SESSION: [(&str, &str, &str); 8] = [
    ("session-start", "the session starts", r#""source":"startup""#),
    (
        "user-prompt-submit",
        "you enter a prompt with a private part",
        r#""prompt_id":"p1","prompt":"Retry the token refresh once on 401. <private>The customer is Initech.</private>""#,
    ),
    (
        "post-tool-use",
        "the agent reads a file that contains a key",
        r#""prompt_id":"p1","tool_name":"Read","tool_input":{"file_path":"CWD/config.py"},"tool_response":{"type":"text","file":{"filePath":"CWD/config.py","content":"RETRIES = 0\nAPI_KEY = \"sk-proj-Zx81kd02mcQp7Lr4Vt9Yb6Hn3Wj5\"\n"}},"tool_use_id":"t1""#,
    ),
    (
        "post-tool-use",
        "edits a file",
        r#""prompt_id":"p1","tool_name":"Edit","tool_input":{"file_path":"CWD/auth.py","old_string":"return refresh(token)","new_string":"return retry_once(refresh, token)"},"tool_response":{"filePath":"CWD/auth.py"},"tool_use_id":"t2""#,
    ),
    (
        "post-tool-use-failure",
        "runs the tests, which fail",
        r#""prompt_id":"p1","tool_name":"Bash","tool_input":{"command":"pytest -q"},"error":"Exit code 1\nNameError: name 'retry_once' is not defined","tool_use_id":"t3""#,
    ),
    (
        "post-tool-use",
        "fixes the import and runs them again",
        r#""prompt_id":"p1","tool_name":"Bash","tool_input":{"command":"pytest -q"},"tool_response":{"stdout":"12 passed in 0.31s","stderr":""},"tool_use_id":"t4""#,
    ),
    (
        "stop",
        "reports what it did",
        r#""prompt_id":"p1","last_assistant_message":"Token refresh now retries once on a 401; all 12 tests pass.""#,
    ),
    (
        "session-end",
        "the session ends",
        r#""reason":"prompt_input_exit""#,
    ),
];

const SESSION: &str = "demo-0000-4000-8000-000000000001";

pub(crate) fn run(_arguments: &Demo) -> Result<ExitStatus> {
    let end = shutdown_flag().context("could not watch for signals")?;
    let scratch = Scratch::new("demo")?;
    let (home, project) = (scratch.path().join("home"), scratch.path().join("acme"));
    fs::create_dir_all(project.join(".git")).context("could not create the sample project")?;
    let edited = project.join("auth.py");
    create(
        &edited,
        "def renew(token):\n    return retry_once(refresh, token)\n",
    )?;
    println!("{BOLD}A session with an agent, reported by its hooks{BOLD:#}");
    let mut slowest = Duration::ZERO;
    for (event, meaning, fields) in SAMPLE_SESSION {
        let payload = payload(&project, SESSION, fields);
        let start = Instant::now();
        let output = process::run_self(&["hook", event], &home, payload.as_bytes())?;
        let took = start.elapsed();
        slowest = slowest.max(took);
        ensure!(
            output.status.success(),
            "the hook {event} failed: {}",
            output.status
        );
        println!(
            "  {GOOD}✓{GOOD:#} {event:<22} {DIM}{meaning}, {:.1} ms{DIM:#}",
            took.as_secs_f64() * 1e3
        );
    }
    run_here(&home, &["worker", "run", "--once"])?;
    println!("\n{BOLD}Stored memories{BOLD:#}  {DIM}$ backstory session demo{DIM:#}");
    show(&home, &["session", "demo"])?;
    println!("\n{BOLD}Context of the next session in this project{BOLD:#}");
    let start = payload(&project, "next-session", r#""source":"startup""#);
    let output = process::run_self(&["hook", "session-start"], &home, start.as_bytes())?;
    let answer: Value = serde_json::from_slice(&output.stdout).context("a new session got no context")?;
    for line in answer["hookSpecificOutput"]["additionalContext"]
        .as_str()
        .unwrap_or_default()
        .lines()
    {
        println!("  {DIM}│{DIM:#} {line}");
    }
    // From now on its memories of the file are stale.
    create(
        &edited,
        "def renew(token):\n    return retry_thrice(refresh, token)\n",
    )?;
    println!(
        "\n{BOLD}auth.py is changed; later you search for it{BOLD:#}  {DIM}$ backstory search why are tokens tried again{DIM:#}"
    );
    run_here(&home, &["index", "--wait"])?;
    show(
        &home,
        &[
            "search",
            "why are tokens tried again",
            "--project",
            "acme",
            "--limit",
            "2",
        ],
    )?;
    let leaked = ["Initech", "Zx81kd02mcQp"]
        .iter()
        .find(|secret| holds(&home, secret.as_bytes()).unwrap_or(true));
    ensure!(leaked.is_none(), "a private text was written to disk");
    println!(
        "\nNeither the private sentence nor the API key is on the disk, and no hook took longer than {:.1} ms.",
        slowest.as_secs_f64() * 1e3
    );
    if io::stdin().is_terminal() && io::stdout().is_terminal() {
        open_viewer_and_wait(&home, &end)?;
    } else {
        println!(
            "{DIM}In a terminal, the demo ends by opening the viewer in the browser (`backstory open`).{DIM:#}"
        );
    }
    Ok(ExitStatus::Done)
}

/// Opens the viewer on the memories of the demo until the user presses Enter.
fn open_viewer_and_wait(home: &Path, end: &Arc<AtomicBool>) -> Result<()> {
    // The default port may be in use by the real home.
    process::run_self(&["config", "set", "http.port", "0"], home, b"")?;
    process::run_self(&["worker", "start"], home, b"")?;
    let looked = wait(home, end);
    // In every case: the demo leaves no worker behind.
    process::run_self(&["worker", "stop"], home, b"")?;
    looked
}

fn wait(home: &Path, end: &Arc<AtomicBool>) -> Result<()> {
    let output = process::run_self(&["open", "--print"], home, b"")?;
    let link = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    if link.is_empty() {
        return Ok(());
    }
    println!("\n{BOLD}See it in the browser{BOLD:#}, until you press Enter or Ctrl-C: {link}");
    // Any input ends the demo, also the end of stdin.
    let typed = Arc::clone(end);
    thread::spawn(move || {
        io::stdin().read_line(&mut String::new()).ok();
        typed.store(true, Ordering::Relaxed);
    });
    while !end.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn create(path: &Path, text: &str) -> Result<()> {
    let create = fs::File::create(path).and_then(|mut file| file.write_all(text.as_bytes()));
    create.with_context(|| format!("could not create {}", path.display()))
}

/// Returns the payload that an agent would send.
fn payload(project: &Path, session: &str, fields: &str) -> String {
    let cwd = project.to_string_lossy().replace('\\', "/");
    format!(
        r#"{{"session_id":"{session}","cwd":"{cwd}",{}}}"#,
        fields.replace("CWD", &cwd)
    )
}

/// Runs a command in the demo's home and prints its output.
fn show(home: &Path, arguments: &[&str]) -> Result<()> {
    for line in run_here(home, arguments)?.lines() {
        println!("  {line}");
    }
    Ok(())
}

/// Runs a command in the demo's home and returns its output.
fn run_here(home: &Path, arguments: &[&str]) -> Result<String> {
    let output = process::run_self(arguments, home, b"")?;
    ensure!(
        output.status.success(),
        "`backstory {}` failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Searches all files in a folder for bytes.
fn holds(folder: &Path, bytes: &[u8]) -> Result<bool> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let kind = fs::symlink_metadata(&path)?.file_type();
        let found = if kind.is_dir() {
            holds(&path, bytes)?
        } else {
            kind.is_file()
                && fs::read(&path)?
                    .windows(bytes.len())
                    .any(|window| window == bytes)
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}
