//! Schemas and arguments of the MCP tools. Keep each schema and its argument struct in step.
//!
//! Every agent session pays for the schemas, so a test limits their total size.

use backstory_model::{Handle, ObservationType};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::problem::ApiError;

/// Name, description and input schema of a tool.
type Definition = (&'static str, &'static str, Value);

/// Returns all tools.
pub(crate) fn definitions() -> Vec<Definition> {
    reading_tools().into_iter().chain(writing_tools()).collect()
}

fn text(about: &str) -> Value {
    json!({"type": "string", "description": about})
}

fn project() -> Value {
    text("Name, path or id; default: current")
}

fn object(fields: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": fields, "required": required})
}

fn reading_tools() -> Vec<Definition> {
    vec![
        (
            "search",
            "Search past sessions: decisions, fixes, findings, prompts, commands. Use before re-investigating, and when the user says again, last time, why. Understands \"last week\", \"what is open\", \"where did we stop\".",
            object(
                &json!({
                    "query": text("Words or a question"),
                    "project": project(),
                    "type": {"type": "string", "enum": ObservationType::NAMES},
                    "file": text("Path or its end"),
                    "since": text("2026-03-01, 7d, yesterday"),
                    "limit": {"type": "integer"},
                    "max_tokens": {"type": "integer"},
                }),
                &["query"],
            ),
        ),
        (
            "timeline",
            "What happened before and after a memory.",
            object(
                &json!({
                    "id": text("123, S12, P34, N5"),
                    "query": text("Or words: the best hit"),
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
            "Full memories by id, with provenance. Use when a search hit is not enough.",
            object(
                &json!({
                    "ids": {"type": "array", "items": {"type": "string"}},
                    "max_tokens": {"type": "integer"},
                }),
                &["ids"],
            ),
        ),
        (
            "file_history",
            "Past changes, reasons and pitfalls of a file. Use before changing an unfamiliar one.",
            object(
                &json!({
                    "path": text("Path or its end"),
                    "project": project(),
                    "limit": {"type": "integer"},
                    "max_tokens": {"type": "integer"},
                }),
                &["path"],
            ),
        ),
        (
            "fix",
            "Known remedies of an error. Use when a command or test fails.",
            object(
                &json!({
                    "error": text("Error text"),
                    "project": project(),
                    "max_tokens": {"type": "integer"},
                }),
                &["error"],
            ),
        ),
    ]
}

fn writing_tools() -> [Definition; 2] {
    [
        (
            "remember",
            "Save a note for future sessions: a decision, a gotcha, a preference of the user.",
            object(
                &json!({
                    "text": text("The note"),
                    "type": {"type": "string", "enum": ObservationType::NAMES},
                    "files": {"type": "array", "items": {"type": "string"}},
                    "project": project(),
                }),
                &["text"],
            ),
        ),
        (
            "correct",
            "Mark a memory as wrong or outdated. It is kept and shown as superseded.",
            object(
                &json!({
                    "id": text("123"),
                    "reason": text("What is true instead"),
                }),
                &["id", "reason"],
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

#[derive(Deserialize)]
pub(super) struct FixArgs {
    pub(super) error: String,
    pub(super) project: Option<String>,
    pub(super) max_tokens: Option<usize>,
}

#[derive(Deserialize)]
pub(super) struct CorrectArgs {
    pub(super) id: Value,
    pub(super) reason: String,
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
    fn all_definitions_fit_800_tokens() {
        let all: Vec<Value> = definitions()
            .into_iter()
            .map(|(name, about, schema)| {
                json!({"name": name, "description": about, "inputSchema": schema, "annotations": {"readOnlyHint": true}})
            })
            .collect();
        let text = json!(all).to_string();
        assert!(tokens(&text) < 800, "{} tokens", tokens(&text));
    }
}
