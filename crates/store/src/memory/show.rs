//! One memory in full: content, provenance and evidence.

use backstory_model::{
    Distiller, EvidenceKind, Handle, Handover, MemoryKind, NoteAuthor, ObservationId, Timestamp, TurnId,
};
use rusqlite::{Connection, Row};
use serde::Serialize;

use crate::{
    Memory, Store, StoreError,
    memory::{handover::handover as session_handover, pack::unpack, stored},
    sql::{ListColumns as _, Statements as _},
    team::opinions,
};

/// The most passages that are listed as evidence.
const MAX_PASSAGES: u32 = 50;

/// Holds a memory with its provenance and evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryDetail {
    /// The memory.
    pub memory: Memory,
    /// The hand-over of the session, if the memory is the last summary of one.
    pub handover: Option<Handover>,
    /// The provenance.
    pub provenance: Provenance,
    /// The first passages of the same turn, in order.
    pub passages: Vec<EvidencePassage>,
}

/// Holds the origin and state of a memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Provenance {
    /// The display name of the project.
    pub project_name: Option<String>,
    /// The agent program.
    pub host: Option<String>,
    /// The branch at that time.
    pub branch: Option<String>,
    /// The number of the turn in its session.
    pub turn: Option<i64>,
    /// The handle of the turn's prompt.
    pub prompt_id: Option<Handle>,
    /// The prompt of the turn.
    pub prompt: Option<String>,
    /// The distiller.
    pub distiller: Option<Distiller>,
    /// The author of a note.
    pub author: Option<NoteAuthor>,
    /// The tool uses that support it.
    pub tools: Vec<EvidenceToolUse>,
    /// The number of sightings.
    pub seen: Option<i64>,
    /// The memory that superseded it.
    pub superseded_by: Option<Handle>,
    /// The memories that it superseded.
    pub supersedes: Vec<Handle>,
    /// The last sighting.
    #[serde(skip)]
    pub last_seen_at: Option<Timestamp>,
    /// The last edit by the user.
    #[serde(skip)]
    pub edited_at: Option<Timestamp>,
}

/// Holds a tool use that supports a memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvidenceToolUse {
    /// The agent's id of the tool use.
    pub tool_use_id: String,
    /// The tool; absent if the event was dropped.
    pub tool: Option<String>,
}

/// Holds a passage as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EvidencePassage {
    /// The handle.
    pub id: Handle,
    /// The kind of evidence.
    #[serde(rename = "type")]
    pub kind: EvidenceKind,
    /// The first line.
    pub first_line: String,
}

impl Store {
    /// Returns a memory in full; `None` if it does not exist.
    pub fn show(&self, handle: Handle) -> Result<Option<MemoryDetail>, StoreError> {
        self.read("read a memory", |connection| {
            let handle = stored::resolve(connection, handle)?;
            let Some(memory) = stored::read(connection, handle)? else {
                return Ok(None);
            };
            let (turn, mut provenance) = provenance(connection, handle)?.unwrap_or_default();
            if let Some(id) = handle.observation() {
                provenance.supersedes = superseded_by(connection, id)?;
            }
            if handle.kind == MemoryKind::Team {
                provenance.superseded_by = memory.superseded_by;
                provenance.supersedes = opinions::replaced_by(connection, handle)?;
            }
            let mut passages = Vec::new();
            if let Some(turn) = turn {
                find_tools(connection, turn, &mut provenance.tools)?;
                passages = passages_of(connection, turn)?;
                passages.retain(|passage| passage.id != handle);
            }
            let handover = match handle.kind {
                MemoryKind::Summary => handover(connection, handle)?,
                _ => None,
            };
            Ok(Some(MemoryDetail {
                handover,
                memory,
                provenance,
                passages,
            }))
        })
    }
}

/// Returns the hand-over that the last summary of a session stands for.
fn handover(connection: &Connection, summary: Handle) -> rusqlite::Result<Option<Handover>> {
    const SESSION: &str = "select session_db_id from summary
        where summary.id = ?1 and session_db_id is not null and not exists (select 1 from summary as later
            where later.session_db_id = summary.session_db_id
                and (later.created_at, later.id) > (summary.created_at, summary.id))";
    let session = connection.optional_row(SESSION, [summary.id], |row| row.get("session_db_id"))?;
    match session {
        Some(session) => session_handover(connection, session),
        None => Ok(None),
    }
}

