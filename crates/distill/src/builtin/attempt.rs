//! Attempts that failed: worth knowing, so that nobody tries them again.

use backstory_model::ObservationType;

use super::change::Material;
use super::claim::Says;
use super::draft::Draft;
use super::edits::{self, Fate};
use super::reading::{Claim, Reading};
use super::story;
use super::text::{count_names, lower_first, sentence_case};
use super::tidy::tidy;
use super::title::{fit, stands_alone};
use super::verbs::{self, Form};

/// Attempts that did not work: what was tried, and what became of it.
pub(super) fn drafts(material: Material<'_>) -> Vec<Draft> {
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
        let again = |edit: &&edits::Edit| {
            material
                .evidence
                .kept()
                .any(|later| later.path == edit.path && later.step > claim.step)
        };
        let Some(edit) = edit.filter(|edit| edit.fate != Fate::Kept || again(edit)) else {
            continue;
        };
        // The edit may stand and still not have been the answer.
        let verdict = if edit.fate == Fate::Kept {
            "was not enough"
        } else {
            "did not work"
        };
        let Some(title) = tried(material.reading, edit.step)
            .and_then(|tried| fit(&format!("{tried} {verdict}")))
            .or_else(|| fit(&format!("{} {verdict}", edits::as_attempt(edit)?)))
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
            .filter(|_| edit.fate != Fate::Kept)
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
        // "That didn't help: the store is the slow part" has a finding after its colon.
        draft.facts.extend(
            claim
                .sentence
                .split_once(": ")
                .map(|(_, found)| sentence_case(found))
                .filter(|found| count_names(found) > 0 && stands_alone(found)),
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
