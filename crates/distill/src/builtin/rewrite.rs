//! The safe rewrites of a report into a statement: of changes, of effects, of passives.

use super::complaint;
use super::grammar::{acts, bare, be, have, is_finite, is_plural, split_at_verb, split_outside};
use super::text::{count_names, is_outside_code, lower_first, sentence_case, starts_with_any};
use super::verbs::{self, Form};

/// "Updated X to return Y", "Added X to Y", "Replaced X with Y", in the past or the imperative.
pub(super) fn from_change(text: &str, subject: Option<&str>) -> Option<(String, u8)> {
    let (first, rest) = text.split_once(' ')?;
    let (base, form) = verbs::verb(first)?;
    if !verbs::is_change(base) || !matches!(form, Form::Past | Form::Base) || first.starts_with('`') {
        return None;
    }
    let rest = rest.trim_start();
    if base == "change"
        && let Some((old, new)) = without_line(rest)
            .strip_prefix("from ")
            .and_then(|pair| split_outside(pair, " to "))
        && old.starts_with('`')
        && new.starts_with('`')
    {
        let what = subject
            .map(|subject| format!("{}: ", bare(subject)))
            .unwrap_or_default();
        return Some((format!("{what}{old} became {new}"), 46));
    }
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
    if let Some((object, reason)) = split_at_verb(rest)
        && matches!(base, "change" | "switch" | "update" | "convert")
        && let Some((old, new)) = split_outside(object, " to ")
    {
        let verb = if is_plural(new) { "replace" } else { "replaces" };
        return Some((format!("{} {verb} {} to {reason}", bare(new), bare(old)), 70));
    }
    if let Some((object, tail)) = split_at_verb(rest)
        && !matches!(base, "rename" | "move" | "convert" | "migrate")
        && let Some(made) = acts(object, tail)
    {
        return Some((made, 80));
    }
    special(base, rest).or_else(|| Some((format!("{} {rest}", sentence_case(&verbs::past(base))), 50)))
}

/// "line 22 from a to b" -> "from a to b".
fn without_line(text: &str) -> &str {
    let rest = text.strip_prefix("line ").or_else(|| text.strip_prefix("lines "));
    rest.map_or(text, |rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '–'))
            .trim_start()
    })
}

/// "the bug by adding x to y" -> "y has x": what was done says more than that it was done.
fn by_doing(rest: &str) -> Option<(String, u8)> {
    let (what, deed) = split_outside(rest, " by ")?;
    let (word, tail) = deed.split_once(' ')?;
    let (base, form) = verbs::verb(word)?;
    let vague = matches!(
        bare(what).as_str(),
        "bug" | "issue" | "problem" | "this" | "it" | "this bug" | "this issue"
    );
    (vague && form == Form::Gerund && verbs::is_change(base))
        .then(|| from_change(&format!("{} {tail}", verbs::past(base)), None))
        .flatten()
}

/// Changes that have a plain way to be said as a state.
fn special(base: &str, rest: &str) -> Option<(String, u8)> {
    match base {
        "fix" | "resolve" | "correct" if by_doing(rest).is_some() => by_doing(rest),
        "fix" | "resolve" | "correct" => complaint::fixed(rest).map(|made| (made, 78)),
        "add" | "introduce" | "implement" => {
            if let Some(thing) = rest.strip_prefix("support for ") {
                return Some((format!("{} {} supported", bare(thing), be(thing)), 75));
            }
            let (thing, place) = split_outside(rest, " to ")?;
            let short =
                place.split_whitespace().count() <= 5 && !place.contains(',') && count_names(place) > 0;
            let last = thing.rsplit(' ').next().unwrap_or_default();
            // "a flag initialized to False" is no addition to False.
            let bound = last.ends_with("ed")
                || matches!(
                    last,
                    "similar"
                        | "equal"
                        | "due"
                        | "access"
                        | "calls"
                        | "set"
                        | "related"
                        | "changes"
                        | "according"
                        | "reference"
                );
            let short = short && !bound;
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
            let what = [" method", " Method", " function", " Function", " class", " Class"]
                .iter()
                .fold(what, |what, noun| what.strip_suffix(noun).unwrap_or(what));
            let state = state.to_lowercase();
            let named = what.ends_with('`') || what.ends_with("()");
            (named && state.chars().all(char::is_alphabetic))
                .then(|| (format!("{} {} {state}", bare(what), be(what)), 72))
        }
        _ => None,
    }
}

/// "This ensures that X" -> "X"; "This allows X to do Y" -> "X can do Y".
pub(super) fn from_effect(text: &str) -> Option<(String, u8)> {
    let lower = text.to_lowercase();
    for opening in EFFECTS.split('|') {
        if lower.starts_with(opening) {
            let rest = text.get(opening.len()..)?.trim_start();
            let rest = rest.strip_prefix("that ").unwrap_or(rest);
            if !rest.split_whitespace().any(is_finite) {
                return None;
            }
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
    if starts_with_any(
        &lower,
        "found the issue|found the bug|found the problem|found the root cause|the issue was in|the issue is in|the bug was in|the bug is in|the problem is in|the problem was in",
    ) && let Some((_, cause)) = split_outside(text, " where ")
    {
        return Some((cause.to_owned(), 45));
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
    "this happened because |this happens because |this occurs because |this was because |this occurred because |the issue was that |the issue is that |the problem was that |the problem is that |",
    "the bug was that |the bug is that |the root cause was that |the root cause is that |",
    "the root cause is clear: |the bug is clear: |the cause is that |it turns out that |",
    "it turns out |turns out |i found that |found that |note that |the reason is that |",
    "the real issue is that |the actual issue is that |discovered that |this is because |",
    "the error is because ",
);

/// "X has been changed to return Y" -> "X returns Y"; "X has been removed" -> "X is removed".
pub(super) fn from_passive(text: &str) -> Option<(String, u8)> {
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

/// A sentence without "now": a title says what is so.
pub(super) fn without_now(text: &str) -> String {
    for (from, to) in [
        (" - now ", " is "),
        (" – now ", " is "),
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
            let plain = format!("{}{to}{}", &text[..at], &text[at + from.len()..]);
            return plain
                .replacen(" are being ", " are ", 1)
                .replacen(" is being ", " is ", 1);
        }
    }
    without_late_now(text)
}

/// "Mails are sent once now, in order" -> "Mails are sent once, in order".
fn without_late_now(text: &str) -> String {
    let late = text.match_indices(" now").map(|(at, _)| at).find(|&at| {
        let after = &text[at + 4..];
        let before = text[..at].rsplit(' ').next().unwrap_or_default();
        is_outside_code(text, at)
            && (after.is_empty() || after.starts_with([',', ';', ':', '.']))
            && !matches!(
                before,
                "for" | "from" | "until" | "till" | "right" | "by" | "even" | "just" | "then"
            )
    });
    late.map_or_else(
        || text.to_owned(),
        |at| format!("{}{}", &text[..at], &text[at + 4..]),
    )
}
