//! Homes that other users could replace or read are not used.

use std::{fs, os::unix::fs::PermissionsExt as _, process::Command};

use serde_json::json;

use crate::home::Home;

#[test]
fn a_home_that_every_user_can_write_to_is_not_used() {
    let home = Home::new();
    home.report("stop", &json!({}));
    let recorded = home.spooled().len();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o777)).unwrap();
    home.report("stop", &json!({}));
    assert_eq!(home.spooled().len(), recorded, "hooks record nothing");
    for command in [
        &["search", "x"][..],
        &["remember", "x"],
        &["worker", "run", "--once"],
        &["mcp"],
    ] {
        let output = home.run(command, b"");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{command:?}");
        assert!(
            said.contains("is not used: every user can write to it"),
            "{command:?}: {said}"
        );
    }
    let doctor = home.run(&["doctor"], b"");
    assert!(
        String::from_utf8_lossy(&doctor.stdout).contains("chmod go-w"),
        "{doctor:?}"
    );
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).unwrap();
    home.ok(&["queue"]);
}

/// Needs root, to become another user.
#[test]
fn a_home_of_another_user_is_not_used() {
    let home = Home::new();
    home.report("stop", &json!({}));
    for folder in [home.outside(), &home.outside().join("home")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let ours = home.command(&["search", "x"]);
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(ours.get_program())
        .args(ours.get_args())
        .env_clear()
        .env("HOME", home.outside().join("home"))
        .current_dir("/")
        .output();
    let Ok(output) = output else { return };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("setpriv") {
        return;
    }
    assert!(
        said.contains("is not used: it belongs to another user"),
        "{output:?}"
    );
}
