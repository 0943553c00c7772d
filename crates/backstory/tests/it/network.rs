//! Operation without a network. Skipped where network namespaces are forbidden, unless
//! `BACKSTORY_TEST_MUST_RUN=1` is set.

use std::process::{Command, Stdio};

use crate::{
    home::{Home, run, text},
    models::turn,
};

const CUT_OFF: [&str; 3] = ["--user", "--map-root-user", "--net"];

/// Returns false if namespaces are forbidden here. Fails if the tests that need them must run.
#[expect(clippy::print_stderr, reason = "tells that a test was left out")]
pub(crate) fn has_namespaces() -> bool {
    let why_not = match Command::new("unshare").args(CUT_OFF).arg("true").output() {
        Ok(output) if output.status.success() => return true,
        Ok(output) => text(&output.stderr),
        Err(error) => format!("unshare does not start: {error}"),
    };
    let must_run = std::env::var_os("BACKSTORY_TEST_MUST_RUN").is_some_and(|value| value == "1");
    assert!(!must_run, "namespaces are not available: {why_not}");
    eprintln!("left out, namespaces are not available: {why_not}");
    false
}

/// Runs a command without a network, not even loopback.
fn cut_off(home: &Home, arguments: &[&str]) -> String {
    unshared(home, &CUT_OFF, arguments)
}

/// Runs a command in namespaces of its own.
pub(crate) fn unshared(home: &Home, namespaces: &[&str], arguments: &[&str]) -> String {
    let ours = home.command(arguments);
    let mut command = Command::new("unshare");
    command
        .args(namespaces)
        .arg(ours.get_program())
        .args(ours.get_args())
        .env_clear()
        .envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(home.project())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let output = run(command, b"");
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn everything_works_without_a_network() {
    if !has_namespaces() {
        return;
    }
    let home = Home::new();
    turn(&home, "s1", "test result: ok. 3 passed; 0 failed");
    let worked = cut_off(&home, &["worker", "run", "--once"]);
    assert!(worked.contains("distilled 4 events"), "{worked}");
    let indexed = cut_off(&home, &["index", "--wait"]);
    let found = cut_off(&home, &["search", "repeat", "a", "refused", "token"]);
    assert!(found.contains("retries once"), "{indexed}{found}");
    assert!(cut_off(&home, &["context"]).contains("retries once"));
}
