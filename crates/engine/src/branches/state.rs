//! Decides the state of each turn's work from refs and history.

use std::collections::{HashMap, HashSet};

use backstory_model::{BranchState, Timestamp};
use backstory_store::{TurnCommit, TurnGit};

use super::{history::BranchHistory, refs::Refs};

/// The most rows about branches on top of other branches: more would cost more than they tell.
const MAX_CONTAINED: usize = 20_000;

/// Everything that decides a state.
pub(super) struct Classifier<'c> {
    refs: &'c Refs,
    history: &'c BranchHistory,
    /// The revert of each reverted commit.
    reverts: &'c HashMap<String, String>,
    /// The commits of turns that exist in the repository.
    commits: &'c HashSet<String>,
    /// The branches on which each commit was made.
    made_on: HashMap<&'c str, HashSet<&'c str>>,
    /// The state of the latest commit on each branch, by time.
    latest: HashMap<&'c str, (Timestamp, BranchState)>,
}

impl<'c> Classifier<'c> {
    pub(super) fn new(
        refs: &'c Refs,
        history: &'c BranchHistory,
        reverts: &'c HashMap<String, String>,
        commits: &'c HashSet<String>,
        turns: &'c [TurnGit],
    ) -> Self {
        let mut classifier = Self {
            refs,
            history,
            reverts,
            commits,
            made_on: HashMap::new(),
            latest: HashMap::new(),
        };
        for turn in turns {
            let Some(commit) = classifier.existing(&turn.work) else {
                continue;
            };
            let branch = turn.work.branch.as_str();
            classifier.made_on.entry(commit).or_default().insert(branch);
            let state = match classifier.revert_of(commit) {
                Some(_) => BranchState::Abandoned,
                None => classifier.commit_state(commit, branch),
            };
            let latest = classifier
                .latest
                .entry(branch)
                .or_insert((turn.started_at, state));
            if turn.started_at >= latest.0 {
                *latest = (turn.started_at, state);
            }
        }
        classifier
    }

    /// Returns the work of a turn with its state.
    pub(super) fn classify(&self, turn: &TurnGit) -> TurnCommit {
        let mut work = turn.work.clone();
        match self.existing(&turn.work) {
            Some(commit) => {
                work.reverted_by = self.revert_of(commit).map(ToOwned::to_owned);
                work.state = Some(match work.reverted_by {
                    Some(_) => BranchState::Abandoned,
                    None => self.commit_state(commit, &work.branch),
                });
            }
            // Reverted before the commit went away.
            None if work.reverted_by.is_some() => {}
            None => work.state = self.state_without_commit(turn),
        }
        work
    }

    /// Returns the unmerged commits of turns that each branch contains and that were made on another branch.
    pub(super) fn contained(&self) -> Vec<(String, String)> {
        let mut rows = Vec::new();
        for (branch, tips) in &self.refs.branches {
            let is_used = self.latest.contains_key(branch.as_str())
                || tips.iter().any(|tip| self.refs.heads.contains(tip));
            if !is_used || self.refs.is_main(branch) {
                continue;
            }
            let mut ancestors: Vec<String> = self
                .history
                .ancestors(tips.iter().map(String::as_str))
                .into_iter()
                .filter(|commit| {
                    let made_on = self.made_on.get(commit.as_str());
                    made_on.is_some_and(|branches| branches.iter().any(|made| made != branch))
                })
                .collect();
            ancestors.sort_unstable();
            rows.extend(ancestors.into_iter().map(|commit| (branch.clone(), commit)));
        }
        rows.sort_unstable();
        rows.truncate(MAX_CONTAINED);
        rows
    }

    /// Returns the commit of a turn's work, if the repository has it.
    fn existing<'t>(&self, work: &'t TurnCommit) -> Option<&'t str> {
        let commit = work.commit.as_deref();
        commit.filter(|commit| self.commits.contains(*commit))
    }

    /// Returns the commit that reverts the work of a commit: itself, or every form in which the main branch has it.
    fn revert_of(&self, commit: &str) -> Option<&'c str> {
        let revert = |commit: &str| self.reverts.get(commit).map(String::as_str);
        revert(commit).or_else(|| {
            let mut reverts = self.history.equivalents(commit).iter().map(|same| revert(same));
            let first = reverts.next()??;
            reverts.all(|revert| revert.is_some()).then_some(first)
        })
    }

    fn commit_state(&self, commit: &str, branch: &str) -> BranchState {
        if self.is_merged(commit) {
            BranchState::Merged
        } else if self.history.is_reachable(commit) {
            BranchState::Working
        } else {
            // Amended or rebased if the branch still exists: what is on it now took its place.
            self.branch_state(branch).unwrap_or(BranchState::Abandoned)
        }
    }

    fn is_merged(&self, commit: &str) -> bool {
        self.history.is_in_main(commit) || !self.history.equivalents(commit).is_empty()
    }

    /// Returns the state of the latest commit of a branch; `None` if the branch does not exist.
    fn branch_state(&self, branch: &str) -> Option<BranchState> {
        if self.refs.is_main(branch) {
            return Some(BranchState::Merged);
        }
        let tips = self.refs.branches.get(branch)?;
        Some(match tips.iter().all(|tip| self.is_merged(tip)) {
            true => BranchState::Merged,
            false => BranchState::Working,
        })
    }

    /// Decides about work that was not committed, or whose commit the repository does not have.
    fn state_without_commit(&self, turn: &TurnGit) -> Option<BranchState> {
        let work = &turn.work;
        let is_uncommitted = work.commit.is_none() && work.head.is_some();
        let tips = self.refs.branches.get(&work.branch);
        let has_moved = tips.is_some_and(|tips| tips.iter().any(|tip| Some(tip) != work.head.as_ref()));
        match self.branch_state(&work.branch) {
            Some(state) if self.refs.is_main(&work.branch) => Some(state),
            Some(_) if is_uncommitted && !has_moved => Some(BranchState::Working),
            Some(state) => Some(state),
            // The branch is gone.
            None => match self.latest.get(work.branch.as_str()) {
                Some((_, state)) => Some(*state),
                None if is_uncommitted && turn.ended_at.is_some() => Some(BranchState::Abandoned),
                None => work.state,
            },
        }
    }
}
