//! Splits the content of a message into its blocks.

use serde_json::value::RawValue;

use backstory_capture::payload::Payload;

/// A block of a message.
#[derive(Debug)]
pub(super) enum ContentBlock<'t> {
    /// A text, as a raw JSON string.
    Text(&'t str),
    ToolUse(Payload<'t>),
    ToolResult(Payload<'t>),
    /// An image or document, as `[image]` or `[document]`.
    Picture(String),
    /// Thinking, and unknown blocks.
    Other,
}

/// Splits the content of a message, which is a text or an array of blocks.
pub(super) fn blocks(content: Option<&str>) -> Vec<ContentBlock<'_>> {
    let content = content.unwrap_or_default();
    if content.starts_with('"') {
        return vec![ContentBlock::Text(content)];
    }
    let list: Vec<&RawValue> = serde_json::from_str(content).unwrap_or_default();
    list.into_iter().map(|raw| block(raw.get())).collect()
}

fn block(raw: &str) -> ContentBlock<'_> {
    let Ok(fields) = Payload::read(raw) else {
        return ContentBlock::Other;
    };
    match fields.text("type").as_deref() {
        Some("text") => fields.raw("text").map_or(ContentBlock::Other, ContentBlock::Text),
        Some("tool_use") => ContentBlock::ToolUse(fields),
        Some("tool_result") => ContentBlock::ToolResult(fields),
        Some(kind @ ("image" | "document")) => ContentBlock::Picture(format!("[{kind}]")),
        _ => ContentBlock::Other,
    }
}

/// Returns the inside of a JSON string.
pub(super) fn inside(raw: &str) -> &str {
    raw.strip_prefix('"')
        .and_then(|raw| raw.strip_suffix('"'))
        .unwrap_or_default()
}

/// Joins the texts that are not blank.
pub(super) fn joined(texts: impl Iterator<Item = String>) -> String {
    let texts: Vec<String> = texts.filter(|text| !text.trim().is_empty()).collect();
    texts.join("\n")
}
