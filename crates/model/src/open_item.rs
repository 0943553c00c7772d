//! Keys of open items: steps of a project that a session left to do.

use std::{fmt, str::FromStr};

/// Identifies an open item within its project: a hash of its words, so that the same step in a later hand-over has the
/// same key.
///
/// Printed as letters from `k` to `z`, which no handle and no number consists of. The first few are enough to name an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OpenItemKey(u64);

/// One letter per four bits.
const LETTERS: &[u8; 16] = b"klmnopqrstuvwxyz";

impl OpenItemKey {
    /// Letters that are shown: two of a hundred items share them less than once in ten projects.
    pub const SHORT: usize = 4;

    /// Wraps a hash.
    pub const fn new(hash: u64) -> Self {
        Self(hash)
    }

    /// Returns the hash.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the letters that name the item in a list.
    pub fn short(self) -> String {
        let mut letters = self.to_string();
        letters.truncate(Self::SHORT);
        letters
    }

    /// Reports whether the letters of the key begin with a text.
    pub fn starts_with(self, letters: &str) -> bool {
        self.to_string().starts_with(letters)
    }
}

impl fmt::Display for OpenItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = (0..16).rev().map(|at| (self.0 >> (4 * at)) & 15);
        digits
            .filter_map(|digit| LETTERS.get(usize::try_from(digit).ok()?))
            .try_for_each(|&letter| fmt::Write::write_char(f, char::from(letter)))
    }
}

impl FromStr for OpenItemKey {
    type Err = ParseOpenItemKeyError;

    /// Parses all letters of a key; a beginning is not enough.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digit = |letter: u8| LETTERS.iter().position(|known| *known == letter);
        let digits: Option<Vec<usize>> = text.bytes().map(digit).collect();
        let digits = digits
            .filter(|digits| digits.len() == 16)
            .ok_or(ParseOpenItemKeyError)?;
        Ok(Self(
            digits.into_iter().fold(0, |hash, digit| hash << 4 | digit as u64),
        ))
    }
}

/// Reports a text that is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the key of an open item has 16 letters from `k` to `z`")]
pub struct ParseOpenItemKeyError;

#[cfg(feature = "rusqlite")]
impl rusqlite::ToSql for OpenItemKey {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        Ok(self.0.cast_signed().into())
    }
}

#[cfg(feature = "rusqlite")]
impl rusqlite::types::FromSql for OpenItemKey {
    fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
        i64::column_result(value).map(|hash| Self(hash.cast_unsigned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_in_letters_that_no_handle_has() {
        let key = OpenItemKey::new(0x0123_4567_89ab_cdef);
        assert_eq!(key.to_string(), "klmnopqrstuvwxyz");
        assert_eq!(key.short(), "klmn");
        assert!(key.starts_with("klm") && !key.starts_with("lm"));
        assert!(key.short().parse::<crate::Handle>().is_err());
        assert_eq!(key.to_string().parse(), Ok(key));
        for wrong in ["", "klmn", "abcdefghijklmnop", "klmnopqrstuvwxyzk"] {
            assert_eq!(
                wrong.parse::<OpenItemKey>(),
                Err(ParseOpenItemKeyError),
                "{wrong}"
            );
        }
    }
}
