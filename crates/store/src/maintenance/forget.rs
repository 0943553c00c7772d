//! Forgetting: deletes memories from every table, from the word index and from the files.
//!
//! The targets are collected in the temporary table `going` first, so that they can be counted and listed before anything is
//! deleted. The vector file is not part of the database: the caller removes the vectors of [`Forgotten::documents`].

use std::collections::BTreeMap;

use backstory_model::{DocumentId, Handle, MemoryKind, SessionId, Timestamp};
use rusqlite::{Connection, params};
use serde_json::Value;

use crate::{
    Project, Session, Store, StoreError,
    memory::{
        documents::{everywhere, range},
        pack::{EventPayload, unpack_bytes},
        stored,
    },
    sql::Statements as _,
    team::shares::forget_shares,
    words,
};

/// Selects what to forget.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'s> {
    /// Single memories. The text of a prompt is deleted, its turn stays.
    Memories(&'s [Handle]),
    /// A session with everything that belongs to it.
    Session(&'s Session),
    /// A project with all its sessions and memories.
    Project(&'s Project),
    /// Sessions and turns that ended before a time, and older memories.
    Before(Timestamp, Option<&'s Project>),
    /// Memories that contain all of these words, and the payloads of events that do.
    Match(&'s str, Option<&'s Project>),
}

/// Holds what is, or would be, forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Memories by kind.
    pub memories: BTreeMap<MemoryKind, u64>,
    /// Pinned memories among them.
    pub pinned: u64,
    /// Whole sessions.
    pub sessions: u64,
    /// Events whose payload is deleted.
    pub events: u64,
    /// The headlines of the first few memories.
    pub titles: Vec<(Handle, String)>,
    /// The documents of the memories.
    pub documents: Vec<DocumentId>,
}

impl Forgotten {
    /// Returns true if nothing matched.
    pub fn is_empty(&self) -> bool {
        self.memories.is_empty() && self.sessions == 0 && self.events == 0
    }
}

/// The number of headlines in [`Forgotten::titles`].
const MAX_TITLES: u32 = 5;

impl Store {
    /// Returns what would be forgotten. Changes nothing.
    pub fn preview_forget(&mut self, selection: Selection<'_>) -> Result<Forgotten, StoreError> {
        self.read("look for what is to be forgotten", |connection| {
            // Rolled back, with the temporary table. It writes to no other table, so it needs no write lock.
            let tx = connection.unchecked_transaction()?;
            collect_targets(&tx, selection)?;
            tally(&tx)
        })
    }

    /// Forgets. The bytes are gone from the files after [`Store::purge_deleted_pages`].
    pub fn forget(&mut self, selection: Selection<'_>, now: Timestamp) -> Result<Forgotten, StoreError> {
        self.write("forget", |tx| {
            collect_targets(tx, selection)?;
            let forgotten = tally(tx)?;
            let until = match selection {
                Selection::Before(before, _) => before,
                _ => now,
            };
            remove(tx, now, until)?;
            if let Selection::Match(text, project) = selection {
                clear_titles(tx, &Words::of(text), project)?;
            }
            if let Selection::Project(project) = selection {
                tx.run("delete from project where id = ?1", [project.db_id])?;
            }
            tx.execute_batch("drop table temp.going")?;
            Ok(forgotten)
        })
    }

    /// Rewrites the pages that still hold deleted text: the word index keeps the words of a deleted document until its
    /// segments are merged, and the log keeps old pages until it is truncated. Returns false if a reader kept the log from
    /// being truncated.
    pub fn purge_deleted_pages(&self) -> Result<bool, StoreError> {
        // 2,000 pages per step, about 8 MB, so that other writers get their turn.
        const BEGIN: &str = "insert into words (words, rank) values ('merge', -2000)";
        const CONTINUE: &str = "insert into words (words, rank) values ('merge', 2000)";
        const CHANGES: &str = "select total_changes()";
        self.read("purge deleted pages", |connection| {
            let changes = || connection.row(CHANGES, [], |row| row.get::<_, i64>(0));
            connection.run(BEGIN, [])?;
            loop {
                let before = changes()?;
                connection.run(CONTINUE, [])?;
                // Documented: fewer than two changes mean that nothing was left to merge.
                if changes()? - before < 2 {
                    break;
                }
            }
            let mut vacuum = connection.prepare("pragma incremental_vacuum")?;
            let mut steps = vacuum.query([])?;
            while steps.next()?.is_some() {}
            connection.query_row("pragma wal_checkpoint(truncate)", [], |row| {
                Ok(row.get::<_, i64>(0)? == 0)
            })
        })
    }

    /// Takes a session off the record: its transcript is neither read nor imported any more. Recorded events stay.
    pub fn take_off_the_record(&mut self, session_id: &str) -> Result<(), StoreError> {
        const MARK: &str = "insert into import (path, stamp, session_id) values (?1, ?2, ?3)
            on conflict (path) do update set stamp = excluded.stamp";
        const DETACH: &str = "update session set transcript_path = null where session_id = ?1";
        self.write("take a session off the record", |tx| {
            let never = i64::MAX.to_string();
            tx.run(MARK, params![forgotten_mark(session_id), never, session_id])?;
            tx.run(DETACH, [session_id]).map(drop)
        })
    }

    /// Returns the time up to which a session was forgotten: an import must skip older records of its transcript.
    pub fn forgotten_until(&self, session_id: &str) -> Result<Option<Timestamp>, StoreError> {
        const UNTIL: &str = "select max(cast(stamp as integer)) from import where path = ?1";
        self.read("look for a forgotten session", |connection| {
            connection.row(UNTIL, [forgotten_mark(session_id)], |row| row.get(0))
        })
    }
}

/// Returns the `path` of the row in `import` that marks a session as forgotten.
fn forgotten_mark(session_id: &str) -> String {
    format!("forgotten:{session_id}")
}

/// Collects the targets in `temp.going`.
fn collect_targets(connection: &Connection, selection: Selection<'_>) -> rusqlite::Result<()> {
    const CREATE: &str = "drop table if exists temp.going;
        create temp table going (kind text not null, id integer not null, primary key (kind, id)) without rowid";
    // A session takes its turns along, a turn the memories that were made of it.
    const DEPENDENTS: &str = "
        insert or ignore into going select 'turn', turn.id from turn join going on going.kind = 'session' and going.id = session_db_id;
        insert or ignore into going select 'prompt', turn.id from turn join going on going.kind = 'turn' and going.id = turn.id
            where prompt is not null and machine_made = 0;
        insert or ignore into going select 'observation', observation.id from observation join going on going.kind = 'session' and going.id = session_db_id;
        insert or ignore into going select 'observation', observation.id from observation join going on going.kind = 'turn' and going.id = turn_id;
        insert or ignore into going select 'summary', summary.id from summary join going on going.kind = 'session' and going.id = session_db_id;
        insert or ignore into going select 'summary', summary.id from summary join going on going.kind = 'turn' and going.id = turn_id;
        insert or ignore into going select 'passage', passage.id from passage join going on going.kind = 'session' and going.id = session_db_id;
        insert or ignore into going select 'passage', passage.id from passage join going on going.kind = 'turn' and going.id = turn_id;
        insert or ignore into going select 'note', note.id from note join going on going.kind = 'session' and going.id = session_db_id;
        insert or ignore into going select 'event', event.id from event join going on going.kind = 'session' and going.id = session_db_id;
        insert or ignore into going select 'event', event.id from event join going on going.kind = 'turn' and going.id = turn_id;";
    connection.execute_batch(CREATE)?;
    match selection {
        Selection::Memories(handles) => {
            for handle in handles {
                let handle = stored::resolve(connection, *handle)?;
                add_target(connection, handle.kind.name(), handle.id)?;
            }
        }
        Selection::Session(session) => add_target(connection, "session", session.db_id.get())?,
        Selection::Project(project) => collect_project(connection, project)?,
        Selection::Before(before, project) => collect_before(connection, before, project)?,
        Selection::Match(text, project) => collect_matching(connection, &Words::of(text), project)?,
    }
    connection.execute_batch(DEPENDENTS)
}

fn add_target(connection: &Connection, kind: &str, id: i64) -> rusqlite::Result<()> {
    connection
        .run("insert or ignore into going values (?1, ?2)", params![kind, id])
        .map(drop)
}

fn collect_project(connection: &Connection, project: &Project) -> rusqlite::Result<()> {
    for sql in [
        "insert into going select 'session', id from session where project_id = ?1",
        "insert into going select 'observation', id from observation where project_id = ?1",
        "insert into going select 'summary', id from summary where project_id = ?1",
        "insert into going select 'passage', id from passage where project_id = ?1",
        "insert into going select 'note', id from note where project_id = ?1",
        "insert into going select 'team', id from team_memory where project_id = ?1",
    ] {
        connection.execute(sql, [project.db_id])?;
    }
    Ok(())
}

fn collect_before(
    connection: &Connection,
    before: Timestamp,
    project: Option<&Project>,
) -> rusqlite::Result<()> {
    for sql in [
        "insert into going select 'session', id from session
            where last_event_at < ?1 and (?2 is null or project_id = ?2)",
        "insert into going select 'turn', turn.id from turn join session on session.id = session_db_id
            where coalesce(turn.ended_at, session.last_event_at) < ?1 and (?2 is null or project_id = ?2)",
        "insert into going select 'observation', id from observation
            where created_at < ?1 and (?2 is null or project_id = ?2)",
        "insert into going select 'summary', id from summary
            where created_at < ?1 and (?2 is null or project_id = ?2)",
        "insert into going select 'passage', id from passage
            where created_at < ?1 and (?2 is null or project_id = ?2)",
        "insert into going select 'note', id from note where created_at < ?1 and (?2 is null or project_id = ?2)",
        "insert into going select 'team', id from team_memory where created_at < ?1 and (?2 is null or project_id = ?2)",
    ] {
        connection.execute(sql, params![before, project.map(|project| project.db_id)])?;
    }
    Ok(())
}

/// Words that a text must contain literally. The word index also matches word stems, which would delete too much.
struct Words {
    text: String,
    words: Vec<String>,
}

impl Words {
    fn of(text: &str) -> Self {
        let text = text.to_lowercase();
        let words = text.split_whitespace().map(ToOwned::to_owned).collect();
        Self { text, words }
    }

    fn are_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        !self.words.is_empty() && self.words.iter().all(|word| text.contains(word))
    }

    /// Looks in the strings of a JSON text, where characters may be escaped.
    fn are_in_json(&self, json: &str) -> bool {
        if !json.contains('\\') {
            return self.are_in(json);
        }
        let parsed = serde_json::from_str(json);
        parsed.is_ok_and(|value| self.are_in(&strings_of(&value))) || self.are_in(json)
    }
}

/// Returns all strings and names in a JSON value.
fn strings_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(strings_of).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            let lines = fields
                .iter()
                .map(|(name, value)| format!("{name}\n{}", strings_of(value)));
            lines.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

fn collect_matching(
    connection: &Connection,
    words: &Words,
    project: Option<&Project>,
) -> rusqlite::Result<()> {
    const DOCUMENTS: &str =
        "select document.kind as kind, memory_id from words join document on document.id = words.rowid
        where words match ?1 and words.rowid between ?2 and ?3";
    const EVENTS: &str =
        "select event.id as id, payload, packed from event join session on session.id = session_db_id
        where ?1 is null or project_id = ?1";
    const LOGS: &str = "select turn.id as id, log from turn join session on session.id = session_db_id
        where log is not null and (?1 is null or project_id = ?1)";
    // Some prompts are not in the index: those of turns that await distillation, and machine-made ones.
    const PROMPTS: &str = "select turn.id as id, prompt from turn join session on session.id = session_db_id
        where prompt is not null and (?1 is null or project_id = ?1)";
    let terms: Vec<String> = words::terms(&words.text)
        .iter()
        .map(words::Term::to_match)
        .collect();
    if terms.is_empty() {
        return Ok(());
    }
    let range = project.map_or_else(everywhere, |project| range(project.db_id));
    let handles = connection.rows(
        DOCUMENTS,
        params![terms.join(" AND "), range.start(), range.end()],
        |row| {
            Ok(Handle {
                kind: row.get("kind")?,
                id: row.get("memory_id")?,
            })
        },
    )?;
    for handle in handles {
        if let Some(memory) = stored::read(connection, handle)?
            && words.are_in(&memory.record.everything())
        {
            add_target(connection, handle.kind.name(), handle.id)?;
        }
    }
    let project = project.map(|project| project.db_id);
    // Streamed: the payloads of a large store do not fit into memory.
    let mut statement = connection.prepare(EVENTS)?;
    let mut rows = statement.query([project])?;
    while let Some(row) = rows.next()? {
        if words.are_in_json(&EventPayload::from_row(row)?.text()) {
            add_target(connection, "record", row.get("id")?)?;
        }
    }
    let mut statement = connection.prepare(LOGS)?;
    let mut rows = statement.query([project])?;
    while let Some(row) = rows.next()? {
        let log = unpack_bytes(row.get_ref("log")?.as_blob()?).unwrap_or_default();
        if words.are_in_json(&log) {
            add_target(connection, "log", row.get("id")?)?;
        }
    }
    let mut statement = connection.prepare(PROMPTS)?;
    let mut rows = statement.query([project])?;
    while let Some(row) = rows.next()? {
        if words.are_in(row.get_ref("prompt")?.as_str()?) {
            add_target(connection, MemoryKind::Prompt.name(), row.get("id")?)?;
        }
    }
    Ok(())
}

fn tally(connection: &Connection) -> rusqlite::Result<Forgotten> {
    const COUNTS: &str = "select kind, count(*) as number from going group by kind";
    const PINNED: &str = "select
        (select count(*) from going join observation as memory using (id) where kind = 'observation' and memory.pinned)
        + (select count(*) from going join summary as memory using (id) where kind = 'summary' and memory.pinned)
        + (select count(*) from going join turn as memory using (id) where kind = 'prompt' and memory.pinned)
        + (select count(*) from going join note as memory using (id) where kind = 'note' and memory.pinned)
        + (select count(*) from going join team_memory as memory using (id) where going.kind = 'team' and memory.pinned)
        + (select count(*) from passage where pinned and id in (select id from going where kind = 'passage'))";
    const DOCUMENTS: &str = "select document.id as id from document
        join going on going.kind = document.kind and going.id = memory_id order by document.id";
    const FIRST: &str = "select kind, id from going where kind in ('note', 'observation', 'team', 'summary', 'prompt', 'passage')
        order by case kind when 'note' then 0 when 'observation' then 1 when 'team' then 2 when 'summary' then 3
            when 'prompt' then 4 else 5 end,
            id limit ?1";
    // Prepared without the cache: the table is another one each time.
    let mut forgotten = Forgotten::default();
    let mut statement = connection.prepare(COUNTS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, count): (String, u64) = (row.get("kind")?, row.get("number")?);
        match (name.as_str(), MemoryKind::from_name(&name)) {
            (_, Some(kind)) => drop(forgotten.memories.insert(kind, count)),
            ("session", _) => forgotten.sessions = count,
            ("event" | "record", _) => forgotten.events += count,
            _ => {}
        }
    }
    forgotten.pinned = connection.query_row(PINNED, [], |row| row.get(0))?;
    let mut statement = connection.prepare(DOCUMENTS)?;
    let rows = statement.query_map([], |row| row.get("id"))?;
    forgotten.documents = rows.collect::<Result<_, _>>()?;
    let mut statement = connection.prepare(FIRST)?;
    let rows = statement.query_map([MAX_TITLES], |row| {
        Ok(Handle {
            kind: row.get("kind")?,
            id: row.get("id")?,
        })
    })?;
    for handle in rows {
        let handle = handle?;
        if let Some(memory) = stored::read(connection, handle)? {
            forgotten
                .titles
                .push((handle, memory.record.headline().to_owned()));
        }
    }
    Ok(forgotten)
}

