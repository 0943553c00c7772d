//! Takes memories over from lines, each of them once.

mod rows;

use std::collections::HashMap;

use backstory_model::{Handle, MemoryKind, ProjectId, ProjectIdentity, SessionId, Timestamp};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

use crate::{
    Fields, MemoryRecord, Store, StoreError,
    memory::documents::{self, EVERYWHERE},
    memory::pack::pack,
    queue::ingest::hash,
    schema::open::query,
    search::words::to_index,
    sessions::projects,
    transfer::export,
};

/// The host and the distiller of what came as lines.
const IMPORT: &str = "import";

/// How many memories of one moment are compared with a line: a file may give the same time to all of its lines.
const MAX_BATCH: u32 = 5_000;

/// What became of a batch of lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineImportCounts {
    /// Memories that are new.
    pub new: u64,
    /// Lines whose memory was there already.
    pub known: u64,
}

/// A line with everything that can be worked out without the database.
#[derive(Clone, Debug)]
pub struct PreparedLine {
    line: MemoryRecord,
    /// Of everything that it says.
    hash: i64,
    /// Of a passage, of which there are very many: the text as it is stored, and its words.
    packed: Option<Vec<u8>>,
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
            hash: hash(&serde_json::to_string(&line).unwrap_or_default()),
            packed: pack(text),
            indexed: (!text.is_empty()).then(|| to_index(text)),
            line,
        }
    }
}

impl Store {
    /// Stores a batch of lines in one transaction. What names no project belongs to `here`, except notes, which hold
    /// everywhere then. A line that was taken over before changes nothing, unless its memory was forgotten since.
    pub fn import_lines(
        &mut self,
        lines: &[PreparedLine],
        here: &ProjectIdentity,
        now: Timestamp,
    ) -> Result<LineImportCounts, StoreError> {
        let attempt = query("import memories");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let mut batch = Batch {
            transaction: &transaction,
            here,
            now,
            projects: HashMap::new(),
            sessions: HashMap::new(),
            to_index: Vec::new(),
            moments: HashMap::new(),
        };
        let mut taken = LineImportCounts::default();
        for line in lines {
            match batch.take(line).map_err(attempt)? {
                true => taken.new += 1,
                false => taken.known += 1,
            }
        }
        batch.note_times().map_err(attempt)?;
        batch.index().map_err(attempt)?;
        transaction.commit().map_err(attempt)?;
        Ok(taken)
    }
}

/// One transaction. What it looked up is forgotten at its end: another process may remove a project in between.
struct Batch<'t> {
    transaction: &'t Transaction<'t>,
    here: &'t ProjectIdentity,
    now: Timestamp,
    projects: HashMap<String, ProjectId>,
    sessions: HashMap<String, KnownSession>,
    to_index: Vec<(LineTarget, Handle, Option<&'t str>)>,
    /// What was there at the moments that the lines speak of.
    moments: HashMap<DuplicateKey, HashMap<i64, Handle>>,
}

/// Memories of a kind that came to be in a place at the same time; of prompts the place is the session.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct DuplicateKey {
    kind: MemoryKind,
    place: Option<i64>,
    at: Timestamp,
}

struct KnownSession {
    db_id: SessionId,
    first_at: Timestamp,
    last_at: Timestamp,
    branch: Option<String>,
}

/// Where a line belongs.
#[derive(Clone, Copy)]
struct LineTarget {
    project: Option<ProjectId>,
    session: Option<SessionId>,
    created_at: Timestamp,
}

