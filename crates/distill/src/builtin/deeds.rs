//! What tools did in a turn, each deed as a short text: what a model is shown in place of whole payloads.

use std::collections::BTreeMap;

use super::edits::{self, Edit, Fate};
use super::evidence::{self, Evidence, Run};
use super::paths;
use super::shell::Purpose;
use super::text::{head, tail};
use crate::{ToolOutcome, ToolUse, TurnInput, TurnStep};

/// Something that a tool did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Deed {
    /// Its position in the turn.
    pub(crate) step: usize,
    /// How much it tells; 0 tells most.
    pub(crate) rank: u8,
    /// The deed in words.
    pub(crate) text: String,
}

/// What the tools of a turn prove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deeds {
    /// The deeds, in order.
    pub(crate) deeds: Vec<Deed>,
    /// Files that are changed at the end of the turn.
    pub(crate) modified: Vec<String>,
    /// Files that were read.
    pub(crate) read: Vec<String>,
    /// Which tool use changed which file.
    pub(crate) edits: Vec<(String, String)>,
}

const MAX_DIFF: usize = 1_400;
const MAX_NEW_FILE: usize = 700;
const MAX_FAILURE: usize = 900;
const MAX_RESULT: usize = 240;
const MAX_COMMAND: usize = 300;
const MAX_OTHER: usize = 320;

/// Gathers the deeds of a turn.
pub(crate) fn of(turn: &TurnInput) -> Deeds {
    let evidence = evidence::gather(turn);
    let mut deeds: Vec<Deed> = evidence.edits.iter().map(edit).collect();
    deeds.extend(runs(&evidence.runs));
    deeds.extend(evidence.commits.iter().map(|commit| Deed {
        step: commit.step,
        rank: 1,
        text: commit.as_fact(),
    }));
    let last = turn.steps.len();
    for (name, rank, list) in [
        ("Opened pull request", 1, &evidence.pull_requests),
        ("Still on the list of things to do", 1, &evidence.open_todos),
        ("Searched for", 5, &evidence.searches),
    ] {
        deeds.extend(listed(name, rank, last, list));
    }
    let (modified, read) = (evidence.modified(), read(&evidence));
    deeds.extend(listed("Read", 4, last, &read));
    for (step, entry) in turn.steps.iter().enumerate() {
        if let TurnStep::Tool(tool) = entry {
            deeds.extend(other(tool, step));
        }
    }
    deeds.sort_by_key(|deed| deed.step);
    Deeds {
        deeds,
        modified,
        read,
        edits: evidence
            .kept()
            .filter_map(|edit| Some((edit.path.clone(), edit.id.clone()?)))
            .collect(),
    }
}

fn edit(edit: &Edit) -> Deed {
    let (rank, most) = match edit.fate {
        Fate::Kept if edit.created && paths::is_scratch(&edit.path) => (6, MAX_NEW_FILE / 2),
        Fate::Kept if edit.created => (3, MAX_NEW_FILE),
        Fate::Kept => (1, MAX_DIFF),
        Fate::Rewritten => (5, MAX_DIFF / 2),
        Fate::Undone => (6, MAX_DIFF / 4),
    };
    let verb = if edit.created { "Created" } else { "Changed" };
    let fate = match edit.fate {
        Fate::Kept => "",
        Fate::Rewritten => " (changed again later)",
        Fate::Undone => " (taken back later)",
    };
    Deed {
        step: edit.step,
        rank,
        text: format!("{verb}{fate} {}", edits::as_diff(edit, most)),
    }
}

/// Commands with their outcome. Of those that were run again and again with the same outcome, the last one is told.
fn runs(runs: &[Run]) -> Vec<Deed> {
    let mut times: BTreeMap<(&str, bool), (usize, &Run)> = BTreeMap::new();
    for run in runs {
        let entry = times
            .entry((run.command.as_str(), run.failed))
            .or_insert((0, run));
        *entry = (entry.0 + 1, run);
    }
    times.into_values().map(|(count, run)| told(run, count)).collect()
}

fn told(run: &Run, count: usize) -> Deed {
    let state = if run.failed { "failed" } else { "ok" };
    let tests = run
        .tests
        .map(|tests| format!(", {}", tests.shown()))
        .unwrap_or_default();
    let again = if count > 1 {
        format!(", {count} times")
    } else {
        String::new()
    };
    let (rank, most) = match (&run.purpose, run.failed) {
        (_, true) => (2, MAX_FAILURE),
        (Purpose::Test | Purpose::Build, false) => (2, MAX_RESULT / 2),
        (Purpose::Install, false) => (5, 0),
        _ => (4, MAX_RESULT),
    };
    let mut text = format!("$ {}\n[{state}{tests}{again}]", head(&run.command, MAX_COMMAND));
    let output = readable(&run.output);
    let end = last_lines(output.trim(), most);
    if let Some(error) = run.error.as_deref().filter(|error| !end.contains(error)) {
        text.push('\n');
        text.push_str(head(error, MAX_RESULT));
    }
    if !end.is_empty() {
        text.push('\n');
        text.push_str(end);
    }
    Deed {
        step: run.step,
        rank,
        text,
    }
}

/// A tool that no rule knows: what it was given and the beginning of what it said.
fn other(tool: &ToolUse, step: usize) -> Option<Deed> {
    const KNOWN: [&str; 16] = [
        "Bash",
        "bash",
        "shell",
        "Read",
        "read",
        "read_file",
        "Edit",
        "MultiEdit",
        "Write",
        "NotebookEdit",
        "Grep",
        "Glob",
        "TodoWrite",
        "Task",
        "Agent",
        "LS",
    ];
    let failure = match &tool.outcome {
        ToolOutcome::Failed(text) => Some(text.as_str()),
        _ => None,
    };
    if KNOWN.contains(&tool.name.as_str()) && failure.is_none() || tool.name.eq_ignore_ascii_case("bash") {
        return None;
    }
    let input = tool.input.to_string();
    let said = match (&tool.outcome, failure) {
        (_, Some(text)) => format!("failed: {text}"),
        (ToolOutcome::Answered(answer), None) => match answer.as_str() {
            Some(text) => text.to_owned(),
            None => answer.to_string(),
        },
        _ => String::new(),
    };
    Some(Deed {
        step,
        rank: if failure.is_some() { 4 } else { 5 },
        text: format!(
            "{} {}\n{}",
            head(&tool.name, 80),
            head(&input, MAX_OTHER / 2),
            head(&readable(&said), MAX_OTHER)
        ),
    })
}

fn listed(name: &str, rank: u8, step: usize, list: &[String]) -> Option<Deed> {
    (!list.is_empty()).then(|| Deed {
        step,
        rank,
        text: format!("{name}: {}", list.join(", ")),
    })
}

fn read(evidence: &Evidence) -> Vec<String> {
    let modified = evidence.modified();
    evidence
        .reads
        .iter()
        .filter(|path| !modified.contains(path))
        .cloned()
        .collect()
}

/// The last lines of a text, whole ones where there are several.
fn last_lines(text: &str, most: usize) -> &str {
    let end = tail(text, most);
    match end.split_once('\n') {
        Some((_, lines)) if end.len() < text.len() => lines,
        _ => end,
    }
}

/// Without control characters, and with each line once where it is repeated.
fn readable(text: &str) -> String {
    let mut out = String::new();
    let mut before = None;
    for line in text.lines() {
        if Some(line) == before {
            continue;
        }
        before = Some(line);
        out.extend(line.chars().filter(|c| !c.is_control() || *c == '\t'));
        out.push('\n');
    }
    out
}
