//! From the agent's own sentence to a statement of what is true: "I've updated `f()` to return None" becomes
//! "`f()` returns None". Only safe rewrites; where none fits, the clause stays as it is, without its speaker.

use super::claim::{strip_speaker, trim_opening};
use super::complaint;
use super::text::{clip, count_names, is_outside_code, lower_first, sentence_case};
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
    let text = strip_speaker(trim_opening(&tidy));
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

/// Makes a statement fit into a title, cutting at the end of a clause; `None` when there is no such place.
pub(super) fn fit(text: &str) -> Option<String> {
    let text = without_brackets(text);
    let text = text.trim_end_matches(['.', ':', ';', ',', ' ']);
    if text.chars().count() <= MAX_TITLE {
        return Some(text.to_owned());
    }
    let limit = text
        .char_indices()
        .nth(MAX_TITLE)
        .map_or(text.len(), |(at, _)| at);
    let cut = CLAUSES
        .split('|')
        .filter_map(|clause| text[..limit].rfind(clause))
        .filter(|&at| at >= 32 && is_outside_code(text, at))
        .max()?;
    Some(
        text[..cut]
            .trim_end_matches([',', ';', ' ', '-', '–', '—', ':'])
            .to_owned(),
    )
}

/// Makes a title of a statement at any price: a cut at a word is better than no memory.
pub(super) fn force(text: &str) -> String {
    fit(text).unwrap_or_else(|| clip(without_brackets(text).trim_end_matches('.'), MAX_TITLE))
}

const CLAUSES: &str = concat!(
    ", which|, so |, and |, but |, causing|, making|, ensuring|, allowing|, preventing|, instead|",
    ", because|, since|, while|, with |, rather|, even|, when|, where|, as |, leading|, using|; |",
    " — | – | - | because | since | so that | which | by | using | to ensure | to avoid |",
    " to allow | to match | in order to | instead of | rather than |: | without | whereas |",
    " causing | while ",
);

/// Takes away line numbers, full stops and adverbs that praise.
pub(super) fn tidy(sentence: &str) -> String {
    let mut text = sentence.trim().trim_end_matches(['.', '!', ':', ' ']).to_owned();
    for praise in [
        " now correctly",
        " correctly",
        " properly",
        " successfully",
        " simply",
        " clearly",
        " explicitly",
    ] {
        if let Some(at) = text.find(praise) {
            let keep = if praise.starts_with(" now") { " now" } else { "" };
            let end = at + praise.len();
            if text[end..].starts_with([' ', ',']) && is_outside_code(&text, at) {
                text.replace_range(at..end, keep);
            }
        }
    }
    without_line_numbers(&text)
}

/// "(line 12)", "(lines 3-5)" and "at line 12" will be wrong tomorrow.
fn without_line_numbers(text: &str) -> String {
    let mut out = text.to_owned();
    for opening in [" (line ", " (lines ", " (Line ", " (around line "] {
        while let Some(at) = out.find(opening) {
            let Some(end) = out[at..].find(')') else { break };
            out.replace_range(at..=at + end, "");
        }
    }
    for opening in [" at lines ", " at line ", " on lines ", " on line "] {
        if let Some(at) = out.find(opening) {
            let rest = &out[at + opening.len()..];
            let number = rest.len()
                - rest
                    .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '–'))
                    .len();
            if number > 0 {
                out.replace_range(at..at + opening.len() + number, "");
            }
        }
    }
    out
}

fn without_brackets(text: &str) -> String {
    let mut out = text.to_owned();
    while out.chars().count() > MAX_TITLE {
        let Some(open) = out.rfind(" (") else { break };
        let Some(close) = out[open..].find(')') else { break };
        if !is_outside_code(&out, open) {
            break;
        }
        out.replace_range(open..=open + close, "");
    }
    out
}

