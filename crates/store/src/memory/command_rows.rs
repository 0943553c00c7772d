//! Results of commands and rules about them: written with the memory of a session, looked up before a command.

use std::collections::HashMap;

use backstory_model::{
    CommandKey, CommandLesson, Handle, MemoryKind, NoteAuthor, SessionMemory, Timestamp, TurnId,
};
use rusqlite::{Transaction, params};

use crate::{Project, SessionRef, Store, StoreError, sql::Statements as _};

/// A lesson about a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownFailure {
    /// The failed command and the one that worked.
    pub lesson: CommandLesson,
    /// The time of the failure.
    pub at: Timestamp,
}

/// A rule of the user about a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRule {
    /// A word that the command must contain.
    pub target: Option<String>,
    /// The user's words.
    pub words: String,
    /// The time.
    pub at: Timestamp,
}

/// Replaces the command results and rules of a session. A turn without a row, or of which something was forgotten, is not
/// in `turns` and contributes nothing.
pub(super) fn put(
    tx: &Transaction<'_>,
    session: SessionRef,
    memory: &SessionMemory,
    turns: &HashMap<u32, TurnId>,
) -> rusqlite::Result<()> {
    const CLEAR_RESULTS: &str = "delete from command_result where session_db_id = ?1";
    const CLEAR_RULES: &str = "delete from command_rule where session_db_id = ?1";
    const RESULT: &str =
        "insert into command_result (session_db_id, key, project_id, turn_id, at, failed, error, remedy)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
    const RULE: &str = "insert into command_rule (session_db_id, key, target, project_id, turn_id, at, words)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    tx.run(CLEAR_RESULTS, [session.session_db_id])?;
    tx.run(CLEAR_RULES, [session.session_db_id])?;
    for result in &memory.commands {
        let Some(turn) = turns.get(&result.turn) else {
            continue;
        };
        let lesson = result.lesson.as_ref();
        let values = params![
            session.session_db_id,
            result.key,
            session.project_db_id,
            turn,
            result.at,
            lesson.map(|lesson| &lesson.failed),
            lesson.and_then(|lesson| lesson.error.as_ref()),
            lesson.map(|lesson| &lesson.remedy),
        ];
        tx.run(RESULT, values)?;
    }
    for rule in &memory.rules {
        let Some(turn) = turns.get(&rule.turn) else {
            continue;
        };
        let values = params![
            session.session_db_id,
            rule.key,
            rule.target.as_deref().unwrap_or_default(),
            session.project_db_id,
            turn,
            rule.at,
            rule.words,
        ];
        tx.run(RULE, values)?;
    }
    Ok(())
}

impl Store {
    /// Returns the lesson about an invocation, unless it has passed since.
    pub fn known_failure(
        &self,
        project: &Project,
        key: CommandKey,
    ) -> Result<Option<KnownFailure>, StoreError> {
        const LAST: &str =
            "select at, failed, error, remedy from command_result indexed by command_result_by_key
            where project_id = ?1 and key = ?2 order by at desc limit 1";
        self.read("look up a command", |connection| {
            let found = connection.optional_row(LAST, params![project.db_id, key], |row| {
                let Some(remedy) = row.get("remedy")? else {
                    return Ok(None);
                };
                Ok(Some(KnownFailure {
                    at: row.get("at")?,
                    lesson: CommandLesson {
                        failed: row.get("failed")?,
                        error: row.get("error")?,
                        remedy,
                    },
                }))
            })?;
            Ok(found.flatten())
        })
    }

    /// Returns the rules of the user about an invocation, the latest first. A rule whose memory was superseded is not one any more.
    pub fn command_rules(&self, project: &Project, key: CommandKey) -> Result<Vec<KnownRule>, StoreError> {
        const RULES: &str = "select target, words, at from command_rule indexed by command_rule_by_key
            where project_id = ?1 and key = ?2 and not exists (
                select 1 from observation where observation.turn_id = command_rule.turn_id
                    and type = 'decision' and superseded_by is not null)
            order by at desc limit 4";
        self.read("look up rules about a command", |connection| {
            connection.rows(RULES, params![project.db_id, key], |row| {
                let target: String = row.get("target")?;
                Ok(KnownRule {
                    target: Some(target).filter(|target| !target.is_empty()),
                    words: row.get("words")?,
                    at: row.get("at")?,
                })
            })
        })
    }

    /// Returns the pinned notes that the user wrote, for a project and for all projects.
    pub fn notes_pinned_by_user(&self, project: &Project) -> Result<Vec<(Handle, String)>, StoreError> {
        const NOTES: &str = "select id, text from note indexed by note_pinned
            where pinned = 1 and author = ?2 and project_id is ?1 order by id desc limit 50";
        self.read("read pinned notes", |connection| {
            let mut notes = Vec::new();
            for scope in [Some(project.db_id), None] {
                notes.extend(connection.rows(NOTES, params![scope, NoteAuthor::User], |row| {
                    let handle = Handle {
                        kind: MemoryKind::Note,
                        id: row.get("id")?,
                    };
                    Ok((handle, row.get("text")?))
                })?);
            }
            Ok(notes)
        })
    }
}
