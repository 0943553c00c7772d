//! The heat map of the start page: memories per day in the last year.

use std::time::Duration;

use backstory_model::Timestamp;
use backstory_store::{Project, Store};
use maud::{Markup, html};

use super::{
    plot::{self, HeatDay},
    time::{DAY_MS, TimeFormat, day_name, month_name},
    view::plural,
};
use crate::problem::ApiError;

const DAY: Duration = Duration::from_hours(24);

/// Number of weeks, the current one included.
const WEEKS: i64 = 53;

/// Memories per day of a year that ends today. Days are counted from 1970 in the zone of the user.
pub(super) struct ActivityYear {
    /// The Monday at which it starts.
    first_day: i64,
    counts: Vec<(i64, u64)>,
}

impl ActivityYear {
    pub(super) fn read(
        store: &Store,
        project: Option<&Project>,
        times: &TimeFormat,
    ) -> Result<Self, ApiError> {
        let first_day = monday_before(times.day_of(times.now)) - (WEEKS - 1) * 7;
        let start = times.start_of_day(first_day);
        Ok(Self {
            first_day,
            counts: store.activity_by_interval(project, start, DAY)?,
        })
    }

    pub(super) fn show(&self) -> Markup {
        let name = |day: i64| day_name(Timestamp::from_millis((self.first_day + day) * DAY_MS));
        let days: Vec<HeatDay> = self
            .counts
            .iter()
            .filter(|(day, _)| (0..WEEKS * 7).contains(day))
            .map(|&(at, value)| HeatDay {
                at,
                label: format!("{}: {}", name(at), plural(value, "memory", "memories")),
                value,
            })
            .collect();
        let total: u64 = days.iter().map(|day| day.value).sum();
        let busiest = days.iter().max_by_key(|day| day.value);
        let most = busiest.map(|day| format!(", most on {}", day.label));
        let about = format!(
            "{} on {} in the last year{}",
            plural(total, "memory", "memories"),
            plural(days.len() as u64, "day", "days"),
            most.unwrap_or_default()
        );
        html! {
            section.year aria-labelledby="year" {
                h2 #year { "The last year" }
                (plot::heat_map(WEEKS, &days, &self.months(), &about))
                p.muted.caption { (about) "." }
            }
        }
    }

    /// Returns the week in which each month starts, with its name. The first month is left out if the next begins too soon.
    fn months(&self) -> Vec<(i64, String)> {
        const MIN_WEEKS: i64 = 3;
        let month = |week: i64| month_name(Timestamp::from_millis((self.first_day + week * 7) * DAY_MS));
        let mut months: Vec<(i64, String)> = Vec::new();
        for week in 0..WEEKS {
            let name = month(week);
            match months.last_mut() {
                Some((_, last)) if *last == name => {}
                Some(last) if week - last.0 < MIN_WEEKS => *last = (week, name),
                _ => months.push((week, name)),
            }
        }
        months.retain(|(week, _)| *week <= WEEKS - 2);
        months
    }
}

/// Returns the last Monday up to a day. Day 0 was a Thursday.
const fn monday_before(day: i64) -> i64 {
    day - (day + 3).rem_euclid(7)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_start_on_monday() {
        // 1970-01-01 was a Thursday; 1970-01-05 a Monday.
        assert_eq!(monday_before(0), -3);
        assert_eq!(monday_before(4), 4);
        assert_eq!(monday_before(10), 4);
        assert_eq!(monday_before(11), 11);
    }
}
