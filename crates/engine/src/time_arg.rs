//! Points in time as users type them: a date, a time, an age such as `7d`, or words such as `yesterday`.

use std::time::Duration;

use backstory_model::Timestamp;
use backstory_recall::TimePhrase;
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
    /// Period in words. Its start as an earliest time, its end as a latest.
    Words(TimePhrase),
}

impl TimeArg {
    /// Returns the point in time, the start of a period.
    pub fn timestamp(self, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, jiff::Error> {
        match self {
            Self::At(at) => Ok(at),
            Self::Ago(age) => Ok(now - age),
            Self::Local(time) => {
                let at = time.to_zoned(zone.clone())?.timestamp();
                Ok(Timestamp::from_millis(at.as_millisecond()))
            }
            Self::Words(phrase) => Ok(phrase
                .period(now, zone)
                .map_or(Timestamp::MIN, |period| period.start)),
        }
    }

    /// Returns the point in time as a latest one: the end of a period in words.
    pub fn end(self, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, jiff::Error> {
        match self {
            Self::Words(phrase) => Ok(phrase
                .period(now, zone)
                .map_or(Timestamp::MAX, |period| period.end)),
            other => other.timestamp(now, zone),
        }
    }
}

/// Parses a point in time.
pub fn parse_time_arg(text: &str) -> Result<TimeArg, String> {
    parse(text).ok_or_else(|| "write 2026-03-01, 2026-03-01T12:00:00Z, an age (12h, 7d, 4w) or words (yesterday, friday, \"last week\")".to_owned())
}

fn parse(text: &str) -> Option<TimeArg> {
    let text = text.trim();
    if let Some(age) = parse_age(text) {
        return Some(TimeArg::Ago(age));
    }
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Some(TimeArg::At(Timestamp::from_millis(time.as_millisecond())));
    }
    let local = text.parse().ok().map(TimeArg::Local);
    local.or_else(|| TimePhrase::parse(text).map(TimeArg::Words))
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
    fn words_name_the_start_and_the_end_of_a_period() {
        let tokyo = TimeZone::get("Asia/Tokyo").unwrap();
        let day = 86_400_000;
        let now = Timestamp::from_millis(30 * day);
        let yesterday = parse("Yesterday").unwrap();
        let start = 28 * day + 15 * 3_600_000;
        assert_eq!(yesterday.timestamp(now, &tokyo).unwrap().as_millis(), start);
        assert_eq!(yesterday.end(now, &tokyo).unwrap().as_millis(), start + day - 1);
        for text in ["last week", "friday", "on Monday", "3 days ago", "in March"] {
            assert!(matches!(parse(text), Some(TimeArg::Words(_))), "{text}");
        }
    }

    #[test]
    fn other_text_is_rejected() {
        for text in ["", "soon", "7", "-3d", "3y", "2026-13-01", "9999999999999999w"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
