//! Verbatim evidence to be found by search: prose that says something, edits as short diffs, commands with results, errors.

use super::claim::{self, Says};
use super::edits;
use super::evidence::{Evidence, Run};
use super::markdown;
use super::sentence::sentences;
use super::shell::Purpose;
use super::text::{clip, head, tail};
use crate::{NewPassage, PassageKind, TurnInput, TurnStep};

const MAX_TOTAL: usize = 16 * 1024;
const MAX_PROSE: usize = 2_000;
const MAX_EDIT: usize = 900;
const MAX_COMMAND: usize = 1_000;

/// The passages of a turn, the most telling first to be kept when there is too much.
pub(super) fn of(turn: &TurnInput, evidence: &Evidence) -> Vec<NewPassage> {
    let mut ranked: Vec<(u8, usize, NewPassage)> = Vec::new();
    for (step, entry) in turn.steps.iter().enumerate() {
        match entry {
            TurnStep::Prose(text) => prose(&mut ranked, step, text, 1),
            TurnStep::SubAgent { report, .. } => prose(&mut ranked, step, report, 1),
            TurnStep::Compaction(summary) => prose(&mut ranked, step, summary, 2),
            TurnStep::Tool(_) | TurnStep::UserMessage(_) | TurnStep::Interrupted => {}
        }
    }
    if let Some(last) = &turn.last_message {
        prose(&mut ranked, turn.steps.len(), last, 0);
    }
    for edit in &evidence.edits {
        let rank = if edit.created { 4 } else { 1 };
        ranked.push((
            rank,
            edit.step,
            NewPassage {
                kind: PassageKind::Edit,
                text: edits::as_diff(edit, MAX_EDIT),
            },
        ));
    }
    for run in &evidence.runs {
        if let Some((rank, passage)) = command(run) {
            ranked.push((rank, run.step, passage));
        }
    }
    within_bounds(ranked)
}

fn within_bounds(mut ranked: Vec<(u8, usize, NewPassage)>) -> Vec<NewPassage> {
    ranked.sort_by_key(|(rank, step, _)| (*rank, *step));
    let mut used = 0;
    let mut kept: Vec<(usize, NewPassage)> = Vec::new();
    for (_, step, passage) in ranked {
        let size = passage.text.len();
        if used + size > MAX_TOTAL || kept.iter().any(|(_, known)| known.text == passage.text) {
            continue;
        }
        used += size;
        kept.push((step, passage));
    }
    kept.sort_by_key(|(step, _)| *step);
    kept.into_iter().map(|(_, passage)| passage).collect()
}

/// Whether at least one sentence of a text says something: not "Let me look at that file".
pub(crate) fn is_telling(text: &str) -> bool {
    markdown::items(text).iter().any(|item| {
        sentences(&item.text).iter().any(|sentence| {
            !matches!(claim::says(sentence, item.section), Says::Filler | Says::Plan)
                && sentence.split_whitespace().count() > 4
        })
    })
}

/// Prose is kept when at least one of its sentences says something.
fn prose(ranked: &mut Vec<(u8, usize, NewPassage)>, step: usize, text: &str, rank: u8) {
    if !is_telling(text) {
        return;
    }
    for piece in pieces(text.trim()) {
        ranked.push((
            rank,
            step,
            NewPassage {
                kind: PassageKind::Prose,
                text: piece,
            },
        ));
    }
}

/// Cuts long prose at paragraphs.
fn pieces(text: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for paragraph in head(text, 12 * 1024)
        .split("\n\n")
        .map(str::trim)
        .filter(|paragraph| !paragraph.is_empty())
    {
        match out.last_mut() {
            Some(last) if last.len() + paragraph.len() < MAX_PROSE => {
                last.push_str("\n\n");
                last.push_str(paragraph);
            }
            _ => out.push(clip(paragraph, MAX_PROSE)),
        }
    }
    out
}

fn command(run: &Run) -> Option<(u8, NewPassage)> {
    let state = if run.failed { "failed" } else { "ok" };
    let shown = format!("$ {}\n[{state}]", run.command);
    let room = MAX_COMMAND.saturating_sub(shown.len() + 8);
    let output = run.output.trim();
    let body = if output.len() <= room {
        output.to_owned()
    } else {
        format!("{}\n…\n{}", head(output, room / 4), tail(output, room * 3 / 4))
    };
    let kind = if run.failed {
        PassageKind::Error
    } else {
        PassageKind::Command
    };
    let rank = match (&run.purpose, run.failed) {
        (_, true) => 2,
        (Purpose::Test | Purpose::Build, false) => 3,
        (Purpose::Install, false) => return None,
        _ => 5,
    };
    let error = run
        .error
        .as_ref()
        .filter(|error| !body.contains(error.as_str()))
        .map(|error| format!("\n{error}"))
        .unwrap_or_default();
    Some((
        rank,
        NewPassage {
            kind,
            text: clean(&format!("{shown}{error}\n{body}")),
        },
    ))
}

/// Without control characters; lines stay.
fn clean(text: &str) -> String {
    let text: String = text.chars().filter(|c| *c == '\n' || !c.is_control()).collect();
    text.trim_end().to_owned()
}
