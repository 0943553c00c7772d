//! Writes the hand-over of a session: requests, completed work, checks, state, open work, decisions and traps.
//!
//! Everything comes from the whole work log, never from the last turn alone. Open work needs evidence, and work that a later
//! step completed is not open. The summaries of the turns are short; the last one holds what the hand-over holds.

mod checks;
mod done;
mod open;
mod requests;
mod summary;

pub(crate) use summary::summaries;

use done::SAME_PERCENT;

use crate::english::{Words, has_cause, opens_with_change};
use crate::episodes::Timeline;
use crate::memories::{Ending, Obstacles};
use backstory_model::{Handover, ObservationType, SessionObservation};

/// The whole hand-over, in characters: about 450 tokens.
const MAX_CHARS: usize = 1_900;
const MAX_FINDINGS: usize = 2;
const MAX_CHANGES: usize = 3;
const MAX_DECISIONS: usize = 4;
const MAX_TRAPS: usize = 4;

/// Writes the hand-over.
pub(crate) fn write(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    obstacles: &Obstacles<'_>,
    observations: &[SessionObservation],
) -> Handover {
    let mut done = done::committed(ending);
    done.splice(0..0, changes(observations, &done));
    if done.is_empty() {
        done = done::outcome(timeline);
    }
    done.splice(0..0, findings(observations, &done));
    let mut handover = Handover {
        requests: requests::chosen(timeline),
        done,
        checks: checks::checks(timeline, ending),
        state: checks::state(timeline, ending),
        open: open::open(timeline, ending, obstacles),
        decisions: titles(observations, MAX_DECISIONS, |one| {
            one.observation.kind == ObservationType::Decision
        }),
        traps: traps(observations),
        branch: timeline.logs.iter().rev().find_map(|log| log.branch.clone()),
    };
    trim(&mut handover);
    handover
}

/// Returns the latest changes that no commit covers.
fn changes(observations: &[SessionObservation], done: &[String]) -> Vec<String> {
    let covered = Words::of(&done.join(" "));
    let is_change = |one: &&SessionObservation| {
        let kind = one.observation.kind;
        !matches!(kind, ObservationType::Discovery | ObservationType::Decision)
            && one.error_signature.is_none()
    };
    let mut out: Vec<String> = observations
        .iter()
        .rev()
        .filter(is_change)
        .map(|one| &one.observation.title)
        .filter(|title| !quotes_file(title) && !Words::of(title).covered_by(&covered, SAME_PERCENT))
        .take(MAX_CHANGES)
        .cloned()
        .collect();
    out.reverse();
    out
}

/// "`a.rs`: Sessions expire after an hour" quotes a comment; "`a.rs`: Added a timeout" tells a change.
fn quotes_file(title: &str) -> bool {
    title.split_once("`: ").is_some_and(|(label, rest)| {
        label.starts_with('`') && label.contains('.') && !opens_with_change(rest)
    })
}

/// Returns the causes that were found, unless completed work covers them.
fn findings(observations: &[SessionObservation], done: &[String]) -> Vec<String> {
    let covered = Words::of(&done.join(" "));
    let explains = |one: &&SessionObservation| {
        let is_finding = one.observation.kind == ObservationType::Discovery
            && !one.rejected
            && one.error_signature.is_none();
        is_finding && has_cause(&one.observation.title)
    };
    observations
        .iter()
        .filter(explains)
        .map(|one| &one.observation.title)
        .filter(|title| !Words::of(title).covered_by(&covered, SAME_PERCENT) && !title.starts_with("Issue "))
        .take(MAX_FINDINGS)
        .map(|title| {
            if opens_with_change(title) {
                title.clone()
            } else {
                format!("Found: {title}")
            }
        })
        .collect()
}

/// Returns the latest titles that fit a condition, oldest first.
fn titles(
    observations: &[SessionObservation],
    max: usize,
    wanted: impl Fn(&SessionObservation) -> bool,
) -> Vec<String> {
    let mut out: Vec<String> = observations
        .iter()
        .rev()
        .filter(|one| wanted(one))
        .take(max)
        .map(|one| one.observation.title.clone())
        .collect();
    out.reverse();
    out
}

/// Traps: resolved failures with their error, and attempts that did not work.
fn traps(observations: &[SessionObservation]) -> Vec<String> {
    let is_trap = |one: &&SessionObservation| one.rejected || one.error_signature.is_some();
    let mut out: Vec<String> = observations
        .iter()
        .rev()
        .filter(is_trap)
        .take(MAX_TRAPS)
        .map(|one| {
            let remedy = one.observation.facts.iter().find(|fact| fact.starts_with("Fix"));
            match remedy {
                Some(remedy) => format!("{}. {remedy}", one.observation.title),
                None => one.observation.title.clone(),
            }
        })
        .collect();
    out.reverse();
    out
}

/// Drops lines of the least useful lists until the hand-over fits: the oldest first, but the first request stays, because it
/// says what the session is about.
fn trim(handover: &mut Handover) {
    while length(handover) > MAX_CHARS {
        let Handover {
            requests,
            done,
            checks,
            open,
            decisions,
            traps,
            ..
        } = handover;
        let (list, oldest) = if traps.len() > 2 {
            (traps, 0)
        } else if requests.len() > 4 {
            (requests, 1)
        } else if done.len() > 5 {
            (done, 0)
        } else if checks.len() > 2 {
            (checks, 0)
        } else if decisions.len() > 2 {
            (decisions, 0)
        } else if open.len() > 5 {
            let last = open.len() - 1;
            (open, last)
        } else if requests.len() > 2 {
            (requests, 1)
        } else if done.len() > 3 {
            (done, 0)
        } else if !traps.is_empty() {
            (traps, 0)
        } else if open.len() > 2 {
            let last = open.len() - 1;
            (open, last)
        } else {
            return;
        };
        list.remove(oldest);
    }
}

fn length(handover: &Handover) -> usize {
    [
        &handover.requests,
        &handover.done,
        &handover.checks,
        &handover.state,
        &handover.open,
        &handover.decisions,
        &handover.traps,
    ]
    .into_iter()
    .flatten()
    .map(|line| line.chars().count())
    .sum()
}
