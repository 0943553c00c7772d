//! Memories as lines of text: export, import, and the database of claude-mem.

pub(crate) mod claude_mem;
pub(crate) mod export;
pub(crate) mod import_lines;
pub(crate) mod line;
