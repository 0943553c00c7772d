//! Derives from a file's path which session and sub-agent it belongs to.

use std::path::Path;

/// The session and sub-agent that a transcript belongs to, as far as its path shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptOwner {
    /// The session. Lines with another session id are copies.
    pub session_id: Option<String>,
    /// The sub-agent, if the file belongs to one.
    pub agent_id: Option<String>,
}

impl TranscriptOwner {
    /// Parses `<session>.jsonl`, `<session>/subagents/agent-<id>.jsonl` and `agent-<id>.jsonl`.
    pub fn of(path: &Path) -> Self {
        let stem = path
            .file_stem()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let agent_id = stem.strip_prefix("agent-").map(str::to_owned);
        let session_id = if agent_id.is_some() {
            session_above(path)
        } else {
            Some(stem)
        };
        Self {
            session_id: session_id.filter(|id| is_uuid(id)).map(str::to_owned),
            agent_id,
        }
    }
}

/// Reports whether a name has the form of a session id.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Returns the session whose folder contains the file of a sub-agent.
pub(super) fn session_above(path: &Path) -> Option<&str> {
    let name = |path: &'_ Path| path.file_name().is_some_and(|name| name == "subagents");
    let subagents = path.ancestors().find(|&folder| name(folder))?;
    subagents.parent()?.file_name()?.to_str()
}
