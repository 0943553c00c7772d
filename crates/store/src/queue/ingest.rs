//! Ingest: moves spooled events into sessions, turns and the queue, exactly once.

use std::collections::HashMap;

use backstory_model::{
    Event, EventKind, EventSource, ProjectIdentity, SessionId, Timestamp, TurnId, is_machine_made,
};
use rusqlite::{Transaction, params};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    Store, StoreError,
    memory::{
        changes::{ChangeEvent, record_change},
        pack::pack,
    },
    schema::migrate::{self, MIGRATIONS},
    sessions::{find_session, projects::find_or_create},
    sql::{Statements as _, text_hash},
};

/// Holds the number of ingested events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngestCounts {
    /// New events.
    pub new: usize,
    /// Events that were ingested before.
    pub known: usize,
}

/// Holds the payload fields that ingest needs. Lenient: a field of the wrong type counts as absent.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Payload<'p> {
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

/// Projects of new sessions, by session id. The caller locates them in the file system.
pub type SessionProjects = HashMap<String, ProjectIdentity>;

/// Identifies an imported file in one state.
#[derive(Clone, Copy, Debug)]
pub struct ImportedFile<'i> {
    /// The path.
    pub path: &'i str,
    /// The state: size and time of the last change.
    pub stamp: &'i str,
}

/// Holds what hooks reported of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveSession {
    /// The time of the first event.
    pub first_at: Timestamp,
    /// The times of tool uses and ends of turns, in order.
    pub work_at: Vec<Timestamp>,
    /// The times of prompts.
    pub prompts_at: Vec<Timestamp>,
    /// The agent's ids of the prompts of all turns; true if the prompt itself was recorded.
    pub prompt_ids: HashMap<String, bool>,
}

const KNOWN: &str = "select 1 from event where key = ?1";

impl Store {
    /// Ingests a batch in one transaction. An event with a known key changes nothing.
    pub fn ingest_batch(
        &mut self,
        events: &[Event],
        projects: &SessionProjects,
    ) -> Result<IngestCounts, StoreError> {
        let path = self.file.path.clone();
        let known = migrate::target(&MIGRATIONS);
        self.write("ingest events", |tx| {
            // Checked inside the transaction: a newer version may have migrated the database since it was opened.
            let found = migrate::version(tx)?;
            if found > known {
                return Ok(Err(StoreError::Newer { path, found, known }));
            }
            let mut counts = IngestCounts::default();
            for event in events {
                if ingest_event(tx, event, projects)? {
                    counts.new += 1;
                } else {
                    counts.known += 1;
                }
            }
            Ok(Ok(counts))
        })?
    }

    /// Returns true if an event was ingested.
    pub fn has_event(&self, key: &str) -> Result<bool, StoreError> {
        self.read("look for an event", |connection| connection.has_row(KNOWN, [key]))
    }

    /// Returns true if a file was imported in this state.
    pub fn is_imported(&self, file: ImportedFile<'_>) -> Result<bool, StoreError> {
        const SAME: &str = "select 1 from import where path = ?1 and stamp = ?2";
        self.read("look for an earlier import", |connection| {
            connection.has_row(SAME, [file.path, file.stamp])
        })
    }

    /// Stores that the transcript of a session was imported.
    pub fn note_import(&mut self, file: ImportedFile<'_>, session_id: &str) -> Result<(), StoreError> {
        const NOTE: &str = "insert into import values (?1, ?2, ?3)
            on conflict (path) do update set stamp = excluded.stamp";
        self.write("store an import", |tx| {
            tx.run(NOTE, [file.path, file.stamp, session_id]).map(drop)
        })
    }

    /// Returns what hooks reported of a session; `None` if they reported nothing.
    pub fn live_session(&self, session_id: &str) -> Result<Option<LiveSession>, StoreError> {
        const FIRST: &str = "select min(event.at) from event join session on session.id = event.session_db_id
            where session.session_id = ?1 and event.source = 'hook'";
        const WORK: &str = "select event.at from event join session on session.id = event.session_db_id
            where session.session_id = ?1 and event.source = 'hook'
                and kind in ('post-tool-use', 'post-tool-use-failure', 'stop', 'subagent-stop') order by event.at";
        const PROMPTS: &str = "select event.at from event join session on session.id = event.session_db_id
            where session.session_id = ?1 and event.source = 'hook' and kind = 'user-prompt-submit'";
        const IDS: &str = "select prompt_id, max(exists (select 1 from event where turn_id = turn.id
                and kind = 'user-prompt-submit')) as has_prompt
            from turn join session on session.id = turn.session_db_id
            where session.session_id = ?1 and prompt_id is not null group by prompt_id";
        self.read("look for live events", |connection| {
            let first: Option<Timestamp> = connection.row(FIRST, [session_id], |row| row.get(0))?;
            let Some(first_at) = first else { return Ok(None) };
            let prompt_ids = connection.rows(IDS, [session_id], |row| {
                Ok((row.get("prompt_id")?, row.get("has_prompt")?))
            })?;
            Ok(Some(LiveSession {
                first_at,
                prompts_at: connection.rows(PROMPTS, [session_id], |row| row.get(0))?,
                work_at: connection.rows(WORK, [session_id], |row| row.get(0))?,
                prompt_ids: prompt_ids.into_iter().collect(),
            }))
        })
    }
}

