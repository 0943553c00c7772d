//! Reads the database of claude-mem: sessions, prompts, observations and summaries.
//!
//! Tested with version 13.25.3. Older versions name two columns differently (up to 4 the only prompt is that of the session,
//! and observations are plain text), or have other tables: `sessions`, `memories` and `overviews`, up to version 3. Any
//! column may be missing, and a database that was updated may have the tables of several versions. The database is never
//! written, and no file is created beside it while no other process has it open.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, Row, types::ValueRef};
use serde_json::{Map, Value};

use super::foreign_database;
use crate::{Store, StoreError, sql::Statements as _};

/// The prefix of external ids.
const PREFIX: &str = "claude-mem:";

/// An open database of claude-mem.
#[derive(Debug)]
pub struct ClaudeMem {
    connection: Connection,
    /// The agent's session ids by those of claude-mem.
    sessions: HashMap<String, String>,
}

/// Holds a memory of claude-mem.
#[derive(Clone, Debug)]
pub struct ForeignMemory {
    /// The name of the project's folder.
    pub project: String,
    /// The agent's id of the session.
    pub session_id: Option<String>,
    /// The permanent external id.
    pub external_id: String,
    /// The fields of an import line, without the project.
    pub fields: Map<String, Value>,
}

impl ClaudeMem {
    /// Opens the database read-only.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        const TABLES: &str = "select 1 from sqlite_master
            where type = 'table' and name in ('sdk_sessions', 'memories', 'overviews')";
        let mut found = Self {
            connection: foreign_database(path, TABLES)?,
            sessions: HashMap::new(),
        };
        let mut sessions = HashMap::new();
        found.each("sdk_sessions", |row| {
            let own = text(row, &["memory_session_id", "sdk_session_id"]);
            let agents = text(row, &["content_session_id", "claude_session_id"]);
            sessions.extend(own.zip(agents));
        })?;
        found.sessions = sessions;
        Ok(found)
    }

    /// Returns the folders of sessions by session id. Only newer versions store them.
    pub fn folders(&self) -> Result<HashMap<String, PathBuf>, StoreError> {
        let mut folders = HashMap::new();
        // Newest first, so that the first folder of a session wins: later ones may be below it.
        for (table, sql) in [
            ("tool_uses", "select * from tool_uses order by id desc"),
            (
                "pending_messages",
                "select * from pending_messages order by id desc",
            ),
        ] {
            if self.has(table)? {
                each_row(&self.connection, sql, |row| {
                    let session = text(row, &["content_session_id", "claude_session_id"]);
                    let folder = text(row, &["cwd"]).map(PathBuf::from);
                    folders.extend(session.zip(folder));
                })?;
            }
        }
        Ok(folders)
    }

    /// Returns all memories, prompts first, so that a session starts with its prompts.
    pub fn memories(&self) -> Result<Vec<ForeignMemory>, StoreError> {
        let mut memories = Vec::new();
        let mut with_prompts = HashSet::new();
        let projects = self.projects_of_sessions()?;
        self.each("user_prompts", |row| {
            with_prompts.extend(text(row, &["content_session_id", "claude_session_id"]));
            memories.extend(prompt(row, &projects));
        })?;
        self.each("sdk_sessions", |row| {
            memories.extend(session_prompt(row, &with_prompts));
        })?;
        self.each("observations", |row| memories.extend(self.observation(row)))?;
        self.each("memories", |row| memories.extend(self.early_memory(row)))?;
        self.each("session_summaries", |row| memories.extend(self.summary(row)))?;
        self.each("overviews", |row| memories.extend(self.overview(row)))?;
        Ok(memories)
    }

    /// Reads a table in the order of its ids; one that does not exist has no rows.
    fn each(&self, table: &'static str, each: impl FnMut(&Row<'_>)) -> Result<(), StoreError> {
        if self.has(table)? {
            each_row(
                &self.connection,
                &format!("select * from {table} order by id"),
                each,
            )?;
        }
        Ok(())
    }

    fn has(&self, table: &str) -> Result<bool, StoreError> {
        self.connection
            .has_row(
                "select 1 from sqlite_schema where type = 'table' and name = ?1",
                [table],
            )
            .map_err(read_error)
    }

    fn projects_of_sessions(&self) -> Result<HashMap<String, String>, StoreError> {
        let mut projects = HashMap::new();
        self.each("sdk_sessions", |row| {
            let session = text(row, &["content_session_id", "claude_session_id"]);
            projects.extend(session.zip(text(row, &["project"])));
        })?;
        Ok(projects)
    }

    fn observation(&self, row: &Row<'_>) -> Option<ForeignMemory> {
        let mut memory = self.distilled(row, "observation", 'o')?;
        for name in ["type", "title", "subtitle", "narrative", "text"] {
            memory.put(name, text(row, &[name]).map(Value::from));
        }
        for name in ["facts", "concepts", "files_read", "files_modified"] {
            memory.put(name, list(row, name));
        }
        Some(memory)
    }

    fn summary(&self, row: &Row<'_>) -> Option<ForeignMemory> {
        let mut memory = self.distilled(row, "summary", 's')?;
        for name in [
            "request",
            "investigated",
            "learned",
            "completed",
            "next_steps",
            "notes",
        ] {
            memory.put(name, text(row, &[name]).map(Value::from));
        }
        for name in ["files_read", "files_edited"] {
            memory.put(name, list(row, name));
        }
        Some(memory)
    }

    /// Reads a memory of version 3.
    fn early_memory(&self, row: &Row<'_>) -> Option<ForeignMemory> {
        let mut memory = self.distilled(row, "observation", 'm')?;
        for name in ["title", "subtitle", "text"] {
            memory.put(name, text(row, &[name]).map(Value::from));
        }
        for name in ["facts", "concepts"] {
            memory.put(name, list(row, name));
        }
        memory.put("files_modified", list(row, "files_touched"));
        Some(memory)
    }

    /// Reads the summary of a session of version 3, which is one text.
    fn overview(&self, row: &Row<'_>) -> Option<ForeignMemory> {
        let mut memory = self.distilled(row, "summary", 'v')?;
        memory.put("completed", text(row, &["content"]).map(Value::from));
        Some(memory)
    }

    /// Reads the common columns of observations and summaries.
    fn distilled(&self, row: &Row<'_>, kind: &str, sign: char) -> Option<ForeignMemory> {
        let own = text(row, &["memory_session_id", "sdk_session_id", "session_id"]);
        let session_id = own.map(|own| self.sessions.get(&own).cloned().unwrap_or(own));
        let project = text(row, &["merged_into_project"]).or_else(|| text(row, &["project"]))?;
        foreign(row, kind, sign, project, session_id)
    }
}