impl<'t> Batch<'t> {
    /// Returns whether the line is new.
    fn take(&mut self, ready: &'t PreparedLine) -> rusqlite::Result<bool> {
        const NOTE: &str = "insert or replace into imported_line (hash, kind, memory_id) values (?1, ?2, ?3)";
        if self.is_known(ready.hash)? {
            return Ok(false);
        }
        let place = self.place(&ready.line)?;
        let same = self.same(&ready.line, place)?;
        let handle = match same {
            Some(handle) => handle,
            None => self.insert(ready, place)?,
        };
        self.transaction
            .prepare_cached(NOTE)?
            .execute(params![ready.hash, handle.kind, handle.id])?;
        if same.is_some() {
            return Ok(false);
        }
        if let Some(moment) = moment(&ready.line, place) {
            let of_moment = self.moments.entry(moment).or_default();
            of_moment.insert(content_hash(&ready.line), handle);
        }
        self.to_index.push((place, handle, ready.indexed.as_deref()));
        Ok(true)
    }

    /// Finds the memory that a line was written from: a store may be given back what it exported itself.
    fn same(&mut self, line: &MemoryRecord, place: LineTarget) -> rusqlite::Result<Option<Handle>> {
        let Some(moment) = moment(line, place) else {
            return Ok(None);
        };
        if !self.moments.contains_key(&moment) {
            let of_moment = self.at(moment)?;
            self.moments.insert(moment, of_moment);
        }
        Ok(self.moments[&moment].get(&content_hash(line)).copied())
    }

