//! Branch, commit and state of the work of each turn.
//!
//! The engine asks git and stores the answers here; recall reads them with every memory. Nothing here runs git. The state is
//! that of the last check: it is unknown until there was one.

use std::collections::HashMap;

use backstory_model::{BranchState, ObservationId, ProjectId, SessionId, Timestamp, TurnId};
use rusqlite::{Connection, Transaction, params};

use crate::{
    Store, StoreError,
    memory::changes::{ChangeEvent, record_change},
    sql::Statements as _,
};

/// Holds what is known about the work of a turn in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnGit {
    /// The turn.
    pub turn_id: TurnId,
    /// The session.
    pub session_db_id: SessionId,
    /// The number of the turn in its session.
    pub number: u32,
    /// The folder that the session was started in.
    pub folder: String,
    /// The start of the turn.
    pub started_at: Timestamp,
    /// The end of the turn; absent while it runs.
    pub ended_at: Option<Timestamp>,
    /// The turn changed files.
    pub has_changes: bool,
    /// The commit and its state.
    pub work: TurnCommit,
}

/// Holds the commit of a turn's work, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TurnCommit {
    /// The branch at the end of the turn.
    pub branch: String,
    /// The commit that was checked out at the end of the turn.
    pub head: Option<String>,
    /// The commit with the work of the turn; absent until there is one.
    pub commit: Option<String>,
    /// The state at the last check; absent if unknown.
    pub state: Option<BranchState>,
    /// The commit that reverts the work.
    pub reverted_by: Option<String>,
}

/// Holds a file that was renamed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenamedFile {
    /// The path before.
    pub old_path: String,
    /// The path after.
    pub new_path: String,
    /// The time of the commit.
    pub at: Timestamp,
}

/// Identifies the refs of a repository at a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RepositoryCheck<'r> {
    /// The project.
    pub project: ProjectId,
    /// The root of the repository.
    pub root: &'r str,
    /// The hash of its refs and of the turns that were checked.
    pub fingerprint: u64,
}

impl Store {
    /// Returns the projects with a branch that had a session since a moment, the latest first.
    pub fn projects_on_branches(&self, since: Timestamp) -> Result<Vec<ProjectId>, StoreError> {
        const PROJECTS: &str =
            "select project_id from session where last_event_at >= ?1 and branch is not null
            group by project_id order by max(last_event_at) desc";
        self.read("look for projects on branches", |connection| {
            connection.rows(PROJECTS, [since], |row| row.get(0))
        })
    }

    /// Returns the turns of a project that have a branch, in order.
    pub fn turns_on_branches(&self, project: ProjectId) -> Result<Vec<TurnGit>, StoreError> {
        const TURNS: &str =
            "select turn.id, session_db_id, number, coalesce(session.cwd, session.worktree, project.root),
                turn.started_at, turn.ended_at, turn_git.branch, head, work, state, reverted_by,
                exists (select 1 from observation where turn_id = turn.id and files_modified <> '[]')
                    or exists (select 1 from summary where turn_id = turn.id and files_edited <> '[]')
            from session join project on project.id = session.project_id
                join turn on turn.session_db_id = session.id join turn_git on turn_git.turn_id = turn.id
            where session.project_id = ?1 order by turn.started_at, turn.id";
        self.read("read the branches of turns", |connection| {
            connection.rows(TURNS, [project], |row| {
                Ok(TurnGit {
                    turn_id: row.get(0)?,
                    session_db_id: row.get(1)?,
                    number: row.get(2)?,
                    folder: row.get(3)?,
                    started_at: row.get(4)?,
                    ended_at: row.get(5)?,
                    work: TurnCommit {
                        branch: row.get(6)?,
                        head: row.get(7)?,
                        commit: row.get(8)?,
                        state: row.get(9)?,
                        reverted_by: row.get(10)?,
                    },
                    has_changes: row.get(11)?,
                })
            })
        })
    }

