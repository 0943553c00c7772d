//! From the agent's own sentence to a statement of what is true: "I've updated `f()` to return None" becomes
//! "`f()` returns None". Only safe rewrites; where none fits, the clause stays as it is, without its speaker.

use super::grammar::split_outside;
use super::opening::{strip_speaker, trim_opening};
use super::rewrite::{from_change, from_effect, from_passive, without_now};
use super::text::{
    clip, count_names, has_any, is_outside_code, outside_brackets, sentence_case, without_code,
};
use super::tidy::{pointed_at, tidy, without_aside, without_brackets, without_label, without_place};
use super::verbs::{self, Form};

/// The most characters of a title.
pub(super) const MAX_TITLE: usize = 100;

/// A sentence turned into a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// The words, without a full stop.
    pub(super) text: String,
    /// How well it reads as "what is now true", from 0 to 100.
    pub(super) strength: u8,
}

/// Makes a statement of a sentence; `subject` is what it is about when the sentence itself does not say.
pub(super) fn statement(sentence: &str, subject: Option<&str>) -> Option<Statement> {
    let tidy = tidy(sentence);
    let text = without_label(strip_speaker(trim_opening(&tidy)));
    let pointed = pointed_at(text);
    let text = told_now(pointed.as_deref().unwrap_or(text));
    if let Some(advice) = advised(text) {
        return Some(advice);
    }
    if text.split_whitespace().count() < 2 {
        return None;
    }
    let made = from_change(text, subject)
        .or_else(|| from_effect(text))
        .or_else(|| from_passive(text))
        .unwrap_or_else(|| {
            let now = without_now(text);
            let strength = if now.len() < text.len() { 85 } else { 40 };
            (now, strength)
        });
    let text = sentence_case(made.0.trim());
    (!text.is_empty() && stands_alone(&text)).then_some(Statement {
        text,
        strength: made.1,
    })
}

/// "Latin-1 files would panic, so `read` now decodes them" -> "`read` now decodes them": what is so since is after the comma.
fn told_now(text: &str) -> &str {
    let after = [", so ", ": ", "; "]
        .iter()
        .filter_map(|mark| split_outside(text, mark))
        .map(|(_, after)| after);
    let tells = |after: &&str| after.contains(" now ") && stands_alone(after) && count_names(after) > 0;
    after
        .filter(tells)
        .min_by_key(|after| after.len())
        .unwrap_or(text)
}

/// Whether a title tells of advice, made by [`advised`].
pub(super) fn is_recommended(title: &str) -> bool {
    title.starts_with("Recommended: ")
}

/// "I'd use Postgres" -> "Recommended: use Postgres".
fn advised(text: &str) -> Option<Statement> {
    let lower = text.to_lowercase();
    let (opening, deed) = [
        ("i'd use ", "use "),
        ("i would use ", "use "),
        ("i'd go with ", ""),
        ("i would go with ", ""),
        ("i recommend ", ""),
        ("recommend ", ""),
        ("i'd recommend ", ""),
        ("i suggest ", ""),
        ("suggest ", ""),
    ]
    .into_iter()
    .find(|(opening, _)| lower.starts_with(opening))?;
    let what = text.get(opening.len()..)?.trim();
    (!what.is_empty()).then(|| Statement {
        text: format!("Recommended: {deed}{what}"),
        strength: 55,
    })
}

/// Makes a statement fit into a title: without brackets and folders, cut at the end of a clause, else at a word.
pub(super) fn fit(text: &str) -> Option<String> {
    let text = without_place(&without_brackets(without_aside(text)));
    let text = text.trim_end_matches(['.', ':', ';', ',', ' ']);
    if text.chars().count() <= MAX_TITLE {
        return (!is_dangling(text)).then(|| text.to_owned());
    }
    let mut short = text.to_owned();
    if let Some(rest) = short.strip_prefix("The ").filter(|rest| rest.starts_with('`')) {
        short = rest.to_owned();
    }
    for noun in ["` method ", "` function ", "` class ", "` test "] {
        short = short.replace(noun, "` ");
    }
    if short.chars().count() <= MAX_TITLE {
        return Some(short);
    }
    cut_at_clause(&short).or_else(|| Some(clipped(&short)).filter(|title| has_main_clause(title)))
}