impl ForeignMemory {
    fn put(&mut self, name: &str, value: Option<Value>) {
        if let Some(value) = value {
            self.fields.insert(name.to_owned(), value);
        }
    }
}

impl Store {
    /// Returns the external ids of imported memories that still exist.
    pub fn from_claude_mem(&self) -> Result<HashSet<String>, StoreError> {
        const ALL: &str = "select external_id from observation where external_id like ?1
            union all select external_id from summary where external_id like ?1
            union all select external_id from turn where external_id like ?1
            union all select external_id from passage where external_id like ?1";
        self.read("look for earlier imports", |connection| {
            let ids = connection.rows(ALL, [format!("{PREFIX}%")], |row| row.get("external_id"))?;
            Ok(ids.into_iter().collect())
        })
    }
}

fn prompt(row: &Row<'_>, projects: &HashMap<String, String>) -> Option<ForeignMemory> {
    let session_id = text(row, &["content_session_id", "claude_session_id"]);
    let project = session_id.as_ref().and_then(|id| projects.get(id)).cloned()?;
    let mut memory = foreign(row, "prompt", 'p', project, session_id)?;
    memory.put("text", text(row, &["prompt_text"]).map(Value::from));
    Some(memory)
}

/// Reads the prompt of a session that has none in `user_prompts`.
fn session_prompt(row: &Row<'_>, with_prompts: &HashSet<String>) -> Option<ForeignMemory> {
    let session_id = text(row, &["content_session_id", "claude_session_id"])?;
    let prompt = text(row, &["user_prompt"]).filter(|_| !with_prompts.contains(&session_id))?;
    let mut memory = foreign(row, "prompt", 'u', text(row, &["project"])?, Some(session_id))?;
    memory.put("text", Some(prompt.into()));
    Some(memory)
}

/// Reads the common columns of all kinds. The external id contains the time, because two databases can use the same ids.
fn foreign(
    row: &Row<'_>,
    kind: &str,
    sign: char,
    project: String,
    session_id: Option<String>,
) -> Option<ForeignMemory> {
    let id: i64 = row.get("id").ok()?;
    let epoch: i64 = row
        .get("created_at_epoch")
        .or_else(|_| row.get("started_at_epoch"))
        .ok()?;
    // Milliseconds, but seconds in some early rows.
    let ms = if epoch < 100_000_000_000 {
        epoch.saturating_mul(1_000)
    } else {
        epoch
    };
    let external_id = format!("{PREFIX}{sign}{id}@{ms}");
    let mut memory = ForeignMemory {
        project,
        session_id: session_id.clone(),
        external_id: external_id.clone(),
        fields: Map::new(),
    };
    memory.put("kind", Some(kind.into()));
    memory.put("external_id", Some(external_id.into()));
    memory.put("session_id", session_id.map(Value::from));
    memory.put(
        "created_at",
        Some(jiff::Timestamp::from_millisecond(ms).ok()?.to_string().into()),
    );
    Some(memory)
}

/// Returns the first of these columns that exists and is not blank.
fn text(row: &Row<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match row.get_ref(*name) {
        Ok(ValueRef::Text(bytes)) => {
            Some(String::from_utf8_lossy(bytes).into_owned()).filter(|text| !text.trim().is_empty())
        }
        _ => None,
    })
}

/// Reads a list from JSON; other text is a list of one.
fn list(row: &Row<'_>, name: &str) -> Option<Value> {
    let text = text(row, &[name])?;
    match serde_json::from_str(&text) {
        Ok(Value::Array(items)) => Some(Value::Array(items)),
        Ok(Value::Null) => None,
        _ => Some(Value::Array(vec![text.into()])),
    }
}

fn read_error(source: rusqlite::Error) -> StoreError {
    StoreError::Query {
        attempt: "read the database of claude-mem",
        source,
    }
}

fn each_row(connection: &Connection, sql: &str, mut each: impl FnMut(&Row<'_>)) -> Result<(), StoreError> {
    let mut run = || {
        let mut statement = connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            each(row);
        }
        Ok(())
    };
    run().map_err(read_error)
}
