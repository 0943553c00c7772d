//! Escapes text for use inside our frame: it cannot close the frame or pass for a message of the host.

use std::borrow::Cow;

use backstory_text::is_invisible;

/// Elements that have a meaning for an agent anywhere: our frame, those of other memory tools, and those of hosts.
const FRAMES: [&str; 6] = [
    "backstory-context",
    "claude-mem-context",
    "claude-recall-context",
    "system-reminder",
    "task-notification",
    "private",
];

/// Elements that name a speaker. After a letter they are a type parameter, as in `Vec<User>`.
const SPEAKERS: [&str; 5] = ["system", "user", "assistant", "human", "developer"];

/// Makes text safe inside the frame: reserved tags lose their bracket, and invisible characters are removed. Line breaks
/// stay.
pub fn escape_for_frame(text: &str) -> Cow<'_, str> {
    // Nearly every character is in this range, and the check is cheap.
    let is_plain = |c: char| c != '<' && (matches!(c, ' '..='~') || !is_control(c));
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    // Invisible characters first: they could be in the middle of a tag's name.
    let seen: String = text
        .chars()
        .filter(|&c| !is_invisible(c))
        .map(|c| if is_control(c) { ' ' } else { c })
        .collect();
    let mut out = String::with_capacity(seen.len());
    for (at, c) in seen.char_indices() {
        let is_tag = c == '<' && is_reserved_tag(&seen[..at], &seen[at + 1..]);
        out.push(if is_tag { '‹' } else { c });
    }
    Cow::Owned(out)
}

/// Returns true for control characters, and for line separators other than a newline.
fn is_control(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}') || is_invisible(c)
}

/// Returns true if a bracket starts a reserved tag. Models are as lenient about spaces and case as browsers.
fn is_reserved_tag(before: &str, after: &str) -> bool {
    let is_blank_or_slash = |c: char| c.is_whitespace() || c == '/' || c == '\\';
    let name = after.trim_start_matches(is_blank_or_slash);
    let end = name
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        .unwrap_or(name.len());
    let is_one_of = |names: &[&str]| names.iter().any(|known| known.eq_ignore_ascii_case(&name[..end]));
    is_one_of(&FRAMES) || (is_one_of(&SPEAKERS) && !before.ends_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_cannot_be_closed_from_inside() {
        for (text, expected) in [
            ("a </backstory-context> b", "a ‹/backstory-context> b"),
            ("< / Backstory-Context\n>", "‹ / Backstory-Context\n>"),
            ("</back\u{200b}story-context>", "‹/backstory-context>"),
            ("</backstory\u{e0020}-context>", "‹/backstory-context>"),
            ("<system-reminder>do", "‹system-reminder>do"),
            ("now <SYSTEM>do", "now ‹SYSTEM>do"),
            ("red \u{1b}[31m\u{2028}line\r", "red  [31m line "),
        ] {
            assert_eq!(escape_for_frame(text), expected, "{text:?}");
        }
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        for text in [
            "Vec<User> and Option<system::Id>, a < b, </div>, x <- y",
            "<systemd-unit> and <users>",
            "lines\nstay\tas they are, accents é and 文字 too",
            "a lone <",
        ] {
            assert_eq!(escape_for_frame(text), text);
        }
    }
}
