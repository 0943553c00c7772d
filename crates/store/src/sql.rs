//! Shorthands for the statements of this crate.
//!
//! All of them use the statement cache of the connection: parsing a statement again costs as much as running it.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Params, Row, RowIndex};

/// Runs cached statements.
pub(crate) trait Statements {
    /// Runs a statement; returns the number of changed rows.
    fn run(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize>;

    /// Returns the only row, and fails if there is none.
    fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T>;

    /// Returns the first row, if there is one.
    fn optional_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>>;

    /// Returns all rows.
    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>>;

    /// Returns true if there is a row.
    fn has_row(&self, sql: &str, params: impl Params) -> rusqlite::Result<bool>;
}

impl Statements for Connection {
    fn run(&self, sql: &str, params: impl Params) -> rusqlite::Result<usize> {
        self.prepare_cached(sql)?.execute(params)
    }

    fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<T> {
        self.prepare_cached(sql)?.query_row(params, read)
    }

    fn optional_row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Option<T>> {
        self.row(sql, params, read).optional()
    }

    fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> rusqlite::Result<Vec<T>> {
        self.prepare_cached(sql)?.query_map(params, read)?.collect()
    }

    fn has_row(&self, sql: &str, params: impl Params) -> rusqlite::Result<bool> {
        self.prepare_cached(sql)?.exists(params)
    }
}

/// Reads columns that hold a list as JSON.
pub(crate) trait ListColumns {
    /// Reads a list. Damaged JSON reads as an empty list.
    fn list(&self, column: impl RowIndex) -> rusqlite::Result<Vec<String>>;

    /// Reads a list that may be null. Damaged JSON reads as null.
    fn optional_list(&self, column: impl RowIndex) -> rusqlite::Result<Option<Vec<String>>>;
}

impl ListColumns for Row<'_> {
    fn list(&self, column: impl RowIndex) -> rusqlite::Result<Vec<String>> {
        Ok(self.optional_list(column)?.unwrap_or_default())
    }

    fn optional_list(&self, column: impl RowIndex) -> rusqlite::Result<Option<Vec<String>>> {
        let json = self.get_ref(column)?.as_str_or_null()?;
        Ok(json.and_then(|json| serde_json::from_str(json).ok()))
    }
}

/// Writes a list as columns hold it.
pub(crate) fn json_list(items: &[String]) -> String {
    serde_json::Value::from(items).to_string()
}

/// Returns a duration as columns hold it.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the hash of a text as columns hold it.
pub(crate) fn text_hash(text: &str) -> i64 {
    backstory_text::hash64(text.as_bytes()).cast_signed()
}

/// Escapes a text for `like … escape '\'`.
pub(crate) fn escape_like(text: &str) -> String {
    text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_")
}
