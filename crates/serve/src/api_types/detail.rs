//! A memory with its provenance and passages.

use backstory_model::Handle;
use backstory_store as store;
use backstory_text::one_line;
use schemars::JsonSchema;
use serde::Serialize;

use super::{HandoverJson, MemoryJson, rfc3339};

/// A memory with its provenance and passages.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Detail {
    /// The memory.
    #[serde(flatten)]
    pub memory: MemoryJson,
    /// Origin of the memory.
    pub provenance: ProvenanceJson,
    /// Passages that support the memory.
    pub passages: Vec<Passage>,
    /// Last summary of a session: its hand-over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<HandoverJson>,
}

/// Origin of a memory.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Provenance")]
pub struct ProvenanceJson {
    /// Display name of the project.
    pub project_name: Option<String>,
    /// Agent program, such as `claude-code`.
    pub host: Option<String>,
    /// Git branch.
    pub branch: Option<String>,
    /// Number of the turn in its session, from 1.
    pub turn: Option<i64>,
    /// Id of the turn's prompt.
    pub prompt_id: Option<String>,
    /// Beginning of that prompt.
    pub prompt: Option<String>,
    /// Distiller: `builtin` or a model.
    pub distiller: Option<String>,
    /// Author of a note: user, agent or import.
    pub author: Option<String>,
    /// The person who shared it, for a memory of another person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<String>,
    /// What people think of it, for a memory of another person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opinions: Option<String>,
    /// Tool uses that support it.
    pub tools: Vec<ToolUseJson>,
    /// Number of times it was observed.
    pub seen: Option<i64>,
    /// The memory that supersedes it.
    pub superseded_by: Option<String>,
    /// Memories that it supersedes.
    pub supersedes: Vec<String>,
    /// Last time it was observed.
    pub last_seen_at: Option<String>,
    /// Time of the last edit by a user.
    pub edited_at: Option<String>,
}

/// A tool use.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ToolUse")]
pub struct ToolUseJson {
    /// The agent's id of the tool use.
    pub tool_use_id: String,
    /// Name of the tool.
    pub tool: Option<String>,
}

/// A passage, with its first line only.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Passage {
    /// Handle, such as V678.
    pub id: String,
    /// Kind of evidence: `report`, `commit`, `edit`, `command`, `error` and others.
    #[serde(rename = "type")]
    pub type_name: String,
    /// First line of the text.
    pub first_line: String,
}

impl From<store::MemoryDetail> for Detail {
    fn from(detail: store::MemoryDetail) -> Self {
        const PROMPT_LENGTH: usize = 300;
        let origin = detail.provenance;
        let (shared_by, opinions) = (detail.memory.shared_by.clone(), detail.memory.opinions.label());
        Self {
            memory: detail.memory.into(),
            provenance: ProvenanceJson {
                project_name: origin.project_name,
                host: origin.host,
                branch: origin.branch,
                turn: origin.turn,
                prompt_id: origin.prompt_id.map(|handle| handle.to_string()),
                prompt: origin.prompt.map(|text| one_line(&text, PROMPT_LENGTH)),
                distiller: origin.distiller.map(|distiller| distiller.to_string()),
                author: origin.author.map(|author| author.to_string()),
                shared_by,
                opinions,
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
                last_seen_at: origin.last_seen_at.map(rfc3339),
                edited_at: origin.edited_at.map(rfc3339),
            },
            handover: detail.handover.map(HandoverJson::from),
            passages: detail
                .passages
                .into_iter()
                .map(|passage| Passage {
                    id: passage.id.to_string(),
                    type_name: passage.kind.to_string(),
                    first_line: passage.first_line,
                })
                .collect(),
        }
    }
}
