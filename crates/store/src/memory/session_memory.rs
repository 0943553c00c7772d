//! Stores the evidence of turns and the memory of their session.
//!
//! The memory of a session is derived from the logs of all its turns at once, so storing it compares with what is there:
//! a memory with a known key is updated in place and keeps its number, a new one is inserted, one whose key is gone is
//! removed and its number leads to its successor. Memories that a user pinned, edited or shared and memories of models stay.

use std::collections::{BTreeMap, HashMap, HashSet};

use backstory_model::{
    Distiller, EpisodeId, NewSummary, ObservationId, ProjectId, SessionId, SessionMemory, SessionObservation,
    SummaryId, TurnId,
};
use rusqlite::{Transaction, params};

use crate::{
    Fingerprints, ModelFollowUp, Store, StoreError, StoredTurn,
    memory::{
        command_rows, documents,
        evidence_rows::{EvidenceItems, EvidenceOwner, put_evidence},
        observation_rows::{self, Inserted, ObservationRow, ReplacedObservation, Successor},
        pack::{pack_bytes, unpack_bytes},
        relation::RelationScope,
        summary_rows::{self, SummaryRow},
        user_edits::SessionEdits,
    },
    models::model_queue,
    sql::Statements as _,
};

/// The evidence of one turn.
#[derive(Clone, Copy, Debug)]
pub struct TurnRecord<'m> {
    /// The turn.
    pub turn: &'m StoredTurn,
    /// The evidence items, in order.
    pub items: &'m EvidenceItems,
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

    /// Stores the evidence of turns and the memory of their session. All of it or nothing: done again it is the same.
    pub fn store_session(
        &mut self,
        session: SessionRef,
        turns: &[TurnRecord<'_>],
        memory: &SessionMemory,
        files: &Fingerprints,
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
    files: &'t Fingerprints,
}

/// A turn of the session, as far as writing needs it.
struct TurnRow {
    id: TurnId,
    number: u32,
    /// Memories of this turn come from a model.
    has_model_memories: bool,
    /// Something of it was forgotten: nothing more is made of it.
    forgotten: bool,
    /// It was queued by a reindexing: no model is asked, and memories of a model stay.
    is_reindexed: bool,
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
        self.commands(&rows)?;
        self.handover()?;
        self.titles(turns.last().and_then(|turn| turn.transcript_read))
    }

    fn turns(&self) -> rusqlite::Result<Vec<TurnRow>> {
        const TURNS: &str = "select id, number, forgotten, distilled < 0 as is_reindexed,
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
                is_reindexed: row.get("is_reindexed")?,
            })
        })?;
        rows.collect()
    }

    /// Removes the memories of a model where there is none any more: the built-in rules then cover the whole turn.
    fn clear_other_memories(&self, record: &TurnRecord<'_>) -> rusqlite::Result<()> {
        const OBSERVATIONS: &str = "delete from observation where turn_id = ?1 and distiller <> ?2 and pinned = 0 and edited_at is null
            and not exists (select 1 from team_share
                where team_share.kind = 'observation' and memory_id = observation.id and state = 'approved')";
        const SUMMARIES: &str =
            "delete from summary where turn_id = ?1 and distiller <> ?2 and pinned = 0 and edited_at is null";
        const REINDEXED: &str = "select 1 from turn where id = ?1 and distilled < 0";
        if record.follow_up == ModelFollowUp::Never && !self.tx.has_row(REINDEXED, [record.turn.id])? {
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
            "update turn set transcript_from = coalesce(?2, ''), log = ?3, distilled = ?4 where id = ?1";
        let log = (!row.forgotten).then(|| pack_bytes(record.log));
        // As many as were read: another process may have ingested more since.
        let read = i64::try_from(record.turn.events.len()).unwrap_or(i64::MAX);
        self.tx
            .run(PROGRESS, params![row.id, record.turn.transcript_from, log, read])?;
        if row.forgotten {
            return Ok(());
        }
        // Read from the transcript, if no hook reported it.
        const PROMPT: &str =
            "update turn set prompt = ?2, machine_made = ?3 where id = ?1 and prompt is null";
        if let Some(prompt) = &record.turn.prompt {
            self.tx
                .run(PROMPT, params![row.id, prompt, record.turn.machine_made])?;
        }
        if record.turn.prompt.is_some() && !record.turn.machine_made {
            self.index_prompt(row.id)?;
        }
        let owner = EvidenceOwner {
            project_db_id: self.session.project_db_id,
            session_db_id: self.session.session_db_id,
            turn_id: row.id,
        };
        put_evidence(self.tx, &owner, record.items, |position| {
            self.episode_of(row.number, position, episodes)
        })?;
        if record.follow_up == ModelFollowUp::Wanted && !row.is_reindexed {
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

    fn observations(
        &self,
        turns: &HashMap<u32, &TurnRow>,
        episodes: &BTreeMap<u32, EpisodeId>,
    ) -> rusqlite::Result<()> {
        let mut seen = self.clear_sightings()?;
        let mut known = observation_rows::known(self.tx, self.session.session_db_id)?;
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
            let row = ObservationRow {
                project_db_id: self.session.project_db_id,
                session_db_id: self.session.session_db_id,
                turn_id: turn.id,
                episode_id: episode,
                key: Some(&new.key),
                rejected: new.rejected,
                error_signature: new.error_signature.as_deref(),
                distiller: &Distiller::Builtin,
                at: new.at,
                observation: &new.observation,
            };
            let id = match known.remove(&new.key) {
                Some(old) if old.is_users => old.id,
                Some(old) => {
                    if old.digest != observation_rows::digest(new) {
                        observation_rows::update(self.tx, old.id, &row, self.files)?;
                    }
                    old.id
                }
                // A user's own version of the memory stands for it.
                None if edits.cover(turn.id, &new.observation) => continue,
                None => match observation_rows::insert(self.tx, &row, self.scope(new), self.files)? {
                    Inserted::New(id) => id,
                    Inserted::SeenAgain(id) => {
                        seen.push(id);
                        id
                    }
                },
            };
            kept.push(Successor {
                id,
                episode_id: episode,
                title: &new.observation.title,
            });
        }
        let replaced: Vec<_> = known.into_values().filter(|old| !old.is_users).collect();
        let ids: HashSet<ObservationId> = replaced.iter().map(|old| old.id).collect();
        // A memory that left nothing behind leads to what the user kept of the session.
        let others = observation_rows::of_session(self.tx, self.session.session_db_id)?;
        kept.extend(
            others
                .iter()
                .filter(|other| !ids.contains(&other.id))
                .map(|other| Successor {
                    id: other.id,
                    episode_id: other.episode_id,
                    title: &other.title,
                }),
        );
        for old in replaced {
            let old = ReplacedObservation {
                id: old.id,
                title: old.title,
                episode_id: old.episode_id,
            };
            let ids = observation_rows::remove(self.tx, old.id)?;
            observation_rows::name_successor(self.tx, &old, &ids, &kept)?;
        }
        for id in seen {
            observation_rows::count_sightings(self.tx, id)?;
        }
        Ok(())
    }

    /// Compares a new memory with those of other sessions: the distiller keeps the memories of one session apart.
    fn scope<'m>(&self, new: &'m SessionObservation) -> RelationScope<'m> {
        RelationScope {
            project_db_id: self.session.project_db_id,
            except_session: Some(self.session.session_db_id),
            turn: None,
            error_signature: new.error_signature.as_deref(),
        }
    }

    fn summaries(&self, turns: &HashMap<u32, &TurnRow>) -> rusqlite::Result<()> {
        let mut known = summary_rows::known(self.tx, self.session.session_db_id)?;
        for new in &self.memory.summaries {
            let Some(turn) = turns.get(&new.turn).filter(|turn| !turn.forgotten) else {
                continue;
            };
            match known.remove(&turn.id) {
                Some(old) if old.is_fixed || old.digest == summary_rows::digest(&new.summary) => {}
                old => self.put_summary(old.map(|old| old.id), turn.id, &new.summary)?,
            }
        }
        for old in known.into_values().filter(|old| !old.is_fixed) {
            summary_rows::remove(self.tx, old.id)?;
        }
        Ok(())
    }

    fn put_summary(
        &self,
        known: Option<SummaryId>,
        turn_id: TurnId,
        new: &NewSummary,
    ) -> rusqlite::Result<()> {
        let row = SummaryRow {
            project_db_id: self.session.project_db_id,
            session_db_id: self.session.session_db_id,
            turn_id,
            distiller: &Distiller::Builtin,
            summary: new,
        };
        summary_rows::put(self.tx, known, &row)
    }

    fn commands(&self, rows: &[TurnRow]) -> rusqlite::Result<()> {
        let kept = rows.iter().filter(|row| !row.forgotten);
        let turns = kept.map(|row| (row.number, row.id)).collect();
        command_rows::put(self.tx, self.session, self.memory, &turns)
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

#[cfg(test)]
mod tests;
