//! Reads the times that stand in transcripts.

/// Reads RFC 3339 (`2025-11-28T23:06:04.057Z`) as milliseconds since 1970; digits past those are dropped.
pub(super) fn milliseconds(text: &str) -> Option<i64> {
    let (date_time, rest) = text.split_at_checked(19)?;
    let bytes = date_time.as_bytes();
    for (at, separators) in [(4, "-"), (7, "-"), (10, "Tt "), (13, ":"), (16, ":")] {
        if !separators.contains(char::from(bytes[at])) {
            return None;
        }
    }
    let field = |from: usize, to: usize, least: i64, most: i64| {
        number(&bytes[from..to]).filter(|value| (least..=most).contains(value))
    };
    let days = days(field(0, 4, 0, 9999)?, field(5, 7, 1, 12)?, field(8, 10, 1, 31)?);
    // A leap second counts as the first of the next minute.
    let seconds = field(11, 13, 0, 23)? * 3600 + field(14, 16, 0, 59)? * 60 + field(17, 19, 0, 60)?;
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(rest.bytes().take_while(u8::is_ascii_digit).count()),
        None => ("0", rest),
    };
    let millis = number(format!("{fraction:0<3}").as_bytes().get(..3)?).filter(|_| !fraction.is_empty())?;
    Some((days * 86_400 + seconds - offset_seconds(zone)?) * 1000 + millis)
}

/// Reads `Z`, `+02:00`, `-0730`.
fn offset_seconds(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let digits: Vec<u8> = zone.bytes().skip(1).filter(|&b| b != b':').collect();
    let (hours, minutes) = digits
        .split_at_checked(2)
        .filter(|(_, minutes)| minutes.len() == 2)?;
    Some(sign * (number(hours)? * 3600 + number(minutes)? * 60))
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |value, digit| {
        digit
            .is_ascii_digit()
            .then(|| value * 10 + i64::from(digit - b'0'))
    })
}

/// Days since 1970 of a date of the Gregorian calendar.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the day that may be missing is a year's last.
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        let cases = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2025-11-28T23:06:04.057Z", Some(1_764_371_164_057)),
            ("2024-02-29T12:00:00.5Z", Some(1_709_208_000_500)),
            ("2000-03-01 00:00:00.123456789z", Some(951_868_800_123)),
            ("2025-11-29T01:06:04.057+02:00", Some(1_764_371_164_057)),
            ("2025-11-28T15:36:04-0730", Some(1_764_371_164_000)),
            ("1969-12-31T23:59:59.999Z", Some(-1)),
            ("2025-11-28T23:06:04", None),
            ("2025-11-28T23:06:04.Z", None),
            ("2025-13-28T23:06:04Z", None),
            ("2025-11-28T24:06:04Z", None),
            ("2025/11/28T23:06:04Z", None),
            ("2025-11-28T23:06:04Z ", None),
            ("2025-11-28T23:06:04+2", None),
            ("2025-11-2é", None),
            ("2025-11-28T23:06:0é", None),
            ("", None),
            ("yesterday", None),
        ];
        for (text, expected) in cases {
            assert_eq!(milliseconds(text), expected, "{text}");
        }
    }
}
