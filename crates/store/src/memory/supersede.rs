//! The user marks a memory as superseded by another one, or an agent corrects it.

use backstory_model::{Distiller, Handle, ObservationId, ProjectId, Timestamp};
use backstory_text::one_line;
use rusqlite::{Transaction, params};

use crate::{
    Store, StoreError,
    memory::{
        changes::{ChangeEvent, record_change},
        documents,
    },
    sql::Statements as _,
};

/// Reports the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupersedeOutcome {
    /// The mark is stored.
    Done,
    /// One of the two does not exist.
    Missing,
    /// The two belong to different projects.
    OtherProject,
    /// The newer one is superseded by the older one, directly or through others.
    Circle,
}

/// Reports the result of a correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CorrectOutcome {
    /// The memory is superseded by this one, which states the correction.
    Done(ObservationId),
    /// It does not exist.
    Missing,
    /// The user pinned it.
    Pinned,
}

impl Store {
    /// Adds a memory that states what is true instead of another, which it supersedes. Nothing is deleted: the old memory stays
    /// with its text, and the user can mark it as valid again.
    pub fn correct(
        &mut self,
        old: ObservationId,
        correction: &str,
        now: Timestamp,
    ) -> Result<CorrectOutcome, StoreError> {
        const MAX_TITLE: usize = 100;
        const PINNED: &str = "select pinned from observation where id = ?1";
        const INSERT: &str = "insert into observation
                (project_id, type, title, subtitle, narrative, concepts, files_read, files_modified, distiller, edited_at,
                    created_at, last_seen_at)
            select project_id, type, ?2, ?3, ?4, concepts, files_read, files_modified, ?5, ?6, ?6, ?6
            from observation where id = ?1 returning id";
        const FILES: &str = "insert into observation_file (observation_id, path, modified)
            select ?2, path, modified from observation_file where observation_id = ?1";
        const SUPERSEDE: &str = "update observation set superseded_by = ?2, edited_at = ?3 where id = ?1";
        self.write("correct a memory", |tx| {
            match tx.optional_row(PINNED, [old], |row| row.get::<_, bool>("pinned"))? {
                None => return Ok(CorrectOutcome::Missing),
                Some(true) => return Ok(CorrectOutcome::Pinned),
                Some(false) => {}
            }
            let title = one_line(correction, MAX_TITLE);
            let values = params![
                old,
                title,
                format!("Corrects #{old}, noted by an agent"),
                Some(correction).filter(|text| *text != title),
                Distiller::Model("agent".to_owned()),
                now
            ];
            let new: ObservationId = tx.row(INSERT, values, |row| row.get("id"))?;
            tx.run(FILES, params![old, new])?;
            tx.run(SUPERSEDE, params![old, new, now])?;
            documents::put(tx, Handle::from(new))?;
            record_change(tx, ChangeEvent::Memory(old.into()))?;
            Ok(CorrectOutcome::Done(new))
        })
    }

    /// Marks an observation as superseded by another, or as valid again. Distilling again leaves both as they are.
    pub fn supersede(
        &mut self,
        old: ObservationId,
        by: Option<ObservationId>,
        now: Timestamp,
    ) -> Result<SupersedeOutcome, StoreError> {
        const SET: &str = "update observation set superseded_by = ?2, edited_at = ?3 where id = ?1";
        const KEEP: &str = "update observation set edited_at = coalesce(edited_at, ?2) where id = ?1";
        self.write("mark a memory as superseded", |tx| {
            if let Some(by) = by
                && let Some(obstacle) = obstacle(tx, old, by)?
            {
                return Ok(obstacle);
            }
            if tx.run(SET, params![old, by, now])? == 0 {
                return Ok(SupersedeOutcome::Missing);
            }
            if let Some(by) = by {
                tx.run(KEEP, params![by, now])?;
            }
            record_change(tx, ChangeEvent::Memory(old.into()))?;
            Ok(SupersedeOutcome::Done)
        })
    }
}

