//! Row ids, one type per table, so that two ids cannot be confused.

use std::fmt;

use serde::Serialize;

macro_rules! id_types {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(transparent)]
        pub struct $name(i64);

        impl $name {
            /// Wraps the number of a row.
            pub const fn new(number: i64) -> Self {
                Self(number)
            }

            /// Returns the number of the row.
            pub const fn get(self) -> i64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        #[cfg(feature = "rusqlite")]
        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                self.0.to_sql()
            }
        }

        #[cfg(feature = "rusqlite")]
        impl rusqlite::types::FromSql for $name {
            fn column_result(value: rusqlite::types::ValueRef<'_>) -> rusqlite::types::FromSqlResult<Self> {
                i64::column_result(value).map(Self)
            }
        }
    )+};
}

id_types! {
    /// Identifies a project in the database. Outside of it, a project is identified by its key.
    ProjectId;
    /// Identifies a session in the database. The agent's own id of a session is a string, `session_id`.
    SessionId;
    /// Identifies a turn.
    TurnId;
    /// Identifies an episode of a session.
    EpisodeId;
    /// Identifies an event.
    EventId;
    /// Identifies an observation. Its handle is the same number.
    ObservationId;
    /// Identifies a summary.
    SummaryId;
    /// Identifies a searchable document. The upper bits are the project.
    DocumentId;
    /// Identifies an entry of the change log; later changes have higher numbers.
    ChangeId;
    /// Identifies a call in the ledger.
    CallId;
    /// Identifies an invocation: a hash of the parts of a command that two runs of it share.
    CommandKey;
}
