//! Splits the content of a message into its blocks.

use serde_json::value::RawValue;

use crate::payload::Payload;

/// A part of a message's content.
#[derive(Debug)]
pub(super) enum Block<'t> {
    /// A text, as a raw JSON string.
    Text(&'t str),
    ToolUse(Payload<'t>),
    ToolResult(Payload<'t>),
    /// A picture or document, by the name of its kind.
    Picture(String),
    /// Thoughts, and what is not known.
    Other,
}

/// Splits a content, which is a text or a list of blocks.
pub(super) fn blocks(content: Option<&str>) -> Vec<Block<'_>> {
    let content = content.unwrap_or_default();
    if content.starts_with('"') {
        return vec![Block::Text(content)];
    }
    let list: Vec<&RawValue> = serde_json::from_str(content).unwrap_or_default();
    list.into_iter().map(|raw| block(raw.get())).collect()
}

fn block(raw: &str) -> Block<'_> {
    let Ok(fields) = Payload::read(raw) else {
        return Block::Other;
    };
    match fields.text("type").as_deref() {
        Some("text") => fields.raw("text").map_or(Block::Other, Block::Text),
        Some("tool_use") => Block::ToolUse(fields),
        Some("tool_result") => Block::ToolResult(fields),
        Some(kind @ ("image" | "document")) => Block::Picture(format!("[{kind}]")),
        _ => Block::Other,
    }
}

/// Returns what stands between the quotes of a JSON string.
pub(super) fn inside(raw: &str) -> &str {
    raw.strip_prefix('"')
        .and_then(|raw| raw.strip_suffix('"'))
        .unwrap_or_default()
}

/// Joins texts, without those of which nothing is left.
pub(super) fn joined(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
    texts.join("\n")
}
