//! Puts what was made of a turn in place of what was made of it before.

use std::collections::BTreeMap;

use backstory_model::{
    Distilled, Distiller, Handle, MemoryKind, NewObservation, NewPassage, NewSummary, ObservationId,
    Timestamp,
};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use crate::{
    DistillRun, FileFingerprint, ModelFollowUp, Store, StoreError, StoredTurn, TurnResult,
    memory::changes::{ChangeEvent, record_change},
    memory::distilled::list,
    memory::documents,
    memory::pack::pack,
    memory::relation,
    memory::user_edits,
    models::model_queue,
    schema::open::query,
};

impl Store {
    /// Stores what was made of a turn in place of what was made of it before, and notes how far the transcript was read.
    /// All of it or nothing: done again after a crash it is the same.
    pub fn replace_turn(
        &mut self,
        turn: &StoredTurn,
        made: &TurnResult<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let distilled = made.distilled;
        let attempt = query("store what was distilled");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let place = TurnWriter {
            transaction: &transaction,
            turn,
            files: made.files,
            distiller: match made.by {
                DistillRun::Rules(_) => Distiller::Builtin,
                DistillRun::Model { name, .. } => Distiller::Model(name.to_owned()),
            },
            now,
        };
        let run = || -> rusqlite::Result<()> {
            match place.is_forgotten()? {
                // With its session, meanwhile.
                None => return Ok(()),
                Some(true) => {
                    place.note_progress()?;
                    return place.session(&Distilled::default(), made.transcript_read);
                }
                Some(false) => {}
            }
            match made.by {
                DistillRun::Model { claim, .. } if !model_queue::is_claimed(&transaction, claim)? => {
                    return Ok(());
                }
                // What a model made of less than the whole turn still says more than the rules do of all of it.
                DistillRun::Rules(ModelFollowUp::Wanted | ModelFollowUp::NotNow)
                    if place.has_model_memories()? => {}
                _ => place.memories(distilled)?,
            }
            if let DistillRun::Rules(_) = made.by {
                place.note_progress()?;
            }
            if turn.prompt.is_some() && !turn.machine_made {
                place.index(turn.id.into())?;
            }
            place.clear_passages()?;
            for passage in &distilled.passages {
                if !user_edits::has_passage(&transaction, turn.id, &passage.text)? {
                    place.passage(passage)?;
                }
            }
            place.session(distilled, made.transcript_read)?;
            match made.by {
                DistillRun::Rules(ModelFollowUp::Wanted) => model_queue::ask(&transaction, turn.id),
                DistillRun::Rules(_) => Ok(()),
                DistillRun::Model { claim, .. } => {
                    model_queue::mark_modeled(&transaction, turn.id, turn.events.len())?;
                    model_queue::finish(&transaction, claim)
                }
            }
        };
        run().map_err(attempt)?;
        transaction.commit().map_err(attempt)
    }
}

struct TurnWriter<'t> {
    transaction: &'t Transaction<'t>,
    turn: &'t StoredTurn,
    files: &'t BTreeMap<String, FileFingerprint>,
    distiller: Distiller,
    now: Timestamp,
}

