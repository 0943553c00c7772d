//! Names of code in running text: `snake_case`, `CamelCase`, `a.b`, paths, flags, code spans.

/// Reports whether a word is a name of code.
pub(crate) fn is_name(word: &str) -> bool {
    let word = word
        .trim_matches(|c: char| matches!(c, ',' | ';' | ':' | '!' | '?' | '"' | '\'' | '“' | '”'))
        .trim_start_matches('(')
        .trim_end_matches('.');
    if word.starts_with('`')
        || word.ends_with("()")
        || (word.len() > 2 && word.ends_with('/'))
        || (word.starts_with("--") && word.len() > 3)
    {
        return true;
    }
    if matches!(word, "e.g" | "i.e" | "etc") {
        return false;
    }
    let word = word.trim_end_matches(')');
    if !word.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | '/' | '.' | '@' | '~')) {
        return is_issue_number(word);
    }
    if word.contains('_') || word.contains("::") || word.ends_with('(') {
        return true;
    }
    let mut lower_seen = false;
    let mut before = ' ';
    for c in word.chars() {
        if c.is_uppercase() && lower_seen {
            return true;
        }
        if c.is_alphanumeric() && (before == '.' || (before == '/' && word.contains('.'))) {
            return true;
        }
        lower_seen |= c.is_lowercase();
        before = c;
    }
    is_ticket(word) || is_acronym(word)
}

/// `LSP`, `JSON`; not a word in capitals for emphasis.
fn is_acronym(word: &str) -> bool {
    (3..=5).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_uppercase())
        && !EMPHASIZED.contains(&word)
}

const EMPHASIZED: &[&str] = &[
    "ALL", "AND", "ANY", "BOTH", "BUT", "DO", "EACH", "EVEN", "FAIL", "FIX", "FOR", "GOOD", "HIGH", "LOW",
    "MUST", "NEVER", "NEW", "NO", "NONE", "NOT", "NOTE", "NOW", "OLD", "ONE", "ONLY", "PASS", "SAME", "SKIP",
    "STILL", "THE", "TODO", "TRUE", "WILL", "WITH", "YES", "YOUR",
];

/// `#185`
fn is_issue_number(word: &str) -> bool {
    word.strip_prefix('#')
        .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// `ENT-221`
fn is_ticket(word: &str) -> bool {
    word.split_once('-').is_some_and(|(team, number)| {
        team.len() >= 2
            && team.bytes().all(|b| b.is_ascii_uppercase())
            && !number.is_empty()
            && number.bytes().all(|b| b.is_ascii_digit())
    })
}

/// Counts the names of code in a text: code spans, and names outside of them.
pub(crate) fn count_names(text: &str) -> usize {
    let spans = text.bytes().filter(|b| *b == b'`').count() / 2;
    let bare = text
        .split('`')
        .step_by(2)
        .flat_map(str::split_whitespace)
        .filter(|word| is_name(word))
        .count();
    spans + bare
}

/// Reports whether a byte position is outside of code spans.
pub(crate) fn is_outside_code(text: &str, at: usize) -> bool {
    text.as_bytes()[..at]
        .iter()
        .filter(|byte| **byte == b'`')
        .count()
        .is_multiple_of(2)
}

/// Returns the text without its code spans.
pub(crate) fn outside_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join("`")
}

/// Formats a text as a code span; backticks inside it become quotes.
pub(crate) fn code(text: &str) -> String {
    format!("`{}`", text.trim().replace('`', "'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_from_ordinary_words() {
        for name in [
            "snake_case",
            "CamelCase",
            "a.b",
            "src/main.rs",
            "std::fs",
            "parse()",
            "--json",
            "`x`",
            "__init__",
            "#185",
            "ENT-221",
            "LSP",
        ] {
            assert!(is_name(name), "{name}");
        }
        for word in [
            "word",
            "Word",
            "e.g.",
            "end.",
            "and/or",
            "-",
            "3.4",
            "I",
            "#",
            "well-known",
            "NOT",
        ] {
            assert!(!is_name(word), "{word}");
        }
    }
}
