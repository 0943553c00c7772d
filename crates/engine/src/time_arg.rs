//! Moments as people type them: a date, a time, or how long ago.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use crate::clock;

/// A moment as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeArg {
    /// In milliseconds since 1970.
    At(i64),
    /// On the clocks of a time zone that only the settings know; a date alone is its first moment.
    Local(DateTime),
}

impl TimeArg {
    /// Returns it in milliseconds since 1970.
    pub fn ms(self, zone: &TimeZone) -> Result<i64, jiff::Error> {
        match self {
            Self::At(ms) => Ok(ms),
            Self::Local(time) => Ok(time.to_zoned(zone.clone())?.timestamp().as_millisecond()),
        }
    }
}

/// Reads a moment from the command line.
pub fn parse_time_arg(text: &str) -> Result<TimeArg, String> {
    parse(text, clock::now_ms())
        .ok_or_else(|| "write 2026-03-01, 2026-03-01T12:00:00Z, or how long ago: 12h, 7d, 4w".to_owned())
}

fn parse(text: &str, now_ms: i64) -> Option<TimeArg> {
    let text = text.trim();
    if let Some(ms) = ago(text) {
        return Some(TimeArg::At(now_ms - ms));
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(TimeArg::At(time.as_millisecond()));
    }
    text.parse().ok().map(TimeArg::Local)
}

fn ago(text: &str) -> Option<i64> {
    const HOUR_MS: i64 = 3_600_000;
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: i64 = digits
        .parse()
        .ok()
        .filter(|number| (0..100_000).contains(number))?;
    let unit = match &text[digits.len()..] {
        "h" => HOUR_MS,
        "d" => 24 * HOUR_MS,
        "w" => 7 * 24 * HOUR_MS,
        _ => return None,
    };
    Some(number * unit)
}

/// Writes a time the way `--json` does.
pub fn rfc3339(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map(|time| time.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        assert_eq!(parse("2h", 10_000_000), Some(TimeArg::At(2_800_000)));
        assert_eq!(parse("1970-01-02T00:00:00Z", 0), Some(TimeArg::At(86_400_000)));
        let tokyo = TimeZone::get("Asia/Tokyo").unwrap();
        for (text, hours) in [("1970-01-02", 15), ("1970-01-02T03:00:00", 18)] {
            let moment = parse(text, 0).unwrap();
            assert_eq!(moment.ms(&tokyo).unwrap(), hours * 3_600_000, "{text}");
        }
        for wrong in [
            "",
            "yesterday",
            "7",
            "-3d",
            "3y",
            "2026-13-01",
            "9999999999999999w",
        ] {
            assert_eq!(parse(wrong, 0), None, "{wrong}");
        }
    }
}
