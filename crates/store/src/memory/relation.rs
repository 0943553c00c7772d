//! How a new memory relates to what is known: the same again, or the newer word on the same subject.
//!
//! Judged by what titles say. A title is a short statement of what is true, so two that share nearly all their words say
//! the same, unless they differ in a number, a name in code or a "not": then the newer one holds.

use std::collections::BTreeSet;

use backstory_model::{NewObservation, ObservationId, ProjectId, SessionId, Timestamp};
use backstory_text::WordSet;
use rusqlite::{Connection, params};

use crate::{memory::documents::range, search::words};

/// What is known about the subject of a new memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Related {
    /// The memory that says the same.
    pub(crate) same: Option<ObservationId>,
    /// Memories that hold no longer.
    pub(crate) outdated: Vec<Known>,
}

/// A memory that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) id: ObservationId,
    pub(crate) created_at: Timestamp,
}

/// The place of a new memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelationScope<'m> {
    /// Its project: only memories of the same project are related.
    pub(crate) project_db_id: ProjectId,
    /// Its session: memories of the same session are kept apart by the distiller.
    pub(crate) session_db_id: SessionId,
    /// The error that it resolves.
    pub(crate) error_signature: Option<&'m str>,
}

/// Finds the memories of other sessions that a new memory repeats or replaces.
pub(crate) fn related(
    connection: &Connection,
    origin: RelationScope<'_>,
    new: &NewObservation,
) -> rusqlite::Result<Related> {
    let mut related = same_error(connection, origin, new)?;
    if related.same.is_none() {
        let by_title = similar_titles(connection, origin, new)?;
        related.same = by_title.same;
        related.outdated.extend(by_title.outdated);
    }
    Ok(related)
}

/// Finds memories about the same error: the same remedy again, or the newer one.
fn same_error(
    connection: &Connection,
    origin: RelationScope<'_>,
    new: &NewObservation,
) -> rusqlite::Result<Related> {
    /// Half of the words of two titles about one error: the same remedy.
    const SAME_REMEDY: f64 = 0.5;
    const KNOWN: &str = "select id, title, created_at from observation
        where project_id = ?1 and error_signature = ?2 and session_db_id is not ?3 and superseded_by is null";
    let mut related = Related::default();
    let Some(signature) = origin.error_signature else {
        return Ok(related);
    };
    let mut statement = connection.prepare_cached(KNOWN)?;
    let mut rows = statement.query(params![origin.project_db_id, signature, origin.session_db_id])?;
    while let Some(row) = rows.next()? {
        let known = Known {
            id: row.get("id")?,
            created_at: row.get("created_at")?,
        };
        let title = row.get_ref("title")?.as_str()?;
        if backstory_text::similarity(title, &new.title) >= SAME_REMEDY {
            related.same = Some(known.id);
            break;
        }
        related.outdated.push(known);
    }
    Ok(related)
}

fn similar_titles(
    connection: &Connection,
    origin: RelationScope<'_>,
    new: &NewObservation,
) -> rusqlite::Result<Related> {
    // Few words in common are no relation: only titles count, and only the best of them are compared.
    const SIMILAR: &str = "select observation.id, observation.title, observation.created_at,
            observation.files_read, observation.files_modified
        from words join document on document.id = words.rowid join observation on observation.id = document.memory_id
        where words match ?1 and words.rowid between ?2 and ?3 and document.kind = 'observation'
            and observation.superseded_by is null and observation.session_db_id is not ?4
        order by bm25(words, 1.0, 0.0, 0.0, 0.0, 0.0) limit 8";
    let terms: Vec<String> = words::terms(&new.title)
        .into_iter()
        .filter(|term| term.word.len() > 2)
        .take(12)
        .map(|term| format!("\"{}\"", term.word))
        .collect();
    if terms.is_empty() {
        return Ok(Related::default());
    }
    let range = range(origin.project_db_id);
    let mut statement = connection.prepare_cached(SIMILAR)?;
    let mut rows = statement.query(params![
        format!("title : ({})", terms.join(" OR ")),
        range.start(),
        range.end(),
        origin.session_db_id
    ])?;
    let mut related = Related::default();
    while let Some(row) = rows.next()? {
        let known = Known {
            id: row.get(0)?,
            created_at: row.get(2)?,
        };
        let mut files: Vec<String> = Vec::new();
        for column in [3, 4] {
            files.extend(
                serde_json::from_str::<Vec<String>>(row.get_ref(column)?.as_str()?).unwrap_or_default(),
            );
        }
        let names_ours = new.files_modified.iter().all(|path| files.contains(path));
        let mut ours = new.files_modified.iter().chain(&new.files_read).peekable();
        let files = if files.is_empty() || ours.peek().is_none() {
            Files::None
        } else if ours.any(|path| files.contains(path)) {
            Files::Shared
        } else {
            Files::Others
        };
        match relation(row.get_ref(1)?.as_str()?, &new.title, files) {
            // Nothing that is known now gets lost: which files were changed is.
            Relation::Same if names_ours => {
                related.same = Some(known.id);
                return Ok(related);
            }
            Relation::Newer | Relation::Same => related.outdated.push(known),
            Relation::Other => {}
        }
    }
    Ok(related)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Same,
    Newer,
    Other,
}

