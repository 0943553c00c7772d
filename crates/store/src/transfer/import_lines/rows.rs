//! Inserts imported lines as rows.

use backstory_model::{Distiller, EvidenceKind, Handle, MemoryKind, NoteAuthor, ObservationType, SessionId};
use rusqlite::params;

use super::{Batch, LineTarget, PreparedLine};
use crate::{
    MemoryRecord,
    memory::next_steps::open_steps_json,
    sql::{Statements as _, json_list},
};

impl Batch<'_> {
    pub(super) fn insert(&self, prepared: &PreparedLine, target: LineTarget) -> rusqlite::Result<Handle> {
        let line = &prepared.line;
        let packed = prepared.packed.as_deref();
        let (kind, id) = match (line.kind, target.session) {
            // Lines of other people's memories are refused when they are read.
            (MemoryKind::Observation | MemoryKind::Team, _) => {
                (MemoryKind::Observation, self.observation(line, target)?)
            }
            (MemoryKind::Summary, _) => (MemoryKind::Summary, self.summary(line, target)?),
            (MemoryKind::Note, _) => (MemoryKind::Note, self.note(line, target)?),
            (MemoryKind::Passage, _) => (MemoryKind::Passage, self.passage(line, packed, target)?),
            (MemoryKind::Prompt, Some(session)) => (MemoryKind::Prompt, self.turn(line, target, session)?),
            // A turn needs a session, so the text becomes a passage.
            (MemoryKind::Prompt, None) => (MemoryKind::Passage, self.passage(line, packed, target)?),
        };
        Ok(Handle { kind, id })
    }

    fn observation(&self, line: &MemoryRecord, target: LineTarget) -> rusqlite::Result<i64> {
        const INSERT: &str =
            "insert into observation (project_id, session_db_id, type, title, subtitle, narrative, facts,
                concepts, files_read, files_modified, distiller, pinned, external_id, created_at, last_seen_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?14) returning id";
        const FILE: &str =
            "insert or ignore into observation_file (observation_id, path, modified) values (?1, ?2, ?3)";
        let kind = line.type_name.as_deref().and_then(ObservationType::from_name);
        let values = params![
            target.project,
            target.session,
            kind.unwrap_or(ObservationType::Change),
            line.title.as_deref().unwrap_or_default(),
            line.subtitle,
            line.narrative,
            json_list(&line.facts),
            json_list(&line.concepts),
            json_list(&line.files_read),
            json_list(&line.files_modified),
            Distiller::Import,
            line.pinned,
            line.external_id,
            target.created_at
        ];
        let id: i64 = self.tx.row(INSERT, values, |row| row.get("id"))?;
        for (files, modified) in [(&line.files_modified, true), (&line.files_read, false)] {
            for path in files {
                self.tx.run(FILE, params![id, path, modified])?;
            }
        }
        Ok(id)
    }

    fn summary(&self, line: &MemoryRecord, target: LineTarget) -> rusqlite::Result<i64> {
        const INSERT: &str =
            "insert into summary (project_id, session_db_id, request, investigated, learned, completed,
                next_steps, open_steps, files_read, files_edited, notes, distiller, pinned, external_id, created_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) returning id";
        let values = params![
            target.project,
            target.session,
            line.request,
            line.investigated,
            line.learned,
            line.completed,
            line.next_steps,
            line.next_steps.as_deref().and_then(open_steps_json),
            json_list(&line.files_read),
            json_list(&line.files_edited),
            line.notes,
            Distiller::Import,
            line.pinned,
            line.external_id,
            target.created_at
        ];
        self.tx.row(INSERT, values, |row| row.get("id"))
    }

    fn note(&self, line: &MemoryRecord, target: LineTarget) -> rusqlite::Result<i64> {
        const INSERT: &str =
            "insert into note (project_id, session_db_id, type, text, files, pinned, external_id, author, created_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) returning id";
        let values = params![
            target.project,
            target.session,
            line.type_name,
            line.text.as_deref().unwrap_or_default(),
            json_list(&line.files_read),
            line.pinned,
            line.external_id,
            NoteAuthor::Import,
            target.created_at
        ];
        self.tx.row(INSERT, values, |row| row.get("id"))
    }

    fn passage(
        &self,
        line: &MemoryRecord,
        packed: Option<&[u8]>,
        target: LineTarget,
    ) -> rusqlite::Result<i64> {
        const INSERT: &str =
            "insert into passage (project_id, session_db_id, kind, text, packed, pinned, external_id, created_at)
            values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) returning id";
        let named = line.type_name.as_deref().and_then(EvidenceKind::from_name);
        let kind = match line.kind {
            MemoryKind::Prompt => EvidenceKind::Prompt,
            _ => named.unwrap_or(EvidenceKind::Prose),
        };
        let text = line.text.as_deref().unwrap_or_default();
        let values = params![
            target.project,
            target.session,
            kind,
            if packed.is_some() { "" } else { text },
            packed,
            line.pinned,
            line.external_id,
            target.created_at
        ];
        self.tx.row(INSERT, values, |row| row.get("id"))
    }

    fn turn(&self, line: &MemoryRecord, target: LineTarget, session: SessionId) -> rusqlite::Result<i64> {
        const INSERT: &str =
            "insert into turn (session_db_id, number, prompt, branch, started_at, ended_at, pinned, external_id)
            select ?1, coalesce(max(number), 0) + 1, ?2, ?3, ?4, ?4, ?5, ?6 from turn where session_db_id = ?1
            returning id";
        let values = params![
            session,
            line.text,
            line.branch,
            target.created_at,
            line.pinned,
            line.external_id
        ];
        self.tx.row(INSERT, values, |row| row.get("id"))
    }
}
