//! Names that announce the value of another JSON string: `{"name":"DB_PASSWORD","value":"x"}`, the columns of a table.
//!
//! Only relates strings to names. Whether a name announces a secret is decided by `secrets`.

use backstory_secrets as secrets;

use crate::payload::string_end;

/// Keys whose value names what another key of the object holds.
const NAME_KEYS: &[&str] = &[
    "name",
    "key",
    "variable",
    "var",
    "field",
    "header",
    "param",
    "parameter",
    "setting",
    "option",
    "property",
    "env",
    "column",
    "k",
    "id",
    "label",
];

/// Keys whose value is the named one.
const VALUE_KEYS: &[&str] = &[
    "value",
    "val",
    "v",
    "values",
    "new_value",
    "newValue",
    "old_value",
    "oldValue",
    "stringValue",
    "string_value",
    "default",
];

/// The longest name of a column or setting.
const MAX_NAME_LEN: usize = 64;

/// The largest number of columns of a table.
const MAX_COLUMNS: usize = 256;

/// The distance in which the name is searched after its value.
const NAME_REACH: usize = 512;

/// An object or array that is not closed yet.
#[derive(Debug)]
pub(crate) enum Container<'t> {
    /// An object and the value of its first key that names something.
    Object { name: Option<&'t str> },
    /// An array.
    Array {
        /// The number of its elements so far.
        elements: usize,
        /// Its elements, as far as they may name columns.
        columns: Vec<&'t str>,
    },
}

impl Container<'_> {
    /// Opens the container whose bracket is `bracket`.
    pub(crate) fn opened(bracket: u8) -> Self {
        if bracket == b'{' {
            Self::Object { name: None }
        } else {
            Self::Array {
                elements: 0,
                columns: Vec::new(),
            }
        }
    }

    /// Returns the closing bracket.
    pub(crate) fn close(&self) -> char {
        match self {
            Self::Object { .. } => '}',
            Self::Array { .. } => ']',
        }
    }
}

/// The names that the strings of one payload have announced so far.
#[derive(Debug, Default)]
pub(crate) struct Announcements<'t> {
    /// The columns of the last table that has one for secrets.
    columns: Vec<&'t str>,
}

impl<'t> Announcements<'t> {
    /// Returns the name of the value that ends at `end` in `raw`: usually its key.
    pub(crate) fn name_of(
        &self,
        open: &mut [Container<'t>],
        key: Option<&'t str>,
        raw: &'t str,
        end: usize,
    ) -> Option<&'t str> {
        match open {
            [.., Container::Object { name }] if key.is_some_and(|key| VALUE_KEYS.contains(&key)) => {
                name.or_else(|| name_after(raw, end)).or(key)
            }
            // The row of a table is an array in an array.
            [.., Container::Array { .. }, Container::Array { elements, .. }] => {
                let column = self.columns.get(*elements).copied();
                *elements += 1;
                column.filter(|name| !name.is_empty()).or(key)
            }
            _ => key,
        }
    }

    /// Notes a string that may name its neighbor or a column.
    pub(crate) fn note_string(&self, open: &mut [Container<'t>], key: Option<&'t str>, inside: &'t str) {
        match open.last_mut() {
            Some(Container::Object { name }) if name.is_none() => {
                *name = key.filter(|key| NAME_KEYS.contains(key)).map(|_| inside);
            }
            Some(Container::Array { columns, .. }) => push_column(columns, inside),
            _ => {}
        }
    }

    /// Notes consecutive strings of an array.
    pub(crate) fn note_strings(&self, open: &mut [Container<'t>], insides: &[&'t str]) {
        if let Some(Container::Array { columns, .. }) = open.last_mut()
            && insides.len() <= MAX_COLUMNS
        {
            for inside in insides {
                push_column(columns, inside);
            }
        }
    }

    /// Reports whether the innermost container is the row of a table with a column for secrets.
    pub(crate) fn is_row(&self, open: &[Container<'t>]) -> bool {
        !self.columns.is_empty() && matches!(open, [.., Container::Array { .. }, Container::Array { .. }])
    }

    /// Closes the innermost container.
    pub(crate) fn close(&mut self, open: &mut Vec<Container<'t>>) {
        let closed = open.pop();
        if let Some(Container::Array { columns, elements }) = open.last_mut() {
            *elements += 1;
            if let Some(Container::Object { name: Some(name) }) = closed {
                push_column(columns, name);
            }
        }
        if let Some(Container::Array { columns, .. }) = closed
            && columns
                .iter()
                .any(|name| !name.is_empty() && secrets::is_secret_name(name))
        {
            self.columns = columns;
        }
    }
}

/// Adds the name of a column, or an empty one for a string that is no name.
fn push_column<'t>(columns: &mut Vec<&'t str>, name: &'t str) {
    if columns.len() == MAX_COLUMNS {
        return;
    }
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-. ".contains(&byte);
    let is_name = name.len() <= MAX_NAME_LEN
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(is_part);
    columns.push(if is_name { name } else { "" });
}

/// Returns the name in the rest of an object, whose first members follow `at`.
fn name_after(raw: &str, at: usize) -> Option<&str> {
    let near = &raw[at..raw.floor_char_boundary(at + NAME_REACH)];
    let mut rest = near;
    loop {
        rest = rest.trim_ascii_start().strip_prefix(',')?.trim_ascii_start();
        let (key, after) = string_at(rest)?;
        rest = after.trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
        let Some((value, after)) = string_at(rest) else {
            // A number, `true` or `null`: anything nested ends the search.
            rest = &rest[rest.find([',', '{', '[', '}'])?..];
            continue;
        };
        if NAME_KEYS.contains(&key) {
            return Some(value);
        }
        rest = after;
    }
}

/// Returns the string that a text starts with, and the text after it.
fn string_at(text: &str) -> Option<(&str, &str)> {
    if !text.starts_with('"') {
        return None;
    }
    let end = string_end(text, 0)?;
    Some((&text[1..end - 1], &text[end..]))
}
