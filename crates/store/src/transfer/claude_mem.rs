//! Reads another tool's database: claude-mem's sessions, prompts, observations and summaries.
//!
//! Looked at with version 13.25.3; older ones name two columns differently. Columns are asked for by name and may be
//! missing. Nothing is ever written there, and no file is made beside it while nobody else has it open.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
};

use rusqlite::{Connection, OpenFlags, Row, types::ValueRef};
use serde_json::{Map, Value};

use crate::{
    Store, StoreError,
    schema::immutable::{connect_unchanging, log},
    schema::open::{BusyTimeout, connect, query},
};

/// How everything that comes from there is named.
const PREFIX: &str = "claude-mem:";

/// The other tool's database.
#[derive(Debug)]
pub struct ClaudeMem {
    connection: Connection,
    /// The agent's session ids by the tool's own.
    sessions: HashMap<String, String>,
}

/// A memory of the other tool.
#[derive(Clone, Debug)]
pub struct ForeignMemory {
    /// What it calls the project: a folder's name.
    pub project: String,
    /// The agent's id of the session.
    pub session_id: Option<String>,
    /// Names it for good.
    pub external_id: String,
    /// The fields of a line; the project is not among them.
    pub fields: Map<String, Value>,
}

impl ClaudeMem {
    /// Opens it to read only.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        if !path.exists() {
            return Err(StoreError::Missing(path.to_owned()));
        }
        // A log beside it has what is newest, and is read with the locks of whoever writes it. Without one nobody has the
        // database open.
        let connection = match log(path).exists() {
            true => connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY, BusyTimeout::Command)?,
            false => connect_unchanging(path)?,
        };
        let is_theirs = connection
            .prepare("select 1 from sqlite_schema where name = 'sdk_sessions'")
            .and_then(|mut theirs| theirs.exists([]))
            .map_err(|source| StoreError::Open {
                path: path.to_owned(),
                source,
            })?;
        if !is_theirs {
            return Err(StoreError::Foreign(path.to_owned()));
        }
        let mut sessions = HashMap::new();
        each_row(&connection, "select * from sdk_sessions", |row| {
            let own = text(row, &["memory_session_id", "sdk_session_id"]);
            let agents = text(row, &["content_session_id", "claude_session_id"]);
            sessions.extend(own.zip(agents));
        })?;
        Ok(Self { connection, sessions })
    }

    /// Returns in which folder sessions worked, as far as is known: only newer versions note it.
    pub fn folders(&self) -> Result<HashMap<String, PathBuf>, StoreError> {
        let mut folders = HashMap::new();
        // The first folder of a session: later ones may be below it.
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

    /// Returns all memories: prompts first, so that a session begins with what was asked.
    pub fn memories(&self) -> Result<Vec<ForeignMemory>, StoreError> {
        let mut memories = Vec::new();
        if self.has("user_prompts")? {
            let projects = self.projects_of_sessions()?;
            each_row(
                &self.connection,
                "select * from user_prompts order by id",
                |row| {
                    memories.extend(prompt(row, &projects));
                },
            )?;
        }
        if self.has("observations")? {
            each_row(
                &self.connection,
                "select * from observations order by id",
                |row| {
                    memories.extend(self.observation(row));
                },
            )?;
        }
        if self.has("session_summaries")? {
            each_row(
                &self.connection,
                "select * from session_summaries order by id",
                |row| {
                    memories.extend(self.summary(row));
                },
            )?;
        }
        Ok(memories)
    }

    fn has(&self, table: &str) -> Result<bool, StoreError> {
        self.connection
            .prepare("select 1 from sqlite_schema where type = 'table' and name = ?1")
            .and_then(|mut there| there.exists([table]))
            .map_err(query("look for a table"))
    }

    fn projects_of_sessions(&self) -> Result<HashMap<String, String>, StoreError> {
        let mut projects = HashMap::new();
        each_row(&self.connection, "select * from sdk_sessions", |row| {
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

    /// What observations and summaries have in common.
    fn distilled(&self, row: &Row<'_>, kind: &str, sign: char) -> Option<ForeignMemory> {
        let own = text(row, &["memory_session_id", "sdk_session_id"]);
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
    /// Returns the names of what was taken over from there and is still remembered.
    pub fn from_claude_mem(&self) -> Result<HashSet<String>, StoreError> {
        const ALL: &str = "select external_id from observation where external_id like ?1
            union all select external_id from summary where external_id like ?1
            union all select external_id from turn where external_id like ?1
            union all select external_id from passage where external_id like ?1";
        let attempt = query("look for what was taken over before");
        let mut statement = self.connection.prepare(ALL).map_err(attempt)?;
        let rows = statement.query_map([format!("{PREFIX}%")], |row| row.get(0));
        rows.and_then(Iterator::collect).map_err(attempt)
    }
}

fn prompt(row: &Row<'_>, projects: &HashMap<String, String>) -> Option<ForeignMemory> {
    let session_id = text(row, &["content_session_id", "claude_session_id"]);
    let project = session_id.as_ref().and_then(|id| projects.get(id)).cloned()?;
    let mut memory = foreign(row, "prompt", 'p', project, session_id)?;
    memory.put("text", text(row, &["prompt_text"]).map(Value::from));
    Some(memory)
}

/// What all kinds have in common. The time is a part of the name: two databases number their memories alike.
fn foreign(
    row: &Row<'_>,
    kind: &str,
    sign: char,
    project: String,
    session_id: Option<String>,
) -> Option<ForeignMemory> {
    let id: i64 = row.get("id").ok()?;
    let epoch: i64 = row.get("created_at_epoch").ok()?;
    // Milliseconds; some early rows have seconds.
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

/// The first of these columns that is there and says something.
fn text(row: &Row<'_>, names: &[&str]) -> Option<String> {
    names.iter().find_map(|name| match row.get_ref(*name) {
        Ok(ValueRef::Text(bytes)) => {
            Some(String::from_utf8_lossy(bytes).into_owned()).filter(|text| !text.trim().is_empty())
        }
        _ => None,
    })
}

/// A list, written as JSON; what is no JSON is a list of one.
fn list(row: &Row<'_>, name: &str) -> Option<Value> {
    let text = text(row, &[name])?;
    match serde_json::from_str(&text) {
        Ok(Value::Array(items)) => Some(Value::Array(items)),
        Ok(Value::Null) => None,
        _ => Some(Value::Array(vec![text.into()])),
    }
}

fn each_row(connection: &Connection, sql: &str, mut each: impl FnMut(&Row<'_>)) -> Result<(), StoreError> {
    let attempt = query("read claude-mem's database");
    let mut statement = connection.prepare(sql).map_err(attempt)?;
    let mut rows = statement.query([]).map_err(attempt)?;
    while let Some(row) = rows.next().map_err(attempt)? {
        each(row);
    }
    Ok(())
}