fn provenance(
    connection: &Connection,
    handle: Handle,
) -> rusqlite::Result<Option<(Option<TurnId>, Provenance)>> {
    // All have the same columns.
    const OBSERVATION: &str = "select project.name as project_name, host, coalesce(turn.branch, session.branch) as branch,
            turn.id as turn_id, turn.number as turn, turn.prompt as prompt, distiller, null as author, edited_at, seen,
            last_seen_at, superseded_by, evidence
        from observation as memory join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id left join turn on turn.id = memory.turn_id
        where memory.id = ?1";
    const SUMMARY: &str = "select project.name as project_name, host, coalesce(turn.branch, session.branch) as branch,
            turn.id as turn_id, turn.number as turn, turn.prompt as prompt, distiller, null as author, edited_at,
            null as seen, null as last_seen_at, null as superseded_by, '[]' as evidence
        from summary as memory join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id left join turn on turn.id = memory.turn_id
        where memory.id = ?1";
    const NOTE: &str = "select project.name as project_name, host, session.branch as branch, null as turn_id, null as turn,
            null as prompt, null as distiller, author, updated_at as edited_at, null as seen, null as last_seen_at,
            null as superseded_by, '[]' as evidence
        from note as memory left join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id
        where memory.id = ?1";
    const PROMPT: &str = "select project.name as project_name, host, coalesce(turn.branch, session.branch) as branch,
            turn.id as turn_id, turn.number as turn, null as prompt, null as distiller, null as author,
            null as edited_at, null as seen, null as last_seen_at, null as superseded_by, '[]' as evidence
        from turn join session on session.id = turn.session_db_id join project on project.id = session.project_id
        where turn.id = ?1";
    const PASSAGE: &str =
        "select project.name as project_name, host, coalesce(turn.branch, session.branch) as branch,
            turn.id as turn_id, turn.number as turn, turn.prompt as prompt, null as distiller, null as author,
            null as edited_at, null as seen, null as last_seen_at, null as superseded_by, '[]' as evidence
        from passage as memory join project on project.id = memory.project_id
            left join session on session.id = memory.session_db_id left join turn on turn.id = memory.turn_id
        where memory.id = ?1";
    const TEAM: &str =
        "select project.name as project_name, null as host, branch, null as turn_id, null as turn,
            null as prompt, null as distiller, null as author, null as edited_at, null as seen,
            null as last_seen_at, null as superseded_by, '[]' as evidence
        from team_memory as memory join project on project.id = memory.project_id where memory.id = ?1";
    let sql = match handle.kind {
        MemoryKind::Team => TEAM,
        MemoryKind::Observation => OBSERVATION,
        MemoryKind::Summary => SUMMARY,
        MemoryKind::Note => NOTE,
        MemoryKind::Prompt => PROMPT,
        MemoryKind::Passage => PASSAGE,
    };
    connection.optional_row(sql, [handle.id], read_provenance)
}

fn read_provenance(row: &Row<'_>) -> rusqlite::Result<(Option<TurnId>, Provenance)> {
    let turn_id: Option<TurnId> = row.get("turn_id")?;
    let prompt: Option<String> = row.get("prompt")?;
    let tools = row.list("evidence")?.into_iter();
    let provenance = Provenance {
        project_name: row.get("project_name")?,
        host: row.get("host")?,
        branch: row.get("branch")?,
        turn: row.get("turn")?,
        prompt_id: turn_id.filter(|_| prompt.is_some()).map(Handle::from),
        prompt,
        distiller: row.get("distiller")?,
        author: row.get("author")?,
        edited_at: row.get("edited_at")?,
        seen: row.get("seen")?,
        last_seen_at: row.get("last_seen_at")?,
        superseded_by: row
            .get::<_, Option<ObservationId>>("superseded_by")?
            .map(Handle::from),
        supersedes: Vec::new(),
        tools: tools
            .map(|tool_use_id| EvidenceToolUse {
                tool_use_id,
                tool: None,
            })
            .collect(),
    };
    Ok((turn_id, provenance))
}

fn superseded_by(connection: &Connection, id: ObservationId) -> rusqlite::Result<Vec<Handle>> {
    const OLDER: &str = "select id from observation where superseded_by = ?1 order by id";
    connection.rows(OLDER, [id], |row| {
        row.get("id").map(|id: ObservationId| id.into())
    })
}

/// Looks up the names of tools.
fn find_tools(connection: &Connection, turn: TurnId, tools: &mut [EvidenceToolUse]) -> rusqlite::Result<()> {
    const TOOL: &str =
        "select tool_name from event where turn_id = ?1 and tool_use_id = ?2 and tool_name is not null";
    for tool in tools {
        tool.tool = connection.optional_row(TOOL, (turn, &tool.tool_use_id), |row| row.get("tool_name"))?;
    }
    Ok(())
}

fn passages_of(connection: &Connection, turn: TurnId) -> rusqlite::Result<Vec<EvidencePassage>> {
    const OF_TURN: &str =
        "select id, kind, text, packed from passage where turn_id = ?1 order by id limit ?2";
    connection.rows(OF_TURN, (turn, MAX_PASSAGES), |row| {
        let text = unpack(row.get("text")?, row.get("packed")?);
        Ok(EvidencePassage {
            id: Handle {
                kind: MemoryKind::Passage,
                id: row.get("id")?,
            },
            kind: row.get("kind")?,
            first_line: first_line(&text).to_owned(),
        })
    })
}

/// Returns the first line that is not blank.
fn first_line(text: &str) -> &str {
    text.lines()
        .map(str::trim)
        .find(|line| !line.is_empty())
        .unwrap_or_default()
}
