//! A memory as it is shown with where it comes from and what it rests on.

use backstory_model::Handle;
use backstory_store as store;
use backstory_text::one_line;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Memory, rfc3339};

/// A memory with where it comes from and what it rests on.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Detail {
    /// The memory.
    #[serde(flatten)]
    pub memory: Memory,
    /// Where it comes from.
    pub provenance: ProvenanceJson,
    /// The verbatim pieces of its turn.
    pub passages: Vec<Passage>,
}

/// Where a memory comes from.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProvenanceJson {
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
    pub tools: Vec<ToolUseJson>,
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
pub struct ToolUseJson {
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

impl From<store::MemoryDetail> for Detail {
    fn from(shown: store::MemoryDetail) -> Self {
        const PROMPT_LENGTH: usize = 300;
        let origin = shown.provenance;
        Self {
            memory: Memory::new(shown.handle, shown.line),
            provenance: ProvenanceJson {
                project_name: origin.project_name,
                host: origin.host,
                branch: origin.branch,
                turn: origin.turn,
                prompt_id: origin.prompt_id.map(|handle| handle.to_string()),
                prompt: origin.prompt.map(|text| one_line(&text, PROMPT_LENGTH)),
                distiller: origin.distiller,
                author: origin.author,
                tools: origin
                    .tools
                    .into_iter()
                    .map(|tool| ToolUseJson {
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
