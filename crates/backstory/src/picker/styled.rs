//! Turns lines with the styles of `output` into lines of the screen.
//!
//! The pages of commands are the only source, so all escapes are those of `anstyle`; anything else is dropped.

use ratatui_core::{
    style::{Color, Modifier, Style},
    text::{Line, Span},
};

/// Reads lines with escapes.
pub(super) fn lines(text: &str) -> Vec<Line<'static>> {
    text.lines().map(line).collect()
}

fn line(text: &str) -> Line<'static> {
    let mut spans = Vec::new();
    let mut style = Style::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\x1b[") {
        push(&mut spans, before, style);
        let Some((codes, after)) = after.split_once('m') else {
            rest = "";
            break;
        };
        style = codes.split(';').fold(style, apply);
        rest = after;
    }
    push(&mut spans, rest, style);
    Line::from(spans)
}

fn push(spans: &mut Vec<Span<'static>>, text: &str, style: Style) {
    if !text.is_empty() {
        spans.push(Span::styled(text.to_owned(), style));
    }
}

fn apply(style: Style, code: &str) -> Style {
    match code {
        "" | "0" => Style::new(),
        "1" => style.add_modifier(Modifier::BOLD),
        "2" => style.add_modifier(Modifier::DIM),
        "31" => style.fg(Color::Red),
        "32" => style.fg(Color::Green),
        "33" => style.fg(Color::Yellow),
        "34" => style.fg(Color::Blue),
        "35" => style.fg(Color::Magenta),
        "36" => style.fg(Color::Cyan),
        _ => style,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{BAD, DIM};

    #[test]
    fn styles_of_a_page_become_styles_of_the_screen() {
        let read = lines(&format!("{DIM}age{DIM:#} {BAD}failed{BAD:#}\nplain"));
        assert_eq!(
            read,
            [
                Line::from(vec![
                    Span::styled("age", Style::new().add_modifier(Modifier::DIM)),
                    Span::raw(" "),
                    Span::styled("failed", Style::new().fg(Color::Red)),
                ]),
                Line::from("plain"),
            ]
        );
        assert_eq!(lines("a\x1b[2Jb\x1b["), [Line::from("a")]);
    }
}
