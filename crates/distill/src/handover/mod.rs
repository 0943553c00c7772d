//! Writes the hand-over of a session: requests, completed work, checks, state, open work, decisions and traps.
//!
//! Everything comes from the whole work log, never from the last turn alone. Open work needs evidence, and work that a later
//! step completed is not open. The summaries of the turns are short; the last one holds what the hand-over holds.

mod checks;
mod done;
mod found;
mod open;
mod requests;
mod summary;

pub(crate) use summary::summaries;

use done::{Outcome, SAME_PERCENT};

use crate::english::{Phrases, Words, count_names, has_cause, is_directive, sentence_case};
use crate::episodes::Timeline;
use crate::memories::{Ending, Obstacles};
use backstory_model::{Handover, ObservationType, SessionObservation};

/// The whole hand-over, in characters: about 1,200 tokens.
const MAX_CHARS: usize = 4_800;
const MAX_FINDINGS: usize = 1;
const MAX_DECISIONS: usize = 8;
const MAX_TRAPS: usize = 4;

/// Writes the hand-over.
pub(crate) fn write(
    timeline: &Timeline<'_>,
    ending: &Ending<'_>,
    obstacles: &Obstacles<'_>,
    observations: &[SessionObservation],
) -> Handover {
    let mut done = done::committed(timeline, ending, observations);
    done.extend(done::uncommitted(timeline, ending, observations, &done));
    let has_changes = !done.is_empty();
    if done.is_empty() {
        done.extend(found::answers(timeline, ending));
    }
    if done.is_empty() {
        done.extend(remembered_cause(observations).map(Outcome::from));
    }
    let causes = found::causes(timeline, ending, has_changes);
    done.splice(0..0, findings(causes, &done));
    if has_changes {
        done.splice(0..0, found::remembered_findings(observations, &done));
    }
    let mut handover = Handover {
        requests: requests::chosen(timeline),
        done: Vec::new(),
        checks: checks::checks(timeline, ending),
        state: checks::state(timeline, ending),
        open: open::open(timeline, ending, obstacles),
        decisions: decisions(observations),
        traps: traps(observations),
        branch: checks::branch(timeline),
    };
    separate(&mut handover);
    handover.requests = requests::joined(handover.requests);
    handover.done = with_details(&done, MAX_CHARS.saturating_sub(length(&handover)));
    trim(&mut handover);
    handover
}

/// Writes completed work with as many details as fit: the more was done, the fewer for each. A line without details is worth more
/// than the details of another.
fn with_details(done: &[Outcome], max_chars: usize) -> Vec<String> {
    const LIMITS: [usize; 10] = [1_800, 1_400, 1_100, 900, 700, 600, 500, 400, 300, 200];
    let written = |limit: usize| done.iter().map(|one| one.text(limit)).collect();
    LIMITS
        .into_iter()
        .map(written)
        .find(|lines: &Vec<String>| lines.iter().map(|line| line.chars().count()).sum::<usize>() <= max_chars)
        .unwrap_or_else(|| written(0))
}

/// Returns the last cause that a memory states, for a session whose reports are too short to tell.
fn remembered_cause(observations: &[SessionObservation]) -> Option<String> {
    let is_cause = |one: &&SessionObservation| {
        one.observation.kind == ObservationType::Discovery
            && !one.rejected
            && one.error_signature.is_none()
            && has_cause(&one.observation.title)
    };
    observations
        .iter()
        .rfind(is_cause)
        .map(|one| format!("Found: {}", one.observation.title))
}

/// Returns the causes that were found, unless completed work covers them.
fn findings(causes: Vec<String>, done: &[Outcome]) -> Vec<Outcome> {
    let mut known = done::all_words(done);
    let mut out: Vec<Outcome> = Vec::new();
    for cause in causes {
        let words = Words::of(&cause);
        if out.len() < MAX_FINDINGS && !words.covered_by(&known, SAME_PERCENT) {
            known.extend(&words);
            out.push(format!("Found: {cause}").into());
        }
    }
    out.reverse();
    out
}

/// Returns the latest decisions that outlive the request in which they were made, oldest first.
fn decisions(observations: &[SessionObservation]) -> Vec<String> {
    let mut out: Vec<String> = observations
        .iter()
        .rev()
        .filter(|one| one.observation.kind == ObservationType::Decision)
        .map(|one| &one.observation.title)
        .filter(|title| is_lasting(title))
        .take(MAX_DECISIONS)
        .map(|title| without_agreement(title))
        .collect();
    out.reverse();
    out
}

/// A rule, a choice with its reason, or an answer with its question. "Put it into the handler" was carried out.
fn is_lasting(title: &str) -> bool {
    let lower = title.replace('’', "'").to_lowercase();
    let has_question = title.ends_with("?)");
    has_question
        || ((is_directive(title) || has_cause(title) || CHOICES.within(&lower)) && !points_back(&lower))
}

