//! Renders untrusted text from sessions.
//!
//! The text is escaped, and nothing in it becomes a link. Invisible characters and those that change how others are
//! displayed, such as bidi overrides, are replaced by their code points.

use std::{borrow::Cow, ops::Range};

use backstory_text::{clip, is_invisible};
use maud::{Markup, html};

/// Renders a text inline.
pub(super) fn inline_text(text: &str) -> Markup {
    marked(text, &[])
}

/// Renders a long text with its line breaks.
pub(super) fn block(text: &str) -> Markup {
    html! { div.said { (pieces(text.trim_matches('\n'), &[])) } }
}

/// Renders code, output and other preformatted text.
pub(super) fn verbatim(text: &str) -> Markup {
    html! { pre.verbatim tabindex="0" { (shown(text.trim_matches('\n'))) } }
}

/// Renders a text inline with the given ranges highlighted.
pub(super) fn marked(text: &str, parts: &[Range<usize>]) -> Markup {
    html! { bdi { (pieces(text, parts)) } }
}

/// Renders a text, with spans in backticks as code.
fn pieces(text: &str, parts: &[Range<usize>]) -> Markup {
    html! {
        @for (range, is_code) in split_code(text) {
            @if is_code { code { (with_marks(text, range, parts)) } } @else { (with_marks(text, range, parts)) }
        }
    }
}

/// Splits a text into code spans (between backticks on one line) and the rest, without the backticks.
fn split_code(text: &str) -> Vec<(Range<usize>, bool)> {
    let mut pieces = Vec::new();
    let (mut from, mut at) = (0, 0);
    while let Some(open) = text[at..].find('`').map(|open| at + open) {
        let inside = open + 1;
        let close = text[inside..].find(['`', '\n']).map(|close| inside + close);
        match close {
            // Longer runs of backticks fence code blocks and stay as they are.
            Some(close) if close > inside && text[close..].starts_with('`') => {
                pieces.push((from..open, false));
                pieces.push((inside..close, true));
                from = close + 1;
                at = from;
            }
            _ => {
                let run = text[open..].find(|c| c != '`').unwrap_or(text.len() - open);
                at = open + run;
            }
        }
    }
    pieces.push((from..text.len(), false));
    pieces
}

/// Renders a piece of a text with the overlapping ranges highlighted.
fn with_marks(text: &str, piece: Range<usize>, parts: &[Range<usize>]) -> Markup {
    let inside: Vec<Range<usize>> = parts
        .iter()
        .map(|part| part.start.max(piece.start)..part.end.min(piece.end))
        .filter(|part| part.start < part.end)
        .collect();
    let ends = std::iter::once(piece.start).chain(inside.iter().map(|part| part.end));
    let last = inside.last().map_or(piece.start, |part| part.end);
    let get = |range: Range<usize>| shown(text.get(range).unwrap_or_default());
    html! {
        @for (from, part) in ends.zip(&inside) {
            (get(from..part.start))
            mark { (get(part.clone())) }
        }
        (get(last..piece.end))
    }
}

/// Shortens a text to at most `max_chars` characters and ten lines.
pub(super) fn clipped(text: &str, max_chars: usize) -> Cow<'_, str> {
    const MAX_LINES: usize = 10;
    let end = text.match_indices('\n').nth(MAX_LINES - 1);
    clip(&text[..end.map_or(text.len(), |(at, _)| at)], max_chars)
}

/// Returns whether a character is invisible or changes how others are displayed.
fn is_hidden(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\n' | '\t' | '\r');
    is_control
        || is_invisible(c)
        || matches!(
            c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}'
        )
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether a zero-width joiner or non-joiner is between non-ASCII characters, as in emoji and some scripts.
fn joins(text: &str, at: usize, c: char) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + c.len_utf8()..].chars().next();
    let is_non_ascii = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && !is_hidden(c));
    matches!(c, '\u{200c}' | '\u{200d}') && is_non_ascii(before) && is_non_ascii(after)
}

fn shown(text: &str) -> Markup {
    let hidden: Vec<(usize, char)> = text
        .char_indices()
        .filter(|(at, c)| is_hidden(*c) && !joins(text, *at, *c))
        .collect();
    let end = |&(at, c): &(usize, char)| at + c.len_utf8();
    let last = hidden.last().map_or(0, end);
    html! {
        @for (from, (at, c)) in std::iter::once(0).chain(hidden.iter().map(end)).zip(&hidden) {
            (&text[from..*at])
            span.hidden-sign title="invisible character" { (format!("U+{:04X}", u32::from(*c))) }
        }
        (&text[last..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_escaped_and_invisible_characters_are_named() {
        assert_eq!(
            inline_text("<script>alert(1)</script> & \"x\"").into_string(),
            "<bdi>&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;x&quot;</bdi>"
        );
        let tricks = inline_text("a\u{202e}b\u{7}c\u{e0041}").into_string();
        assert!(!tricks.contains(['\u{202e}', '\u{7}', '\u{e0041}']), "{tricks}");
        for name in ["U+202E", "U+0007", "U+E0041"] {
            assert!(tricks.contains(name), "{tricks}");
        }
    }

    #[test]
    fn a_joiner_inside_an_emoji_stays() {
        let family = "👩\u{200d}👧";
        assert!(inline_text(family).into_string().contains(family));
        assert!(inline_text("a\u{200d}b").into_string().contains("U+200D"));
    }

    #[test]
    fn ranges_are_highlighted() {
        assert_eq!(
            marked("a <b> c", std::slice::from_ref(&(2..5))).into_string(),
            "<bdi>a <mark>&lt;b&gt;</mark> c</bdi>"
        );
    }

    #[test]
    fn spans_in_backticks_become_code() {
        let show = |text: &str| inline_text(text).into_string();
        assert_eq!(show("a `<b>` c"), "<bdi>a <code>&lt;b&gt;</code> c</bdi>");
        for plain in ["a ` b", "```\nx\n```", "``", "`a\nb`"] {
            assert_eq!(show(plain), format!("<bdi>{plain}</bdi>"));
        }
        assert_eq!(
            marked("x `one two` y", std::slice::from_ref(&(3..6))).into_string(),
            "<bdi>x <code><mark>one</mark> two</code> y</bdi>"
        );
    }

    #[test]
    fn a_long_text_is_cut_at_a_word() {
        assert_eq!(clipped("one two three", 9), "one two…");
        assert_eq!(clipped("ééééé", 3), "éé…");
        assert_eq!(clipped("short", 9), "short");
    }
}