/// Whether the words can be read without what stood before them.
pub(super) fn stands_alone(text: &str) -> bool {
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

fn without_now(text: &str) -> String {
    for (from, to) in [
        (" is now ", " is "),
        (" are now ", " are "),
        (" can now ", " can "),
        (" will now ", " will "),
        (" now ", " "),
    ] {
        if let Some(at) = text.find(from)
            && at > 0
            && is_outside_code(text, at)
        {
            return format!("{}{to}{}", &text[..at], &text[at + from.len()..]);
        }
    }
    text.to_owned()
}

/// "Updated X to return Y", "Added X to Y", "Replaced X with Y", in the past or the imperative.
fn from_change(text: &str, subject: Option<&str>) -> Option<(String, u8)> {
    let (first, rest) = text.split_once(' ')?;
    let (base, form) = verbs::verb(first)?;
    if !verbs::is_change(base) || !matches!(form, Form::Past | Form::Base) || first.starts_with('`') {
        return None;
    }
    let rest = rest.trim_start();
    // "Update failures are logged" is about updates: a noun, not an order.
    let noun = rest
        .split_whitespace()
        .take(5)
        .any(|word| matches!(word, "is" | "are" | "was" | "were" | "has" | "have"));
    if form == Form::Base && noun {
        return None;
    }
    if let Some(tail) = rest.strip_prefix("to ")
        && let Some(subject) = subject
        && let Some(made) = acts(subject, tail)
    {
        return Some((made, 80));
    }
    if let Some((object, tail)) = split_at_verb(rest)
        && !matches!(base, "rename" | "move" | "convert" | "migrate")
        && let Some(made) = acts(object, tail)
    {
        return Some((made, 80));
    }
    special(base, rest).or_else(|| Some((format!("{} {rest}", sentence_case(&verbs::past(base))), 50)))
}

/// Changes that have a plain way to be said as a state.
fn special(base: &str, rest: &str) -> Option<(String, u8)> {
    match base {
        "fix" | "resolve" | "correct" => complaint::fixed(rest).map(|made| (made, 78)),
        "add" | "introduce" | "implement" => {
            if let Some(thing) = rest.strip_prefix("support for ") {
                return Some((format!("{} {} supported", bare(thing), be(thing)), 75));
            }
            let (thing, place) = split_outside(rest, " to ")?;
            let short =
                place.split_whitespace().count() <= 5 && !place.contains(',') && count_names(place) > 0;
            (short && thing.len() < 90).then(|| {
                (
                    format!("{} {} {}", bare(place), have(place), lower_first(thing)),
                    70,
                )
            })
        }
        "remove" | "drop" | "delete" => {
            let (thing, place) = split_outside(rest, " from ")?;
            let short = place.split_whitespace().count() <= 6 && !place.contains(',');
            (short && thing.len() < 80).then(|| {
                (
                    format!("{} no longer {} {}", bare(place), have(place), lower_first(thing)),
                    72,
                )
            })
        }
        "replace" | "swap" => {
            let (old, new) = split_outside(rest, " with ")?;
            let verb = if is_plural(new) { "replace" } else { "replaces" };
            (old.len() < 60 && new.len() < 70 && !new.contains(','))
                .then(|| (format!("{} {verb} {}", bare(new), old), 70))
        }
        "rename" => split_outside(rest, " to ")
            .map(|(old, new)| (format!("{} {} renamed to {new}", bare(old), be(old)), 68)),
        "move" => split_outside(rest, " to ")
            .or_else(|| split_outside(rest, " into "))
            .map(|(what, place)| (format!("{} moved to {place}", bare(what)), 66)),
        "change" | "update" => {
            let (what, tail) = split_outside(rest, " from ")?;
            (what.len() < 60 && tail.contains(" to "))
                .then(|| (format!("{} changed from {tail}", bare(what)), 62))
        }
        "set" => split_outside(rest, " to ")
            .map(|(what, value)| (format!("{} {} {value}", bare(what), be(what)), 62)),
        "wrap" => split_outside(rest, " with ")
            .or_else(|| split_outside(rest, " in "))
            .map(|(what, with)| (format!("{} {} wrapped in {with}", bare(what), be(what)), 66)),
        "make" => {
            let (what, state) = rest.rsplit_once(' ')?;
            let named = what.ends_with('`') || what.ends_with("()");
            (named && state.chars().all(char::is_alphabetic))
                .then(|| (format!("{} {} {state}", bare(what), be(what)), 72))
        }
        _ => None,
    }
}

/// "X" and "return Y" -> "X returns Y".
fn acts(subject: &str, tail: &str) -> Option<String> {
    let (word, rest) = tail.split_once(' ').unwrap_or((tail, ""));
    let negated = word == "not";
    let (word, rest) = if negated {
        rest.split_once(' ').unwrap_or((rest, ""))
    } else {
        (word, rest)
    };
    let base = if word == "be" {
        "be"
    } else {
        verbs::verb(word).filter(|(_, form)| *form == Form::Base)?.0
    };
    let subject = bare(subject);
    if subject.is_empty() || subject.len() > 90 || subject.ends_with(" only") {
        return None;
    }
    let plural = is_plural(&subject);
    let verb = match (base, plural, negated) {
        ("be", true, false) => "are".to_owned(),
        ("be", true, true) => "are not".to_owned(),
        ("be", false, false) => "is".to_owned(),
        ("be", false, true) => "is not".to_owned(),
        (base, true, true) => format!("do not {base}"),
        (base, false, true) => format!("does not {base}"),
        (base, true, false) => base.to_owned(),
        (base, false, false) => verbs::third(base),
    };
    Some(format!("{subject} {verb} {rest}").trim_end().to_owned())
}

/// Splits "X to return Y" at the "to" that is followed by a verb.
fn split_at_verb(text: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find(" to ").map(|at| at + from) {
        let tail = &text[at + 4..];
        let word = tail.split_whitespace().next().unwrap_or_default();
        let verb =
            word == "be" || word == "not" || verbs::verb(word).is_some_and(|(_, form)| form == Form::Base);
        if verb && is_outside_code(text, at) && !text[..at].contains(" from ") {
            return Some((&text[..at], tail));
        }
        from = at + 4;
    }
    None
}

/// Splits at the first separator outside code spans.
pub(super) fn split_outside<'a>(text: &'a str, separator: &str) -> Option<(&'a str, &'a str)> {
    let at = text
        .match_indices(separator)
        .map(|(at, _)| at)
        .find(|&at| is_outside_code(text, at))?;
    let (left, right) = (text[..at].trim(), text[at + separator.len()..].trim());
    (!left.is_empty() && !right.is_empty()).then_some((left, right))
}

