//! Moments as people type them: a date, a time, or how long ago.

use std::time::Duration;

use backstory_model::Timestamp;
use jiff::{civil::DateTime, tz::TimeZone};

use crate::clock;

/// A moment as it was typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeArg {
    /// A moment.
    At(Timestamp),
    /// On the clocks of a time zone that only the settings know; a date alone is its first moment.
    Local(DateTime),
}

impl TimeArg {
    /// Returns the moment in a time zone.
    pub fn timestamp(self, zone: &TimeZone) -> Result<Timestamp, jiff::Error> {
        match self {
            Self::At(at) => Ok(at),
            Self::Local(time) => {
                let at = time.to_zoned(zone.clone())?.timestamp();
                Ok(Timestamp::from_millis(at.as_millisecond()))
            }
        }
    }
}

/// Reads a moment from the command line.
pub fn parse_time_arg(text: &str) -> Result<TimeArg, String> {
    parse(text, clock::timestamp())
        .ok_or_else(|| "write 2026-03-01, 2026-03-01T12:00:00Z, or how long ago: 12h, 7d, 4w".to_owned())
}

fn parse(text: &str, now: Timestamp) -> Option<TimeArg> {
    let text = text.trim();
    if let Some(age) = ago(text) {
        return Some(TimeArg::At(now - age));
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(TimeArg::At(Timestamp::from_millis(time.as_millisecond())));
    }
    text.parse().ok().map(TimeArg::Local)
}

fn ago(text: &str) -> Option<Duration> {
    const HOUR: Duration = Duration::from_hours(1);
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let number: u32 = digits
        .parse()
        .ok()
        .filter(|number| (0..100_000).contains(number))?;
    let unit = match &text[digits.len()..] {
        "h" => HOUR,
        "d" => 24 * HOUR,
        "w" => 7 * 24 * HOUR,
        _ => return None,
    };
    Some(unit * number)
}

/// Writes a time the way `--json` does.
pub fn rfc3339(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis())
        .map(|time| time.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    #[test]
    fn moments_are_read() {
        assert_eq!(parse("2h", at(10_000_000)), Some(TimeArg::At(at(2_800_000))));
        assert_eq!(
            parse("1970-01-02T00:00:00Z", at(0)),
            Some(TimeArg::At(at(86_400_000)))
        );
        let tokyo = TimeZone::get("Asia/Tokyo").unwrap();
        for (text, hours) in [("1970-01-02", 15), ("1970-01-02T03:00:00", 18)] {
            let moment = parse(text, at(0)).unwrap();
            assert_eq!(moment.timestamp(&tokyo).unwrap(), at(hours * 3_600_000), "{text}");
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
            assert_eq!(parse(wrong, at(0)), None, "{wrong}");
        }
    }
}
