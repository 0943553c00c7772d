//! Ids on the wire. They are unrelated to the row ids of a local database.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Reports a text that is no id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an id of 32 hexadecimal digits")]
pub struct ParseIdError;

macro_rules! byte_ids {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub [u8; 16]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&backstory_text::hex(&self.0))
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                parse(text).map(Self)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    )+};
}

byte_ids! {
    /// Identifies a record: the first half of a hash of what was first shared.
    RecordId;
    /// Identifies a machine. Made by the machine itself.
    DeviceId;
    /// Identifies the history of a shared project; replaced after the server was restored.
    Epoch;
}

/// Identifies a person on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AccountId(pub i64);

/// Identifies a shared project on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SharedProjectId(pub i32);

impl fmt::Display for AccountId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SharedProjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn parse(text: &str) -> Result<[u8; 16], ParseIdError> {
    let mut digits = text.bytes().filter(|byte| *byte != b'-');
    let mut id = [0; 16];
    for byte in &mut id {
        *byte = digit(digits.next())? << 4 | digit(digits.next())?;
    }
    if digits.next().is_some() {
        return Err(ParseIdError);
    }
    Ok(id)
}

fn digit(byte: Option<u8>) -> Result<u8, ParseIdError> {
    match byte {
        Some(byte @ b'0'..=b'9') => Ok(byte - b'0'),
        Some(byte @ b'a'..=b'f') => Ok(byte - b'a' + 10),
        Some(byte @ b'A'..=b'F') => Ok(byte - b'A' + 10),
        _ => Err(ParseIdError),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_with_and_without_hyphens() {
        let id = RecordId(*b"0123456789abcdef");
        let text = id.to_string();
        assert_eq!(text, "30313233343536373839616263646566");
        assert_eq!(text.parse(), Ok(id));
        assert_eq!("30313233-3435-3637-3839-616263646566".parse(), Ok(id));
        for wrong in ["", "30", "3031323334353637383961626364656g", &format!("{text}0")] {
            assert_eq!(wrong.parse::<RecordId>(), Err(ParseIdError), "{wrong}");
        }
    }
}
