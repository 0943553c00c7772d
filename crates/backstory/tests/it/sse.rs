//! Event stream: clients get all changes, or are disconnected and catch up.

use rusqlite::Connection;

use crate::http_client::Served;

/// More than the server reads at a time.
const MANY: i64 = 5_000;

/// Changes the store as another process would.
fn execute_elsewhere(served: &Served, sql: &str) {
    let connection = Connection::open(served.home.path().join("backstory.db")).unwrap();
    connection
        .busy_timeout(std::time::Duration::from_secs(5))
        .unwrap();
    connection.execute_batch(sql).unwrap();
}

/// Records many changes in one commit.
fn change_much(served: &Served) {
    execute_elsewhere(
        served,
        &format!(
            "insert into change (name, memory_id) with recursive number (n) as
                (select 1 union all select n + 1 from number where n < {MANY}) select 'note_forgotten', n from number"
        ),
    );
}

/// Receives changes until the last one, and reconnects like a browser when disconnected.
fn receive_until_last(served: &Served, mut last: Option<i64>) -> Vec<i64> {
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
fn many_changes_in_one_commit_are_all_sent() {
    let served = Served::start();
    assert_eq!(receive_until_last(&served, None), Vec::from_iter(1..=MANY));
}

#[test]
fn a_client_that_reconnects_gets_what_it_missed() {
    let served = Served::start();
    change_much(&served);
    assert_eq!(receive_until_last(&served, Some(0)), Vec::from_iter(1..=MANY));
}

#[test]
fn clients_are_disconnected_when_changes_cannot_be_read() {
    let served = Served::start();
    let mut listener = served.listen(None);
    execute_elsewhere(&served, "alter table change rename to lost");
    while listener.next().is_some() {}
}
