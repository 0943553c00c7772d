//! The line in which the user types: text, cursor and the usual editing keys.

/// An editable line of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QueryLine {
    text: String,
    /// A byte index at a character boundary.
    cursor: usize,
}

impl QueryLine {
    /// Returns a line with a text and the cursor behind it.
    pub(super) fn new(text: String) -> Self {
        Self {
            cursor: text.len(),
            text,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text before the cursor.
    pub(super) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    /// Inserts a text at the cursor. Line breaks become blanks, other control characters are dropped.
    pub(super) fn insert(&mut self, text: &str) {
        for letter in text.chars() {
            let letter = match letter {
                '\n' | '\r' | '\t' => ' ',
                letter if letter.is_control() => continue,
                letter => letter,
            };
            self.text.insert(self.cursor, letter);
            self.cursor += letter.len_utf8();
        }
    }

    pub(super) fn left(&mut self) {
        self.cursor = self.previous();
    }

    pub(super) fn right(&mut self) {
        let next = self.text[self.cursor..].chars().next();
        self.cursor += next.map_or(0, char::len_utf8);
    }

    pub(super) fn home(&mut self) {
        self.cursor = 0;
    }

    pub(super) fn end(&mut self) {
        self.cursor = self.text.len();
    }

    /// Deletes the character before the cursor.
    pub(super) fn backspace(&mut self) {
        self.delete_from(self.previous());
    }

    /// Deletes the character at the cursor.
    pub(super) fn delete(&mut self) {
        if self.cursor < self.text.len() {
            self.text.remove(self.cursor);
        }
    }

    /// Deletes the word before the cursor and the blanks behind it.
    pub(super) fn delete_word(&mut self) {
        let before = self.before_cursor().trim_end();
        let start = before.rfind(char::is_whitespace);
        self.delete_from(start.map_or(0, |blank| {
            blank + before[blank..].chars().next().map_or(0, char::len_utf8)
        }));
    }

    /// Deletes everything before the cursor.
    pub(super) fn delete_to_start(&mut self) {
        self.delete_from(0);
    }

    /// Deletes everything behind the cursor.
    pub(super) fn delete_to_end(&mut self) {
        self.text.truncate(self.cursor);
    }

    fn previous(&self) -> usize {
        let before = self.before_cursor().char_indices().next_back();
        before.map_or(0, |(at, _)| at)
    }

    fn delete_from(&mut self, start: usize) {
        self.text.replace_range(start..self.cursor, "");
        self.cursor = start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_around_its_cursor() {
        let mut line = QueryLine::new("retry öl".to_owned());
        line.left();
        line.insert("的\n\u{1b}x");
        assert_eq!(
            (line.text(), line.before_cursor()),
            ("retry ö的 xl", "retry ö的 x")
        );
        line.backspace();
        line.delete();
        assert_eq!(line.text(), "retry ö的 ");
        line.delete_word();
        assert_eq!(line.text(), "retry ");
        line.delete_word();
        assert_eq!((line.text(), line.before_cursor()), ("", ""));
        line.backspace();
        line.delete();
        line.right();
        assert_eq!(line, QueryLine::default());
        line.insert("one two");
        line.home();
        line.right();
        line.delete_to_start();
        assert_eq!(line.text(), "ne two");
        line.right();
        line.delete_to_end();
        assert_eq!(line.text(), "n");
        line.end();
        assert_eq!(line.before_cursor(), "n");
    }
}
