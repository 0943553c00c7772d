//! Memories, sessions and projects as every door shows them: the HTTP routes and `--json` alike.

use backstory_model::{Handle, MemoryKind};
use backstory_recall as recall;
use backstory_store as store;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

/// Writes a time.
pub fn rfc3339(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map(|time| time.to_string())
        .unwrap_or_default()
}

/// A memory that was found.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hit {
    /// What names it: 123, S12, P34, N5, V678.
    pub id: String,
    /// observation, summary, prompt, note or passage.
    pub kind: &'static str,
    /// An observation's type, or that of a note.
    #[serde(rename = "type")]
    pub type_name: Option<String>,
    /// What it is about, in a line.
    pub title: String,
    /// The circumstances.
    pub subtitle: Option<String>,
    /// The part of it that answers.
    pub snippet: String,
    /// The project's display name; absent when it holds everywhere.
    pub project: Option<String>,
    /// The agent's id of its session.
    pub session_id: Option<String>,
    /// When it came to be.
    pub created_at: String,
    /// How sure it is that this was looked for, from 0 to 1.
    pub score: f64,
    /// About how many tokens all of it has.
    pub tokens: usize,
    /// Whether a file that it cites has changed since.
    pub stale: bool,
    /// What another tool calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// The memory that holds in its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
}

impl From<&recall::Hit> for Hit {
    fn from(hit: &recall::Hit) -> Self {
        let card = &hit.card;
        Self {
            id: card.handle.to_string(),
            kind: card.handle.kind.name(),
            type_name: card.kind.clone(),
            title: hit.title(),
            subtitle: Some(card.fields.subtitle.clone()).filter(|text| !text.is_empty()),
            snippet: hit.snippet.clone(),
            project: card.project.clone(),
            session_id: card.session_id.clone(),
            created_at: rfc3339(card.created_ms),
            score: (hit.score * 1000.0).round() / 1000.0,
            tokens: hit.tokens(),
            stale: hit.is_stale,
            external_id: card.external_id.clone(),
            superseded_by: card.superseded_by.map(|id| id.to_string()),
        }
    }
}

/// A memory with everything that it says. What its kind does not have is left out.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Memory {
    /// What names it.
    pub id: String,
    /// observation, summary, prompt, note or passage.
    pub kind: &'static str,
    /// The project's id.
    pub project: Option<String>,
    /// The agent's id of the session.
    pub session_id: Option<String>,
    /// When it came to be.
    pub created_at: Option<String>,
    /// What another tool calls it.
    pub external_id: Option<String>,
    /// The type of an observation or a note; what a passage is.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_name: Option<String>,
    /// Observations: what is true since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Observations: the circumstances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// Observations: what happened and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub narrative: Option<String>,
    /// Prompts, notes, passages: the words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Observations: single facts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<String>,
    /// Observations: what they teach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub concepts: Vec<String>,
    /// Summaries: what was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
    /// Summaries: what was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub investigated: Option<String>,
    /// Summaries: what was found out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<String>,
    /// Summaries: what was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed: Option<String>,
    /// Summaries: what is left to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_steps: Option<String>,
    /// Files that were read for it, or that a note is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_read: Vec<String>,
    /// Observations: files that were changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_modified: Vec<String>,
    /// Summaries: files that were changed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files_edited: Vec<String>,
    /// Summaries: open problems and anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// The branch: of the turn for a prompt, else of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether a person wants it kept in sight.
    pub pinned: bool,
}

impl Memory {
    /// Shows a memory.
    pub fn new(handle: Handle, line: store::Line) -> Self {
        Self {
            id: handle.to_string(),
            kind: line.kind.name(),
            project: line.project,
            session_id: line.session_id,
            created_at: line.created_ms.map(rfc3339),
            external_id: line.external_id,
            type_name: line.type_name,
            title: line.title,
            subtitle: line.subtitle,
            narrative: line.narrative,
            text: line.text,
            facts: line.facts,
            concepts: line.concepts,
            request: line.request,
            investigated: line.investigated,
            learned: line.learned,
            completed: line.completed,
            next_steps: line.next_steps,
            files_read: line.files_read,
            files_modified: line.files_modified,
            files_edited: line.files_edited,
            notes: line.notes,
            branch: line.branch,
            pinned: line.pinned,
        }
    }
}

/// A memory with where it comes from and what it rests on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Detail {
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// Where it comes from.
    pub provenance: Provenance,
    /// The verbatim pieces of its turn.
    pub passages: Vec<Passage>,
}

