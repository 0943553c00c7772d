//! Own memories that are, were or may be shared.

use backstory_model::{Handle, Timestamp};
use rusqlite::{Connection, Row, params};

use crate::{Store, StoreError, memory::stored, sql::Statements as _};

/// Holds the state of an own memory that is, was or may be shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The id of the record.
    pub record_id: [u8; 16],
    /// The memory; it may be gone if the record was withdrawn.
    pub handle: Handle,
    /// The key of the project.
    pub project_key: String,
    /// The state.
    pub state: ShareState,
    /// Increases with every change.
    pub version: u32,
    /// The last version that the server has stored or refused.
    pub acked_version: u32,
    /// The signed text.
    pub body: Option<String>,
    /// The signature.
    pub signature: Option<Vec<u8>>,
    /// One line for lists.
    pub title: Option<String>,
    /// Why it was blocked, refused or withdrawn.
    pub reason: Option<String>,
    /// The last change of the state.
    pub changed_at: Timestamp,
}

/// The states of a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShareState {
    /// Waits for a person's approval.
    Pending,
    /// Approved: it is in packs, and is or will be on the server.
    Approved,
    /// A person decided to keep it local.
    Kept,
    /// A check forbids sharing it.
    Blocked,
    /// Taken back or forgotten.
    Withdrawn,
}

impl ShareState {
    const ALL: [Self; 5] = [
        Self::Pending,
        Self::Approved,
        Self::Kept,
        Self::Blocked,
        Self::Withdrawn,
    ];

    /// Returns the name used in the database and outside.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Kept => "kept",
            Self::Blocked => "blocked",
            Self::Withdrawn => "withdrawn",
        }
    }
}

const COLUMNS: &str =
    "select record_id, kind, memory_id, project_key, state, version, acked_version, body, signature, title,
        reason, changed_at from team_share";

impl Store {
    /// Returns the share of a memory.
    pub fn share_of(&self, handle: Handle) -> Result<Option<Share>, StoreError> {
        self.read("read what is shared", |connection| {
            let handle = stored::resolve(connection, handle)?;
            let sql = format!("{COLUMNS} where kind = ?1 and memory_id = ?2");
            connection.optional_row(&sql, params![handle.kind, handle.id], read)
        })
    }

    /// Returns the share of a record. Its memory may have another number than that of a memory with the same origin: the
    /// database was restored or salvaged since.
    pub fn share_of_record(&self, record_id: [u8; 16]) -> Result<Option<Share>, StoreError> {
        self.read("read what is shared", |connection| {
            let sql = format!("{COLUMNS} where record_id = ?1");
            connection.optional_row(&sql, [record_id], read)
        })
    }

    /// Returns the shares of one project or of all, by record.
    pub fn shares(&self, project_key: Option<&str>) -> Result<Vec<Share>, StoreError> {
        self.read("read what is shared", |connection| {
            let sql = format!("{COLUMNS} where ?1 is null or project_key = ?1 order by record_id");
            connection.rows(&sql, [project_key], read)
        })
    }

    /// Stores a share; its record has one row.
    pub fn put_share(&mut self, share: &Share) -> Result<(), StoreError> {
        const PUT: &str =
            "insert into team_share (record_id, kind, memory_id, project_key, state, version, acked_version,
                body, signature, title, reason, changed_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
            on conflict (record_id) do update set kind = excluded.kind, memory_id = excluded.memory_id,
                project_key = excluded.project_key, state = excluded.state, version = excluded.version,
                acked_version = excluded.acked_version, body = excluded.body, signature = excluded.signature,
                title = excluded.title, reason = excluded.reason, changed_at = excluded.changed_at";
        self.write("store what is shared", |tx| {
            let values = params![
                share.record_id,
                share.handle.kind,
                share.handle.id,
                share.project_key,
                share.state.name(),
                share.version,
                share.acked_version,
                share.body,
                share.signature,
                share.title,
                share.reason,
                share.changed_at,
            ];
            tx.run(PUT, values).map(drop)
        })
    }

    /// Withdraws a record: what remains is a deletion to be sent. Returns false if it was never approved.
    pub fn withdraw(&mut self, record_id: [u8; 16], now: Timestamp) -> Result<bool, StoreError> {
        const WITHDRAW: &str =
            "update team_share set state = 'withdrawn', version = version + 1, body = null, signature = null,
                title = null, reason = 'unshared', changed_at = ?2
            where record_id = ?1 and state = 'approved'";
        self.write("withdraw a memory", |tx| {
            Ok(tx.run(WITHDRAW, params![record_id, now])? > 0)
        })
    }

