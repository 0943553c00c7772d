//! Events: what hooks report.

use serde::{Deserialize, Serialize};

use crate::{ProjectIdentity, Timestamp, named::named_enum};

named_enum! {
    /// The kinds of hook reports that are recorded, in the order in which a session meets them.
    pub enum EventKind {
        /// A session began, or continued after a resume, a clear or a compaction.
        SessionStart = "session-start",
        /// A prompt arrived; it opens a turn.
        UserPromptSubmit = "user-prompt-submit",
        /// A tool was used and answered.
        PostToolUse = "post-tool-use",
        /// A tool was used and failed.
        PostToolUseFailure = "post-tool-use-failure",
        /// A turn ended.
        Stop = "stop",
        /// A sub-agent finished.
        SubagentStop = "subagent-stop",
        /// The agent is about to compact its context.
        PreCompact = "pre-compact",
        /// A session ended.
        SessionEnd = "session-end",
    }
}

impl EventKind {
    /// Returns true for a tool use, failed or not.
    pub const fn is_tool_use(self) -> bool {
        matches!(self, Self::PostToolUse | Self::PostToolUseFailure)
    }
}

named_enum! {
    /// The origin of an event.
    pub enum EventSource {
        /// A hook reported it while it happened.
        Hook = "hook",
        /// An import created it from a transcript.
        Import = "import",
    }
}

named_enum! {
    /// The state of an event in the queue.
    pub enum EventState {
        /// Awaits a worker.
        Pending = "pending",
        /// Is claimed by a worker.
        Processing = "processing",
        /// Failed for the last time; only a retry brings it back.
        Failed = "failed",
        /// Is distilled.
        Done = "done",
    }
}

/// Names the agent program that an event came from.
///
/// A text and no enum: a store may hold sessions of hosts that this version does not know yet.
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

/// One hook report, without private spans and secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Identifies the event: the name of its spool file. Sorts by time.
    pub key: String,
    /// The origin.
    pub source: EventSource,
    /// The kind of report.
    pub kind: EventKind,
    /// The agent program that reported it.
    pub host: Host,
    /// The start of the hook.
    pub at: Timestamp,
    /// The agent's own id of the session.
    pub session_id: String,
    /// The project, if the hook located it.
    pub project: Option<ProjectIdentity>,
    /// The payload of the hook: one JSON object, trimmed and redacted.
    pub payload: String,
}