/// Cut at a word, but not after "with" or "the".
fn clipped(text: &str) -> String {
    let title = clip(text, MAX_TITLE);
    let Some(mut kept) = title.strip_suffix('…') else {
        return title;
    };
    while is_dangling(kept)
        && let Some((head, _)) = kept.rsplit_once(' ')
    {
        kept = head.trim_end_matches([',', ';', ':']);
    }
    format!("{kept}…")
}

/// The longest beginning that ends where a clause would start.
fn cut_at_clause(text: &str) -> Option<String> {
    let limit = text
        .char_indices()
        .nth(MAX_TITLE)
        .map_or(text.len(), |(at, _)| at);
    let trim = |at: usize| text[..at].trim_end_matches([',', ';', ' ', '-', '–', '—', ':']);
    let cut = CLAUSES
        .split('|')
        .flat_map(|clause| text.match_indices(clause).map(|(at, _)| at))
        .chain(participles(text))
        .chain(entries(text))
        .filter(|&at| {
            at >= 40
                && at <= limit
                && is_outside_code(text, at)
                && !is_dangling(trim(at))
                && has_main_clause(trim(at))
        })
        .max()?;
    let kept = trim(cut);
    // "x replaced by y, z" has lost what z is replaced by.
    let whole = kept.rsplit_once(", ").filter(|(head, entry)| {
        text[cut..].starts_with(" by ")
            && head.len() >= 40
            && entry.split_whitespace().count() <= 2
            && is_outside_code(text, head.len())
    });
    Some(whole.map_or(kept, |(head, _)| head).to_owned())
}

/// Where ", answering …" or ", overwriting …" adds a circumstance.
fn participles(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices(", ").map(|(at, _)| at).filter(|&at| {
        let word = text[at + 2..].split_whitespace().next().unwrap_or_default();
        verbs::verb(word).is_some_and(|(_, form)| form == Form::Gerund)
    })
}

/// Where an entry ends of what is told after a colon: "Uploads resume: parts of 8 MB, three at a time".
fn entries(text: &str) -> impl Iterator<Item = usize> {
    let colon = text.find(": ").unwrap_or(text.len());
    text.match_indices(", ")
        .map(|(at, _)| at)
        .filter(move |&at| at > colon + 20)
}

/// "When x is set" alone says nothing: after such an opening a comma must follow.
pub(super) fn has_main_clause(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    let subordinate = matches!(
        first,
        "When"
            | "If"
            | "Since"
            | "While"
            | "Although"
            | "After"
            | "Before"
            | "Instead"
            | "Because"
            | "For"
            | "In"
            | "By"
            | "With"
            | "Even"
            | "As"
    );
    !subordinate || outside_brackets(text).contains(", ")
}

/// Whether a text ends in the middle of something: "the code was", "instead of the", an open bracket.
pub(super) fn is_dangling(text: &str) -> bool {
    let last = text.rsplit(' ').next().unwrap_or_default().to_lowercase();
    DANGLING.split('|').any(|word| word == last) || text.matches('(').count() > text.matches(')').count()
}

const DANGLING: &str = concat!(
    "is|are|was|were|be|been|being|the|a|an|of|to|in|on|at|for|from|with|by|and|or|but|not|that|which|when|if|as|its|their|has|have|had|than|into|between|",
    "because|where|while|can|could|should|would|will|both|such|like|including",
);

/// Makes a title of a statement at any price: a cut at a word is better than no memory.
pub(super) fn force(text: &str) -> String {
    fit(text).unwrap_or_else(|| clip(without_brackets(text).trim_end_matches('.'), MAX_TITLE))
}

const CLAUSES: &str = concat!(
    ", which|, so |, can |, could |, and |, but |, causing|, making|, ensuring|, allowing|, preventing|, instead|",
    ", because|, since|, while|, with |, rather|, even|, when|, where|, as |, leading|, using|; |",
    " — | – | - | because | since | so that | which | by | using | to ensure | to avoid |",
    " to allow | to match | in order to | instead of | rather than |: | without | whereas |",
    " causing | while ",
);

