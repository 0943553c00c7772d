//! Judges what became of the memories that were injected into a session. Pure: reads no store and no file.
//!
//! A memory counts as used if a sign of it appears in the agent's later actions or words and nowhere before. That shows that the
//! agent did what the memory says, not that it did so because of it: `docs/impact.md` has the limits.

use std::{
    cell::LazyCell,
    collections::{BTreeSet, HashMap},
};

use backstory_distill::{Action, RunOutcome, TurnLog};
use backstory_model::{Handle, RecallOutcome, Timestamp};
use backstory_store::{JudgedRecall, Memory, SessionImpact};
use backstory_text::{hash64, tokens};

use super::signs::{Sign, signs};
use crate::injection_log::InjectionRecord;

/// The number of signs of a memory of which one more is found by chance: in replayed sessions, hand-overs with dozens of signs
/// counted as used in most sessions of their project.
const SIGNS_PER_CHANCE: usize = 10;

/// Something that was said or done in a session.
#[derive(Debug)]
struct Step {
    at: Timestamp,
    kind: StepKind,
    text: String,
}

#[derive(Debug, PartialEq, Eq)]
enum StepKind {
    /// The user's words.
    User,
    /// The agent's words, and changes to files.
    Agent,
    /// A file that was read or searched.
    Read,
    /// A command; with its failure if it failed.
    Run(Option<Failure>),
}

/// The failure of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Failure {
    /// Hash of the error, or of the command if it printed none.
    hash: u64,
    has_error: bool,
}

/// A memory that was injected, with the superseding memory if it was corrected in this session.
#[derive(Clone, Debug)]
pub(super) struct InjectedMemory {
    pub(super) memory: Memory,
    /// It was marked wrong or superseded, at this time.
    pub(super) superseded_at: Option<Timestamp>,
}

/// The work of another session of the project, which says what agents do here without being told.
#[derive(Debug)]
pub(super) struct OtherSession {
    /// The agent's own id.
    session_id: String,
    /// What the agent did and said.
    text: String,
}

impl OtherSession {
    pub(super) fn new(session_id: String, turns: &[TurnLog]) -> Self {
        let own = steps(turns)
            .into_iter()
            .filter(|step| step.kind != StepKind::User);
        let text: Vec<String> = own.map(|step| step.text).collect();
        Self {
            session_id,
            text: text.join("\n"),
        }
    }
}

/// Judges a session by its injection log and its work logs. `others` is asked only if a sign of a memory was found.
pub(super) fn judge(
    records: &[InjectionRecord],
    turns: &[TurnLog],
    memories: &HashMap<Handle, InjectedMemory>,
    others: &LazyCell<Vec<OtherSession>, impl FnOnce() -> Vec<OtherSession>>,
) -> SessionImpact {
    let steps = steps(turns);
    let end = steps.last().map_or(Timestamp::EPOCH, |step| step.at);
    let mut impact = SessionImpact::default();
    let common = common_signs(records, memories);
    for record in records.iter().filter(|record| record.told) {
        let Some(handle) = record.id.as_deref().and_then(|id| id.parse::<Handle>().ok()) else {
            continue;
        };
        let Some(injected) = memories.get(&handle) else {
            continue;
        };
        let is_known = impact
            .recalls
            .iter()
            .any(|known| known.handle == handle && known.at == record.at);
        // Without a later step there is nothing to judge yet.
        if is_known || end <= record.at {
            continue;
        }
        let is_usual = |sign: &Sign| {
            let origin = injected.memory.record.session_id.as_deref();
            is_usual(sign, origin, others)
        };
        let (outcome, evidence) = outcome(record, injected, &steps, &common, &is_usual);
        impact.recalls.push(JudgedRecall {
            handle,
            moment: record.moment.clone(),
            at: record.at,
            outcome,
            evidence,
        });
    }
    count_failures(records, &steps, &mut impact);
    count_reads(records, &steps, memories, &mut impact);
    impact.tool_calls = count(
        steps
            .iter()
            .filter(|step| matches!(step.kind, StepKind::Run(_) | StepKind::Read)),
    );
    let changes = turns.iter().flat_map(|turn| &turn.entries);
    impact.tool_calls += count(changes.filter(|entry| matches!(entry.action, Action::Change(_))));
    let own = steps.iter().filter(|step| step.kind != StepKind::User);
    impact.tokens = own.map(|step| tokens(&step.text) as u64).sum();
    impact.failures = steps
        .iter()
        .filter_map(|step| match step.kind {
            StepKind::Run(Some(failure)) => Some((step.at, failure.hash)),
            _ => None,
        })
        .collect();
    impact
}

