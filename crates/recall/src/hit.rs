//! A search and the memories that it finds.

use backstory_model::{MemoryKind, Timestamp};
use backstory_store::{Filter, Memory, Scope};
use backstory_text::{one_line, tokens};
use jiff::tz::TimeZone;

/// A search.
#[derive(Clone, Copy, Debug)]
pub struct Query<'q> {
    /// Any text.
    pub text: &'q str,
    /// The project, or all projects.
    pub scope: Scope<'q>,
    /// Types, times, files and concepts that pass.
    pub filter: &'q Filter,
    /// Maximum number of hits.
    pub limit: usize,
    /// Current time.
    pub now: Timestamp,
    /// Time zone of the user: the days of a question are local ones.
    pub zone: &'q TimeZone,
}

/// A memory that was found.
#[derive(Clone, Debug)]
pub struct SearchHit {
    /// The memory.
    pub memory: Memory,
    /// Estimated probability that it answers the query, from 0 to 1.
    pub score: f64,
    /// The passage that matches the query best, about 200 tokens in whole lines or sentences.
    pub snippet: String,
    /// True if a file that it cites has changed since.
    pub is_stale: bool,
}

impl SearchHit {
    /// Returns its title; of a memory that has none, its first words.
    pub fn title(&self) -> String {
        const MAX_LEN: usize = 100;
        let fields = self.memory.fields();
        let text = match self.memory.handle.kind {
            // Code and diffs make no sense in one line.
            MemoryKind::Passage => self.memory.record.headline(),
            _ if fields.title.trim().is_empty() => &fields.narrative,
            _ => &fields.title,
        };
        one_line(text, MAX_LEN)
    }

    /// Returns the lines of the snippet without the part that the title above them shows already.
    pub fn snippet_below(&self, title: &str) -> Vec<String> {
        let mut shown = title.strip_suffix('…').unwrap_or(title);
        let mut lines = Vec::new();
        for line in self.snippet.lines() {
            let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some(rest) = shown.strip_prefix(line.as_str()) {
                shown = rest.trim_start();
                continue;
            }
            lines.push(match line.strip_prefix(shown) {
                Some(rest) if !shown.is_empty() && !rest.is_empty() => {
                    // A title that was cut inside a word: the whole word is repeated.
                    let from = match rest.strip_prefix(' ') {
                        Some(rest) => line.len() - rest.len(),
                        None => shown.rfind(' ').map_or(shown.len(), |blank| blank + 1),
                    };
                    format!("…{}", &line[from..])
                }
                _ => line,
            });
            shown = "";
        }
        lines
    }

    /// Returns the estimated number of tokens of the whole memory.
    pub fn tokens(&self) -> usize {
        tokens(&self.memory.fields().text())
    }
}
