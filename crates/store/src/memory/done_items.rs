//! Open items that the user ticked off.
//!
//! Only keys are stored. Every read of a summary or a hand-over leaves out the steps whose keys are here, so that no reader
//! has to know about ticks. A summary keeps them apart, because a later hand-over may restate a step that was ticked off.

use std::collections::HashSet;

use backstory_model::{Handover, OpenItemKey, ProjectId, Timestamp};
use backstory_text::{hash64, words};
use rusqlite::{Connection, params};

use crate::{Project, Store, StoreError, sql::Statements as _};

/// Returns the key of an open item: case, punctuation and markup do not count.
pub fn open_item_key(text: &str) -> OpenItemKey {
    let words: Vec<String> = words(text).map(str::to_lowercase).collect();
    OpenItemKey::new(hash64(words.join(" ").as_bytes()))
}

impl Store {
    /// Ticks off open items of a project. Done again it is the same.
    pub fn tick_off(
        &mut self,
        project: &Project,
        items: &[OpenItemKey],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        const INSERT: &str = "insert or ignore into done_item (project_id, key, at) values (?1, ?2, ?3)";
        self.write("tick off open items", |tx| {
            for item in items {
                tx.run(INSERT, params![project.db_id, item, now])?;
            }
            Ok(())
        })
    }

    /// Undoes [`Store::tick_off`].
    pub fn reopen(&mut self, project: &Project, items: &[OpenItemKey]) -> Result<(), StoreError> {
        const DELETE: &str = "delete from done_item where project_id = ?1 and key = ?2";
        self.write("reopen items", |tx| {
            for item in items {
                tx.run(DELETE, params![project.db_id, item])?;
            }
            Ok(())
        })
    }

    /// Returns the items that were ticked off since a moment.
    pub fn ticked_since(
        &self,
        project: &Project,
        since: Timestamp,
    ) -> Result<HashSet<OpenItemKey>, StoreError> {
        const KEYS: &str = "select key from done_item where project_id = ?1 and at >= ?2";
        self.read("read ticked items", |connection| {
            let keys = connection.rows(KEYS, params![project.db_id, since], |row| row.get(0))?;
            Ok(keys.into_iter().collect())
        })
    }
}

/// The ticked items of a project.
pub(super) struct DoneItems(HashSet<OpenItemKey>);

impl DoneItems {
    pub(super) fn of(connection: &Connection, project: ProjectId) -> rusqlite::Result<Self> {
        const KEYS: &str = "select key from done_item where project_id = ?1";
        let keys = connection.rows(KEYS, [project], |row| row.get(0))?;
        Ok(Self(keys.into_iter().collect()))
    }

    pub(super) fn contains(&self, text: &str) -> bool {
        self.0.contains(&open_item_key(text))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Leaves ticked items out of a hand-over, and returns them.
    pub(super) fn remove_from_handover(&self, handover: &mut Handover) -> Vec<String> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let items = std::mem::take(&mut handover.open).into_iter();
        let (ticked, open) = items.partition(|item| self.contains(item));
        handover.open = open;
        ticked
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{at, store_with_turn};

    #[test]
    fn case_and_markup_do_not_change_a_key() {
        assert_eq!(
            open_item_key("Add a test for `coupon`."),
            open_item_key("- add a test for coupon")
        );
        assert_ne!(open_item_key("Add a test"), open_item_key("Add two tests"));
    }

    #[test]
    fn a_ticked_step_leaves_the_summary_and_comes_back() {
        let mut store = store_with_turn();
        store
            .connection
            .execute_batch(
                "insert into summary (project_id, session_db_id, next_steps, open_steps, created_at)
                    select project_id, id, 'Offered: add a flag.' || char(10) || 'Stop the old worker.' || char(10)
                        || 'Write the docs. Twice.', '[\"Stop the old worker.\", \"Write the docs. Twice.\"]', 9 from session",
            )
            .unwrap();
        let project = store.projects().unwrap().remove(0).project;
        let read = |store: &Store| store.latest_summaries(&project, 9).unwrap().remove(0);
        let before = read(&store);
        let step = open_item_key("stop the old worker");
        store.tick_off(&project, &[step, step], at(1)).unwrap();
        let ticked = read(&store);
        assert_eq!(
            ticked.next_steps.as_deref(),
            Some("Offered: add a flag.\nWrite the docs. Twice.")
        );
        assert_eq!(ticked.open_work(), ["Write the docs. Twice."]);
        assert_eq!(ticked.done_steps, ["Stop the old worker."]);
        assert!(store.ticked_since(&project, at(1)).unwrap().contains(&step));
        assert!(store.ticked_since(&project, at(2)).unwrap().is_empty());
        store.reopen(&project, &[step]).unwrap();
        assert_eq!(read(&store), before);
    }
}
