//! Forgets: what a person wants gone is gone from every table, from the word index and from the files.
//!
//! What goes is gathered first (`going`, a table that lives as long as the connection), so that it can be counted and named
//! before anything is removed. Vectors in files beside the database are the caller's: it is told the documents' numbers.

use std::collections::BTreeMap;

use backstory_model::{DocumentId, Handle, MemoryKind, Timestamp};
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::Value;

use crate::{
    Project, Session, Store, StoreError,
    memory::documents::{everywhere, range},
    schema::open::query,
    search::words,
    transfer::export,
};

/// What is to be forgotten.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'s> {
    /// Single memories and nothing else. Of a prompt the words go; its turn stays.
    Memories(&'s [Handle]),
    /// A session with everything that belongs to it.
    Session(&'s Session),
    /// A project with all its sessions and memories.
    Project(&'s Project),
    /// Sessions and turns that were over before a time, and memories that are older.
    Before(Timestamp, Option<&'s Project>),
    /// Memories that contain all of these words, and the raw record of events that do.
    Match(&'s str, Option<&'s Project>),
}

/// What goes, or went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// Memories, by kind.
    pub memories: BTreeMap<MemoryKind, u64>,
    /// How many of them are pinned.
    pub pinned: u64,
    /// Whole sessions.
    pub sessions: u64,
    /// Events whose record goes.
    pub events: u64,
    /// What the first few memories are called.
    pub titles: Vec<(Handle, String)>,
    /// The numbers that the memories had as documents.
    pub documents: Vec<DocumentId>,
}

impl Forgotten {
    /// Says whether there is nothing to forget.
    pub fn is_empty(&self) -> bool {
        self.memories.is_empty() && self.sessions == 0 && self.events == 0
    }
}

/// How many memories are named.
const MAX_TITLES: u32 = 5;

impl Store {
    /// Says what would go, and changes nothing.
    pub fn preview_forget(&mut self, selection: Selection<'_>) -> Result<Forgotten, StoreError> {
        let attempt = query("look for what is to be forgotten");
        let transaction = self.connection.transaction().map_err(attempt)?;
        // Dropped without a commit: not even the list of what would go remains.
        collect_targets(&transaction, selection)
            .and_then(|()| tally(&transaction))
            .map_err(attempt)
    }

    /// Forgets. All of it or nothing; the bytes are gone from the files once [`Store::leave_no_trace`] is through.
    pub fn forget(&mut self, selection: Selection<'_>, now: Timestamp) -> Result<Forgotten, StoreError> {
        let attempt = query("forget");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let run = || -> rusqlite::Result<Forgotten> {
            collect_targets(&transaction, selection)?;
            let forgotten = tally(&transaction)?;
            let until = match selection {
                Selection::Before(ms, _) => ms,
                _ => now,
            };
            remove(&transaction, now, until)?;
            if let Selection::Match(text, project) = selection {
                clear_titles(&transaction, &Words::of(text), project)?;
            }
            if let Selection::Project(project) = selection {
                transaction.execute("delete from project where id = ?1", [project.db_id])?;
            }
            transaction.execute_batch("drop table temp.going")?;
            Ok(forgotten)
        };
        let forgotten = run().map_err(attempt)?;
        transaction.commit().map_err(attempt)?;
        Ok(forgotten)
    }

    /// Rewrites what still holds traces of removed memories: the word index keeps the words of a removed document until
    /// its parts are merged, the log keeps older pages until it is emptied. Returns whether the log could be emptied;
    /// a process that reads may hold it for a while.
    pub fn purge_deleted_pages(&self) -> Result<bool, StoreError> {
        // In steps of about 8 MB: whoever else writes gets its turn in between.
        const BEGIN: &str = "insert into words (words, rank) values ('merge', -2000)";
        const GO_ON: &str = "insert into words (words, rank) values ('merge', 2000)";
        const CHANGES: &str = "select total_changes()";
        let run = || -> rusqlite::Result<bool> {
            let connection = &self.connection;
            let changes = || connection.query_row(CHANGES, [], |row| row.get::<_, i64>(0));
            connection.execute(BEGIN, [])?;
            loop {
                let before = changes()?;
                connection.execute(GO_ON, [])?;
                // So the manual: fewer than two changes mean that nothing is left to merge.
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
        };
        run().map_err(query("clear the traces of what was forgotten"))
    }

    /// Returns until when a session was forgotten, in milliseconds since 1970: its transcript tells nothing older.
    pub fn forgotten_until(&self, session_id: &str) -> Result<Option<Timestamp>, StoreError> {
        const UNTIL: &str = "select max(cast(stamp as integer)) from import where path = ?1";
        self.connection
            .query_row(UNTIL, [mark(session_id)], |row| row.get(0))
            .map_err(query("look for a forgotten session"))
    }
}

/// A row among the imports that is no file.
fn mark(session_id: &str) -> String {
    format!("forgotten:{session_id}")
}

/// Lists everything that goes in `temp.going`.
fn collect_targets(connection: &Connection, selection: Selection<'_>) -> rusqlite::Result<()> {
    const CREATE: &str = "drop table if exists temp.going;
        create temp table going (kind text not null, id integer not null, primary key (kind, id)) without rowid";
    connection.execute_batch(CREATE)?;
    match selection {
        Selection::Memories(handles) => {
            for handle in handles {
                goes(connection, handle.kind.name(), handle.id)?;
            }
        }
        Selection::Session(session) => goes(connection, "session", session.db_id.get())?,
        Selection::Project(project) => gather_project(connection, project)?,
        Selection::Before(ms, project) => gather_before(connection, ms, project)?,
        Selection::Match(text, project) => gather_matching(connection, &Words::of(text), project)?,
    }
    // With a session goes what belongs to it, with a turn what was made of it.
    const BELONGS: &str = "
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
    connection.execute_batch(BELONGS)
}

fn goes(connection: &Connection, kind: &str, id: i64) -> rusqlite::Result<()> {
    const GOES: &str = "insert or ignore into going values (?1, ?2)";
    connection
        .prepare_cached(GOES)?
        .execute(params![kind, id])
        .map(drop)
}

fn gather_project(connection: &Connection, project: &Project) -> rusqlite::Result<()> {
    for sql in [
        "insert into going select 'session', id from session where project_id = ?1",
        "insert into going select 'observation', id from observation where project_id = ?1",
        "insert into going select 'summary', id from summary where project_id = ?1",
        "insert into going select 'passage', id from passage where project_id = ?1",
        "insert into going select 'note', id from note where project_id = ?1",
    ] {
        connection.execute(sql, [project.db_id])?;
    }
    Ok(())
}

fn gather_before(
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
    ] {
        connection.execute(sql, params![before, project.map(|project| project.db_id)])?;
    }
    Ok(())
}

/// Words that all must stand in a text, as they are: an index that knows word stems would find too much.
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

    /// The same in JSON, where characters may be written otherwise.
    fn are_in_json(&self, json: &str) -> bool {
        if !json.contains('\\') {
            return self.are_in(json);
        }
        let parsed = serde_json::from_str(json);
        parsed.is_ok_and(|value| self.are_in(&plain(&value))) || self.are_in(json)
    }
}

/// Every text in a JSON value, one after the other.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            let lines = fields
                .iter()
                .map(|(name, value)| format!("{name}\n{}", plain(value)));
            lines.collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

fn gather_matching(
    connection: &Connection,
    words: &Words,
    project: Option<&Project>,
) -> rusqlite::Result<()> {
    const DOCUMENTS: &str =
        "select document.kind, memory_id from words join document on document.id = words.rowid
        where words match ?1 and words.rowid between ?2 and ?3";
    const EVENTS: &str = "select event.id, payload from event join session on session.id = session_db_id
        where ?1 is null or project_id = ?1";
    // Not every prompt is in the index: not before its turn is distilled, and never one that a machine made.
    const PROMPTS: &str = "select turn.id, prompt from turn join session on session.id = session_db_id
        where prompt is not null and (?1 is null or project_id = ?1)";
    let terms: Vec<String> = words::terms(&words.text)
        .iter()
        .map(words::Term::to_match)
        .collect();
    if terms.is_empty() {
        return Ok(());
    }
    let range = project.map_or_else(everywhere, |project| range(project.db_id));
    let mut statement = connection.prepare(DOCUMENTS)?;
    let mut rows = statement.query(params![terms.join(" AND "), range.start(), range.end()])?;
    while let Some(row) = rows.next()? {
        let Some(kind) = MemoryKind::from_name(row.get_ref(0)?.as_str()?) else {
            continue;
        };
        let id = row.get(1)?;
        if let Some(line) = export::read(connection, Handle { kind, id })?
            && words.are_in(&line.everything())
        {
            goes(connection, kind.name(), id)?;
        }
    }
    let mut statement = connection.prepare(EVENTS)?;
    let mut rows = statement.query([project.map(|project| project.db_id)])?;
    while let Some(row) = rows.next()? {
        if words.are_in_json(row.get_ref(1)?.as_str()?) {
            goes(connection, "record", row.get(0)?)?;
        }
    }
    let mut statement = connection.prepare(PROMPTS)?;
    let mut rows = statement.query([project.map(|project| project.db_id)])?;
    while let Some(row) = rows.next()? {
        if words.are_in(row.get_ref(1)?.as_str()?) {
            goes(connection, "prompt", row.get(0)?)?;
        }
    }
    Ok(())
}

fn tally(connection: &Connection) -> rusqlite::Result<Forgotten> {
    const COUNTS: &str = "select kind, count(*) from going group by kind";
    const PINNED: &str = "select
        (select count(*) from going join observation as memory using (id) where kind = 'observation' and memory.pinned)
        + (select count(*) from going join summary as memory using (id) where kind = 'summary' and memory.pinned)
        + (select count(*) from going join turn as memory using (id) where kind = 'prompt' and memory.pinned)
        + (select count(*) from going join note as memory using (id) where kind = 'note' and memory.pinned)
        + (select count(*) from passage where pinned and id in (select id from going where kind = 'passage'))";
    const DOCUMENTS: &str = "select document.id from document
        join going on going.kind = document.kind and going.id = memory_id order by document.id";
    const FIRST: &str = "select kind, id from going where kind in ('note', 'observation', 'summary', 'prompt', 'passage')
        order by case kind when 'note' then 0 when 'observation' then 1 when 'summary' then 2 when 'prompt' then 3 else 4 end,
            id limit ?1";
    let mut forgotten = Forgotten::default();
    let mut statement = connection.prepare(COUNTS)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (name, count): (String, u64) = (row.get(0)?, row.get(1)?);
        match (name.as_str(), MemoryKind::from_name(&name)) {
            (_, Some(kind)) => drop(forgotten.memories.insert(kind, count)),
            ("session", _) => forgotten.sessions = count,
            ("event" | "record", _) => forgotten.events += count,
            _ => {}
        }
    }
    forgotten.pinned = connection.query_row(PINNED, [], |row| row.get(0))?;
    let mut statement = connection.prepare(DOCUMENTS)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    forgotten.documents = rows.collect::<Result<_, _>>()?;
    let mut statement = connection.prepare(FIRST)?;
    let mut rows = statement.query([MAX_TITLES])?;
    while let Some(row) = rows.next()? {
        let id = row.get(1)?;
        let Some(kind) = MemoryKind::from_name(row.get_ref(0)?.as_str()?) else {
            continue;
        };
        let handle = Handle { kind, id };
        if let Some(line) = export::read(connection, handle)? {
            forgotten.titles.push((handle, line.headline().to_owned()));
        }
    }
    Ok(forgotten)
}