/// Whether the words can be read without what stood before them.
pub(super) fn stands_alone(text: &str) -> bool {
    let lower = without_code(text).to_lowercase();
    if has_any(&lower, "my|i|i'm|i've|i'll|let me|we should|we need") {
        return false;
    }
    let first = text
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .trim_matches(',')
        .to_lowercase();
    !matches!(
        first.as_str(),
        "this"
            | "it"
            | "they"
            | "these"
            | "that"
            | "those"
            | "its"
            | "i"
            | "we"
            | "you"
            | "he"
            | "my"
            | "our"
            | "here"
            | "there"
            | "which"
            | "it's"
            | "both"
            | "same"
            | "such"
            | "your"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_become_statements() {
        for (given, wanted) in [
            (
                "I've updated `foo()` to return None on empty input.",
                "`foo()` returns None on empty input",
            ),
            (
                "Modified the loader in `src/load.rs` to skip hidden files.",
                "Loader in `src/load.rs` skips hidden files",
            ),
            (
                "Updated all tests to expect sections.",
                "All tests expect sections",
            ),
            ("Added a `--json` flag to `list`.", "`list` has a `--json` flag"),
            ("Added support for TOML files", "TOML files are supported"),
            (
                "Removed the retry from `Client`",
                "`Client` no longer has the retry",
            ),
            (
                "Replaced the regex with a hand-written scanner",
                "A hand-written scanner replaces the regex",
            ),
            ("Renamed `a` to `b`", "`a` is renamed to `b`"),
            (
                "Fixed the crash in `load()` when the file is empty.",
                "`load()` no longer crashes when the file is empty",
            ),
            (
                "`Point` now supports left multiplication.",
                "`Point` supports left multiplication",
            ),
            (
                "This ensures that empty strings are kept.",
                "Empty strings are kept",
            ),
            (
                "The key has been changed to include the locale",
                "Key includes the locale",
            ),
            ("Made `build_index` public", "`build_index` is public"),
            (
                "Created a scanner for tokens (lines 3-9)",
                "Created a scanner for tokens",
            ),
            ("Add retries to `Client`", "`Client` has retries"),
            (
                "Old files would panic, so `read` now decodes them",
                "`read` decodes them",
            ),
            (
                "Fixed the bug by adding a `key` option to `load()`",
                "`load()` has a `key` option",
            ),
            ("This happened because the cache was cold", "The cache was cold"),
            ("I'd go with Postgres", "Recommended: Postgres"),
        ] {
            assert_eq!(
                statement(given, None).map(|made| made.text).as_deref(),
                Some(wanted),
                "{given}"
            );
        }
    }

    #[test]
    fn no_now_is_left_dangling() {
        for (given, wanted) in [
            ("Mails are sent once now.", "Mails are sent once"),
            (
                "Rows load in pages now, which keeps memory low",
                "Rows load in pages, which keeps memory low",
            ),
            ("The flag is off for now.", "The flag is off for now"),
        ] {
            assert_eq!(statement(given, None).unwrap().text, wanted, "{given}");
        }
    }

    #[test]
    fn a_list_after_a_colon_is_cut_between_its_entries() {
        assert_eq!(
            fit("Imports can be resumed: blocks of 4 MB, two at a time, every one tried three times, finished ones kept in a file").as_deref(),
            Some("Imports can be resumed: blocks of 4 MB, two at a time, every one tried three times")
        );
        assert_eq!(
            fit("The bundle went from 3 MB to 1 MB: the editor is replaced by a small one, charts by plain tables of numbers").as_deref(),
            Some("The bundle went from 3 MB to 1 MB: the editor is replaced by a small one")
        );
        assert_eq!(
            fit("Reports are paged on (day, id) in the same order on every replica of the archive and begin at the last row").as_deref(),
            Some("Reports are paged on (day, id) in the same order on every replica of the archive and begin…")
        );
    }

    #[test]
    fn the_label_is_the_subject_when_the_sentence_has_none() {
        let made = statement("Updated to compare both fields", Some("`__eq__` method")).unwrap();
        assert_eq!(made.text, "`__eq__` method compares both fields");
    }

    #[test]
    fn pronouns_do_not_stand_alone() {
        assert_eq!(statement("It now returns None.", None), None);
    }

    #[test]
    fn long_titles_end_with_a_clause() {
        let long = "`Loader` skips hidden files in every folder below the root, which keeps the index small and makes the scan much faster";
        assert_eq!(
            fit(long).as_deref(),
            Some("`Loader` skips hidden files in every folder below the root")
        );
        assert!(fit(&"word ".repeat(40)).unwrap().ends_with("word…"));
        assert_eq!(fit("`Loader` reads the file because the"), None);
    }
}
