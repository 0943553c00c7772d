//! What stands before that which a sentence says: exclamations, whoever speaks, a report, a label.

use super::grammar::is_finite;
use super::section::Section;

/// Takes exclamations and connecting words off the front of a sentence.
pub(super) fn trim_opening(sentence: &str) -> &str {
    let mut rest = sentence.trim();
    loop {
        let lower = rest
            .get(..rest.floor_char_boundary(40))
            .unwrap_or_default()
            .to_lowercase();
        let Some(opening) = OPENINGS.split('|').find(|opening| lower.starts_with(opening)) else {
            return rest;
        };
        let Some(after) = rest.get(opening.len()..) else {
            return rest;
        };
        let after = after.trim_start();
        if after.is_empty() {
            return rest;
        }
        rest = after;
    }
}

const OPENINGS: &str = concat!(
    "perfect!|great!|excellent!|good!|nice!|interesting!|found it!|bingo!|yes!|perfect.|great,|",
    "perfect,|excellent,|good,|interesting,|ok,|okay,|additionally,|also,|finally,|however,|",
    "in addition,|furthermore,|moreover,|so,|actually,|as a result,|therefore,|specifically,|",
    "in summary,|overall,|importantly,|and |but |so |basically,|indeed,|of course,|note:|",
    "note that |please note that |keep in mind that |bear in mind that |be aware that ",
);

/// Takes "I've successfully" and the like off the front of a sentence in any case.
pub(super) fn strip_speaker(text: &str) -> &str {
    let mut rest = text;
    loop {
        let lower = rest
            .get(..rest.floor_char_boundary(24))
            .unwrap_or_default()
            .to_lowercase();
        let Some(speaker) = SPEAKERS.split('|').find(|speaker| lower.starts_with(speaker)) else {
            return rest;
        };
        let Some(after) = rest.get(speaker.len()..) else {
            return rest;
        };
        rest = after.trim_start();
    }
}

const SPEAKERS: &str = concat!(
    "i've |i’ve |i have |we've |we have |i |we |successfully |also |then |just |correctly |",
    "simply ",
);

/// "Fixed: the cache holds 512 entries" -> "the cache holds 512 entries": a whole sentence needs no report before it.
pub(super) fn without_report(sentence: &str) -> &str {
    let clause = ["Fixed: ", "Done: ", "Fixed - ", "Done - "]
        .iter()
        .find_map(|report| sentence.strip_prefix(report));
    clause
        .filter(|clause| {
            let mut words = clause.split_whitespace();
            words.next().is_some_and(|first| !is_finite(first)) && words.take(8).any(is_finite)
        })
        .unwrap_or(sentence)
}

/// "Gotcha: …", "Next: …", "Cause: …": what the word before the colon announces, and the words after it.
pub(super) fn labelled(sentence: &str) -> Option<(Section, &str)> {
    let (label, rest) = sentence.split_once(": ")?;
    let label = label.trim().to_lowercase();
    LABELS
        .iter()
        .find(|(_, words)| words.split('|').any(|word| word == label))
        .map(|(section, _)| (*section, rest.trim_start()))
        .filter(|(_, rest)| rest.split_whitespace().count() >= 2)
}

const LABELS: &[(Section, &str)] = &[
    (
        Section::Next,
        "next|next step|next steps|open|still open|remaining|todo|to do|left to do|not done|not done yet|follow-up|follow-ups|later",
    ),
    (
        Section::Notes,
        "gotcha|gotchas|one gotcha|things to know|good to know|worth knowing|caveat|caveats|beware|careful|watch out|warning|\
        rule for the future|rule|pitfall|pitfalls|trap",
    ),
    (
        Section::Cause,
        "cause|the cause|root cause|the root cause|causes|two causes|three causes|reason|the reason|reasons|two reasons",
    ),
    (
        Section::Decision,
        "decision|the decision|decisions|choice|the choice|trade-off",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_before_a_colon_announces_what_follows() {
        for (sentence, wanted) in [
            (
                "Gotcha: the clock may go back.",
                Some((Section::Notes, "the clock may go back.")),
            ),
            (
                "Still open: the French texts.",
                Some((Section::Next, "the French texts.")),
            ),
            (
                "Cause: a lock was held twice.",
                Some((Section::Cause, "a lock was held twice.")),
            ),
            (
                "Decision: files and no socket.",
                Some((Section::Decision, "files and no socket.")),
            ),
            ("The cache: it is warm.", None),
            ("Next, the docs: later.", None),
        ] {
            assert_eq!(labelled(sentence), wanted, "{sentence}");
        }
    }
}
