//! Takes events in: from the spool into sessions, turns and the queue, exactly once.

use backstory_model::{Event, EventKind, ProjectIdentity, SessionId, Timestamp, TurnId};
use backstory_text::hash64;
use rusqlite::{CachedStatement, OptionalExtension, Transaction, TransactionBehavior, params};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    Store, StoreError,
    memory::changes::{ChangeEvent, record_change},
    schema::open::{check_not_newer, query},
    schema_version,
    sessions::projects,
};

/// What became of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngestCounts {
    /// Events that are new.
    pub new: usize,
    /// Events that had been taken in before.
    pub known: usize,
}

/// What intake itself needs of a payload. Lenient: a field of the wrong type is as good as absent.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Wire<'p> {
    #[serde(borrow)]
    cwd: Option<&'p RawValue>,
    #[serde(borrow)]
    prompt: Option<&'p RawValue>,
    #[serde(borrow)]
    prompt_id: Option<&'p RawValue>,
    #[serde(borrow)]
    agent_id: Option<&'p RawValue>,
    #[serde(borrow)]
    tool_name: Option<&'p RawValue>,
    #[serde(borrow)]
    tool_use_id: Option<&'p RawValue>,
    #[serde(borrow)]
    tool_response: Option<&'p RawValue>,
    #[serde(borrow)]
    transcript_path: Option<&'p RawValue>,
    #[serde(borrow)]
    model: Option<&'p RawValue>,
    #[serde(borrow)]
    reason: Option<&'p RawValue>,
}

fn text(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

/// The parts of intake that the store cannot know by itself.
#[derive(Clone, Copy)]
pub struct IngestHooks<'f> {
    /// Finds the project of a folder, for a session whose first event does not say.
    pub locate: &'f dyn Fn(&str) -> ProjectIdentity,
    /// Tells a prompt that a program wrote from a person's.
    pub is_machine_made: &'f dyn Fn(&str) -> bool,
}

impl std::fmt::Debug for IngestHooks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Senses")
    }
}

impl Store {
    /// Stores a batch in one transaction. An event whose key is known changes nothing.
    pub fn ingest_batch(
        &mut self,
        events: &[Event],
        senses: IngestHooks<'_>,
    ) -> Result<IngestCounts, StoreError> {
        let attempt = query("take events in");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        // Asked inside the transaction: a newer version may have brought the schema up to date since this one opened it.
        check_not_newer(&transaction, &self.place.path, schema_version())?;
        let mut taken = IngestCounts::default();
        for event in events {
            match take_one(&transaction, event, senses).map_err(attempt)? {
                true => taken.new += 1,
                false => taken.known += 1,
            }
        }
        transaction.commit().map_err(attempt)?;
        Ok(taken)
    }
}

impl Store {
    /// Says whether an event was taken in, by its key.
    pub fn has_event(&self, key: &str) -> Result<bool, StoreError> {
        self.connection
            .prepare_cached(KNOWN)
            .and_then(|mut known| known.exists([key]))
            .map_err(query("look for an event"))
    }

    /// Says whether a file was imported in this very state.
    pub fn is_imported(&self, path: &str, stamp: &str) -> Result<bool, StoreError> {
        const SAME: &str = "select 1 from import where path = ?1 and stamp = ?2";
        let attempt = query("look for an earlier import");
        self.connection
            .prepare_cached(SAME)
            .and_then(|mut same| same.exists([path, stamp]))
            .map_err(attempt)
    }

    /// Notes that a file was imported in this state.
    pub fn note_import(&mut self, path: &str, stamp: &str, session_id: &str) -> Result<(), StoreError> {
        const NOTE: &str = "insert into import values (?1, ?2, ?3)
            on conflict (path) do update set stamp = excluded.stamp";
        self.connection
            .execute(NOTE, [path, stamp, session_id])
            .map(drop)
            .map_err(query("note an import"))
    }

    /// Returns when a session was first heard of by a hook, in milliseconds since 1970.
    pub fn first_live_event(&self, session_id: &str) -> Result<Option<Timestamp>, StoreError> {
        const FIRST: &str = "select min(event.at) from event join session on session.id = event.session_db_id
            where session.session_id = ?1 and event.source = 'hook'";
        self.connection
            .query_row(FIRST, [session_id], |row| row.get(0))
            .map_err(query("look for live events"))
    }
}

