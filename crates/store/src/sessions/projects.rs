//! Projects, and how people name them.

use std::collections::HashMap;

use backstory_model::{ProjectId, ProjectIdentity, Timestamp};
use rusqlite::{OptionalExtension, Row, Transaction, params};
use serde::Serialize;

use crate::{Store, StoreError, schema::open::query};

/// A code base that sessions worked on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Project {
    /// The number of the row.
    #[serde(skip)]
    pub db_id: ProjectId,
    /// Identifies it: the normalised remote or a path.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The main working tree when it was first seen.
    pub root: String,
}

/// A project with what there is of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectCard {
    /// The project.
    pub project: Project,
    /// How many sessions worked on it.
    pub sessions: u64,
    /// How many observations there are of it.
    pub observations: u64,
    /// When it was last heard of, in milliseconds since 1970.
    pub last_event_at: Option<Timestamp>,
}

/// Why a project was not found.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// Nothing of that name.
    #[error("no project is called `{0}`")]
    Unknown(String),
    /// Several projects have the name.
    #[error("`{name}` names {} projects: {}", .ids.len(), .ids.join(", "))]
    Ambiguous {
        /// The name as given.
        name: String,
        /// The ids to choose from.
        ids: Vec<String>,
    },
    /// The database did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

const BY_ID: &str = "select id, key, name, root from project where key = ?1";

impl Store {
    /// Finds the project that a folder belongs to by its id. Never by its path: what was in that folder before may have been
    /// another project.
    pub fn project_with_id(&self, id: &str) -> Result<Option<Project>, StoreError> {
        Ok(self.projects_where(BY_ID, id)?.pop())
    }

    /// Returns the project of a folder. One that is not known has the number 0, as no row has: nothing is its own, and what
    /// holds for all projects holds for it too.
    pub fn project_of(&self, facts: &ProjectIdentity) -> Result<Project, StoreError> {
        let known = self.project_with_id(&facts.key)?;
        Ok(known.unwrap_or_else(|| Project {
            db_id: ProjectId::new(0),
            id: facts.key.clone(),
            name: facts.name.clone(),
            root: facts.root.clone(),
        }))
    }

    /// Finds the project that a person names: by its id, the path of its root, or its display name.
    pub fn project(&self, named: &str) -> Result<Project, ProjectError> {
        const BY_ROOT: &str = "select id, key, name, root from project where root = ?1";
        const BY_NAME: &str = "select id, key, name, root from project where name = ?1 order by key limit 20";
        for sql in [BY_ID, BY_ROOT, BY_NAME] {
            let mut found = self.projects_where(sql, named)?;
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

    /// Lists all projects, the latest first.
    pub fn projects(&self) -> Result<Vec<ProjectCard>, StoreError> {
        const ALL: &str = "select id, key, name, root,
                (select count(*) from session where project_id = project.id),
                (select count(*) from observation where project_id = project.id),
                (select max(last_event_at) from session where project_id = project.id)
            from project order by 7 desc nulls last, id desc";
        let attempt = query("list the projects");
        let mut statement = self.connection.prepare_cached(ALL).map_err(attempt)?;
        let rows = statement.query_map([], |row| {
            Ok(ProjectCard {
                project: read(row)?,
                sessions: row.get(4)?,
                observations: row.get(5)?,
                last_event_at: row.get(6)?,
            })
        });
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    /// Makes a project known that others will name by its id.
    pub fn add_project(&mut self, facts: &ProjectIdentity, now: Timestamp) -> Result<(), StoreError> {
        let attempt = query("add a project");
        let transaction = self.connection.transaction().map_err(attempt)?;
        find_or_create(&transaction, facts, now).map_err(attempt)?;
        transaction.commit().map_err(attempt)
    }

    /// Counts what is remembered of a project, evidence and prompts aside, up to a limit.
    pub fn count_memories(&self, key: &str, most: u32) -> Result<u32, StoreError> {
        const COUNT: &str = "select (select count(*) from (
                select 1 from observation where project_id = project.id
                union all select 1 from summary where project_id = project.id
                union all select 1 from note where project_id = project.id limit ?2))
            from project where key = ?1";
        let attempt = query("count memories");
        let counted = self
            .connection
            .query_row(COUNT, params![key, most], |row| row.get(0));
        Ok(counted.optional().map_err(attempt)?.unwrap_or_default())
    }

    /// Returns what projects are called, by their ids.
    pub fn project_names(&self) -> Result<HashMap<String, String>, StoreError> {
        const NAMES: &str = "select key, name from project";
        let attempt = query("list the projects");
        let mut statement = self.connection.prepare_cached(NAMES).map_err(attempt)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.and_then(Iterator::collect).map_err(attempt)
    }

    fn projects_where(&self, sql: &str, value: &str) -> Result<Vec<Project>, StoreError> {
        let attempt = query("look for a project");
        let mut statement = self.connection.prepare_cached(sql).map_err(attempt)?;
        let rows = statement.query_map([value], read).map_err(attempt)?;
        rows.collect::<Result<_, _>>().map_err(attempt)
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<Project> {
    Ok(Project {
        db_id: row.get(0)?,
        id: row.get(1)?,
        name: row.get(2)?,
        root: row.get(3)?,
    })
}

/// Returns the number of a project, new or known.
pub(crate) fn find_or_create(
    transaction: &Transaction<'_>,
    facts: &ProjectIdentity,
    now: Timestamp,
) -> rusqlite::Result<ProjectId> {
    const FIND: &str = "select id from project where key = ?1";
    const CREATE: &str =
        "insert into project (key, name, root, created_at) values (?1, ?2, ?3, ?4) returning id";
    let found = transaction
        .prepare_cached(FIND)?
        .query_row([&facts.key], |row| row.get(0))
        .optional()?;
    match found {
        Some(id) => Ok(id),
        None => {
            let values = params![facts.key, facts.name, facts.root, now];
            transaction
                .prepare_cached(CREATE)?
                .query_row(values, |row| row.get(0))
        }
    }
}

/// Returns the number of the project that a line of another store names: by its id, by its display name if only one has
/// it, else a new one.
pub(crate) fn find_or_create_named(
    transaction: &Transaction<'_>,
    named: &str,
    now: Timestamp,
) -> rusqlite::Result<ProjectId> {
    // More than one of the name is as good as none: guessing would mix two code bases.
    const FIND: &str = "select coalesce(
        (select id from project where key = ?1),
        (select min(id) from project where name = ?1 having count(*) = 1))";
    let found: Option<ProjectId> = transaction
        .prepare_cached(FIND)?
        .query_row([named], |row| row.get(0))?;
    match found {
        Some(id) => Ok(id),
        None => {
            let facts = ProjectIdentity {
                key: named.to_owned(),
                name: named.to_owned(),
                root: named.to_owned(),
                branch: None,
                worktree: None,
            };
            find_or_create(transaction, &facts, now)
        }
    }
}
