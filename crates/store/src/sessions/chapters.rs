//! The episodes of a session with the turn in which each starts, the agent's last words, and the size of a turn's evidence.

use backstory_model::{SessionId, TurnId};
use rusqlite::params;

use crate::{Store, StoreError, memory::pack::unpack, sql::Statements as _};

/// Holds an episode: a contiguous piece of work inside a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chapter {
    /// The number in the session.
    pub number: u32,
    /// The title.
    pub title: String,
    /// The number of the turn in which it starts; absent if nothing is stored of it.
    pub turn: Option<i64>,
}

impl Store {
    /// Lists the episodes of a session in order.
    pub fn chapters(&self, session: SessionId) -> Result<Vec<Chapter>, StoreError> {
        const CHAPTERS: &str = "select number, title, coalesce(
                (select min(turn.number) from passage indexed by passage_by_episode
                    cross join turn on turn.id = passage.turn_id where passage.episode_id = episode.id),
                (select min(turn.number) from observation indexed by observation_by_session
                    cross join turn on turn.id = observation.turn_id
                    where observation.session_db_id = ?1 and observation.episode_id = episode.id)) as turn
            from episode where session_db_id = ?1 order by number";
        self.read("list the episodes of a session", |connection| {
            connection.rows(CHAPTERS, [session], |row| {
                Ok(Chapter {
                    number: row.get("number")?,
                    title: row.get("title")?,
                    turn: row.get("turn")?,
                })
            })
        })
    }

    /// Estimates the tokens of the evidence of a turn.
    pub fn evidence_tokens(&self, turn: TurnId) -> Result<u64, StoreError> {
        const TEXTS: &str = "select text, packed from passage indexed by passage_by_turn where turn_id = ?1";
        self.read("measure the evidence of a turn", |connection| {
            let sizes = connection.rows(TEXTS, [turn], |row| {
                Ok(backstory_text::tokens(&unpack(row.get("text")?, row.get("packed")?)) as u64)
            })?;
            Ok(sizes.iter().sum())
        })
    }

    /// Returns the agent's last report of a session, with the number of its turn.
    pub fn last_words(&self, session: SessionId) -> Result<Option<(i64, String)>, StoreError> {
        // From the end, so that a few rows of a long session are read.
        const LAST: &str =
            "select turn_id, position, number from passage indexed by passage_by_session
                cross join turn on turn.id = passage.turn_id
            where passage.session_db_id = ?1 and kind = 'report' order by created_at desc, passage.id desc limit 1";
        const PARTS: &str = "select text, packed from passage indexed by passage_by_turn
            where turn_id = ?1 and position = ?2 order by id";
        self.read("read the last words of a session", |connection| {
            let last = connection.optional_row(LAST, [session], |row| {
                let turn: TurnId = row.get("turn_id")?;
                let position: i64 = row.get("position")?;
                Ok((turn, position, row.get("number")?))
            })?;
            let Some((turn, position, number)) = last else {
                return Ok(None);
            };
            let parts = connection.rows(PARTS, params![turn, position], |row| {
                Ok(unpack(row.get("text")?, row.get("packed")?))
            })?;
            Ok(Some((number, parts.concat())))
        })
    }
}