const KNOWN: &str = "select 1 from event where key = ?1";

/// Returns whether the event is new.
fn take_one(transaction: &Transaction<'_>, event: &Event, senses: IngestHooks<'_>) -> rusqlite::Result<bool> {
    const INSERT: &str = "insert into event
            (key, source, session_db_id, turn_id, kind, agent_id, tool_name, tool_use_id, at, payload, read_hash)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
    if cached(transaction, KNOWN)?.exists([&event.key])? {
        return Ok(false);
    }
    // Checked when it was spooled and read: a payload is an object. One that is not has no fields.
    let wire: Wire<'_> = serde_json::from_str(&event.payload).unwrap_or_default();
    let session = session(transaction, event, &wire, senses)?;
    let turn = turn(transaction, event, &wire, session, senses)?;
    if event.kind == EventKind::Stop {
        // Until its summary is made: `Store::finish` says so.
        const WAITS: &str = "update session set status = 'summarizing' where id = ?1 and status = 'active'";
        cached(transaction, WAITS)?.execute([session])?;
    }
    if event.kind == EventKind::SessionEnd {
        end_session(transaction, event, &wire, session)?;
    }
    let tool_name = text(wire.tool_name);
    let shown = wire
        .tool_response
        .filter(|_| tool_name.as_deref() == Some("Read"))
        .map(RawValue::get);
    let read_hash = shown.map(hash);
    let payload = without_repetition(transaction, session, &event.payload, shown)?;
    cached(transaction, INSERT)?.execute(params![
        event.key,
        event.source,
        session,
        turn,
        event.kind,
        text(wire.agent_id),
        tool_name,
        text(wire.tool_use_id),
        event.at,
        payload.as_deref().unwrap_or(&event.payload),
        read_hash,
    ])?;
    Ok(true)
}

/// Agents read the same file again and again: what it shows is kept once per session while it stays the same.
fn without_repetition(
    transaction: &Transaction<'_>,
    session: SessionId,
    payload: &str,
    shown: Option<&str>,
) -> rusqlite::Result<Option<String>> {
    const SEEN: &str = "select 1 from event where session_db_id = ?1 and read_hash = ?2";
    let Some(shown) = shown.filter(|shown| shown.len() > 256) else {
        return Ok(None);
    };
    if !cached(transaction, SEEN)?.exists(params![session, hash(shown)])? {
        return Ok(None);
    }
    // `shown` is a part of `payload`.
    let start = shown.as_ptr() as usize - payload.as_ptr() as usize;
    let (before, after) = (&payload[..start], &payload[start + shown.len()..]);
    Ok(Some(format!("{before}\"[as read before]\"{after}")))
}

/// Returns the hash by which a text that was read before is recognized, as SQLite stores it.
pub(crate) fn hash(text: &str) -> i64 {
    hash64(text.as_bytes()).cast_signed()
}

