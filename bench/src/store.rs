//! A large store: years of work, made up, the same in every run, and kept for the next one.
//!
//! The schema is the product's own; the rows are put in with plain SQL, which only the benchmark may do.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io::ErrorKind,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result};
use backstory_capture::project;
use backstory_store::Store;
use rusqlite::{Connection, Transaction, params};

use crate::{
    random::Random,
    text::{Style, text},
};

/// How much is in a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount {
    pub(crate) events: usize,
    pub(crate) observations: usize,
}

const EVENTS_PER_SESSION: usize = 200;
const EVENTS_PER_TURN: usize = 10;
const EVENTS_PER_SUMMARY: usize = 50;
const PROJECTS: usize = 20;

/// The first event's time: in 2026.
const START_MS: i64 = 1_770_000_000_000;
const MS_PER_EVENT: i64 = 20_000;

/// Returns a store of this amount, made now or earlier.
pub(crate) fn prepare(folder: &Path, sample_project: &Path, amount: Amount) -> Result<PathBuf> {
    let unfinished = folder.join("unfinished.db");
    remove_unfinished(folder)?;
    drop(Store::open(&unfinished, folder).context("could not create a store")?);
    let mut connection = Connection::open(&unfinished)?;
    // Another schema is another store.
    let name = format!("store-{}-{:016x}.db", amount.events, schema_hash(&connection)?);
    let path = folder.join(name);
    if path.exists() {
        drop(connection);
        remove_unfinished(folder)?;
        return Ok(path);
    }
    eprintln!("making a store of {} events, once", amount.events);
    let start = Instant::now();
    fill(&mut connection, sample_project, amount)?;
    drop(connection);
    fs::rename(&unfinished, &path)?;
    let megabytes = fs::metadata(&path)?.len() >> 20;
    eprintln!("{megabytes} MB in {:.0} s", start.elapsed().as_secs_f64());
    Ok(path)
}

