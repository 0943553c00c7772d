//! Stores the result of distilling a turn in place of the earlier result.

use std::collections::BTreeMap;

use backstory_model::{
    Distilled, Distiller, Handle, MemoryKind, NewObservation, NewPassage, NewSummary, ObservationId,
    Timestamp,
};
use rusqlite::{Transaction, params};

use crate::{
    DistillRun, FileFingerprint, ModelFollowUp, Store, StoreError, StoredTurn, TurnResult,
    memory::{
        changes::{ChangeEvent, record_change},
        documents,
        pack::pack,
        relation, user_edits,
    },
    models::model_queue,
    sql::{Statements as _, json_list},
};

impl Store {
    /// Replaces the memories of a turn and stores the position of the transcript reader. Idempotent: after a crash it can run
    /// again. Memories that the user pinned or edited stay.
    pub fn replace_turn(
        &mut self,
        turn: &StoredTurn,
        result: &TurnResult<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.write("store the memories of a turn", |tx| {
            let writer = TurnWriter {
                tx,
                turn,
                files: result.files,
                distiller: match result.by {
                    DistillRun::Rules(_) => Distiller::Builtin,
                    DistillRun::Model { name, .. } => Distiller::Model(name.to_owned()),
                },
                now,
            };
            writer.replace(result)
        })
    }
}

struct TurnWriter<'t> {
    tx: &'t Transaction<'t>,
    turn: &'t StoredTurn,
    files: &'t BTreeMap<String, FileFingerprint>,
    distiller: Distiller,
    now: Timestamp,
}