/// Finds or creates the session of an event and notes what the event says about it.
fn session(
    transaction: &Transaction<'_>,
    event: &Event,
    wire: &Wire<'_>,
    senses: IngestHooks<'_>,
) -> rusqlite::Result<SessionId> {
    const FIND: &str = "select id from session where session_id = ?1";
    const CREATE: &str = "insert into session (session_id, host, project_id, cwd, started_at, last_event_at)
        values (?1, ?2, ?3, ?4, ?5, ?5) returning id";
    const UPDATE: &str = "update session set last_event_at = max(last_event_at, ?2), branch = coalesce(?3, branch),
        worktree = coalesce(?4, worktree), model = coalesce(?5, model), transcript_path = coalesce(?6, transcript_path)
        where id = ?1";
    const REVIVE: &str = "update session set status = 'active', ended_at = null, end_reason = null where id = ?1 and status <> 'active'";
    const HEARD_OF: &str = "update session set status = 'active' where id = ?1 and status = 'interrupted'";
    let cwd = text(wire.cwd);
    let known = cached(transaction, FIND)?
        .query_row([&event.session_id], |row| row.get(0))
        .optional()?;
    let mut facts = event.project.clone();
    let id: SessionId = match known {
        Some(id) => id,
        None => {
            let found = facts.get_or_insert_with(|| (senses.locate)(cwd.as_deref().unwrap_or("")));
            let project = projects::find_or_create(transaction, found, event.at)?;
            let values = params![event.session_id, event.host.as_str(), project, cwd, event.at];
            let id = cached(transaction, CREATE)?.query_row(values, |row| row.get(0))?;
            record_change(transaction, ChangeEvent::SessionStarted(id))?;
            id
        }
    };
    let (branch, worktree) = facts
        .map(|facts| (facts.branch, facts.worktree))
        .unwrap_or_default();
    let values = params![
        id,
        event.at,
        branch,
        worktree,
        text(wire.model),
        text(wire.transcript_path)
    ];
    cached(transaction, UPDATE)?.execute(values)?;
    match event.kind {
        // A prompt after the end is a resumed session.
        EventKind::UserPromptSubmit | EventKind::SessionStart => {
            cached(transaction, REVIVE)?.execute([id])?
        }
        EventKind::SessionEnd => 0,
        // A tool may take longer than a day.
        _ => cached(transaction, HEARD_OF)?.execute([id])?,
    };
    Ok(id)
}

/// Finds the turn that an event belongs to; a prompt opens one.
fn turn(
    transaction: &Transaction<'_>,
    event: &Event,
    wire: &Wire<'_>,
    session: SessionId,
    senses: IngestHooks<'_>,
) -> rusqlite::Result<Option<TurnId>> {
    // Work that runs on in the background belongs to the prompt that asked for it.
    const FIND: &str = "select id, prompt_id from turn where session_db_id = ?1
        order by coalesce(prompt_id = ?2, 0) desc, number desc limit 1";
    const OPEN: &str = "select id from turn where session_db_id = ?1 and prompt_id = ?2 and ended_at is null";
    const CLOSE: &str = "update turn set ended_at = ?2 where id = ?1";
    const CREATE: &str = "insert into turn (session_db_id, number, prompt, prompt_id, machine_made, branch, started_at)
        select ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?5, ?6 from turn where session_db_id = ?1 returning id";
    let prompt_id = text(wire.prompt_id);
    let create = |prompt: Option<&str>| {
        // Esc ends a turn without a word: the next one shows that it is over.
        close_open(transaction, session, event.at)?;
        let machine_made = prompt.is_some_and(senses.is_machine_made);
        let branch = event.project.as_ref().and_then(|facts| facts.branch.as_deref());
        let values = params![session, prompt, prompt_id, machine_made, branch, event.at];
        let id = cached(transaction, CREATE)?.query_row(values, |row| row.get::<_, TurnId>(0))?;
        if prompt.is_some_and(|prompt| !prompt.is_empty()) && !machine_made {
            record_change(transaction, ChangeEvent::Memory(id.into()))?;
        }
        Ok(id)
    };
    match event.kind {
        EventKind::SessionStart | EventKind::SessionEnd | EventKind::PreCompact => Ok(None),
        EventKind::UserPromptSubmit => {
            let prompt = text(wire.prompt).unwrap_or_default();
            let under_way = cached(transaction, OPEN)?
                .query_row(params![session, prompt_id], |row| row.get(0))
                .optional()?;
            match under_way {
                // A program tells the agent something while it works for the person.
                Some(id) if (senses.is_machine_made)(&prompt) => Ok(Some(id)),
                _ => create(Some(&prompt)).map(Some),
            }
        }
        EventKind::PostToolUse
        | EventKind::PostToolUseFailure
        | EventKind::Stop
        | EventKind::SubagentStop => {
            let found = cached(transaction, FIND)?
                .query_row(params![session, prompt_id], |row| {
                    Ok((row.get::<_, TurnId>(0)?, row.get::<_, Option<String>>(1)?))
                })
                .optional()?;
            let is_another = |of: &Option<String>| of.is_some() && prompt_id.is_some() && *of != prompt_id;
            let id = match found {
                // The agent answered something that is no prompt to it, as a `!command` is: a turn of its own.
                Some((_, of)) if is_another(&of) && wire.agent_id.is_none() => create(None)?,
                Some((id, _)) => id,
                // Installed in the middle of a session: the turn's prompt was never heard.
                None => create(None)?,
            };
            if event.kind == EventKind::Stop {
                cached(transaction, CLOSE)?.execute(params![id, event.at])?;
            }
            Ok(Some(id))
        }
    }
}

