//! Relates a new memory to the stored ones: a near-duplicate, or a newer statement on the same subject.
//!
//! Titles decide. A title is a short statement, so two titles with nearly the same words mean the same, unless they differ in
//! a number, a name in code or a negation: then the newer one supersedes the older one.

use std::collections::BTreeSet;

use backstory_model::{NewObservation, ObservationId, ProjectId, SessionId, Timestamp, TurnId};
use backstory_text::WordSet;
use rusqlite::{Connection, Row, params};

use crate::{memory::documents::range, sql::ListColumns as _, words};

/// Holds the stored memories on the subject of a new one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Related {
    /// The near-duplicate.
    pub(crate) same: Option<ObservationId>,
    /// Memories that the new one supersedes.
    pub(crate) outdated: Vec<Known>,
}

/// Holds a stored memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) id: ObservationId,
    pub(crate) created_at: Timestamp,
}

/// Holds the origin of a new memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RelationScope<'m> {
    /// Its project: only memories of the same project are related.
    pub(crate) project_db_id: ProjectId,
    /// The session whose memories are not compared, because the distiller of the whole session keeps them apart.
    pub(crate) except_session: Option<SessionId>,
    /// The turn whose memories are never superseded: the new one is made of the same turn.
    pub(crate) turn: Option<TurnId>,
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

/// Finds memories about the same error: the same remedy, or an older one.
fn same_error(
    connection: &Connection,
    origin: RelationScope<'_>,
    new: &NewObservation,
) -> rusqlite::Result<Related> {
    /// The share of common words from which two titles about one error describe the same remedy.
    const SAME_REMEDY: f64 = 0.5;
    const KNOWN: &str = "select id, title, created_at, files_read, files_modified from observation
        where project_id = ?1 and error_signature = ?2 and (?3 is null or session_db_id is not ?3) and superseded_by is null";
    let mut related = Related::default();
    let Some(signature) = origin.error_signature else {
        return Ok(related);
    };
    let mut statement = connection.prepare_cached(KNOWN)?;
    let mut rows = statement.query(params![origin.project_db_id, signature, origin.except_session])?;
    while let Some(row) = rows.next()? {
        let known = Known {
            id: row.get("id")?,
            created_at: row.get("created_at")?,
        };
        if Files::of(row, new)? == Files::Others {
            continue;
        }
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
    // Only the best matches are compared: a few common words do not make a relation.
    const SIMILAR: &str = "select observation.id as id, observation.title as title, observation.created_at as created_at,
            observation.turn_id as turn_id,
            observation.files_read as files_read, observation.files_modified as files_modified
        from words join document on document.id = words.rowid join observation on observation.id = document.memory_id
        where words match ?1 and words.rowid between ?2 and ?3 and document.kind = 'observation'
            and observation.superseded_by is null and (?4 is null or observation.session_db_id is not ?4)
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
        origin.except_session
    ])?;
    let mut related = Related::default();
    while let Some(row) = rows.next()? {
        let known = Known {
            id: row.get("id")?,
            created_at: row.get("created_at")?,
        };
        let is_of_this_turn =
            origin.turn.is_some() && row.get::<_, Option<TurnId>>("turn_id")? == origin.turn;
        let files = cited_files(row)?;
        let names_ours = new.files_modified.iter().all(|path| files.contains(path));
        match relation(row.get_ref("title")?.as_str()?, &new.title, Files::of(row, new)?) {
            // A near-duplicate is dropped only if the stored memory cites every file that the new one changed.
            Relation::Same if names_ours => {
                related.same = Some(known.id);
                return Ok(related);
            }
            Relation::Newer | Relation::Same if !is_of_this_turn => related.outdated.push(known),
            Relation::Newer | Relation::Same | Relation::Other => {}
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

/// Compares the files of two memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Files {
    Shared,
    Others,
    None,
}

impl Files {
    /// Compares the files that a stored memory cites with those of a new one.
    fn of(row: &Row<'_>, new: &NewObservation) -> rusqlite::Result<Self> {
        let stored = cited_files(row)?;
        let mut ours = new.files_modified.iter().chain(&new.files_read).peekable();
        Ok(if stored.is_empty() || ours.peek().is_none() {
            Self::None
        } else if ours.any(|path| stored.contains(path)) {
            Self::Shared
        } else {
            Self::Others
        })
    }
}

fn cited_files(row: &Row<'_>) -> rusqlite::Result<Vec<String>> {
    let mut files = row.list("files_read")?;
    files.extend(row.list("files_modified")?);
    Ok(files)
}

fn relation(old: &str, new: &str, files: Files) -> Relation {
    /// The share of common words from which two titles are the same statement.
    const SAME: f64 = 0.8;
    /// The share of common words from which two titles about the same file have the same subject.
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

/// Holds the compared parts of a title.
struct Title {
    words: WordSet,
    /// Numbers, code and negations: they tell two similar statements apart.
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
    fn the_same_statement_is_a_duplicate() {
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
    fn another_number_or_a_negation_supersedes() {
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
    fn other_subjects_are_unrelated() {
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
