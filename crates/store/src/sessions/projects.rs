//! Projects: finding them by identity, name or path.

use std::collections::HashMap;

use backstory_model::{ProjectId, ProjectIdentity, Timestamp};
use rusqlite::{Connection, Row, Transaction, params};
use serde::Serialize;

use crate::{Store, StoreError, memory::documents, sql::Statements as _};

/// Holds a code base that sessions worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Project {
    /// The database id.
    #[serde(skip)]
    pub db_id: ProjectId,
    /// The key: the normalized remote or a path.
    pub id: String,
    /// The display name.
    pub name: String,
    /// The main working tree when it was first seen.
    pub root: String,
}

/// Holds a project with its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectCard {
    /// The project.
    pub project: Project,
    /// The number of sessions.
    pub sessions: u64,
    /// The number of observations.
    pub observations: u64,
    /// The last event.
    pub last_event_at: Option<Timestamp>,
}

/// Holds a folder that belongs to a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFolder {
    /// The key of the project.
    pub key: String,
    /// The folder.
    pub path: String,
    /// True for the root of a working tree, false for any folder inside.
    pub is_root: bool,
    /// The time since which it is known.
    pub since: Timestamp,
}

/// Reports why a project was not found.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// No project has this name.
    #[error("no project is called `{0}`")]
    Unknown(String),
    /// Several projects have this name.
    #[error("`{name}` names {} projects: {}", .ids.len(), .ids.join(", "))]
    Ambiguous {
        /// The given name.
        name: String,
        /// The keys to choose from.
        ids: Vec<String>,
    },
    /// The query failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

const BY_KEY: &str = "select id, key, name, root from project where key = ?1";

impl Store {
    /// Finds a project by its key. Hooks never search by path: the folder may have held another project before.
    pub fn project_with_id(&self, key: &str) -> Result<Option<Project>, StoreError> {
        self.read("look for a project", |connection| {
            connection.optional_row(BY_KEY, [key], read)
        })
    }

    /// Returns the project of a folder. An unknown project gets id 0, which no row has: it has no memories of its own, and
    /// memories that apply everywhere apply to it.
    pub fn project_of(&self, identity: &ProjectIdentity) -> Result<Project, StoreError> {
        let known = self.project_with_id(&identity.key)?;
        Ok(known.unwrap_or_else(|| Project {
            db_id: ProjectId::new(0),
            id: identity.key.clone(),
            name: identity.name.clone(),
            root: identity.root.clone(),
        }))
    }

    /// Finds a project as the user names it: by its key, the path of its root, or its display name.
    pub fn project(&self, named: &str) -> Result<Project, ProjectError> {
        const BY_ROOT: &str = "select id, key, name, root from project where root = ?1";
        const BY_NAME: &str = "select id, key, name, root from project where name = ?1 order by key limit 20";
        for sql in [BY_KEY, BY_ROOT, BY_NAME] {
            let mut found = self.read("look for a project", |connection| {
                connection.rows(sql, [named], read)
            })?;
            match found.len() {
                0 => {}
                1 => return Ok(found.remove(0)),
                _ => {
                    let ids = found.into_iter().map(|project| project.id).collect();
                    return Err(ProjectError::Ambiguous {
                        name: named.to_owned(),
                        ids,
                    });
                }
            }
        }
        Err(ProjectError::Unknown(named.to_owned()))
    }

    /// Lists all projects, the one with the latest event first.
    pub fn projects(&self) -> Result<Vec<ProjectCard>, StoreError> {
        const ALL: &str = "select id, key, name, root,
                (select count(*) from session where project_id = project.id) as sessions,
                (select count(*) from observation where project_id = project.id) as observations,
                (select max(last_event_at) from session where project_id = project.id) as last_event_at
            from project order by last_event_at desc nulls last, id desc";
        self.read("list the projects", |connection| {
            connection.rows(ALL, [], |row| {
                Ok(ProjectCard {
                    project: read(row)?,
                    sessions: row.get("sessions")?,
                    observations: row.get("observations")?,
                    last_event_at: row.get("last_event_at")?,
                })
            })
        })
    }

