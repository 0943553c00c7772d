//! What a heading announces.

use super::text::has_any;

/// The kind of a section of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Section {
    /// No heading, or one that says nothing about its kind.
    #[default]
    Other,
    /// What was wrong.
    Problem,
    /// Why it was so.
    Cause,
    /// What was done.
    Change,
    /// How it was tested.
    Check,
    /// What is left to do.
    Next,
    /// What to beware of.
    Notes,
    /// Why it was done this way.
    Decision,
}

impl Section {
    /// Reads a heading.
    pub(super) fn of(heading: &str) -> Self {
        let lower = heading.to_lowercase();
        if lower.split_whitespace().count() > 9 {
            return Self::Other;
        }
        HEADINGS
            .iter()
            .find(|(_, words)| has_any(&lower, words))
            .map_or(Self::Other, |(section, _)| *section)
    }
}

/// The first row that fits wins: "known issues" before "issue", "root cause" before "fix".
const HEADINGS: &[(Section, &str)] = &[
    (
        Section::Next,
        "next|next steps|remaining|todo|to do|follow-up|follow-ups|follow up|what's left|left to do|are left|what is left|\
        not done|outstanding|future|recommendation|recommendations|still open|open items",
    ),
    (
        Section::Notes,
        "known issue|known issues|caveat|caveats|limitation|limitations|note|notes|warning|warnings|\
        gotcha|gotchas|risk|risks|important",
    ),
    (
        Section::Cause,
        "root cause|cause|causes|analysis|why it|what went wrong|explanation|how it works|findings",
    ),
    (
        Section::Decision,
        "why this|why|decision|decisions|rationale|trade-off|trade-offs|tradeoffs|approach|design|\
        reasoning",
    ),
    (
        Section::Check,
        "test|tests|testing|tested|verification|verified|validation|results",
    ),
    (
        Section::Problem,
        "problem|issue|issue fixed|bug|symptom|symptoms|background|before",
    ),
    (
        Section::Change,
        "solution|fix|fixes|fixed|change|changes|changed|what was done|what i did|implementation|\
        implemented|modified|modifications|added|updated|removed|completed|done|refactored|files|\
        after",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_announce_their_section() {
        for (heading, wanted) in [
            ("Next steps", Section::Next),
            ("Known issues", Section::Notes),
            ("Root Cause", Section::Cause),
            ("The Fix", Section::Change),
            ("Changes Made", Section::Change),
            ("Issue", Section::Problem),
            ("Test Results", Section::Check),
            ("Why this works", Section::Decision),
            ("Summary", Section::Other),
        ] {
            assert_eq!(Section::of(heading), wanted, "{heading}");
        }
    }
}
