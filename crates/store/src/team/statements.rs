//! The statements of a team, for whoever looks for disagreement among them. What disagrees is decided elsewhere.

use backstory_model::{Handle, Timestamp};

use crate::{Opinions, Store, StoreError, sql::Statements as _, team::opinions};

/// A memory that a team has, as one person states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TeamStatement {
    /// The memory.
    pub handle: Handle,
    /// The id of the record.
    pub record_id: [u8; 16],
    /// The key of the project.
    pub project_key: String,
    /// The person; absent for the user.
    pub author: Option<String>,
    /// The type; absent for a note without one.
    pub type_name: Option<String>,
    /// One line.
    pub title: String,
    /// The commit that it was made on.
    pub commit: Option<String>,
    /// The time at which it was made.
    pub created_at: Timestamp,
    /// What people think of it.
    pub opinions: Opinions,
    /// Statements of others that replace it and that the user has neither accepted nor rejected.
    pub replaced_by: Vec<Handle>,
}

/// The most statements that are looked at, the newest first.
const MAX_STATEMENTS: u32 = 1_000;

impl Store {
    /// Returns what the user's team says and the user has not rejected: memories of others, and own ones that are shared.
    pub fn team_statements(&self) -> Result<Vec<TeamStatement>, StoreError> {
        let statements = format!(
            "select 'team' as kind, team_memory.id as id, team_memory.record_id as record_id, project.key as project_key,
                author, type, title, commit_id, team_memory.created_at as created_at
            from team_memory join project on project.id = team_memory.project_id where {}
            union all select kind, memory_id, record_id, project_key, null,
                coalesce((select type from observation where kind = 'observation' and observation.id = memory_id),
                    (select type from note where kind = 'note' and note.id = memory_id)),
                coalesce(title, ''), null, changed_at
            from team_share where state = 'approved'
            order by created_at desc, id desc limit ?1",
            opinions::TOLD
        );
        const REPLACED_BY: &str = "select team_memory.id as id
            from team_replaced join team_memory on team_memory.id = by_id
            where team_replaced.record_id = ?1 and quarantine is null
                and not exists (select 1 from team_opinion as own
                    where own.record_id = team_memory.record_id and own.account_id = 0
                        and (own.verdict < 0 or own.superseded_by = ?1))";
        self.read("read the statements of the team", |connection| {
            let mut found = connection.rows(&statements, [MAX_STATEMENTS], |row| {
                Ok(TeamStatement {
                    handle: Handle {
                        kind: row.get("kind")?,
                        id: row.get("id")?,
                    },
                    record_id: row.get("record_id")?,
                    project_key: row.get("project_key")?,
                    author: row.get("author")?,
                    type_name: row.get("type")?,
                    title: row.get("title")?,
                    commit: row.get("commit_id")?,
                    created_at: row.get("created_at")?,
                    opinions: Opinions::default(),
                    replaced_by: Vec::new(),
                })
            })?;
            for statement in &mut found {
                statement.opinions = opinions::of_record(connection, &statement.record_id)?;
                statement.replaced_by = connection.rows(REPLACED_BY, [statement.record_id], |row| {
                    row.get("id").map(opinions::team_handle)
                })?;
            }
            Ok(found)
        })
    }
}
