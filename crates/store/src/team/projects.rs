//! Projects whose memories are shared.

use backstory_model::Timestamp;
use rusqlite::{Row, params};

use crate::{Store, StoreError, sql::Statements as _};

/// Holds how a project is shared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamProject {
    /// The key of the project in this store.
    pub project_key: String,
    /// The key that signatures cover.
    pub shared_key: String,
    /// The person's mode of sharing: `off`, `manual`, `review` or `auto`.
    pub share_mode: String,
    /// Only memories from then on are proposed.
    pub enrolled_at: Timestamp,
    /// The number of the project on the server.
    pub remote_id: Option<i32>,
    /// The epoch of the cursor.
    pub epoch: Option<String>,
    /// The last sequence number that was applied.
    pub cursor: i64,
    /// The server's policy.
    pub policy: Option<String>,
    /// The role on the server.
    pub role: Option<String>,
    /// The last successful exchange with the server.
    pub synced_at: Option<Timestamp>,
    /// The last failure since then.
    pub last_error: Option<String>,
}

const COLUMNS: &str =
    "select project_key, shared_key, share_mode, enrolled_at, remote_id, epoch, cursor, policy, role,
        synced_at, last_error from team_project";

impl Store {
    /// Returns how a project is shared; `None` if it is not.
    pub fn team_project(&self, project_key: &str) -> Result<Option<TeamProject>, StoreError> {
        self.read("read a shared project", |connection| {
            let sql = format!("{COLUMNS} where project_key = ?1");
            connection.optional_row(&sql, [project_key], read)
        })
    }

    /// Returns all shared projects, by key.
    pub fn team_projects(&self) -> Result<Vec<TeamProject>, StoreError> {
        self.read("read the shared projects", |connection| {
            connection.rows(&format!("{COLUMNS} order by project_key"), [], read)
        })
    }

    /// Stores how a project is shared.
    pub fn put_team_project(&mut self, project: &TeamProject) -> Result<(), StoreError> {
        const PUT: &str = "insert or replace into team_project (project_key, shared_key, share_mode, enrolled_at, remote_id,
                epoch, cursor, policy, role, synced_at, last_error)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
        self.write("store a shared project", |tx| {
            let values = params![
                project.project_key,
                project.shared_key,
                project.share_mode,
                project.enrolled_at,
                project.remote_id,
                project.epoch,
                project.cursor,
                project.policy,
                project.role,
                project.synced_at,
                project.last_error,
            ];
            tx.run(PUT, values).map(drop)
        })
    }

    /// Records the last failure of the exchange with the server, or that it works again.
    pub fn set_team_error(&mut self, project_key: &str, error: Option<&str>) -> Result<(), StoreError> {
        const SET: &str = "update team_project set last_error = ?2 where project_key = ?1";
        self.write("store a shared project", |tx| {
            tx.run(SET, params![project_key, error]).map(drop)
        })
    }

    /// Starts over with a project whose server was restored: everything is read and sent again.
    pub fn restart_team_project(&mut self, project_key: &str) -> Result<(), StoreError> {
        const RESTART: &str = "update team_project set cursor = 0, epoch = null where project_key = ?1";
        const UNSENT: &str = "update team_share set acked_version = 0 where project_key = ?1";
        const OPINIONS: &str = "update team_opinion set unsent = 1 where account_id = 0 and record_id in (
            select record_id from team_memory join project on project.id = project_id where project.key = ?1)";
        self.write("start over with a shared project", |tx| {
            tx.run(RESTART, [project_key])?;
            tx.run(OPINIONS, [project_key])?;
            tx.run(UNSENT, [project_key]).map(drop)
        })
    }

    /// Detaches all projects from the server. Modes and approvals stay, so that packs go on working.
    pub fn detach_team_projects(&mut self) -> Result<(), StoreError> {
        const DETACH: &str =
            "update team_project set remote_id = null, epoch = null, cursor = 0, policy = null, role = null,
            synced_at = null, last_error = null";
        const UNSENT: &str = "update team_share set acked_version = 0";
        self.write("leave the team", |tx| {
            tx.run(DETACH, [])?;
            tx.run("delete from team_opinion where account_id <> 0", [])?;
            tx.run(UNSENT, []).map(drop)
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<TeamProject> {
    Ok(TeamProject {
        project_key: row.get("project_key")?,
        shared_key: row.get("shared_key")?,
        share_mode: row.get("share_mode")?,
        enrolled_at: row.get("enrolled_at")?,
        remote_id: row.get("remote_id")?,
        epoch: row.get("epoch")?,
        cursor: row.get("cursor")?,
        policy: row.get("policy")?,
        role: row.get("role")?,
        synced_at: row.get("synced_at")?,
        last_error: row.get("last_error")?,
    })
}
