//! Rows of evidence items, split into passages.

use std::{borrow::Cow, collections::HashMap};

use backstory_model::{EpisodeId, EvidenceItem, Handle, MemoryKind, ProjectId, SessionId, TurnId};
use rusqlite::{Transaction, params};

use crate::{
    memory::{documents, pack::pack},
    sql::Statements as _,
};

/// Identifies the turn whose evidence is stored.
pub(crate) struct EvidencePlace {
    pub(crate) project_db_id: ProjectId,
    pub(crate) session_db_id: SessionId,
    pub(crate) turn_id: TurnId,
}

/// Stores the items of a turn in place of those that were there. A passage that is there already keeps its number.
pub(crate) fn put_evidence(
    tx: &Transaction<'_>,
    place: &EvidencePlace,
    items: &[EvidenceItem],
    episode_of: impl Fn(u32) -> Option<EpisodeId>,
) -> rusqlite::Result<()> {
    const KNOWN: &str = "select id, item_key from passage where turn_id = ?1 and item_key is not null";
    const LEGACY: &str =
        "delete from passage where turn_id = ?1 and item_key is null and external_id is null and pinned = 0";
    const MOVE: &str = "update passage set position = ?2, episode_id = ?3 where id = ?1";
    const DELETE: &str = "delete from passage where id = ?1 and pinned = 0";
    const INSERT: &str =
        "insert into passage (project_id, session_db_id, turn_id, episode_id, item_key, position,
            kind, path, intent, text, packed, created_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) returning id";
    tx.run(LEGACY, [place.turn_id])?;
    let known = tx.rows(KNOWN, [place.turn_id], |row| {
        Ok((row.get("item_key")?, row.get("id")?))
    })?;
    let mut known: HashMap<String, i64> = known.into_iter().collect();
    let mut counts: HashMap<u64, u32> = HashMap::new();
    for (position, item) in (0_u32..).zip(items) {
        let episode = episode_of(position);
        for part in passages(item) {
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
            if let Some(id) = known.remove(&key) {
                tx.run(MOVE, params![id, position, episode])?;
                continue;
            }
            let packed = pack(&part);
            let values = params![
                place.project_db_id,
                place.session_db_id,
                place.turn_id,
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
            let handle = Handle {
                kind: MemoryKind::Passage,
                id: tx.row(INSERT, values, |row| row.get("id"))?,
            };
            documents::put(tx, handle)?;
        }
    }
    for id in known.into_values() {
        tx.run(DELETE, [id])?;
    }
    Ok(())
}

/// The size of a passage: about 300 tokens, so that a few results fit into an agent's budget and the encoder, which reads
/// 256 tokens, sees nearly all of each.
const MAX_PASSAGE_BYTES: usize = 1_200;

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
