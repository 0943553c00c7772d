//! The one type for moments.
//!
//! Calendar, time zones and RFC 3339 are left to the edges (jiff): this crate is part of the hook process.

use std::{
    ops::{Add, Sub},
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

/// Holds a moment, in milliseconds since 1970 in UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The first moment of 1970. Sorts before everything that was recorded.
    pub const EPOCH: Self = Self(0);

    /// The earliest moment.
    pub const MIN: Self = Self(i64::MIN);

    /// The latest moment. Sorts after everything that was recorded.
    pub const MAX: Self = Self(i64::MAX);

    /// Wraps milliseconds since 1970.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Returns milliseconds since 1970.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Returns the time since an earlier moment; zero when that moment is later.
    pub fn since(self, earlier: Self) -> Duration {
        let millis = self.0.saturating_sub(earlier.0);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(SystemTime::UNIX_EPOCH) {
            Ok(after) => Self::EPOCH + after,
            Err(before) => Self::EPOCH - before.duration(),
        }
    }
}

impl Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }
}

impl Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(feature = "rusqlite")]
impl rusqlite::ToSql for Timestamp {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        self.0.to_sql()
    }
}

#[cfg(feature = "rusqlite")]
impl rusqlite::types::FromSql for Timestamp {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        i64::column_result(value).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        let at = Timestamp::from_millis(1_500);
        assert_eq!((at + Duration::from_millis(20)).as_millis(), 1_520);
        assert_eq!((at - Duration::from_secs(2)).as_millis(), -500);
        assert_eq!(Timestamp::MAX + Duration::MAX, Timestamp::MAX);
        assert_eq!(at.since(Timestamp::EPOCH), Duration::from_millis(1_500));
        assert_eq!(Timestamp::EPOCH.since(at), Duration::ZERO);
    }

    #[test]
    fn system_time_converts_on_both_sides_of_1970() {
        let day = Duration::from_secs(86_400);
        for (time, millis) in [
            (SystemTime::UNIX_EPOCH + day, 86_400_000),
            (SystemTime::UNIX_EPOCH - day, -86_400_000),
        ] {
            assert_eq!(Timestamp::from(time), Timestamp::from_millis(millis));
        }
    }
}
