//! A search and the memories that it finds.

use backstory_model::Timestamp;
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
    /// The part that matches the query best.
    pub snippet: String,
    /// True if a file that it cites has changed since.
    pub is_stale: bool,
}

impl SearchHit {
    /// Returns its title; of a memory that has none, its first words.
    pub fn title(&self) -> String {
        const MAX_LEN: usize = 100;
        let fields = self.memory.fields();
        let text = if fields.title.trim().is_empty() {
            &fields.narrative
        } else {
            &fields.title
        };
        one_line(text, MAX_LEN)
    }

    /// Returns the snippet without the part that the title above it shows already.
    pub fn snippet_below(&self, title: &str) -> Option<String> {
        /// Longer than any snippet.
        const WHOLE: usize = 1_000;
        let snippet = one_line(&self.snippet, WHOLE);
        if snippet.is_empty() || snippet == title {
            return None;
        }
        let start = title.strip_suffix('…').filter(|start| snippet.starts_with(start));
        let Some(start) = start else { return Some(snippet) };
        let from = match &snippet[start.len()..] {
            "" => return None,
            rest if rest.starts_with(' ') => start.len() + 1,
            // The title was cut inside a word: the snippet repeats the whole word.
            _ => start.rfind(' ').map_or(start.len(), |blank| blank + 1),
        };
        Some(format!("…{}", &snippet[from..]))
    }

    /// Returns the estimated number of tokens of the whole memory.
    pub fn tokens(&self) -> usize {
        tokens(&self.memory.fields().text())
    }
}
