//! What a turn is made of, and what was made of it.

use std::collections::BTreeMap;

use backstory_model::{Distilled, Handle, MemoryKind, NewObservation, NewPassage, NewSummary};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use crate::{Store, StoreError, changes, documents, open::query, pack::pack, relation, survivors};

/// The distiller whose results are replaced when a turn goes on.
const BUILTIN: &str = "builtin";

/// Everything that the store knows of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnToDistil {
    /// The number of the turn.
    pub id: i64,
    /// The session it belongs to.
    pub session_db_id: i64,
    /// The project it belongs to.
    pub project_db_id: i64,
    /// What was asked.
    pub prompt: Option<String>,
    /// The agent's id of the prompt.
    pub prompt_id: Option<String>,
    /// Whether a program asked.
    pub machine_made: bool,
    /// The branch at that time.
    pub branch: Option<String>,
    /// The working tree: the linked one if the session runs in one.
    pub root: String,
    /// Whether it is over.
    pub is_ended: bool,
    /// Whether the person said more while the agent worked on it: the next turn is the rest of it.
    pub goes_on: bool,
    /// The agent's own record of the session.
    pub transcript_path: Option<String>,
    /// Where the turn's part of it begins: how far it had been read when the turn was first distilled.
    pub transcript_from: Option<String>,
    /// Its events, in their order.
    pub events: Vec<TurnEvent>,
}

/// An event of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnEvent {
    /// What happened.
    pub kind: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What the hook was given, cleaned.
    pub payload: String,
}

/// What was made of a turn.
#[derive(Clone, Copy, Debug)]
pub struct Made<'m> {
    /// The memories.
    pub distilled: &'m Distilled,
    /// What the files that they cite held then, as far as that is known.
    pub files: &'m BTreeMap<String, FileMark>,
    /// How far the transcript was read, in the reader's own terms.
    pub transcript_read: Option<&'m str>,
}

/// What a file held, to tell later whether it changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMark {
    /// A hash of its content.
    pub hash: Vec<u8>,
    /// Its size in bytes.
    pub size: u64,
}

/// How far a turn is, and how far it was when it was last distilled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TurnProgress {
    /// Whether it is over.
    pub is_ended: bool,
    /// Its tool uses.
    pub tool_uses: u64,
    /// Its tool uses when it was last distilled.
    pub distilled: u64,
}

/// The most that is read of one turn, newest first: a turn that ran for days must fit into memory.
const MOST_EVENTS: u32 = 2_000;
const MOST_BYTES: usize = 16 << 20;

