//! Imports memories from lines, each one once.

mod rows;

use std::collections::HashMap;

use backstory_model::{Handle, MemoryKind, ProjectId, ProjectIdentity, SessionId, Timestamp};
use rusqlite::{Transaction, params};

use crate::{
    Fields, MemoryRecord, Store, StoreError,
    memory::{
        documents::{self, EVERYWHERE, Placement},
        pack::pack,
        stored,
    },
    sessions::{find_session, projects},
    sql::{Statements as _, text_hash},
    words::to_index,
};

/// The host of imported sessions.
const IMPORT_HOST: &str = "import";

/// The most stored memories of one moment that are compared with a line: a file may have the same time on all lines.
const MAX_COMPARED: u32 = 5_000;

/// Holds the number of imported lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineImportCounts {
    /// New memories.
    pub new: u64,
    /// Lines whose memory exists.
    pub known: u64,
}

/// Holds a line with everything that can be computed without the database.
#[derive(Clone, Debug)]
pub struct PreparedLine {
    line: MemoryRecord,
    /// The hash of the whole line.
    hash: i64,
    /// The compressed text of a passage.
    packed: Option<Vec<u8>>,
    /// The words of a passage. Only passages are prepared this far, because most lines are passages.
    indexed: Option<String>,
}

impl From<MemoryRecord> for PreparedLine {
    fn from(line: MemoryRecord) -> Self {
        let text = line
            .text
            .as_deref()
            .filter(|_| line.kind == MemoryKind::Passage)
            .unwrap_or_default();
        Self {
            hash: text_hash(&serde_json::to_string(&line).unwrap_or_default()),
            packed: pack(text),
            indexed: (!text.is_empty()).then(|| to_index(text)),
            line,
        }
    }
}

impl Store {
    /// Imports a batch of lines. Lines without a project belong to `here`, except notes, which then apply everywhere. A line
    /// that was imported before changes nothing, unless its memory was forgotten since.
    pub fn import_lines(
        &mut self,
        lines: &[PreparedLine],
        here: &ProjectIdentity,
        now: Timestamp,
    ) -> Result<LineImportCounts, StoreError> {
        self.write("import memories", |tx| {
            let mut batch = Batch {
                tx,
                here,
                now,
                projects: HashMap::new(),
                sessions: HashMap::new(),
                to_index: Vec::new(),
                moments: HashMap::new(),
            };
            let mut counts = LineImportCounts::default();
            for line in lines {
                if batch.import(line)? {
                    counts.new += 1;
                } else {
                    counts.known += 1;
                }
            }
            batch.store_session_times()?;
            batch.index()?;
            Ok(counts)
        })
    }
}

/// Holds the state of one transaction. Its lookups must not outlive it, because another process may delete a project.
struct Batch<'t> {
    tx: &'t Transaction<'t>,
    here: &'t ProjectIdentity,
    now: Timestamp,
    projects: HashMap<String, ProjectId>,
    sessions: HashMap<String, KnownSession>,
    to_index: Vec<(LineTarget, Handle, Option<&'t str>)>,
    /// The stored memories at the moments of the lines, by the hash of their content.
    moments: HashMap<Moment, HashMap<i64, Handle>>,
}

/// Identifies the memories of a kind at a time in a project; of prompts, in a session.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Moment {
    kind: MemoryKind,
    scope: Option<i64>,
    at: Timestamp,
}

struct KnownSession {
    db_id: SessionId,
    first_at: Timestamp,
    last_at: Timestamp,
    branch: Option<String>,
}

/// Holds the place of a line.
#[derive(Clone, Copy)]
struct LineTarget {
    project: Option<ProjectId>,
    session: Option<SessionId>,
    created_at: Timestamp,
}

impl<'t> Batch<'t> {
    /// Returns true if the line is new.
    fn import(&mut self, prepared: &'t PreparedLine) -> rusqlite::Result<bool> {
        const STORE: &str =
            "insert or replace into imported_line (hash, kind, memory_id) values (?1, ?2, ?3)";
        if self.is_known(prepared.hash)? {
            return Ok(false);
        }
        let target = self.target(&prepared.line)?;
        let same = self.find_same(&prepared.line, target)?;
        let handle = match same {
            Some(handle) => handle,
            None => self.insert(prepared, target)?,
        };
        self.tx
            .run(STORE, params![prepared.hash, handle.kind, handle.id])?;
        if same.is_some() {
            return Ok(false);
        }
        if let Some(moment) = moment(&prepared.line, target) {
            let at_moment = self.moments.entry(moment).or_default();
            at_moment.insert(content_hash(&prepared.line), handle);
        }
        self.to_index.push((target, handle, prepared.indexed.as_deref()));
        Ok(true)
    }

    /// Finds the memory that a line was exported from: a store may import its own export.
    fn find_same(&mut self, line: &MemoryRecord, target: LineTarget) -> rusqlite::Result<Option<Handle>> {
        let Some(moment) = moment(line, target) else {
            return Ok(None);
        };
        if !self.moments.contains_key(&moment) {
            let stored = self.stored_at(moment)?;
            self.moments.insert(moment, stored);
        }
        Ok(self.moments[&moment].get(&content_hash(line)).copied())
    }