    /// Returns true if a record is one of this store's own.
    pub fn has_share(&self, record_id: [u8; 16]) -> Result<bool, StoreError> {
        self.read("read what is shared", |connection| {
            connection.has_row("select 1 from team_share where record_id = ?1", [record_id])
        })
    }

    /// Returns true if a project of the server has something to send: records, deletions or opinions.
    pub fn has_unsent_shares(&self) -> Result<bool, StoreError> {
        const UNSENT: &str = "select 1 from team_share join team_project using (project_key)
            where acked_version < version and state in ('approved', 'withdrawn') and remote_id is not null
                and role <> 'reader'
            union all select 1 from team_opinion join team_memory using (record_id)
                join project on project.id = team_memory.project_id join team_project on project_key = project.key
            where team_opinion.account_id = 0 and unsent = 1 and pack is null and remote_id is not null
                and role <> 'reader'";
        self.read("read what is shared", |connection| connection.has_row(UNSENT, []))
    }

    /// Records the answer of the server to a version.
    pub fn acknowledge_share(
        &mut self,
        record_id: [u8; 16],
        version: u32,
        refused: Option<&str>,
    ) -> Result<(), StoreError> {
        const ACKNOWLEDGE: &str = "update team_share set acked_version = max(acked_version, ?2),
                reason = case when state = 'withdrawn' then reason else ?3 end
            where record_id = ?1";
        self.write("store what is shared", |tx| {
            tx.run(ACKNOWLEDGE, params![record_id, version, refused])
                .map(drop)
        })
    }

    /// Returns the distilled memories of a project that may be proposed: of these types, made since a time, with no share
    /// and not superseded, the oldest first.
    pub fn shareable(
        &self,
        project_key: &str,
        types: &[&str],
        since: Timestamp,
        limit: u32,
    ) -> Result<Vec<Handle>, StoreError> {
        const SHAREABLE: &str =
            "select observation.id as id from observation join project on project.id = project_id
            where project.key = ?1 and observation.created_at >= ?2 and superseded_by is null
                and type in (select value from json_each(?3)) and external_id is null
                and not exists (select 1 from team_share
                    where team_share.kind = 'observation' and team_share.memory_id = observation.id)
            order by observation.created_at, observation.id limit ?4";
        let types: Vec<String> = types.iter().map(|name| (*name).to_owned()).collect();
        self.read("look for memories to share", |connection| {
            let values = params![project_key, since, crate::sql::json_list(&types), limit];
            connection.rows(SHAREABLE, values, |row| {
                row.get("id").map(|id: backstory_model::ObservationId| id.into())
            })
        })
    }
}

/// Turns the shares of forgotten memories, which are in `temp.going`, into deletions. The content is gone at once.
pub(crate) fn forget_shares(connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
    const DROP: &str = "delete from team_share where state not in ('approved', 'withdrawn') and exists (
        select 1 from going where going.kind = team_share.kind and going.id = team_share.memory_id)";
    const WITHDRAW: &str =
        "update team_share set state = 'withdrawn', version = version + 1, body = null, signature = null, title = null,
            reason = 'forgotten', changed_at = ?1
        where state = 'approved' and exists (
            select 1 from going where going.kind = team_share.kind and going.id = team_share.memory_id)";
    connection.execute(DROP, [])?;
    connection.execute(WITHDRAW, [now]).map(drop)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Share> {
    let state = row.get_ref("state")?.as_str()?;
    let state = ShareState::ALL.into_iter().find(|known| known.name() == state);
    Ok(Share {
        record_id: row.get("record_id")?,
        handle: Handle {
            kind: row.get("kind")?,
            id: row.get("memory_id")?,
        },
        project_key: row.get("project_key")?,
        // The column has a check.
        state: state.unwrap_or(ShareState::Kept),
        version: row.get("version")?,
        acked_version: row.get("acked_version")?,
        body: row.get("body")?,
        signature: row.get("signature")?,
        title: row.get("title")?,
        reason: row.get("reason")?,
        changed_at: row.get("changed_at")?,
    })
}
