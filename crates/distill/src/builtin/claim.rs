//! What a sentence of the agent says: that something was done, found, decided, failed, is planned, or nothing.

mod phrases;

use super::grammar::{is_finite, split_outside};
use super::opening::{strip_speaker, trim_opening};
use super::section::Section;
use super::state::{self, Tense};
use super::text::{count_names, has_any, starts_with_any};
use super::verbs::{self, Form};

use phrases::{CAUSES, DECIDED, FAILED, FILLER_PHRASES, FILLER_STARTS, NEXT, PLANS, PROBLEMS, REMARKS};

/// What a sentence says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    /// Something was changed.
    Done,
    /// Something is so since the change ("now", "no longer").
    Now,
    /// What was wrong, and why.
    Cause,
    /// How something is.
    Found,
    /// Something was chosen over something else.
    Decided,
    /// An attempt did not work.
    Failed,
    /// Something is left to do.
    Next,
    /// Something is open or to beware of.
    Problem,
    /// A test or check was made.
    Check,
    /// A question or an offer to the person.
    Asks,
    /// What the agent is about to do.
    Plan,
    /// Nothing.
    Filler,
}

/// Classifies a sentence by its words and the section it stands in.
pub(super) fn says(sentence: &str, section: Section) -> Says {
    let text = trim_opening(sentence);
    let lower = text.to_lowercase();
    let words = lower.split_whitespace().count();
    if text.ends_with('?') {
        return Says::Asks;
    }
    if is_filler(&lower, words, text) {
        return Says::Filler;
    }
    // To be noted, not to be done: "note that" is no order.
    if is_remark(sentence) && !has_any(&lower, NEXT) {
        return Says::Problem;
    }
    if section == Section::Next || is_left_undone(&lower) {
        return Says::Next;
    }
    if section != Section::Change && is_order(&lower) && !forbids(&lower) {
        return Says::Next;
    }
    if starts_with_any(&lower, PLANS) {
        return Says::Plan;
    }
    if has_any(&lower, NEXT) {
        return Says::Next;
    }
    let past = matches!(section, Section::Problem | Section::Cause);
    if !past && has_any(&lower, FAILED) {
        return Says::Failed;
    }
    if is_check(&lower) || (section == Section::Check && !tells_of_state(&lower, text)) {
        return Says::Check;
    }
    if section == Section::Notes || has_any(&lower, PROBLEMS) {
        return Says::Problem;
    }
    claims(text, &lower, section)
}

/// "Note that rounding is to even", with or without a connecting word before it.
fn is_remark(sentence: &str) -> bool {
    let lower = sentence.trim().to_lowercase();
    let rest = ["also, ", "also ", "and ", "but ", "please "]
        .iter()
        .find_map(|opening| lower.strip_prefix(opening))
        .unwrap_or(&lower);
    starts_with_any(rest, REMARKS)
}

fn claims(text: &str, lower: &str, section: Section) -> Says {
    let past = matches!(section, Section::Problem | Section::Cause);
    if starts_with_any(lower, DECIDED) || (section == Section::Decision && !past) || gives_reason(lower) {
        return Says::Decided;
    }
    if is_done(lower) {
        return Says::Done;
    }
    if !past && has_any(lower, "now|no longer") {
        return Says::Now;
    }
    if past
        || starts_with_any(lower, CAUSES)
        || has_any(
            lower,
            "root cause|caused by|is caused|was caused|the culprit|came from",
        )
        || (has_any(lower, "because")
            && !has_any(lower, "should|would|you|i|we")
            && state::tense(text) == Some(Tense::Past))
    {
        return Says::Cause;
    }
    if section == Section::Other && warns(lower) {
        return Says::Problem;
    }
    if section == Section::Change && (has_any(lower, "this ensures|ensures|so that") || count_names(text) > 0)
    {
        return Says::Now;
    }
    Says::Found
}

/// "The reason for x rather than y: …" and "The limit stays at 5: …" explain a choice.
fn gives_reason(lower: &str) -> bool {
    let Some((told, _)) = split_outside(lower, ": ") else {
        return false;
    };
    (told.starts_with("the reason for ") && has_any(told, "rather than|instead of|over"))
        || has_any(told, "stays at|stay at|stays as|stay as|remains at|remain at")
}

/// "I did not repair the account; that needs a refund": somebody still has to.
fn is_left_undone(lower: &str) -> bool {
    starts_with_any(lower, "i did not |i didn't |i have not |i haven't ")
        && has_any(lower, "needs|need|has to|have to|must")
}

