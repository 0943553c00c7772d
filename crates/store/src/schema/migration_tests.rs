//! Databases of every earlier schema keep their content when they are migrated.

use std::{collections::BTreeMap, fs};

use rusqlite::{Connection, types::Value};

use super::migrate::MIGRATIONS;
use crate::Store;

/// The rows of each table: columns by name, in the order of the row ids.
type Content = BTreeMap<String, Vec<BTreeMap<String, Value>>>;

/// Rows for tables that are empty in the stored databases, from the schema on that has the table.
const MORE_ROWS: [(usize, &str); 5] = [
    (
        1,
        "insert into note (project_id, text, files, created_at) values (1, 'Never log tokens.', '[]', 5)",
    ),
    (
        8,
        "insert into command_result (session_db_id, key, project_id, turn_id, at, failed, error)
            values (1, 77, 1, 1, 5, 'cargo test', 'no space left')",
    ),
    (
        9,
        "insert into renamed_file (project_id, old_path, new_path, at) values (1, 'a.rs', 'b.rs', 5)",
    ),
    (
        10,
        "insert into recall_outcome (session_db_id, handle, moment, at, outcome) values (1, '1', 'prompt', 5, 'used')",
    ),
    (
        11,
        "insert into team_project (project_key, shared_key, share_mode, enrolled_at) values ('k', 's', 'review', 5)",
    ),
];

/// Reads all tables but the index of texts, which searches test.
fn content(connection: &Connection) -> Content {
    const TABLES: &str = "select name from sqlite_schema where type = 'table'
        and name not like 'words%' and name not like 'document%' and name not like 'sqlite_%' order by name";
    let mut statement = connection.prepare(TABLES).unwrap();
    let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
    names
        .map(|name| {
            let name = name.unwrap();
            let rows = rows(connection, &name);
            (name, rows)
        })
        .collect()
}

fn rows(connection: &Connection, table: &str) -> Vec<BTreeMap<String, Value>> {
    let mut statement = connection.prepare(&format!("select * from {table}")).unwrap();
    let columns: Vec<String> = statement.column_names().map(ToOwned::to_owned).collect();
    let read = statement.query_map([], |row| {
        let named = columns.iter().enumerate();
        named
            .map(|(at, column)| Ok((column.clone(), row.get(at)?)))
            .collect()
    });
    read.unwrap().map(Result::unwrap).collect()
}

#[test]
fn every_older_database_keeps_its_content() {
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/databases");
    for schema in 1..MIGRATIONS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("b.db");
        fs::copy(format!("{old}/schema-{schema}.db"), &path).unwrap();
        let connection = Connection::open(&path).unwrap();
        for (_, sql) in MORE_ROWS.iter().filter(|(since, _)| *since <= schema) {
            connection.execute(sql, []).unwrap();
        }
        let before = content(&connection);
        drop(connection);
        assert!(!before["observation"].is_empty() && !before["passage"].is_empty());

        let store = Store::open(&path, folder.path()).unwrap();
        let after = content(&store.connection);
        for (table, rows) in &before {
            assert_eq!(after[table].len(), rows.len(), "schema {schema}, {table}");
            for (row, migrated) in rows.iter().zip(&after[table]) {
                for (column, value) in row {
                    assert_eq!(&migrated[column], value, "schema {schema}, {table}.{column}");
                }
            }
        }
    }
}