    /// Stores commits and states of turns. Memories of reverted work are superseded by the memory of the revert.
    pub fn store_turn_commits(&mut self, turns: &[(TurnId, TurnCommit)]) -> Result<(), StoreError> {
        const SET: &str = "update turn_git set branch = ?2, head = ?3, work = ?4, state = ?5, reverted_by = ?6 where turn_id = ?1";
        self.write("store the branches of turns", |tx| {
            for (turn, work) in turns {
                if work.reverted_by.is_none() {
                    restore_reverted(tx, *turn)?;
                }
                tx.run(
                    SET,
                    params![
                        turn,
                        work.branch,
                        work.head,
                        work.commit,
                        work.state,
                        work.reverted_by
                    ],
                )?;
            }
            // After all commits are known: the revert may be one of these turns.
            for (turn, work) in turns {
                if let Some(commit) = &work.reverted_by {
                    supersede_reverted(tx, *turn, commit)?;
                }
            }
            Ok(())
        })
    }

    /// Returns true if the refs of a repository are those of the last check.
    pub fn is_checked(&self, check: RepositoryCheck<'_>) -> Result<bool, StoreError> {
        const SAME: &str =
            "select 1 from repository_check where project_id = ?1 and root = ?2 and fingerprint = ?3";
        self.read("look for an earlier check of branches", |connection| {
            connection.has_row(
                SAME,
                params![check.project, check.root, check.fingerprint.cast_signed()],
            )
        })
    }

    /// Stores a check of a repository with what it found: the unmerged commits that each branch contains, and renames.
    pub fn store_check(
        &mut self,
        check: RepositoryCheck<'_>,
        contained: &[(String, String)],
        renames: &[RenamedFile],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const CHECK: &str = "insert or replace into repository_check (project_id, root, fingerprint, checked_at) values (?1, ?2, ?3, ?4)";
        const CLEAR: &str = "delete from branch_commit where project_id = ?1";
        const CONTAINED: &str =
            "insert or ignore into branch_commit (project_id, branch, commit_id) values (?1, ?2, ?3)";
        const RENAMED: &str = "insert or replace into renamed_file (project_id, old_path, new_path, at) values (?1, ?2, ?3, ?4)";
        self.write("store a check of branches", |tx| {
            let values = params![check.project, check.root, check.fingerprint.cast_signed(), now];
            tx.run(CHECK, values)?;
            tx.run(CLEAR, [check.project])?;
            for (branch, commit) in contained {
                tx.run(CONTAINED, params![check.project, branch, commit])?;
            }
            for file in renames {
                tx.run(
                    RENAMED,
                    params![check.project, file.old_path, file.new_path, file.at],
                )?;
            }
            Ok(())
        })
    }

    /// Returns the time of the last check of a repository.
    pub fn last_check(&self, project: ProjectId, root: &str) -> Result<Option<Timestamp>, StoreError> {
        const AT: &str = "select checked_at from repository_check where project_id = ?1 and root = ?2";
        self.read("look for an earlier check of branches", |connection| {
            connection.optional_row(AT, params![project, root], |row| row.get(0))
        })
    }

    /// Returns true if a branch contains an unmerged commit.
    pub fn branch_contains(
        &self,
        project: ProjectId,
        branch: &str,
        commit: &str,
    ) -> Result<bool, StoreError> {
        const CONTAINS: &str =
            "select 1 from branch_commit where project_id = ?1 and branch = ?2 and commit_id = ?3";
        self.read("look for a commit on a branch", |connection| {
            connection.has_row(CONTAINS, params![project, branch, commit])
        })
    }

