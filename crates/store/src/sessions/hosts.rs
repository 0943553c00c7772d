//! Which hosts were heard of.

use backstory_model::Timestamp;
use serde::Serialize;

use crate::{Store, StoreError, schema::open::query};

/// A host, and when it was last heard of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostSeen {
    /// Its name.
    pub host: String,
    /// How many of its sessions are remembered.
    pub sessions: u64,
    /// When its last event came, in milliseconds since 1970.
    pub last_at: Timestamp,
}

impl Store {
    /// Returns the hosts, the one that was heard of last first.
    pub fn hosts(&self) -> Result<Vec<HostSeen>, StoreError> {
        const HOSTS: &str =
            "select host, count(*), max(last_event_at) from session group by host order by 3 desc, 1";
        let attempt = query("look for hosts");
        let mut statement = self.connection.prepare_cached(HOSTS).map_err(attempt)?;
        let rows = statement.query_map([], |row| {
            Ok(HostSeen {
                host: row.get(0)?,
                sessions: row.get(1)?,
                last_at: row.get(2)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }
}
