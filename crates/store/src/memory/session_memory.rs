//! Stores the evidence of turns and the memory of their session.
//!
//! The memory of a session is derived from the logs of all its turns at once, so storing it compares with what is there:
//! a memory with a known key is updated in place and keeps its number, a new one is inserted, one whose key is gone is
//! removed and its number leads to its successor. Memories that a user pinned or edited and memories of models stay.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
};

use backstory_model::{
    Distiller, EpisodeId, EvidenceItem, Handle, Handover, MemoryKind, NewObservation, NewSummary,
    ObservationId, ProjectId, SessionId, SessionMemory, SessionObservation, Timestamp, TurnId,
};
use rusqlite::{Transaction, params};

use crate::{
    FileFingerprint, ModelFollowUp, Store, StoreError, StoredTurn,
    memory::{
        changes::{ChangeEvent, record_change},
        documents,
        pack::{pack, pack_bytes, unpack_bytes},
        relation,
        user_edits::SessionEdits,
    },
    models::model_queue,
    sql::{Statements as _, json_list},
};

/// The evidence of one turn.
#[derive(Clone, Copy, Debug)]
pub struct TurnRecord<'m> {
    /// The turn.
    pub turn: &'m StoredTurn,
    /// The evidence items, in order.
    pub items: &'m [EvidenceItem],
    /// The work log as JSON.
    pub log: &'m str,
    /// The position up to which the transcript was read, in the reader's own format.
    pub transcript_read: Option<&'m str>,
    /// Tells whether a model distills the turn afterwards.
    pub follow_up: ModelFollowUp,
}

/// The work log of one turn, as it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLog {
    /// The number of the turn in its session.
    pub number: u32,
    /// The log as JSON.
    pub json: String,
}

/// The session whose memory is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRef {
    /// The session.
    pub session_db_id: SessionId,
    /// Its project.
    pub project_db_id: ProjectId,
}

impl Store {
    /// Reads the work logs of a session, in the order of its turns.
    pub fn turn_logs(&self, session_db_id: SessionId) -> Result<Vec<StoredLog>, StoreError> {
        const LOGS: &str =
            "select number, log from turn where session_db_id = ?1 and log is not null order by number";
        self.read("read the work logs of a session", |connection| {
            connection.rows(LOGS, [session_db_id], |row| {
                Ok(StoredLog {
                    number: row.get("number")?,
                    json: unpack_bytes(row.get_ref("log")?.as_blob()?).unwrap_or_default(),
                })
            })
        })
    }

    /// Returns the sessions whose memory must be composed again: something of them was forgotten.
    pub fn sessions_to_compose(&self) -> Result<Vec<SessionRef>, StoreError> {
        const SESSIONS: &str = "select distinct session.id, project_id
            from session join turn on turn.session_db_id = session.id
            where log is not null and session.id not in (select session_db_id from handover)";
        self.read("look for sessions without a hand-over", |connection| {
            connection.rows(SESSIONS, [], |row| {
                Ok(SessionRef {
                    session_db_id: row.get("id")?,
                    project_db_id: row.get("project_id")?,
                })
            })
        })
    }

    /// Returns the observation that took the place of one whose number is gone.
    pub fn successor(&self, observation: ObservationId) -> Result<Option<ObservationId>, StoreError> {
        const SUCCESSOR: &str = "select new_id from successor where old_id = ?1";
        self.read("look for the successor of a memory", |connection| {
            connection.optional_row(SUCCESSOR, [observation], |row| row.get("new_id"))
        })
    }

    /// Reads the hand-over of a session.
    pub fn handover(&self, session_db_id: SessionId) -> Result<Option<Handover>, StoreError> {
        const BODY: &str = "select body from handover where session_db_id = ?1";
        let body: Option<String> = self.read("read a hand-over", |connection| {
            connection.optional_row(BODY, [session_db_id], |row| row.get("body"))
        })?;
        Ok(body.and_then(|body| serde_json::from_str(&body).ok()))
    }

    /// Stores the evidence of turns and the memory of their session. All of it or nothing: done again it is the same.
    pub fn store_session(
        &mut self,
        session: SessionRef,
        turns: &[TurnRecord<'_>],
        memory: &SessionMemory,
        files: &BTreeMap<String, FileFingerprint>,
    ) -> Result<(), StoreError> {
        self.write("store the memory of a session", |tx| {
            let writer = SessionWriter {
                tx,
                session,
                memory,
                files,
            };
            writer.run(turns)
        })
    }
}

struct SessionWriter<'t> {
    tx: &'t Transaction<'t>,
    session: SessionRef,
    memory: &'t SessionMemory,
    files: &'t BTreeMap<String, FileFingerprint>,
}

