//! What a sentence of the agent says: that something was done, found, decided, failed, is planned, or nothing.

use super::grammar::is_finite;
use super::grammar::split_outside;
use super::section::Section;
use super::state::{self, Tense};
use super::text::{count_names, has_any, starts_with_any};
use super::verbs::{self, Form};

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

const OPENINGS: &str = concat!(
    "perfect!|great!|excellent!|good!|nice!|interesting!|found it!|bingo!|yes!|perfect.|great,|",
    "perfect,|excellent,|good,|interesting,|ok,|okay,|additionally,|also,|finally,|however,|",
    "in addition,|furthermore,|moreover,|so,|actually,|as a result,|therefore,|specifically,|",
    "in summary,|overall,|importantly,|and |but |so |basically,|indeed,|of course,|note:|",
    "note that |please note that |keep in mind that |bear in mind that |be aware that ",
);

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

const REMARKS: &str = "note that |keep in mind that |bear in mind that |be aware that ";

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

const FILLER_STARTS: &str = "\
    found the issue.|found the bug.|found it|i found the issue.|i found the bug.|found the issue!|i found it|here's a|here is a|here's what|here's the|here is the|here are|now i can see|\
    now i understand the issue.|i can see|i see.|i understand|the changes are|the key changes are|\
    summary of|the patch|a patch|the output file|all done|everything is|hope this|feel free|\
    if you have any|is there anything|good progress|i hope|sure|of course|certainly|you're right|\
    thanks|thank you|sorry|i apologize|this fix is minimal|the fix is minimal|the fix is simple|\
    this is a minimal|the solution is minimal|files modified|files changed|as required|for example:|\
    changed:|before:|after:|to:|from:|the output now shows|the following|this includes|good point|\
    great question";

const FILLER_PHRASES: &str = "\
    summary of what|summary of the changes|fix works|fix is working|works correctly now|\
    fix looks good|working as expected|the bug is clear|ready for review|ready for use|ready to use|\
    ready to go|patch has been saved|has been saved to|been cleaned up|what was done|what i did|\
    as per the instructions|as instructed|todo list|successfully fixed the bug.|fixed the bug.|\
    the fix is correct|let me know|the task is complete|task is complete|is complete and|\
    the following changes";

const PLANS: &str = "\
    let me|let's|let us|i'll|i’ll|i will|i need to|i'm going to|i am going to|i should|i want to|\
    i'd like|i have to|i'm now|i am now|we need to|we should|we'll|we will|we can|now i |now i'|now let|\
    now we|now, let|now, i|now to|now that|now for|now fix|now update|now add|now run|now the |\
    next,|next i |first,|first i |first let|time to|going to|to fix this|to do this|i can|i could|\
    i think i|i'm about|i was|i am|i'm|then i|then let|before i|wait|hmm|maybe|perhaps|starting|\
    looking at|checking|running|the fix is to|the fix should|the fix would|the solution is to|\
    one option|another option|a better approach would|it would be|i see the|i see that there";

const NEXT: &str = "\
    next step|next steps|remaining work|still needs|still need to|still have to|left to do|not yet implemented|not yet done|not yet supported|is not yet|are not yet|\
    yet to be|follow-up|you may want to|you might want to|you'll need to|you will need to|\
    you should|you can now|i haven't|i have not|todo:|to be done|remains to|would be a good next|\
    in a future|needs to be done|out of scope";

const FAILED: &str = "\
    didn't work|did not work|doesn't work|does not work|didn't help|did not help|still fails|\
    still failing|still fail|that broke|this broke|which broke|reverted|reverting|rolled back|\
    gave up|abandoned|failed attempt|dead end|didn't fix|did not fix|doesn't fix|made it worse|\
    no effect|had no effect|backed out|undid";

const PROBLEMS: &str = "\
    pre-existing|preexisting|known issue|unrelated failure|unrelated to|could not|couldn't|\
    unable to|not supported yet|limitation|caveat|be careful|beware|workaround|flaky|not tested|\
    untested|wasn't able|was not able";

const DECIDED: &str = "\
    i'd use|i would use|i'd go with|i would go with|i recommend|i'd recommend|i suggest|i chose|i decided|i opted|i went with|i picked|i kept|i left|i used|i prefer|we chose|\
    we decided|decided to|chose |opted |went with|the decision|deliberately|i deliberately|\
    i intentionally|intentionally|i avoided|i did not|i didn't|kept |i rejected|we rejected|rejected |we agreed|agreed |\
    i ruled out|we ruled out|ruled out |we left|we kept|we opted|we went with|we picked|decided ";

const CAUSES: &str = "\
    the issue is|the issue was|the problem is|the problem was|the bug is|the bug was|the root cause|\
    the cause|root cause|this happened because|this happens because|the reason|this is because|\
    this was because|the error is|the error was|the failure is|the failure was|it fails because|\
    the culprit|i found the issue|i found the bug|i found the problem|i found the root cause|found the issue|found the bug|found the root cause|this caused|this causes|the bug occurs|the bug occurred|\
    the real issue|the real problem|the actual issue|the actual problem|the underlying";

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
