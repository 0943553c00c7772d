//! The checkpoint at the end of a turn: request, investigated, learned, completed, next steps, notes.

use super::change::Material;
use super::claim::{self, Says};
use super::draft::{Draft, says_the_same, within};
use super::edits::Fate;
use super::evidence::Commit;
use super::insight;
use super::opening::strip_speaker;
use super::paths;
use super::reading::Claim;
use super::results;
use super::section::Section;
use super::text::{clip, code, has_any, sentence_case};
use super::tidy::tidy;
use crate::{NewSummary, TurnEnd};

const MAX_FIELD: usize = 700;
const MAX_ENTRY: usize = 220;

/// Writes the summary; `None` when the turn was nothing but small talk.
pub(super) fn of(material: Material<'_>, drafts: &[Draft], end: TurnEnd) -> Option<NewSummary> {
    let evidence = material.evidence;
    let files_edited = evidence.modified();
    let files_read: Vec<String> = evidence
        .reads
        .iter()
        .filter(|file| !files_edited.contains(file))
        .cloned()
        .collect();
    let noted = notes(material, drafts);
    let (next_steps, open_steps) = next_steps(material, end);
    let says_something = !noted.is_empty();
    let summary = NewSummary {
        request: material.request.map(|request| request.line.clone()),
        investigated: investigated(material),
        learned: learned(material, drafts),
        completed: completed(material, drafts, end),
        next_steps,
        open_steps,
        files_read,
        files_edited,
        notes: join(state(end).map(str::to_owned).into_iter().chain(noted)),
    };
    let says_something = says_something
        || summary.learned.is_some()
        || summary.completed.is_some()
        || summary.next_steps.is_some();
    // How it ended says nothing alone, unless the person knows what was to be done.
    let tells_of_work = evidence.calls > 0 || end == TurnEnd::Interrupted;
    (says_something || tells_of_work && summary.request.is_some()).then_some(summary)
}

/// How a turn ended that did not end by itself: a state, and no step that is left to do.
fn state(end: TurnEnd) -> Option<&'static str> {
    match end {
        TurnEnd::Interrupted => Some("Interrupted before the agent was done"),
        TurnEnd::Background => Some("Something that was started still ran in the background"),
        TurnEnd::Stopped | TurnEnd::Open => None,
    }
}

fn investigated(material: Material<'_>) -> Option<String> {
    let evidence = material.evidence;
    let mut parts = Vec::new();
    if !evidence.reads.is_empty() {
        let named: Vec<String> = evidence.reads.iter().take(6).map(|file| code(file)).collect();
        let more = evidence.reads.len().saturating_sub(6);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        parts.push(format!("Read {}{more}", named.join(", ")));
    }
    if !evidence.searches.is_empty() {
        let named: Vec<String> = evidence
            .searches
            .iter()
            .take(4)
            .map(|pattern| code(pattern))
            .collect();
        parts.push(format!("Searched for {}", named.join(", ")));
    }
    (!parts.is_empty()).then(|| clip(&(parts.join(". ") + "."), MAX_FIELD))
}

fn learned(material: Material<'_>, drafts: &[Draft]) -> Option<String> {
    // What to beware of is told in the notes.
    let warning = insight::warning(material).map(|draft| draft.title);
    let found = drafts
        .iter()
        .filter(|draft| draft.files_modified.is_empty() && warning.as_ref() != Some(&draft.title))
        .map(|draft| draft.title.clone());
    let causes = material
        .reading
        .final_claims()
        .filter(|claim| claim.says == Says::Cause)
        .filter_map(Claim::as_fact)
        .take(3);
    join(causes.chain(found))
}

/// What was done: in the words of the last message, or by evidence when there is none.
fn completed(material: Material<'_>, drafts: &[Draft], end: TurnEnd) -> Option<String> {
    let evidence = material.evidence;
    let mut entries: Vec<String> = Vec::new();
    let said =
        material.reading.last_message.is_some() && matches!(end, TurnEnd::Stopped | TurnEnd::Background);
    entries.extend(
        drafts
            .iter()
            .filter(|draft| !draft.files_modified.is_empty())
            .take(3)
            .map(|draft| draft.title.clone()),
    );
    if said {
        let done = material
            .reading
            .final_claims()
            .filter(|claim| claim.says == Says::Done && !claim.hedged && !claim.is_vague());
        entries.extend(done.filter_map(Claim::as_fact).take(5));
        entries.extend(
            material
                .reading
                .final_claims()
                .filter(|claim| is_result(claim))
                .filter_map(Claim::as_fact)
                .take(1),
        );
    } else {
        let files = evidence.modified();
        if !files.is_empty() {
            let named: Vec<String> = files.iter().take(8).map(|file| code(file)).collect();
            entries.push(format!("Changed so far: {}", named.join(", ")));
        }
        entries.extend(results::facts(evidence));
    }
    entries.extend(evidence.commits.iter().map(Commit::as_fact));
    entries.extend(
        evidence
            .pull_requests
            .iter()
            .map(|address| format!("Opened {address}")),
    );
    join(entries)
}

