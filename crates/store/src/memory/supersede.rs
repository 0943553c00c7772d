//! A person says that one memory holds in place of another.

use backstory_model::{ObservationId, ProjectId, Timestamp};
use rusqlite::{OptionalExtension, Transaction, TransactionBehavior, params};

use crate::{
    Store, StoreError,
    memory::changes::{ChangeEvent, record_change},
    schema::open::query,
};

/// What became of the wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SupersedeOutcome {
    /// It is so now.
    Done,
    /// One of the two is not there.
    Missing,
    /// They belong to different projects.
    OtherProject,
    /// The newer one is itself superseded by the older one, directly or by others.
    Circle,
}

impl Store {
    /// Marks an observation as superseded by another, or as holding again. A person said so: distilling again leaves both
    /// alone.
    pub fn supersede(
        &mut self,
        old: ObservationId,
        by: Option<ObservationId>,
        now: Timestamp,
    ) -> Result<SupersedeOutcome, StoreError> {
        const SET: &str = "update observation set superseded_by = ?2, edited_at = ?3 where id = ?1";
        const KEEP: &str = "update observation set edited_at = coalesce(edited_at, ?2) where id = ?1";
        let attempt = query("mark a memory as superseded");
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(attempt)?;
        let why_not = by.map_or(Ok(None), |by| supersede_error(&transaction, old, by));
        if let Some(why_not) = why_not.map_err(attempt)? {
            return Ok(why_not);
        }
        let run = || -> rusqlite::Result<usize> {
            let changed = transaction.execute(SET, params![old, by, now])?;
            if let Some(by) = by {
                transaction.execute(KEEP, params![by, now])?;
            }
            if changed > 0 {
                record_change(&transaction, ChangeEvent::Memory(old.into()))?;
            }
            Ok(changed)
        };
        let changed = run().map_err(attempt)?;
        transaction.commit().map_err(attempt)?;
        Ok(if changed > 0 {
            SupersedeOutcome::Done
        } else {
            SupersedeOutcome::Missing
        })
    }
}

/// Why one cannot hold in place of the other.
fn supersede_error(
    transaction: &Transaction<'_>,
    old: ObservationId,
    by: ObservationId,
) -> rusqlite::Result<Option<SupersedeOutcome>> {
    const PLACE: &str = "select project_id, superseded_by from observation where id = ?1";
    let place = |id: ObservationId| {
        transaction
            .prepare_cached(PLACE)?
            .query_row([id], |row| {
                Ok((
                    row.get::<_, ProjectId>(0)?,
                    row.get::<_, Option<ObservationId>>(1)?,
                ))
            })
            .optional()
    };
    let (Some((old_project, _)), Some((project, mut next))) = (place(old)?, place(by)?) else {
        return Ok(Some(SupersedeOutcome::Missing));
    };
    if project != old_project {
        return Ok(Some(SupersedeOutcome::OtherProject));
    }
    let mut at = by;
    // No honest chain is longer.
    for _ in 0..1_000 {
        if at == old {
            return Ok(Some(SupersedeOutcome::Circle));
        }
        let Some(following) = next else { return Ok(None) };
        at = following;
        next = place(at)?.and_then(|(_, next)| next);
    }
    Ok(Some(SupersedeOutcome::Circle))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, event, store};

    #[test]
    fn one_memory_holds_in_place_of_another_but_not_in_a_circle() {
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
}