/// "Never store the seed", "Please do not call it twice".
fn forbids(lower: &str) -> bool {
    starts_with_any(
        lower,
        "do not |don't |never |please do not |please don't |please never ",
    )
}

/// Whether a sentence tells what to beware of: "must x, or y", "never do z".
pub(super) fn warns(lower: &str) -> bool {
    // An order in the middle of a sentence: ", so never store it", "; do not call it".
    let forbidden = ["never ", "do not ", "don't "].iter().any(|word| {
        lower.match_indices(word).any(|(at, word)| {
            let before = lower[..at].trim_end();
            let mut after = lower[at + word.len()..].split_whitespace();
            let order = after
                .next()
                .is_some_and(|verb| matches!(verbs::verb(verb), Some((_, Form::Base))));
            (before.ends_with([',', ';', ':']) || before.ends_with(" so") || before.ends_with("please"))
                && order
                && after.next().is_some()
        })
    });
    let or_else = lower.contains(", or ") && has_any(lower, "must|needs|need|has to|have to|had to");
    forbids(lower)
        || forbidden
        || or_else
        || (has_any(lower, "must|or else") && !has_any(lower, "i|we|should|would"))
}

/// Whether a sentence starts as a report of a change: "I've added", "Updated", "The parser was changed".
pub(super) fn is_done(lower: &str) -> bool {
    let rest = strip_speaker(lower);
    let mut words = rest.split_whitespace();
    let Some(first) = words.next() else { return false };
    if let Some((base, form)) = verbs::verb(first)
        && verbs::is_change(base)
        && (form == Form::Past || (base == "set" && rest.len() < lower.len()))
    {
        return true;
    }
    let passive = lower
        .split_once(" has been ")
        .or_else(|| lower.split_once(" have been "));
    passive.is_some_and(|(subject, tail)| {
        let participle = tail
            .trim_start_matches("successfully ")
            .split_whitespace()
            .next()
            .unwrap_or_default();
        subject.len() < 80
            && verbs::verb(participle)
                .is_some_and(|(base, form)| form == Form::Past && verbs::is_change(base))
    })
}

/// "Run `x`", "Please check the y": told to somebody, not of something.
fn is_order(lower: &str) -> bool {
    let mut words = lower.split_whitespace();
    let (Some(first), Some(second)) = (words.next(), words.next()) else {
        return false;
    };
    if first == "please" {
        return true;
    }
    if first.starts_with('`') || !matches!(verbs::verb(first), Some((_, Form::Base))) {
        return false;
    }
    let object = second.starts_with('`')
        || matches!(
            second,
            "the" | "a" | "an" | "your" | "it" | "this" | "all" | "sure" | "that"
        );
    object || !is_statement(lower)
}

/// "Cache keys include the locale" has a verb after its first noun: no order.
fn is_statement(lower: &str) -> bool {
    let mut before = "";
    lower.split_whitespace().skip(1).any(|word| {
        let bound = matches!(
            before,
            "to" | "and" | "or" | "not" | "then" | "the" | "a" | "an" | ""
        );
        before = word;
        is_finite(word) || (!bound && matches!(verbs::verb(word), Some((_, Form::Base))))
    })
}

fn is_filler(lower: &str, words: usize, text: &str) -> bool {
    if words < 3 && count_names(text) == 0 {
        return true;
    }
    if text.ends_with('!') && words <= 6 && count_names(text) == 0 {
        return true;
    }
    starts_with_any(lower, FILLER_STARTS) || (has_any(lower, FILLER_PHRASES) && words <= 16)
}

/// "`f(x)` now returns y", among the results of tests, says what is so since the change.
fn tells_of_state(lower: &str, text: &str) -> bool {
    let enough = count_names(text) > 0 || lower.split_whitespace().count() >= 6;
    enough && has_any(lower, "now|no longer") && !has_any(lower, "test|tests|verified|confirmed")
}

/// "`f` retries once; all 12 tests pass" says two things: what is so, and how it was checked.
pub(super) fn without_check(sentence: &str) -> impl Iterator<Item = &str> {
    let checks = |part: &str| is_check(&part.to_lowercase());
    let parts = ["; ", ", and ", " and "]
        .iter()
        .filter_map(|joint| split_outside(sentence, joint));
    let (first, second) = parts
        .into_iter()
        .find(|(claim, check)| checks(check) && !checks(claim) && claim.split_whitespace().count() >= 4)
        .map_or((sentence, None), |(claim, check)| (claim, Some(check)));
    std::iter::once(first).chain(second)
}

