//! The commits that the main branch does not have, and which of them it has in another form.
//!
//! One `git rev-list` finds them all. A commit that is not among them is an ancestor of the main branch. Of the others, patch
//! ids tell which were merged by squash, rebase or cherry-pick.

use std::{
    collections::{HashMap, HashSet},
    io::{self, BufRead as _},
};

use anyhow::{Result, bail};
use backstory_store::Store;

use super::{
    patches::{CommitRange, patch_ids},
    refs::Refs,
};
use crate::process::Git;

/// The most unmerged commits that are looked at.
const MAX_UNMERGED: usize = 50_000;

/// The most commits of the main branch whose patches are compared.
const MAX_MAIN: &str = "--max-count=5000";

/// The most unmerged commits whose change since the main branch is compared.
const MAX_RANGES: usize = 2_000;

/// A commit that the main branch does not have.
#[derive(Debug)]
struct Unmerged {
    parents: Vec<String>,
    /// The last commit of the main branch before it, with its time.
    base: Option<(i64, String)>,
}

/// The unmerged part of the history.
#[derive(Debug, Default)]
pub(super) struct BranchHistory {
    unmerged: HashMap<String, Unmerged>,
    /// Commits of the main branch with the change of an unmerged commit, by unmerged commit.
    equivalents: HashMap<String, Vec<String>>,
    /// Unmerged commits that a branch or working tree has.
    reachable: HashSet<String>,
}

impl BranchHistory {
    /// Reads the history of these commits and of all branches. All commits must exist.
    pub(super) fn read(
        git: &Git<'_>,
        store: &mut Store,
        refs: &Refs,
        commits: &HashSet<String>,
    ) -> Result<Self> {
        let mut history = Self::default();
        history.read_unmerged(git, refs, commits)?;
        history.reachable = history.ancestors(refs.tips());
        history.find_equivalents(git, store, refs, commits)?;
        Ok(history)
    }

    /// Returns true if the main branch has the commit itself.
    pub(super) fn is_in_main(&self, commit: &str) -> bool {
        !self.unmerged.contains_key(commit)
    }

    /// Returns the commits of the main branch that make the change of an unmerged commit.
    pub(super) fn equivalents(&self, commit: &str) -> &[String] {
        self.equivalents.get(commit).map_or(&[], Vec::as_slice)
    }

    /// Returns true if a branch or working tree has the unmerged commit.
    pub(super) fn is_reachable(&self, commit: &str) -> bool {
        self.reachable.contains(commit)
    }