/// Reports whether a sentence needs the one before it: "don't give it a number". In "it doesn't make sense" the pronoun
/// stands for nothing.
fn points_back(lower: &str) -> bool {
    const OPENING_WORDS: usize = 3;
    let words: Vec<&str> = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '\''))
        .filter(|word| !word.is_empty())
        .skip_while(|word| AGREEMENTS.contains(word))
        .collect();
    let points = |(at, word): (usize, &&str)| match *word {
        "it" => !matches!(
            words.get(at + 1).copied(),
            Some("doesn't" | "makes" | "is" | "to")
        ),
        "them" => true,
        "this" | "that" | "these" | "those" => at == 0,
        _ => false,
    };
    words.iter().enumerate().take(OPENING_WORDS).any(points)
}

static CHOICES: Phrases = Phrases::new(concat!(
    "decided|chose|opted|settled on|ruled out|rejected|instead of|rather than|in favor of|must|prefer|should be|",
    "we should|use",
));

fn without_agreement(title: &str) -> String {
    let mut rest = title;
    while let Some((first, after)) = rest.split_once(' ') {
        let word = first.trim_end_matches([',', '.', '!']).to_lowercase();
        if !AGREEMENTS.contains(word.as_str()) {
            break;
        }
        rest = after;
    }
    sentence_case(rest)
}

static AGREEMENTS: Phrases = Phrases::new("yes|yeah|yep|ok|okay|sure|no|nope|right|so|and|but|well|also|oh");

/// Traps: resolved failures with their cause, and attempts that did not work.
fn traps(observations: &[SessionObservation]) -> Vec<String> {
    let mut out: Vec<String> = observations
        .iter()
        .rev()
        .filter(|one| one.rejected || one.error_signature.is_some())
        .filter_map(trap)
        .take(MAX_TRAPS)
        .collect();
    out.reverse();
    out
}

/// Describes a trap by its cause, or by the error if no cause names its subject. A report of a change is no trap, and
/// neither is the failing assertion of a test that was being written.
fn trap(one: &SessionObservation) -> Option<String> {
    let title = &one.observation.title;
    if one.rejected {
        return title.starts_with("Tried").then(|| title.clone());
    }
    let facts = &one.observation.facts;
    let is_own_failure = |fact: &String| fact.contains("` failed") && !fact.starts_with("Before, ");
    if done::reports_change(title) || !facts.iter().any(is_own_failure) {
        return None;
    }
    let is_failure = |text: &&String| {
        text.split_once("` failed: `").is_some_and(|(command, error)| {
            !ASSERTIONS.within(&error.to_lowercase()) && !STYLE_CHECKS.within(&command.to_lowercase())
        })
    };
    let names_cause = count_names(title) > 0 && !INTENTIONS.within(&title.to_lowercase());
    let line = if names_cause && !title.contains("` failed: `") {
        title
    } else {
        facts.iter().chain(std::iter::once(title)).find(is_failure)?
    };
    let remedy = facts.iter().find(|fact| fact.starts_with("Fix"));
    Some(match remedy {
        Some(remedy) => format!("{line}. {remedy}"),
        None => line.clone(),
    })
}

/// A linter says itself what to change.
static STYLE_CHECKS: Phrases =
    Phrases::new("lint|fmt|format|clippy|eslint|ruff|golangci-lint|credo|prettier|rubocop|flake8|black");
static ASSERTIONS: Phrases = Phrases::new("want|expected|assert|assertion|got|should|must be");
static INTENTIONS: Phrases = Phrases::new("we need to|i need to|need to either|let me|let's|should i");

/// Keeps what is both a request and a decision in one list: a rule is a decision, anything else was carried out.
fn separate(handover: &mut Handover) {
    const SAME_LINE_PERCENT: u32 = 90;
    let says = |line: &str, other: &str| Words::of(line).covered_by(&Words::of(other), SAME_LINE_PERCENT);
    let Handover {
        requests, decisions, ..
    } = handover;
    decisions
        .retain(|decision| is_directive(decision) || !requests.iter().any(|request| says(decision, request)));
    // The first and the last request say what the session was about.
    let last = requests.len().saturating_sub(1);
    let mut at = 0;
    requests.retain(|request| {
        let is_end = at == 0 || at == last;
        at += 1;
        let rule = without_agreement(request);
        is_end || !decisions.iter().any(|decision| says(&rule, decision))
    });
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
            let shortest = shortest(requests);
            (requests, shortest)
        } else if done.len() > 5 {
            let detail = oldest_detail(done);
            (done, detail)
        } else if checks.len() > 2 {
            (checks, 0)
        } else if decisions.len() > 2 {
            (decisions, 0)
        } else if open.len() > 5 {
            let last = open.len() - 1;
            (open, last)
        } else if requests.len() > 2 {
            let shortest = shortest(requests);
            (requests, shortest)
        } else if done.len() > 3 {
            let detail = oldest_detail(done);
            (done, detail)
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

/// Returns the oldest completed work after the first one, which is often the subject of the session.
fn oldest_detail(done: &[String]) -> usize {
    let findings = done.iter().take_while(|line| line.starts_with("Found: ")).count();
    (findings + 1).min(done.len() - 2)
}

/// Returns the request between the first and the last one that says least.
fn shortest(requests: &[String]) -> usize {
    let subject = requests
        .iter()
        .position(|line| !line.starts_with('/'))
        .unwrap_or(0);
    (subject + 1..requests.len() - 1)
        .min_by_key(|at| requests[*at].chars().count())
        .unwrap_or(1)
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