/// Returns true if the event is new.
fn ingest_event(tx: &Transaction<'_>, event: &Event, projects: &SessionProjects) -> rusqlite::Result<bool> {
    const INSERT: &str = "insert into event
            (key, source, session_db_id, turn_id, kind, agent_id, tool_name, tool_use_id, at, payload, packed, read_hash)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
    if tx.has_row(KNOWN, [&event.key])? {
        return Ok(false);
    }
    // The spool accepts only objects. Anything else has no fields.
    let payload: Payload<'_> = serde_json::from_str(&event.payload).unwrap_or_default();
    let session = find_or_create_session(tx, event, &payload, projects)?;
    let turn = find_or_create_turn(tx, event, &payload, session)?;
    if event.kind == EventKind::Stop {
        // `Store::finish` resets it.
        const SUMMARIZING: &str =
            "update session set status = 'summarizing' where id = ?1 and status = 'active'";
        tx.run(SUMMARIZING, [session])?;
    }
    if event.kind == EventKind::SessionEnd {
        end_session(tx, event, &payload, session)?;
    }
    let tool_name = text(payload.tool_name);
    let file_content = payload
        .tool_response
        .filter(|_| tool_name.as_deref() == Some("Read"))
        .map(RawValue::get);
    let read_hash = file_content.map(text_hash);
    let shortened = without_repetition(tx, session, &event.payload, file_content)?;
    let stored = shortened.as_deref().unwrap_or(&event.payload);
    // Here and not when it is distilled: a row that becomes smaller later leaves half empty pages.
    let packed = pack(stored);
    tx.run(
        INSERT,
        params![
            event.key,
            event.source,
            session,
            turn,
            event.kind,
            text(payload.agent_id),
            tool_name,
            text(payload.tool_use_id),
            event.at,
            if packed.is_some() { "" } else { stored },
            packed,
            read_hash,
        ],
    )?;
    Ok(true)
}

/// Removes the content of a file that the session has read before. Agents read the same file again and again, and its content
/// is stored once per session while it does not change.
fn without_repetition(
    tx: &Transaction<'_>,
    session: SessionId,
    payload: &str,
    file_content: Option<&str>,
) -> rusqlite::Result<Option<String>> {
    const SEEN: &str = "select 1 from event where session_db_id = ?1 and read_hash = ?2";
    const MIN_LEN: usize = 256;
    let Some(content) = file_content.filter(|content| content.len() > MIN_LEN) else {
        return Ok(None);
    };
    if !tx.has_row(SEEN, params![session, text_hash(content)])? {
        return Ok(None);
    }
    // `content` is a slice of `payload`.
    let start = content.as_ptr() as usize - payload.as_ptr() as usize;
    let (before, after) = (&payload[..start], &payload[start + content.len()..]);
    Ok(Some(format!("{before}\"[as read before]\"{after}")))
}

/// Finds or creates the session of an event and updates it.
fn find_or_create_session(
    tx: &Transaction<'_>,
    event: &Event,
    payload: &Payload<'_>,
    projects: &SessionProjects,
) -> rusqlite::Result<SessionId> {
    const CREATE: &str = "insert into session (session_id, host, project_id, cwd, started_at, last_event_at)
        values (?1, ?2, ?3, ?4, ?5, ?5) returning id";
    const UPDATE: &str = "update session set last_event_at = max(last_event_at, ?2), branch = coalesce(?3, branch),
        worktree = coalesce(?4, worktree), model = coalesce(?5, model), transcript_path = coalesce(?6, transcript_path)
        where id = ?1";
    const IS_PAST: &str = "select 1 from session where id = ?1 and last_event_at > ?2";
    const REVIVE: &str = "update session set status = 'active', ended_at = null, end_reason = null where id = ?1 and status <> 'active'";
    const RESUME: &str = "update session set status = 'active' where id = ?1 and status = 'interrupted'";
    let mut project = event.project.clone();
    let id = match find_session(tx, &event.session_id)? {
        Some(id) => id,
        None => {
            let cwd = text(payload.cwd);
            // The caller's decision comes first: the folder of the event may only claim to belong to a project.
            project = projects.get(&event.session_id).cloned().or(project);
            let identity = project.get_or_insert_with(|| folder_project(cwd.as_deref()));
            let project = find_or_create(tx, identity, event.at)?;
            let values = params![event.session_id, event.host.as_str(), project, cwd, event.at];
            let id = tx.row(CREATE, values, |row| row.get("id"))?;
            record_change(tx, ChangeEvent::SessionStarted(id))?;
            id
        }
    };
    // An import adds turns that hooks missed: the session has gone on since then.
    if event.source == EventSource::Import && tx.has_row(IS_PAST, params![id, event.at])? {
        return Ok(id);
    }
    let (branch, worktree) = project
        .map(|project| (project.branch, project.worktree))
        .unwrap_or_default();
    let values = params![
        id,
        event.at,
        branch,
        worktree,
        text(payload.model),
        text(payload.transcript_path)
    ];
    tx.run(UPDATE, values)?;
    match event.kind {
        // A prompt after the end resumes the session.
        EventKind::UserPromptSubmit | EventKind::SessionStart => tx.run(REVIVE, [id])?,
        EventKind::SessionEnd => 0,
        // A tool can run for longer than a day.
        _ => tx.run(RESUME, [id])?,
    };
    Ok(id)
}

