//! What happened and why, in a few of the agent's own sentences.

use super::claim::Says;
use super::draft::{says_the_same, within};
use super::opening::strip_speaker;
use super::reading::{Claim, Reading};
use super::section::Section;
use super::text::{count_names, has_any, sentence_case};
use super::tidy::tidy;

const MAX: usize = 600;
const MAX_SENTENCE: usize = 280;

/// The story of a change: what was wrong, why, what was done about it.
pub(super) fn of_change(reading: &Reading, title: &str) -> Option<String> {
    let final_word = reading.last_message.is_some();
    let claims: Vec<&Claim> = reading
        .claims
        .iter()
        .filter(|claim| claim.last == final_word)
        .collect();
    if let Some(paragraph) = own_words(&claims) {
        return Some(paragraph);
    }
    let fresh = |claim: &Claim| !says_the_same(&claim.sentence, title);
    let mut chosen: Vec<usize> = Vec::new();
    take(&claims, &mut chosen, 2, |claim| claim.says == Says::Cause);
    if chosen.is_empty() {
        // The last message does not say why: an earlier one may.
        let cause = reading
            .claims
            .iter()
            .rfind(|claim| claim.says == Says::Cause && !claim.hedged && !claim.last);
        if let Some(cause) = cause {
            let rest = claims
                .iter()
                .filter(|claim| matches!(claim.says, Says::Done | Says::Now) && fresh(claim))
                .take(2);
            return tell(std::iter::once(cause).chain(rest.copied()));
        }
    }
    take(&claims, &mut chosen, 4, |claim| {
        (is_choice(claim) || (claim.says == Says::Done && !claim.bullet)) && fresh(claim)
    });
    take(&claims, &mut chosen, 4, |claim| {
        claim.says == Says::Now && fresh(claim)
    });
    take(&claims, &mut chosen, 3, |claim| {
        claim.says == Says::Done && fresh(claim)
    });
    if chosen.is_empty() {
        take(&claims, &mut chosen, 3, |claim| {
            matches!(claim.says, Says::Done | Says::Now)
        });
    }
    chosen.sort_unstable();
    tell(chosen.iter().map(|&at| claims[at]))
}

/// A last message that starts with a plain paragraph of what was done tells the story best itself.
fn own_words(claims: &[&Claim]) -> Option<String> {
    let plain = |claim: &&&Claim| claim.section == Section::Other && !claim.bullet && !claim.is_vague();
    let tells = |claim: &&&Claim| {
        matches!(
            claim.says,
            Says::Done | Says::Now | Says::Found | Says::Cause | Says::Problem
        ) || is_choice(claim)
    };
    let first = claims.iter().filter(plain).find(tells)?;
    let paragraph: Vec<&Claim> = claims
        .iter()
        .filter(plain)
        .filter(tells)
        .take(4)
        .copied()
        .collect();
    let opens = claims
        .first()
        .is_some_and(|opening| std::ptr::eq(*opening, *first))
        && matches!(first.says, Says::Done | Says::Now);
    (opens && paragraph.len() > 1)
        .then(|| tell_as_said(&paragraph))
        .flatten()
}

/// A decision that can be understood without what stood before it.
fn is_choice(claim: &Claim) -> bool {
    let opening: Vec<&str> = claim.sentence.split_whitespace().take(5).collect();
    let pointing = has_any(&opening.join(" ").to_lowercase(), "it|this|that|them|you");
    claim.says == Says::Decided && (count_names(&claim.sentence) > 0 || !pointing)
}

fn take(claims: &[&Claim], chosen: &mut Vec<usize>, up_to: usize, wanted: impl Fn(&Claim) -> bool) {
    for (at, claim) in claims.iter().enumerate() {
        if chosen.len() >= up_to {
            break;
        }
        if !chosen.contains(&at)
            && wanted(claim)
            && !claim.sentence.ends_with(':')
            && !is_chore(&claim.sentence)
            && !claim.is_vague()
        {
            chosen.push(at);
        }
    }
}

/// Saving the result and tidying up are no part of the story.
fn is_chore(sentence: &str) -> bool {
    has_any(
        &sentence.to_lowercase(),
        "patch|saved to|cleaned up|output file|summary",
    )
}

/// The story of a finding: the sentence and what explains it.
pub(super) fn of_finding(
    reading: &Reading,
    step: usize,
    title: &str,
    in_section: impl Fn(Section) -> bool,
) -> Option<String> {
    let near = reading.claims.iter().filter(|claim| {
        claim.step == step
            && in_section(claim.section)
            && matches!(claim.says, Says::Cause | Says::Found | Says::Now | Says::Decided)
    });
    // It starts with a sentence that stands alone: the pronouns after it point at that.
    let text = tell(near.skip_while(|claim| claim.statement.is_none()).take(4))?;
    (!says_the_same(&text, title) || text.len() > title.len() + 60).then_some(text)
}

/// Sentences as a paragraph, as many as there is room for; reports of changes as statements.
pub(super) fn tell<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> Option<String> {
    let words = |claim: &Claim| {
        if claim.says == Says::Done {
            claim.as_fact()
        } else {
            None
        }
    };
    paragraph(claims.into_iter().map(|claim| (claim, words(claim))))
}

/// The sentences as they were said: what they point at stands before them.
fn tell_as_said(claims: &[&Claim]) -> Option<String> {
    paragraph(claims.iter().map(|claim| (*claim, None)))
}

fn paragraph<'a>(sentences: impl Iterator<Item = (&'a Claim, Option<String>)>) -> Option<String> {
    let mut out = String::new();
    let mut known: Vec<&str> = Vec::new();
    for (claim, words) in sentences {
        let words = words.unwrap_or_else(|| sentence_case(strip_speaker(&tidy(&claim.sentence))));
        let mut sentence = within(&words, MAX_SENTENCE);
        if sentence.is_empty() || known.iter().any(|before| says_the_same(before, &claim.sentence)) {
            continue;
        }
        if !sentence.ends_with(['.', '!', '?', '…']) {
            sentence.push('.');
        }
        if out.chars().count() + sentence.chars().count() >= MAX {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&sentence);
        known.push(&claim.sentence);
    }
    (!out.is_empty()).then_some(out)
}