    /// Returns the unmerged commits that are ancestors of others, with those.
    pub(super) fn ancestors<'c>(&self, commits: impl Iterator<Item = &'c str>) -> HashSet<String> {
        let mut found = HashSet::new();
        let mut next: Vec<&str> = commits.collect();
        while let Some(commit) = next.pop() {
            if let Some((id, unmerged)) = self.unmerged.get_key_value(commit)
                && found.insert(id.clone())
            {
                next.extend(unmerged.parents.iter().map(String::as_str));
            }
        }
        found
    }

    fn read_unmerged(&mut self, git: &Git<'_>, refs: &Refs, commits: &HashSet<String>) -> Result<()> {
        let mut input = String::new();
        for commit in refs.tips().chain(commits.iter().map(String::as_str)) {
            input.push_str(&format!("{commit}\n"));
        }
        for tip in &refs.main_tips {
            input.push_str(&format!("^{tip}\n"));
        }
        let arguments = [
            "rev-list",
            "--topo-order",
            "--parents",
            "--timestamp",
            "--boundary",
            "--stdin",
        ];
        let lines = git.stream(&arguments, &input, |output| {
            output
                .lines()
                .take(MAX_UNMERGED + 1)
                .collect::<io::Result<Vec<String>>>()
        })?;
        if lines.len() > MAX_UNMERGED {
            bail!("more than {MAX_UNMERGED} commits are not merged");
        }
        // Parents come last: from the end, the base of each parent is known before it is needed.
        let mut boundary: HashMap<String, i64> = HashMap::new();
        for line in lines.iter().rev() {
            let mut parts = line.split(' ');
            let (Some(time), Some(commit)) = (parts.next(), parts.next()) else {
                continue;
            };
            let time: i64 = time.parse().unwrap_or_default();
            if let Some(commit) = commit.strip_prefix('-') {
                boundary.insert(commit.to_owned(), time);
                continue;
            }
            let parents: Vec<String> = parts.map(ToOwned::to_owned).collect();
            let base = parents
                .iter()
                .filter_map(|parent| match self.unmerged.get(parent) {
                    Some(unmerged) => unmerged.base.clone(),
                    None => Some((boundary.get(parent).copied().unwrap_or_default(), parent.clone())),
                });
            let base = base.max();
            self.unmerged
                .insert(commit.to_owned(), Unmerged { parents, base });
        }
        Ok(())
    }

    fn find_equivalents(
        &mut self,
        git: &Git<'_>,
        store: &mut Store,
        refs: &Refs,
        commits: &HashSet<String>,
    ) -> Result<()> {
        let tips = refs.branches.values().flatten();
        let mut compared: Vec<&String> = commits
            .iter()
            .chain(tips)
            .filter(|commit| !self.is_in_main(commit))
            .collect();
        compared.sort_unstable();
        compared.dedup();
        compared.truncate(MAX_RANGES);
        let base_of = |commit: &String| {
            self.unmerged
                .get(commit)
                .and_then(|unmerged| unmerged.base.clone())
        };
        let oldest = compared.iter().filter_map(|commit| base_of(commit)).min();
        let Some((_, oldest)) = oldest else { return Ok(()) };
        let input: String = refs.main_tips.iter().map(|tip| format!("{tip}\n")).collect();
        let arguments = ["rev-list", "--no-merges", MAX_MAIN, "--stdin"];
        let main = git.output(&arguments, &format!("{input}^{oldest}\n"))?;
        let single = |commit: &String| CommitRange {
            commit: commit.clone(),
            base: None,
        };
        let whole = |commit: &String| CommitRange {
            commit: commit.clone(),
            base: base_of(commit).map(|(_, base)| base),
        };
        let main: Vec<CommitRange> = main.lines().map(|commit| single(&commit.to_owned())).collect();
        let is_merge = |commit: &&&String| self.unmerged[**commit].parents.len() > 1;
        let mut ranges: HashSet<CommitRange> = main.iter().cloned().collect();
        ranges.extend(
            compared
                .iter()
                .filter(|commit| !is_merge(commit))
                .map(|commit| single(commit)),
        );
        ranges.extend(
            compared
                .iter()
                .map(|commit| whole(commit))
                .filter(|range| range.base.is_some()),
        );
        let ids = patch_ids(git, store, &ranges)?;
        let mut by_patch: HashMap<&[u8], Vec<String>> = HashMap::new();
        for range in &main {
            if let Some(id) = ids.get(range) {
                by_patch.entry(id).or_default().push(range.commit.clone());
            }
        }
        let merged = |range: CommitRange| ids.get(&range).and_then(|id| by_patch.get(id.as_slice()));
        let mut equivalents: HashMap<String, Vec<String>> = HashMap::new();
        for commit in compared {
            if let Some(same) = merged(single(commit)) {
                equivalents
                    .entry(commit.clone())
                    .or_default()
                    .extend_from_slice(same);
            }
            if let Some(same) = merged(whole(commit)) {
                // A squash merge has everything before it on the branch too.
                for ancestor in self.ancestors(std::iter::once(commit.as_str())) {
                    equivalents.entry(ancestor).or_default().extend_from_slice(same);
                }
            }
        }
        self.equivalents = equivalents;
        Ok(())
    }
}