/// Returns the identity of a folder whose repository is not known.
fn folder_project(cwd: Option<&str>) -> ProjectIdentity {
    let root = cwd.unwrap_or_default();
    ProjectIdentity {
        key: root.to_owned(),
        name: root.rsplit(['/', '\\']).next().unwrap_or_default().to_owned(),
        root: root.to_owned(),
        branch: None,
        worktree: None,
    }
}

/// Finds the turn of an event; a prompt creates one.
fn find_or_create_turn(
    tx: &Transaction<'_>,
    event: &Event,
    payload: &Payload<'_>,
    session: SessionId,
) -> rusqlite::Result<Option<TurnId>> {
    // Background work belongs to the prompt that started it.
    const FIND: &str = "select id, prompt_id from turn where session_db_id = ?1
        order by coalesce(prompt_id = ?2, 0) desc, started_at <= ?3 desc, number desc limit 1";
    const OPEN: &str = "select id from turn where session_db_id = ?1 and prompt_id = ?2 and ended_at is null";
    const CLOSE: &str = "update turn set ended_at = ?2 where id = ?1";
    const CREATE: &str =
        "insert into turn (session_db_id, number, prompt, prompt_id, machine_made, branch, started_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7) returning id";
    const BRANCH: &str = "insert into turn_git (turn_id, branch)
        select ?1, coalesce(?2, branch) from session where id = ?3 and coalesce(?2, branch) is not null";
    let prompt_id = text(payload.prompt_id);
    let create = |prompt: Option<&str>| -> rusqlite::Result<TurnId> {
        // Esc ends a turn without an event, so the next turn ends it.
        close_open_turns(tx, session, event)?;
        let number = free_number(tx, session, event)?;
        let machine_made = prompt.is_some_and(is_machine_made);
        let branch = event
            .project
            .as_ref()
            .and_then(|project| project.branch.as_deref());
        let values = params![session, number, prompt, prompt_id, machine_made, branch, event.at];
        let id: TurnId = tx.row(CREATE, values, |row| row.get("id"))?;
        tx.run(BRANCH, params![id, branch, session])?;
        if prompt.is_some_and(|prompt| !prompt.is_empty()) && !machine_made {
            record_change(tx, ChangeEvent::Memory(id.into()))?;
        }
        Ok(id)
    };
    match event.kind {
        EventKind::SessionStart | EventKind::SessionEnd | EventKind::PreCompact => Ok(None),
        EventKind::UserPromptSubmit => {
            let prompt = text(payload.prompt).unwrap_or_default();
            let open = tx.optional_row(OPEN, params![session, prompt_id], |row| row.get("id"))?;
            match open {
                // A program notifies the agent while it works for the user.
                Some(id) if is_machine_made(&prompt) => Ok(Some(id)),
                _ => create(Some(&prompt)).map(Some),
            }
        }
        EventKind::PostToolUse
        | EventKind::PostToolUseFailure
        | EventKind::Stop
        | EventKind::SubagentStop => {
            let found: Option<(TurnId, Option<String>)> =
                tx.optional_row(FIND, params![session, prompt_id, latest_start(event)], |row| {
                    Ok((row.get("id")?, row.get("prompt_id")?))
                })?;
            let is_another = |of: &Option<String>| of.is_some() && prompt_id.is_some() && *of != prompt_id;
            let id = match found {
                // The agent answered something that reported no prompt, such as a `!command`: a turn of its own.
                Some((_, of)) if is_another(&of) && payload.agent_id.is_none() => create(None)?,
                Some((id, _)) => id,
                // Installed in the middle of a session: the prompt was not captured.
                None => create(None)?,
            };
            if event.kind == EventKind::Stop {
                tx.run(CLOSE, params![id, event.at])?;
            }
            Ok(Some(id))
        }
    }
}