    /// Returns the path to which a file of an observation's project was renamed since a moment, through all renames.
    pub fn renamed_to(
        &self,
        observation: ObservationId,
        path: &str,
        since: Timestamp,
    ) -> Result<Option<String>, StoreError> {
        const NEXT: &str = "select new_path, at from renamed_file
            where project_id = (select project_id from observation where id = ?1) and old_path = ?2 and at >= ?3
            order by at desc limit 1";
        const MAX_RENAMES: usize = 16;
        self.read("look for a renamed file", |connection| {
            let mut found: Option<(String, Timestamp)> = None;
            for _ in 0..MAX_RENAMES {
                let (from, at) = found.as_ref().map_or((path, since), |(path, at)| (path, *at));
                let next = connection.optional_row(NEXT, params![observation, from, at], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
                let Some(next) = next else { break };
                found = Some(next);
            }
            Ok(found.map(|(path, _)| path))
        })
    }

    /// Returns the stored patch ids of these keys.
    pub fn patch_ids(&self, keys: &[Vec<u8>]) -> Result<HashMap<Vec<u8>, Vec<u8>>, StoreError> {
        const PATCH: &str = "select patch from patch_id where key = ?1";
        self.read("read patch ids", |connection| {
            let mut found = HashMap::new();
            for key in keys {
                if let Some(patch) = connection.optional_row(PATCH, [key], |row| row.get(0))? {
                    found.insert(key.clone(), patch);
                }
            }
            Ok(found)
        })
    }

    /// Stores patch ids.
    pub fn store_patch_ids(&mut self, patches: &[(Vec<u8>, Vec<u8>)]) -> Result<(), StoreError> {
        const PUT: &str = "insert or ignore into patch_id (key, patch) values (?1, ?2)";
        self.write("store patch ids", |tx| {
            for (key, patch) in patches {
                tx.run(PUT, params![key, patch])?;
            }
            Ok(())
        })
    }
}

/// Returns the commit of a turn's work; `None` outside of repositories.
pub(crate) fn of_turn(connection: &Connection, turn: TurnId) -> rusqlite::Result<Option<TurnCommit>> {
    const OF_TURN: &str = "select branch, head, work, state, reverted_by from turn_git where turn_id = ?1";
    connection.optional_row(OF_TURN, [turn], |row| {
        Ok(TurnCommit {
            branch: row.get(0)?,
            head: row.get(1)?,
            commit: row.get(2)?,
            state: row.get(3)?,
            reverted_by: row.get(4)?,
        })
    })
}

/// Marks the memories of a turn as superseded by the memory of the turn that reverted it. Memories that the user pinned or
/// edited stay as they are.
fn supersede_reverted(tx: &Transaction<'_>, turn: TurnId, reverted_by: &str) -> rusqlite::Result<()> {
    const REVERT: &str =
        "select observation.id from turn_git join observation on observation.turn_id = turn_git.turn_id
        where turn_git.work = ?1 and turn_git.turn_id <> ?2 order by observation.id limit 1";
    const SUPERSEDE: &str = "update observation set superseded_by = ?2
        where turn_id = ?1 and superseded_by is null and pinned = 0 and edited_at is null returning id";
    let by: Option<ObservationId> = tx.optional_row(REVERT, params![reverted_by, turn], |row| row.get(0))?;
    let Some(by) = by else { return Ok(()) };
    record_changes(tx, &tx.rows(SUPERSEDE, params![turn, by], |row| row.get(0))?)
}

/// Marks the memories of a turn as valid again, if the memory of its revert supersedes them.
fn restore_reverted(tx: &Transaction<'_>, turn: TurnId) -> rusqlite::Result<()> {
    const RESTORE: &str = "update observation set superseded_by = null
        where turn_id = ?1 and edited_at is null and superseded_by in (select reverting.id
            from turn_git as reverted join turn_git as revert on revert.work = reverted.reverted_by
                join observation as reverting on reverting.turn_id = revert.turn_id
            where reverted.turn_id = ?1 and revert.turn_id <> ?1)
        returning id";
    record_changes(tx, &tx.rows(RESTORE, [turn], |row| row.get(0))?)
}

fn record_changes(tx: &Transaction<'_>, observations: &[ObservationId]) -> rusqlite::Result<()> {
    for id in observations {
        record_change(tx, ChangeEvent::Memory((*id).into()))?;
    }
    Ok(())
}