fn close_open(transaction: &Transaction<'_>, session: SessionId, at: Timestamp) -> rusqlite::Result<usize> {
    const CLOSE_OPEN: &str = "update turn set ended_at = ?2 where session_db_id = ?1 and ended_at is null";
    cached(transaction, CLOSE_OPEN)?.execute(params![session, at])
}

fn end_session(
    transaction: &Transaction<'_>,
    event: &Event,
    wire: &Wire<'_>,
    session: SessionId,
) -> rusqlite::Result<()> {
    // What was given up stays visible after the end.
    const END: &str = "update session set ended_at = ?2, end_reason = ?3, status = case when exists (
            select 1 from event where state <> 'done' and state = 'failed' and session_db_id = ?1)
            then 'failed' else 'completed' end
        where id = ?1";
    close_open(transaction, session, event.at)?;
    let reason = text(wire.reason);
    if reason.as_deref() != Some("clear") {
        cached(transaction, END)?.execute(params![session, event.at, reason])?;
        record_change(transaction, ChangeEvent::SessionCompleted(session))?;
    }
    Ok(())
}

fn cached<'t>(transaction: &'t Transaction<'_>, sql: &str) -> rusqlite::Result<CachedStatement<'t>> {
    transaction.prepare_cached(sql)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SENSES, event, store};

    #[test]
    fn an_event_counts_once_however_often_it_comes() {
        let events = [event("1", "a"), event("2", "a")];
        let mut store = store(&events);
        assert_eq!(
            store.ingest_batch(&events, SENSES).unwrap(),
            IngestCounts { new: 0, known: 2 }
        );
        assert_eq!(store.queue(10).unwrap().pending, 2);
    }

    #[test]
    fn what_belongs_to_a_session_goes_with_it() {
        let store = store(&[event("1", "a"), event("2", "b")]);
        let sql = "insert into observation (project_id, session_db_id, type, title, created_at, last_seen_at) values (1, 1, 'change', 't', 0, 0);
            insert into document (kind, memory_id, created_at) values ('observation', 1, 0);
            insert into words (rowid, title) values (1, 'findable');
            insert into vector values (1, 1.0, x'00');
            insert into observation_file (observation_id, path, modified) values (1, 'f', 0);
            delete from session where session_id = 'a'";
        store.connection.execute_batch(sql).unwrap();
        for (table, left) in [
            ("event", 1),
            ("turn", 1),
            ("observation", 0),
            ("document", 0),
            ("vector", 0),
            ("observation_file", 0),
        ] {
            let count: i64 = store
                .connection
                .query_row(&format!("select count(*) from {table}"), [], |row| row.get(0))
                .unwrap();
            assert_eq!(count, left, "{table}");
        }
        let found: i64 = store
            .connection
            .query_row(
                "select count(*) from words where words match 'findable'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(found, 0);
    }

    #[test]
    fn background_work_belongs_to_the_prompt_that_asked_for_it() {
        let with = |key: &str, kind, payload: &str| Event {
            kind,
            payload: payload.to_owned(),
            ..event(key, "a")
        };
        let store = store(&[
            with(
                "1",
                EventKind::UserPromptSubmit,
                r#"{"prompt_id":"p1","prompt":"one"}"#,
            ),
            with(
                "2",
                EventKind::UserPromptSubmit,
                r#"{"prompt_id":"p2","prompt":"two"}"#,
            ),
            with("3", EventKind::PostToolUse, r#"{"prompt_id":"p1"}"#),
            with("4", EventKind::PostToolUse, r#"{"prompt_id":"p2"}"#),
            with("5", EventKind::PostToolUse, r#"{}"#),
        ]);
        let turns = store.turns(&store.session("a").unwrap()).unwrap();
        assert_eq!(turns.iter().map(|turn| turn.tools).collect::<Vec<_>>(), [1, 2]);
    }
}
