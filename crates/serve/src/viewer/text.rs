//! Renders untrusted text from sessions.
//!
//! The text is escaped, and nothing in it becomes a link. Invisible characters and those that change how others are
//! displayed, such as bidi overrides, are replaced by their code points.

use std::{borrow::Cow, ops::Range};

use backstory_text::{clip, is_invisible, one_line};
use maud::{Markup, html};

/// Renders a text inline.
pub(super) fn inline_text(text: &str) -> Markup {
    marked(text, &[])
}

/// Renders a long text with its line breaks. Code between fences is preformatted.
pub(super) fn block(text: &str) -> Markup {
    let text = text.trim_matches('\n');
    let is_fence = |line: &str| line.trim_start().starts_with("```");
    if !text.lines().any(is_fence) {
        return html! { div.said { (pieces(text, &[])) } };
    }
    let mut parts: Vec<(bool, Vec<&str>)> = vec![(false, Vec::new())];
    for line in text.lines() {
        match parts.last_mut() {
            Some((is_code, _)) if is_fence(line) => {
                let is_code = !*is_code;
                parts.push((is_code, Vec::new()));
            }
            Some((_, lines)) => lines.push(line),
            None => {}
        }
    }
    parts.retain(|(_, lines)| lines.iter().any(|line| !line.trim().is_empty()));
    html! {
        div.said.parts {
            @for (is_code, lines) in &parts {
                @let text = lines.join("\n");
                @if *is_code { (verbatim(&text)) } @else { div { (pieces(text.trim_matches('\n'), &[])) } }
            }
        }
    }
}

/// Renders code, output and other preformatted text.
pub(super) fn verbatim(text: &str) -> Markup {
    html! { pre.verbatim tabindex="0" { (shown(text.trim_matches('\n'))) } }
}

/// Renders a change to a file: added and removed lines differ in color and in their sign.
pub(super) fn diff(text: &str) -> Markup {
    html! {
        pre.verbatim.diff tabindex="0" {
            @for line in text.trim_matches('\n').split('\n') {
                @match diff_class(line) {
                    Some(class) => { span class=(class) { (shown(line)) "\n" } }
                    None => { (shown(line)) "\n" }
                }
            }
        }
    }
}

/// Returns the class of an added or removed line of a diff.
fn diff_class(line: &str) -> Option<&'static str> {
    match line.bytes().next()? {
        b'+' if !line.starts_with("+++ ") => Some("added"),
        b'-' if !line.starts_with("--- ") => Some("removed"),
        _ => None,
    }
}

/// Counts the added and the removed lines of a diff.
pub(super) fn diff_size(text: &str) -> (usize, usize) {
    let count = |class| {
        text.lines()
            .filter(|line| diff_class(line) == Some(class))
            .count()
    };
    (count("added"), count("removed"))
}

/// Returns the beginning of a text for a title: its first lines in one, up to code, a diff or a log that was pasted, or to the
/// end of its first heading.
pub(super) fn opening(text: &str, max_chars: usize) -> String {
    let is_pasted = |line: &str| {
        let signs = ["```", "diff --git", "--- ", "+++ ", "@@ ", "$ ", "> "];
        signs.iter().any(|sign| line.starts_with(sign))
            || diff_class(line).is_some() && !line.starts_with("- ")
    };
    let mut lines = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.trim().is_empty());
    let heading = |line: &str| {
        let text = line.trim_start_matches('#');
        (text.len() < line.len() && text.starts_with(' ')).then(|| text.trim().to_owned())
    };
    let first = lines.next().unwrap_or_default().trim();
    let mut opening = heading(first).unwrap_or_else(|| first.to_owned());
    for line in lines {
        if heading(first).is_some() || is_pasted(line) || opening.chars().count() > max_chars {
            break;
        }
        opening.push(' ');
        if let Some(title) = heading(line.trim()) {
            opening.push_str(&title);
            break;
        }
        opening.push_str(line.trim());
    }
    single_line(&opening, max_chars)
}

/// Joins a text into one line of at most `width` characters. Invisible characters stay, and are shown when it is rendered.
pub(super) fn single_line(text: &str, width: usize) -> String {
    let start: String = text.chars().take(width * 2).collect();
    let line = start.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() > width {
        one_line(&line, width)
    } else {
        line
    }
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
    fn code_between_fences_is_preformatted() {
        assert_eq!(
            block("See `a`:\n\n```rust\nlet <b>;\n```\nDone.").into_string(),
            "<div class=\"said parts\"><div>See <code>a</code>:</div><pre class=\"verbatim\" tabindex=\"0\">let &lt;b&gt;;</pre>\
            <div>Done.</div></div>"
        );
        assert_eq!(
            block("plain\ntext").into_string(),
            "<div class=\"said\">plain\ntext</div>"
        );
    }

    #[test]
    fn a_diff_keeps_its_lines() {
        let text = "src/a.rs\n fn a() {\n-    old()\n+    <new>()\n }";
        assert_eq!(
            diff(text).into_string(),
            "<pre class=\"verbatim diff\" tabindex=\"0\">src/a.rs\n fn a() {\n\
            <span class=\"removed\">-    old()\n</span><span class=\"added\">+    &lt;new&gt;()\n</span> }\n</pre>"
        );
        assert_eq!(diff_size(text), (1, 1));
    }

    #[test]
    fn a_title_ends_where_a_diff_or_a_log_begins() {
        let ends = |text: &str| opening(text, 80);
        assert_eq!(
            ends("Why does this fail?\n\ndiff --git a/x b/x\n+y"),
            "Why does this fail?"
        );
        assert_eq!(ends("Look\n+    added()\n-    removed()"), "Look");
        assert_eq!(ends("Do this:\n- first\n- second"), "Do this: - first - second");
        assert_eq!(ends("\n  one\n two"), "one two");
        assert_eq!(
            ends("Do the plan:\n\n# Add a flag\n\n## Context\nText"),
            "Do the plan: Add a flag"
        );
        assert_eq!(ends("# Add a flag\nText"), "Add a flag");
        assert_eq!(ends("#12 is open\nagain"), "#12 is open again");
        assert_eq!(ends(""), "");
    }

    #[test]
    fn a_long_text_is_cut_at_a_word() {
        assert_eq!(clipped("one two three", 9), "one two…");
        assert_eq!(clipped("ééééé", 3), "éé…");
        assert_eq!(clipped("short", 9), "short");
    }
}