fn count<T>(items: impl Iterator<Item = T>) -> u64 {
    items.count() as u64
}

/// Returns the signs that many memories of one moment share: they say nothing about a single one.
fn common_signs(
    records: &[InjectionRecord],
    memories: &HashMap<Handle, InjectedMemory>,
) -> HashMap<Timestamp, BTreeSet<Sign>> {
    const FEW: usize = 3;
    let mut counts: HashMap<(Timestamp, Sign), usize> = HashMap::new();
    for record in records.iter().filter(|record| record.told) {
        let handle = record.id.as_deref().and_then(|id| id.parse::<Handle>().ok());
        if let Some(injected) = handle.and_then(|handle| memories.get(&handle)) {
            for sign in signs(&injected.memory) {
                *counts.entry((record.at, sign)).or_default() += 1;
            }
        }
    }
    let mut common: HashMap<Timestamp, BTreeSet<Sign>> = HashMap::new();
    for ((at, sign), _) in counts.into_iter().filter(|(_, count)| *count > FEW) {
        common.entry(at).or_default().insert(sign);
    }
    common
}

/// Reports whether agents of other sessions also came across a sign, apart from the session that the memory is from. At one in
/// five of them, and at least two, it is part of the usual work: files that most sessions touch, commands that each one runs.
fn is_usual(sign: &Sign, origin: Option<&str>, others: &[OtherSession]) -> bool {
    let others = others
        .iter()
        .filter(|other| Some(other.session_id.as_str()) != origin);
    let has_sign: Vec<bool> = others.map(|other| sign.is_in(&other.text)).collect();
    let count = has_sign.iter().filter(|has_sign| **has_sign).count();
    count >= 2 && count * 5 >= has_sign.len()
}

fn outcome(
    record: &InjectionRecord,
    injected: &InjectedMemory,
    steps: &[Step],
    common: &HashMap<Timestamp, BTreeSet<Sign>>,
    is_usual: &dyn Fn(&Sign) -> bool,
) -> (RecallOutcome, Option<String>) {
    let end = steps.last().map_or(Timestamp::EPOCH, |step| step.at);
    if injected
        .superseded_at
        .is_some_and(|at| at > record.at && at <= end)
    {
        return (
            RecallOutcome::Contradicted,
            Some("superseded in the session".to_owned()),
        );
    }
    if record.moment == "failure" && recurs(steps, record.at) {
        return (
            RecallOutcome::Contradicted,
            Some("the error came back".to_owned()),
        );
    }
    let signs = signs(&injected.memory);
    // A list at the start shows many memories, and a long memory has many signs: one of them is chance.
    let needed = if record.moment == "start" { 2 } else { 1 } + signs.len() / SIGNS_PER_CHANCE;
    let mut strength = 0;
    let mut evidence: Vec<String> = Vec::new();
    for sign in signs {
        // The moment itself was about this file.
        let is_trigger = record
            .file
            .as_deref()
            .is_some_and(|file| file.ends_with(sign.text()) || sign.text().ends_with(file));
        let is_common = common
            .get(&record.at)
            .is_some_and(|common| common.contains(&sign));
        if is_trigger || is_common {
            continue;
        }
        let is_before = |step: &&Step| match step.kind {
            StepKind::User => step.at <= record.at,
            _ => step.at < record.at,
        };
        let is_known = steps.iter().filter(is_before).any(|step| sign.is_in(&step.text));
        let is_later = |step: &&Step| step.at > record.at && step.kind != StepKind::User;
        // What the user names afterwards is the user's, from then on.
        let named_by_user = steps
            .iter()
            .find(|step| step.kind == StepKind::User && step.at > record.at && sign.is_in(&step.text))
            .map_or(Timestamp::MAX, |step| step.at);
        let shows = steps
            .iter()
            .filter(is_later)
            .any(|step| step.at < named_by_user && sign.is_in(&step.text));
        if !is_known && shows && !is_usual(&sign) {
            strength += sign.strength();
            evidence.push(sign.text().to_owned());
        }
    }
    if strength >= needed {
        evidence.truncate(3);
        (RecallOutcome::Used, Some(evidence.join(", ")))
    } else {
        (RecallOutcome::Ignored, None)
    }
}