/// "This ensures that X" -> "X"; "This allows X to do Y" -> "X can do Y".
fn from_effect(text: &str) -> Option<(String, u8)> {
    let lower = text.to_lowercase();
    for opening in EFFECTS.split('|') {
        if lower.starts_with(opening) {
            let rest = text.get(opening.len()..)?.trim_start();
            let rest = rest.strip_prefix("that ").unwrap_or(rest);
            return Some((without_now(rest), 60));
        }
    }
    for opening in [
        "this allows ",
        "this lets ",
        "which allows ",
        "this change allows ",
        "the fix allows ",
    ] {
        if lower.starts_with(opening) {
            let (who, what) = split_outside(text.get(opening.len()..)?, " to ")?;
            return Some((format!("{} can {what}", bare(who)), 58));
        }
    }
    for opening in CAUSE_OPENINGS.split('|') {
        if let Some(rest) = lower
            .strip_prefix(opening)
            .and_then(|_| text.get(opening.len()..))
        {
            return Some((rest.trim_start().to_owned(), 45));
        }
    }
    None
}

const EFFECTS: &str = concat!(
    "this ensures |this fix ensures |the fix ensures |this change ensures |these changes ensure |",
    "this guarantees |which ensures |this means |the fix ensures that ",
);

const CAUSE_OPENINGS: &str = concat!(
    "the issue was that |the issue is that |the problem was that |the problem is that |",
    "the bug was that |the bug is that |the root cause was that |the root cause is that |",
    "the root cause is clear: |the bug is clear: |the cause is that |it turns out that |",
    "it turns out |turns out |i found that |found that |note that |the reason is that |",
    "the real issue is that |the actual issue is that |discovered that |this is because |",
    "the error is because ",
);

/// "X has been changed to return Y" -> "X returns Y"; "X has been removed" -> "X is removed".
fn from_passive(text: &str) -> Option<(String, u8)> {
    let (subject, tail) = text
        .split_once(" has been ")
        .or_else(|| text.split_once(" have been "))
        .or_else(|| text.split_once(" was "))?;
    if subject.len() > 80 || !is_outside_code(subject, subject.len()) {
        return None;
    }
    let (participle, rest) = tail.split_once(' ').unwrap_or((tail, ""));
    let (base, form) = verbs::verb(participle)?;
    if form != Form::Past || !verbs::is_change(base) {
        return None;
    }
    if let Some(done) = rest.strip_prefix("to ")
        && !matches!(base, "rename" | "move")
        && let Some(made) = acts(subject, done)
    {
        return Some((made, 80));
    }
    Some((format!("{} {} {tail}", bare(subject), be(subject)), 60))
}

/// A noun phrase without its article.
pub(super) fn bare(phrase: &str) -> String {
    let phrase = phrase.trim().trim_end_matches(',');
    let rest = ["the ", "The ", "only the ", "our ", "my "]
        .iter()
        .find_map(|article| phrase.strip_prefix(article))
        .unwrap_or(phrase);
    rest.to_owned()
}

/// Whether a noun phrase is a plural, as far as its head tells.
pub(super) fn is_plural(phrase: &str) -> bool {
    let lower = phrase.to_lowercase();
    let cut = [
        " in ", " of ", " for ", " with ", " from ", " at ", " on ", " that ", " (", " used ",
    ]
    .iter()
    .filter_map(|stop| lower.find(stop))
    .min()
    .unwrap_or(lower.len());
    let noun = lower[..cut].trim_end();
    if noun.contains(" and ")
        || ["all ", "both ", "two ", "three ", "these "]
            .iter()
            .any(|many| noun.starts_with(many))
    {
        return true;
    }
    let head = noun.rsplit(' ').next().unwrap_or_default();
    head.ends_with('s')
        && !["ss", "us", "is", "as"]
            .iter()
            .any(|ending| head.ends_with(ending))
        && count_names(head) == 0
}

fn be(phrase: &str) -> &'static str {
    if is_plural(phrase) { "are" } else { "is" }
}

fn have(phrase: &str) -> &'static str {
    if is_plural(phrase) { "have" } else { "has" }
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
        ] {
            assert_eq!(
                statement(given, None).map(|made| made.text).as_deref(),
                Some(wanted),
                "{given}"
            );
        }
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
        assert_eq!(fit(&"word ".repeat(40)), None);
    }
}
