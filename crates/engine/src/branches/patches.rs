//! Patch ids: commits and ranges with the same id make the same change, wherever they are in the history.
//!
//! Like `git patch-id`, but without context lines: a squash merge next to other changes has another context. Ids are cached in
//! the store, because reading a patch is the slowest part of a check and a commit never changes.

use std::{
    collections::{HashMap, HashSet},
    io::{self, BufRead},
};

use anyhow::Result;
use backstory_store::Store;
use backstory_text::sha256;

use crate::process::Git;

/// Bytes of a SHA-256 that identify a patch.
const ID_BYTES: usize = 16;

/// The change of a commit, or of all commits after another one up to it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct CommitRange {
    pub(super) commit: String,
    /// The commit to compare with; absent for the parent.
    pub(super) base: Option<String>,
}

impl CommitRange {
    fn key(&self) -> Vec<u8> {
        let base = self.base.as_deref().unwrap_or_default();
        sha256(format!("{base}..{}", self.commit))[..ID_BYTES].to_vec()
    }

    /// Returns the line that makes `git diff-tree --stdin` print this change: a commit, and the commits that count as its parents.
    fn line(&self) -> String {
        match &self.base {
            Some(base) => format!("{} {base}\n", self.commit),
            None => format!("{}\n", self.commit),
        }
    }
}

/// Returns the ids of changes, cached or computed. A change without an id is empty, or a merge.
pub(super) fn patch_ids(
    git: &Git<'_>,
    store: &mut Store,
    ranges: &HashSet<CommitRange>,
) -> Result<HashMap<CommitRange, Vec<u8>>> {
    let keys: Vec<Vec<u8>> = ranges.iter().map(CommitRange::key).collect();
    let cached = store.patch_ids(&keys)?;
    let mut found = HashMap::new();
    let mut missing: Vec<&CommitRange> = Vec::new();
    for range in ranges {
        match cached.get(&range.key()) {
            // An empty change.
            Some(patch) if patch.is_empty() => {}
            Some(patch) => {
                found.insert(range.clone(), patch.clone());
            }
            None => missing.push(range),
        }
    }
    // Two runs: the output names the commit of a change, not its base.
    for with_base in [false, true] {
        let part: Vec<&CommitRange> = missing
            .iter()
            .copied()
            .filter(|range| range.base.is_some() == with_base)
            .collect();
        if part.is_empty() {
            continue;
        }
        let input: String = part.iter().map(|range| range.line()).collect();
        let arguments = [
            "diff-tree",
            "--stdin",
            "-r",
            "-p",
            "-U0",
            "--root",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--full-index",
        ];
        let ids = git.stream(&arguments, &input, read_ids)?;
        let mut computed = Vec::with_capacity(part.len());
        for range in part {
            let patch = ids.get(&range.commit).cloned().unwrap_or_default();
            computed.push((range.key(), patch.clone()));
            if !patch.is_empty() {
                found.insert(range.clone(), patch);
            }
        }
        store.store_patch_ids(&computed)?;
    }
    Ok(found)
}

/// Reads patches, each after a line with its commit; returns the id of each.
fn read_ids(output: &mut dyn BufRead) -> io::Result<HashMap<String, Vec<u8>>> {
    let mut ids = HashMap::new();
    let mut commit: Option<String> = None;
    let mut patch = PatchHash::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let is_end = output.read_until(b'\n', &mut line)? == 0;
        let is_commit =
            matches!(line.len(), 41 | 65) && line[..line.len() - 1].iter().all(u8::is_ascii_hexdigit);
        if !is_end && !is_commit {
            patch.line(&line);
            continue;
        }
        if let (Some(commit), Some(id)) = (commit.take(), std::mem::take(&mut patch).finish()) {
            ids.insert(commit, id);
        }
        if is_end {
            return Ok(ids);
        }
        commit = Some(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
    }
}

/// The hash of a patch under construction. One line is in memory at a time.
#[derive(Default)]
struct PatchHash {
    hash: Option<[u8; 32]>,
    index: Vec<u8>,
    /// Inside a hunk, where a line begins with its sign.
    is_hunk: bool,
}

impl PatchHash {
    fn line(&mut self, line: &[u8]) {
        match line.first() {
            Some(b'+' | b'-') if self.is_hunk => self.add(line),
            _ if line.starts_with(b"diff --git ") => {
                self.is_hunk = false;
                self.add(line);
            }
            _ if line.starts_with(b"@@ ") => self.is_hunk = true,
            // The only trace of the content of a binary file.
            _ if line.starts_with(b"index ") => self.index = line.to_vec(),
            _ if line.starts_with(b"Binary files ") => {
                let index = std::mem::take(&mut self.index);
                self.add(&index);
            }
            _ if line.starts_with(b"new file") || line.starts_with(b"deleted file") => self.add(line),
            _ => {}
        }
    }

    fn add(&mut self, line: &[u8]) {
        let mut bytes = self.hash.map(|hash| hash.to_vec()).unwrap_or_default();
        bytes.extend(line.iter().filter(|byte| !byte.is_ascii_whitespace()));
        self.hash = Some(sha256(&bytes));
    }

    fn finish(self) -> Option<Vec<u8>> {
        Some(self.hash?[..ID_BYTES].to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "0123456789012345678901234567890123456789";

    fn id(patch: &str) -> Option<Vec<u8>> {
        let text = format!("{COMMIT}\n{patch}");
        read_ids(&mut text.as_bytes()).unwrap().remove(COMMIT)
    }

    #[test]
    fn a_patch_is_known_by_its_lines_not_by_their_place() {
        let patch = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -3 +3 @@\n-one\n+two\n";
        let moved = patch.replace("-3 +3", "-9 +12").replace("1..2", "3..4");
        let spaced = patch.replace("+two", "+  two ");
        let other = patch.replace("+two", "+three");
        let file = patch.replace("/x", "/y");
        assert!(id(patch).is_some());
        assert_eq!(id(patch), id(&moved));
        assert_eq!(id(patch), id(&spaced));
        assert_ne!(id(patch), id(&other));
        assert_ne!(id(patch), id(&file));
        assert_eq!(id(""), None);
    }

    #[test]
    fn binary_files_are_compared_by_their_content() {
        let patch =
            |to: &str| format!("diff --git a/x b/x\nindex 1..{to} 100644\nBinary files a/x and b/x differ\n");
        assert_eq!(id(&patch("2")), id(&patch("2")));
        assert_ne!(id(&patch("2")), id(&patch("3")));
    }
}