/// Returns the time after which no turn of an event started. Hooks report in order, whatever the clock does.
fn latest_start(event: &Event) -> Timestamp {
    match event.source {
        EventSource::Hook => Timestamp::MAX,
        EventSource::Import => event.at,
    }
}

/// Returns the number of a new turn. An imported one goes before the turns that started after it, whose numbers increase.
fn free_number(tx: &Transaction<'_>, session: SessionId, event: &Event) -> rusqlite::Result<i64> {
    const NEXT: &str = "select coalesce(min(number) filter (where started_at > ?2), max(number) + 1, 1)
        from turn where session_db_id = ?1";
    // In two steps: numbers are unique at any moment.
    const SHIFT: &str = "update turn set number = -1 - number where session_db_id = ?1 and number >= ?2";
    const KEEP: &str = "update turn set number = -number where session_db_id = ?1 and number < 0";
    let number: i64 = tx.row(NEXT, params![session, latest_start(event)], |row| row.get(0))?;
    if event.source == EventSource::Import {
        tx.run(SHIFT, params![session, number])?;
        tx.run(KEEP, [session])?;
    }
    Ok(number)
}

fn close_open_turns(tx: &Transaction<'_>, session: SessionId, event: &Event) -> rusqlite::Result<()> {
    const CLOSE: &str =
        "update turn set ended_at = ?2 where session_db_id = ?1 and ended_at is null and started_at <= ?3";
    tx.run(CLOSE, params![session, event.at, latest_start(event)])
        .map(drop)
}

fn end_session(
    tx: &Transaction<'_>,
    event: &Event,
    payload: &Payload<'_>,
    session: SessionId,
) -> rusqlite::Result<()> {
    // A session with failed events stays `failed` after its end.
    const END: &str = "update session set ended_at = ?2, end_reason = ?3, status = case when exists (
            select 1 from event where state <> 'done' and state = 'failed' and session_db_id = ?1)
            then 'failed' else 'completed' end
        where id = ?1";
    close_open_turns(tx, session, event)?;
    let reason = text(payload.reason);
    if reason.as_deref() != Some("clear") {
        tx.run(END, params![session, event.at, reason])?;
        record_change(tx, ChangeEvent::SessionCompleted(session))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Selection,
        testing::{at, event, store},
    };

    #[test]
    fn an_event_counts_once_however_often_it_comes() {
        let events = [event("1", "a"), event("2", "a")];
        let mut store = store(&events);
        assert_eq!(
            store.ingest_batch(&events, &SessionProjects::new()).unwrap(),
            IngestCounts { new: 0, known: 2 }
        );
        assert_eq!(store.queue(10).unwrap().pending, 2);
    }

    #[test]
    fn deleting_a_session_deletes_everything_that_belongs_to_it() {
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
    fn background_work_belongs_to_the_prompt_that_started_it() {
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

    #[test]
    fn long_payloads_are_stored_packed_and_every_reader_gets_them_whole() {
        let command = "cargo test --workspace ".repeat(40);
        let payload = format!(r#"{{"tool_name":"Bash","tool_input":{{"command":"{command}"}}}}"#);
        let mut store = store(&[Event {
            payload: payload.clone(),
            ..event("1", "a")
        }]);
        let sizes = |store: &Store| -> (usize, Option<usize>) {
            let sql = "select length(payload), length(packed) from event";
            let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            store.connection.query_row(sql, [], row).unwrap()
        };
        let (plain, packed) = sizes(&store);
        assert_eq!(plain, 0);
        assert!(packed.unwrap() * 4 < payload.len());
        let turn = TurnId::new(1);
        let stored = store.turn_to_distil(turn).unwrap().unwrap();
        assert_eq!(stored.events[0].payload.text(), payload);
        assert_eq!(
            store.actions(turn, 1).unwrap()[0].about.as_deref(),
            Some(command.as_str())
        );
        let forgotten = store
            .forget(Selection::Match("workspace", None), at(2_000))
            .unwrap();
        assert_eq!(forgotten.events, 1);
        assert_eq!(sizes(&store), (2, None));
        let stored = store.turn_to_distil(turn).unwrap().unwrap();
        assert!(stored.events[0].payload.is_dropped());
    }

    #[test]
    fn payloads_of_earlier_versions_are_read_as_they_are() {
        let store = store(&[event("1", "a")]);
        let long = format!(r#"{{"error":"{}"}}"#, "no ".repeat(400));
        store
            .connection
            .execute("update event set payload = ?1", [&long])
            .unwrap();
        let stored = store.turn_to_distil(TurnId::new(1)).unwrap().unwrap();
        assert_eq!(stored.events[0].payload.text(), long);
    }
}