impl Store {
    /// Says how far a turn is; `None` when it was forgotten meanwhile.
    pub fn turn_progress(&self, id: i64) -> Result<Option<TurnProgress>, StoreError> {
        const PROGRESS: &str = "select ended_at is not null, distilled, (select count(*) from event
                where turn_id = turn.id and kind in ('post-tool-use', 'post-tool-use-failure'))
            from turn where id = ?1";
        let attempt = query("read how far a turn is");
        let mut statement = self.connection.prepare_cached(PROGRESS).map_err(attempt)?;
        let progress = statement.query_row([id], |row| {
            Ok(TurnProgress {
                is_ended: row.get(0)?,
                distilled: row.get(1)?,
                tool_uses: row.get(2)?,
            })
        });
        progress.optional().map_err(attempt)
    }

    /// Returns the turn before a turn, or the last of a session, if it ended without a word: none of its own events told.
    pub fn turn_cut_off(&self, session_db_id: i64, before: Option<i64>) -> Result<Option<i64>, StoreError> {
        const LAST: &str = "with last as (select id, ended_at from turn where session_db_id = ?1
                and (?2 is null or number < (select number from turn where id = ?2)) order by number desc limit 1)
            select id from last where ended_at is not null
                and not exists (select 1 from event where turn_id = last.id and kind = 'stop')";
        let attempt = query("look for a turn that was cut off");
        let mut statement = self.connection.prepare_cached(LAST).map_err(attempt)?;
        let found = statement.query_row(params![session_db_id, before], |row| row.get(0));
        found.optional().map_err(attempt)
    }

    /// Reads a turn with its events; `None` when it was forgotten meanwhile.
    pub fn turn_to_distil(&self, id: i64) -> Result<Option<TurnToDistil>, StoreError> {
        const TURN: &str = "select turn.id, session.id, project.id, turn.prompt, turn.prompt_id, turn.machine_made,
                coalesce(turn.branch, session.branch), coalesce(session.worktree, project.root), turn.ended_at is not null,
                session.transcript_path, coalesce(turn.transcript_from, session.transcript_read),
                exists (select 1 from turn as next where next.session_db_id = session.id
                    and next.number = turn.number + 1 and next.prompt_id = turn.prompt_id)
            from turn join session on session.id = turn.session_db_id join project on project.id = session.project_id
            where turn.id = ?1";
        const EVENTS: &str =
            "select kind, at, payload from event where turn_id = ?1 order by key desc limit ?2";
        let attempt = query("read a turn");
        let mut statement = self.connection.prepare_cached(TURN).map_err(attempt)?;
        let turn = statement.query_row([id], |row| {
            Ok(TurnToDistil {
                id: row.get(0)?,
                session_db_id: row.get(1)?,
                project_db_id: row.get(2)?,
                prompt: row.get(3)?,
                prompt_id: row.get(4)?,
                machine_made: row.get(5)?,
                branch: row.get(6)?,
                root: row.get(7)?,
                is_ended: row.get(8)?,
                transcript_path: row.get(9)?,
                transcript_from: row.get(10)?,
                goes_on: row.get(11)?,
                events: Vec::new(),
            })
        });
        let Some(turn) = turn.optional().map_err(attempt)? else {
            return Ok(None);
        };
        let mut statement = self.connection.prepare_cached(EVENTS).map_err(attempt)?;
        let rows = statement.query_map((id, MOST_EVENTS), |row| {
            Ok(TurnEvent {
                kind: row.get(0)?,
                at_ms: row.get(1)?,
                payload: row.get(2)?,
            })
        });
        let (mut events, mut bytes) = (Vec::new(), 0);
        for event in rows.map_err(attempt)? {
            let event = event.map_err(attempt)?;
            bytes += event.payload.len();
            if bytes > MOST_BYTES {
                break;
            }
            events.push(event);
        }
        events.reverse();
        Ok(Some(TurnToDistil { events, ..turn }))
    }

    /// Stores what was made of a turn in place of what was made of it before, and notes how far the transcript was read.
    /// All of it or nothing: done again after a crash it is the same.
    pub fn replace_turn(
        &mut self,
        turn: &TurnToDistil,
        made: &Made<'_>,
        now_ms: i64,
    ) -> Result<(), StoreError> {
        let distilled = made.distilled;
        let attempt = query("store what was distilled");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let place = Place {
            transaction: &transaction,
            turn,
            files: made.files,
            now_ms,
        };
        let run = || -> rusqlite::Result<()> {
            place.clear()?;
            place.note_progress()?;
            if turn.prompt.is_some() && !turn.machine_made {
                place.index(MemoryKind::Prompt, turn.id)?;
            }
            for observation in survivors::untold(&transaction, turn.id, &distilled.observations)? {
                place.observation(observation)?;
            }
            if let Some(summary) = &distilled.summary
                && !survivors::has_summary(&transaction, turn.id)?
            {
                place.summary(summary)?;
            }
            for passage in &distilled.passages {
                if !survivors::has_passage(&transaction, turn.id, &passage.text)? {
                    place.passage(passage)?;
                }
            }
            place.session(distilled, made.transcript_read)
        };
        run().map_err(attempt)?;
        transaction.commit().map_err(attempt)
    }
}

struct Place<'t> {
    transaction: &'t Transaction<'t>,
    turn: &'t TurnToDistil,
    files: &'t BTreeMap<String, FileMark>,
    now_ms: i64,
}

