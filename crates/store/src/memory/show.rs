//! Everything about one memory: what it says, where it comes from, what it rests on.

use backstory_model::{
    Distiller, EvidenceKind, Handle, MemoryKind, NoteAuthor, ObservationId, Timestamp, TurnId,
};
use rusqlite::{OptionalExtension, Row};
use serde::Serialize;

use crate::{
    MemoryRecord, Store, StoreError, memory::pack::unpack, schema::open::query, transfer::export::list,
};

/// A memory with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryDetail {
    /// What names it.
    pub handle: Handle,
    /// What it says.
    pub line: MemoryRecord,
    /// Where it comes from.
    pub provenance: Provenance,
    /// What was said and done in the same turn, in its order: at most fifty passages.
    pub passages: Vec<EvidencePassage>,
}

/// Where a memory comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// What people call the project.
    pub project_name: Option<String>,
    /// The agent program.
    pub host: Option<String>,
    /// The branch at that time.
    pub branch: Option<String>,
    /// The turn's number in its session.
    pub turn: Option<i64>,
    /// The handle of the turn's prompt.
    pub prompt_id: Option<Handle>,
    /// What was asked in the turn.
    pub prompt: Option<String>,
    /// Who made it of the turn.
    pub distiller: Option<Distiller>,
    /// Who saved it: person, agent or import.
    pub author: Option<NoteAuthor>,
    /// The tool uses that it rests on.
    pub tools: Vec<EvidenceToolUse>,
    /// How often it was seen.
    pub seen: Option<i64>,
    /// The memory that took its place.
    pub superseded_by: Option<Handle>,
    /// The memories whose place it took.
    pub supersedes: Vec<Handle>,
    /// When it was last seen, in milliseconds since 1970.
    #[serde(skip)]
    pub last_seen_at: Option<Timestamp>,
    /// When a person corrected it, in milliseconds since 1970.
    #[serde(skip)]
    pub edited_at: Option<Timestamp>,
}

/// A tool use that a memory rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvidenceToolUse {
    /// The agent's id of it.
    pub tool_use_id: String,
    /// The tool, if the event is still there.
    pub tool: Option<String>,
}

/// A passage, as far as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvidencePassage {
    /// What names it.
    pub id: Handle,
    /// What it is.
    #[serde(rename = "type")]
    pub kind: EvidenceKind,
    /// Its first line.
    pub first_line: String,
}

impl Store {
    /// Reads everything about a memory; `None` when there is no such memory.
    pub fn show(&self, handle: Handle) -> Result<Option<MemoryDetail>, StoreError> {
        let Some(line) = self.line(handle)? else {
            return Ok(None);
        };
        let origin = self
            .origin(handle)
            .map_err(query("read where a memory comes from"))?;
        let (turn_id, mut provenance) = origin.unwrap_or_default();
        let attempt = query("read what a memory rests on");
        if let Some(id) = handle.observation() {
            provenance.supersedes = self.supersedes(id).map_err(attempt)?;
        }
        let mut passages = Vec::new();
        if let Some(turn) = turn_id {
            self.name_tools(turn, &mut provenance.tools).map_err(attempt)?;
            passages = self.passages(turn).map_err(attempt)?;
            passages.retain(|passage| passage.id != handle);
        }
        Ok(Some(MemoryDetail {
            handle,
            line,
            provenance,
            passages,
        }))
    }