/// A turn of the session, as far as writing needs it.
struct TurnRow {
    id: TurnId,
    number: u32,
    /// Memories of this turn come from a model.
    has_model_memories: bool,
    /// Something of it was forgotten: nothing more is made of it.
    forgotten: bool,
}

/// An observation that the built-in rules made before.
struct KnownObservation {
    id: ObservationId,
    title: String,
    episode_id: Option<EpisodeId>,
    is_users: bool,
    digest: u64,
}

impl SessionWriter<'_> {
    fn run(&self, turns: &[TurnRecord<'_>]) -> rusqlite::Result<()> {
        const EXISTS: &str = "select 1 from session where id = ?1";
        // Forgotten meanwhile.
        if !self.tx.has_row(EXISTS, [self.session.session_db_id])? {
            return Ok(());
        }
        for turn in turns {
            self.clear_other_memories(turn)?;
        }
        let rows = self.turns()?;
        let by_number: HashMap<u32, &TurnRow> = rows.iter().map(|row| (row.number, row)).collect();
        let episodes = self.episodes()?;
        for turn in turns {
            if let Some(row) = rows.iter().find(|row| row.id == turn.turn.id) {
                self.turn(turn, row, &episodes)?;
            }
        }
        self.observations(&by_number, &episodes)?;
        self.summaries(&by_number)?;
        self.handover()?;
        self.titles(turns.last().and_then(|turn| turn.transcript_read))
    }

    fn turns(&self) -> rusqlite::Result<Vec<TurnRow>> {
        const TURNS: &str = "select id, number, forgotten,
                exists (select 1 from observation where turn_id = turn.id and distiller <> ?2)
                or exists (select 1 from summary where turn_id = turn.id and distiller <> ?2) as by_model
            from turn where session_db_id = ?1";
        let mut statement = self.tx.prepare_cached(TURNS)?;
        let rows = statement.query_map(params![self.session.session_db_id, Distiller::Builtin], |row| {
            Ok(TurnRow {
                id: row.get("id")?,
                number: row.get("number")?,
                has_model_memories: row.get("by_model")?,
                forgotten: row.get("forgotten")?,
            })
        })?;
        rows.collect()
    }

    /// Removes the memories of a model where there is none any more: the built-in rules then cover the whole turn.
    fn clear_other_memories(&self, record: &TurnRecord<'_>) -> rusqlite::Result<()> {
        const OBSERVATIONS: &str = "delete from observation where turn_id = ?1 and distiller <> ?2 and pinned = 0 and edited_at is null";
        const SUMMARIES: &str =
            "delete from summary where turn_id = ?1 and distiller <> ?2 and pinned = 0 and edited_at is null";
        if record.follow_up == ModelFollowUp::Never {
            for sql in [OBSERVATIONS, SUMMARIES] {
                self.tx.run(sql, params![record.turn.id, Distiller::Builtin])?;
            }
        }
        Ok(())
    }

    /// Forgets that this session saw memories of other sessions again; returns those memories.
    fn clear_sightings(&self) -> rusqlite::Result<Vec<ObservationId>> {
        const CLEAR: &str =
            "delete from sighting where turn_id in (select id from turn where session_db_id = ?1)
            returning observation_id";
        let mut statement = self.tx.prepare_cached(CLEAR)?;
        let rows = statement.query_map([self.session.session_db_id], |row| row.get(0))?;
        rows.collect()
    }

    /// Stores the episodes; returns the row of each by its number.
    fn episodes(&self) -> rusqlite::Result<BTreeMap<u32, EpisodeId>> {
        const PUT: &str = "insert into episode (session_db_id, number, request, title) values (?1, ?2, ?3, ?4)
            on conflict (session_db_id, number) do update set request = excluded.request, title = excluded.title
            returning id";
        const REST: &str = "delete from episode where session_db_id = ?1 and number > ?2";
        let mut ids = BTreeMap::new();
        for episode in &self.memory.episodes {
            let values = params![
                self.session.session_db_id,
                episode.number,
                episode.request,
                episode.title
            ];
            let id = self.tx.row(PUT, values, |row| row.get("id"))?;
            ids.insert(episode.number, id);
        }
        let last = self.memory.episodes.iter().map(|episode| episode.number).max();
        self.tx.run(
            REST,
            params![self.session.session_db_id, last.unwrap_or_default()],
        )?;
        Ok(ids)
    }

    /// Returns the episode of an item.
    fn episode_of(&self, turn: u32, item: u32, ids: &BTreeMap<u32, EpisodeId>) -> Option<EpisodeId> {
        let at = backstory_model::ItemRef { turn, item };
        let episode = self
            .memory
            .episodes
            .iter()
            .rev()
            .find(|episode| episode.first <= at)
            .or(self.memory.episodes.first())?;
        ids.get(&episode.number).copied()
    }

    fn turn(
        &self,
        record: &TurnRecord<'_>,
        row: &TurnRow,
        episodes: &BTreeMap<u32, EpisodeId>,
    ) -> rusqlite::Result<()> {
        // Distilled again, the turn is read from the same place, whatever was read since.
        const PROGRESS: &str =
            "update turn set transcript_from = coalesce(?2, ''), log = ?3, distilled = (select count(*) from event
            where turn_id = turn.id and kind in ('post-tool-use', 'post-tool-use-failure')) where id = ?1";
        let log = (!row.forgotten).then(|| pack_bytes(record.log));
        self.tx
            .run(PROGRESS, params![row.id, record.turn.transcript_from, log])?;
        if row.forgotten {
            return Ok(());
        }
        if record.turn.prompt.is_some() && !record.turn.machine_made {
            self.index_prompt(row.id)?;
        }
        self.passages(record, row, episodes)?;
        if record.follow_up == ModelFollowUp::Wanted {
            model_queue::ask(self.tx, row.id)?;
        }
        Ok(())
    }

    fn index_prompt(&self, turn: TurnId) -> rusqlite::Result<()> {
        const KNOWN: &str = "select 1 from document where kind = 'prompt' and memory_id = ?1";
        // A prompt never changes.
        if self.tx.has_row(KNOWN, [turn])? {
            return Ok(());
        }
        documents::put(self.tx, turn.into())
    }

    /// Stores the items of a turn in place of those that were there. An item that is there already keeps its number.
    fn passages(
        &self,
        record: &TurnRecord<'_>,
        row: &TurnRow,
        episodes: &BTreeMap<u32, EpisodeId>,
    ) -> rusqlite::Result<()> {
        const KNOWN: &str = "select id, item_key from passage where turn_id = ?1 and item_key is not null";
        const LEGACY: &str = "delete from passage where turn_id = ?1 and item_key is null and external_id is null and pinned = 0";
        const MOVE: &str = "update passage set position = ?2, episode_id = ?3 where id = ?1";
        const DELETE: &str = "delete from passage where id = ?1 and pinned = 0";
        const INSERT: &str =
            "insert into passage (project_id, session_db_id, turn_id, episode_id, item_key, position,
                kind, path, intent, text, packed, created_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) returning id";
        self.tx.run(LEGACY, [row.id])?;
        let mut known: HashMap<String, i64> = HashMap::new();
        {
            let mut statement = self.tx.prepare_cached(KNOWN)?;
            let rows = statement.query_map([row.id], |row| Ok((row.get("item_key")?, row.get("id")?)))?;
            for pair in rows {
                let (key, id) = pair?;
                known.insert(key, id);
            }
        }
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for (position, item) in record.items.iter().enumerate() {
            let position = u32::try_from(position).unwrap_or(u32::MAX);
            let episode = self.episode_of(row.number, position, episodes);
            for part in parts(item) {
                let digest = content_digest(&[
                    item.kind.name(),
                    item.tool_use_id.as_deref().unwrap_or_default(),
                    item.path.as_deref().unwrap_or_default(),
                    item.intent.as_deref().unwrap_or_default(),
                    &part,
                ]);
                let count = counts.entry(digest).or_default();
                *count += 1;
                let key = format!("{digest:016x}-{count}");
                if let Some(id) = known.remove(&key) {
                    self.tx.run(MOVE, params![id, position, episode])?;
                    continue;
                }
                let packed = pack(&part);
                let values = params![
                    self.session.project_db_id,
                    self.session.session_db_id,
                    row.id,
                    episode,
                    key,
                    position,
                    item.kind,
                    item.path,
                    item.intent,
                    if packed.is_some() { "" } else { &part },
                    packed,
                    item.at_ms
                ];
                let id = self.tx.row(INSERT, values, |row| row.get("id"))?;
                documents::put(
                    self.tx,
                    Handle {
                        kind: MemoryKind::Passage,
                        id,
                    },
                )?;
            }
        }
        for id in known.into_values() {
            self.tx.run(DELETE, [id])?;
        }
        Ok(())
    }

    fn observations(
        &self,
        turns: &HashMap<u32, &TurnRow>,
        episodes: &BTreeMap<u32, EpisodeId>,
    ) -> rusqlite::Result<()> {
        const COUNT: &str = "update observation
            set seen = 1 + (select count(*) from sighting where observation_id = observation.id) where id = ?1";
        let mut seen = self.clear_sightings()?;
        let mut known = self.known_observations()?;
        let mut edits = SessionEdits::read(self.tx, self.session.session_db_id)?;
        let mut kept: Vec<Successor> = Vec::new();
        for new in &self.memory.observations {
            let Some(turn) = turns.get(&new.turn) else {
                continue;
            };
            if turn.forgotten || turn.has_model_memories {
                continue;
            }
            let episode = episodes.get(&new.episode).copied();
            let id = match known.remove(&new.key) {
                Some(old) if old.is_users => old.id,
                Some(old) => {
                    if old.digest != observation_digest(new) {
                        self.update(old.id, turn, new, episode)?;
                    }
                    old.id
                }
                // A user's own version of the memory stands for it.
                None if edits.cover(turn.id, &new.observation) => continue,
                None => match self.insert(turn, new, episode)? {
                    Inserted::New(id) => id,
                    Inserted::SeenAgain(id) => {
                        seen.push(id);
                        continue;
                    }
                },
            };
            kept.push(Successor {
                id,
                episode,
                title: &new.observation.title,
            });
        }
        for old in known.into_values().filter(|old| !old.is_users) {
            self.remove(&old, &kept)?;
        }
        for id in seen {
            self.tx.run(COUNT, [id])?;
        }
        Ok(())
    }

    fn known_observations(&self) -> rusqlite::Result<HashMap<String, KnownObservation>> {
        const KNOWN: &str =
            "select id, item_key, title, episode_id, pinned <> 0 or edited_at is not null as is_users,
                type, subtitle, narrative, facts, concepts, files_read, files_modified, evidence, rejected,
                error_signature, turn_id, created_at
            from observation where session_db_id = ?1 and item_key is not null
                and turn_id not in (select id from turn where forgotten)";
        const LEGACY: &str = "select id, 'observation-' || id as item_key, title, episode_id, 0 as is_users
            from observation where session_db_id = ?1 and item_key is null and distiller = ?2
                and pinned = 0 and edited_at is null and turn_id not in (select id from turn where forgotten)";
        let mut known = HashMap::new();
        let mut statement = self.tx.prepare_cached(KNOWN)?;
        let mut rows = statement.query([self.session.session_db_id])?;
        while let Some(row) = rows.next()? {
            let text = |column: &str| -> rusqlite::Result<String> {
                Ok(row.get::<_, Option<String>>(column)?.unwrap_or_default())
            };
            let digest = content_digest(&[
                &text("type")?,
                &text("title")?,
                &text("subtitle")?,
                &text("narrative")?,
                &text("facts")?,
                &text("concepts")?,
                &text("files_read")?,
                &text("files_modified")?,
                &text("evidence")?,
                if row.get("rejected")? { "rejected" } else { "" },
                &text("error_signature")?,
            ]);
            known.insert(
                row.get("item_key")?,
                KnownObservation {
                    id: row.get("id")?,
                    title: row.get("title")?,
                    episode_id: row.get("episode_id")?,
                    is_users: row.get("is_users")?,
                    digest,
                },
            );
        }
        // Memories of earlier versions have no key: they go when their session is distilled again.
        let mut statement = self.tx.prepare_cached(LEGACY)?;
        let mut rows = statement.query(params![self.session.session_db_id, Distiller::Builtin])?;
        while let Some(row) = rows.next()? {
            known.insert(
                row.get("item_key")?,
                KnownObservation {
                    id: row.get("id")?,
                    title: row.get("title")?,
                    episode_id: row.get("episode_id")?,
                    is_users: false,
                    digest: 0,
                },
            );
        }
        Ok(known)
    }

    /// Inserts an observation, unless another session has the same one already.
    fn insert(
        &self,
        turn: &TurnRow,
        new: &SessionObservation,
        episode: Option<EpisodeId>,
    ) -> rusqlite::Result<Inserted> {
        const INSERT: &str =
            "insert into observation (project_id, session_db_id, turn_id, episode_id, item_key, type,
                title, subtitle, narrative, facts, concepts, files_read, files_modified, evidence, rejected,
                error_signature, distiller, created_at, last_seen_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?18)
            returning id";
        const SEEN_AGAIN: &str =
            "insert or ignore into sighting (observation_id, turn_id, at) values (?1, ?2, ?3)";
        const SEEN_AT: &str = "update observation set last_seen_at = max(last_seen_at, ?2) where id = ?1";
        const SUPERSEDE: &str = "update observation set superseded_by = ?2 where id = ?1";
        let observation = &new.observation;
        let origin = relation::RelationScope {
            project_db_id: self.session.project_db_id,
            except_session: Some(self.session.session_db_id),
            turn: None,
            error_signature: new.error_signature.as_deref(),
        };
        let related = relation::related(self.tx, origin, observation)?;
        if let Some(same) = related.same {
            self.tx.run(SEEN_AGAIN, params![same, turn.id, new.at_ms])?;
            self.tx.run(SEEN_AT, params![same, new.at_ms])?;
            record_change(self.tx, ChangeEvent::Memory(same.into()))?;
            return Ok(Inserted::SeenAgain(same));
        }
        let values = params![
            self.session.project_db_id,
            self.session.session_db_id,
            turn.id,
            episode,
            new.key,
            observation.kind,
            observation.title,
            observation.subtitle,
            observation.narrative,
            json_list(&observation.facts),
            json_list(&observation.concepts),
            json_list(&observation.files_read),
            json_list(&observation.files_modified),
            json_list(&observation.evidence),
            new.rejected,
            new.error_signature,
            Distiller::Builtin,
            new.at_ms
        ];
        let id: ObservationId = self.tx.row(INSERT, values, |row| row.get("id"))?;
        self.cite(id, observation)?;
        for older in related.outdated {
            // Imported history may come after what happened later.
            let (old, by) = if older.created_at > Timestamp::from_millis(new.at_ms) {
                (id, older.id)
            } else {
                (older.id, id)
            };
            self.tx.run(SUPERSEDE, params![old, by])?;
            if old != id {
                record_change(self.tx, ChangeEvent::Memory(old.into()))?;
            }
        }
        self.index(id)?;
        Ok(Inserted::New(id))
    }

    fn update(
        &self,
        id: ObservationId,
        turn: &TurnRow,
        new: &SessionObservation,
        episode: Option<EpisodeId>,
    ) -> rusqlite::Result<()> {
        const UPDATE: &str = "update observation set turn_id = ?2, episode_id = ?3, type = ?4, title = ?5, subtitle = ?6,
                narrative = ?7, facts = ?8, concepts = ?9, files_read = ?10, files_modified = ?11, evidence = ?12,
                rejected = ?13, error_signature = ?14, created_at = ?15, last_seen_at = max(last_seen_at, ?15)
            where id = ?1";
        const UNCITE: &str = "delete from observation_file where observation_id = ?1
            and path not in (select value from json_each(?2))";
        let observation = &new.observation;
        self.tx.run(
            UPDATE,
            params![
                id,
                turn.id,
                episode,
                observation.kind,
                observation.title,
                observation.subtitle,
                observation.narrative,
                json_list(&observation.facts),
                json_list(&observation.concepts),
                json_list(&observation.files_read),
                json_list(&observation.files_modified),
                json_list(&observation.evidence),
                new.rejected,
                new.error_signature,
                new.at_ms
            ],
        )?;
        let cited: Vec<String> = observation
            .files_modified
            .iter()
            .chain(&observation.files_read)
            .cloned()
            .collect();
        self.tx.run(UNCITE, params![id, json_list(&cited)])?;
        self.cite(id, observation)?;
        self.index(id)
    }

    /// Notes which files an observation cites, and what they held.
    fn cite(&self, id: ObservationId, observation: &NewObservation) -> rusqlite::Result<()> {
        const FILE: &str =
            "insert into observation_file (observation_id, path, modified, content_hash, size)
            values (?1, ?2, ?3, ?4, ?5)
            on conflict do update set modified = max(modified, excluded.modified),
                content_hash = coalesce(excluded.content_hash, content_hash), size = coalesce(excluded.size, size)";
        for (files, modified) in [
            (&observation.files_modified, true),
            (&observation.files_read, false),
        ] {
            for path in files {
                let mark = self.files.get(path);
                let (hash, size) = (mark.map(|mark| &mark.hash), mark.map(|mark| mark.size));
                self.tx.run(FILE, params![id, path, modified, hash, size])?;
            }
        }
        Ok(())
    }

    fn index(&self, id: ObservationId) -> rusqlite::Result<()> {
        documents::put(self.tx, id.into())
    }

    /// Removes an observation whose key is gone; its number leads to the nearest memory of the session.
    fn remove(&self, old: &KnownObservation, kept: &[Successor<'_>]) -> rusqlite::Result<()> {
        const FOLLOW: &str = "update successor set new_id = ?2 where new_id = ?1";
        const SUCCEED: &str = "insert or replace into successor (old_id, new_id) values (?1, ?2)";
        const DELETE: &str = "delete from observation where id = ?1";
        let nearest = kept.iter().max_by(|one, other| {
            let rank = |successor: &Successor<'_>| {
                let same_episode = successor.episode.is_some() && successor.episode == old.episode_id;
                backstory_text::similarity(successor.title, &old.title) + if same_episode { 0.5 } else { 0.0 }
            };
            rank(one).total_cmp(&rank(other)).then(other.id.cmp(&one.id))
        });
        if let Some(successor) = nearest {
            self.tx.run(FOLLOW, params![old.id, successor.id])?;
            self.tx.run(SUCCEED, params![old.id, successor.id])?;
        }
        self.tx.run(DELETE, [old.id])?;
        record_change(self.tx, ChangeEvent::MemoryForgotten(old.id.into()))
    }

    fn summaries(&self, turns: &HashMap<u32, &TurnRow>) -> rusqlite::Result<()> {
        const KNOWN: &str = "select id, turn_id, pinned <> 0 or edited_at is not null as is_users, distiller = ?2 as is_rules,
                request, investigated, learned, completed, next_steps, open_steps, files_read, files_edited, notes
            from summary where session_db_id = ?1 and distiller is not null
                and turn_id in (select id from turn where session_db_id = ?1 and not forgotten)";
        const DELETE: &str = "delete from summary where id = ?1";
        struct Known {
            id: i64,
            is_fixed: bool,
            digest: u64,
        }
        let mut known: HashMap<TurnId, Known> = HashMap::new();
        {
            let mut statement = self.tx.prepare_cached(KNOWN)?;
            let mut rows = statement.query(params![self.session.session_db_id, Distiller::Builtin])?;
            while let Some(row) = rows.next()? {
                let text = |column: &str| -> rusqlite::Result<String> {
                    Ok(row.get::<_, Option<String>>(column)?.unwrap_or_default())
                };
                let digest = content_digest(&[
                    &text("request")?,
                    &text("investigated")?,
                    &text("learned")?,
                    &text("completed")?,
                    &text("next_steps")?,
                    &text("open_steps")?,
                    &text("files_read")?,
                    &text("files_edited")?,
                    &text("notes")?,
                ]);
                known.insert(
                    row.get("turn_id")?,
                    Known {
                        id: row.get("id")?,
                        is_fixed: row.get::<_, bool>("is_users")? || !row.get::<_, bool>("is_rules")?,
                        digest,
                    },
                );
            }
        }
        for new in &self.memory.summaries {
            let Some(turn) = turns.get(&new.turn).filter(|turn| !turn.forgotten) else {
                continue;
            };
            match known.remove(&turn.id) {
                Some(old) if old.is_fixed || old.digest == summary_digest(&new.summary) => {}
                Some(old) => self.put_summary(Some(old.id), turn.id, &new.summary)?,
                None => self.put_summary(None, turn.id, &new.summary)?,
            }
        }
        for old in known.into_values().filter(|old| !old.is_fixed) {
            self.tx.run(DELETE, [old.id])?;
            record_change(
                self.tx,
                ChangeEvent::MemoryForgotten(Handle {
                    kind: MemoryKind::Summary,
                    id: old.id,
                }),
            )?;
        }
        Ok(())
    }

    fn put_summary(&self, known: Option<i64>, turn: TurnId, new: &NewSummary) -> rusqlite::Result<()> {
        const PUT: &str = "insert into summary (id, project_id, session_db_id, turn_id, request, investigated, learned,
                completed, next_steps, open_steps, files_read, files_edited, notes, distiller, created_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
                (select coalesce(max(at), turn.started_at) from turn left join event on event.turn_id = turn.id where turn.id = ?4))
            on conflict (id) do update set request = excluded.request, investigated = excluded.investigated,
                learned = excluded.learned, completed = excluded.completed, next_steps = excluded.next_steps,
                open_steps = excluded.open_steps, files_read = excluded.files_read, files_edited = excluded.files_edited, notes = excluded.notes,
                created_at = excluded.created_at
            returning id";
        let values = params![
            known,
            self.session.project_db_id,
            self.session.session_db_id,
            turn,
            new.request,
            new.investigated,
            new.learned,
            new.completed,
            new.next_steps,
            new.open_steps.as_deref().map(json_list),
            json_list(&new.files_read),
            json_list(&new.files_edited),
            new.notes,
            Distiller::Builtin
        ];
        let id = self.tx.row(PUT, values, |row| row.get("id"))?;
        documents::put(
            self.tx,
            Handle {
                kind: MemoryKind::Summary,
                id,
            },
        )
    }

    fn handover(&self) -> rusqlite::Result<()> {
        const PUT: &str = "insert into handover (session_db_id, body, updated_at)
                values (?1, ?2, (select last_event_at from session where id = ?1))
            on conflict do update set body = excluded.body, updated_at = excluded.updated_at
            where body <> excluded.body";
        // An empty one too: a session with logs and without a hand-over is one that must be composed again.
        let body = serde_json::to_string(&self.memory.handover)
            .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))?;
        self.tx
            .run(PUT, params![self.session.session_db_id, body])
            .map(drop)
    }

    fn titles(&self, transcript_read: Option<&str>) -> rusqlite::Result<()> {
        const SESSION: &str =
            "update session set title = coalesce(?2, title), subtitle = coalesce(?3, subtitle),
                transcript_read = coalesce(?4, transcript_read)
            where id = ?1";
        self.tx
            .run(
                SESSION,
                params![
                    self.session.session_db_id,
                    self.memory.title,
                    self.memory.subtitle,
                    transcript_read
                ],
            )
            .map(drop)
    }
}

