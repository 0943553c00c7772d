//! Renders times: relative or to the minute, with the exact time as a tooltip.
//!
//! The script formats the same times in the browser's zone; keep [`ago`] in step with `app.js`.

use std::time::Duration;

use backstory_model::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use serde_json::Value;

/// Length of a day in milliseconds.
pub(super) const DAY_MS: i64 = 86_400_000;

/// Formats times relative to the current time and in the time zone of the user.
#[derive(Clone, Debug)]
pub(super) struct TimeFormat {
    pub(super) now: Timestamp,
    /// Zone from the settings. Without one the script uses the browser's zone; without the script times are UTC.
    zone: Option<TimeZone>,
}

impl TimeFormat {
    pub(super) fn new(now: Timestamp, settings: &Value) -> Self {
        let named = settings["ui.timezone"]["value"].as_str();
        Self {
            now,
            zone: named
                .filter(|name| !name.is_empty())
                .and_then(|name| TimeZone::get(name).ok()),
        }
    }

    /// Renders a time as an age, such as "5 min ago", or as a date if it is more than a week ago.
    pub(super) fn ago(&self, at: Timestamp) -> Markup {
        match ago(self.now.since(at)) {
            Some(age) => self.element(at, &age, Some("ago")),
            None => self.element(at, &self.format(at, "%-d %b %Y"), Some("day")),
        }
    }

    /// Renders a time to the minute.
    pub(super) fn exact(&self, at: Timestamp) -> Markup {
        let text = self.format(at, "%Y-%m-%d %H:%M");
        self.element(at, &text, Some("exact"))
    }

    /// Returns the zone's UTC offset at a time, in milliseconds.
    pub(super) fn offset_ms(&self, at: Timestamp) -> i64 {
        let Some(zone) = &self.zone else { return 0 };
        i64::from(zone.to_offset(calendar(at)).seconds()) * 1000
    }

    /// Returns the day of a time in the zone of the user, counted from 1970.
    pub(super) fn day_of(&self, at: Timestamp) -> i64 {
        (at.as_millis() + self.offset_ms(at)).div_euclid(DAY_MS)
    }

    /// Returns the start of a day. Daylight saving time may shift a distant day by an hour.
    pub(super) fn start_of_day(&self, day: i64) -> Timestamp {
        Timestamp::from_millis(day * DAY_MS - self.offset_ms(self.now))
    }

    fn element(&self, at: Timestamp, text: &str, kind: Option<&str>) -> Markup {
        // The script converts these to the browser's zone, unless the settings name one.
        let kind = kind.filter(|kind| *kind == "ago" || self.zone.is_none());
        html! {
            time datetime=(calendar(at).to_string()) title=(self.format(at, "%A, %-d %B %Y, %H:%M:%S %Z")) data-time=[kind]
                data-zone=[self.zone.as_ref().map(|_| "set")] { (text) }
        }
    }

    fn format(&self, at: Timestamp, format: &str) -> String {
        let zone = self.zone.clone().unwrap_or(TimeZone::UTC);
        calendar(at).to_zoned(zone).strftime(format).to_string()
    }
}

fn calendar(at: Timestamp) -> jiff::Timestamp {
    jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// Formats an age of up to a week. `ago` in `app.js` uses the same words.
fn ago(age: Duration) -> Option<String> {
    let seconds = age.as_secs();
    Some(match seconds {
        ..45 => "just now".to_owned(),
        45..5400 => format!("{} min ago", (seconds + 30) / 60),
        5400..129_600 => format!("{} h ago", (seconds + 1800) / 3600),
        129_600..604_800 => format!("{} days ago", (seconds + 43_200) / 86_400),
        _ => return None,
    })
}

/// Formats the day that starts at a time.
pub(super) fn day_name(at: Timestamp) -> String {
    in_utc(at, "%-d %b %Y")
}

/// Formats the month of a time.
pub(super) fn month_name(at: Timestamp) -> String {
    in_utc(at, "%b")
}

fn in_utc(at: Timestamp, format: &str) -> String {
    calendar(at).to_zoned(TimeZone::UTC).strftime(format).to_string()
}

/// Formats a duration.
pub(super) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_use_rounded_units() {
        let ages = [0, 60, 3_600, 7_200, 86_400, 3 * 86_400, 8 * 86_400]
            .map(|seconds| ago(Duration::from_secs(seconds)).unwrap_or_default());
        assert_eq!(
            ages,
            [
                "just now",
                "1 min ago",
                "60 min ago",
                "2 h ago",
                "24 h ago",
                "3 days ago",
                ""
            ]
        );
    }

    #[test]
    fn a_time_more_than_a_week_ago_is_a_date() {
        let times = TimeFormat::new(Timestamp::from_millis(30 * DAY_MS), &Value::Null);
        let shown = times.ago(Timestamp::EPOCH).into_string();
        assert!(shown.contains(">1 Jan 1970<"), "{shown}");
    }

    #[test]
    fn a_chosen_zone_is_kept() {
        let settings = serde_json::json!({"ui.timezone": {"value": "Asia/Tokyo"}});
        let times = TimeFormat::new(Timestamp::EPOCH, &settings);
        let shown = times.exact(Timestamp::EPOCH).into_string();
        assert!(
            shown.contains("1970-01-01 09:00") && shown.contains("data-zone"),
            "{shown}"
        );
        assert_eq!(times.offset_ms(Timestamp::EPOCH), 9 * 3_600_000);
        assert!(
            TimeFormat::new(Timestamp::EPOCH, &Value::Null)
                .exact(Timestamp::EPOCH)
                .into_string()
                .contains("1970-01-01 00:00")
        );
    }
}
