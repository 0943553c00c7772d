//! Schemas and arguments of the MCP tools. Keep each schema and its argument struct in step.
//!
//! Every agent session pays for the schemas, so a test limits their total size.

use backstory_model::{Handle, ObservationType};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::problem::ApiError;

/// Returns name, description and input schema of each tool.
pub(crate) fn definitions() -> Vec<(&'static str, &'static str, Value)> {
    let text = |about: &str| json!({"type": "string", "description": about});
    let project = || text("Name, path or id; `*`: all, if the user allows it. Default: current");
    let object = |fields: Value, required: &[&str]| json!({"type": "object", "properties": fields, "required": required});
    vec![
        (
            "search",
            "Search the memory of past sessions: decisions, fixes, discoveries, prompts. Returns an index; get_observations and timeline have the details.",
            object(
                json!({
                    "query": text("Any words"),
                    "project": project(),
                    "type": text(&ObservationType::NAMES.join(", ")),
                    "file": text("Path or end of a path"),
                    "since": text("2026-03-01 or 7d"),
                    "limit": {"type": "integer"},
                    "max_tokens": {"type": "integer"},
                }),
                &["query"],
            ),
        ),
        (
            "timeline",
            "History around a memory, oldest first.",
            object(
                json!({
                    "id": text("123, S12, P34, N5; or use query"),
                    "query": text("The best hit is the anchor"),
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
            "Full memories by id, with provenance.",
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
            "Save a note for future sessions: a decision, a gotcha, a user preference.",
            object(
                json!({
                    "text": text("The note"),
                    "type": text("As in search"),
                    "files": {"type": "array", "items": {"type": "string"}},
                    "project": text("Default: current"),
                }),
                &["text"],
            ),
        ),
        (
            "file_history",
            "History of a file: past changes, reasons, pitfalls.",
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
    /// Not in the schema: answered with the command for the user.
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

pub(super) fn read<T: serde::de::DeserializeOwned>(args: Value) -> Result<T, ApiError> {
    serde_json::from_value(args).map_err(|error| ApiError::bad(error.to_string()))
}

pub(super) fn parse_type(name: &str) -> Result<ObservationType, ApiError> {
    ObservationType::from_name(name).ok_or_else(|| {
        let known = ObservationType::ALL.map(ObservationType::name).join(", ");
        ApiError::bad(format!("unknown type `{name}`")).hint(format!("use one of {known}"))
    })
}

/// Parses an id. Models pass numbers, strings and ids with a leading `#`.
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
    fn all_definitions_fit_700_tokens() {
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
