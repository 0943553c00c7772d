//! As much grammar as titles need: subjects, plurals, and a verb that agrees.

use super::text::{count_names, is_name, is_outside_code};
use super::verbs::{self, Form};

/// "X" and "return Y" -> "X returns Y".
pub(super) fn acts(subject: &str, tail: &str) -> Option<String> {
    let (word, rest) = tail.split_once(' ').unwrap_or((tail, ""));
    let negated = word == "not";
    let (adverb, word, rest) = match (word, rest.split_once(' ')) {
        ("only" | "also" | "always" | "never" | "first", Some((next, tail))) => {
            (format!("{word} "), next, tail)
        }
        _ => (String::new(), word, rest),
    };
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
    let rest = if plural || negated {
        rest.to_owned()
    } else {
        agree(rest)
    };
    Some(format!("{subject} {adverb}{verb} {rest}").trim_end().to_owned())
}

/// "checks x and raise an error" -> "checks x and raises an error".
fn agree(rest: &str) -> String {
    let Some((first, tail)) = split_outside(rest, " and ") else {
        return rest.to_owned();
    };
    let (word, after) = tail.split_once(' ').unwrap_or((tail, ""));
    let object = after.starts_with("a ")
        || after.starts_with("an ")
        || after.starts_with("the ")
        || after.starts_with('`');
    match verbs::verb(word) {
        Some((base, Form::Base)) if object => format!("{first} and {} {after}", verbs::third(base)),
        _ => rest.to_owned(),
    }
}

/// Splits "X to return Y" at the "to" that is followed by a verb.
pub(super) fn split_at_verb(text: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find(" to ").map(|at| at + from) {
        let tail = &text[at + 4..];
        let word = tail.split_whitespace().next().unwrap_or_default();
        let word = match (word, tail.split_whitespace().nth(1)) {
            ("only" | "also" | "always" | "never" | "first", Some(next)) => next,
            _ => word,
        };
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

/// A noun phrase without its article.
pub(super) fn bare(phrase: &str) -> String {
    let phrase = phrase.trim().trim_end_matches(',');
    // "`a/b.py` in the `load` method": the method is meant.
    let phrase = match split_outside(phrase, " in the ") {
        Some((file, thing))
            if file.starts_with('`')
                && file.contains('/')
                && !file.contains(' ')
                && thing.starts_with('`') =>
        {
            thing
        }
        _ => phrase,
    };
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

pub(super) fn be(phrase: &str) -> &'static str {
    if is_plural(phrase) { "are" } else { "is" }
}

pub(super) fn have(phrase: &str) -> &'static str {
    if is_plural(phrase) { "have" } else { "has" }
}

/// Whether a word is a verb that can carry a sentence: is, returns, returned.
pub(super) fn is_finite(word: &str) -> bool {
    matches!(
        word,
        "is" | "was"
            | "are"
            | "were"
            | "has"
            | "had"
            | "does"
            | "did"
            | "can"
            | "will"
            | "would"
            | "should"
            | "didn't"
            | "doesn't"
    ) || (!is_name(word)
        && verbs::verb(word).is_some_and(|(_, form)| matches!(form, Form::Third | Form::Past)))
}
