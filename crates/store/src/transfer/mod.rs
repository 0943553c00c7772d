//! Memories as lines of text: export, import, and the databases of claude-mem and `OpenCode`.

pub(crate) mod claude_mem;
mod export;
pub(crate) mod import_lines;
pub(crate) mod opencode;
