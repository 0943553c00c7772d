//! Decides which part of a long string is kept.
//!
//! Works on the inside of a JSON string in its escaped form and never cuts through an escape. The start of an output
//! shows what was run and its end shows the error: both are kept and the middle is dropped.

use std::ops::Range;

use backstory_text::scan;

/// The decision about a string.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TrimDecision {
    /// Keep all of it.
    Keep,
    /// Drop it: images and other encoded bytes.
    Encoded,
    /// Drop this range.
    CutOut(Range<usize>),
}

/// The length from which a string is tested for encoded bytes.
const ENCODED_FROM: usize = 1024;

/// Decides about a string that may be `limit` bytes long.
pub(crate) fn decide_trim(text: &str, limit: usize) -> TrimDecision {
    if text.len() > ENCODED_FROM && is_encoded(text.as_bytes()) {
        return TrimDecision::Encoded;
    }
    if text.len() <= limit {
        return TrimDecision::Keep;
    }
    let tail = limit * 3 / 8;
    let start = line_end_before(text, boundary_from(text, limit - tail));
    let end = line_start_after(text, boundary_from(text, text.len() - tail));
    TrimDecision::CutOut(start..end)
}

/// Recognizes base64, hex and data URLs: one long word of a small alphabet.
fn is_encoded(bytes: &[u8]) -> bool {
    // Line breaks are allowed in the escaped form only: MIME wraps base64 at 76 characters.
    let in_alphabet = |&b: &u8| {
        b.is_ascii_alphanumeric()
            || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-' | b'\\' | b':' | b';' | b',')
    };
    let sample = &bytes[..256];
    if !sample.iter().all(in_alphabet) || !bytes.iter().all(in_alphabet) {
        return false;
    }
    // Paths, lists and identifiers pass the alphabet too, but have a separator every few characters.
    let separators = |b: &&u8| matches!(b, b'/' | b'_' | b'-' | b':' | b';' | b',');
    bytes.iter().filter(separators).count() * 16 < bytes.len()
}

/// Returns the first position from `at` on at which the string can be cut.
pub(crate) fn boundary_from(text: &str, at: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = at.min(bytes.len());
    while !text.is_char_boundary(at) {
        at += 1;
    }
    // The longest escape has six characters, so one that covers `at` starts at most five characters before.
    let wanted = at;
    for start in wanted.saturating_sub(5)..wanted {
        if bytes[start] == b'\\' && starts_escape(bytes, start) {
            let length = if bytes.get(start + 1) == Some(&b'u') { 6 } else { 2 };
            at = at.max((start + length).min(bytes.len()));
        }
    }
    // The second half of a surrogate pair stays with the first.
    match bytes.get(at..at + 4) {
        Some([b'\\', b'u', b'd' | b'D', b'c'..=b'f' | b'C'..=b'F']) => (at + 6).min(bytes.len()),
        _ => at,
    }
}

/// Reports whether the backslash at `at` starts an escape rather than being escaped itself.
fn starts_escape(bytes: &[u8], at: usize) -> bool {
    bytes[..at].iter().rev().take_while(|&&b| b == b'\\').count() % 2 == 0
}

/// The distance that a cut may move to fall between two lines, in bytes.
const LINE_REACH: usize = 512;

fn line_end_before(text: &str, at: usize) -> usize {
    let from = at.saturating_sub(LINE_REACH);
    let window = &text.as_bytes()[from..at];
    let found = window
        .windows(2)
        .rposition(|pair| pair == b"\\n")
        .map(|found| from + found);
    found
        .filter(|&newline| starts_escape(text.as_bytes(), newline))
        .unwrap_or(at)
}

fn line_start_after(text: &str, at: usize) -> usize {
    let window = &text.as_bytes()[at..text.len().min(at + LINE_REACH)];
    let found = scan::find(window, b"\\n").map(|found| at + found);
    found
        .filter(|&newline| starts_escape(text.as_bytes(), newline))
        .map_or(at, |newline| newline + 2)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_middle_of_a_long_output_is_dropped() {
        let text = "a line\\n".repeat(1000);
        let TrimDecision::CutOut(range) = decide_trim(&text, 800) else {
            panic!("kept")
        };
        assert!(text[..range.start].ends_with("a line") && text[range.end..].starts_with("a line"));
        assert!(range.start <= 500 && text.len() - range.end <= 300);
        assert_eq!(decide_trim(&text, 8000), TrimDecision::Keep);
    }

    #[test]
    fn encoded_bytes_are_told_from_text() {
        let base64 = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ".repeat(60);
        assert_eq!(decide_trim(&base64, 100_000), TrimDecision::Encoded);
        assert_eq!(
            decide_trim(&format!("data:image/png;base64,{base64}"), 100_000),
            TrimDecision::Encoded
        );
        assert_eq!(
            decide_trim(&"deadbeef".repeat(300), 100_000),
            TrimDecision::Encoded
        );
        assert_eq!(
            decide_trim(&"fn main() { println!(); } ".repeat(100), 100_000),
            TrimDecision::Keep
        );
        assert_eq!(
            decide_trim(&"src/lib.rs/src/main.rs:".repeat(100), 100_000),
            TrimDecision::Keep
        );
        assert_eq!(
            decide_trim(&"some_long_identifier_".repeat(100), 100_000),
            TrimDecision::Keep
        );
        assert_eq!(
            decide_trim(&"iVBORw0KGgo".repeat(10), 100_000),
            TrimDecision::Keep
        );
    }

    proptest! {
        #[test]
        fn the_kept_parts_are_valid_json_strings(text in any::<String>(), more in "[a-z\\\\\\n\u{1}😀\"]{0,80}", limit in 8usize..60) {
            let json = serde_json::to_string(&format!("{text}{more}")).unwrap().replace('😀', "\\ud83d\\ude00");
            let inside = &json[1..json.len() - 1];
            if let TrimDecision::CutOut(range) = decide_trim(inside, limit) {
                prop_assert!(range.start <= range.end);
                for part in [&inside[..range.start], &inside[range.end..]] {
                    prop_assert!(serde_json::from_str::<String>(&format!("\"{part}\"")).is_ok(), "{}", part);
                }
            }
        }
    }
}
