//! The hosts that sessions came from.

use backstory_model::Timestamp;
use rusqlite::Row;
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
        self.read("list hosts", |connection| connection.rows(HOSTS, [], seen))
    }

    /// Lists the hosts whose hooks have reported sessions, the one with the latest event first.
    pub fn live_hosts(&self) -> Result<Vec<HostSeen>, StoreError> {
        const LIVE: &str = "select host, count(*) as sessions, max(last_event_at) as last_at from session
            where exists (select 1 from event where session_db_id = session.id and source = 'hook')
            group by host order by last_at desc, host";
        self.read("list hosts", |connection| connection.rows(LIVE, [], seen))
    }
}

fn seen(row: &Row<'_>) -> rusqlite::Result<HostSeen> {
    Ok(HostSeen {
        host: row.get("host")?,
        sessions: row.get("sessions")?,
        last_at: row.get("last_at")?,
    })
}
