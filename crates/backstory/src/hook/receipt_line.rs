//! The line that shows the user what was injected (`ui.receipts`). The agent does not see it.

use backstory_engine::{engine::Engine, hook_settings, settings::Receipts};
use backstory_model::Timestamp;
use backstory_recall::ContextBlock;

/// Returns the line of a context block: `backstory: 6 memories, 2 open items from Thursday`.
pub(super) fn at_start(engine: &Engine, block: &ContextBlock, now: Timestamp) -> Option<String> {
    let included = block.entries.iter().filter(|entry| entry.is_included).count();
    if included == 0 || hook_settings::receipts(engine) == Receipts::Off {
        return None;
    }
    let mut line = format!("backstory: {}", counted(included, "memory", "memories"));
    if let (1.., Some(last)) = (block.open_steps, block.last_work) {
        let items = counted(block.open_steps, "open item", "open items");
        line.push_str(&format!(", {items} from {}", day(now, last)));
    }
    Some(line)
}

/// Returns the line of an injection during the session.
pub(super) fn at_recall(engine: &Engine, about: &str) -> Option<String> {
    (hook_settings::receipts(engine) == Receipts::All && !about.is_empty())
        .then(|| format!("backstory: {about}"))
}

fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Names the day of a time in UTC: a hook does not load time zones.
fn day(now: Timestamp, then: Timestamp) -> String {
    const DAY_MS: i64 = 24 * 3_600_000;
    const WEEKDAYS: [&str; 7] = [
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
        "Monday",
        "Tuesday",
        "Wednesday",
    ];
    let number = |at: Timestamp| at.as_millis().div_euclid(DAY_MS);
    // The first of January 1970 was a Thursday.
    let weekday = usize::try_from(number(then).rem_euclid(7)).unwrap_or_default();
    match number(now) - number(then) {
        ..=0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        2..=6 => WEEKDAYS[weekday].to_owned(),
        days => format!("{days} days ago"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_have_the_names_that_people_use() {
        let at = |days: i64, hours: i64| Timestamp::from_millis((days * 24 + hours) * 3_600_000);
        // The 16th of November 2026 is a Monday.
        let now = at(20_773, 9);
        for (then, name) in [
            (at(20_773, 1), "today"),
            (at(20_772, 23), "yesterday"),
            (at(20_769, 12), "Thursday"),
            (at(20_761, 12), "12 days ago"),
            (at(20_774, 0), "today"),
        ] {
            assert_eq!(day(now, then), name);
        }
    }
}