impl TurnWriter<'_> {
    /// Stores observations and the summary in place of those that were there.
    fn memories(&self, distilled: &Distilled) -> rusqlite::Result<()> {
        self.clear()?;
        for observation in
            user_edits::not_covered_by_user_edits(self.transaction, self.turn.id, &distilled.observations)?
        {
            self.observation(observation)?;
        }
        match &distilled.summary {
            Some(summary) if !user_edits::has_summary(self.transaction, self.turn.id)? => {
                self.summary(summary)
            }
            _ => Ok(()),
        }
    }

    /// Says whether a person wanted something of the turn gone; `None` when all of it is. Made again from what is left, or
    /// from what somebody had in hand, it would be back.
    fn is_forgotten(&self) -> rusqlite::Result<Option<bool>> {
        const FORGOTTEN: &str = "select forgotten from turn where id = ?1";
        let mut statement = self.transaction.prepare_cached(FORGOTTEN)?;
        statement.query_row([self.turn.id], |row| row.get(0)).optional()
    }

    fn clear(&self) -> rusqlite::Result<()> {
        // What a person pinned or corrected stays whatever is found out later.
        const OBSERVATIONS: &str = "delete from observation where turn_id = ?1 and distiller is not null and pinned = 0 and edited_at is null";
        const SUMMARIES: &str = "delete from summary where turn_id = ?1 and distiller is not null and pinned = 0 and edited_at is null";
        const UNSEEN: &str = "update observation set seen = seen - 1
            where id in (select observation_id from sighting where turn_id = ?1)";
        const SIGHTINGS: &str = "delete from sighting where turn_id = ?1";
        const TELL: &str = "insert into change (name, memory_id)
            select 'observation_forgotten', id from observation
                where turn_id = ?1 and distiller is not null and pinned = 0 and edited_at is null
            union all select 'summary_forgotten', id from summary
                where turn_id = ?1 and distiller is not null and pinned = 0 and edited_at is null";
        for sql in [TELL, OBSERVATIONS, SUMMARIES, UNSEEN, SIGHTINGS] {
            self.transaction.prepare_cached(sql)?.execute([self.turn.id])?;
        }
        Ok(())
    }

    fn clear_passages(&self) -> rusqlite::Result<()> {
        const PASSAGES: &str = "delete from passage where turn_id = ?1 and pinned = 0";
        self.transaction
            .prepare_cached(PASSAGES)?
            .execute([self.turn.id])
            .map(drop)
    }

    fn has_model_memories(&self) -> rusqlite::Result<bool> {
        const MODEL: &str = "select 1 from observation where turn_id = ?1 and distiller <> ?2
            union all select 1 from summary where turn_id = ?1 and distiller <> ?2";
        self.transaction
            .prepare_cached(MODEL)?
            .exists(params![self.turn.id, Distiller::Builtin])
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
        let scope = relation::RelationScope {
            project_db_id: turn.project_db_id,
            session_db_id: turn.session_db_id,
            error_signature: None,
        };
        let related = relation::related(self.transaction, scope, new)?;
        if let Some(same) = related.same {
            self.transaction
                .prepare_cached(SEEN_AGAIN)?
                .execute(params![same, turn.id, self.now])?;
            self.transaction
                .prepare_cached(COUNT)?
                .execute(params![same, self.now])?;
            return record_change(self.transaction, ChangeEvent::Memory(same.into()));
        }
        let values = params![
            turn.project_db_id,
            turn.session_db_id,
            turn.id,
            new.kind,
            new.title,
            new.subtitle,
            new.narrative,
            list(&new.facts),
            list(&new.concepts),
            list(&new.files_read),
            list(&new.files_modified),
            list(&new.evidence),
            self.distiller,
            self.now
        ];
        let id: ObservationId = self
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
            let (old, by) = match older.created_at > self.now {
                true => (id, older.id),
                false => (older.id, id),
            };
            self.transaction
                .prepare_cached(SUPERSEDE)?
                .execute(params![old, by])?;
            if old != id {
                record_change(self.transaction, ChangeEvent::Memory(old.into()))?;
            }
        }
        self.supersede(id, &new.supersedes)?;
        self.index(id.into())
    }

    /// Marks memories that a model says hold no longer: of the same project, of other turns, and not a person's own.
    fn supersede(&self, by: ObservationId, older: &[ObservationId]) -> rusqlite::Result<()> {
        const SUPERSEDE: &str = "update observation set superseded_by = ?2 where id = ?1 and project_id = ?3
            and turn_id is not ?4 and pinned = 0 and created_at <= ?5";
        for id in older {
            let changed = self.transaction.prepare_cached(SUPERSEDE)?.execute(params![
                id,
                by,
                self.turn.project_db_id,
                self.turn.id,
                self.now
            ])?;
            if changed > 0 {
                record_change(self.transaction, ChangeEvent::Memory((*id).into()))?;
            }
        }
        Ok(())
    }

    fn summary(&self, new: &NewSummary) -> rusqlite::Result<()> {
        const INSERT: &str =
            "insert into summary (project_id, session_db_id, turn_id, request, investigated, learned,
                completed, next_steps, open_steps, files_read, files_edited, notes, distiller, created_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) returning id";
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
            new.open_steps.as_deref().map(list),
            list(&new.files_read),
            list(&new.files_edited),
            new.notes,
            self.distiller,
            self.now
        ];
        let id = self
            .transaction
            .prepare_cached(INSERT)?
            .query_row(values, |row| row.get(0))?;
        self.index(Handle {
            kind: MemoryKind::Summary,
            id,
        })
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
            new.kind,
            if packed.is_some() { "" } else { &new.text },
            packed,
            self.now
        ];
        let id = self
            .transaction
            .prepare_cached(INSERT)?
            .query_row(values, |row| row.get(0))?;
        self.index(Handle {
            kind: MemoryKind::Passage,
            id,
        })
    }

    fn index(&self, handle: Handle) -> rusqlite::Result<()> {
        documents::put(self.transaction, handle)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use backstory_model::{Event, EventKind, ObservationType, TurnId};

    use super::*;
    use crate::{
        ModelJob, Selection,
        testing::{SENSES, at, event, store},
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
                payload: r#"{"prompt": "mend it"}"#.to_owned(),
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
    fn a_model_is_asked_once_and_again_when_the_turn_goes_on() {
        let mut store = ended();
        let wanted = DistillRun::Rules(ModelFollowUp::Wanted);
        assert_eq!(replace(&mut store, wanted, "by rules"), ["by rules"]);
        let claimed = claim(&mut store).unwrap();
        assert_eq!(claim(&mut store), None, "somebody has it");
        let model = DistillRun::Model {
            name: "m",
            claim: claimed,
        };
        assert_eq!(replace(&mut store, model, "by a model"), ["by a model"]);
        assert_eq!(store.pending_model_jobs().unwrap(), 0);
        // Nothing new happened: what the model wrote stands, and it is not asked again.
        assert_eq!(replace(&mut store, wanted, "by rules"), ["by a model"]);
        assert_eq!(store.pending_model_jobs().unwrap(), 0);
        store.ingest_batch(&[event("9", "s")], SENSES).unwrap();
        assert_eq!(replace(&mut store, wanted, "by rules"), ["by a model"]);
        assert_eq!(store.pending_model_jobs().unwrap(), 1);
        // Without a model the rules have to do, and they do it with the whole turn.
        let never = DistillRun::Rules(ModelFollowUp::Never);
        assert_eq!(replace(&mut store, never, "by rules"), ["by rules"]);
    }

    #[test]
    fn a_turn_that_goes_on_while_a_model_thinks_is_asked_about_again() {
        let mut store = ended();
        let wanted = DistillRun::Rules(ModelFollowUp::Wanted);
        replace(&mut store, wanted, "by rules");
        let claimed = claim(&mut store).unwrap();
        store.ingest_batch(&[event("9", "s")], SENSES).unwrap();
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
    fn what_comes_without_a_claim_is_not_kept() {
        let mut store = ended();
        replace(&mut store, DistillRun::Rules(ModelFollowUp::Wanted), "by rules");
        let claim = claim(&mut store).unwrap();
        store.finish_model_job(claim).unwrap();
        let model = DistillRun::Model { name: "m", claim };
        assert_eq!(replace(&mut store, model, "by a model"), ["by rules"]);
    }

    #[test]
    fn what_was_forgotten_meanwhile_stays_so() {
        let mut store = ended();
        let rules = DistillRun::Rules(ModelFollowUp::Never);
        replace(&mut store, rules, "by rules");
        let in_hand = store.turn_to_distil(TurnId::new(1)).unwrap().unwrap();
        let made = TurnResult {
            distilled: &says("from memory"),
            files: &BTreeMap::new(),
            transcript_read: None,
            by: rules,
        };
        let memory = "1".parse().unwrap();
        store.forget(Selection::Memories(&[memory]), at(3_000)).unwrap();
        store.replace_turn(&in_hand, &made, at(4_000)).unwrap();
        let session = store.session("s").unwrap();
        let count = |store: &Store| -> i64 {
            let sql = "select count(*) from observation";
            store.connection.query_row(sql, [], |row| row.get(0)).unwrap()
        };
        assert_eq!(count(&store), 0);
        store.forget(Selection::Session(&session), at(5_000)).unwrap();
        store.replace_turn(&in_hand, &made, at(6_000)).unwrap();
        assert_eq!(count(&store), 0);
    }
}
