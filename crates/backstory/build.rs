//! Sets the build information of `--version`: the target, and the commit if it is known.

#![expect(
    clippy::disallowed_methods,
    reason = "a build script talks to cargo by its environment and may ask git"
)]

use std::{env, path::Path, process::Command};

fn main() {
    let target = env::var("TARGET").unwrap_or_default();
    println!("cargo::rustc-env=BACKSTORY_TARGET={target}");
    println!("cargo::rerun-if-changed=build.rs");
    // Only of this repository: an unpacked archive may be inside another one.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !root.join(".git").exists() {
        return;
    }
    let moved = root.join(".git/logs/HEAD");
    if moved.exists() {
        println!("cargo::rerun-if-changed={}", moved.display());
    }
    if let Some(commit) = commit(&root) {
        println!("cargo::rustc-env=BACKSTORY_COMMIT={commit}");
    }
}

/// Asks git, which may be absent.
fn commit(root: &Path) -> Option<String> {
    let output = Command::new("git")
        .args(["rev-parse", "--short=12", "HEAD"])
        .current_dir(root)
        .output()
        .ok()?;
    let commit = String::from_utf8(output.stdout).ok()?;
    let is_one = output.status.success() && commit.trim().bytes().all(|b| b.is_ascii_hexdigit());
    is_one.then(|| commit.trim().to_owned())
}
