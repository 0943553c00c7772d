//! Which crate may know which: the data flows one way.

use std::{collections::BTreeSet, fs, path::Path};

/// Every crate of ours, and those of ours that it may depend on.
const ALLOWED: [(&str, &[&str]); 8] = [
    ("model", &[]),
    ("embed", &[]),
    ("capture", &["model"]),
    ("store", &["model"]),
    ("distill", &["model"]),
    ("recall", &["model", "store", "embed"]),
    ("serve", &["model", "store", "recall"]),
    (
        "backstory",
        &["model", "capture", "store", "distill", "recall", "serve"],
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
            let dependency = line.split('.').next().unwrap();
            assert!(allowed.contains(&dependency), "{name} must not know {dependency}");
        }
        // One crate talks to others over the network.
        let talks = normal.lines().any(|line| line.starts_with("ureq"));
        assert_eq!(talks, name == "distill", "{name}");
        // Only the hook path's own crate is this strict: every one of these would cost every hook.
        if name == "capture" {
            for banned in ["rusqlite", "tokio", "regex", "clap", "tracing", "jiff", "toml"] {
                assert!(
                    !normal.lines().any(|line| line.starts_with(banned)),
                    "capture must not know {banned}"
                );
            }
        }
    }
}