/// Where a memory comes from.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Provenance {
    /// The project's display name.
    pub project_name: Option<String>,
    /// The agent program.
    pub host: Option<String>,
    /// The branch.
    pub branch: Option<String>,
    /// The turn of the session, counted from 1.
    pub turn: Option<i64>,
    /// The prompt of that turn.
    pub prompt_id: Option<String>,
    /// The beginning of what that prompt said.
    pub prompt: Option<String>,
    /// Who made it: `builtin`, or a model.
    pub distiller: Option<String>,
    /// Who saved it: a person, an agent, an import.
    pub author: Option<String>,
    /// The tool uses it rests on.
    pub tools: Vec<ToolUse>,
    /// How often it was seen.
    pub seen: Option<i64>,
    /// The memory that holds in its place.
    pub superseded_by: Option<String>,
    /// The memories that it replaces.
    pub supersedes: Vec<String>,
    /// When it was last seen.
    pub last_seen_at: Option<String>,
    /// When a person corrected it.
    pub edited_at: Option<String>,
}

/// A use of a tool.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ToolUse {
    /// The agent's id of it.
    pub tool_use_id: String,
    /// The tool.
    pub tool: Option<String>,
}

/// A verbatim piece, by its first line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Passage {
    /// What names it.
    pub id: String,
    /// prompt, prose, edit, command or error.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Its first line.
    pub first_line: String,
}

impl From<store::Shown> for Detail {
    fn from(shown: store::Shown) -> Self {
        const PROMPT_LENGTH: usize = 300;
        let origin = shown.provenance;
        Self {
            memory: Memory::new(shown.handle, shown.line),
            provenance: Provenance {
                project_name: origin.project_name,
                host: origin.host,
                branch: origin.branch,
                turn: origin.turn,
                prompt_id: origin.prompt_id.map(|handle| handle.to_string()),
                prompt: origin.prompt.map(|text| recall::one_line(&text, PROMPT_LENGTH)),
                distiller: origin.distiller,
                author: origin.author,
                tools: origin
                    .tools
                    .into_iter()
                    .map(|tool| ToolUse {
                        tool_use_id: tool.tool_use_id,
                        tool: tool.tool,
                    })
                    .collect(),
                seen: origin.seen,
                superseded_by: origin.superseded_by.map(|handle| handle.to_string()),
                supersedes: origin.supersedes.iter().map(Handle::to_string).collect(),
                last_seen_at: origin.last_seen_ms.map(rfc3339),
                edited_at: origin.edited_ms.map(rfc3339),
            },
            passages: shown
                .passages
                .into_iter()
                .map(|passage| Passage {
                    id: passage.id.to_string(),
                    type_name: passage.kind,
                    first_line: passage.first_line,
                })
                .collect(),
        }
    }
}

/// A moment around a memory.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Moment {
    /// Whether it is the one that was asked for.
    pub anchor: bool,
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
}

impl From<store::Moment> for Moment {
    fn from(moment: store::Moment) -> Self {
        Self {
            anchor: moment.is_anchor,
            memory: Memory::new(moment.handle, moment.line),
        }
    }
}

/// One conversation with an agent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Session {
    /// The number of the row.
    pub session_db_id: i64,
    /// The agent's own id.
    pub session_id: String,
    /// The agent program.
    pub host: String,
    /// The project, by display name.
    pub project: String,
    /// The project's id.
    pub project_id: String,
    /// Where it was started.
    pub cwd: Option<String>,
    /// The branch it last worked on.
    pub branch: Option<String>,
    /// The linked worktree it works in.
    pub worktree: Option<String>,
    /// active, summarizing, completed, interrupted or failed.
    pub status: &'static str,
    /// Why it ended, in the agent's words.
    pub end_reason: Option<String>,
    /// What it was about.
    pub title: Option<String>,
    /// The person's first words.
    pub first_prompt: Option<String>,
    /// How many prompts the person gave.
    pub prompts: u64,
    /// How many turns it has.
    pub turns: u64,
    /// How many events were reported.
    pub events: u64,
    /// When it began.
    pub started_at: String,
    /// When it was last heard of.
    pub last_event_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
}

impl From<store::Session> for Session {
    fn from(session: store::Session) -> Self {
        Self {
            session_db_id: session.db_id,
            session_id: session.session_id,
            host: session.host,
            project: session.project,
            project_id: session.project_id,
            cwd: session.cwd,
            branch: session.branch,
            worktree: session.worktree,
            status: session.status.name(),
            end_reason: session.end_reason,
            title: session.title,
            first_prompt: session.first_prompt,
            prompts: session.prompts,
            turns: session.turns,
            events: session.events,
            started_at: rfc3339(session.started_ms),
            last_event_at: rfc3339(session.last_event_ms),
            ended_at: session.ended_ms.map(rfc3339),
        }
    }
}

