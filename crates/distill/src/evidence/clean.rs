//! Removes what is no text from captured text: escape sequences, control characters and text inserted by the host.

use std::borrow::Cow;

/// Elements in which hosts and their hooks wrap text that nobody in the conversation wrote.
const INSERTED: [&str; 2] = ["system-reminder", "local-command-caveat"];

/// Returns a text without escape sequences, control characters and inserted elements.
pub(super) fn clean(text: &str) -> Cow<'_, str> {
    let text = without_inserted(text);
    if !text.bytes().any(is_control) {
        return text;
    }
    Cow::Owned(without_control(&text))
}

/// Returns a prompt without what the client adds to it.
pub(super) fn clean_prompt(text: &str) -> String {
    /// Follows an approved plan that is given to a new session.
    const PLAN_NOTE: &str = "If you need specific details from before exiting plan mode";
    let text = clean(text);
    let text = text.split(PLAN_NOTE).next().unwrap_or_default();
    text.trim().to_owned()
}

fn is_control(byte: u8) -> bool {
    byte < 0x20 && !matches!(byte, b'\n' | b'\t') || byte == 0x7f
}

fn without_inserted(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if !text.contains("</") {
        return text;
    }
    for name in INSERTED {
        let (open, close) = (format!("<{name}>"), format!("</{name}>"));
        while let Some(start) = text.find(&open) {
            // Without its end it is a mention of the element.
            let Some(length) = text[start..].find(&close) else {
                break;
            };
            let end = start + length + close.len();
            let joined = [text[..start].trim_end(), &text[end..]].concat();
            text = Cow::Owned(joined);
        }
    }
    text
}

fn without_control(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => skip_escape(&mut chars),
            // A line that is drawn again over itself counts in its last form.
            '\r' if chars.peek() != Some(&'\n') && chars.peek().is_some() => {
                let line = out.rfind('\n').map_or(0, |at| at + 1);
                out.truncate(line);
            }
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.next() {
        Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
        // A title or a link: up to its terminator.
        Some(']') => {
            while let Some(c) = chars.next() {
                if c == '\u{7}' || c == '\n' {
                    break;
                }
                if c == '\u{1b}' {
                    chars.next_if_eq(&'\\');
                    break;
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_control_characters_are_removed() {
        for (text, wanted) in [
            ("\u{1b}[31mred\u{1b}[0m \u{1b}[1;32mgreen", "red green"),
            (
                "\u{1b}]8;;https://x.org\u{1b}\\link\u{1b}]8;;\u{7} end",
                "link end",
            ),
            ("10%\r50%\r100%\nnext\r\nlast", "100%\nnext\nlast"),
            ("a\u{0}b\u{7f}c\u{8}", "abc"),
            ("plain\ttext\n", "plain\ttext\n"),
        ] {
            assert_eq!(clean(text), wanted);
        }
    }

    #[test]
    fn text_inserted_by_the_host_is_removed() {
        assert_eq!(clean("a\n\n<system-reminder>\nx\n</system-reminder>b"), "ab");
        assert_eq!(clean("what is <system-reminder>?"), "what is <system-reminder>?");
    }

    #[test]
    fn a_prompt_has_no_notes_of_the_client() {
        let prompt = "Implement the plan.\n\nIf you need specific details from before exiting plan mode (like code), read x";
        assert_eq!(clean_prompt(prompt), "Implement the plan.");
    }
}