fn is_check(lower: &str) -> bool {
    let tested = has_any(lower, "test|tests|suite|suites|lint|clippy|type check|build");
    let result = has_any(
        lower,
        "pass|passes|passed|passing|green|succeed|succeeds|succeeded|clean|fail|fails|failed",
    );
    (tested && result)
        || starts_with_any(
            lower,
            "verified|confirmed|tested|ran |i ran|i verified|i tested|i confirmed|created and ran",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_told_apart() {
        for (sentence, wanted) in [
            ("Let me look at the parser.", Says::Plan),
            ("Perfect! Now let me run the tests:", Says::Plan),
            ("I'll add a retry.", Says::Plan),
            ("Perfect!", Says::Filler),
            ("Here's a summary of what was done:", Says::Filler),
            ("I've updated `load()` to return None on empty input.", Says::Done),
            ("Added a `--json` flag to `list`.", Says::Done),
            (
                "The cache key has been changed to include the locale.",
                Says::Done,
            ),
            ("`load()` now returns None.", Says::Now),
            (
                "The problem is that `load()` reads twice because the cache is cold.",
                Says::Cause,
            ),
            (
                "I chose a file lock over a socket because it survives crashes.",
                Says::Decided,
            ),
            ("That didn't work, the lock is not re-entrant.", Says::Failed),
            ("All 12 tests pass.", Says::Check),
            ("The Windows build still needs a fix.", Says::Next),
            ("`test_clock` is flaky.", Says::Problem),
            (
                "Note that rounding is banker's rounding, a gotcha for half cents.",
                Says::Problem,
            ),
            ("Also note that `load()` returns None.", Says::Problem),
            ("Note that you should restart the worker.", Says::Next),
            ("Please run `make clean`.", Says::Next),
            ("Run `make clean` before the next build.", Says::Next),
            ("Turn on the cache in `Cargo.toml`.", Says::Next),
            ("Cache keys include the `locale`.", Says::Found),
            ("I'd use Postgres.", Says::Decided),
            ("Would you like me to add a test?", Says::Asks),
            ("`Session` holds one connection per thread.", Says::Found),
        ] {
            assert_eq!(says(sentence, Section::Other), wanted, "{sentence}");
        }
    }

    #[test]
    fn what_is_so_is_told_from_how_it_was_checked() {
        let parts = |sentence| without_check(sentence).collect::<Vec<_>>();
        assert_eq!(
            parts("Token refresh now retries once; all 12 tests pass."),
            ["Token refresh now retries once", "all 12 tests pass."]
        );
        assert_eq!(
            parts("`f` reads the file and the tests pass"),
            ["`f` reads the file", "the tests pass"]
        );
        assert_eq!(
            parts("All tests pass; the build is green"),
            ["All tests pass; the build is green"]
        );
        assert_eq!(
            parts("The parser and the printer agree"),
            ["The parser and the printer agree"]
        );
    }

    #[test]
    fn warnings_reasons_and_what_was_left_are_told_apart() {
        for (sentence, wanted) in [
            ("Never store the seed of `shuffle`.", Says::Problem),
            (
                "Do not rename `state.json`: older versions read it.",
                Says::Problem,
            ),
            (
                "The worker must be stopped first, or the file is lost.",
                Says::Problem,
            ),
            ("Entries never expire.", Says::Found),
            (
                "We agreed not to raise the limit: it would hide the leak.",
                Says::Decided,
            ),
            (
                "I rejected a second queue: two would need an order.",
                Says::Decided,
            ),
            (
                "The limit stays at 20: more would not fit into memory.",
                Says::Decided,
            ),
            (
                "I did not restore the two rows; that needs the backup.",
                Says::Next,
            ),
            ("The double mails came from two workers.", Says::Cause),
            ("The upload failed because the name was too long.", Says::Cause),
        ] {
            assert_eq!(says(sentence, Section::Other), wanted, "{sentence}");
        }
    }

    #[test]
    fn a_section_decides_where_the_words_do_not() {
        assert_eq!(
            says("`load()` read the file twice.", Section::Problem),
            Says::Cause
        );
        assert_eq!(says("Add a Windows build.", Section::Next), Says::Next);
        assert_eq!(says("Large files are slow.", Section::Notes), Says::Problem);
    }
}
