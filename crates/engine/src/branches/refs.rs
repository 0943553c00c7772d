//! The refs of a repository: branches, the main branch, and the commits that working trees have checked out.

use std::{collections::HashMap, io};

use backstory_text::hash64;

use crate::process::Git;

/// Names of the main branch, in the order of preference.
const MAIN: [&str; 4] = ["main", "master", "trunk", "develop"];

/// The refs of a repository at one moment.
#[derive(Debug, Default)]
pub(super) struct Refs {
    /// The name of the main branch, if it can be told.
    pub(super) main: Option<String>,
    /// Commits of the main branch: the local one and that of the remote.
    pub(super) main_tips: Vec<String>,
    /// Commits of each branch name: the local branch and those of remotes.
    pub(super) branches: HashMap<String, Vec<String>>,
    /// Commits that are checked out.
    pub(super) heads: Vec<String>,
    /// Identifies this state of the refs.
    pub(super) fingerprint: u64,
}

impl Refs {
    /// Reads the refs.
    pub(super) fn read(git: &Git<'_>) -> io::Result<Self> {
        let format = "--format=%(objectname) %(refname) %(symref)";
        let list = git.output(&["for-each-ref", format, "refs/heads", "refs/remotes"], "")?;
        let trees = git.output(&["worktree", "list", "--porcelain"], "")?;
        Ok(Self::parse(&list, &trees))
    }

    fn parse(list: &str, trees: &str) -> Self {
        let mut refs = Self {
            fingerprint: hash64(format!("{list}\0{trees}").as_bytes()),
            ..Self::default()
        };
        let mut local: HashMap<&str, &str> = HashMap::new();
        for line in list.lines() {
            let mut parts = line.split(' ');
            let (Some(commit), Some(name)) = (parts.next(), parts.next()) else {
                continue;
            };
            if let Some(branch) = name.strip_prefix("refs/heads/") {
                local.insert(branch, commit);
                refs.add(branch, commit);
            } else if let Some((_, branch)) = name
                .strip_prefix("refs/remotes/")
                .and_then(|name| name.split_once('/'))
            {
                match (branch, parts.next()) {
                    ("HEAD", Some(target)) if name == "refs/remotes/origin/HEAD" => {
                        refs.main = target.strip_prefix("refs/remotes/origin/").map(ToOwned::to_owned);
                    }
                    ("HEAD", _) => {}
                    _ => refs.add(branch, commit),
                }
            }
        }
        if refs.main.is_none() {
            let known = MAIN.into_iter().find(|name| local.contains_key(name));
            let only = || local.keys().next().copied().filter(|_| local.len() == 1);
            refs.main = known.or_else(only).map(ToOwned::to_owned);
        }
        if let Some(main) = &refs.main {
            refs.main_tips = refs.branches.get(main).cloned().unwrap_or_default();
        }
        let heads = trees.lines().filter_map(|line| line.strip_prefix("HEAD "));
        refs.heads = heads.map(ToOwned::to_owned).collect();
        refs
    }

    fn add(&mut self, branch: &str, commit: &str) {
        let tips = self.branches.entry(branch.to_owned()).or_default();
        if !tips.iter().any(|known| known == commit) {
            tips.push(commit.to_owned());
        }
    }

    /// Returns true if this is the main branch.
    pub(super) fn is_main(&self, branch: &str) -> bool {
        self.main.as_deref() == Some(branch)
    }

    /// Returns the commits of all branches and working trees.
    pub(super) fn tips(&self) -> impl Iterator<Item = &str> {
        let branches = self.branches.values().flatten();
        branches.chain(&self.heads).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_main_branch_is_that_of_the_remote_else_the_usual_one() {
        let main = |list: &str| Refs::parse(list, "").main;
        assert_eq!(
            main("1 refs/heads/master \n2 refs/heads/main \n").as_deref(),
            Some("main")
        );
        assert_eq!(main("1 refs/heads/only \n").as_deref(), Some("only"));
        assert_eq!(main("1 refs/heads/a \n2 refs/heads/b \n"), None);
        let remote = "1 refs/heads/main \n2 refs/remotes/origin/HEAD refs/remotes/origin/next\n2 refs/remotes/origin/next \n";
        let refs = Refs::parse(remote, "worktree /w\nHEAD 9\ndetached\n");
        assert_eq!(refs.main.as_deref(), Some("next"));
        assert_eq!(refs.main_tips, ["2"]);
        assert_eq!(refs.heads, ["9"]);
        assert_eq!(refs.branches.len(), 2);
    }
}