/// The outcome of inserting an observation.
enum Inserted {
    /// It is stored.
    New(ObservationId),
    /// Another session has the same memory: it was seen once more.
    SeenAgain(ObservationId),
}

/// A memory that may take the place of a removed one.
struct Successor<'m> {
    id: ObservationId,
    episode: Option<EpisodeId>,
    title: &'m str,
}

fn observation_digest(new: &SessionObservation) -> u64 {
    let observation = &new.observation;
    content_digest(&[
        observation.kind.name(),
        &observation.title,
        observation.subtitle.as_deref().unwrap_or_default(),
        observation.narrative.as_deref().unwrap_or_default(),
        &json_list(&observation.facts),
        &json_list(&observation.concepts),
        &json_list(&observation.files_read),
        &json_list(&observation.files_modified),
        &json_list(&observation.evidence),
        if new.rejected { "rejected" } else { "" },
        new.error_signature.as_deref().unwrap_or_default(),
    ])
}

fn summary_digest(new: &NewSummary) -> u64 {
    let text = |field: &Option<String>| field.clone().unwrap_or_default();
    content_digest(&[
        &text(&new.request),
        &text(&new.investigated),
        &text(&new.learned),
        &text(&new.completed),
        &text(&new.next_steps),
        &text(&new.open_steps.as_deref().map(json_list)),
        &json_list(&new.files_read),
        &json_list(&new.files_edited),
        &text(&new.notes),
    ])
}