fn remove(connection: &Connection, now: Timestamp, until: Timestamp) -> rusqlite::Result<()> {
    // The transcript of a session may still be on the disk: an import must not bring it back.
    const MARK_SESSIONS: &str = "insert into import select 'forgotten:' || session_id, ?1, session_id from session
            where id in (select id from going where kind = 'session')
        on conflict (path) do update set stamp = max(cast(stamp as integer), cast(excluded.stamp as integer))";
    const MARK_TURNS: &str = "insert into import select distinct 'forgotten:' || session_id, ?1, session_id
            from session join turn on turn.session_db_id = session.id
            where turn.id in (select id from going where kind = 'turn')
                and session.id not in (select id from going where kind = 'session')
        on conflict (path) do update set stamp = max(cast(stamp as integer), cast(excluded.stamp as integer))";
    // The names of the changes are those of `ChangeEvent`. A session's title and subtitle repeat the words of a prompt. A turn
    // of which something was forgotten is marked: distilling it again would bring the memory back.
    const REMOVE: &str = "
        insert into change (name, memory_id) select kind || '_forgotten', id from going
            where kind in ('observation', 'summary', 'note', 'prompt', 'session', 'team');
        update turn set forgotten = 1 where id in (
            select turn_id from observation where id in (select id from going where kind = 'observation')
            union all select turn_id from sighting where observation_id in (select id from going where kind = 'observation')
            union all select turn_id from summary where id in (select id from going where kind = 'summary')
            union all select turn_id from passage where id in (select id from going where kind = 'passage')
            union all select turn_id from event where id in (select id from going where kind = 'record')
            union all select id from going where kind in ('prompt', 'log'));
        update episode set request = null, title = '' where session_db_id in (select session_db_id from turn
            where forgotten and log is not null or id in (select id from going where kind = 'turn'));
        delete from handover where session_db_id in (select session_db_id from turn where forgotten and log is not null
            or id in (select id from going where kind = 'turn'));
        delete from command_result where turn_id in (select id from turn where forgotten and log is not null);
        delete from command_rule where turn_id in (select id from turn where forgotten and log is not null);
        update turn set log = null where forgotten and log is not null;
        delete from turn_for_model where turn_id in (select id from turn where forgotten);
        update session set title = null, subtitle = null where id in (select session_db_id from turn
            where id in (select id from going where kind in ('prompt', 'turn')));
        delete from document where kind = 'prompt' and memory_id in (select id from going where kind = 'prompt');
        update event set payload = '{}', packed = null where kind = 'user-prompt-submit'
            and turn_id in (select id from going where kind = 'prompt');
        update event set payload = '{}', packed = null where id in (select id from going where kind = 'record');
        update turn set prompt = null where id in (select id from going where kind = 'prompt');
        delete from observation where id in (select id from going where kind = 'observation');
        delete from summary where id in (select id from going where kind = 'summary');
        delete from passage where id in (select id from going where kind = 'passage');
        delete from note where id in (select id from going where kind = 'note');
        insert or ignore into team_forgotten select record_id from team_memory
            where id in (select id from going where kind = 'team');
        delete from document where kind = 'team' and memory_id in (select id from going where kind = 'team');
        delete from team_memory where id in (select id from going where kind = 'team');
        delete from turn where id in (select id from going where kind = 'turn');
        delete from session where id in (select id from going where kind = 'session');
        -- Both hold paths, and the next check of branches fills them again.
        delete from renamed_file;
        delete from repository_check;
        -- It quotes memories and sessions, and only explains an outcome.
        update recall_outcome set evidence = null where evidence is not null;";
    connection.execute(MARK_SESSIONS, [now.max(until).as_millis().to_string()])?;
    connection.execute(MARK_TURNS, [until.as_millis().to_string()])?;
    forget_shares(connection, now)?;
    connection.execute_batch(REMOVE)
}

/// Clears the titles of sessions that contain the words.
fn clear_titles(connection: &Connection, words: &Words, project: Option<&Project>) -> rusqlite::Result<()> {
    const TITLES: &str =
        "select id, coalesce(title, '') || ' ' || coalesce(subtitle, '') as titles from session
        where (title is not null or subtitle is not null) and (?1 is null or project_id = ?1)";
    const CLEAR: &str = "update session set title = null, subtitle = null where id = ?1";
    let project = project.map(|project| project.db_id);
    let titles = connection.rows(TITLES, [project], |row| Ok((row.get("id")?, row.get("titles")?)))?;
    for (id, titles) in titles {
        let (id, titles): (SessionId, String) = (id, titles);
        if words.are_in(&titles) {
            connection.run(CLEAR, [id])?;
        }
    }
    Ok(())
}
