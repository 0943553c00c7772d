//! The text of a memory by the columns of the word index.

/// Holds the text of a memory by the columns of the word index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields {
    /// The title of an observation or the request of a summary.
    pub title: String,
    /// The subtitle of an observation or the intent of a passage.
    pub subtitle: String,
    /// Facts, one per line.
    pub facts: String,
    /// The narrative, or the whole text of a memory without fields.
    pub narrative: String,
    /// Files, one per line.
    pub files: String,
}

impl Fields {
    /// Returns the memory as one text, the most specific field first.
    pub fn text(&self) -> String {
        let parts = [&self.title, &self.subtitle, &self.facts, &self.narrative];
        let parts: Vec<&str> = parts
            .into_iter()
            .map(|part| part.trim())
            .filter(|part| !part.is_empty())
            .collect();
        parts.join("\n")
    }
}