/// The size of a passage: about 300 tokens, so that a few results fit into an agent's budget and the encoder, which reads
/// 256 tokens, sees nearly all of each.
const MAX_PASSAGE_BYTES: usize = 1_200;

/// Splits an item into passages. Every part of a command's output begins with the command, so that it can be found and
/// understood by itself.
fn parts(item: &EvidenceItem) -> Vec<Cow<'_, str>> {
    const MAX_COMMAND_CHARS: usize = 200;
    let split = backstory_text::split(&item.text, MAX_PASSAGE_BYTES);
    let command = item.text.lines().next().filter(|line| line.starts_with("$ "));
    let Some(command) = command else {
        return split.into_iter().map(Cow::Borrowed).collect();
    };
    let command: String = command.chars().take(MAX_COMMAND_CHARS).collect();
    let continued = split
        .iter()
        .skip(1)
        .map(|part| Cow::Owned(format!("{command}\n{part}")));
    let first = split.first().map(|part| Cow::Borrowed(*part));
    first.into_iter().chain(continued).collect()
}

/// Hashes fields so that no two lists of fields run together.
fn content_digest(fields: &[&str]) -> u64 {
    backstory_text::hash64(fields.join("\u{1f}").as_bytes())
}

#[cfg(test)]
mod tests {
    use backstory_model::{Episode, Event, EventKind, EvidenceKind, ItemRef, ObservationType};

