//! Which crate may know which: the data flows one way.

use std::{collections::BTreeSet, fs, path::Path};

/// Every crate of ours, and those of ours that it may depend on.
const ALLOWED: [(&str, &[&str]); 13] = [
    ("model", &[]),
    ("embed", &[]),
    ("system", &[]),
    ("text", &[]),
    ("secrets", &["text"]),
    ("capture", &["model", "system", "secrets", "text"]),
    ("transcript", &["capture", "secrets", "system", "text"]),
    ("store", &["model", "system", "text"]),
    ("distill", &["model", "text"]),
    ("recall", &["model", "store", "embed", "system", "text"]),
    (
        "serve",
        &["model", "capture", "store", "recall", "engine", "system", "text"],
    ),
    (
        "engine",
        &[
            "model",
            "capture",
            "transcript",
            "store",
            "distill",
            "recall",
            "system",
            "text",
        ],
    ),
    (
        "backstory",
        &[
            "model",
            "capture",
            "transcript",
            "store",
            "distill",
            "recall",
            "engine",
            "serve",
            "system",
            "text",
        ],
    ),
];

#[test]
fn dependencies_point_one_way() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders: BTreeSet<String> = fs::read_dir(&crates)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        folders,
        ALLOWED.iter().map(|(name, _)| (*name).to_owned()).collect()
    );
    for (name, allowed) in ALLOWED {
        let manifest = fs::read_to_string(crates.join(name).join("Cargo.toml")).unwrap();
        let normal = manifest
            .split("[dev-dependencies]")
            .next()
            .unwrap()
            .split("[dependencies]")
            .nth(1)
            .unwrap();
        for line in normal.lines().filter_map(|line| line.strip_prefix("backstory-")) {
            let dependency = line.split(['.', ' ']).next().unwrap();
            assert!(allowed.contains(&dependency), "{name} must not know {dependency}");
        }
        // One crate talks to others over the network.
        let talks = normal.lines().any(|line| line.starts_with("ureq"));
        assert_eq!(talks, name == "distill", "{name}");
        // Only the hook path's own crate is this strict: every one of these would cost every hook.
        if ["text", "secrets", "capture"].contains(&name) {
            for banned in ["rusqlite", "tokio", "regex", "clap", "tracing", "jiff", "toml"] {
                assert!(
                    !normal.lines().any(|line| line.starts_with(banned)),
                    "{name} must not know {banned}"
                );
            }
        }
    }
}

#[test]
fn one_crate_knows_which_system_it_runs_on() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, _) in ALLOWED.iter().filter(|(name, _)| *name != "system") {
        let mut folders = vec![crates.join(name).join("src")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                // The one thing that only Unix has is offered by the crate that serves.
                let is_exception =
                    path.ends_with("serve/src/socket.rs") || path.to_string_lossy().ends_with("tests.rs");
                let text = fs::read_to_string(&path).unwrap_or_default();
                let product = text.split("#[cfg(test)]").next().unwrap();
                let names_one = ["os::unix", "os::windows", "target_os", "rustix::"]
                    .iter()
                    .find(|word| product.contains(**word));
                assert!(
                    is_exception || names_one.is_none(),
                    "{} says {names_one:?}",
                    path.display()
                );
            }
        }
    }
}
