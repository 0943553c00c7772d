//! What was found out: causes, how things work, decisions, and attempts that failed.

use backstory_model::ObservationType;

use super::attempt;
use super::cause;
use super::change::Material;
use super::claim::Says;
use super::draft::Draft;
use super::edits::Fate;
use super::entry::is_verb;
use super::evidence::Evidence;
use super::paths;
use super::section::Section;
use super::story;
use super::text::{code_spans, count_names, has_any, head};
use super::title::fit;
use super::verbs;

/// The memories of what was found out; `changes` are the titles of what was changed afterwards.
pub(super) fn drafts(material: Material<'_>, changes: &[String]) -> Vec<Draft> {
    let mut out = cause::drafts(material);
    out.extend(decisions(material));
    out.extend(attempt::drafts(material));
    let last_edit = material.evidence.kept().map(|edit| edit.step).max().unwrap_or(0);
    for mut draft in findings(material) {
        let changed = |name: &str| changes.iter().any(|change| change.contains(name));
        let outdated =
            draft.step < last_edit && code_spans(&draft.title).any(|name| name.len() > 3 && changed(name));
        if outdated {
            cause::before_the_change(&mut draft);
        }
        out.push(draft);
    }
    for draft in &mut out {
        let files = mentioned(
            material.evidence,
            &format!("{} {}", draft.title, draft.facts.join(" ")),
        );
        draft.files_read.extend(files);
    }
    out
}

/// Files of the turn that a text names.
fn mentioned(evidence: &Evidence, text: &str) -> Vec<String> {
    let known = evidence.reads.iter().chain(
        evidence
            .edits
            .iter()
            .filter(|edit| edit.fate != Fate::Undone)
            .map(|edit| &edit.path),
    );
    let mut out: Vec<String> = Vec::new();
    for file in known {
        let name = paths::name(file);
        let distinct = name.len() > 4 && name != "__init__.py" && name != "mod.rs";
        if (text.contains(file.as_str()) || (distinct && text.contains(name))) && !out.contains(file) {
            out.push(file.clone());
        }
    }
    out
}

/// What was chosen, where the words say over what or why.
fn decisions(material: Material<'_>) -> Vec<Draft> {
    let mut out = Vec::new();
    for claim in material.reading.claims.iter().filter(|claim| !claim.hedged) {
        let lower = claim.sentence.to_lowercase();
        let reasoned = has_any(
            &lower,
            "because|so that|instead of|rather than|to avoid|to keep|in order to|since|over a|\
            over the",
        );
        let chosen = claim.says == Says::Decided && (reasoned || claim.section == Section::Decision);
        if !chosen || (claim.section == Section::Decision && !reasoned && count_names(&claim.sentence) == 0) {
            continue;
        }
        let Some(title) = claim.statement.as_ref().and_then(|made| fit(&made.text)) else {
            continue;
        };
        // "Left it alone" is about something that stood before; "…, because scripts depend on it" is not.
        let opening: Vec<&str> = title.split_whitespace().take(4).collect();
        let unnamed =
            count_names(&title) == 0 && has_any(&opening.join(" ").to_lowercase(), "it|this|that|them|you");
        if title.split_whitespace().count() < 4 || unnamed {
            continue;
        }
        let worth = if claim.last { 66 } else { 58 } + if reasoned { 6 } else { 0 };
        let mut draft = Draft::new(ObservationType::Decision, title, claim.step, worth);
        draft.narrative = story::tell([claim]);
        out.push(draft);
        if out.len() == 3 {
            break;
        }
    }
    out
}

/// How things are, said on the way: only with names, and only where the words explain something.
fn findings(material: Material<'_>) -> Vec<Draft> {
    let mut out: Vec<Draft> = Vec::new();
    for claim in material
        .reading
        .claims
        .iter()
        .filter(|claim| claim.says == Says::Found && !claim.hedged && claim.section != Section::Check)
    {
        let Some(title) = claim.statement.as_ref().and_then(|made| fit(&made.text)) else {
            continue;
        };
        let lower = claim.sentence.to_lowercase();
        // What the last message of a change says about the new state is a fact of the change, not a finding.
        if claim.last && material.evidence.kept().next().is_some() {
            continue;
        }
        // "Handles x: returns y" has lost its subject.
        let first = title.split_whitespace().next().unwrap_or_default();
        let subordinate = claim.bullet && matches!(first, "If" | "When" | "For");
        if subordinate || verbs::verb(first).is_some() || !title.split_whitespace().any(is_verb) {
            continue;
        }
        let explains = has_any(&lower, EXPLAINS);
        let names = count_names(&title);
        if names == 0
            || title.split_whitespace().count() < 5
            || (!explains && names < 2)
            || is_small_talk(&lower)
        {
            continue;
        }
        // One memory per message: what else it says there is a fact of it.
        if let Some(before) = out.last_mut().filter(|before| before.step == claim.step) {
            before.facts.extend(claim.as_fact());
            continue;
        }
        let names = u8::try_from(names).unwrap_or(3).min(3);
        let worth = 30 + if explains { 14 } else { 0 } + names * 3 + if claim.last { 4 } else { 0 };
        let mut draft = Draft::new(ObservationType::Discovery, title, claim.step, worth);
        draft.narrative = story::of_finding(material.reading, claim.step, &draft.title, |_| true);
        draft.facts = claim.as_fact().into_iter().collect();
        out.push(draft);
    }
    out
}

const EXPLAINS: &str = "\
    because|since|which means|means that|only|requires|depends on|instead|so that|due to|never|\
    always|must|returns|raises|without|however|even though|although|unless|by default|inherits|\
    overrides|calls";

/// Remarks on the work itself.
fn is_small_talk(lower: &str) -> bool {
    let start = head(lower, 60);
    has_any(
        start,
        "i found|i've|i have|we have|the test|the tests|my|our|testbed|the output|the patch|\
            all tests",
    ) || has_any(lower, "todo|test passes|tests pass|let me|todo list")
}