    use super::*;
    use crate::testing::{event, store};

    const SESSION: SessionRef = SessionRef {
        session_db_id: SessionId::new(1),
        project_db_id: ProjectId::new(1),
    };

    fn ended() -> Store {
        let kinds = [
            EventKind::UserPromptSubmit,
            EventKind::PostToolUse,
            EventKind::Stop,
        ];
        let events: Vec<Event> = kinds
            .into_iter()
            .enumerate()
            .map(|(at, kind)| Event {
                kind,
                payload: r#"{"prompt": "fix the parser"}"#.to_owned(),
                ..event(&at.to_string(), "s")
            })
            .collect();
        store(&events)
    }

    fn item(text: &str) -> EvidenceItem {
        EvidenceItem {
            kind: EvidenceKind::Prose,
            text: text.to_owned(),
            intent: None,
            path: None,
            tool_use_id: None,
            at_ms: 1_000,
        }
    }

    fn observation(key: &str, title: &str) -> SessionObservation {
        SessionObservation {
            key: key.to_owned(),
            turn: 1,
            episode: 1,
            rejected: false,
            error_signature: None,
            at_ms: 1_000,
            observation: NewObservation {
                kind: ObservationType::Change,
                title: title.to_owned(),
                subtitle: None,
                narrative: None,
                facts: Vec::new(),
                concepts: Vec::new(),
                files_read: Vec::new(),
                files_modified: Vec::new(),
                evidence: Vec::new(),
                supersedes: Vec::new(),
            },
        }
    }

