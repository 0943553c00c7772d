//! Dependencies between crates and between modules point one way.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::module_graph::ModuleGraph;

/// Crates of the workspace, lower layers first, and the crates that each may depend on.
const ALLOWED: [(&str, &[&str]); 16] = [
    ("model", &[]),
    ("embed", &[]),
    ("system", &[]),
    ("text", &[]),
    ("protocol", &["model", "text"]),
    ("secrets", &["text"]),
    ("capture", &["model", "system", "secrets", "text"]),
    ("transcript", &["capture", "model", "secrets", "system", "text"]),
    ("store", &["model", "system", "text"]),
    ("distill", &["model", "text"]),
    ("recall", &["model", "store", "embed", "system", "text"]),
    (
        "sync",
        &["model", "protocol", "secrets", "capture", "store", "text"],
    ),
    (
        "engine",
        &[
            "model",
            "protocol",
            "sync",
            "capture",
            "transcript",
            "store",
            "distill",
            "recall",
            "system",
            "text",
        ],
    ),
    ("server", &["embed", "protocol", "secrets", "text"]),
    (
        "serve",
        &["model", "capture", "store", "recall", "engine", "system", "text"],
    ),
    (
        "backstory",
        &[
            "model",
            "protocol",
            "sync",
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
    for (at, (name, allowed)) in ALLOWED.into_iter().enumerate() {
        let is_lower = |other: &&str| ALLOWED[..at].iter().any(|(lower, _)| lower == other);
        assert!(allowed.iter().all(is_lower), "{name} is above its dependencies");
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
        // Two crates make network calls: to models, and to the server of a team.
        let talks = normal.lines().any(|line| line.starts_with("ureq"));
        assert_eq!(talks, ["distill", "engine"].contains(&name), "{name}");
        // Only the crates of the hook path are this strict: each of these would cost every hook.
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
fn modules_of_a_crate_form_no_cycle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, _) in ALLOWED {
        let cycles = ModuleGraph::read(&crates.join(name).join("src")).cycles();
        assert!(cycles.is_empty(), "cycles in {name}: {cycles:#?}");
    }
}

#[test]
fn only_the_binary_asks_for_the_time_and_the_environment() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, _) in ALLOWED.iter().filter(|(name, _)| *name != "backstory") {
        for path in source_files(&crates.join(name).join("src")) {
            let text = fs::read_to_string(&path).unwrap();
            let product = text.split("#[cfg(test)]").next().unwrap();
            for created in ["Clock::system()", "Environment::process()"] {
                assert!(!product.contains(created), "{} calls {created}", path.display());
            }
        }
    }
}

/// Returns the Rust files below a folder.
fn source_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(source_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

#[test]
fn only_one_crate_depends_on_the_operating_system() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (name, _) in ALLOWED.iter().filter(|(name, _)| *name != "system") {
        for path in source_files(&crates.join(name).join("src")) {
            // Unix sockets are used in this file only.
            if path.ends_with("serve/src/socket.rs") || path.to_string_lossy().ends_with("tests.rs") {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let product = text.split("#[cfg(test)]").next().unwrap();
            for word in ["os::unix", "os::windows", "target_os", "rustix::"] {
                assert!(!product.contains(word), "{} uses {word}", path.display());
            }
        }
    }
}