    fn stored_at(&self, moment: Moment) -> rusqlite::Result<HashMap<i64, Handle>> {
        let Moment { kind, scope, at } = moment;
        let sql = match kind {
            MemoryKind::Observation => {
                "select id from observation where project_id is ?1 and created_at = ?2 limit ?3"
            }
            MemoryKind::Summary => {
                "select id from summary where project_id is ?1 and created_at = ?2 limit ?3"
            }
            MemoryKind::Note => "select id from note where project_id is ?1 and created_at = ?2 limit ?3",
            MemoryKind::Team => {
                "select id from team_memory where project_id is ?1 and created_at = ?2 limit ?3"
            }
            MemoryKind::Passage => {
                "select id from passage where project_id is ?1 and created_at = ?2 limit ?3"
            }
            MemoryKind::Prompt => {
                "select id from turn where session_db_id is ?1 and started_at = ?2 limit ?3"
            }
        };
        let ids: Vec<i64> = self
            .tx
            .rows(sql, params![scope, at, MAX_COMPARED], |row| row.get("id"))?;
        let mut found = HashMap::with_capacity(ids.len());
        for id in ids {
            let handle = Handle { kind, id };
            if let Some(memory) = stored::read(self.tx, handle)? {
                found.insert(content_hash(&memory.record), handle);
            }
        }
        Ok(found)
    }

    /// Indexes the new memories, project by project: FTS5 flushes its pending data whenever a smaller rowid is inserted.
    fn index(&mut self) -> rusqlite::Result<()> {
        self.to_index.sort_by_key(|(target, ..)| target.project);
        for (target, handle, indexed) in &self.to_index {
            match indexed {
                Some(words) => {
                    let placement = Placement {
                        project: target.project.unwrap_or(EVERYWHERE),
                        session: target.session,
                        created_at: target.created_at,
                    };
                    let fields = Fields {
                        narrative: (*words).to_owned(),
                        ..Fields::default()
                    };
                    documents::insert(self.tx, *handle, placement, &fields)?;
                }
                None => documents::put(self.tx, *handle)?,
            }
        }
        Ok(())
    }

    fn is_known(&self, hash: i64) -> rusqlite::Result<bool> {
        const LINE: &str = "select kind, memory_id from imported_line where hash = ?1";
        let handle = self.tx.optional_row(LINE, [hash], |row| {
            Ok(Handle {
                kind: row.get("kind")?,
                id: row.get("memory_id")?,
            })
        })?;
        match handle {
            Some(handle) => stored::exists(self.tx, handle),
            None => Ok(false),
        }
    }

    fn target(&mut self, line: &MemoryRecord) -> rusqlite::Result<LineTarget> {
        let project = match (&line.project, line.kind) {
            (Some(named), _) => Some(self.project(named)?),
            (None, MemoryKind::Note) => None,
            (None, _) => Some(projects::find_or_create(self.tx, self.here, self.now)?),
        };
        let created_at = line.created_at.unwrap_or(self.now);
        let session = line
            .session_id
            .as_deref()
            .map(|id| self.session(id, project, created_at, line))
            .transpose()?;
        Ok(LineTarget {
            project,
            session,
            created_at,
        })
    }

    fn project(&mut self, named: &str) -> rusqlite::Result<ProjectId> {
        if let Some(&id) = self.projects.get(named) {
            return Ok(id);
        }
        let id = projects::find_or_create_named(self.tx, named, self.now)?;
        self.projects.insert(named.to_owned(), id);
        Ok(id)
    }

    /// Finds the session, or creates one that has ended.
    fn session(
        &mut self,
        session_id: &str,
        project: Option<ProjectId>,
        created_at: Timestamp,
        line: &MemoryRecord,
    ) -> rusqlite::Result<SessionId> {
        const CREATE: &str =
            "insert into session (session_id, host, project_id, status, started_at, last_event_at)
            values (?1, ?2, ?3, 'completed', ?4, ?4) returning id";
        // The branch of a prompt is that of its turn; the session may have switched branches later.
        let branch = line
            .branch
            .as_ref()
            .filter(|_| line.kind != MemoryKind::Prompt)
            .cloned();
        if let Some(known) = self.sessions.get_mut(session_id) {
            known.first_at = known.first_at.min(created_at);
            known.last_at = known.last_at.max(created_at);
            known.branch = branch.or(known.branch.take());
            return Ok(known.db_id);
        }
        let db_id = match find_session(self.tx, session_id)? {
            Some(db_id) => db_id,
            None => {
                let project = match project {
                    Some(project) => project,
                    None => projects::find_or_create(self.tx, self.here, self.now)?,
                };
                let values = params![session_id, IMPORT_HOST, project, created_at];
                self.tx.row(CREATE, values, |row| row.get("id"))?
            }
        };
        self.sessions.insert(
            session_id.to_owned(),
            KnownSession {
                db_id,
                first_at: created_at,
                last_at: created_at,
                branch,
            },
        );
        Ok(db_id)
    }

    /// Stores start and end of imported sessions. Sessions that a hook reported keep theirs.
    fn store_session_times(&self) -> rusqlite::Result<()> {
        const TIMES: &str =
            "update session set started_at = min(started_at, ?2), last_event_at = max(last_event_at, ?3),
                ended_at = max(coalesce(ended_at, 0), ?3), branch = coalesce(?4, branch)
            where id = ?1 and host = 'import'";
        for session in self.sessions.values() {
            let values = params![session.db_id, session.first_at, session.last_at, session.branch];
            self.tx.run(TIMES, values)?;
        }
        Ok(())
    }
}

/// Returns the moment of a line, if it has a time.
fn moment(line: &MemoryRecord, target: LineTarget) -> Option<Moment> {
    let at = line.created_at?;
    let scope = match line.kind {
        MemoryKind::Prompt => Some(target.session?.get()),
        _ => target.project.map(ProjectId::get),
    };
    Some(Moment {
        kind: line.kind,
        scope,
        at,
    })
}

/// Returns the hash of a line's content, without what may differ between two copies: names of the project, branch and pin.
fn content_hash(line: &MemoryRecord) -> i64 {
    let mut line = line.clone();
    line.project = None;
    line.created_at = None;
    line.branch = None;
    line.pinned = false;
    text_hash(&serde_json::to_string(&line).unwrap_or_default())
}