    fn put(store: &mut Store, items: &[EvidenceItem], observations: Vec<SessionObservation>) {
        let turn = store.turn_to_distil(TurnId::new(1)).unwrap().unwrap();
        let record = TurnRecord {
            turn: &turn,
            items,
            log: "{}",
            transcript_read: None,
            follow_up: ModelFollowUp::Never,
        };
        let memory = SessionMemory {
            episodes: vec![Episode {
                number: 1,
                title: "Parser".to_owned(),
                first: ItemRef { turn: 1, item: 0 },
                ..Episode::default()
            }],
            observations,
            handover: Handover {
                open: vec!["Release notes".to_owned()],
                ..Handover::default()
            },
            ..SessionMemory::default()
        };
        store
            .store_session(SESSION, &[record], &memory, &BTreeMap::new())
            .unwrap();
    }

    fn rows(store: &Store, sql: &str) -> Vec<(i64, String)> {
        let mut statement = store.connection.prepare(sql).unwrap();
        let rows = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        rows.map(Result::unwrap).collect()
    }

    const OBSERVATIONS: &str = "select id, title from observation order by id";
    const PASSAGES: &str = "select id, text from passage order by position";

    #[test]
    fn distilling_again_keeps_numbers() {
        let mut store = ended();
        put(
            &mut store,
            &[item("one"), item("two")],
            vec![
                observation("a", "Parser accepts tabs"),
                observation("b", "Tests run in CI"),
            ],
        );
        let passages = rows(&store, PASSAGES);
        put(
            &mut store,
            &[item("zero"), item("one"), item("two")],
            vec![
                observation("b", "Tests run in CI"),
                observation("a", "Parser accepts tabs and blanks"),
            ],
        );
        assert_eq!(
            rows(&store, OBSERVATIONS),
            [
                (1, "Parser accepts tabs and blanks".to_owned()),
                (2, "Tests run in CI".to_owned())
            ]
        );
        let again = rows(&store, PASSAGES);
        assert_eq!(again[1..], passages, "items that were there keep their numbers");
    }

