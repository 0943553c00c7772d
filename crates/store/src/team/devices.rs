//! Devices of other people, and the keys that verify their records.

use backstory_model::Timestamp;
use rusqlite::{Row, params};

use crate::{Store, StoreError, sql::Statements as _};

/// Holds a device of another person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamDevice {
    /// The id.
    pub device_id: [u8; 16],
    /// The account on the server; absent if it is known from a pack only.
    pub account_id: Option<i64>,
    /// The person's name.
    pub name: String,
    /// The key that verifies its records. It never changes: another key for the same device is refused.
    pub public_key: [u8; 32],
    /// Records are accepted: it was the first device of this person, or the user confirmed it.
    pub is_trusted: bool,
    /// The time at which the key was first seen.
    pub pinned_at: Timestamp,
}

const COLUMNS: &str =
    "select device_id, account_id, name, public_key, is_trusted, pinned_at from team_device";

impl Store {
    /// Returns a device.
    pub fn team_device(&self, device_id: [u8; 16]) -> Result<Option<TeamDevice>, StoreError> {
        self.read("read the devices of the team", |connection| {
            connection.optional_row(&format!("{COLUMNS} where device_id = ?1"), [device_id], read)
        })
    }

    /// Returns all devices, by name.
    pub fn team_devices(&self) -> Result<Vec<TeamDevice>, StoreError> {
        self.read("read the devices of the team", |connection| {
            connection.rows(
                &format!("{COLUMNS} order by name, pinned_at, device_id"),
                [],
                read,
            )
        })
    }

    /// Stores a device on first use. It is trusted unless another device of the same account is known. Of a known device only
    /// name and account follow. Returns the device as it is stored.
    pub fn pin_team_device(&mut self, device: &TeamDevice) -> Result<TeamDevice, StoreError> {
        const PIN: &str =
            "insert into team_device (device_id, account_id, name, public_key, is_trusted, pinned_at)
            values (?1, ?2, ?3, ?4, not exists (select 1 from team_device where account_id = ?2), ?5)
            on conflict (device_id) do update set name = excluded.name,
                account_id = coalesce(excluded.account_id, account_id)
            where public_key = excluded.public_key
            returning device_id, account_id, name, public_key, is_trusted, pinned_at";
        self.write("store a device of the team", |tx| {
            let values = params![
                device.device_id,
                device.account_id,
                device.name,
                device.public_key,
                device.pinned_at
            ];
            // Another key for a known device changes nothing.
            match tx.optional_row(PIN, values, read)? {
                Some(pinned) => Ok(pinned),
                None => tx.row(
                    &format!("{COLUMNS} where device_id = ?1"),
                    [device.device_id],
                    read,
                ),
            }
        })
    }

    /// Trusts the devices of a person whom the user names, and reads all projects again, because their records were
    /// quarantined. Returns the number of devices that were not trusted before.
    pub fn trust_team_devices(&mut self, name: &str) -> Result<usize, StoreError> {
        const TRUST: &str = "update team_device set is_trusted = 1 where name = ?1 and is_trusted = 0";
        const READ_AGAIN: &str = "update team_project set cursor = 0";
        self.write("trust the devices of a person", |tx| {
            let trusted = tx.run(TRUST, [name])?;
            if trusted > 0 {
                tx.run(READ_AGAIN, [])?;
            }
            Ok(trusted)
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<TeamDevice> {
    Ok(TeamDevice {
        device_id: row.get("device_id")?,
        account_id: row.get("account_id")?,
        name: row.get("name")?,
        public_key: row.get("public_key")?,
        is_trusted: row.get("is_trusted")?,
        pinned_at: row.get("pinned_at")?,
    })
}