    fn origin(&self, handle: Handle) -> rusqlite::Result<Option<(Option<TurnId>, Provenance)>> {
        const OBSERVATION: &str = "select project.name, host, coalesce(turn.branch, session.branch), turn.id, turn.number,
                turn.prompt, distiller, null, edited_at, seen, last_seen_at, superseded_by, evidence
            from observation as memory join project on project.id = memory.project_id
                left join session on session.id = memory.session_db_id left join turn on turn.id = memory.turn_id
            where memory.id = ?1";
        const SUMMARY: &str = "select project.name, host, coalesce(turn.branch, session.branch), turn.id, turn.number,
                turn.prompt, distiller, null, edited_at, null, null, null, '[]'
            from summary as memory join project on project.id = memory.project_id
                left join session on session.id = memory.session_db_id left join turn on turn.id = memory.turn_id
            where memory.id = ?1";
        const NOTE: &str = "select project.name, host, session.branch, null, null,
                null, null, author, updated_at, null, null, null, '[]'
            from note as memory left join project on project.id = memory.project_id
                left join session on session.id = memory.session_db_id
            where memory.id = ?1";
        const PROMPT: &str = "select project.name, host, coalesce(turn.branch, session.branch), turn.id, turn.number,
                null, null, null, null, null, null, null, '[]'
            from turn join session on session.id = turn.session_db_id join project on project.id = session.project_id
            where turn.id = ?1";
        const PASSAGE: &str = "select project.name, host, coalesce(turn.branch, session.branch), turn.id, turn.number,
                turn.prompt, null, null, null, null, null, null, '[]'
            from passage as memory join project on project.id = memory.project_id
                left join session on session.id = memory.session_db_id left join turn on turn.id = memory.turn_id
            where memory.id = ?1";
        let sql = match handle.kind {
            MemoryKind::Observation => OBSERVATION,
            MemoryKind::Summary => SUMMARY,
            MemoryKind::Note => NOTE,
            MemoryKind::Prompt => PROMPT,
            MemoryKind::Passage => PASSAGE,
        };
        self.connection
            .prepare_cached(sql)?
            .query_row([handle.id], read_origin)
            .optional()
    }

    fn supersedes(&self, id: ObservationId) -> rusqlite::Result<Vec<Handle>> {
        const OLDER: &str = "select id from observation where superseded_by = ?1 order by id";
        let mut statement = self.connection.prepare_cached(OLDER)?;
        let rows = statement.query_map([id], |row| row.get(0).map(|id: ObservationId| id.into()))?;
        rows.collect()
    }

    fn name_tools(&self, turn: TurnId, tools: &mut [EvidenceToolUse]) -> rusqlite::Result<()> {
        const TOOL: &str =
            "select tool_name from event where turn_id = ?1 and tool_use_id = ?2 and tool_name is not null";
        let mut statement = self.connection.prepare_cached(TOOL)?;
        for tool in tools {
            tool.tool = statement
                .query_row((turn, &tool.tool_use_id), |row| row.get(0))
                .optional()?;
        }
        Ok(())
    }

    fn passages(&self, turn: TurnId) -> rusqlite::Result<Vec<EvidencePassage>> {
        const OF_TURN: &str =
            "select id, kind, text, packed from passage where turn_id = ?1 order by id limit 50";
        let mut statement = self.connection.prepare_cached(OF_TURN)?;
        let rows = statement.query_map([turn], |row| {
            let text = unpack(row.get(2)?, row.get(3)?);
            Ok(EvidencePassage {
                id: Handle {
                    kind: MemoryKind::Passage,
                    id: row.get(0)?,
                },
                kind: row.get(1)?,
                first_line: first_line(&text),
            })
        })?;
        rows.collect()
    }
}

/// The first line of a text that says something.
pub(crate) fn first_line(text: &str) -> String {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
        .to_owned()
}

fn read_origin(row: &Row<'_>) -> rusqlite::Result<(Option<TurnId>, Provenance)> {
    let turn_id: Option<TurnId> = row.get(3)?;
    let superseded_by: Option<ObservationId> = row.get(11)?;
    let prompt: Option<String> = row.get(5)?;
    let provenance = Provenance {
        project_name: row.get(0)?,
        host: row.get(1)?,
        branch: row.get(2)?,
        turn: row.get(4)?,
        prompt_id: turn_id.filter(|_| prompt.is_some()).map(Handle::from),
        prompt,
        distiller: row.get(6)?,
        author: row.get(7)?,
        edited_at: row.get(8)?,
        seen: row.get(9)?,
        last_seen_at: row.get(10)?,
        superseded_by: superseded_by.map(Handle::from),
        supersedes: Vec::new(),
        tools: list(row, 12)?
            .into_iter()
            .map(|tool_use_id| EvidenceToolUse {
                tool_use_id,
                tool: None,
            })
            .collect(),
    };
    Ok((turn_id, provenance))
}
