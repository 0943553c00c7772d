//! Commits that a later commit reverts.

use std::{collections::HashMap, io};

use backstory_model::Timestamp;

use super::{history::BranchHistory, refs::Refs};
use crate::process::Git;

/// The sentence that `git revert` writes.
const SENTENCE: &str = "This reverts commit ";

/// Separates commits in the output.
const SEPARATOR: char = '\u{1}';

/// The most reverted merges whose commits are listed.
const MAX_MERGES: usize = 50;

/// A revert, as its message describes it.
#[derive(Debug, PartialEq, Eq)]
struct Revert<'m> {
    commit: &'m str,
    reverted: Vec<&'m str>,
    /// It reverts a merge: all commits that the merge brought.
    is_merge: bool,
}

/// Finds reverted commits since a moment; returns the revert of each. The revert of a revert brings a commit back.
pub(super) fn find_reverts(
    git: &Git<'_>,
    refs: &Refs,
    history: &BranchHistory,
    since: Timestamp,
) -> io::Result<HashMap<String, String>> {
    let grep = format!("--grep=^{SENTENCE}");
    let since = format!("--since=@{}", since.as_millis() / 1000);
    let arguments = [
        "log",
        "--format=%x01%H%n%B",
        "--max-count=2000",
        &grep,
        &since,
        "--stdin",
    ];
    let mut input: String = refs.main_tips.iter().map(|tip| format!("{tip}\n")).collect();
    input.extend(refs.tips().map(|tip| format!("{tip}\n")));
    let log = git.output(&arguments, &input)?;
    let mut found: HashMap<String, String> = HashMap::new();
    let mut merges = 0;
    // Newest first: a revert is seen after the revert that undoes it.
    for revert in log.split(SEPARATOR).filter_map(parse) {
        if found.contains_key(revert.commit) {
            continue;
        }
        for reverted in &revert.reverted {
            // A revert on a branch undoes work on branches, not what the main branch has.
            if !history.is_in_main(revert.commit) && history.is_in_main(reverted) {
                continue;
            }
            found
                .entry((*reverted).to_owned())
                .or_insert_with(|| revert.commit.to_owned());
            if revert.is_merge && merges < MAX_MERGES {
                merges += 1;
                let brought = git.output(&["rev-list", "--stdin"], &format!("{reverted}\n^{reverted}^1\n"));
                // The merge may be outside of a shallow clone.
                for commit in brought.unwrap_or_default().lines() {
                    found
                        .entry(commit.to_owned())
                        .or_insert_with(|| revert.commit.to_owned());
                }
            }
        }
    }
    Ok(found)
}

/// Parses a commit and its message.
fn parse(text: &str) -> Option<Revert<'_>> {
    let (commit, message) = text.split_once('\n')?;
    let mut revert = Revert {
        commit,
        reverted: Vec::new(),
        is_merge: false,
    };
    for part in message.split(SENTENCE).skip(1) {
        let end = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
        if matches!(end, 40 | 64) {
            revert.reverted.push(&part[..end]);
            revert.is_merge |= part[end..].starts_with(", reversing");
        }
    }
    (!revert.reverted.is_empty()).then_some(revert)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_git_are_understood() {
        let id = "0123456789012345678901234567890123456789";
        let plain = format!("c1\nRevert \"x\"\n\nThis reverts commit {id}.\n");
        let merge =
            format!("c2\nRevert \"y\"\n\nThis reverts commit {id}, reversing\nchanges made to {id}.\n");
        assert_eq!(parse(&plain).unwrap().reverted, [id]);
        assert!(!parse(&plain).unwrap().is_merge);
        assert!(parse(&merge).unwrap().is_merge);
        assert_eq!(parse("c3\nThis reverts commit abc.\n"), None);
    }
}