impl TurnWriter<'_> {
    fn replace(&self, result: &TurnResult<'_>) -> rusqlite::Result<()> {
        match self.is_forgotten()? {
            // The whole session was forgotten.
            None => return Ok(()),
            Some(true) => {
                self.store_progress()?;
                return self.update_session(&Distilled::default(), result.transcript_read);
            }
            Some(false) => {}
        }
        match result.by {
            DistillRun::Model { claim, .. } if !model_queue::is_claimed(self.tx, claim)? => return Ok(()),
            // The memories of a model stay, even if they cover only a part of the turn: they are better than those of the rules.
            DistillRun::Rules(ModelFollowUp::Wanted | ModelFollowUp::NotNow)
                if self.has_model_memories()? => {}
            _ => self.replace_memories(result.distilled)?,
        }
        if let DistillRun::Rules(_) = result.by {
            self.store_progress()?;
        }
        if self.turn.prompt.is_some() && !self.turn.machine_made {
            documents::put(self.tx, self.turn.id.into())?;
        }
        self.replace_passages(&result.distilled.passages)?;
        self.update_session(result.distilled, result.transcript_read)?;
        match result.by {
            DistillRun::Rules(ModelFollowUp::Wanted) => model_queue::ask(self.tx, self.turn.id),
            DistillRun::Rules(_) => Ok(()),
            DistillRun::Model { claim, .. } => {
                model_queue::mark_modeled(self.tx, self.turn.id, self.turn.events.len())?;
                model_queue::finish(self.tx, claim)
            }
        }
    }

    /// Returns true if a part of the turn was forgotten, `None` if all of it was. Memories that are made again from the rest,
    /// or from a copy that was read before, would bring the forgotten part back.
    fn is_forgotten(&self) -> rusqlite::Result<Option<bool>> {
        const FORGOTTEN: &str = "select forgotten from turn where id = ?1";
        self.tx
            .optional_row(FORGOTTEN, [self.turn.id], |row| row.get("forgotten"))
    }

    fn has_model_memories(&self) -> rusqlite::Result<bool> {
        const MODEL: &str = "select 1 from observation where turn_id = ?1 and distiller <> ?2
            union all select 1 from summary where turn_id = ?1 and distiller <> ?2";
        self.tx.has_row(MODEL, params![self.turn.id, Distiller::Builtin])
    }

    fn store_progress(&self) -> rusqlite::Result<()> {
        // The first position is kept: the turn is read from the same place when it is distilled again.
        const PROGRESS: &str =
            "update turn set transcript_from = coalesce(?2, ''), distilled = (select count(*) from event
            where turn_id = turn.id and kind in ('post-tool-use', 'post-tool-use-failure')) where id = ?1";
        let values = params![self.turn.id, self.turn.transcript_from];
        self.tx.run(PROGRESS, values).map(drop)
    }

    fn replace_memories(&self, distilled: &Distilled) -> rusqlite::Result<()> {
        self.clear_memories()?;
        for observation in
            user_edits::not_covered_by_user_edits(self.tx, self.turn.id, &distilled.observations)?
        {
            self.insert_observation(observation)?;
        }
        match &distilled.summary {
            Some(summary) if !user_edits::has_summary(self.tx, self.turn.id)? => self.insert_summary(summary),
            _ => Ok(()),
        }
    }

    fn clear_memories(&self) -> rusqlite::Result<()> {
        // The names of the changes are those of `ChangeEvent`.
        const REPORT: &str = "insert into change (name, memory_id)
            select 'observation_forgotten', id from observation
                where turn_id = ?1 and distiller is not null and pinned = 0 and edited_at is null
            union all select 'summary_forgotten', id from summary
                where turn_id = ?1 and distiller is not null and pinned = 0 and edited_at is null";
        const OBSERVATIONS: &str = "delete from observation where turn_id = ?1 and distiller is not null and pinned = 0 and edited_at is null";
        const SUMMARIES: &str = "delete from summary where turn_id = ?1 and distiller is not null and pinned = 0 and edited_at is null";
        const UNCOUNT: &str = "update observation set seen = seen - 1
            where id in (select observation_id from sighting where turn_id = ?1)";
        const SIGHTINGS: &str = "delete from sighting where turn_id = ?1";
        for sql in [REPORT, OBSERVATIONS, SUMMARIES, UNCOUNT, SIGHTINGS] {
            self.tx.run(sql, [self.turn.id])?;
        }
        Ok(())
    }

    fn insert_observation(&self, new: &NewObservation) -> rusqlite::Result<()> {
        const INSERT: &str =
            "insert into observation (project_id, session_db_id, turn_id, type, title, subtitle, narrative,
                facts, concepts, files_read, files_modified, evidence, distiller, created_at, last_seen_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14) returning id";
        const SIGHTING: &str =
            "insert or ignore into sighting (observation_id, turn_id, at) values (?1, ?2, ?3)";
        const COUNT: &str =
            "update observation set seen = seen + 1, last_seen_at = max(last_seen_at, ?2) where id = ?1";
        const SUPERSEDE: &str = "update observation set superseded_by = ?2 where id = ?1";
        let turn = self.turn;
        let scope = relation::RelationScope {
            project_db_id: turn.project_db_id,
            except_session: None,
            turn: Some(turn.id),
            error_signature: None,
        };
        let related = relation::related(self.tx, scope, new)?;
        if let Some(same) = related.same {
            self.tx.run(SIGHTING, params![same, turn.id, self.now])?;
            self.tx.run(COUNT, params![same, self.now])?;
            return record_change(self.tx, ChangeEvent::Memory(same.into()));
        }
        let values = params![
            turn.project_db_id,
            turn.session_db_id,
            turn.id,
            new.kind,
            new.title,
            new.subtitle,
            new.narrative,
            json_list(&new.facts),
            json_list(&new.concepts),
            json_list(&new.files_read),
            json_list(&new.files_modified),
            json_list(&new.evidence),
            self.distiller,
            self.now
        ];
        let id: ObservationId = self.tx.row(INSERT, values, |row| row.get("id"))?;
        self.insert_files(id, new)?;
        for older in related.outdated {
            // An import can bring history after what happened later.
            let (old, by) = if older.created_at > self.now {
                (id, older.id)
            } else {
                (older.id, id)
            };
            self.tx.run(SUPERSEDE, params![old, by])?;
            if old != id {
                record_change(self.tx, ChangeEvent::Memory(old.into()))?;
            }
        }
        self.supersede(id, &new.supersedes)?;
        documents::put(self.tx, id.into())
    }

    fn insert_files(&self, id: ObservationId, new: &NewObservation) -> rusqlite::Result<()> {
        const INSERT: &str =
            "insert or ignore into observation_file (observation_id, path, modified, content_hash, size)
            values (?1, ?2, ?3, ?4, ?5)";
        for (files, modified) in [(&new.files_modified, true), (&new.files_read, false)] {
            for path in files {
                let mark = self.files.get(path);
                let (hash, size) = (mark.map(|mark| &mark.hash), mark.map(|mark| mark.size));
                self.tx.run(INSERT, params![id, path, modified, hash, size])?;
            }
        }
        Ok(())
    }

    /// Marks the memories that a model says are superseded: only of the same project and other turns, and not pinned ones.
    fn supersede(&self, by: ObservationId, older: &[ObservationId]) -> rusqlite::Result<()> {
        const SUPERSEDE: &str = "update observation set superseded_by = ?2 where id = ?1 and project_id = ?3
            and turn_id is not ?4 and pinned = 0 and created_at <= ?5";
        for id in older {
            let values = params![id, by, self.turn.project_db_id, self.turn.id, self.now];
            if self.tx.run(SUPERSEDE, values)? > 0 {
                record_change(self.tx, ChangeEvent::Memory((*id).into()))?;
            }
        }
        Ok(())
    }

    fn insert_summary(&self, new: &NewSummary) -> rusqlite::Result<()> {
        const INSERT: &str =
            "insert into summary (project_id, session_db_id, turn_id, request, investigated, learned,
                completed, next_steps, open_steps, files_read, files_edited, notes, distiller, created_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) returning id";
        let values = params![
            self.turn.project_db_id,
            self.turn.session_db_id,
            self.turn.id,
            new.request,
            new.investigated,
            new.learned,
            new.completed,
            new.next_steps,
            new.open_steps.as_deref().map(json_list),
            json_list(&new.files_read),
            json_list(&new.files_edited),
            new.notes,
            self.distiller,
            self.now
        ];
        let handle = Handle {
            kind: MemoryKind::Summary,
            id: self.tx.row(INSERT, values, |row| row.get("id"))?,
        };
        documents::put(self.tx, handle)
    }

    fn replace_passages(&self, passages: &[NewPassage]) -> rusqlite::Result<()> {
        const CLEAR: &str = "delete from passage where turn_id = ?1 and pinned = 0";
        const INSERT: &str =
            "insert into passage (project_id, session_db_id, turn_id, kind, text, packed, created_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7) returning id";
        self.tx.run(CLEAR, [self.turn.id])?;
        for new in passages {
            if user_edits::has_passage(self.tx, self.turn.id, &new.text)? {
                continue;
            }
            let packed = pack(&new.text);
            let values = params![
                self.turn.project_db_id,
                self.turn.session_db_id,
                self.turn.id,
                new.kind,
                if packed.is_some() { "" } else { &new.text },
                packed,
                self.now
            ];
            let handle = Handle {
                kind: MemoryKind::Passage,
                id: self.tx.row(INSERT, values, |row| row.get("id"))?,
            };
            documents::put(self.tx, handle)?;
        }
        Ok(())
    }

    fn update_session(&self, distilled: &Distilled, transcript_read: Option<&str>) -> rusqlite::Result<()> {
        // The first request is the title; the subtitle is about the latest turn.
        const UPDATE: &str =
            "update session set title = coalesce(title, ?2), subtitle = coalesce(?3, subtitle),
                transcript_read = coalesce(?4, transcript_read)
            where id = ?1";
        let values = params![
            self.turn.session_db_id,
            distilled.title,
            distilled.subtitle,
            transcript_read
        ];
        self.tx.run(UPDATE, values).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use backstory_model::{Event, EventKind, ObservationType, TurnId};

    use super::*;
    use crate::{
        ModelJob, Selection,
        testing::{at, event, store},
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
            .map(|(number, kind)| Event {
                kind,
                payload: r#"{"prompt": "fix it"}"#.to_owned(),
                ..event(&number.to_string(), "s")
            })
            .collect();
        store(&events)
    }

    fn says(title: &str) -> Distilled {
        let observation = NewObservation {
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
        };
        Distilled {
            observations: vec![observation],
            ..Distilled::default()
        }
    }

    fn replace(store: &mut Store, by: DistillRun<'_>, title: &str) -> Vec<String> {
        let turn = store.turn_to_distil(TurnId::new(1)).unwrap().unwrap();
        let made = TurnResult {
            distilled: &says(title),
            files: &BTreeMap::new(),
            transcript_read: None,
            by,
        };
        store.replace_turn(&turn, &made, at(2_000)).unwrap();
        let mut statement = store.connection.prepare("select title from observation").unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    fn claim(store: &mut Store) -> Option<ModelJob> {
        store.claim_model_job(at(5_000), Duration::from_secs(1)).unwrap()
    }

    #[test]
    fn a_turn_is_queued_for_a_model_again_only_after_new_events() {
        let mut store = ended();
        let wanted = DistillRun::Rules(ModelFollowUp::Wanted);
        assert_eq!(replace(&mut store, wanted, "by rules"), ["by rules"]);
        let claimed = claim(&mut store).unwrap();
        assert_eq!(claim(&mut store), None, "it is claimed");
        let model = DistillRun::Model {
            name: "m",
            claim: claimed,
        };
        assert_eq!(replace(&mut store, model, "by a model"), ["by a model"]);
        assert_eq!(store.pending_model_jobs().unwrap(), 0);
        // Without new events the memories of the model stay, and the turn is not queued.
        assert_eq!(replace(&mut store, wanted, "by rules"), ["by a model"]);
        assert_eq!(store.pending_model_jobs().unwrap(), 0);
        store
            .ingest_batch(&[event("9", "s")], &crate::SessionProjects::new())
            .unwrap();
        assert_eq!(replace(&mut store, wanted, "by rules"), ["by a model"]);
        assert_eq!(store.pending_model_jobs().unwrap(), 1);
        // Without a model, the rules distill the whole turn.
        let never = DistillRun::Rules(ModelFollowUp::Never);
        assert_eq!(replace(&mut store, never, "by rules"), ["by rules"]);
    }

    #[test]
    fn events_during_a_model_call_queue_the_turn_again() {
        let mut store = ended();
        let wanted = DistillRun::Rules(ModelFollowUp::Wanted);
        replace(&mut store, wanted, "by rules");
        let claimed = claim(&mut store).unwrap();
        store
            .ingest_batch(&[event("9", "s")], &crate::SessionProjects::new())
            .unwrap();
        replace(&mut store, wanted, "by rules");
        let model = DistillRun::Model {
            name: "m",
            claim: claimed,
        };
        assert_eq!(replace(&mut store, model, "by a model"), ["by a model"]);
        let again = claim(&mut store).unwrap();
        assert_eq!(
            (again.turn_id, again.revision),
            (claimed.turn_id, claimed.revision + 1)
        );
    }

    #[test]
    fn a_model_result_without_a_claim_is_dropped() {
        let mut store = ended();
        replace(&mut store, DistillRun::Rules(ModelFollowUp::Wanted), "by rules");
        let claim = claim(&mut store).unwrap();
        store.finish_model_job(claim).unwrap();
        let model = DistillRun::Model { name: "m", claim };
        assert_eq!(replace(&mut store, model, "by a model"), ["by rules"]);
    }

    #[test]
    fn memories_forgotten_meanwhile_do_not_come_back() {
        let mut store = ended();
        let rules = DistillRun::Rules(ModelFollowUp::Never);
        replace(&mut store, rules, "by rules");
        let in_progress = store.turn_to_distil(TurnId::new(1)).unwrap().unwrap();
        let made = TurnResult {
            distilled: &says("from memory"),
            files: &BTreeMap::new(),
            transcript_read: None,
            by: rules,
        };
        let memory = "1".parse().unwrap();
        store.forget(Selection::Memories(&[memory]), at(3_000)).unwrap();
        store.replace_turn(&in_progress, &made, at(4_000)).unwrap();
        let session = store.session("s").unwrap();
        let count = |store: &Store| -> i64 {
            let sql = "select count(*) from observation";
            store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(count(&store), 0);
        store.forget(Selection::Session(&session), at(5_000)).unwrap();
        store.replace_turn(&in_progress, &made, at(6_000)).unwrap();
        assert_eq!(count(&store), 0);
    }
}