/// Reports whether the failure at a moment occurs again later. A tool other than a command may have failed, and a failure
/// without an error line is known by its command only: neither can be recognized.
fn recurs(steps: &[Step], at: Timestamp) -> bool {
    let last = steps.iter().rev().find(|step| step.at <= at);
    let Some(StepKind::Run(Some(failure))) = last.map(|step| &step.kind) else {
        return false;
    };
    failure.has_error
        && steps
            .iter()
            .any(|step| step.at > at && step.kind == StepKind::Run(Some(*failure)))
}

/// Counts the failures about which the session was told: those that did not come back, and those that did.
fn count_failures(records: &[InjectionRecord], steps: &[Step], impact: &mut SessionImpact) {
    let mut moments: BTreeSet<(Timestamp, &str)> = BTreeSet::new();
    for record in records.iter().filter(|record| record.told) {
        if matches!(record.moment.as_str(), "failure" | "command") {
            moments.insert((record.at, &record.moment));
        }
    }
    for (at, moment) in moments {
        let mut later = steps
            .iter()
            .filter(|step| step.at > at && matches!(step.kind, StepKind::Run(_)));
        let is_repeated = match moment {
            "failure" => recurs(steps, at),
            // The next command is the one that the warning was about, or what was run instead.
            _ => later
                .clone()
                .next()
                .is_some_and(|next| matches!(next.kind, StepKind::Run(Some(_)))),
        };
        if is_repeated {
            impact.repeated += 1;
        } else if later.next().is_some() {
            impact.avoided += 1;
        }
    }
}

/// Counts the files that were read, and those that an injected memory had described.
fn count_reads(
    records: &[InjectionRecord],
    steps: &[Step],
    memories: &HashMap<Handle, InjectedMemory>,
    impact: &mut SessionImpact,
) {
    for step in steps.iter().filter(|step| step.kind == StepKind::Read) {
        impact.reads += 1;
        let told = records
            .iter()
            .filter(|record| record.told && !record.brief && record.at < step.at);
        let is_known = told
            .filter_map(|record| memories.get(&record.id.as_deref()?.parse().ok()?))
            .flat_map(|injected| {
                let record = &injected.memory.record;
                record.files_modified.iter().chain(&record.files_read)
            })
            .any(|path| *path == step.text);
        impact.known_reads += u64::from(is_known);
    }
}

/// Lists what was said and done, in order.
fn steps(turns: &[TurnLog]) -> Vec<Step> {
    let mut steps = Vec::new();
    for turn in turns {
        if let Some(prompt) = &turn.prompt {
            steps.push(Step {
                at: turn.started_at,
                kind: StepKind::User,
                text: prompt.clone(),
            });
        }
        for entry in &turn.entries {
            let (kind, text) = match &entry.action {
                Action::UserMessage(text) => (StepKind::User, text.clone()),
                Action::UserAnswer { answer, .. } => (StepKind::User, answer.clone()),
                Action::Prose(text) | Action::Report(text) => (StepKind::Agent, text.clone()),
                Action::SubagentReport { text, .. } | Action::Plan { text, .. } => {
                    (StepKind::Agent, text.clone())
                }
                Action::Commit(commit) => (StepKind::Agent, commit.subject.clone()),
                Action::Run(run) => {
                    let known_by = run.error.as_ref().map_or(&run.command, |error| &error.key);
                    let failure = (run.outcome == RunOutcome::Failed).then(|| Failure {
                        hash: hash64(known_by.as_bytes()),
                        has_error: run.error.is_some(),
                    });
                    (StepKind::Run(failure), run.command.clone())
                }
                Action::Change(change) => {
                    let parts = [&change.values, &change.defines, &change.removes, &change.comments];
                    let mut text = change.path.clone();
                    for part in parts.into_iter().flatten() {
                        text.push('\n');
                        text.push_str(part);
                    }
                    (StepKind::Agent, text)
                }
                Action::Lookup { path } => (StepKind::Read, path.clone()),
                _ => continue,
            };
            steps.push(Step {
                at: entry.at,
                kind,
                text,
            });
        }
    }
    steps.sort_by_key(|step| step.at);
    steps
}
