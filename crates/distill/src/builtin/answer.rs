//! A question that was answered: one memory of what the answer explains.

use backstory_model::ObservationType;

use super::change::Material;
use super::claim::Says;
use super::draft::Draft;
use super::reading::Claim;
use super::request::Intent;
use super::story;
use super::text::count_names;
use super::title::{fit, is_recommended};

/// The memory of an answer; `None` when the last message explains nothing that has a name.
pub(super) fn draft(material: Material<'_>) -> Option<Draft> {
    let told = |claim: &&Claim| {
        matches!(
            claim.says,
            Says::Found | Says::Cause | Says::Now | Says::Decided | Says::Done | Says::Problem
        ) && !claim.hedged
    };
    let claims: Vec<&Claim> = material.reading.final_claims().filter(told).collect();
    let facts: Vec<String> = claims
        .iter()
        .filter_map(|claim| claim.as_fact())
        .filter(|fact| count_names(fact) > 0)
        .collect();
    let asked = material
        .request
        .is_some_and(|request| request.intent == Intent::Question);
    // Small talk has no names; an answer to a question or the fruit of some looking around has several.
    let advice = claims
        .iter()
        .find(|claim| claim.says == Says::Decided && asked)
        .and_then(|claim| claim.statement.as_ref());
    if (facts.len() < if asked { 1 } else { 2 } && advice.is_none())
        || (!asked && material.evidence.calls == 0)
    {
        return None;
    }
    let (_, title) = claims
        .iter()
        .enumerate()
        .filter_map(|(at, claim)| {
            let title = fit(&claim.statement.as_ref()?.text)?;
            let names = i32::try_from(count_names(&title)).unwrap_or(0).min(3);
            let early = i32::try_from(at).unwrap_or(i32::MAX).min(10);
            let short = if title.split_whitespace().count() < 4 {
                20
            } else {
                0
            };
            (names > 0).then_some((
                names * 4 - early * 2 - short - if claim.bullet { 3 } else { 0 },
                title,
            ))
        })
        .max_by(|a, b| a.0.cmp(&b.0))
        .or_else(|| Some((0, fit(&advice?.text)?)))?;
    let is_advice = advice.is_some_and(|advice| is_recommended(&title) || advice.text == title);
    // What an agent recommends is decided by the person, who may not follow.
    let kind = if is_advice && !is_recommended(&title) {
        ObservationType::Decision
    } else {
        ObservationType::Discovery
    };
    let mut draft = Draft::new(kind, title, usize::MAX, 90);
    draft.subtitle = material.request.map(|request| request.line.clone());
    draft.narrative = story::tell(claims.iter().filter(|claim| !claim.bullet).take(4).copied())
        .or_else(|| story::tell(claims.iter().take(3).copied()));
    draft.facts = facts;
    draft.concepts = if is_advice {
        vec!["trade-off"]
    } else {
        vec!["how-it-works"]
    };
    draft.files_read = material.evidence.reads.iter().take(12).cloned().collect();
    Some(draft)
}