/// What two memories have to do with each other's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    Shared,
    Others,
    None,
}

fn relation(old: &str, new: &str, files: Files) -> Relation {
    /// Nearly all words: the same statement.
    const SAME: f64 = 0.8;
    /// Half of the words, and the same file: the same subject.
    const SUBJECT: f64 = 0.5;
    let (old, new) = (Title::read(old), Title::read(new));
    let likeness = old.words.similarity(&new.words);
    let differs = old.particulars != new.particulars;
    match files {
        Files::Others => Relation::Other,
        _ if likeness >= SAME && !differs => Relation::Same,
        Files::Shared if likeness >= SUBJECT => Relation::Newer,
        Files::None if likeness >= SAME => Relation::Newer,
        Files::Shared | Files::None => Relation::Other,
    }
}

/// A title, as far as it is compared.
struct Title {
    words: WordSet,
    /// What makes two statements differ although their words are alike: numbers, code, "not".
    particulars: BTreeSet<String>,
}

impl Title {
    fn read(title: &str) -> Self {
        let lower = title.to_lowercase();
        let mut particulars: BTreeSet<String> = title
            .split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_lowercase)
            .collect();
        for word in
            lower.split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '.' | '\'' | '’'))
        {
            let is_number = word.bytes().any(|byte| byte.is_ascii_digit());
            let denies = matches!(word, "not" | "no" | "never" | "without" | "off" | "disabled")
                || word.ends_with("n't")
                || word.ends_with("n’t");
            let counts = matches!(
                word,
                "once" | "twice" | "one" | "two" | "three" | "four" | "five" | "ten"
            );
            if is_number || denies || counts {
                particulars.insert(word.trim_matches('.').to_owned());
            }
        }
        Self {
            words: WordSet::of(title),
            particulars,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_statement_is_one_memory() {
        let cases = [
            (
                "Token refresh retries once on 401",
                "Token refresh retried once on 401",
            ),
            ("`parse` accepts empty input", "`parse` accepts an empty input"),
        ];
        for (old, new) in cases {
            assert_eq!(relation(old, new, Files::Shared), Relation::Same, "{new}");
            assert_eq!(relation(old, new, Files::None), Relation::Same, "{new}");
            assert_eq!(relation(old, new, Files::Others), Relation::Other, "{new}");
        }
    }

    #[test]
    fn another_number_or_a_denial_is_the_newer_word() {
        let cases = [
            (
                "Token refresh retries once on 401",
                "Token refresh retries three times on 401",
            ),
            ("The cache is used for reads", "The cache is not used for reads"),
            ("Uploads are limited to 5 MB", "Uploads are limited to 50 MB"),
            (
                "`retry` waits 100 ms",
                "`retry` waits 100 ms and doubles each time",
            ),
        ];
        for (old, new) in cases {
            assert_eq!(relation(old, new, Files::Shared), Relation::Newer, "{new}");
        }
    }

    #[test]
    fn other_subjects_are_left_alone() {
        let cases = [
            (
                "Token refresh retries once on 401",
                "Login page shows the error text",
            ),
            (
                "`parse` accepts empty input",
                "`print` writes empty lines at the end",
            ),
            (
                "Tests for the parser pass",
                "Tests for the printer and the lexer pass now",
            ),
        ];
        for (old, new) in cases {
            assert_eq!(relation(old, new, Files::Shared), Relation::Other, "{new}");
        }
        let (old, new) = (
            "Uploads are limited to 5 MB",
            "Uploads are limited to 50 MB by size",
        );
        assert_eq!(relation(old, new, Files::None), Relation::Other);
    }
}
