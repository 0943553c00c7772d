//! The hosts that sessions came from.

use backstory_model::Timestamp;
use serde::Serialize;

use crate::{Store, StoreError, sql::Statements as _};

/// Holds a host and its last event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostSeen {
    /// The name.
    pub host: String,
    /// The number of stored sessions.
    pub sessions: u64,
    /// The last event.
    pub last_at: Timestamp,
}

impl Store {
    /// Lists the hosts, the one with the latest event first.
    pub fn hosts(&self) -> Result<Vec<HostSeen>, StoreError> {
        const HOSTS: &str = "select host, count(*) as sessions, max(last_event_at) as last_at
            from session group by host order by last_at desc, host";
        self.read("list hosts", |connection| {
            connection.rows(HOSTS, [], |row| {
                Ok(HostSeen {
                    host: row.get("host")?,
                    sessions: row.get("sessions")?,
                    last_at: row.get("last_at")?,
                })
            })
        })
    }
}