    #[test]
    fn a_number_that_is_gone_leads_to_its_successor() {
        let mut store = ended();
        put(&mut store, &[], vec![observation("a", "Parser accepts tabs")]);
        put(&mut store, &[], vec![observation("c", "Parser accepts tabs now")]);
        assert_eq!(
            rows(&store, "select old_id, new_id || '' from successor"),
            [(1, "2".to_owned())]
        );
        put(
            &mut store,
            &[],
            vec![observation("d", "Parser accepts tabs at last")],
        );
        assert_eq!(
            rows(&store, "select old_id, new_id || '' from successor order by 1"),
            [(1, "3".to_owned()), (2, "3".to_owned())]
        );
    }

    #[test]
    fn a_pinned_memory_stays_as_it_is() {
        let mut store = ended();
        put(&mut store, &[], vec![observation("a", "Parser accepts tabs")]);
        store
            .connection
            .execute("update observation set pinned = 1", [])
            .unwrap();
        put(&mut store, &[], vec![observation("a", "Parser accepts blanks")]);
        put(&mut store, &[], Vec::new());
        assert_eq!(
            rows(&store, OBSERVATIONS),
            [(1, "Parser accepts tabs".to_owned())]
        );
    }

    #[test]
    fn the_hand_over_is_read_back() {
        let mut store = ended();
        put(&mut store, &[], Vec::new());
        assert_eq!(
            store.handover(SessionId::new(1)).unwrap().unwrap().open,
            ["Release notes"]
        );
        assert_eq!(store.turn_logs(SessionId::new(1)).unwrap()[0].json, "{}");
    }
}
