//! Moments as people type them: a date, a time, or how long ago.

use jiff::{Timestamp, civil::Date, tz::TimeZone};

use crate::clock;

/// Reads a moment from the command line, in milliseconds since 1970.
pub(crate) fn moment(text: &str) -> Result<i64, String> {
    parse(text, clock::now_ms())
        .ok_or_else(|| "write 2026-03-01, 2026-03-01T12:00:00Z, or how long ago: 12h, 7d, 4w".to_owned())
}

fn parse(text: &str, now_ms: i64) -> Option<i64> {
    let text = text.trim();
    if let Some(ms) = ago(text) {
        return Some(now_ms - ms);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time.as_millisecond());
    }
    let day = text.parse::<Date>().ok()?.to_zoned(TimeZone::system()).ok()?;
    Some(day.timestamp().as_millisecond())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read() {
        assert_eq!(parse("2h", 10_000_000), Some(2_800_000));
        assert_eq!(parse("1970-01-02T00:00:00Z", 0), Some(86_400_000));
        assert!(parse("2026-03-01", 0).is_some());
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
