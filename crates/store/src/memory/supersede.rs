//! The user marks a memory as superseded by another one.

use backstory_model::{ObservationId, ProjectId, Timestamp};
use rusqlite::{Transaction, params};

use crate::{
    Store, StoreError,
    memory::changes::{ChangeEvent, record_change},
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

impl Store {
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
}
