//! The log of what a working tree had checked out, and the commit of a turn's work by it.

use std::{collections::HashMap, io, time::Duration};

use backstory_model::Timestamp;
use backstory_store::TurnGit;

use crate::process::Git;

/// Uncommitted work of a turn is in the next commit of its working tree, if that comes within this time.
const COMMIT_WITHIN: Duration = Duration::from_hours(7 * 24);

/// A moment at which the checked out commit changed.
#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// Git keeps seconds.
    at: Timestamp,
    commit: String,
    /// The branch from here on, if the log tells.
    branch: Option<String>,
    /// It made a new commit.
    is_commit: bool,
}

/// The log of one working tree, oldest first.
#[derive(Debug, Default)]
pub(super) struct HeadLog(Vec<Entry>);

impl HeadLog {
    /// Reads the log of the working tree that git runs in. Without a log, the current commit counts from now on.
    pub(super) fn read(git: &Git<'_>, now: Timestamp) -> io::Result<Self> {
        let arguments = [
            "log",
            "-g",
            "--date=unix",
            "--format=%H %gd %gs",
            "--max-count=20000",
            "HEAD",
        ];
        let log = Self::parse(&git.output(&arguments, "").unwrap_or_default());
        if !log.0.is_empty() {
            return Ok(log);
        }
        let head = git.output(&["rev-parse", "--verify", "HEAD^{commit}"], "")?;
        Ok(Self(vec![Entry {
            at: now - Duration::from_secs(60),
            commit: head.trim().to_owned(),
            branch: None,
            is_commit: false,
        }]))
    }

    /// Parses lines such as `<commit> HEAD@{1700000000} commit: message`, newest first.
    fn parse(text: &str) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        // Before a checkout, the branch is the one that it left.
        let mut branch: Option<&str> = None;
        let mut is_known = false;
        let lines: Vec<&str> = text.lines().collect();
        for line in lines.iter().rev() {
            let mut parts = line.splitn(3, ' ');
            let (Some(commit), Some(moment), Some(message)) = (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let seconds = moment
                .split(['{', '}'])
                .nth(1)
                .and_then(|seconds| seconds.parse().ok());
            let Some(seconds): Option<i64> = seconds else {
                continue;
            };
            let moved = message
                .strip_prefix("checkout: moving from ")
                .and_then(|moved| moved.split_once(" to "));
            if let Some((from, to)) = moved {
                if !is_known {
                    entries
                        .iter_mut()
                        .for_each(|entry| entry.branch = Some(from.to_owned()));
                }
                is_known = true;
                branch = Some(to);
            }
            entries.push(Entry {
                at: Timestamp::from_millis(seconds * 1000),
                commit: commit.to_owned(),
                branch: branch.map(ToOwned::to_owned),
                is_commit: message.starts_with("commit"),
            });
        }
        Self(entries)
    }

    /// Finds the commit that was checked out at the end of a turn, and the commit with its work. `hint` is a commit that the
    /// turn made, as the agent's own log has it. Returns true if something new is known.
    pub(super) fn resolve(&self, turn: &mut TurnGit, hint: Option<&str>) -> bool {
        let Some(ended_at) = turn.ended_at else {
            return false;
        };
        let before = turn.work.clone();
        let at_end = match &turn.work.head {
            // What was stored first was read closest to the end: the log keeps seconds only.
            Some(head) => self
                .0
                .iter()
                .rposition(|entry| entry.commit == *head && entry.at <= ended_at),
            None => self.0.iter().rposition(|entry| entry.at <= ended_at),
        };
        let Some(at_end) = at_end else { return false };
        let end = &self.0[at_end];
        if turn.work.head.is_none() {
            turn.work.head = Some(end.commit.clone());
            let made = self.0[..=at_end]
                .iter()
                .rev()
                .take_while(|entry| entry.at > turn.started_at)
                .any(|entry| entry.is_commit);
            let hinted = hint.is_some_and(|hint| end.commit.starts_with(hint));
            if made || hinted || !turn.has_changes {
                turn.work.commit = Some(end.commit.clone());
                if let Some(branch) = end.branch.clone().filter(|_| made) {
                    turn.work.branch = branch;
                }
            }
        }
        if turn.work.commit.is_none() {
            let next = self.0[at_end + 1..]
                .iter()
                .find(|entry| entry.is_commit && entry.at.since(ended_at) <= COMMIT_WITHIN);
            if let Some(next) = next {
                turn.work.commit = Some(next.commit.clone());
                if let Some(branch) = &next.branch {
                    turn.work.branch.clone_from(branch);
                }
            }
        }
        turn.work != before
    }
}

/// Logs of working trees, by folder. A folder that is gone has none.
pub(super) type HeadLogs = HashMap<String, Option<HeadLog>>;

#[cfg(test)]
mod tests {
    use backstory_model::{SessionId, TurnId};
    use backstory_store::TurnCommit;

    use super::*;

    fn turn(started: i64, ended: i64, has_changes: bool) -> TurnGit {
        TurnGit {
            turn_id: TurnId::new(1),
            session_db_id: SessionId::new(1),
            number: 1,
            folder: "/w".to_owned(),
            started_at: Timestamp::from_millis(started * 1000),
            ended_at: Some(Timestamp::from_millis(ended * 1000)),
            has_changes,
            work: TurnCommit {
                branch: "start".to_owned(),
                ..TurnCommit::default()
            },
        }
    }

    fn resolved(log: &HeadLog, mut turn: TurnGit) -> (Option<String>, Option<String>, String) {
        log.resolve(&mut turn, None);
        (turn.work.head, turn.work.commit, turn.work.branch)
    }

    #[test]
    fn the_work_of_a_turn_is_its_commit_or_the_next_one() {
        let log = HeadLog::parse(
            "c4 HEAD@{90} commit: four\nc2 HEAD@{60} checkout: moving from feature to main\n\
            c3 HEAD@{40} commit: three\nc2 HEAD@{30} checkout: moving from main to feature\n\
            c2 HEAD@{20} commit: two\nc1 HEAD@{10} commit (initial): one\n",
        );
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(
            resolved(&log, turn(15, 25, true)),
            (text("c2"), text("c2"), "main".to_owned())
        );
        assert_eq!(
            resolved(&log, turn(31, 35, true)),
            (text("c2"), text("c3"), "feature".to_owned()),
            "committed after the turn"
        );
        assert_eq!(
            resolved(&log, turn(41, 50, false)),
            (text("c3"), text("c3"), "start".to_owned()),
            "nothing to commit"
        );
        assert_eq!(
            resolved(&log, turn(91, 95, true)),
            (text("c4"), None, "start".to_owned())
        );
        assert_eq!(resolved(&log, turn(1, 5, true)), (None, None, "start".to_owned()));
    }
}
