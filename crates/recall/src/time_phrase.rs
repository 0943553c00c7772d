//! Periods that a text names in words: "yesterday", "last week", "on Friday", "in March", "3 days ago".
//!
//! One parser for questions and for time arguments. Days, weeks and months are those of the calendar in the user's time zone;
//! a week starts on Monday. A weekday or a date counts only behind a preposition: "on Friday" is a time, "Friday deploys" a
//! subject.

use std::ops::Range;

use backstory_model::Timestamp;
use backstory_text::{Piece, pieces};
use jiff::{
    Span, ToSpan as _, Unit, Zoned,
    civil::{Date, Weekday},
    tz::TimeZone,
};

/// A period that was named relative to the current time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimePhrase {
    /// The calendar day, week, month or year that is this many units back; 0 is the current one.
    Calendar(Unit, i32),
    /// The time from this many units ago until now.
    Past(Unit, i32),
    /// The latest such day before today.
    Weekday(Weekday),
    /// From yesterday evening to this morning.
    LastNight,
    /// A month by number; without a year the latest that has begun.
    Month(i8, Option<i16>),
    /// A date.
    Date(Date),
}

/// A period: its first moment and its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The first moment.
    pub start: Timestamp,
    /// The last moment.
    pub end: Timestamp,
}

/// The side of a phrase that a preposition selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    /// Inside of the period.
    Within,
    /// From its start on.
    Since,
    /// After its end.
    After,
    /// Before its start.
    Before,
    /// Up to its end.
    Until,
}

/// A word of a text in lower case, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) word: String,
    pub(crate) range: Range<usize>,
}

/// Splits a text into words.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut at = 0;
    let mut tokens = Vec::new();
    for piece in pieces(text) {
        let (Piece::Word(part) | Piece::Unspaced(part) | Piece::Other(part)) = piece;
        if !matches!(piece, Piece::Other(_)) {
            tokens.push(Token {
                word: part.to_lowercase(),
                range: at..at + part.len(),
            });
        }
        at += part.len();
    }
    tokens
}

impl TimePhrase {
    /// Parses a text that is nothing but a phrase, such as the value of `--since`.
    pub fn parse(text: &str) -> Option<Self> {
        let tokens = tokens(text);
        let words: Vec<&str> = tokens.iter().map(|token| token.word.as_str()).collect();
        let skipped = usize::from(matches!(words.first(), Some(&("on" | "in" | "since"))));
        let (phrase, length) = phrase_at(&words[skipped..]).or_else(|| dated(&words[skipped..]))?;
        (skipped + length == words.len()).then_some(phrase)
    }

    /// Returns the period; `None` for one outside of the calendar.
    pub fn period(self, now: Timestamp, zone: &TimeZone) -> Option<Period> {
        let now = jiff::Timestamp::from_millisecond(now.as_millis())
            .ok()?
            .to_zoned(zone.clone());
        self.zoned(&now).ok()
    }

    fn zoned(self, now: &Zoned) -> Result<Period, jiff::Error> {
        let zone = now.time_zone();
        let today = now.date();
        let dates = |first: Date, length: Span| {
            let end = first.checked_add(length)?.to_zoned(zone.clone())?;
            period(&first.to_zoned(zone.clone())?, &end)
        };
        match self {
            Self::Calendar(unit, back) => {
                let (length, back) = (span(unit, 1), today.checked_sub(span(unit, back))?);
                let first = match unit {
                    Unit::Year => back.first_of_year(),
                    Unit::Month => back.first_of_month(),
                    Unit::Week => {
                        back.checked_sub(i64::from(back.weekday().to_monday_zero_offset()).days())?
                    }
                    _ => back,
                };
                dates(first, length)
            }
            Self::Past(unit, back) => period(&now.checked_sub(span(unit, back))?, now),
            Self::Weekday(weekday) => dates(today.nth_weekday(-1, weekday)?, 1.day()),
            Self::LastNight => {
                let midnight = now.start_of_day()?;
                period(
                    &midnight.checked_sub(6.hours())?,
                    &midnight.checked_add(6.hours())?,
                )
            }
            Self::Month(month, year) => {
                let this = year.unwrap_or(today.year());
                let first = Date::new(this, month, 1)?;
                let first = if year.is_none() && first > today {
                    first.checked_sub(1.year())?
                } else {
                    first
                };
                dates(first, 1.month())
            }
            Self::Date(date) => dates(date, 1.day()),
        }
    }
}

fn period(start: &Zoned, end: &Zoned) -> Result<Period, jiff::Error> {
    let millis = |at: &Zoned| at.timestamp().as_millisecond();
    Ok(Period {
        start: Timestamp::from_millis(millis(start)),
        end: Timestamp::from_millis(millis(end) - 1),
    })
}

