//! Reads from the input of a tool call what the tool works on.
//!
//! The field names are those of Claude Code's tools; the inputs of other hosts are renamed to them when they are captured.
//! This is the only place that knows which field names a file.

/// The input of a tool call, over any JSON reader.
#[derive(Clone, Copy, Debug)]
pub struct ToolInput<F> {
    field: F,
}

/// The subject of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolSubject<T> {
    /// A file that is read or changed.
    File(T),
    /// A command, a search pattern, a URL, a folder or a description.
    Other(T),
}

impl<T: AsRef<str>, F: Fn(&str) -> Option<T>> ToolInput<F> {
    /// Wraps a function that returns a field of the input if it is a string.
    pub const fn new(field: F) -> Self {
        Self { field }
    }

    /// Returns the file that the tool reads or changes.
    pub fn file(&self) -> Option<T> {
        self.first(&["file_path", "notebook_path"])
    }

    /// Returns the file that the tool works on, or else the folder that it searches.
    pub fn path(&self) -> Option<T> {
        self.file().or_else(|| self.first(&["path"]))
    }

    /// Returns the shell command that the tool runs.
    pub fn command(&self) -> Option<T> {
        self.first(&["command"])
    }

    /// Returns the most specific subject of the call.
    pub fn subject(&self) -> Option<ToolSubject<T>> {
        const OTHERS: [&str; 6] = ["command", "pattern", "query", "url", "description", "path"];
        let file = self.file().map(ToolSubject::File);
        file.or_else(|| self.first(&OTHERS).map(ToolSubject::Other))
    }

    fn first(&self, names: &[&str]) -> Option<T> {
        let fields = names.iter().filter_map(|name| (self.field)(name));
        fields.into_iter().find(|text| !text.as_ref().is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input<'t>(fields: &'t [(&str, &'t str)]) -> ToolInput<impl Fn(&str) -> Option<&'t str>> {
        ToolInput::new(|name: &str| {
            let field = fields.iter().find(|(field, _)| *field == name);
            field.map(|(_, text)| *text)
        })
    }

    #[test]
    fn a_file_is_the_subject_before_anything_else() {
        let edit = [("command", "x"), ("notebook_path", "a.ipynb"), ("file_path", "")];
        assert_eq!(input(&edit).subject(), Some(ToolSubject::File("a.ipynb")));
        let search = [("path", "src"), ("pattern", "fn main")];
        assert_eq!(input(&search).subject(), Some(ToolSubject::Other("fn main")));
        assert_eq!(input(&search).file(), None);
        assert_eq!(input(&search).path(), Some("src"));
        assert_eq!(input(&[("command", "ls")]).command(), Some("ls"));
        assert_eq!(input(&[]).subject(), None);
    }
}
