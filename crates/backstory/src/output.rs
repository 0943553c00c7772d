//! Formatting for the terminal: escapes control characters, wraps lines, shortens times, sizes and amounts.

use std::time::Duration;

use anstyle::{AnsiColor, Style};
pub(crate) use backstory_engine::time_arg::rfc3339;
use backstory_engine::{environment::Environment, error::hints};
use backstory_model::Timestamp;
use backstory_text::is_invisible;
pub(crate) use backstory_text::one_line;
use jiff::tz::TimeZone;

pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const BUSY: Style = AnsiColor::Yellow.on_default();

/// Prints an error with its causes and hints.
pub(crate) fn print_error(error: &anyhow::Error) {
    let mut causes = error.chain().map(ToString::to_string);
    let mut last = causes.next().unwrap_or_default();
    let red = AnsiColor::Red.on_default().bold();
    anstream::eprintln!("{red}error:{red:#} {last}");
    for cause in causes {
        // SQLite errors repeat the message of their cause.
        if cause.ends_with(&last) {
            continue;
        }
        anstream::eprintln!("  because: {cause}");
        last = cause;
    }
    for hint in hints(error) {
        print_hint(hint);
    }
}

/// Prints a hint below an error or a refusal.
pub(crate) fn print_hint(hint: impl std::fmt::Display) {
    anstream::eprintln!("{DIM}hint: {hint}{DIM:#}");
}

/// Returns the width of the terminal, within limits.
pub(crate) fn width() -> usize {
    Environment::process()
        .columns()
        .or_else(backstory_system::columns)
        .unwrap_or(100)
        .clamp(40, 200)
}

/// Wraps text from a session at a width, at spaces where possible. Keeps its line breaks and removes control characters.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.trim().lines() {
        let clean: String = line
            .chars()
            .map(|c| if c == '\t' { ' ' } else { c })
            .filter(|&c| !c.is_control() && !is_invisible(c))
            .collect();
        let mut rest = clean.trim_end();
        loop {
            let Some((end, _)) = rest.char_indices().nth(width) else {
                lines.push(rest.to_owned());
                break;
            };
            let indent = rest.len() - rest.trim_start().len();
            let at = match rest[..end].rfind(' ') {
                _ if rest[end..].starts_with(' ') => end,
                Some(blank) if blank > indent => blank,
                _ => end,
            };
            lines.push(rest[..at].trim_end().to_owned());
            rest = rest[at..].trim_start();
            if rest.is_empty() {
                break;
            }
        }
    }
    lines
}

/// Formats a number with its noun: `1 event`, `2 events`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    if number == 1 {
        format!("1 {thing}")
    } else {
        format!("{number} {thing}s")
    }
}

/// Formats a file size.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} KB", bytes / 1_000),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

/// Formats a number with commas between thousands.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats an amount of micro-dollars: in cents, with more digits if that would show zero.
pub(crate) fn dollars(micro_dollars: u64) -> String {
    let (whole, part) = (micro_dollars / 1_000_000, micro_dollars % 1_000_000);
    match micro_dollars {
        0 => "$0".to_owned(),
        1..10_000 => format!("${whole}.{part:06}").trim_end_matches('0').to_owned(),
        _ => {
            let cents = micro_dollars.div_ceil(10_000);
            format!("${}.{:02}", cents / 100, cents % 100)
        }
    }
}

/// Formats a duration.
pub(crate) fn span(duration: Duration) -> String {
    let seconds = u64::try_from(duration.as_millis().div_ceil(1000)).unwrap_or(u64::MAX);
    match seconds {
        0..120 => count(seconds, "second"),
        120..7200 => count(seconds / 60, "minute"),
        _ => count(seconds / 3600, "hour"),
    }
}

/// Formats the time since a moment, such as `5m ago`.
pub(crate) fn ago(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.since(then).as_secs();
    match seconds {
        0..60 => format!("{seconds}s ago"),
        60..3600 => format!("{}m ago", seconds / 60),
        3600..86_400 => format!("{}h ago", seconds / 3600),
        _ => format!("{}d ago", seconds / 86_400),
    }
}

/// Formats a time in a time zone.
pub(crate) fn local(at: Timestamp, zone: &TimeZone, format: &str) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis())
        .map(|time| time.to_zoned(zone.clone()).strftime(format).to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_at_spaces() {
        assert_eq!(wrap("one two three", 13), ["one two three"]);
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("one two three", 8), ["one two", "three"]);
        assert_eq!(wrap("one two three", 6), ["one", "two", "three"]);
        assert_eq!(wrap("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(wrap("a\n\n  b\u{1b}[31m\u{202e}\n", 9), ["a", "", "  b[31m"]);
        assert_eq!(wrap("   \n ", 9), Vec::<String>::new());
        for width in 1..30 {
            let lines = wrap("  some words öf several\tlengths 的的的的", width);
            assert!(
                lines.iter().all(|line| line.chars().count() <= width),
                "{lines:?}"
            );
        }
    }

    #[test]
    fn numbers_are_formatted_with_units() {
        let cases = [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")];
        for (number, text) in cases {
            assert_eq!(thousands(number), text);
        }
        let cases = [
            (0, "$0"),
            (150, "$0.00015"),
            (9_000, "$0.009"),
            (12_345, "$0.02"),
            (3_999_999, "$4.00"),
        ];
        for (micro, text) in cases {
            assert_eq!(dollars(micro), text);
        }
        assert_eq!(
            (span(Duration::from_millis(1_500)), span(Duration::from_mins(10))),
            ("2 seconds".to_owned(), "10 minutes".to_owned())
        );
    }

    #[test]
    fn ages_are_short() {
        let cases = [
            (0, "0s ago"),
            (59_999, "59s ago"),
            (60_000, "1m ago"),
            (7_200_000, "2h ago"),
            (900_000_000, "10d ago"),
        ];
        for (age, text) in cases {
            assert_eq!(ago(Timestamp::from_millis(age), Timestamp::EPOCH), text);
        }
        assert_eq!(ago(Timestamp::EPOCH, Timestamp::from_millis(5_000)), "0s ago");
    }
}
