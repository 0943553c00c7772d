//! Remembers the files that a turn writes, for commands that read their text from one: `gh pr create --body-file x`.

/// The most files that are remembered; the latest count.
const MAX_FILES: usize = 8;

/// The latest files that were written whole.
#[derive(Debug, Default)]
pub(super) struct WrittenFiles {
    files: Vec<(String, String)>,
}

impl WrittenFiles {
    /// Notes the content of a file.
    pub(super) fn note(&mut self, path: &str, content: &str) {
        self.files.retain(|(known, _)| known != path);
        if self.files.len() >= MAX_FILES {
            self.files.remove(0);
        }
        self.files.push((path.to_owned(), content.to_owned()));
    }

    /// Returns the content of a file that was written in this turn.
    pub(super) fn get(&self, path: &str) -> Option<&str> {
        let found = self.files.iter().rfind(|(known, _)| known == path);
        found.map(|(_, content)| content.as_str())
    }
}
