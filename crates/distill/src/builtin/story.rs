//! What happened and why, in a few of the agent's own sentences.

use super::claim::{Says, strip_speaker};
use super::draft::{says_the_same, within};
use super::reading::{Claim, Reading};
use super::section::Section;
use super::text::sentence_case;
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
    let mut chosen: Vec<usize> = Vec::new();
    take(&claims, &mut chosen, 2, |claim| claim.says == Says::Cause);
    if chosen.is_empty() {
        // The last message does not say why: an earlier one may.
        if let Some(cause) = reading
            .claims
            .iter()
            .rfind(|claim| claim.says == Says::Cause && !claim.hedged && !claim.last)
        {
            let rest = told(
                &claims,
                |claim| matches!(claim.says, Says::Done | Says::Now),
                2,
                title,
            );
            return tell(std::iter::once(cause).chain(rest));
        }
    }
    take(&claims, &mut chosen, 4, |claim| {
        (claim.says == Says::Decided || (claim.says == Says::Done && !claim.bullet))
            && !says_the_same(&claim.sentence, title)
    });
    take(&claims, &mut chosen, 4, |claim| {
        claim.says == Says::Now && !says_the_same(&claim.sentence, title)
    });
    take(&claims, &mut chosen, 3, |claim| {
        claim.says == Says::Done && !says_the_same(&claim.sentence, title)
    });
    if chosen.is_empty() {
        take(&claims, &mut chosen, 3, |claim| {
            matches!(claim.says, Says::Done | Says::Now)
        });
    }
    chosen.sort_unstable();
    tell(chosen.iter().map(|&at| claims[at]))
}

fn told<'a>(
    claims: &[&'a Claim],
    wanted: impl Fn(&Claim) -> bool,
    most: usize,
    title: &str,
) -> Vec<&'a Claim> {
    claims
        .iter()
        .filter(|claim| wanted(claim) && !says_the_same(&claim.sentence, title))
        .take(most)
        .copied()
        .collect()
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
    super::text::has_any(
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
    let text = tell(near.take(4))?;
    (!says_the_same(&text, title) || text.len() > title.len() + 60).then_some(text)
}

/// Sentences as a paragraph, as many as there is room for.
pub(super) fn tell<'a>(claims: impl IntoIterator<Item = &'a Claim>) -> Option<String> {
    let mut out = String::new();
    let mut known: Vec<&str> = Vec::new();
    for claim in claims {
        let words = if claim.says == Says::Done {
            claim.as_fact()
        } else {
            None
        };
        let mut sentence = within(
            &words.unwrap_or_else(|| sentence_case(strip_speaker(&tidy(&claim.sentence)))),
            MAX_SENTENCE,
        );
        if sentence.is_empty() || known.iter().any(|before| says_the_same(before, &claim.sentence)) {
            continue;
        }
        if !sentence.ends_with(['.', '!', '?', '…']) {
            sentence.push('.');
        }
        if out.chars().count() + sentence.chars().count() > MAX {
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
