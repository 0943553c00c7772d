//! What a person pinned or corrected outlives a new distilling of its turn, and is not told a second time.

use backstory_model::{NewObservation, ObservationType, SessionId, TurnId};
use rusqlite::{Connection, params};

use crate::{memory::pack::pack, transfer::export::list};

/// An observation that stays whatever is found out later.
struct UserEdit {
    kind: ObservationType,
    title: String,
    evidence: Vec<String>,
}

/// Returns those of the new observations that no survivor of the turn stands for.
///
/// Each survivor stands for one at most: the one that rests on the same tool uses (and more, when the turn went on). Its
/// words are no help, since a person may have changed them; where several fit, title and type decide.
pub(crate) fn not_covered_by_user_edits<'n>(
    connection: &Connection,
    turn: TurnId,
    new: &'n [NewObservation],
) -> rusqlite::Result<Vec<&'n NewObservation>> {
    const SURVIVORS: &str = "select type, title, evidence from observation
        where turn_id = ?1 and (pinned <> 0 or edited_at is not null) order by id";
    let mut statement = connection.prepare_cached(SURVIVORS)?;
    let rows = statement.query_map([turn], |row| {
        Ok(UserEdit {
            kind: row.get(0)?,
            title: row.get(1)?,
            evidence: list(row, 2)?,
        })
    })?;
    let mut untold: Vec<&NewObservation> = new.iter().collect();
    for survivor in rows {
        let survivor = survivor?;
        let best = untold
            .iter()
            .enumerate()
            .filter_map(|(at, one)| Some((survivor.likeness(one)?, std::cmp::Reverse(at))))
            .max();
        if let Some((_, std::cmp::Reverse(at))) = best {
            untold.remove(at);
        }
    }
    Ok(untold)
}

/// Observations of a session that a user pinned or edited and that have no key to be recognized by: those of earlier
/// versions and of models.
pub(crate) struct SessionEdits(Vec<(TurnId, UserEdit)>);

impl SessionEdits {
    /// Reads those of a session.
    pub(crate) fn read(connection: &Connection, session: SessionId) -> rusqlite::Result<Self> {
        const EDITS: &str = "select turn_id, type, title, evidence from observation
            where session_db_id = ?1 and turn_id is not null and item_key is null
                and (pinned <> 0 or edited_at is not null) order by id";
        let mut statement = connection.prepare_cached(EDITS)?;
        let rows = statement.query_map([session], |row| {
            let edit = UserEdit {
                kind: row.get("type")?,
                title: row.get("title")?,
                evidence: list(row, 3)?,
            };
            Ok((row.get("turn_id")?, edit))
        })?;
        rows.collect::<Result<_, _>>().map(Self)
    }

    /// Tells whether one of them stands for a new observation of a turn. Each stands for one at most.
    pub(crate) fn cover(&mut self, turn: TurnId, new: &NewObservation) -> bool {
        let known = self
            .0
            .iter()
            .position(|(edited, edit)| *edited == turn && edit.likeness(new).is_some());
        known.map(|at| self.0.remove(at)).is_some()
    }
}

impl UserEdit {
    fn likeness(&self, new: &NewObservation) -> Option<u8> {
        let same_title = self.title.eq_ignore_ascii_case(&new.title);
        let same_type = self.kind == new.kind;
        let rests_on_same = if self.evidence.is_empty() {
            new.evidence.is_empty() && (same_title || same_type)
        } else {
            self.evidence.iter().all(|id| new.evidence.contains(id))
        };
        let same_evidence = self.evidence == new.evidence;
        rests_on_same.then(|| u8::from(same_title) * 4 + u8::from(same_type) * 2 + u8::from(same_evidence))
    }
}

/// Says whether the turn has a summary that stays.
pub(crate) fn has_summary(connection: &Connection, turn: TurnId) -> rusqlite::Result<bool> {
    const SUMMARY: &str =
        "select 1 from summary where turn_id = ?1 and (pinned <> 0 or edited_at is not null)";
    connection.prepare_cached(SUMMARY)?.exists([turn])
}

/// Says whether the turn has a pinned passage with these words.
pub(crate) fn has_passage(connection: &Connection, turn: TurnId, text: &str) -> rusqlite::Result<bool> {
    // Packing the same text gives the same bytes.
    const PASSAGE: &str =
        "select 1 from passage where turn_id = ?1 and pinned <> 0 and text = ?2 and packed is ?3";
    let packed = pack(text);
    let plain = if packed.is_some() { "" } else { text };
    connection
        .prepare_cached(PASSAGE)?
        .exists(params![turn, plain, packed])
}