    /// Lists the projects of the latest sessions, the latest first.
    pub fn recent_projects(&self, limit: u32) -> Result<Vec<Project>, StoreError> {
        const RECENT: &str = "select id, key, name, root from (
                select project_id, max(last_event_at) as last_at from (
                    select project_id, last_event_at from session indexed by session_by_time
                    order by last_event_at desc limit 500)
                group by project_id order by last_at desc limit ?1) cross join project on project.id = project_id";
        self.read("list the latest projects", |connection| {
            connection.rows(RECENT, [limit], read)
        })
    }

    /// Lists the folders of all projects: their roots, the folders in which sessions started, and worktrees. Each is listed with
    /// the time since which it is known.
    pub fn project_folders(&self) -> Result<Vec<ProjectFolder>, StoreError> {
        const FOLDERS: &str = "select key, root as path, 1 as is_root, created_at as since from project
            union all select key, cwd, 0, min(started_at) from session join project on project.id = project_id
                where cwd is not null group by key, cwd
            union all select key, worktree, 1, min(started_at) from session join project on project.id = project_id
                where worktree is not null group by key, worktree";
        self.read("list the folders of projects", |connection| {
            connection.rows(FOLDERS, [], |row| {
                Ok(ProjectFolder {
                    key: row.get("key")?,
                    path: row.get("path")?,
                    is_root: row.get("is_root")?,
                    since: row.get("since")?,
                })
            })
        })
    }

    /// Returns the project of a session; `None` if no event of the session was ingested.
    pub fn session_project(&self, session_id: &str) -> Result<Option<Project>, StoreError> {
        const OF_SESSION: &str =
            "select project.id, key, name, root from session join project on project.id = project_id
            where session_id = ?1";
        self.read("look for the project of a session", |connection| {
            connection.optional_row(OF_SESSION, [session_id], read)
        })
    }

    /// Adds a project, so that imported lines can name it by its key.
    pub fn add_project(&mut self, identity: &ProjectIdentity, now: Timestamp) -> Result<(), StoreError> {
        self.write("add a project", |tx| find_or_create(tx, identity, now).map(drop))
    }

    /// Moves all sessions and memories of a project to another one, which is created if it is new. Returns the number of
    /// memories; 0 if there is no such project.
    pub fn move_project(
        &mut self,
        key: &str,
        target: &ProjectIdentity,
        now: Timestamp,
    ) -> Result<u64, StoreError> {
        const MOVE: [&str; 5] = [
            "update session set project_id = ?2 where project_id = ?1",
            "update observation set project_id = ?2 where project_id = ?1",
            "update summary set project_id = ?2 where project_id = ?1",
            "update note set project_id = ?2 where project_id = ?1",
            "update passage set project_id = ?2 where project_id = ?1",
        ];
        self.write("move a project", |tx| {
            let Some(from) = tx.optional_row(BY_KEY, [key], read)? else {
                return Ok(0);
            };
            let target = find_or_create(tx, target, now)?;
            if from.db_id == target {
                return Ok(0);
            }
            for sql in MOVE {
                tx.run(sql, params![from.db_id, target])?;
            }
            let moved = documents::move_all(tx, from.db_id)?;
            tx.run("delete from project where id = ?1", [from.db_id])?;
            Ok(moved)
        })
    }

    /// Counts the observations, summaries and notes of a project, up to a limit.
    pub fn count_memories(&self, key: &str, limit: u32) -> Result<u32, StoreError> {
        const COUNT: &str = "select (select count(*) from (
                select 1 from observation where project_id = project.id
                union all select 1 from summary where project_id = project.id
                union all select 1 from note where project_id = project.id limit ?2)) as number
            from project where key = ?1";
        self.read("count memories", |connection| {
            let count = connection.optional_row(COUNT, params![key, limit], |row| row.get("number"))?;
            Ok(count.unwrap_or_default())
        })
    }

    /// Returns the display names of all projects by key.
    pub fn project_names(&self) -> Result<HashMap<String, String>, StoreError> {
        self.read("list the projects", |connection| {
            let names = connection.rows("select key, name from project", [], |row| {
                Ok((row.get("key")?, row.get("name")?))
            })?;
            Ok(names.into_iter().collect())
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Project> {
    Ok(Project {
        db_id: row.get("id")?,
        id: row.get("key")?,
        name: row.get("name")?,
        root: row.get("root")?,
    })
}

/// Returns the id of a project; creates it if it is new. A project that an import knew by its key alone gets its name and root.
pub(crate) fn find_or_create(
    tx: &Transaction<'_>,
    identity: &ProjectIdentity,
    now: Timestamp,
) -> rusqlite::Result<ProjectId> {
    const FIND: &str = "select id, key, name, root from project where key = ?1";
    const COMPLETE: &str = "update project set name = ?2, root = ?3 where id = ?1";
    const CREATE: &str =
        "insert into project (key, name, root, created_at) values (?1, ?2, ?3, ?4) returning id";
    if let Some(known) = tx.optional_row(FIND, [&identity.key], read)? {
        let is_unknown = |stored: &str, found: &str| stored == known.id && found != stored;
        if is_unknown(&known.name, &identity.name) || is_unknown(&known.root, &identity.root) {
            tx.run(COMPLETE, params![known.db_id, identity.name, identity.root])?;
        }
        return Ok(known.db_id);
    }
    let values = params![identity.key, identity.name, identity.root, now];
    tx.row(CREATE, values, |row| row.get("id"))
}

/// Returns the id of the project that an imported line names: by its key, or by its display name if only one project has it.
/// Otherwise creates one.
pub(crate) fn find_or_create_named(
    tx: &Transaction<'_>,
    named: &str,
    now: Timestamp,
) -> rusqlite::Result<ProjectId> {
    if let Some(id) = find_named(tx, named)? {
        return Ok(id);
    }
    // The key of a project is a path or a remote: its last part is the name of the folder.
    let is_key = named.contains('/') || named.contains('\\');
    let folder = named.rsplit(['/', '\\']).find(|part| !part.is_empty());
    let identity = ProjectIdentity {
        key: named.to_owned(),
        name: folder.filter(|_| is_key).unwrap_or(named).to_owned(),
        root: named.to_owned(),
        branch: None,
        worktree: None,
    };
    find_or_create(tx, &identity, now)
}

fn find_named(connection: &Connection, named: &str) -> rusqlite::Result<Option<ProjectId>> {
    // An ambiguous name counts as unknown: a guess would mix two code bases.
    const FIND: &str = "select coalesce(
        (select id from project where key = ?1),
        (select min(id) from project where name = ?1 having count(*) = 1)) as id";
    connection.row(FIND, [named], |row| row.get("id"))
}