/// One prompt and what followed.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Turn {
    /// Counts from 1.
    pub number: i64,
    /// What names its prompt.
    pub prompt_id: String,
    /// What was asked; absent when the turn was under way before anyone listened.
    pub prompt: Option<String>,
    /// Whether a program asked, not the person.
    pub machine_made: bool,
    /// The branch at that time.
    pub branch: Option<String>,
    /// Tool uses by the agent itself.
    pub tools: u64,
    /// Tool uses that failed.
    pub failures: u64,
    /// Tool uses by its sub-agents.
    pub subagent_tools: u64,
    /// When it began.
    pub started_at: String,
    /// When it ended.
    pub ended_at: Option<String>,
    /// What was made of it.
    pub memories: Vec<Memory>,
}

impl Turn {
    /// Shows a turn with the memories that were made of it.
    pub fn new(turn: store::Turn, memories: Vec<Memory>) -> Self {
        let prompt = Handle {
            kind: MemoryKind::Prompt,
            id: turn.id,
        };
        Self {
            number: turn.number,
            prompt_id: prompt.to_string(),
            prompt: turn.prompt,
            machine_made: turn.machine_made,
            branch: turn.branch,
            tools: turn.tools,
            failures: turn.failures,
            subagent_tools: turn.subagent_tools,
            started_at: rfc3339(turn.started_ms),
            ended_at: turn.ended_ms.map(rfc3339),
            memories,
        }
    }
}

/// A code base.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Project {
    /// Identifies it: the normalised remote or a path.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The main working tree when it was first seen.
    pub root: String,
    /// How many sessions worked on it.
    pub sessions: u64,
    /// How many observations there are of it.
    pub observations: u64,
    /// When it was last heard of.
    pub last_event_at: Option<String>,
}

impl From<store::ProjectCard> for Project {
    fn from(card: store::ProjectCard) -> Self {
        Self {
            id: card.project.id,
            name: card.project.name,
            root: card.project.root,
            sessions: card.sessions,
            observations: card.observations,
            last_event_at: card.last_event_ms.map(rfc3339),
        }
    }
}

/// What waits to be distilled.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Queue {
    /// Events that wait, those in the spool included.
    pub pending: u64,
    /// Events in somebody's hands.
    pub processing: u64,
    /// Events that were given up after three tries.
    pub failed: u64,
    /// The age of the oldest that is not processed.
    pub oldest_seconds: f64,
    /// Some of them, those that failed first.
    pub items: Vec<QueueItem>,
}

/// An event in the queue.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueueItem {
    /// Its number.
    pub id: i64,
    /// The agent's id of its session.
    pub session_id: String,
    /// What happened.
    pub kind: String,
    /// The tool that was used.
    pub tool_name: Option<String>,
    /// pending, processing or failed.
    pub state: &'static str,
    /// How often it was tried.
    pub tries: i64,
    /// Why the last try failed.
    pub error: Option<String>,
    /// When it was reported.
    pub created_at: String,
    /// How long ago that was.
    pub age_seconds: f64,
}

impl Queue {
    /// Shows the queue; events in the spool wait too.
    pub fn new(queue: store::Queue, spooled: u64, now_ms: i64) -> Self {
        Self {
            pending: queue.pending + spooled,
            processing: queue.processing,
            failed: queue.failed,
            oldest_seconds: queue.oldest_ms.map_or(0.0, |oldest| seconds(now_ms, oldest)),
            items: queue
                .items
                .into_iter()
                .map(|item| QueueItem {
                    id: item.id,
                    session_id: item.session_id,
                    kind: item.kind,
                    tool_name: item.tool_name,
                    state: item.state.name(),
                    tries: item.tries,
                    error: item.error,
                    created_at: rfc3339(item.at_ms),
                    age_seconds: seconds(now_ms, item.at_ms),
                })
                .collect(),
        }
    }
}

fn seconds(now_ms: i64, then_ms: i64) -> f64 {
    // Ages fit a float exactly: 2^53 ms are 285,000 years.
    #[expect(clippy::cast_precision_loss, reason = "see above")]
    let ms = (now_ms - then_ms).max(0) as f64;
    ms / 1000.0
}
