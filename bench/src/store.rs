//! Generates a large store with years of work. Deterministic, and cached between runs.
//!
//! The schema is created by the product; the rows are inserted with plain SQL, which only the benchmark may do.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result};
use backstory_capture::project;
use backstory_store::Store;
use rusqlite::{Connection, Transaction, params};

use crate::{
    memories::{self, Search},
    random::Random,
    text::{Style, text},
};

/// Size of a store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount {
    pub(crate) events: usize,
    pub(crate) observations: usize,
}

pub(crate) const EVENTS_PER_SESSION: usize = 200;
pub(crate) const EVENTS_PER_TURN: usize = 10;
const PROJECTS: usize = 20;

/// Time of the first event, in 2026.
const START_MS: i64 = 1_770_000_000_000;
const MS_PER_EVENT: i64 = 20_000;

/// Returns a store of this size, generated now or by an earlier run.
pub(crate) fn prepare(folder: &Path, sample_project: &Path, amount: Amount) -> Result<PathBuf> {
    let temporary = folder.join("temporary.db");
    remove_starting_with(folder, "temporary.db")?;
    drop(Store::open(&temporary, folder).context("could not create a store")?);
    let mut connection = Connection::open(&temporary)?;
    // Stores are cached per schema.
    let stem = format!("store-{}-", amount.events);
    let name = format!("{stem}{:016x}.db", schema_hash(&connection)?);
    let path = folder.join(name);
    if path.exists() {
        drop(connection);
        remove_starting_with(folder, "temporary.db")?;
        return Ok(path);
    }
    remove_starting_with(folder, &stem)?;
    eprintln!(
        "generating a store of {} events (cached for later runs)",
        amount.events
    );
    let start = Instant::now();
    fill(&mut connection, sample_project, amount)?;
    drop(connection);
    fs::rename(&temporary, &path)?;
    let megabytes = fs::metadata(&path)?.len() >> 20;
    eprintln!("{megabytes} MB in {:.0} s", start.elapsed().as_secs_f64());
    Ok(path)
}

/// Removes obsolete stores: of an older schema, incomplete, or created only to read the schema.
fn remove_starting_with(folder: &Path, stem: &str) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(stem) {
            fs::remove_file(entry.path())?;
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
    // No other process uses it, and after a crash it is generated again.
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
    memories::observations(&transaction, amount, &texts)?;
    memories::summaries(&transaction, amount, &texts)?;
    transaction.commit()?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    Ok(())
}

/// Pools of text to cut pieces from, which is faster than generating each.
#[derive(Debug)]
pub(crate) struct Texts {
    code: String,
    log: String,
    pub(crate) prose: String,
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

/// Returns a random piece of a pool, of about `length` bytes.
pub(crate) fn piece<'t>(pool: &'t str, length: usize, random: &mut Random) -> &'t str {
    let length = length / 2 + random.below(length);
    let start = random.below(pool.len() - length);
    &pool[start..start + length]
}

pub(crate) fn number(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

pub(crate) fn at(event: usize) -> i64 {
    START_MS + number(event) * MS_PER_EVENT
}

/// Returns the project of a session. Half of the sessions belong to the sample project, with id 1.
pub(crate) fn project_of(session: usize) -> i64 {
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
