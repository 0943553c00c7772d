//! Stores the memories that a model derived from a turn, in place of those that are there.

use backstory_model::{Distilled, Distiller, ObservationId, SummaryId, Timestamp};
use rusqlite::{Transaction, params};

use crate::{
    Fingerprints, ModelJob, Store, StoreError, StoredTurn,
    memory::{
        changes::{ChangeEvent, record_change},
        observation_rows::{self, Inserted, ObservationRow, ReplacedObservation, Successor},
        relation::RelationScope,
        summary_rows::{self, SummaryRow},
        user_edits,
    },
    models::model_queue,
    sql::Statements as _,
};

/// Holds the answer of a model about a turn.
#[derive(Clone, Copy, Debug)]
pub struct ModelAnswer<'m> {
    /// The memories.
    pub distilled: &'m Distilled,
    /// Fingerprints of the cited files, if known.
    pub files: &'m Fingerprints,
    /// The name of the model.
    pub model: &'m str,
    /// The claim on the turn. Without it the answer is dropped: the turn or a memory of it was forgotten meanwhile.
    pub claim: ModelJob,
    /// The time of the memories.
    pub at: Timestamp,
}

impl Store {
    /// Replaces the memories of a turn by those of a model. Memories that the user pinned, edited or shared stay. Idempotent.
    pub fn store_model_answer(
        &mut self,
        turn: &StoredTurn,
        answer: &ModelAnswer<'_>,
    ) -> Result<(), StoreError> {
        const INTACT: &str = "select 1 from turn where id = ?1 and not forgotten";
        self.write("store the memories of a model", |tx| {
            // A part of the turn that was forgotten meanwhile would come back.
            if !tx.has_row(INTACT, [turn.id])? || !model_queue::is_claimed(tx, answer.claim)? {
                return Ok(());
            }
            let writer = AnswerWriter {
                tx,
                turn,
                answer,
                distiller: Distiller::Model(answer.model.to_owned()),
            };
            writer.replace_observations()?;
            writer.replace_summary()?;
            writer.update_subtitle()?;
            model_queue::mark_modeled(tx, turn.id, turn.events.len())?;
            model_queue::finish(tx, answer.claim)
        })
    }
}

struct AnswerWriter<'t> {
    tx: &'t Transaction<'t>,
    turn: &'t StoredTurn,
    answer: &'t ModelAnswer<'t>,
    distiller: Distiller,
}

