//! Queues turns that were distilled before, so that they are distilled again from their events and transcripts.
//!
//! One event per turn goes back into the queue; distilling reads all of them. A turn under reindexing has a negative
//! `distilled`: storing it asks no model and keeps the memories of models.

use backstory_model::{Event, SessionId, Timestamp, TurnId};
use rusqlite::params;

use crate::{Store, StoreError, memory::pack::pack, sql::Statements as _};

/// Selects the turns of a reindexing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReindexScope {
    /// Turns without a work log: an earlier version distilled them.
    Outdated,
    /// All turns.
    All,
}

/// A turn that could be distilled again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReindexTurn {
    /// The turn.
    pub id: TurnId,
    /// The session.
    pub session_db_id: SessionId,
    /// The agent's id of the session.
    pub session_id: String,
    /// True if retention dropped the payload of a tool call.
    pub has_dropped_calls: bool,
    /// The transcript that hooks reported.
    pub transcript_path: Option<String>,
}

/// Turns per transaction, so that other writers get their turn in between.
const BATCH_SIZE: usize = 200;

impl Store {
    /// Lists ended turns with events that could be distilled again.
    pub fn turns_to_reindex(&self, scope: ReindexScope) -> Result<Vec<ReindexTurn>, StoreError> {
        const TURNS: &str =
            "select turn.id as id, session_db_id, session.session_id as session_id, transcript_path,
                exists (select 1 from event where turn_id = turn.id and payload = '{}'
                    and kind in ('post-tool-use', 'post-tool-use-failure')) as has_dropped_calls
            from turn join session on session.id = session_db_id
            where turn.ended_at is not null and not forgotten and (?1 or log is null)
                and exists (select 1 from event where turn_id = turn.id)
            order by session_db_id, number";
        self.read("look for turns to distill again", |connection| {
            connection.rows(TURNS, [scope == ReindexScope::All], |row| {
                Ok(ReindexTurn {
                    id: row.get("id")?,
                    session_db_id: row.get("session_db_id")?,
                    session_id: row.get("session_id")?,
                    has_dropped_calls: row.get("has_dropped_calls")?,
                    transcript_path: row.get("transcript_path")?,
                })
            })
        })
    }

    /// Lists the transcripts that sessions were imported from: id of the session and path.
    pub fn imported_transcripts(&self) -> Result<Vec<(String, String)>, StoreError> {
        const IMPORTS: &str =
            "select session_id, path from import where path not like 'forgotten:%' order by path";
        self.read("list imported transcripts", |connection| {
            connection.rows(IMPORTS, [], |row| Ok((row.get("session_id")?, row.get("path")?)))
        })
    }

    /// Restores the payloads of imported events from their transcript: those that retention dropped and those of earlier
    /// versions, which lack what newer ones read. Nothing that was forgotten comes back. Returns the number of payloads.
    pub fn restore_payloads(&mut self, events: &[Event]) -> Result<usize, StoreError> {
        const RESTORE: &str =
            "update event set payload = ?2, packed = ?3 where key = ?1 and packed is null and payload <> ?4
            and exists (select 1 from turn where id = turn_id and not forgotten)";
        self.write("restore event payloads", |tx| {
            let mut restored = 0;
            for event in events {
                let packed = pack(&event.payload);
                let plain = if packed.is_some() { "" } else { &event.payload };
                restored += tx.run(RESTORE, params![event.key, plain, packed, event.payload])?;
            }
            Ok(restored)
        })
    }

    /// Puts turns back into the queue. Those that are in it already stay there.
    pub fn queue_turns(&mut self, turns: &[TurnId], now: Timestamp) -> Result<(), StoreError> {
        const MARK: &str = "update turn set distilled = -1 where id = ?1";
        const QUEUE: &str = "update event set state = 'pending', tries = 0, not_before = ?2
            where state = 'done' and id = (select id from event where turn_id = ?1 order by key desc limit 1)";
        for batch in turns.chunks(BATCH_SIZE) {
            self.write("queue turns again", |tx| {
                for turn in batch {
                    tx.run(MARK, [turn])?;
                    tx.run(QUEUE, params![turn, now])?;
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Counts the turns that still have to be distilled again.
    pub fn turns_in_reindex(&self) -> Result<u64, StoreError> {
        const LEFT: &str = "select count(*) from turn where distilled < 0";
        self.read("count the turns to distill again", |connection| {
            connection.row(LEFT, [], |row| row.get(0))
        })
    }
}
