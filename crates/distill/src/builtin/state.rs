//! Whether words tell how things are since a change, or how they were: by the verb that carries the sentence.

use super::entry::is_verb;
use super::grammar::{is_finite, is_plural, split_outside};
use super::text::{has_any, is_name, sentence_case, without_code};
use super::title::stands_alone;
use super::verbs::{self, Form};

/// When a clause plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tense {
    /// "The worker retries", "jobs get five attempts".
    Present,
    /// "The worker was killed", "both tabs sent it".
    Past,
}

/// The tense of a clause, told by its first verb; `None` when there is none that is known.
pub(super) fn tense(clause: &str) -> Option<Tense> {
    let lower = clause.to_lowercase();
    // A way from one value to another ends in the new one.
    if has_any(
        &lower,
        "went from|went down|went up|dropped from|fell from|shrank from|grew from",
    ) && lower.contains(" to ")
        || lower.starts_with("no more ")
    {
        return Some(Tense::Present);
    }
    let words: Vec<&str> = clause.split_whitespace().take(24).collect();
    let mut relative = false;
    for (at, raw) in words.iter().enumerate() {
        let word = raw.trim_matches(|c: char| !c.is_alphanumeric() && c != '\'' && c != '`');
        let before = at.checked_sub(1).map_or("", |at| words[at]);
        let was_relative = std::mem::replace(&mut relative, false);
        if matches!(word, "that" | "which" | "who") && at > 0 {
            relative = true;
            continue;
        }
        if at == 0 || is_name(raw) && !raw.starts_with(char::is_lowercase) || raw.starts_with('`') {
            continue;
        }
        if is_past_auxiliary(word) || is_present_auxiliary(word) {
            // The verb of "a refetch that was in flight" is not the one of the sentence.
            if was_relative {
                continue;
            }
            return Some(if is_past_auxiliary(word) {
                Tense::Past
            } else {
                Tense::Present
            });
        }
        if was_relative || is_bound(before) {
            continue;
        }
        match verbs::verb(word) {
            Some((_, Form::Third)) if !word.starts_with(char::is_uppercase) => return Some(Tense::Present),
            Some((_, Form::Base)) if acts_in_plural(&words[..at]) => return Some(Tense::Present),
            // "Events retried twice are dropped": the participle of a sentence that has its verb still to come.
            Some((_, Form::Past)) if !has_auxiliary_after(&words[at + 1..]) => return Some(Tense::Past),
            _ => {}
        }
    }
    None
}

/// Words after which a noun stands, whatever verb it looks like.
fn is_bound(before: &str) -> bool {
    matches!(
        before.to_lowercase().as_str(),
        "the"
            | "a"
            | "an"
            | "each"
            | "every"
            | "all"
            | "any"
            | "no"
            | "of"
            | "in"
            | "on"
            | "to"
            | "for"
            | "with"
            | "by"
            | "from"
            | "our"
            | "their"
            | "its"
            | "this"
            | "that"
            | "under"
            | "between"
    )
}

fn is_present_auxiliary(word: &str) -> bool {
    matches!(
        word,
        "is" | "are"
            | "has"
            | "have"
            | "can"
            | "cannot"
            | "can't"
            | "does"
            | "do"
            | "doesn't"
            | "don't"
            | "isn't"
            | "aren't"
            | "must"
            | "will"
            | "now"
    )
}

fn is_past_auxiliary(word: &str) -> bool {
    matches!(
        word,
        "was"
            | "were"
            | "had"
            | "did"
            | "didn't"
            | "wasn't"
            | "weren't"
            | "would"
            | "could"
            | "went"
            | "came"
            | "kept"
    )
}

fn acts_in_plural(before: &[&str]) -> bool {
    let phrase = before.join(" ");
    let adverb = before
        .last()
        .is_some_and(|last| matches!(*last, "now" | "also" | "only" | "always" | "never" | "longer"));
    adverb || is_plural(&phrase)
}

fn has_auxiliary_after(words: &[&str]) -> bool {
    words
        .iter()
        .take(5)
        .take_while(|word| {
            !word.ends_with([',', ';', ':']) && !matches!(**word, "and" | "but" | "because" | "when" | "if")
        })
        .any(|word| is_present_auxiliary(word) || is_past_auxiliary(word))
}

