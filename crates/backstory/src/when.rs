//! Moments as people type them: a date, a time, or how long ago.

use anyhow::{Result, bail};
use jiff::{Timestamp, civil::Date, tz::TimeZone};

/// Reads a moment, in milliseconds since 1970.
pub(crate) fn parse(text: &str, now_ms: i64) -> Result<i64> {
    let text = text.trim();
    if let Some(ms) = ago(text) {
        return Ok(now_ms - ms);
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return Ok(time.as_millisecond());
    }
    if let Ok(date) = text.parse::<Date>()
        && let Ok(day) = date.to_zoned(TimeZone::system())
    {
        return Ok(day.timestamp().as_millisecond());
    }
    bail!("`{text}` is no date\nhint: write 2026-03-01, 2026-03-01T12:00:00Z, or how long ago: 12h, 7d, 4w")
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
        assert_eq!(parse("2h", 10_000_000).unwrap(), 2_800_000);
        assert_eq!(parse("1970-01-02T00:00:00Z", 0).unwrap(), 86_400_000);
        assert!(parse("2026-03-01", 0).is_ok());
        for wrong in [
            "",
            "yesterday",
            "7",
            "-3d",
            "3y",
            "2026-13-01",
            "9999999999999999w",
        ] {
            assert!(parse(wrong, 0).is_err(), "{wrong}");
        }
    }
}