/// Removes the store that a run left which was interrupted, or that only told us its schema.
fn remove_unfinished(folder: &Path) -> Result<()> {
    for name in ["unfinished.db", "unfinished.db-wal", "unfinished.db-shm"] {
        match fs::remove_file(folder.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

fn schema_hash(connection: &Connection) -> Result<u64> {
    let mut statement =
        connection.prepare("select sql from sqlite_schema where sql is not null order by name")?;
    let sql = statement
        .query_map([], |row| row.get::<_, String>(0))?
        .collect::<Result<Vec<_>, _>>()?;
    let mut hasher = DefaultHasher::new();
    sql.hash(&mut hasher);
    Ok(hasher.finish())
}

fn fill(connection: &mut Connection, sample_project: &Path, amount: Amount) -> Result<()> {
    // Nobody else looks at it, and after a crash it is made anew.
    connection.pragma_update(None, "journal_mode", "off")?;
    connection.pragma_update(None, "synchronous", "off")?;
    connection.pragma_update(None, "cache_size", -400_000)?;
    connection.pragma_update(None, "foreign_keys", false)?;
    let texts = Texts::new();
    let transaction = connection.transaction()?;
    projects(&transaction, sample_project)?;
    sessions(&transaction, amount)?;
    turns(&transaction, amount, &texts)?;
    events(&transaction, amount, &texts)?;
    observations(&transaction, amount, &texts)?;
    summaries(&transaction, amount, &texts)?;
    transaction.commit()?;
    connection.execute_batch("analyze")?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    Ok(())
}

/// Text to cut pieces out of: faster than to make up each.
struct Texts {
    code: String,
    log: String,
    prose: String,
}

impl Texts {
    fn new() -> Self {
        const POOL: usize = 4 << 20;
        let mut random = Random::new(1);
        let mut pool = |style| text(style, POOL, &mut random);
        Self {
            code: pool(Style::Code),
            log: pool(Style::Log),
            prose: pool(Style::Prose),
        }
    }
}

/// Cuts a piece of about `length` out of a pool.
fn piece<'t>(pool: &'t str, length: usize, random: &mut Random) -> &'t str {
    let length = length / 2 + random.below(length);
    let start = random.below(pool.len() - length);
    &pool[start..start + length]
}

fn number(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn at(event: usize) -> i64 {
    START_MS + number(event) * MS_PER_EVENT
}

/// Half of the sessions are of the sample project, which has the number 1.
fn project_of(session: usize) -> i64 {
    if session.is_multiple_of(2) {
        1
    } else {
        number(2 + (session / 2) % (PROJECTS - 1))
    }
}

fn projects(transaction: &Transaction<'_>, sample: &Path) -> Result<()> {
    const INSERT: &str = "insert into project (id, key, name, root, created_at) values (?1, ?2, ?3, ?4, ?5)";
    let facts = project::locate(sample).facts;
    transaction.execute(INSERT, params![1, facts.key, facts.name, facts.root, START_MS])?;
    for project in 2..=PROJECTS {
        let name = format!("project-{project}");
        let (key, root) = (format!("github.com/acme/{name}"), format!("/home/dev/{name}"));
        transaction.execute(INSERT, params![number(project), key, name, root, START_MS])?;
    }
    Ok(())
}

fn sessions(transaction: &Transaction<'_>, amount: Amount) -> Result<()> {
    const INSERT: &str =
        "insert into session (id, session_id, host, project_id, cwd, branch, model, status, title,
        started_at, last_event_at, ended_at)
        values (?1, ?2, 'claude-code', ?3, '/home/dev/acme', 'main', 'model', 'completed', ?4, ?5, ?6, ?6)";
    let mut insert = transaction.prepare(INSERT)?;
    for session in 0..amount.events / EVENTS_PER_SESSION {
        let first = session * EVENTS_PER_SESSION;
        let (started, ended) = (at(first), at(first + EVENTS_PER_SESSION - 1));
        let (id, title) = (
            format!("stored-session-{session}"),
            format!("Session number {session}"),
        );
        insert.execute(params![
            number(session + 1),
            id,
            project_of(session),
            title,
            started,
            ended
        ])?;
    }
    Ok(())
}

fn turns(transaction: &Transaction<'_>, amount: Amount, texts: &Texts) -> Result<()> {
    const INSERT: &str = "insert into turn (id, session_db_id, number, prompt, branch, started_at, ended_at)
        values (?1, ?2, ?3, ?4, 'main', ?5, ?6)";
    let mut insert = transaction.prepare(INSERT)?;
    let mut search = Search::new(transaction)?;
    let mut random = Random::new(2);
    for turn in 0..amount.events / EVENTS_PER_TURN {
        let first = turn * EVENTS_PER_TURN;
        let session = first / EVENTS_PER_SESSION;
        let in_session = turn % (EVENTS_PER_SESSION / EVENTS_PER_TURN) + 1;
        let prompt = piece(&texts.prose, 160, &mut random);
        let (started, ended) = (at(first), at(first + EVENTS_PER_TURN - 1));
        insert.execute(params![
            number(turn + 1),
            number(session + 1),
            number(in_session),
            prompt,
            started,
            ended
        ])?;
        search.add(
            "prompt",
            turn + 1,
            project_of(session),
            started,
            [prompt, "", "", "", ""],
        )?;
    }
    Ok(())
}

fn events(transaction: &Transaction<'_>, amount: Amount, texts: &Texts) -> Result<()> {
    const INSERT: &str =
        "insert into event (key, session_db_id, turn_id, kind, tool_name, tool_use_id, at, payload, state)
        values (?1, ?2, ?3, 'post-tool-use', ?4, ?5, ?6, ?7, 'done')";
    let mut insert = transaction.prepare(INSERT)?;
    let mut random = Random::new(3);
    for event in 0..amount.events {
        let (pool, tool) = if event.is_multiple_of(3) {
            (&texts.code, "Edit")
        } else {
            (&texts.log, "Bash")
        };
        let output = serde_json::Value::from(piece(pool, 360, &mut random));
        let payload = format!(
            "{{\"tool_name\":\"{tool}\",\"tool_input\":{{\"command\":\"cargo test\"}},\"tool_response\":{{\"stdout\":{output}}}}}"
        );
        let key = format!(
            "{:020}-{:010}-post-tool-use",
            at(event) * 1_000_000,
            event % 30_000
        );
        let (session, turn) = (
            number(event / EVENTS_PER_SESSION + 1),
            number(event / EVENTS_PER_TURN + 1),
        );
        insert.execute(params![
            key,
            session,
            turn,
            tool,
            format!("toolu_stored_{event}"),
            at(event),
            payload
        ])?;
    }
    Ok(())
}

fn observations(transaction: &Transaction<'_>, amount: Amount, texts: &Texts) -> Result<()> {
    const INSERT: &str =
        "insert into observation (id, project_id, session_db_id, turn_id, type, title, subtitle, narrative,
        facts, concepts, files_read, files_modified, distiller, created_at, last_seen_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, '[\"how-it-works\"]', '[]', ?10, 'rules', ?11, ?11)";
    const FILE: &str = "insert into observation_file (observation_id, path, modified) values (?1, ?2, 1)";
    const TYPES: [&str; 5] = ["bugfix", "feature", "refactor", "discovery", "decision"];
    let mut insert = transaction.prepare(INSERT)?;
    let mut insert_file = transaction.prepare(FILE)?;
    let mut search = Search::new(transaction)?;
    let mut random = Random::new(4);
    let events_each = amount.events / amount.observations;
    for observation in 0..amount.observations {
        let event = observation * events_each;
        let session = event / EVENTS_PER_SESSION;
        let (id, project) = (number(observation + 1), project_of(session));
        let title = piece(&texts.prose, 50, &mut random).trim();
        let subtitle = piece(&texts.prose, 90, &mut random).trim();
        let narrative = piece(&texts.prose, 400, &mut random);
        let facts = serde_json::json!([
            piece(&texts.prose, 80, &mut random),
            piece(&texts.prose, 80, &mut random)
        ])
        .to_string();
        let path = format!("src/{}.rs", random.below(2000));
        let files = format!("[\"{path}\"]");
        let place = (number(session + 1), number(event / EVENTS_PER_TURN + 1));
        let kind = random.pick(&TYPES);
        insert.execute(params![
            id,
            project,
            place.0,
            place.1,
            kind,
            title,
            subtitle,
            narrative,
            facts,
            files,
            at(event)
        ])?;
        insert_file.execute(params![id, path])?;
        search.add(
            "observation",
            observation + 1,
            project,
            at(event),
            [title, subtitle, &facts, narrative, &path],
        )?;
    }
    Ok(())
}