/// What a sentence says of the new state: the sentence, or the first clause of it that says so and can be read alone.
pub(super) fn new_state(sentence: &str) -> Option<String> {
    // "There are no more doubles" and "Fixed the race: one worker reads" say it without their beginning.
    let none = ["There are no more ", "There is no more "]
        .iter()
        .find_map(|opening| sentence.strip_prefix(opening))
        .map(|rest| format!("No more {rest}"));
    let sentence = none.as_deref().unwrap_or_else(|| without_fix(sentence));
    // ", and I wrote it down": the work is no state.
    let whole = [", and I ", " and I "]
        .iter()
        .filter_map(|joint| split_outside(sentence, joint))
        .map(|(state, _)| state)
        .min_by_key(|state| state.len())
        .unwrap_or(sentence)
        .trim();
    if is_state(whole) {
        return Some(whole.to_owned());
    }
    let mut rest = whole;
    while let Some((_, after)) = ["; ", ", and ", ", so "]
        .iter()
        .filter_map(|joint| split_outside(rest, joint))
        .max_by_key(|(_, after)| after.len())
    {
        if is_state(after) && after.split_whitespace().count() >= 4 {
            return Some(sentence_case(after));
        }
        rest = after;
    }
    None
}

/// "Fixed the race: one worker reads" -> "one worker reads".
fn without_fix(sentence: &str) -> &str {
    let lower = sentence.to_lowercase();
    let reports = ["fixed ", "solved ", "resolved ", "done"]
        .iter()
        .any(|verb| lower.starts_with(verb));
    split_outside(sentence, ": ")
        .filter(|(report, _)| reports && report.split_whitespace().count() <= 6)
        .map_or(sentence, |(_, state)| state)
}

fn is_state(clause: &str) -> bool {
    // "Both pages load at once" names what both are.
    let clause = clause
        .strip_prefix("Both ")
        .filter(|rest| {
            !rest.starts_with("of ")
                && rest
                    .split_whitespace()
                    .next()
                    .is_some_and(|word| !is_finite(word))
        })
        .unwrap_or(clause);
    let first = [": ", "; ", ", and ", ", so ", ", which "]
        .iter()
        .filter_map(|joint| split_outside(clause, joint))
        .map(|(first, _)| first)
        .min_by_key(|first| first.len())
        .unwrap_or(clause);
    let plain = without_code(first).to_lowercase();
    let opening = clause.split_whitespace().next().unwrap_or_default();
    let ordered = verbs::verb(opening).is_some_and(|(_, form)| form == Form::Base)
        && !has_any(&plain, "is|are|has|have");
    tense(clause) == Some(Tense::Present)
        && clause.split_whitespace().any(is_verb)
        && stands_alone(clause)
        && !has_any(&without_code(clause).to_lowercase(), "we|our|you")
        && !ordered
        // "A job rebuilds it on Sundays" points at what stood before, "takes a lock before it reads" at itself.
        && !plain.split_whitespace().take(5).any(|word| word == "it")
        && !has_any(&plain, "them|they|these|those|because|the reason|still|please")
        && !has_any(&plain, "right|correct|needed|possible|had to")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_that_carries_a_sentence_tells_its_time() {
        for (sentence, wanted) in [
            ("Invoices are numbered per customer", Some(Tense::Present)),
            ("Workers get three tries, then give up", Some(Tense::Present)),
            (
                "The lost mails came from a queue without a limit",
                Some(Tense::Past),
            ),
            (
                "Nearly all of the time was spent on listing folders",
                Some(Tense::Past),
            ),
            ("The image went from 900 MB to 120 MB", Some(Tense::Present)),
            ("A request that was late blocked the next", Some(Tense::Past)),
            ("The orders page opens at once", Some(Tense::Present)),
            ("Blue sky over Hamburg", None),
        ] {
            assert_eq!(tense(sentence), wanted, "{sentence}");
        }
    }

    #[test]
    fn the_new_state_may_stand_after_the_old_one() {
        for (sentence, wanted) in [
            ("Mails are sent once", Some("Mails are sent once")),
            (
                "A late reply overwrote the draft; `useDraft` keeps the newer one",
                Some("`useDraft` keeps the newer one"),
            ),
            (
                "A nightly job merges them, and readers take the list from an index",
                Some("Readers take the list from an index"),
            ),
            ("The old cache lost entries on every restart", None),
            ("12.30 is right", None),
            (
                "Fixed the race: one worker reads the queue",
                Some("one worker reads the queue"),
            ),
            (
                "There are no more doubles: rows have a key",
                Some("No more doubles: rows have a key"),
            ),
            ("Both pages load at once", Some("Both pages load at once")),
            ("Both of them load at once", None),
        ] {
            assert_eq!(new_state(sentence).as_deref(), wanted, "{sentence}");
        }
    }
}
