//! Normalizes an error line to a key that is equal for the same failure in another run, folder or machine.

/// Returns the signature of an error line: a key to compare, not a text to show.
///
/// It is in lower case, without numbers, timings, addresses, hashes and folders, and with one kind of quote. Names stay,
/// also quoted ones: `no such table: users` and `no such table: orders` are two failures.
pub fn error_signature(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let line = without_colors(line);
    let mut after_number = false;
    for word in line.split_whitespace() {
        let word = file_name(word);
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_unit = after_number && UNITS.contains(&bare.to_ascii_lowercase().as_str());
        after_number = is_number(bare);
        if after_number || is_unit || is_hash(bare) {
            continue;
        }
        let start = out.len();
        push_normalized(word, &mut out);
        if out.len() > start {
            out.push(' ');
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Units of time and size that may follow a number, attached or as the next word.
const UNITS: [&str; 28] = [
    "ns",
    "us",
    "µs",
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "m",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hour",
    "hours",
    "milliseconds",
    "millisecond",
    "b",
    "kb",
    "kib",
    "mb",
    "mib",
    "gb",
    "gib",
    "byte",
    "bytes",
];

/// Drops terminal color sequences and other control characters.
fn without_colors(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => while chars.next().is_some_and(|c| !c.is_ascii_alphabetic()) {},
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// Returns the last component of a path; other words are returned unchanged.
fn file_name(word: &str) -> &str {
    let is_separator = |c: char| c == '/' || c == '\\';
    let is_path = word.matches(is_separator).count() > 1
        || (word.contains(is_separator) && word.contains('.') && !word.contains("//"));
    if !is_path {
        return word;
    }
    let word = word.trim_end_matches(is_separator);
    word.rsplit(is_separator).next().unwrap_or(word)
}

/// Recognizes numbers, also with a unit, as a version, address, date, time, range or position.
fn is_number(word: &str) -> bool {
    let word = word.strip_prefix('v').unwrap_or(word);
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return false;
    }
    let is_part = |c: char| c.is_ascii_digit() || ".,:-+/%_TZ".contains(c);
    let rest = word.trim_start_matches(is_part);
    rest.is_empty() || UNITS.contains(&rest.to_ascii_lowercase().as_str())
}

/// Recognizes hexadecimal addresses, commit hashes and UUIDs.
fn is_hash(word: &str) -> bool {
    const MIN_LEN: usize = 7;
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-') && !digits.is_empty();
    // "defaced" is a word: a hash has a digit.
    is_hex
        && (digits.len() < word.len() || (word.len() >= MIN_LEN && word.bytes().any(|b| b.is_ascii_digit())))
}

/// Recognizes error codes such as `E0308`, `TS2322` or `error[E0308]`, whose digits are part of the name.
fn is_error_code(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let code = word.rsplit('[').next().unwrap_or_default();
    let digits = code.trim_start_matches(|c: char| c.is_ascii_uppercase());
    let letters = code.len() - digits.len();
    (1..=5).contains(&letters)
        && (3..=5).contains(&digits.len())
        && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Appends the letters of a word in lower case, its digits if it is an error code, and punctuation that structures a
/// message.
fn push_normalized(word: &str, out: &mut String) {
    let keeps_digits = is_error_code(word);
    for c in word.chars() {
        let c = if matches!(c, '"' | '`' | '‘' | '’' | '“' | '”') {
            '\''
        } else {
            c
        };
        if c.is_alphabetic() || c == '_' || (keeps_digits && c.is_ascii_digit()) {
            out.extend(c.to_lowercase());
        } else if ":'[].".contains(c) && !out.ends_with(c) && !out.is_empty() {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_elsewhere_has_the_same_signature() {
        for (one, other) in [
            (
                "/home/a/app/src/db.py:12: OperationalError: database is locked after 5s",
                "/srv/x/y/db.py:340: OperationalError: database is locked after 30 ms",
            ),
            (
                "thread 'main' panicked at src/lib.rs:10:5: index out of bounds: the len is 3 but the index is 7",
                "\u{1b}[31mthread `main` panicked at src/lib.rs:99:17: index out of bounds: the len is 12 but the index is 40",
            ),
            (
                "error: connect to 127.0.0.1:5432 refused (request 6f1c2d3e-aaaa-bbbb-cccc-1234567890ab)",
                "error: connect to 10.0.0.7:5433 refused (request 0f0f0f0f-0000-4aaa-8bbb-ba0987654321)",
            ),
            ("fatal: bad object 3f2a9c1", "fatal: bad object 9d1f06b"),
            ("segfault at 0x7ffee3 in worker17", "segfault at 0x10 in worker3"),
            (
                "C:\\work\\a\\b.py: ValueError: x",
                "/srv/work/b.py: ValueError: x",
            ),
        ] {
            assert_eq!(error_signature(one), error_signature(other));
            assert!(!error_signature(one).is_empty());
        }
    }

    #[test]
    fn different_failures_have_different_signatures() {
        for (one, other) in [
            (
                "OperationalError: no such table: users",
                "OperationalError: no such table: orders",
            ),
            ("error[E0308]: mismatched types", "error[E0277]: mismatched types"),
            ("Cannot find module 'left'", "Cannot find module 'right'"),
            (
                "error TS2322: Type is not assignable",
                "error TS2345: Type is not assignable",
            ),
        ] {
            assert_ne!(error_signature(one), error_signature(other));
        }
    }
}
