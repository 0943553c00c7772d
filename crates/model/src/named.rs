//! Enums whose values have names outside of the program: in the database, in JSON and on the command line.

/// Declares an enum with one name per value. The names are a contract: they are stored and sent.
macro_rules! named_enum {
    ($(#[$meta:meta])* pub enum $enum:ident {
        $($(#[$doc:meta])* $value:ident = $name:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $enum {
            $($(#[$doc])* $value,)+
        }

        impl $enum {
            /// All values, in the order of their declaration.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$value,)+];

            /// The names of all values, in the order of their declaration.
            pub const NAMES: [&'static str; Self::ALL.len()] = [$($name,)+];

            /// Returns the name used in the database and outside.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }

            /// Finds the value that [`name`](Self::name) spells this way.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        impl std::fmt::Display for $enum {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl serde::Serialize for $enum {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $enum {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                Self::from_name(&name)
                    .ok_or_else(|| serde::de::Error::unknown_variant(&name, &[$($name,)+]))
            }
        }

        #[cfg(feature = "rusqlite")]
        impl rusqlite::ToSql for $enum {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(self.name().into())
            }
        }

        #[cfg(feature = "rusqlite")]
        impl rusqlite::types::FromSql for $enum {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                let name = value.as_str()?;
                let unknown = || format!("`{name}` is no {}", stringify!($enum));
                Self::from_name(name).ok_or_else(|| rusqlite::types::FromSqlError::Other(unknown().into()))
            }
        }
    };
}

pub(crate) use named_enum;
