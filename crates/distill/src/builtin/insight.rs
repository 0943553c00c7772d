//! What was found out: causes, how things work, decisions, and attempts that failed.

use backstory_model::ObservationType;

use super::attempt;
use super::cause;
use super::change::Material;
use super::claim::{self, Says};
use super::draft::{Draft, FIRM};
use super::edits::Fate;
use super::entry::is_verb;
use super::evidence::Evidence;
use super::grammar::{is_finite, split_outside};
use super::paths;
use super::reading::Claim;
use super::section::Section;
use super::story;
use super::text::{code_spans, count_names, has_any, head, lower_first, sentence_case};
use super::title::{fit, is_recommended, stands_alone};
use super::verbs;

/// The memories of what was found out; `changes` are the titles of what was changed afterwards.
pub(super) fn drafts(material: Material<'_>, changes: &[String]) -> Vec<Draft> {
    let mut out = cause::drafts(material);
    out.extend(decisions(material, changes.first().map(String::as_str)));
    out.extend(warning(material));
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
fn decisions(material: Material<'_>, change: Option<&str>) -> Vec<Draft> {
    let mut out = Vec::new();
    let claims = &material.reading.claims;
    for (at, claim) in claims.iter().enumerate().filter(|(_, claim)| !claim.hedged) {
        let reasoned = is_reasoned(claim);
        let chosen = claim.says == Says::Decided && (reasoned || claim.section == Section::Decision);
        if !chosen || (claim.section == Section::Decision && !reasoned && count_names(&claim.sentence) == 0) {
            continue;
        }
        let Some(title) = claim
            .statement
            .as_ref()
            .and_then(|made| match claim.section {
                Section::Decision => fit(&with_topic(&made.text, change)),
                _ => fit(without_reason(&made.text)),
            })
            .map(|title| sentence_case(&title))
        else {
            continue;
        };
        // "Left it alone" is about something that stood before; "…, because scripts depend on it" is not.
        let opening: Vec<&str> = title.split_whitespace().take(4).collect();
        let unnamed =
            count_names(&title) == 0 && has_any(&opening.join(" ").to_lowercase(), "it|this|that|them|you");
        if title.split_whitespace().count() < 4 || unnamed || is_recommended(&title) {
            continue;
        }
        let worth = match (claim.last, reasoned) {
            (true, true) => FIRM,
            (true, false) => 66,
            (false, true) => 64,
            (false, false) => 58,
        };
        let mut draft = Draft::new(ObservationType::Decision, title, claim.step, worth);
        // "Decision: x and not y." is followed by its reason.
        let reason = claims.get(at + 1).filter(|next| {
            claim.section == Section::Decision
                && next.step == claim.step
                && matches!(next.says, Says::Found | Says::Cause)
        });
        draft.narrative = story::tell(std::iter::once(claim).chain(reason));
        out.push(draft);
        if out.len() == 3 {
            break;
        }
    }
    out
}

fn is_reasoned(claim: &Claim) -> bool {
    let lower = claim.sentence.to_lowercase();
    let contrast =
        claim.section == Section::Decision && has_any(&lower, "and not|not in|not on|not with|over");
    contrast
        || split_outside(&claim.sentence, ": ")
            .is_some_and(|(_, reason)| reason.split_whitespace().count() > 3)
        || has_any(
            &lower,
            "because|so that|instead of|rather than|to avoid|to keep|in order to|since|over a|over the",
        )
}

/// "The reason for x rather than y: …" -> "x rather than y: …".
fn without_reason(decision: &str) -> &str {
    decision.strip_prefix("The reason for ").unwrap_or(decision)
}

/// "in process and not in Redis" has no verb: it is about what the change is about.
fn with_topic(decision: &str, change: Option<&str>) -> String {
    let topic = change.and_then(|title| {
        let words: Vec<&str> = title.split_whitespace().take(5).collect();
        let verb = words.iter().position(|word| is_finite(word))?;
        (1..=4).contains(&verb).then(|| words[..verb].join(" "))
    });
    match topic {
        Some(topic)
            if !decision.split_whitespace().any(is_finite) && decision.split_whitespace().count() < 9 =>
        {
            format!("{topic}: {}", lower_first(decision))
        }
        _ => decision.to_owned(),
    }
}

/// What to beware of from now on, as the last message of a change says it.
pub(super) fn warning(material: Material<'_>) -> Option<Draft> {
    let said: Vec<&Claim> = material
        .reading
        .final_claims()
        .filter(|claim| claim.warns)
        .collect();
    let (claim, title) = said.iter().find_map(|claim| {
        let whole = &claim.statement.as_ref()?.text;
        let labelled = claim.section == Section::Notes;
        let part = whole.split("; ").find(|part| {
            labelled
                || (claim::warns(&part.to_lowercase()) && stands_alone(part) && !has_any(part, "them|please"))
        })?;
        let title = fit(&sentence_case(part))?;
        let warns = labelled || claim::warns(&title.to_lowercase()) || !title.ends_with('…');
        (warns && title.split_whitespace().count() >= 4).then_some((claim, title))
    })?;
    let mut draft = Draft::new(ObservationType::Discovery, title, claim.step, FIRM);
    draft.concepts = vec!["gotcha"];
    draft.facts = said
        .iter()
        .flat_map(|claim| claim.sentence.split("; "))
        .map(|part| sentence_case(part.trim()))
        .filter(|part| part.split_whitespace().count() > 3 && stands_alone(part))
        .collect();
    Some(draft)
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
