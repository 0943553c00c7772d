//! The hosts whose own session files can be read.

use backstory_model::Host;

/// A host with session files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TranscriptHost {
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// `OpenCode`.
    OpenCode,
    /// Copilot CLI.
    CopilotCli,
    /// Cursor: the editor and its command-line agent.
    Cursor,
}

impl TranscriptHost {
    /// All of them, the most used first.
    pub const ALL: [Self; 6] = [
        Self::ClaudeCode,
        Self::Codex,
        Self::GeminiCli,
        Self::OpenCode,
        Self::CopilotCli,
        Self::Cursor,
    ];

    /// Returns the name, as in the table of hosts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::GeminiCli => "gemini-cli",
            Self::OpenCode => "opencode",
            Self::CopilotCli => "copilot-cli",
            Self::Cursor => "cursor",
        }
    }

    /// Returns the host of its sessions.
    pub fn host(self) -> Host {
        Host::new(self.name()).unwrap_or_else(Host::claude_code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_is_in_the_table_of_hosts() {
        for host in TranscriptHost::ALL {
            assert!(backstory_capture::host::find(host.name()).is_some(), "{host:?}");
            assert_eq!(host.host().as_str(), host.name());
        }
    }
}
