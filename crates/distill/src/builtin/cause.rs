//! Why something was wrong.

use backstory_model::ObservationType;

use super::change::Material;
use super::claim::Says;
use super::draft::{Draft, says_the_same};
use super::entry::is_verb;
use super::evidence::Evidence;
use super::grammar::{is_finite, split_outside};
use super::reading::Claim;
use super::section::Section;
use super::story;
use super::text::{count_names, has_any, lower_first, sentence_case, starts_with_any};
use super::title::{fit, force, stands_alone};
use super::verbs::{self, Form};

/// The causes that were found: the best sentence of the last message, else of the way there, and a second one when it
/// tells of something else.
pub(super) fn drafts(material: Material<'_>) -> Vec<Draft> {
    let claims = &material.reading.claims;
    let mut ranked: Vec<(i32, usize, String)> = claims
        .iter()
        .enumerate()
        .filter_map(|(at, claim)| score(claim).map(|(score, title)| (score, at, title)))
        .collect();
    // Of two that are as good, the later is the better informed.
    ranked.sort_by_key(|(score, at, _)| (-score, usize::MAX - at));
    let Some((_, first, title)) = ranked.first().cloned() else {
        return Vec::new();
    };
    let second = ranked.iter().find(|(score, at, other)| {
        *at != first
            && *score >= 40
            && claims[*at].last
            && claims[*at].section == Section::Cause
            && !says_the_same(other, &title)
    });
    let facts: Vec<String> = claims
        .iter()
        .filter(|other| other.says == Says::Cause && !other.hedged && other.last == claims[first].last)
        .filter_map(Claim::as_fact)
        .filter(|fact| count_names(fact) > 0)
        .take(5)
        .collect();
    let mut main = draft(material, &claims[first], title, 75);
    main.facts = facts;
    let mut out = vec![main];
    if let Some((_, at, title)) = second {
        out.push(draft(material, &claims[*at], title.clone(), 64));
        out[1].facts = claims[*at].as_fact().into_iter().collect();
        out[1].narrative = None;
    }
    out
}

fn draft(material: Material<'_>, claim: &Claim, title: String, worth: u8) -> Draft {
    let step = claim.step.min(first_edit(material.evidence));
    let mut draft = Draft::new(ObservationType::Discovery, title, step, worth);
    let told = |section: Section| matches!(section, Section::Problem | Section::Cause) || !claim.last;
    draft.narrative = story::of_finding(material.reading, claim.step, &draft.title, told);
    draft.concepts = vec!["how-it-works"];
    // The last message tells in the past what was wrong; words on the way do not know yet.
    if !claim.last && material.evidence.kept().any(|edit| edit.step > claim.step) {
        before_the_change(&mut draft);
    }
    draft
}

/// How well a sentence tells a cause, and the title it would make.
fn score(claim: &Claim) -> Option<(i32, String)> {
    if claim.says != Says::Cause || claim.hedged {
        return None;
    }
    let title = title(&claim.statement.as_ref()?.text)?;
    let lower = claim.sentence.to_lowercase();
    let words = title.split_whitespace().count();
    let nameless = count_names(&claim.sentence) == 0 && claim.section != Section::Cause;
    if starts_with_any(&title.to_lowercase(), POINTING) || nameless || !title.split_whitespace().any(is_verb)
    {
        return None;
    }
    let points = |condition: bool, points: i32| if condition { points } else { 0 };
    let mut score = i32::try_from(count_names(&title)).unwrap_or(0).min(3) * 6;
    score += points(claim.last, 20);
    score += points(claim.section == Section::Cause, 12);
    score += points(has_any(&lower, REASONS), 12);
    score -= points(words < 5, 20);
    score -= points(title.ends_with('…'), 6);
    score -= points(title.starts_with("For ") || title.starts_with("In contrast"), 8);
    score -= points(has_any(&title.to_lowercase(), "this|it|they"), 8);
    // How it should be is no cause.
    score -= points(has_any(&title.to_lowercase(), "should|you"), 14);
    score -= points(
        title
            .split_whitespace()
            .next()
            .is_some_and(|first| verbs::verb(first).is_some()),
        10,
    );
    Some((score, title))
}

/// These only say where to look.
pub(super) const POINTING: &str = concat!(
    "the issue is in|the bug is in|the issue is on|the issue is where|the issue is at|the issue was in|the bug was in|",
    "the error occurs|found the|i found|the bug had|the issue occurred in|the problem is in|the issue is becoming|the root cause is in",
);

const REASONS: &str =
    "because|due to|caused by|since|which means|root cause|instead of|without|which triggered|only";

/// The whole sentence when it fits, else the reason in it, else its first clause.
fn title(text: &str) -> Option<String> {
    let whole = fit(text)?;
    if whole.chars().count() + 8 >= text.chars().count() {
        return Some(whole);
    }
    let reason = split_outside(text, " because ")
        .map(|(_, reason)| reason)
        .filter(|reason| stands_alone(reason) && count_names(reason) > 0);
    let reason = reason.map(sentence_case).and_then(|reason| fit(&reason));
    reason
        .filter(|title| title.split_whitespace().count() >= 5)
        .or(Some(whole))
}

/// What was found before a change and told on the way, in the present, is not so any more: the title says so.
pub(super) fn before_the_change(draft: &mut Draft) {
    let verb = draft.title.split_whitespace().find(|word| is_finite(word));
    let present = verb.is_some_and(|word| {
        matches!(word, "is" | "are" | "has" | "does" | "can" | "doesn't")
            || matches!(verbs::verb(word), Some((_, Form::Third)))
    });
    if present {
        draft.title = force(&format!("Before the change: {}", lower_first(&draft.title)));
    }
}

fn first_edit(evidence: &Evidence) -> usize {
    evidence.kept().map(|edit| edit.step).min().unwrap_or(usize::MAX)
}
