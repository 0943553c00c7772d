//! What was found out: causes, how things work, decisions, and attempts that failed.

use backstory_model::ObservationType;

use super::change::Material;
use super::claim::Says;
use super::draft::Draft;
use super::edits::{self, Fate};
use super::evidence::Evidence;
use super::paths;
use super::reading::{Claim, Reading};
use super::section::Section;
use super::story;
use super::text::{count_names, has_any, head, lower_first, sentence_case};
use super::title::{fit, tidy};
use super::verbs::{self, Form};

/// The memories of what was found out.
pub(super) fn drafts(material: Material<'_>) -> Vec<Draft> {
    let mut out: Vec<Draft> = cause(material).into_iter().collect();
    out.extend(decisions(material));
    out.extend(attempts(material));
    out.extend(findings(material));
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

/// Why something was wrong: the best sentence of the last message, else the last one said on the way.
fn cause(material: Material<'_>) -> Option<Draft> {
    let claims = &material.reading.claims;
    let score = |claim: &Claim| -> Option<(i32, String)> {
        if claim.says != Says::Cause || claim.hedged {
            return None;
        }
        let title = fit(&claim.statement.as_ref()?.text)?;
        let lower = claim.sentence.to_lowercase();
        let named = i32::try_from(count_names(&title)).unwrap_or(0);
        if named == 0 && claim.section != Section::Cause {
            return None;
        }
        let mut score = named.min(3) * 6;
        score += if claim.last { 20 } else { 0 };
        score += if claim.section == Section::Cause { 12 } else { 0 };
        score += if has_any(
            &lower,
            "because|due to|caused by|since|which means|root cause|instead of|without",
        ) {
            12
        } else {
            0
        };
        score -= if title.split_whitespace().count() < 5 {
            20
        } else {
            0
        };
        score -= if has_any(
            &lower,
            "the issue is in|the bug is in|is on line|the error occurs",
        ) {
            14
        } else {
            0
        };
        score -= if verbs::verb(title.split_whitespace().next().unwrap_or_default()).is_some() {
            10
        } else {
            0
        };
        Some((score, title))
    };
    let (at, (_, title)) = claims
        .iter()
        .enumerate()
        .filter_map(|(at, claim)| Some((at, score(claim)?)))
        .max_by_key(|(at, (score, _))| (*score, *at))?;
    let claim = &claims[at];
    let mut draft = Draft::new(
        ObservationType::Discovery,
        title,
        claim.step.min(first_edit(material.evidence)),
        75,
    );
    let told = |section: Section| matches!(section, Section::Problem | Section::Cause) || !claim.last;
    draft.narrative = story::of_finding(material.reading, claim.step, &draft.title, told);
    draft.facts = claims
        .iter()
        .filter(|other| other.says == Says::Cause && !other.hedged && (other.last == claim.last))
        .filter_map(Claim::as_fact)
        .filter(|fact| count_names(fact) > 0)
        .take(5)
        .collect();
    draft.concepts = vec!["how-it-works"];
    Some(draft)
}

fn first_edit(evidence: &Evidence) -> usize {
    evidence.kept().map(|edit| edit.step).min().unwrap_or(usize::MAX)
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
        if title.split_whitespace().count() < 4 {
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

/// Attempts that did not work: what was tried, and what became of it.
fn attempts(material: Material<'_>) -> Vec<Draft> {
    let mut out: Vec<Draft> = Vec::new();
    let claims = &material.reading.claims;
    for (at, claim) in claims
        .iter()
        .enumerate()
        .filter(|(_, claim)| claim.says == Says::Failed && !claim.last)
    {
        let edit = material
            .evidence
            .edits
            .iter()
            .rfind(|edit| edit.step < claim.step && !edit.created);
        let Some(edit) = edit.filter(|edit| edit.fate != Fate::Kept) else {
            continue;
        };
        let Some(title) = tried(material.reading, edit.step)
            .and_then(|tried| fit(&format!("{tried} did not work")))
            .or_else(|| fit(&format!("Did not work: {}", lower_first(&edits::as_fact(edit)?))))
        else {
            continue;
        };
        let mut draft = Draft::new(ObservationType::Discovery, title, claim.step, 68);
        let after = claims[at..]
            .iter()
            .take_while(|later| later.step <= claim.step + 4)
            .filter(|later| matches!(later.says, Says::Failed | Says::Cause | Says::Found));
        draft.narrative = story::tell(after.clone().take(3));
        draft.facts = edits::as_fact(edit)
            .map(|fact| format!("Tried and given up: {}", lower_first(&fact)))
            .into_iter()
            .collect();
        draft.facts.extend(
            after
                .skip(1)
                .filter(|later| !later.hedged)
                .filter_map(Claim::as_fact)
                .filter(|fact| count_names(fact) > 0)
                .take(2),
        );
        draft.concepts = vec!["gotcha"];
        draft.evidence = edit.id.clone().into_iter().collect();
        if !out.iter().any(|known| known.repeats(&draft)) && out.len() < 3 {
            out.push(draft);
        }
    }
    out
}

/// "Let me change X to Y" before an edit -> "Changing X to Y".
fn tried(reading: &Reading, edit_step: usize) -> Option<String> {
    let plans =
        reading.claims.iter().rev().filter(|claim| {
            claim.step < edit_step && claim.step + 3 >= edit_step && claim.says == Says::Plan
        });
    plans
        .filter_map(|plan| {
            let text = tidy(&plan.sentence);
            let lower = text.to_lowercase();
            let opening = [
                "i'll ",
                "let me try to ",
                "let me ",
                "i need to ",
                "the fix is to ",
                "i will ",
                "let's ",
                "now i'll ",
                "now let me ",
            ]
            .iter()
            .find(|opening| lower.starts_with(**opening))?;
            let rest = text.get(opening.len()..)?.trim();
            let (word, tail) = rest.split_once(' ')?;
            let (base, form) = verbs::verb(word)?;
            let deed = form == Form::Base
                && (verbs::is_change(base) || matches!(base, "use" | "check" | "avoid" | "call" | "pass"));
            (deed && count_names(tail) > 0).then(|| sentence_case(&format!("{} {tail}", verbs::gerund(base))))
        })
        .next()
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
        let explains = has_any(&lower, EXPLAINS);
        let names = count_names(&title);
        if names == 0
            || title.split_whitespace().count() < 5
            || (!explains && names < 2)
            || is_small_talk(&lower)
        {
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
