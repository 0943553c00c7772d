//! Memories as lines of text: export, import, and the database of claude-mem.

pub(crate) mod claude_mem;
mod export;
pub(crate) mod import_lines;