fn span(unit: Unit, count: i32) -> Span {
    match unit {
        Unit::Year => count.years(),
        Unit::Month => count.months(),
        Unit::Week => count.weeks(),
        Unit::Day => count.days(),
        _ => count.hours(),
    }
}

/// Finds the first phrase in a text, with its preposition: the words that it takes, the side and the phrase.
pub(crate) fn find(words: &[&str]) -> Option<(Range<usize>, Bound, TimePhrase)> {
    (0..words.len()).find_map(|at| {
        let (bound, skipped) = preposition(&words[at..]);
        let from = at + skipped;
        let rest = words.get(from..)?;
        let found = phrase_at(rest).or_else(|| if skipped > 0 { dated(rest) } else { None });
        let (phrase, length) = found?;
        Some((at..from + length, bound, phrase))
    })
}

/// Reads a preposition and an article behind it.
pub(crate) fn preposition(words: &[&str]) -> (Bound, usize) {
    let (bound, read) = match words.first() {
        Some(&"since") => (Bound::Since, 1),
        Some(&"after") => (Bound::After, 1),
        Some(&"before") => (Bound::Before, 1),
        Some(&("until" | "till")) => (Bound::Until, 1),
        Some(&("on" | "in" | "from" | "during" | "within" | "over" | "of")) => (Bound::Within, 1),
        _ => (Bound::Within, 0),
    };
    let article = read > 0 && words.get(read) == Some(&"the");
    (bound, read + usize::from(article))
}

/// Reads a phrase that needs no preposition: the phrase and the number of its words.
fn phrase_at(words: &[&str]) -> Option<(TimePhrase, usize)> {
    const PARTS: &[&str] = &["morning", "afternoon", "evening", "night"];
    let (words, article) = match words {
        ["the", rest @ ..] => (rest, 1),
        _ => (words, 0),
    };
    let (phrase, mut length) = match words {
        ["day", "before", "yesterday", ..] => (TimePhrase::Calendar(Unit::Day, 2), 3),
        ["yesterday", ..] => (TimePhrase::Calendar(Unit::Day, 1), 1),
        ["today" | "tonight", ..] => (TimePhrase::Calendar(Unit::Day, 0), 1),
        ["this", part, ..] if PARTS.contains(part) => (TimePhrase::Calendar(Unit::Day, 0), 2),
        ["last", "night", ..] => (TimePhrase::LastNight, 2),
        ["other", "day", ..] if article == 1 => (TimePhrase::Past(Unit::Week, 1), 2),
        ["last" | "past" | "previous", rest @ ..] if let Some((count, read)) = number(rest) => {
            let (unit, _) = unit(rest.get(read)?)?;
            (TimePhrase::Past(unit, count), read + 2)
        }
        ["last" | "this", name, ..] if let Some(weekday) = weekday(name) => (TimePhrase::Weekday(weekday), 2),
        [
            first @ ("last" | "this" | "past" | "previous" | "current"),
            name,
            ..,
        ] => {
            // Not days: "the last day of the month".
            let (unit, false) = unit(name).filter(|(unit, _)| *unit > Unit::Day)? else {
                return None;
            };
            let phrase = match *first {
                "past" => TimePhrase::Past(unit, 1),
                "last" | "previous" => TimePhrase::Calendar(unit, 1),
                _ => TimePhrase::Calendar(unit, 0),
            };
            (phrase, 2)
        }
        _ => {
            let (count, read) = number(words)?;
            let (unit, _) = unit(words.get(read)?)?;
            if words.get(read + 1) != Some(&"ago") {
                return None;
            }
            let phrase = if unit == Unit::Hour {
                TimePhrase::Past(unit, count.saturating_add(1))
            } else {
                TimePhrase::Calendar(unit, count)
            };
            (phrase, read + 2)
        }
    };
    if matches!(
        phrase,
        TimePhrase::Calendar(Unit::Day, _) | TimePhrase::Weekday(_)
    ) && words.get(length).is_some_and(|word| PARTS.contains(word))
    {
        length += 1;
    }
    // "yesterday's session"
    length += usize::from(words.get(length) == Some(&"s"));
    Some((phrase, article + length))
}

/// Reads a weekday, a month or a date, which need a preposition.
fn dated(words: &[&str]) -> Option<(TimePhrase, usize)> {
    let number = |word: &&str| word.trim_end_matches(char::is_alphabetic).parse::<i8>().ok();
    let year = |word: Option<&&str>| {
        let year: i16 = word?.parse().ok()?;
        (1970..3000).contains(&year).then_some(year)
    };
    if let Some(weekday) = words.first().and_then(|word| weekday(word)) {
        return Some((TimePhrase::Weekday(weekday), 1));
    }
    if let Some(month) = words.first().and_then(|word| month(word)) {
        return Some(match year(words.get(1)) {
            Some(year) => (TimePhrase::Month(month, Some(year)), 2),
            None => (TimePhrase::Month(month, None), 1),
        });
    }
    let [first, second, third, ..] = words else {
        return None;
    };
    let date = Date::new(year(Some(first))?, number(second)?, number(third)?).ok()?;
    Some((TimePhrase::Date(date), 3))
}