    /// Reads what was there at a moment.
    fn at(&self, moment: DuplicateKey) -> rusqlite::Result<HashMap<i64, Handle>> {
        let DuplicateKey { kind, place, at } = moment;
        let sql = match kind {
            MemoryKind::Observation => {
                "select id from observation where project_id is ?1 and created_at = ?2 limit ?3"
            }
            MemoryKind::Summary => {
                "select id from summary where project_id is ?1 and created_at = ?2 limit ?3"
            }
            MemoryKind::Note => "select id from note where project_id is ?1 and created_at = ?2 limit ?3",
            MemoryKind::Passage => {
                "select id from passage where project_id is ?1 and created_at = ?2 limit ?3"
            }
            MemoryKind::Prompt => {
                "select id from turn where session_db_id is ?1 and started_at = ?2 limit ?3"
            }
        };
        let mut statement = self.transaction.prepare_cached(sql)?;
        let ids: Vec<i64> = statement
            .query_map(params![place, at, MAX_BATCH], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let mut of_moment = HashMap::with_capacity(ids.len());
        for id in ids {
            let handle = Handle { kind, id };
            if let Some(line) = export::read(self.transaction, handle)? {
                of_moment.insert(content_hash(&line), handle);
            }
        }
        Ok(of_moment)
    }

    /// Project by project: the word index writes everything it holds to the disk whenever a smaller number comes.
    fn index(&mut self) -> rusqlite::Result<()> {
        self.to_index.sort_by_key(|(place, ..)| place.project);
        for (place, handle, indexed) in &self.to_index {
            match indexed {
                Some(words) => {
                    let place = (
                        place.project.unwrap_or(EVERYWHERE),
                        place.session,
                        place.created_at,
                    );
                    let indexed = Fields {
                        narrative: (*words).to_owned(),
                        ..Fields::default()
                    };
                    documents::insert(self.transaction, *handle, place, &indexed)?;
                }
                None => documents::put(self.transaction, *handle)?,
            }
        }
        Ok(())
    }

    fn is_known(&self, hash: i64) -> rusqlite::Result<bool> {
        const LINE: &str = "select kind, memory_id from imported_line where hash = ?1";
        let row = self.transaction.prepare_cached(LINE)?.query_row([hash], |row| {
            Ok((
                MemoryKind::from_name(row.get_ref(0)?.as_str()?),
                row.get::<_, i64>(1)?,
            ))
        });
        match row.optional()? {
            Some((Some(kind), id)) => exists(self.transaction, Handle { kind, id }),
            _ => Ok(false),
        }
    }

    fn place(&mut self, line: &MemoryRecord) -> rusqlite::Result<LineTarget> {
        let project = match (&line.project, line.kind) {
            (Some(named), _) => Some(self.project(named)?),
            (None, MemoryKind::Note) => None,
            (None, _) => Some(projects::find_or_create(self.transaction, self.here, self.now)?),
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
        let id = projects::find_or_create_named(self.transaction, named, self.now)?;
        self.projects.insert(named.to_owned(), id);
        Ok(id)
    }

    /// Finds the session or makes one that is over.
    fn session(
        &mut self,
        id: &str,
        project: Option<ProjectId>,
        created_at: Timestamp,
        line: &MemoryRecord,
    ) -> rusqlite::Result<SessionId> {
        const FIND: &str = "select id from session where session_id = ?1";
        const CREATE: &str =
            "insert into session (session_id, host, project_id, status, started_at, last_event_at)
            values (?1, ?2, ?3, 'completed', ?4, ?4) returning id";
        // A prompt's branch is its turn's: the session may have been elsewhere later.
        let branch = line
            .branch
            .as_ref()
            .filter(|_| line.kind != MemoryKind::Prompt)
            .cloned();
        if let Some(known) = self.sessions.get_mut(id) {
            known.first_at = known.first_at.min(created_at);
            known.last_at = known.last_at.max(created_at);
            known.branch = branch.or(known.branch.take());
            return Ok(known.db_id);
        }
        let found = self
            .transaction
            .prepare_cached(FIND)?
            .query_row([id], |row| row.get(0))
            .optional()?;
        let db_id: SessionId = match found {
            Some(db_id) => db_id,
            None => {
                let project = match project {
                    Some(project) => project,
                    None => projects::find_or_create(self.transaction, self.here, self.now)?,
                };
                let values = params![id, IMPORT, project, created_at];
                self.transaction
                    .prepare_cached(CREATE)?
                    .query_row(values, |row| row.get(0))?
            }
        };
        self.sessions.insert(
            id.to_owned(),
            KnownSession {
                db_id,
                first_at: created_at,
                last_at: created_at,
                branch,
            },
        );
        Ok(db_id)
    }

    /// Notes from when to when the sessions went on. Those that a hook reported know better.
    fn note_times(&self) -> rusqlite::Result<()> {
        const TIMES: &str =
            "update session set started_at = min(started_at, ?2), last_event_at = max(last_event_at, ?3),
                ended_at = max(coalesce(ended_at, 0), ?3), branch = coalesce(?4, branch)
            where id = ?1 and host = 'import'";
        let mut statement = self.transaction.prepare_cached(TIMES)?;
        for session in self.sessions.values() {
            statement.execute(params![
                session.db_id,
                session.first_at,
                session.last_at,
                session.branch
            ])?;
        }
        Ok(())
    }
}

/// The moment that a line speaks of, if it tells its time.
fn moment(line: &MemoryRecord, place: LineTarget) -> Option<DuplicateKey> {
    let at = line.created_at?;
    let of = match line.kind {
        MemoryKind::Prompt => Some(place.session?.get()),
        _ => place.project.map(ProjectId::get),
    };
    Some(DuplicateKey {
        kind: line.kind,
        place: of,
        at,
    })
}

/// Of what a line says, wherever it belongs: a project has several names, a branch and a pin change.
fn content_hash(line: &MemoryRecord) -> i64 {
    let mut line = line.clone();
    line.project = None;
    line.created_at = None;
    line.branch = None;
    line.pinned = false;
    hash(&serde_json::to_string(&line).unwrap_or_default())
}

/// Says whether a memory is there.
pub(crate) fn exists(connection: &Connection, handle: Handle) -> rusqlite::Result<bool> {
    let sql = match handle.kind {
        MemoryKind::Observation => "select 1 from observation where id = ?1",
        MemoryKind::Summary => "select 1 from summary where id = ?1",
        MemoryKind::Note => "select 1 from note where id = ?1",
        MemoryKind::Passage => "select 1 from passage where id = ?1",
        MemoryKind::Prompt => "select 1 from turn where id = ?1 and prompt is not null",
    };
    connection.prepare_cached(sql)?.exists([handle.id])
}
