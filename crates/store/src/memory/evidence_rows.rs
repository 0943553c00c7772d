//! Rows of evidence items, split into passages.

use std::{borrow::Cow, collections::HashMap};

use backstory_model::{EpisodeId, EvidenceItem, Handle, MemoryKind, ProjectId, SessionId, TurnId};
use rusqlite::{Transaction, params};

use crate::{
    memory::{
        documents,
        pack::{pack, unpack_bytes},
    },
    sql::Statements as _,
};

/// Identifies the turn whose evidence is stored.
pub(crate) struct EvidenceOwner {
    pub(crate) project_db_id: ProjectId,
    pub(crate) session_db_id: SessionId,
    pub(crate) turn_id: TurnId,
}

/// A passage that was stored before.
struct KnownPassage {
    id: i64,
    position: u32,
    episode_id: Option<EpisodeId>,
}

/// The items of a turn, in order. Those of a long turn are packed: they do not fit into memory otherwise.
#[derive(Debug, Default)]
pub struct EvidenceItems {
    items: Vec<HeldItem>,
    /// The length of the texts that are not packed.
    plain_bytes: usize,
}

#[derive(Debug)]
struct HeldItem {
    /// The item; its text is empty if it is packed.
    item: EvidenceItem,
    packed: Option<Vec<u8>>,
}

impl EvidenceItems {
    /// The length of text from which further items are packed. Most turns stay below it and pay nothing.
    const MAX_PLAIN: usize = 4 << 20;

    /// Adds an item.
    pub fn push(&mut self, mut item: EvidenceItem) {
        let is_full = self.plain_bytes + item.text.len() > Self::MAX_PLAIN;
        let packed = is_full.then(|| pack(&item.text)).flatten();
        if packed.is_some() {
            item.text = String::new();
        }
        self.plain_bytes += item.text.len();
        self.items.push(HeldItem { item, packed });
    }

    /// Returns the items.
    fn iter(&self) -> impl Iterator<Item = Cow<'_, EvidenceItem>> {
        self.items.iter().map(|held| match &held.packed {
            None => Cow::Borrowed(&held.item),
            Some(packed) => Cow::Owned(EvidenceItem {
                text: unpack_bytes(packed).unwrap_or_default(),
                ..held.item.clone()
            }),
        })
    }
}

/// Stores the items of a turn in place of those that were there. A passage that is there already keeps its number.
pub(crate) fn put_evidence(
    tx: &Transaction<'_>,
    owner: &EvidenceOwner,
    items: &EvidenceItems,
    episode_of: impl Fn(u32) -> Option<EpisodeId>,
) -> rusqlite::Result<()> {
    const KNOWN: &str =
        "select id, item_key, position, episode_id from passage where turn_id = ?1 and item_key is not null";
    const LEGACY: &str =
        "delete from passage where turn_id = ?1 and item_key is null and external_id is null and pinned = 0";
    const MOVE: &str = "update passage set position = ?2, episode_id = ?3 where id = ?1";
    const DELETE: &str = "delete from passage where id = ?1 and pinned = 0";
    const INSERT: &str =
        "insert into passage (project_id, session_db_id, turn_id, episode_id, item_key, position,
            kind, path, intent, text, packed, created_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) returning id";
    tx.run(LEGACY, [owner.turn_id])?;
    let known = tx.rows(KNOWN, [owner.turn_id], |row| {
        let known = KnownPassage {
            id: row.get("id")?,
            position: row.get("position")?,
            episode_id: row.get("episode_id")?,
        };
        Ok((row.get("item_key")?, known))
    })?;
    let mut known: HashMap<String, KnownPassage> = known.into_iter().collect();
    let mut counts: HashMap<u64, u32> = HashMap::new();
    for (position, item) in (0_u32..).zip(items.iter()) {
        let episode = episode_of(position);
        for part in passages(&item) {
            let digest = backstory_text::hash_fields(&[
                item.kind.name(),
                item.tool_use_id.as_deref().unwrap_or_default(),
                item.path.as_deref().unwrap_or_default(),
                item.intent.as_deref().unwrap_or_default(),
                &part,
            ]);
            let count = counts.entry(digest).or_default();
            *count += 1;
            let key = format!("{digest:016x}-{count}");
            if let Some(known) = known.remove(&key) {
                // A turn that grows has most of its passages where they were.
                if (known.position, known.episode_id) != (position, episode) {
                    tx.run(MOVE, params![known.id, position, episode])?;
                }
                continue;
            }
            let packed = pack(&part);
            let values = params![
                owner.project_db_id,
                owner.session_db_id,
                owner.turn_id,
                episode,
                key,
                position,
                item.kind,
                item.path,
                item.intent,
                if packed.is_some() { "" } else { &part },
                packed,
                item.at
            ];
            let handle = Handle {
                kind: MemoryKind::Passage,
                id: tx.row(INSERT, values, |row| row.get("id"))?,
            };
            documents::put(tx, handle)?;
        }
    }
    for known in known.into_values() {
        tx.run(DELETE, [known.id])?;
    }
    Ok(())
}

/// The size of a passage: about 450 tokens, so that a few results fit into an agent's budget and the encoder, which reads
/// 256 tokens, sees most of each.
const MAX_PASSAGE_BYTES: usize = 1_800;

/// Splits an item into passages. Every part of a command's output begins with the command, so that it can be found and
/// understood by itself.
fn passages(item: &EvidenceItem) -> Vec<Cow<'_, str>> {
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

#[cfg(test)]
mod tests {
    use backstory_model::{EvidenceKind, Timestamp};

    use super::*;

    #[test]
    fn the_items_of_a_long_turn_are_held_packed_and_read_whole() {
        let item = |number: usize| EvidenceItem {
            kind: EvidenceKind::Command,
            text: format!("$ make {number}\n{}", "linking target\n".repeat(10_000)),
            intent: Some("Build it.".to_owned()),
            path: None,
            tool_use_id: None,
            at: Timestamp::EPOCH,
        };
        let mut items = EvidenceItems::default();
        (0..100).for_each(|number| items.push(item(number)));
        let packed = items.items.iter().filter_map(|held| held.packed.as_ref());
        let held = items.plain_bytes + packed.map(Vec::len).sum::<usize>();
        assert!(held < EvidenceItems::MAX_PLAIN + (1 << 20), "{held}");
        for (number, held) in items.iter().enumerate() {
            assert_eq!(*held, item(number));
        }
    }
}
