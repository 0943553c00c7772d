//! Whoever listens hears everything, however much it is, or is let go and comes back.

use rusqlite::Connection;

use crate::http_client::Served;

/// More than is read at a time.
const MANY: i64 = 5_000;

/// Does something to the store as another process would.
fn elsewhere(served: &Served, sql: &str) {
    let connection = Connection::open(served.home.path().join("backstory.db")).unwrap();
    connection
        .busy_timeout(std::time::Duration::from_secs(5))
        .unwrap();
    connection.execute_batch(sql).unwrap();
}

/// Notes many changes in one commit.
fn change_much(served: &Served) {
    elsewhere(
        served,
        &format!(
            "insert into change (name, memory_id) with recursive number (n) as
                (select 1 union all select n + 1 from number where n < {MANY}) select 'note_forgotten', n from number"
        ),
    );
}

/// Hears changes until the last one, as a browser does: it comes back when it is let go.
fn heard(served: &Served, mut last: Option<i64>) -> Vec<i64> {
    let mut heard = Vec::new();
    let mut listener = served.listen(last);
    if last.is_none() {
        change_much(served);
    }
    while heard.last() != Some(&MANY) {
        match listener.next() {
            Some(told) => {
                heard.extend(told.id);
                last = told.id.or(last);
            }
            None => listener = served.listen(last),
        }
    }
    heard
}

#[test]
fn a_great_many_changes_in_one_commit_are_all_told() {
    let served = Served::start();
    assert_eq!(heard(&served, None), Vec::from_iter(1..=MANY));
}

#[test]
fn whoever_comes_back_hears_all_that_it_missed() {
    let served = Served::start();
    change_much(&served);
    assert_eq!(heard(&served, Some(0)), Vec::from_iter(1..=MANY));
}

#[test]
fn whoever_cannot_be_told_any_more_is_let_go() {
    let served = Served::start();
    let mut listener = served.listen(None);
    elsewhere(&served, "alter table change rename to lost");
    while listener.next().is_some() {}
}