fn remove(connection: &Connection, now: Timestamp, until: Timestamp) -> rusqlite::Result<()> {
    // A session's transcript may still be on the disk: what it told must not come back by an import.
    const MARK: &str = "insert into import select 'forgotten:' || session_id, ?1, session_id from session
            where id in (select id from going where kind = 'session')
        on conflict (path) do update set stamp = max(cast(stamp as integer), cast(excluded.stamp as integer))";
    const MARK_PARTS: &str = "insert into import select distinct 'forgotten:' || session_id, ?1, session_id
            from session join turn on turn.session_db_id = session.id
            where turn.id in (select id from going where kind = 'turn')
                and session.id not in (select id from going where kind = 'session')
        on conflict (path) do update set stamp = max(cast(stamp as integer), cast(excluded.stamp as integer))";
    connection.execute(MARK, [now.max(until).as_millis().to_string()])?;
    connection.execute(MARK_PARTS, [until.as_millis().to_string()])?;
    // The first request names a session, the latest turn is its second line: they say what the prompt said. Whoever is to
    // distil the turn again, or does so now, would bring back what a person wanted gone, a model in other words.
    const REMOVE: &str = "
        insert into change (name, memory_id) select kind || '_forgotten', id from going
            where kind in ('observation', 'summary', 'note', 'prompt', 'session');
        update turn set forgotten = 1 where id in (
            select turn_id from observation where id in (select id from going where kind = 'observation')
            union all select turn_id from sighting where observation_id in (select id from going where kind = 'observation')
            union all select turn_id from summary where id in (select id from going where kind = 'summary')
            union all select turn_id from passage where id in (select id from going where kind = 'passage')
            union all select turn_id from event where id in (select id from going where kind = 'record')
            union all select id from going where kind = 'prompt');
        delete from turn_for_model where turn_id in (select id from turn where forgotten);
        update session set title = null, subtitle = null where id in (select session_db_id from turn
            where id in (select id from going where kind in ('prompt', 'turn')));
        delete from document where kind = 'prompt' and memory_id in (select id from going where kind = 'prompt');
        update event set payload = '{}' where kind = 'user-prompt-submit'
            and turn_id in (select id from going where kind = 'prompt');
        update event set payload = '{}' where id in (select id from going where kind = 'record');
        update turn set prompt = null where id in (select id from going where kind = 'prompt');
        delete from observation where id in (select id from going where kind = 'observation');
        delete from summary where id in (select id from going where kind = 'summary');
        delete from passage where id in (select id from going where kind = 'passage');
        delete from note where id in (select id from going where kind = 'note');
        delete from turn where id in (select id from going where kind = 'turn');
        delete from session where id in (select id from going where kind = 'session');";
    connection.execute_batch(REMOVE)
}

/// Takes the name from sessions whose name has the words.
fn clear_titles(connection: &Connection, words: &Words, project: Option<&Project>) -> rusqlite::Result<()> {
    const TITLES: &str = "select id, coalesce(title, '') || ' ' || coalesce(subtitle, '') from session
        where (title is not null or subtitle is not null) and (?1 is null or project_id = ?1)";
    const UNTITLE: &str = "update session set title = null, subtitle = null where id = ?1";
    let mut statement = connection.prepare(TITLES)?;
    let rows = statement.query_map([project.map(|project| project.db_id)], |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
    })?;
    let named: Vec<(i64, String)> = rows.collect::<Result<_, _>>()?;
    for (id, title) in named {
        if words.are_in(&title) {
            connection.execute(UNTITLE, [id])?;
        }
    }
    Ok(())
}
