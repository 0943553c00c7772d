//! Formatting for the terminal: escapes control characters, wraps lines, shortens times, sizes and amounts.

use std::{
    fmt,
    io::{self, IsTerminal as _},
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use anstyle::{AnsiColor, Style};
use anyhow::Result;
pub(crate) use backstory_engine::time_arg::rfc3339;
use backstory_engine::{engine::Engine, environment::Environment, error::hints, models};
use backstory_model::{MemoryKind, ObservationType, Timestamp};
use backstory_store::MemoryRecord;
use backstory_text::is_invisible;
pub(crate) use backstory_text::one_line;
use jiff::tz::TimeZone;

use crate::process;

pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const BUSY: Style = AnsiColor::Yellow.on_default();

/// Returns the word for a memory in lists and its color: the type of an observation, else the kind.
pub(crate) fn label(record: &MemoryRecord, is_rejected: bool) -> (&'static str, Style) {
    match record.kind {
        MemoryKind::Observation if is_rejected => ("dead end", AnsiColor::Red.on_default()),
        MemoryKind::Observation => {
            let kind = record.observation_type().unwrap_or(ObservationType::Change);
            (kind.name(), type_style(kind))
        }
        MemoryKind::Summary => ("hand-over", AnsiColor::Cyan.on_default()),
        MemoryKind::Note => ("note", AnsiColor::Cyan.on_default().bold()),
        MemoryKind::Team => ("team", AnsiColor::Cyan.on_default()),
        MemoryKind::Prompt => ("prompt", DIM),
        MemoryKind::Passage => ("evidence", DIM),
    }
}

/// Width of the longest word of [`label`].
pub(crate) const LABEL_WIDTH: usize = 9;

/// Returns the color of a type.
fn type_style(kind: ObservationType) -> Style {
    match kind {
        ObservationType::Decision => AnsiColor::Magenta.on_default(),
        ObservationType::Bugfix => AnsiColor::Red.on_default(),
        ObservationType::Feature => AnsiColor::Green.on_default(),
        ObservationType::Refactor => AnsiColor::Blue.on_default(),
        ObservationType::Discovery => AnsiColor::Yellow.on_default(),
        ObservationType::Change => Style::new(),
    }
}

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
pub(crate) fn print_hint(hint: impl fmt::Display) {
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

/// False with `--no-pager`.
static HAS_PAGER: AtomicBool = AtomicBool::new(true);

/// Prints long output without a pager from here on.
pub(crate) fn turn_pager_off() {
    HAS_PAGER.store(false, Ordering::Relaxed);
}

/// Collects styled lines of a certain width: a command prints them, the picker shows them in a part of the screen.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) text: String,
    pub(crate) width: usize,
}

impl Page {
    /// Starts a page of some columns.
    pub(crate) fn new(width: usize) -> Self {
        Self {
            text: String::new(),
            width,
        }
    }

    /// Adds a line, which may contain styles.
    pub(crate) fn line(&mut self, line: impl fmt::Display) {
        self.text.push_str(&format!("{line}\n"));
    }

    /// Prints the page, through the pager of the user if it is longer than the terminal.
    pub(crate) fn print(&self, environment: &Environment) {
        let rows = ratatui_crossterm::crossterm::terminal::size().map_or(0, |(_, rows)| usize::from(rows));
        let is_long = io::stdout().is_terminal() && self.text.lines().count() >= rows;
        if !is_long || !HAS_PAGER.load(Ordering::Relaxed) || !process::run_pager(environment, &self.text) {
            anstream::print!("{}", self.text);
        }
    }

    /// Adds a field with its text wrapped next to its name.
    pub(crate) fn field(&mut self, name: &str, text: &str) {
        const NAME: usize = 13;
        for (at, line) in wrap(text, self.width.saturating_sub(NAME)).iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            self.line(format_args!("{DIM}{name:<11}{DIM:#}  {line}"));
        }
    }
}

/// Formats a number with its noun: `1 event`, `2 events`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    if number == 1 {
        format!("1 {thing}")
    } else {
        format!("{} {thing}s", thousands(number))
    }
}

/// Formats a number of memories.
pub(crate) fn memories(number: u64) -> String {
    if number == 1 {
        "1 memory".to_owned()
    } else {
        format!("{} memories", thousands(number))
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

/// Formats moments as a user reads them: by their age, and after a week by their date.
#[derive(Debug)]
pub(crate) struct Times {
    pub(crate) now: Timestamp,
    pub(crate) zone: TimeZone,
}

impl Times {
    /// Uses the clock of the engine and the time zone of the settings.
    pub(crate) fn new(engine: &Engine) -> Result<Self> {
        Ok(Self {
            now: engine.clock.timestamp(),
            zone: models::zone(&engine.checked_settings()?),
        })
    }

    /// Formats a moment in at most ten characters, such as `5m ago` or `2026-03-01`.
    pub(crate) fn ago(&self, at: Timestamp) -> String {
        self.recent(at).unwrap_or_else(|| self.day(at))
    }

    /// Formats the age of a moment within the last week.
    pub(crate) fn recent(&self, at: Timestamp) -> Option<String> {
        const RECENT: Duration = Duration::from_hours(7 * 24);
        (self.now.since(at) < RECENT).then(|| ago(self.now, at))
    }

    /// Formats a moment to the minute, with its age within the last week.
    pub(crate) fn moment(&self, at: Timestamp) -> String {
        let time = local(at, &self.zone, "%Y-%m-%d %H:%M");
        match self.recent(at) {
            Some(age) => format!("{time} ({age})"),
            None => time,
        }
    }

    /// Formats the day of a moment.
    pub(crate) fn day(&self, at: Timestamp) -> String {
        local(at, &self.zone, "%Y-%m-%d")
    }
}

/// Formats the time since a moment, such as `5m ago`.
fn ago(now: Timestamp, then: Timestamp) -> String {
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
