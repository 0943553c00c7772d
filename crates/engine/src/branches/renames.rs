//! Files that commits renamed, as git detects it.

use std::{io, time::Duration};

use backstory_model::Timestamp;
use backstory_store::RenamedFile;

use crate::process::Git;

/// Commits may be fetched long after they were made.
const OVERLAP: Duration = Duration::from_hours(30 * 24);

/// Reads the renames in commits since the last check.
pub(super) fn read(git: &Git<'_>, since: Timestamp) -> io::Result<Vec<RenamedFile>> {
    let since = format!("--since=@{}", (since - OVERLAP).as_millis().max(0) / 1000);
    let arguments = [
        "log",
        "-z",
        "-M",
        "--diff-filter=R",
        "--name-status",
        "--no-ext-diff",
        "--no-textconv",
        "--format=%x01%ct",
        "--max-count=5000",
        &since,
        "--branches",
        "--remotes",
        "HEAD",
    ];
    Ok(parse(&git.output(&arguments, "")?))
}

/// Parses `\x01<seconds>`, then `R<score>`, old and new path for each rename, separated by zero bytes.
fn parse(log: &str) -> Vec<RenamedFile> {
    let mut found = Vec::new();
    for commit in log.split('\u{1}').skip(1) {
        let mut parts = commit.split(['\0', '\n']).filter(|part| !part.is_empty());
        let Some(seconds) = parts.next().and_then(|seconds| seconds.parse::<i64>().ok()) else {
            continue;
        };
        while let (Some(status), Some(old), Some(new)) = (parts.next(), parts.next(), parts.next()) {
            if status.starts_with('R') {
                found.push(RenamedFile {
                    old_path: old.to_owned(),
                    new_path: new.to_owned(),
                    at: Timestamp::from_millis(seconds * 1000),
                });
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renames_are_read_with_their_time() {
        let log = "\u{1}1700000000\0\nR100\0src/a.rs\0src/b.rs\0R090\0x\0y z\0\u{1}1700000001\0";
        let found = parse(log);
        let paths: Vec<(&str, &str)> = found
            .iter()
            .map(|file| (file.old_path.as_str(), file.new_path.as_str()))
            .collect();
        assert_eq!(paths, [("src/a.rs", "src/b.rs"), ("x", "y z")]);
        assert_eq!(found[0].at, Timestamp::from_millis(1_700_000_000_000));
    }
}
