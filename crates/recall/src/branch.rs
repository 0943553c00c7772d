//! Marks memories about work that the current branch does not have.

use backstory_model::{BranchState, ProjectId};
use backstory_store::{Memory, Observation, Store, StoreError};
use backstory_text::one_line;

use crate::frame::quoted;

/// The place of a memory's work, if it is not on the current branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchMark {
    /// On another branch, not merged.
    Working(String),
    /// Its branch was deleted without a merge.
    Abandoned(String),
    /// It was reverted.
    Reverted(String),
}

impl BranchMark {
    /// Describes the place for an agent. The name of the branch is quoted: a stranger may have chosen it.
    pub fn note(&self) -> String {
        self.describe(&quoted(&one_line(self.branch(), 80)))
    }

    /// Describes the place for the user.
    pub fn plain_note(&self) -> String {
        self.describe(&one_line(self.branch(), 80))
    }

    fn branch(&self) -> &str {
        match self {
            Self::Working(branch) | Self::Abandoned(branch) | Self::Reverted(branch) => branch,
        }
    }

    fn describe(&self, branch: &str) -> String {
        match self {
            Self::Working(_) => format!("on {branch}, not merged"),
            Self::Abandoned(_) => format!("tried on {branch}, not merged"),
            Self::Reverted(_) => format!("tried on {branch}, reverted"),
        }
    }

    /// Returns true if the work is not to be continued: the memory only says that it was tried.
    pub fn is_abandoned(&self) -> bool {
        !matches!(self, Self::Working(_))
    }

    /// Returns the mark of a memory, wherever it is read.
    pub fn of(memory: &Memory) -> Option<Self> {
        let work = memory.work.as_ref()?;
        mark(work.state?, &work.branch, work.reverted_by.is_some())
    }
}

fn mark(state: BranchState, branch: &str, is_reverted: bool) -> Option<BranchMark> {
    let branch = branch.to_owned();
    match state {
        BranchState::Merged => None,
        BranchState::Working => Some(BranchMark::Working(branch)),
        BranchState::Abandoned if is_reverted => Some(BranchMark::Reverted(branch)),
        BranchState::Abandoned => Some(BranchMark::Abandoned(branch)),
    }
}

/// The branch of a session that receives memories.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CurrentBranch<'b> {
    pub(crate) store: &'b Store,
    pub(crate) project: ProjectId,
    /// The name, or the first digits of the commit; absent outside of a repository.
    pub(crate) name: Option<&'b str>,
}

impl CurrentBranch<'_> {
    /// Returns the mark of a memory for a session on this branch.
    pub(crate) fn mark(&self, memory: &Memory) -> Result<Option<BranchMark>, StoreError> {
        let commit = memory.work.as_ref().and_then(|work| work.commit.as_deref());
        self.unless_here(BranchMark::of(memory), commit)
    }

    /// Returns the mark of an observation for a session on this branch.
    pub(crate) fn mark_observation(
        &self,
        observation: &Observation,
    ) -> Result<Option<BranchMark>, StoreError> {
        let (Some(state), Some(branch)) = (observation.branch_state, &observation.branch) else {
            return Ok(None);
        };
        let mark = mark(state, branch, observation.is_reverted);
        self.unless_here(mark, observation.commit.as_deref())
    }

    /// Drops the mark of work on this branch, or on one that this branch contains.
    fn unless_here(
        &self,
        mark: Option<BranchMark>,
        commit: Option<&str>,
    ) -> Result<Option<BranchMark>, StoreError> {
        let (Some(BranchMark::Working(branch)), Some(here)) = (&mark, self.name) else {
            return Ok(mark);
        };
        let is_here = branch == here
            || match commit {
                Some(commit) => self.store.branch_contains(self.project, here, commit)?,
                None => false,
            };
        Ok(mark.filter(|_| !is_here))
    }
}
