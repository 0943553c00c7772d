//! Times as people say them, and exactly where the pointer rests.

use jiff::{Timestamp, tz::TimeZone};
use maud::{Markup, html};
use serde_json::Value;

/// The time, and where the person is.
#[derive(Clone, Debug)]
pub(super) struct Clock {
    pub(super) now_ms: i64,
    /// Set in the settings; else the browser knows, and without its script UTC is shown.
    zone: Option<TimeZone>,
}

impl Clock {
    pub(super) fn new(now_ms: i64, settings: &Value) -> Self {
        let named = settings["ui.timezone"]["value"].as_str();
        Self {
            now_ms,
            zone: named
                .filter(|name| !name.is_empty())
                .and_then(|name| TimeZone::get(name).ok()),
        }
    }

    /// Says how long ago something was.
    pub(super) fn ago(&self, ms: i64) -> Markup {
        self.element(ms, &ago(self.now_ms - ms), Some("ago"))
    }

    /// Says when something was, to the minute.
    pub(super) fn exact(&self, ms: i64) -> Markup {
        let text = self.written(ms, "%Y-%m-%d %H:%M");
        self.element(ms, &text, Some("exact"))
    }

    /// Returns how far the zone is ahead of UTC at a time, in milliseconds.
    pub(super) fn offset_ms(&self, ms: i64) -> i64 {
        let Some(zone) = &self.zone else { return 0 };
        let at = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
        i64::from(zone.to_offset(at).seconds()) * 1000
    }

    fn element(&self, ms: i64, text: &str, kind: Option<&str>) -> Markup {
        let at = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
        // The script puts these into the browser's zone; a zone that a person chose stays.
        let kind = kind.filter(|kind| *kind == "ago" || self.zone.is_none());
        html! {
            time datetime=(at.to_string()) title=(self.written(ms, "%A, %-d %B %Y, %H:%M:%S %Z")) data-time=[kind]
                data-zone=[self.zone.as_ref().map(|_| "set")] { (text) }
        }
    }

    fn written(&self, ms: i64, format: &str) -> String {
        let at = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
        let zone = self.zone.clone().unwrap_or(TimeZone::UTC);
        at.to_zoned(zone).strftime(format).to_string()
    }
}

/// Says how long ago something was. The script says it in the same words.
fn ago(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
    match seconds {
        ..45 => "just now".to_owned(),
        45..5400 => format!("{} min ago", (seconds + 30) / 60),
        5400..129_600 => format!("{} h ago", (seconds + 1800) / 3600),
        129_600..5_184_000 => format!("{} days ago", (seconds + 43_200) / 86_400),
        5_184_000..63_072_000 => format!("{} months ago", seconds / 2_629_800),
        _ => format!("{} years ago", seconds / 31_557_600),
    }
}

/// Names the day that begins at a time.
pub(super) fn day_name(ms: i64) -> String {
    let at = Timestamp::from_millisecond(ms).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(TimeZone::UTC).strftime("%-d %b %Y").to_string()
}

/// Says how long something took.
pub(super) fn lasted(ms: i64) -> String {
    let seconds = ms.max(0) / 1000;
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
    fn ages_are_said_as_people_say_them() {
        let said: Vec<String> = [0, 60, 3_600, 7_200, 86_400, 3 * 86_400, 90 * 86_400, 900 * 86_400]
            .map(|seconds: i64| ago(seconds * 1000))
            .to_vec();
        assert_eq!(
            said,
            [
                "just now",
                "1 min ago",
                "60 min ago",
                "2 h ago",
                "24 h ago",
                "3 days ago",
                "2 months ago",
                "2 years ago"
            ]
        );
    }

    #[test]
    fn a_chosen_zone_is_kept() {
        let settings = serde_json::json!({"ui.timezone": {"value": "Asia/Tokyo"}});
        let clock = Clock::new(0, &settings);
        let shown = clock.exact(0).into_string();
        assert!(
            shown.contains("1970-01-01 09:00") && shown.contains("data-zone"),
            "{shown}"
        );
        assert_eq!(clock.offset_ms(0), 9 * 3_600_000);
        assert!(
            Clock::new(0, &Value::Null)
                .exact(0)
                .into_string()
                .contains("1970-01-01 00:00")
        );
    }
}
