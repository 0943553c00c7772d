use std::fmt;

use serde::{Deserialize, Serialize};

use crate::ProjectIdentity;

/// The kinds of things that hooks report and that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventKind {
    /// A session began, or went on after a resume, a clear or a compaction.
    SessionStart,
    /// A prompt arrived; it opens a turn.
    UserPromptSubmit,
    /// A tool was used and answered.
    PostToolUse,
    /// A tool was used and failed.
    PostToolUseFailure,
    /// A turn ended.
    Stop,
    /// A sub-agent finished.
    SubagentStop,
    /// The agent is about to compact its context.
    PreCompact,
    /// A session ended.
    SessionEnd,
}

impl EventKind {
    /// All kinds, in the order in which a session meets them.
    pub const ALL: [Self; 8] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::Stop,
        Self::SubagentStop,
        Self::PreCompact,
        Self::SessionEnd,
    ];

    /// Returns the name used on the command line, in the spool and in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::UserPromptSubmit => "user-prompt-submit",
            Self::PostToolUse => "post-tool-use",
            Self::PostToolUseFailure => "post-tool-use-failure",
            Self::Stop => "stop",
            Self::SubagentStop => "subagent-stop",
            Self::PreCompact => "pre-compact",
            Self::SessionEnd => "session-end",
        }
    }

    /// Finds the kind that [`name`](Self::name) spells this way.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The origin of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventSource {
    /// A hook reported it while it happened.
    Hook,
    /// An import created it from a transcript.
    Import,
}

impl EventSource {
    /// Returns the name used in the database.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Import => "import",
        }
    }

    /// Finds the source that [`name`](Self::name) spells this way.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Hook, Self::Import]
            .into_iter()
            .find(|source| source.name() == name)
    }
}

/// The agent program an event came from.
///
/// Kept as text: a store may hold sessions of hosts that this version does not know yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Host(String);

impl Host {
    /// The host that is assumed when a hook does not name one.
    pub const CLAUDE_CODE: &'static str = "claude-code";

    /// Accepts a host name: lower-case letters, digits and dashes, at most 32 of them.
    pub fn new(name: &str) -> Option<Self> {
        let valid = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        ((1..=32).contains(&name.len()) && name.bytes().all(valid)).then(|| Self(name.to_owned()))
    }

    /// Returns Claude Code.
    pub fn claude_code() -> Self {
        Self(Self::CLAUDE_CODE.to_owned())
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One thing that a hook reported, cleaned of everything that must not be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Names the event once and for all: its spool file's name. Sorts by time.
    pub key: String,
    /// The origin.
    pub source: EventSource,
    /// What happened.
    pub kind: EventKind,
    /// Who reported it.
    pub host: Host,
    /// When the hook started, in milliseconds since 1970.
    pub at_ms: i64,
    /// The agent's own id of the session.
    pub session_id: String,
    /// Where the session worked, if the hook looked.
    pub project: Option<ProjectIdentity>,
    /// What the hook was given: one JSON object, cut and redacted.
    pub payload: String,
}
