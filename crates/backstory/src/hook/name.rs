//! Names of hooks: ours, their aliases, and the spellings of the agents.

use backstory_model::EventKind;

/// A hook that an agent can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Records an event.
    Record(EventKind),
    /// Runs before a tool; records nothing.
    PreToolUse,
}

impl Hook {
    /// Parses a name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        let kind = match name {
            "session-start" | "context" | "SessionStart" => EventKind::SessionStart,
            "user-prompt-submit" | "new" | "UserPromptSubmit" => EventKind::UserPromptSubmit,
            "post-tool-use" | "save" | "PostToolUse" => EventKind::PostToolUse,
            "post-tool-use-failure" | "PostToolUseFailure" => EventKind::PostToolUseFailure,
            "stop" | "summary" | "Stop" => EventKind::Stop,
            "subagent-stop" | "SubagentStop" => EventKind::SubagentStop,
            "pre-compact" | "PreCompact" => EventKind::PreCompact,
            "session-end" | "cleanup" | "SessionEnd" => EventKind::SessionEnd,
            "pre-tool-use" | "file-context" | "PreToolUse" => return Some(Self::PreToolUse),
            _ => return None,
        };
        Some(Self::Record(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_kind_has_a_hook() {
        for kind in EventKind::ALL {
            assert_eq!(Hook::from_name(kind.name()), Some(Hook::Record(kind)));
        }
        assert_eq!(Hook::from_name("post_tool_use"), None);
    }
}
