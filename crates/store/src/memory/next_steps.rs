//! Splits the text of a summary's `next_steps` into entries.
//!
//! Distillation says which entries are work to do (`NewSummary::open_steps`). Only texts that come without that list are
//! parsed here: rows of older schemas, imported lines, and edits by the user.

use rusqlite::{Connection, params};

use crate::sql::Statements as _;

/// Openings of entries that older versions wrote into `next_steps` and that are no work to do.
const NOT_STEPS: [&str; 4] = [
    "Offered: ",
    "Asked: ",
    "Interrupted before ",
    "Something that was started ",
];

/// Returns the entries of a text, one per line or sentence.
pub(crate) fn entries(text: &str) -> impl Iterator<Item = &str> {
    let sentences = text.lines().flat_map(|line| line.split_inclusive(". "));
    sentences
        .map(|entry| entry.trim().trim_start_matches(['-', '*', '•']).trim_start())
        .filter(|entry| !entry.is_empty())
}

/// Returns the entries that are work to do, as JSON; `None` when every entry is.
pub(crate) fn open_steps_json(text: &str) -> Option<String> {
    let is_step = |entry: &&str| !NOT_STEPS.iter().any(|opening| entry.starts_with(opening));
    let open: Vec<&str> = entries(text).filter(is_step).collect();
    (open.len() < entries(text).count()).then(|| serde_json::to_string(&open).unwrap_or_default())
}

/// Fills in `open_steps` of summaries that were stored before the column existed.
pub(crate) fn fill_in_open_steps(connection: &Connection) -> rusqlite::Result<()> {
    const TEXTS: &str = "select id, next_steps from summary where next_steps is not null";
    const UPDATE: &str = "update summary set open_steps = ?2 where id = ?1";
    let texts = connection.rows(TEXTS, [], |row| Ok((row.get("id")?, row.get("next_steps")?)))?;
    for (id, text) in texts {
        let (id, text): (i64, String) = (id, text);
        if let Some(open) = open_steps_json(&text) {
            connection.run(UPDATE, params![id, open])?;
        }
    }
    Ok(())
}