fn summaries(transaction: &Transaction<'_>, amount: Amount, texts: &Texts) -> Result<()> {
    const INSERT: &str = "insert into summary (id, project_id, session_db_id, turn_id, request, learned, completed, next_steps,
        distiller, created_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'rules', ?9)";
    let mut insert = transaction.prepare(INSERT)?;
    let mut search = Search::new(transaction)?;
    let mut random = Random::new(5);
    for summary in 0..amount.events / EVENTS_PER_SUMMARY {
        let event = summary * EVENTS_PER_SUMMARY;
        let session = event / EVENTS_PER_SESSION;
        let (id, project, turn) = (
            number(summary + 1),
            project_of(session),
            number(event / EVENTS_PER_TURN + 1),
        );
        let [request, learned, completed, next] =
            [80, 300, 200, 120].map(|length| piece(&texts.prose, length, &mut random));
        insert.execute(params![
            id,
            project,
            number(session + 1),
            turn,
            request,
            learned,
            completed,
            next,
            at(event)
        ])?;
        search.add(
            "summary",
            summary + 1,
            project,
            at(event),
            [request, next, learned, completed, ""],
        )?;
    }
    Ok(())
}

/// Makes memories findable.
struct Search<'t> {
    document: rusqlite::Statement<'t>,
    words: rusqlite::Statement<'t>,
}

impl<'t> Search<'t> {
    fn new(transaction: &'t Transaction<'_>) -> rusqlite::Result<Self> {
        const DOCUMENT: &str = "insert into document (kind, memory_id, project_id, created_at) values (?1, ?2, ?3, ?4) returning id";
        const WORDS: &str = "insert into words (rowid, title, subtitle, facts, narrative, files)
            values (?1, ?2, ?3, ?4, ?5, ?6)";
        Ok(Self {
            document: transaction.prepare(DOCUMENT)?,
            words: transaction.prepare(WORDS)?,
        })
    }

    fn add(
        &mut self,
        kind: &str,
        memory: usize,
        project: i64,
        at: i64,
        columns: [&str; 5],
    ) -> rusqlite::Result<()> {
        let id: i64 = self
            .document
            .query_row(params![kind, number(memory), project, at], |row| row.get(0))?;
        let [title, subtitle, facts, narrative, files] = columns;
        self.words
            .execute(params![id, title, subtitle, facts, narrative, files])
            .map(drop)
    }
}
