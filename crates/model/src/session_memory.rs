use serde::{Deserialize, Serialize};

use crate::{CommandKey, Distilled, NewObservation, NewSummary, Timestamp};

/// Everything that is remembered of a session, derived from the work logs of all its turns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SessionMemory {
    /// The subject of the session in one line: the first request of the user.
    pub title: Option<String>,
    /// The latest outcome in one line.
    pub subtitle: Option<String>,
    /// The contiguous pieces of work, in order.
    pub episodes: Vec<Episode>,
    /// The observations, in the order of their episodes.
    pub observations: Vec<SessionObservation>,
    /// The checkpoint of each turn that has one: the work log up to that turn as eight fields.
    pub summaries: Vec<Checkpoint>,
    /// The state of the work at the end of the session.
    pub handover: Handover,
    /// The last result of each command, for recall before a command.
    pub commands: Vec<CommandResult>,
    /// Commands that the user ruled out.
    pub rules: Vec<CommandRule>,
}

/// The last result of an invocation in a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandResult {
    /// The invocation.
    pub key: CommandKey,
    /// The number of the turn.
    pub turn: u32,
    /// The time of the run.
    pub at: Timestamp,
    /// Present if it failed and something else worked; absent if it passed.
    pub lesson: Option<CommandLesson>,
}

/// A command that failed, and the one that worked instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandLesson {
    /// The command that failed.
    pub failed: String,
    /// The error line.
    pub error: Option<String>,
    /// The command that worked.
    pub remedy: String,
}

/// A command that the user ruled out in his own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRule {
    /// The invocation.
    pub key: CommandKey,
    /// A word that the command must contain: the branch of "never push to main".
    pub target: Option<String>,
    /// The sentence, verbatim.
    pub words: String,
    /// The number of the turn.
    pub turn: u32,
    /// The time.
    pub at: Timestamp,
}

/// A contiguous piece of work inside a session.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Episode {
    /// The position in the session, from 1. Stable: later turns only append episodes or extend the last one.
    pub number: u32,
    /// The last thing a human said before or at its start.
    pub request: Option<String>,
    /// The subject in one line.
    pub title: String,
    /// The first evidence item.
    pub first: ItemRef,
    /// The last evidence item.
    pub last: ItemRef,
}

/// The position of an evidence item in a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ItemRef {
    /// The number of the turn.
    pub turn: u32,
    /// The position of the item within the turn.
    pub item: u32,
}

/// An observation with its place in the session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionObservation {
    /// The stable key within the session (episode and subject): distilling again updates the memory with the same key.
    pub key: String,
    /// The number of the turn it belongs to.
    pub turn: u32,
    /// The number of the episode it belongs to.
    pub episode: u32,
    /// Set for something that was tried and did not work.
    pub rejected: bool,
    /// The normalized error that it resolves: the merge key across sessions.
    pub error_signature: Option<String>,
    /// The time of the evidence that completes it.
    pub at: Timestamp,
    /// The memory.
    pub observation: NewObservation,
}

/// The checkpoint of a session at the end of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    /// The number of the turn.
    pub turn: u32,
    /// The eight fields.
    pub summary: NewSummary,
}

/// The state of the work at the end of a session, for the next session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Handover {
    /// The requests, in the user's words, oldest first.
    pub requests: Vec<String>,
    /// Completed work, with commit hashes and pull requests.
    pub done: Vec<String>,
    /// The last result of each test, build and lint command.
    pub checks: Vec<String>,
    /// The state of branch and working tree: pushed or not, changed but never run.
    pub state: Vec<String>,
    /// Open work, each supported by evidence and not completed later.
    pub open: Vec<String>,
    /// Decisions that the next session must know.
    pub decisions: Vec<String>,
    /// Traps: failures with their remedy, attempts that did not work.
    pub traps: Vec<String>,
    /// The branch at the end.
    pub branch: Option<String>,
}

impl SessionMemory {
    /// Returns the part of one turn, as a model's answer about that turn replaces it.
    pub fn of_turn(&self, turn: u32) -> Distilled {
        let observations = self.observations.iter().filter(|memory| memory.turn == turn);
        let summary = self.summaries.iter().find(|summary| summary.turn == turn);
        Distilled {
            observations: observations.map(|memory| memory.observation.clone()).collect(),
            summary: summary.map(|summary| summary.summary.clone()),
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
        }
    }
}

impl Handover {
    /// Returns the lists that are not empty, with their labels, in reading order.
    pub fn sections(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        let sections: [(&str, &[String]); 7] = [
            ("asked", &self.requests),
            ("done", &self.done),
            ("open", &self.open),
            ("state", &self.state),
            ("checks", &self.checks),
            ("decisions", &self.decisions),
            ("traps", &self.traps),
        ];
        sections.into_iter().filter(|(_, lines)| !lines.is_empty())
    }
}
