//! `backstory import`: imports past sessions, and memories of other stores.

mod claude_mem;
mod jsonl;
pub(super) mod overview;
mod pack;
pub(super) mod sessions;

use anyhow::Result;
use backstory_engine::engine::Engine;
use backstory_transcript::TranscriptHost;

use super::ExitStatus;
use sessions::SessionArguments;
pub(crate) use sessions::distill_queue;

/// Import past sessions or memories
///
/// Without a source: lists the past sessions of all agents on this machine, and imports them after a confirmation. A repeated
/// import adds only new events.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Import {
    #[command(subcommand)]
    source: Option<Source>,
    #[command(flatten)]
    overview: overview::OverviewArguments,
}

#[derive(clap::Subcommand)]
enum Source {
    /// Import Claude Code's transcripts [default: ~/.claude/projects]
    ClaudeCode(SessionArguments),
    /// Import Codex CLI's sessions [default: ~/.codex/sessions]
    Codex(SessionArguments),
    /// Import Gemini CLI's sessions [default: ~/.gemini/tmp]
    GeminiCli(SessionArguments),
    /// Import `OpenCode`'s sessions [default: ~/.local/share/opencode/opencode.db]
    #[command(name = "opencode")]
    OpenCode(SessionArguments),
    /// Import Copilot CLI's sessions [default: ~/.copilot/session-state]
    CopilotCli(SessionArguments),
    /// Import the chats of Cursor and of its command-line agent [default: Cursor's own database, ~/.cursor/chats]
    Cursor(SessionArguments),
    /// Import the memories of claude-mem; a repeated import adds only new memories
    ///
    /// Its database is only read. It identifies a project by its folder name alone, so memories go to the project that their
    /// session is known to belong to: from our own record, or from the folder that newer versions store. Memories without a
    /// known project go into one called `claude-mem:NAME`, unless --map names its folder; --dry-run shows the assignment.
    /// Run `backstory import claude-code` first: then most sessions are known.
    ClaudeMem(claude_mem::ClaudeMemArguments),
    /// Import memories from lines of JSON, as `backstory export` writes them
    ///
    /// Each line is an object with a `kind` (observation, summary, prompt, note, passage) and some text; every other
    /// field may be missing. A line without a project belongs to the current folder's, except for notes: they become global.
    /// A line that was imported before changes nothing.
    Jsonl(jsonl::Jsonl),
    /// Import the memories that others share in a folder of this repository
    ///
    /// Reads what `backstory team pack` writes. Every record is verified with its device's key, which is trusted on first use;
    /// records that fail a check are kept from agents (`backstory team status` lists them). A record that its author has
    /// withdrawn is deleted here too. A repeated import changes nothing.
    Pack(pack::PackArguments),
}

pub(crate) fn run(engine: &Engine, arguments: &Import) -> Result<ExitStatus> {
    let Some(source) = &arguments.source else {
        return overview::run(engine, &arguments.overview);
    };
    match source {
        Source::ClaudeCode(arguments) => sessions::run(engine, TranscriptHost::ClaudeCode, arguments),
        Source::Codex(arguments) => sessions::run(engine, TranscriptHost::Codex, arguments),
        Source::GeminiCli(arguments) => sessions::run(engine, TranscriptHost::GeminiCli, arguments),
        Source::OpenCode(arguments) => sessions::run(engine, TranscriptHost::OpenCode, arguments),
        Source::CopilotCli(arguments) => sessions::run(engine, TranscriptHost::CopilotCli, arguments),
        Source::Cursor(arguments) => sessions::run(engine, TranscriptHost::Cursor, arguments),
        Source::ClaudeMem(arguments) => claude_mem::run(engine, arguments),
        Source::Jsonl(arguments) => jsonl::run(engine, arguments),
        Source::Pack(arguments) => pack::run(engine, arguments),
    }
}