/// Returns the reason why one observation cannot supersede the other.
fn obstacle(
    tx: &Transaction<'_>,
    old: ObservationId,
    by: ObservationId,
) -> rusqlite::Result<Option<SupersedeOutcome>> {
    const SUCCESSOR: &str = "select project_id, superseded_by from observation where id = ?1";
    // No chain is longer, so a longer one is a circle that an earlier version stored.
    const MAX_CHAIN: usize = 1_000;
    let successor = |id: ObservationId| -> rusqlite::Result<Option<(ProjectId, Option<ObservationId>)>> {
        tx.optional_row(SUCCESSOR, [id], |row| {
            Ok((row.get("project_id")?, row.get("superseded_by")?))
        })
    };
    let (Some((old_project, _)), Some((project, mut next))) = (successor(old)?, successor(by)?) else {
        return Ok(Some(SupersedeOutcome::Missing));
    };
    if project != old_project {
        return Ok(Some(SupersedeOutcome::OtherProject));
    }
    let mut at = by;
    for _ in 0..MAX_CHAIN {
        if at == old {
            return Ok(Some(SupersedeOutcome::Circle));
        }
        let Some(following) = next else { return Ok(None) };
        at = following;
        next = successor(at)?.and_then(|(_, next)| next);
    }
    Ok(Some(SupersedeOutcome::Circle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, event, store};

    #[test]
    fn a_memory_supersedes_another_unless_that_closes_a_circle() {
        let mut store = store(&[event("1", "a")]);
        let insert = "insert into observation (project_id, type, title, created_at, last_seen_at)
            select id, 'change', 'title', 1, 1 from project";
        for _ in 0..3 {
            store.connection.execute(insert, []).unwrap();
        }
        let mut supersede = |old, by: Option<i64>, now| {
            let by = by.map(ObservationId::new);
            store.supersede(ObservationId::new(old), by, at(now)).unwrap()
        };
        assert_eq!(supersede(1, Some(2), 5), SupersedeOutcome::Done);
        assert_eq!(supersede(2, Some(3), 5), SupersedeOutcome::Done);
        assert_eq!(supersede(3, Some(1), 5), SupersedeOutcome::Circle);
        assert_eq!(supersede(3, Some(3), 5), SupersedeOutcome::Circle);
        assert_eq!(supersede(1, Some(9), 5), SupersedeOutcome::Missing);
        assert_eq!(supersede(9, None, 5), SupersedeOutcome::Missing);
        assert_eq!(supersede(2, None, 6), SupersedeOutcome::Done);
        assert_eq!(supersede(3, Some(1), 7), SupersedeOutcome::Done);
    }

    #[test]
    fn a_correction_keeps_the_old_memory_and_never_replaces_a_pinned_one() {
        let mut store = store(&[event("1", "a")]);
        let insert = "insert into observation (project_id, type, title, created_at, last_seen_at, pinned)
            select id, 'discovery', 'The limit is 10', 1, 1, ?1 from project";
        for pinned in [0, 1] {
            store.connection.execute(insert, [pinned]).unwrap();
        }
        let (old, pinned) = (ObservationId::new(1), ObservationId::new(2));
        let outcome = store.correct(old, "The limit is 20", at(5)).unwrap();
        let new = ObservationId::new(3);
        assert_eq!(outcome, CorrectOutcome::Done(new));
        let memory = |id: ObservationId| store.memory(id.into()).unwrap().unwrap();
        assert_eq!(memory(old).superseded_by, Some(new.into()));
        assert_eq!(memory(old).record.title.as_deref(), Some("The limit is 10"));
        assert_eq!(memory(new).record.title.as_deref(), Some("The limit is 20"));
        assert_eq!(
            memory(new).record.subtitle.as_deref(),
            Some("Corrects #1, noted by an agent")
        );
        assert_eq!(
            store.correct(pinned, "no", at(6)).unwrap(),
            CorrectOutcome::Pinned
        );
        let unknown = ObservationId::new(9);
        assert_eq!(
            store.correct(unknown, "no", at(6)).unwrap(),
            CorrectOutcome::Missing
        );
    }
}