impl Place<'_> {
    fn clear(&self) -> rusqlite::Result<()> {
        // What a person pinned or corrected stays whatever is found out later.
        const OBSERVATIONS: &str = "delete from observation where turn_id = ?1 and distiller = ?2 and pinned = 0 and edited_at is null";
        const SUMMARIES: &str =
            "delete from summary where turn_id = ?1 and distiller = ?2 and pinned = 0 and edited_at is null";
        const PASSAGES: &str = "delete from passage where turn_id = ?1 and pinned = 0";
        const UNSEEN: &str = "update observation set seen = seen - 1
            where id in (select observation_id from sighting where turn_id = ?1)";
        const SIGHTINGS: &str = "delete from sighting where turn_id = ?1";
        const TELL: &str = "insert into change (name, memory_id)
            select 'observation_forgotten', id from observation
                where turn_id = ?1 and distiller = ?2 and pinned = 0 and edited_at is null
            union all select 'summary_forgotten', id from summary
                where turn_id = ?1 and distiller = ?2 and pinned = 0 and edited_at is null";
        self.transaction
            .prepare_cached(TELL)?
            .execute(params![self.turn.id, BUILTIN])?;
        self.transaction
            .prepare_cached(OBSERVATIONS)?
            .execute(params![self.turn.id, BUILTIN])?;
        self.transaction
            .prepare_cached(SUMMARIES)?
            .execute(params![self.turn.id, BUILTIN])?;
        for sql in [PASSAGES, UNSEEN, SIGHTINGS] {
            self.transaction.prepare_cached(sql)?.execute([self.turn.id])?;
        }
        Ok(())
    }

    fn note_progress(&self) -> rusqlite::Result<()> {
        // Distilled again, the turn is read from the same place, whatever was read since.
        const PROGRESS: &str =
            "update turn set transcript_from = coalesce(?2, ''), distilled = (select count(*) from event
            where turn_id = turn.id and kind in ('post-tool-use', 'post-tool-use-failure')) where id = ?1";
        self.transaction
            .prepare_cached(PROGRESS)?
            .execute(params![self.turn.id, self.turn.transcript_from])
            .map(drop)
    }

    fn observation(&self, new: &NewObservation) -> rusqlite::Result<()> {
        const INSERT: &str =
            "insert into observation (project_id, session_db_id, turn_id, type, title, subtitle, narrative,
                facts, concepts, files_read, files_modified, evidence, distiller, created_at, last_seen_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14) returning id";
        const FILE: &str =
            "insert or ignore into observation_file (observation_id, path, modified, content_hash, size)
            values (?1, ?2, ?3, ?4, ?5)";
        const SEEN_AGAIN: &str =
            "insert or ignore into sighting (observation_id, turn_id, at) values (?1, ?2, ?3)";
        const COUNT: &str =
            "update observation set seen = seen + 1, last_seen_at = max(last_seen_at, ?2) where id = ?1";
        const SUPERSEDE: &str = "update observation set superseded_by = ?2 where id = ?1";
        let turn = self.turn;
        let related = relation::related(self.transaction, turn, new)?;
        if let Some(same) = related.same {
            self.transaction
                .prepare_cached(SEEN_AGAIN)?
                .execute(params![same, turn.id, self.now_ms])?;
            self.transaction
                .prepare_cached(COUNT)?
                .execute(params![same, self.now_ms])?;
            return changes::note(self.transaction, "observation", same);
        }
        let values = params![
            turn.project_db_id,
            turn.session_db_id,
            turn.id,
            new.kind.name(),
            new.title,
            new.subtitle,
            new.narrative,
            list(&new.facts),
            list(&new.concepts),
            list(&new.files_read),
            list(&new.files_modified),
            list(&new.evidence),
            BUILTIN,
            self.now_ms
        ];
        let id: i64 = self
            .transaction
            .prepare_cached(INSERT)?
            .query_row(values, |row| row.get(0))?;
        for (files, modified) in [(&new.files_modified, true), (&new.files_read, false)] {
            for path in files {
                let mark = self.files.get(path);
                let (hash, size) = (mark.map(|mark| &mark.hash), mark.map(|mark| mark.size));
                self.transaction
                    .prepare_cached(FILE)?
                    .execute(params![id, path, modified, hash, size])?;
            }
        }
        for older in related.outdated {
            // Imported history may come after what happened later.
            let (old, by) = match older.created_ms > self.now_ms {
                true => (id, older.id),
                false => (older.id, id),
            };
            self.transaction
                .prepare_cached(SUPERSEDE)?
                .execute(params![old, by])?;
            if old != id {
                changes::note(self.transaction, "observation", old)?;
            }
        }
        self.index(MemoryKind::Observation, id)
    }

    fn summary(&self, new: &NewSummary) -> rusqlite::Result<()> {
        const INSERT: &str =
            "insert into summary (project_id, session_db_id, turn_id, request, investigated, learned,
                completed, next_steps, files_read, files_edited, notes, distiller, created_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) returning id";
        let turn = self.turn;
        let values = params![
            turn.project_db_id,
            turn.session_db_id,
            turn.id,
            new.request,
            new.investigated,
            new.learned,
            new.completed,
            new.next_steps,
            list(&new.files_read),
            list(&new.files_edited),
            new.notes,
            BUILTIN,
            self.now_ms
        ];
        let id = self
            .transaction
            .prepare_cached(INSERT)?
            .query_row(values, |row| row.get(0))?;
        self.index(MemoryKind::Summary, id)
    }

    fn passage(&self, new: &NewPassage) -> rusqlite::Result<()> {
        const INSERT: &str =
            "insert into passage (project_id, session_db_id, turn_id, kind, text, packed, created_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7) returning id";
        let turn = self.turn;
        let packed = pack(&new.text);
        let values = params![
            turn.project_db_id,
            turn.session_db_id,
            turn.id,
            new.kind.name(),
            if packed.is_some() { "" } else { &new.text },
            packed,
            self.now_ms
        ];
        let id = self
            .transaction
            .prepare_cached(INSERT)?
            .query_row(values, |row| row.get(0))?;
        self.index(MemoryKind::Passage, id)
    }

    fn index(&self, kind: MemoryKind, id: i64) -> rusqlite::Result<()> {
        documents::put(self.transaction, Handle { kind, id })
    }

    fn session(&self, distilled: &Distilled, transcript_read: Option<&str>) -> rusqlite::Result<()> {
        // The first request names the session; the second line is about the latest turn.
        const SESSION: &str =
            "update session set title = coalesce(title, ?2), subtitle = coalesce(?3, subtitle),
                transcript_read = coalesce(?4, transcript_read)
            where id = ?1";
        let values = params![
            self.turn.session_db_id,
            distilled.title,
            distilled.subtitle,
            transcript_read
        ];
        self.transaction
            .prepare_cached(SESSION)?
            .execute(values)
            .map(drop)
    }
}

/// Writes a list the way the database keeps it.
pub(crate) fn list(items: &[String]) -> String {
    serde_json::Value::from(items).to_string()
}
