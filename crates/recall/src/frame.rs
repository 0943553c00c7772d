//! Text from outside inside our frame: it cannot end the frame, nor pass for a word of the host.

use std::borrow::Cow;

use backstory_text::is_invisible;

/// Elements that mean something to an agent wherever they stand: our frame, those of other memories, what hosts add.
const FRAMES: [&str; 6] = [
    "backstory-context",
    "claude-mem-context",
    "claude-recall-context",
    "system-reminder",
    "task-notification",
    "private",
];

/// Elements that say who speaks. Behind a letter they are a type's parameter, as in `Vec<User>`.
const SPEAKERS: [&str; 5] = ["system", "user", "assistant", "human", "developer"];

/// Makes text safe inside the frame: such tags lose their bracket, and what nobody can see is left out. Lines stay.
pub fn escape_for_frame(text: &str) -> Cow<'_, str> {
    // Nearly every character is of the range, and telling that is quick.
    let is_plain = |c: char| c != '<' && (matches!(c, ' '..='~') || !is_control(c));
    if text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    // First what is invisible, or it could stand in the middle of a tag's name.
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

/// Controls move what is shown; some characters end a line without being its end.
fn is_control(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}') || is_invisible(c)
}

/// Says whether a bracket begins such a tag. Models are as lenient about blanks and case as browsers are.
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
    fn what_people_write_stays_as_it_is() {
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
