//! What a sentence can do without: line numbers, praise, folders, labels, asides.

use super::entry::is_verb;
use super::grammar::split_outside;
use super::text::{count_names, has_any, is_outside_code};
use super::title::{MAX_TITLE, is_dangling};
use super::verbs::{self, Form};

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
            let follows = rest[number..].trim_start();
            let needed =
                opening.starts_with(" on") && (follows.starts_with("of ") || follows.starts_with("where "));
            if number > 0 && !needed {
                out.replace_range(at..at + opening.len() + number, "");
            }
        }
    }
    out
}

/// "x works (was failing before)" -> "x works".
pub(super) fn without_aside(text: &str) -> &str {
    let Some((before, aside)) = text
        .trim_end()
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once(" ("))
    else {
        return text;
    };
    let passing = has_any(
        &aside.to_lowercase(),
        "was|were|before|previously|unchanged|now|infinity|see above|as expected|new|old",
    );
    if passing && aside.len() < 60 && is_outside_code(text, before.len()) {
        before
    } else {
        text
    }
}

/// A text without its last brackets, as many as it takes to fit.
pub(super) fn without_brackets(text: &str) -> String {
    let mut out = text.to_owned();
    while out.chars().count() > MAX_TITLE {
        let Some(open) = out.rfind(" (") else { break };
        let Some(close) = out[open..].find(')') else { break };
        // "paging on (a, b)" needs its bracket.
        if !is_outside_code(&out, open) || is_dangling(&out[..open]) {
            break;
        }
        out.replace_range(open..=open + close, "");
    }
    out
}

/// " in `src/a/b.rs`": the files of a memory are listed with it, the title can do without their folders.
pub(super) fn without_place(text: &str) -> String {
    let mut out = text.to_owned();
    for opening in [" in `", " of `", " at `", " to `", " from `"] {
        let Some(at) = out.find(opening) else { continue };
        let start = at + opening.len();
        let Some(end) = out[start..].find('`').map(|end| end + start) else {
            continue;
        };
        let span = &out[start..end];
        let path = span.contains('/') && span.contains('.') && !span.contains([' ', '(']);
        if !path {
            continue;
        }
        if opening == " in `" {
            let rest = format!("{}{}", &out[..at], &out[end + 1..]);
            if count_names(&rest) > 0 && rest.split_whitespace().count() > 4 {
                out = rest;
                continue;
            }
        }
        let name = span.rsplit('/').next().unwrap_or(span).to_owned();
        out.replace_range(start..end, &name);
    }
    out
}

/// "Original case: `f(x)` returns y" and "In `a.py`: the check was wrong" say it without what stands before the colon.
pub(super) fn without_label(text: &str) -> &str {
    let Some((label, rest)) = split_outside(text, ": ").filter(|(label, _)| label.len() < 60) else {
        return text;
    };
    let place = label.starts_with("In `") && label.ends_with('`');
    let loose = count_names(label) == 0 && rest.starts_with('`') && label.split_whitespace().count() <= 4;
    let whole = rest.split_whitespace().count() > 3 && rest.split_whitespace().any(is_verb);
    if (place || loose) && whole && !label.starts_with("Fixed") {
        rest
    } else {
        text
    }
}

/// "This new format includes" -> "The new format includes": a noun follows, so the words stand alone.
pub(super) fn pointed_at(text: &str) -> Option<String> {
    let rest = text
        .strip_prefix("This ")
        .or_else(|| text.strip_prefix("These "))?;
    let mut words = rest.split_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    let vague = matches!(
        first,
        "fix"
            | "change"
            | "changes"
            | "ensures"
            | "is"
            | "was"
            | "are"
            | "were"
            | "has"
            | "have"
            | "means"
            | "can"
            | "will"
            | "should"
            | "would"
            | "does"
            | "could"
            | "happens"
            | "happened"
    );
    let noun = !vague
        && verbs::verb(first).is_none_or(|(_, form)| form == Form::Base)
        && !matches!(second, "the" | "a" | "an");
    noun.then(|| format!("The {rest}"))
}