impl AnswerWriter<'_> {
    fn replace_observations(&self) -> rusqlite::Result<()> {
        const REPLACED: &str = "select id, title, episode_id from observation
            where turn_id = ?1 and distiller is not null and pinned = 0 and edited_at is null
                and not exists (select 1 from team_share
                where team_share.kind = 'observation' and memory_id = observation.id and state = 'approved')";
        let mut seen = self.clear_sightings()?;
        let replaced = self.tx.rows(REPLACED, [self.turn.id], |row| {
            Ok(ReplacedObservation {
                id: row.get("id")?,
                title: row.get("title")?,
                episode_id: row.get("episode_id")?,
            })
        })?;
        let mut ids = Vec::with_capacity(replaced.len());
        for old in &replaced {
            ids.push(observation_rows::remove(self.tx, old.id)?);
        }
        let mut successors = Vec::new();
        let observations = &self.answer.distilled.observations;
        for observation in user_edits::not_covered_by_user_edits(self.tx, self.turn.id, observations)? {
            let row = ObservationRow {
                project_db_id: self.turn.project_db_id,
                session_db_id: self.turn.session_db_id,
                turn_id: self.turn.id,
                episode_id: None,
                key: None,
                rejected: false,
                error_signature: None,
                distiller: &self.distiller,
                at: self.answer.at,
                observation,
            };
            let scope = RelationScope {
                project_db_id: self.turn.project_db_id,
                except_session: None,
                turn: Some(self.turn.id),
                error_signature: None,
            };
            let id = match observation_rows::insert(self.tx, &row, scope, self.answer.files)? {
                Inserted::New(id) => {
                    self.supersede(id, &observation.supersedes)?;
                    id
                }
                Inserted::SeenAgain(id) => {
                    seen.push(id);
                    id
                }
            };
            successors.push(Successor {
                id,
                episode_id: None,
                title: &observation.title,
            });
        }
        for (old, ids) in replaced.iter().zip(&ids) {
            observation_rows::name_successor(self.tx, old, ids, &successors)?;
        }
        for id in seen {
            observation_rows::count_sightings(self.tx, id)?;
        }
        Ok(())
    }

    fn clear_sightings(&self) -> rusqlite::Result<Vec<ObservationId>> {
        const CLEAR: &str = "delete from sighting where turn_id = ?1 returning observation_id";
        self.tx
            .rows(CLEAR, [self.turn.id], |row| row.get("observation_id"))
    }

    /// Marks the memories that a model says are superseded: only of the same project and other turns, and not pinned ones.
    fn supersede(&self, by: ObservationId, older: &[ObservationId]) -> rusqlite::Result<()> {
        const SUPERSEDE: &str = "update observation set superseded_by = ?2 where id = ?1 and project_id = ?3
            and turn_id is not ?4 and pinned = 0 and created_at <= ?5";
        for id in older {
            let values = params![id, by, self.turn.project_db_id, self.turn.id, self.answer.at];
            if self.tx.run(SUPERSEDE, values)? > 0 {
                record_change(self.tx, ChangeEvent::Memory((*id).into()))?;
            }
        }
        Ok(())
    }

    fn replace_summary(&self) -> rusqlite::Result<()> {
        const KNOWN: &str = "select id from summary where turn_id = ?1 and distiller is not null and pinned = 0 and edited_at is null";
        if user_edits::has_summary(self.tx, self.turn.id)? {
            return Ok(());
        }
        let known: Option<SummaryId> = self.tx.optional_row(KNOWN, [self.turn.id], |row| row.get("id"))?;
        let Some(summary) = &self.answer.distilled.summary else {
            return known.map_or(Ok(()), |id| summary_rows::remove(self.tx, id));
        };
        let row = SummaryRow {
            project_db_id: self.turn.project_db_id,
            session_db_id: self.turn.session_db_id,
            turn_id: self.turn.id,
            distiller: &self.distiller,
            summary,
        };
        summary_rows::put(self.tx, known, &row)
    }

    /// Stores the outcome of the latest turn. The title of the session stays: it is the first request.
    fn update_subtitle(&self) -> rusqlite::Result<()> {
        const UPDATE: &str = "update session set subtitle = coalesce(?2, subtitle) where id = ?1";
        let values = params![self.turn.session_db_id, self.answer.distilled.subtitle];
        self.tx.run(UPDATE, values).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use backstory_model::{
        NewObservation, ObservationType, ProjectId, SessionId, SessionMemory, SessionObservation, TurnId,
    };

    use super::*;
    use crate::{
        ModelFollowUp, Selection, SessionRef, TurnRecord,
        testing::{at, event, store_with_turn},
    };

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

    fn titles(store: &Store) -> Vec<String> {
        let mut statement = store.connection.prepare("select title from observation").unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }

    fn stored_turn(store: &Store) -> StoredTurn {
        store.turn_to_distil(TurnId::new(1)).unwrap().unwrap()
    }

    /// Stores a memory of the rules.
    fn by_rules(store: &mut Store, follow_up: ModelFollowUp) -> Vec<String> {
        let turn = stored_turn(store);
        let record = TurnRecord {
            turn: &turn,
            items: &crate::EvidenceItems::default(),
            log: "{}",
            transcript_read: None,
            follow_up,
        };
        let memory = SessionMemory {
            observations: vec![SessionObservation {
                key: "key".to_owned(),
                turn: 1,
                episode: 1,
                rejected: false,
                error_signature: None,
                at: Timestamp::from_millis(2_000),
                observation: says("by rules").observations.remove(0),
            }],
            ..SessionMemory::default()
        };
        let session = SessionRef {
            session_db_id: SessionId::new(1),
            project_db_id: ProjectId::new(1),
        };
        store
            .store_session(session, &[record], &memory, &Fingerprints::new())
            .unwrap();
        titles(store)
    }

    fn by_model(store: &mut Store, claim: ModelJob) -> Vec<String> {
        let turn = stored_turn(store);
        answer(store, &turn, claim);
        titles(store)
    }

    fn answer(store: &mut Store, turn: &StoredTurn, claim: ModelJob) {
        let answer = ModelAnswer {
            distilled: &says("by a model"),
            files: &Fingerprints::new(),
            model: "m",
            claim,
            at: at(2_000),
        };
        store.store_model_answer(turn, &answer).unwrap();
    }

    fn claim(store: &mut Store) -> Option<ModelJob> {
        store.claim_model_job(at(5_000), Duration::from_secs(1)).unwrap()
    }

    fn grow(store: &mut Store) {
        store
            .ingest_batch(&[event("9", "s")], &crate::SessionProjects::new())
            .unwrap();
    }

    #[test]
    fn a_turn_is_queued_for_a_model_again_only_after_new_events() {
        let mut store = store_with_turn();
        let wanted = ModelFollowUp::Wanted;
        assert_eq!(by_rules(&mut store, wanted), ["by rules"]);
        let claimed = claim(&mut store).unwrap();
        assert_eq!(claim(&mut store), None, "it is claimed");
        assert_eq!(by_model(&mut store, claimed), ["by a model"]);
        assert_eq!(store.pending_model_jobs().unwrap(), 0);
        // Without new events the memories of the model stay, and the turn is not queued.
        assert_eq!(by_rules(&mut store, wanted), ["by a model"]);
        assert_eq!(store.pending_model_jobs().unwrap(), 0);
        grow(&mut store);
        assert_eq!(by_rules(&mut store, wanted), ["by a model"]);
        assert_eq!(store.pending_model_jobs().unwrap(), 1);
        // Without a model, the rules distill the whole turn.
        assert_eq!(by_rules(&mut store, ModelFollowUp::Never), ["by rules"]);
    }

    #[test]
    fn events_during_a_model_call_queue_the_turn_again() {
        let mut store = store_with_turn();
        by_rules(&mut store, ModelFollowUp::Wanted);
        let claimed = claim(&mut store).unwrap();
        grow(&mut store);
        by_rules(&mut store, ModelFollowUp::Wanted);
        assert_eq!(by_model(&mut store, claimed), ["by a model"]);
        let again = claim(&mut store).unwrap();
        assert_eq!(
            (again.turn_id, again.revision),
            (claimed.turn_id, claimed.revision + 1)
        );
    }

    #[test]
    fn an_answer_without_a_claim_is_dropped() {
        let mut store = store_with_turn();
        by_rules(&mut store, ModelFollowUp::Wanted);
        let claim = claim(&mut store).unwrap();
        store.finish_model_job(claim).unwrap();
        assert_eq!(by_model(&mut store, claim), ["by rules"]);
    }

    #[test]
    fn a_replaced_memory_leads_to_that_of_the_model() {
        let mut store = store_with_turn();
        by_rules(&mut store, ModelFollowUp::Wanted);
        let claim = claim(&mut store).unwrap();
        by_model(&mut store, claim);
        assert_eq!(
            store.resolve(ObservationId::new(1).into()).unwrap(),
            ObservationId::new(2).into()
        );
    }

    #[test]
    fn memories_forgotten_meanwhile_do_not_come_back() {
        let mut store = store_with_turn();
        by_rules(&mut store, ModelFollowUp::Wanted);
        let (turn, claimed) = (stored_turn(&store), claim(&mut store).unwrap());
        let memory = "1".parse().unwrap();
        store.forget(Selection::Memories(&[memory]), at(3_000)).unwrap();
        answer(&mut store, &turn, claimed);
        assert!(titles(&store).is_empty());
        assert!(by_rules(&mut store, ModelFollowUp::Wanted).is_empty());
        let session = store.session("s").unwrap();
        store.forget(Selection::Session(&session), at(5_000)).unwrap();
        answer(&mut store, &turn, claimed);
        assert!(titles(&store).is_empty());
    }
}
