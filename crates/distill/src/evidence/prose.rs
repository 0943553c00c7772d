//! Finds the intent of an action: the last sentence of the agent's prose before it.

use super::text::cut;

/// The longest intent, in bytes.
const MAX_INTENT: usize = 300;

/// Returns the last sentence of a text.
pub(super) fn last_sentence(text: &str) -> Option<String> {
    let mut in_code = false;
    let mut last = None;
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            in_code = !in_code;
        } else if !in_code && line.chars().any(char::is_alphanumeric) {
            last = Some(line);
        }
    }
    let line = last?.trim_start_matches(['-', '*', '#', '>', ' ']);
    let mut start = 0;
    let bytes = line.as_bytes();
    for (at, pair) in bytes.windows(2).enumerate() {
        let is_end = matches!(pair[0], b'.' | b'!' | b'?') && pair[1] == b' ';
        let follows = bytes.get(at + 2).is_some_and(|next| !next.is_ascii_lowercase());
        if is_end && follows && line[at + 2..].chars().filter(|c| c.is_alphanumeric()).count() > 8 {
            start = at + 2;
        }
    }
    let sentence = line.get(start..).unwrap_or(line).trim();
    (!sentence.is_empty()).then(|| cut(sentence, MAX_INTENT).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_sentence_is_the_intent() {
        for (text, wanted) in [
            (
                "Found it. Now let me run the tests:",
                Some("Now let me run the tests:"),
            ),
            (
                "One thing.\n\n- **Fix** `a.rs` e.g. the parser\n",
                Some("Fix** `a.rs` e.g. the parser"),
            ),
            ("Look:\n```\ncode here.\n```", Some("Look:")),
            ("…", None),
        ] {
            assert_eq!(last_sentence(text).as_deref(), wanted, "{text}");
        }
    }
}
