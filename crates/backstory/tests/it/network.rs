//! Without a network: nothing is asked of anybody.

use std::process::{Command, Stdio};

use crate::{
    home::{Home, run, text},
    models::turn,
};

/// Runs a command of ours where there is no network, not even a loopback; `None` where that is not allowed.
fn cut_off(home: &Home, arguments: &[&str]) -> Option<String> {
    let ours = home.command(arguments);
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--net"])
        .arg(ours.get_program())
        .args(ours.get_args())
        .env_clear()
        .envs(ours.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(home.project())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let works = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net", "true"])
        .output();
    if !works.is_ok_and(|output| output.status.success()) {
        return None;
    }
    let output = run(command, b"");
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    Some(text(&output.stdout))
}

#[test]
fn memory_is_whole_without_any_network() {
    let home = Home::new();
    turn(&home, "s1", "test result: ok. 3 passed; 0 failed");
    let Some(worked) = cut_off(&home, &["worker", "run", "--once"]) else {
        return;
    };
    assert!(worked.contains("distilled 4 events"), "{worked}");
    let indexed = cut_off(&home, &["index", "--wait"]).unwrap();
    let found = cut_off(&home, &["search", "repeat", "a", "refused", "token"]).unwrap();
    assert!(found.contains("retries once"), "{indexed}{found}");
    assert!(cut_off(&home, &["context"]).unwrap().contains("retries once"));
}
