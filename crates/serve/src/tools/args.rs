//! What an agent can wish for: how the tools are described to it, and how what it gives them is read.
//!
//! A description and the type that reads it stand together, for they have the same fields.

use backstory_model::{Handle, ObservationType};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::problem::ApiError;

/// The tools: name, description, parameters.
pub(crate) fn definitions() -> Vec<(&'static str, &'static str, Value)> {
    let text = |about: &str| json!({"type": "string", "description": about});
    let project = || text("Name, path or id; `*`: all. Default: this one");
    let object = |fields: Value, required: &[&str]| json!({"type": "object", "properties": fields, "required": required});
    vec![
        (
            "search",
            "Search the memory of past sessions: decisions, fixes, discoveries, prompts. Returns an index; get_observations and timeline tell more.",
            object(
                json!({
                    "query": text("Any words"),
                    "project": project(),
                    "type": text("decision, bugfix, feature, refactor, discovery, change"),
                    "file": text("Only about this path or its end"),
                    "since": text("2026-03-01 or 7d"),
                    "limit": {"type": "integer"},
                    "max_tokens": {"type": "integer"},
                }),
                &["query"],
            ),
        ),
        (
            "timeline",
            "What happened around a memory, in order.",
            object(
                json!({
                    "id": text("123, S12, P34, N5; or give query"),
                    "query": text("Words; the best hit is taken"),
                    "project": project(),
                    "before": {"type": "integer"},
                    "after": {"type": "integer"},
                    "max_tokens": {"type": "integer"},
                }),
                &[],
            ),
        ),
        (
            "get_observations",
            "Full text of memories by id, with where they come from.",
            object(
                json!({
                    "ids": {"type": "array", "items": {"type": "string"}},
                    "max_tokens": {"type": "integer"},
                }),
                &["ids"],
            ),
        ),
        (
            "remember",
            "Save a note for future sessions: a decision, a gotcha, a preference of the user.",
            object(
                json!({
                    "text": text("The note"),
                    "type": text("As in search"),
                    "files": {"type": "array", "items": {"type": "string"}},
                    "pin": {"type": "boolean", "description": "Show at every session start"},
                    "project": project(),
                }),
                &["text"],
            ),
        ),
        (
            "file_history",
            "What is known about a file: past changes, reasons, pitfalls.",
            object(
                json!({
                    "path": text("Absolute, or relative to the project"),
                    "project": project(),
                    "limit": {"type": "integer"},
                    "max_tokens": {"type": "integer"},
                }),
                &["path"],
            ),
        ),
    ]
}

#[derive(Deserialize)]
pub(super) struct SearchArgs {
    pub(super) query: String,
    pub(super) project: Option<String>,
    pub(super) r#type: Option<String>,
    pub(super) file: Option<String>,
    pub(super) since: Option<String>,
    pub(super) limit: Option<usize>,
    pub(super) max_tokens: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct TimelineArgs {
    pub(super) id: Option<Value>,
    pub(super) query: Option<String>,
    pub(super) project: Option<String>,
    pub(super) before: Option<u32>,
    pub(super) after: Option<u32>,
    pub(super) max_tokens: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct ObservationsArgs {
    pub(super) ids: Value,
    pub(super) max_tokens: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct RememberArgs {
    pub(super) text: String,
    pub(super) r#type: Option<String>,
    #[serde(default)]
    pub(super) files: Vec<String>,
    #[serde(default)]
    pub(super) pin: bool,
    pub(super) project: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct FileArgs {
    pub(super) path: String,
    pub(super) project: Option<String>,
    pub(super) limit: Option<u32>,
    pub(super) max_tokens: Option<usize>,
}

pub(super) fn read<T: serde::de::DeserializeOwned>(wish: Value) -> Result<T, ApiError> {
    serde_json::from_value(wish).map_err(|error| ApiError::bad(error.to_string()))
}

pub(super) fn type_named(name: &str) -> Result<ObservationType, ApiError> {
    ObservationType::from_name(name).ok_or_else(|| {
        let known = ObservationType::ALL.map(ObservationType::name).join(", ");
        ApiError::bad(format!("type `{name}` is not known")).hint(format!("use one of {known}"))
    })
}

/// Models give ids as numbers, as text, with a sign in front.
pub(super) fn handle(id: &Value) -> Result<Handle, ApiError> {
    let text = match id {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    text.parse()
        .map_err(|error: backstory_model::ParseHandleError| ApiError::bad(error.to_string()))
}

#[cfg(test)]
mod tests {
    use backstory_text::tokens;

    use super::*;

    #[test]
    fn the_definitions_are_short() {
        let all: Vec<Value> = definitions()
            .into_iter()
            .map(|(name, about, schema)| {
                json!({"name": name, "description": about, "inputSchema": schema, "annotations": {"readOnlyHint": true}})
            })
            .collect();
        let text = json!(all).to_string();
        assert!(tokens(&text) <= 700, "{} tokens", tokens(&text));
    }
}
