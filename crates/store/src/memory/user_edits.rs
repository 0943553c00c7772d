//! Memories that the user pinned or edited stay when their turn is distilled again, and are not duplicated.

use std::cmp::Reverse;

use backstory_model::{NewObservation, ObservationType, SessionId, TurnId};
use rusqlite::{Connection, Row};

use crate::sql::{ListColumns as _, Statements as _};

/// Holds an observation that the user pinned or edited.
struct UserEdit {
    kind: ObservationType,
    title: String,
    evidence: Vec<String>,
}

/// Returns the new observations of a turn that no edited observation represents.
///
/// An edited observation represents at most one new one: the one with the same evidence, or with more if the turn continued.
/// Its text does not decide, because the user may have changed it; among several candidates, title and type do.
pub(crate) fn not_covered_by_user_edits<'n>(
    connection: &Connection,
    turn: TurnId,
    new: &'n [NewObservation],
) -> rusqlite::Result<Vec<&'n NewObservation>> {
    const EDITS: &str = "select type, title, evidence from observation
        where turn_id = ?1 and (pinned <> 0 or edited_at is not null) order by id";
    let edits = connection.rows(EDITS, [turn], UserEdit::read)?;
    let mut uncovered: Vec<&NewObservation> = new.iter().collect();
    for edit in edits {
        let best = uncovered
            .iter()
            .enumerate()
            .filter_map(|(at, one)| Some((edit.likeness(one)?, Reverse(at))))
            .max();
        if let Some((_, Reverse(at))) = best {
            uncovered.remove(at);
        }
    }
    Ok(uncovered)
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
        let edits = connection.rows(EDITS, [session], |row| {
            Ok((row.get("turn_id")?, UserEdit::read(row)?))
        });
        edits.map(Self)
    }

    /// Returns true if one of them represents a new observation of a turn. Each represents at most one.
    pub(crate) fn cover(&mut self, turn: TurnId, new: &NewObservation) -> bool {
        let known = self
            .0
            .iter()
            .position(|(edited, edit)| *edited == turn && edit.likeness(new).is_some());
        known.map(|at| self.0.remove(at)).is_some()
    }
}

impl UserEdit {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            kind: row.get("type")?,
            title: row.get("title")?,
            evidence: row.list("evidence")?,
        })
    }

    /// Returns the strength of the match; `None` if the evidence differs.
    fn likeness(&self, new: &NewObservation) -> Option<u8> {
        let same_title = self.title.eq_ignore_ascii_case(&new.title);
        let same_type = self.kind == new.kind;
        let has_same_evidence = if self.evidence.is_empty() {
            new.evidence.is_empty() && (same_title || same_type)
        } else {
            self.evidence.iter().all(|id| new.evidence.contains(id))
        };
        let is_identical = self.evidence == new.evidence;
        has_same_evidence.then(|| u8::from(same_title) * 4 + u8::from(same_type) * 2 + u8::from(is_identical))
    }
}

/// Returns true if the user pinned or edited the summary of a turn.
pub(crate) fn has_summary(connection: &Connection, turn: TurnId) -> rusqlite::Result<bool> {
    const SUMMARY: &str =
        "select 1 from summary where turn_id = ?1 and (pinned <> 0 or edited_at is not null)";
    connection.has_row(SUMMARY, [turn])
}