/// What is left: the agent's own words first, then the open plan of a turn that did not end by itself.
fn next_steps(material: Material<'_>, end: TurnEnd) -> (Option<String>, Option<Vec<String>>) {
    let last = material.reading.final_claims();
    let mut entries: Vec<String> = last
        .filter(|claim| claim.says == Says::Next)
        .map(|claim| without_heading(&as_said(claim)))
        .collect();
    let stated = entries.len();
    for claim in material
        .reading
        .final_claims()
        .filter(|claim| claim.says == Says::Asks)
    {
        entries.push(offer(&claim.sentence));
    }
    let offered = entries.len();
    let last_edit = material.evidence.edits.last().map_or(0, |edit| edit.step);
    if matches!(end, TurnEnd::Interrupted | TurnEnd::Open) {
        entries.extend(
            material
                .evidence
                .open_todos
                .iter()
                .map(|todo| format!("Open: {todo}")),
        );
        if material.evidence.open_todos.is_empty()
            && let Some(plan) = material
                .reading
                .claims
                .iter()
                .rfind(|claim| claim.says == Says::Plan && claim.step >= last_edit)
        {
            entries.push(format!(
                "Was about to: {}",
                without_promise(plan.sentence.trim_end_matches([':', '.']))
            ));
        }
    }
    let open = (offered > stated).then(|| {
        let steps = entries[..stated].iter().chain(&entries[offered..]);
        steps
            .filter_map(|entry| join(std::iter::once(entry.clone())))
            .collect()
    });
    (join(entries), open)
}

/// "Next steps: bound the retries" -> "Bound the retries": the field is called that already.
fn without_heading(entry: &str) -> String {
    let heading = entry.split_once(": ").filter(|(heading, _)| {
        let heading = heading.to_lowercase();
        [
            "next",
            "next step",
            "next steps",
            "remaining",
            "remaining work",
            "follow-up",
            "follow-ups",
            "todo",
            "to do",
        ]
        .contains(&heading.as_str())
    });
    heading.map_or_else(|| entry.to_owned(), |(_, rest)| sentence_case(rest))
}

/// "Next I'll update x" -> "update x".
fn without_promise(plan: &str) -> &str {
    let openings = [
        "Next, I'll ",
        "Next I'll ",
        "Now I'll ",
        "I'll ",
        "Let me ",
        "Now let me ",
        "I will ",
        "I need to ",
        "Let's ",
    ];
    openings
        .iter()
        .find_map(|opening| plan.strip_prefix(opening))
        .unwrap_or(plan)
}

/// "Would you like me to X?" -> "Offered: X".
fn offer(question: &str) -> String {
    let lower = question.to_lowercase();
    for opening in [
        "would you like me to ",
        "do you want me to ",
        "want me to ",
        "should i ",
        "shall i ",
    ] {
        if let Some(rest) = lower
            .strip_prefix(opening)
            .and_then(|_| question.get(opening.len()..))
        {
            return format!("Offered: {}", rest.trim_end_matches('?'));
        }
    }
    format!("Asked: {question}")
}

fn notes(material: Material<'_>, drafts: &[Draft]) -> Vec<String> {
    let mut entries: Vec<String> = material
        .reading
        .final_claims()
        .filter(|claim| matches!(claim.says, Says::Problem | Says::Failed) && claim.section != Section::Check)
        // "Fixed the bug where it could not load" is done, and told as that.
        .filter(|claim| claim.says == Says::Failed || !claim::is_done(&claim.sentence.to_lowercase()))
        .map(as_said)
        .collect();
    entries.extend(results::unsolved(material.evidence));
    let undone: Vec<String> = undone_files(material);
    if !undone.is_empty() {
        entries.push(format!("Tried and taken back: changes to {}", undone.join(", ")));
    }
    entries.retain(|entry| !drafts.iter().any(|draft| draft.title == *entry));
    entries
}

/// Files that were there before, were edited, and are as they were.
fn undone_files(material: Material<'_>) -> Vec<String> {
    let modified = material.evidence.modified();
    let mut out: Vec<String> = Vec::new();
    for edit in material
        .evidence
        .edits
        .iter()
        .filter(|edit| edit.fate == Fate::Undone && !edit.created && !paths::is_scratch(&edit.path))
    {
        let created_here = material
            .evidence
            .edits
            .iter()
            .any(|other| other.path == edit.path && other.created);
        let shown = code(&edit.path);
        if !modified.contains(&edit.path) && !created_here && !out.contains(&shown) && out.len() < 5 {
            out.push(shown);
        }
    }
    out
}

/// "All 33 tests pass": a check with a number and a result.
fn is_result(claim: &Claim) -> bool {
    let lower = claim.sentence.to_lowercase();
    claim.says == Says::Check
        && lower.contains(|c: char| c.is_ascii_digit())
        && has_any(&lower, "pass|passes|passed|passing|fail|fails|failed")
}

fn as_said(claim: &Claim) -> String {
    sentence_case(strip_speaker(&tidy(&claim.sentence)))
}

/// Sentences on one line, no two alike.
fn join(entries: impl IntoIterator<Item = String>) -> Option<String> {
    let mut kept: Vec<String> = Vec::new();
    for entry in entries {
        let entry = within(entry.trim().trim_end_matches(['.', ':', ';']), MAX_ENTRY);
        if !entry.is_empty() && !kept.iter().any(|known| says_the_same(known, &entry)) {
            kept.push(entry);
        }
    }
    let mut out = String::new();
    for entry in kept {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&entry);
        if !entry.ends_with(['…', '!', '?']) {
            out.push('.');
        }
    }
    (!out.is_empty()).then(|| clip(&out, MAX_FIELD))
}