/// Reads a small number: digits, a word, or an indefinite amount.
fn number(words: &[&str]) -> Option<(i32, usize)> {
    const NUMBERS: [&str; 12] = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    ];
    match words {
        ["a", "couple", "of", ..] => Some((2, 3)),
        ["couple", "of", ..] | ["a", "couple", ..] => Some((2, 2)),
        ["a", "few", ..] => Some((3, 2)),
        ["few", ..] => Some((3, 1)),
        ["a" | "an", ..] => Some((1, 1)),
        [word, ..] => {
            let named = NUMBERS.iter().zip(1..).find(|(name, _)| *name == word);
            let number = named.map(|(_, number)| number).or_else(|| word.parse().ok())?;
            (1..1_000).contains(&number).then_some((number, 1))
        }
        [] => None,
    }
}

/// Reads a unit of time, and whether it is a plural.
fn unit(word: &str) -> Option<(Unit, bool)> {
    let singular = word.strip_suffix('s').unwrap_or(word);
    let unit = match singular {
        "hour" => Unit::Hour,
        "day" => Unit::Day,
        "week" => Unit::Week,
        "month" => Unit::Month,
        "year" => Unit::Year,
        _ => return None,
    };
    Some((unit, singular.len() < word.len()))
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" | "mon" => Weekday::Monday,
        "tuesday" | "tue" => Weekday::Tuesday,
        "wednesday" | "wed" => Weekday::Wednesday,
        "thursday" | "thu" => Weekday::Thursday,
        "friday" | "fri" => Weekday::Friday,
        "saturday" | "sat" => Weekday::Saturday,
        "sunday" | "sun" => Weekday::Sunday,
        _ => return None,
    })
}

fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let named = MONTHS.iter().zip(1..).find(|(name, _)| *name == &word);
    named.map(|(_, number)| number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a period as local times.
    fn shown(phrase: TimePhrase) -> String {
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        // A Wednesday afternoon.
        let now: jiff::Timestamp = "2026-03-11T14:30:00Z".parse().unwrap();
        let period = phrase
            .period(Timestamp::from_millis(now.as_millisecond()), &zone)
            .unwrap();
        let local = |at: Timestamp| {
            let at = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap();
            at.to_zoned(zone.clone()).strftime("%m-%d %H:%M").to_string()
        };
        format!("{} to {}", local(period.start), local(period.end))
    }

    #[test]
    fn phrases_name_periods_of_the_local_calendar() {
        for (text, expected) in [
            ("yesterday", "03-10 00:00 to 03-10 23:59"),
            ("yesterday evening", "03-10 00:00 to 03-10 23:59"),
            ("the day before yesterday", "03-09 00:00 to 03-09 23:59"),
            ("today", "03-11 00:00 to 03-11 23:59"),
            ("last night", "03-10 18:00 to 03-11 05:59"),
            ("last week", "03-02 00:00 to 03-08 23:59"),
            ("this week", "03-09 00:00 to 03-15 23:59"),
            ("last month", "02-01 00:00 to 02-28 23:59"),
            ("past week", "03-04 15:30 to 03-11 15:29"),
            ("the last 3 days", "03-08 15:30 to 03-11 15:29"),
            ("two weeks ago", "02-23 00:00 to 03-01 23:59"),
            ("5 days ago", "03-06 00:00 to 03-06 23:59"),
            ("friday", "03-06 00:00 to 03-06 23:59"),
            ("last Wednesday", "03-04 00:00 to 03-04 23:59"),
            ("since monday", "03-09 00:00 to 03-09 23:59"),
            ("february", "02-01 00:00 to 02-28 23:59"),
            ("in December", "12-01 00:00 to 12-31 23:59"),
        ] {
            let phrase = TimePhrase::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(shown(phrase), expected, "{text}");
        }
    }

    #[test]
    fn a_day_without_summer_hour_ends_at_midnight() {
        let date = TimePhrase::Date(Date::constant(2026, 3, 29));
        assert_eq!(shown(date), "03-29 00:00 to 03-29 23:59");
    }

    #[test]
    fn other_words_are_no_time() {
        for text in [
            "",
            "weekly",
            "last",
            "last call",
            "last line",
            "friday deploys",
            "the day",
            "2 days",
            "99999999999 days ago",
        ] {
            assert_eq!(TimePhrase::parse(text), None, "{text}");
        }
        for text in [
            "friday deploys",
            "march through the list",
            "we may fail",
            "last day of the month",
        ] {
            let words: Vec<&str> = text.split(' ').collect();
            assert_eq!(find(&words), None, "{text}");
        }
    }
}
