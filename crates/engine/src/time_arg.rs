//! Points in time as users type them: a date, a time, or an age such as `7d`.

use std::time::Duration;

use backstory_model::Timestamp;
use jiff::{civil::DateTime, tz::TimeZone};

/// Point in time as typed, before the current time and the time zone are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeArg {
    /// Time with a known zone.
    At(Timestamp),
    /// Age relative to the current time.
    Ago(Duration),
    /// Local time in the time zone of the settings. A date stands for its start.
    Local(DateTime),
}

impl TimeArg {
    /// Returns the point in time.
    pub fn timestamp(self, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, jiff::Error> {
        match self {
            Self::At(at) => Ok(at),
            Self::Ago(age) => Ok(now - age),
            Self::Local(time) => {
                let at = time.to_zoned(zone.clone())?.timestamp();
                Ok(Timestamp::from_millis(at.as_millisecond()))
            }
        }
    }
}

/// Parses a point in time.
pub fn parse_time_arg(text: &str) -> Result<TimeArg, String> {
    parse(text).ok_or_else(|| "write 2026-03-01, 2026-03-01T12:00:00Z, or an age: 12h, 7d, 4w".to_owned())
}

fn parse(text: &str) -> Option<TimeArg> {
    let text = text.trim();
    if let Some(age) = parse_age(text) {
        return Some(TimeArg::Ago(age));
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(TimeArg::At(Timestamp::from_millis(time.as_millisecond())));
    }
    text.parse().ok().map(TimeArg::Local)
}

fn parse_age(text: &str) -> Option<Duration> {
    const HOUR: Duration = Duration::from_hours(1);
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u32 = digits.parse().ok().filter(|number| *number < 100_000)?;
    let unit = match &text[digits.len()..] {
        "h" => HOUR,
        "d" => 24 * HOUR,
        "w" => 7 * 24 * HOUR,
        _ => return None,
    };
    Some(unit * number)
}

/// Formats a time as RFC 3339, as in JSON output.
pub fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis())
        .map(|time| time.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_times_and_dates_are_parsed() {
        let tokyo = TimeZone::get("Asia/Tokyo").unwrap();
        let now = Timestamp::from_millis(10_000_000);
        for (text, expected) in [
            ("2h", 2_800_000),
            ("1970-01-02T00:00:00Z", 86_400_000),
            ("1970-01-02", 15 * 3_600_000),
            ("1970-01-02T03:00:00", 18 * 3_600_000),
        ] {
            let time = parse(text).unwrap();
            assert_eq!(
                time.timestamp(now, &tokyo).unwrap().as_millis(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn other_text_is_rejected() {
        for text in [
            "",
            "yesterday",
            "7",
            "-3d",
            "3y",
            "2026-13-01",
            "9999999999999999w",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
