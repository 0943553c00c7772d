//! Cost of models: the budget, the ledger, `stats` and `distill`.

use std::{fs, os::unix::fs::FileExt, time::Duration};

use serde_json::Value;

use crate::{
    backup::copies,
    fake_provider::{Answer, Server},
    home::{Home, settings, text},
    models::{ANSWER, titles, turn, with_model},
};

#[test]
fn concurrent_calls_exceed_the_budget_at_most_once() {
    let server = Server::always(Answer::anthropic(ANSWER).after(Duration::from_millis(200)));
    let home = with_model("anthropic", &server)
        .with("BACKSTORY_DISTILL_DAILY_TOKENS", "1000")
        .with("BACKSTORY_DISTILL_CONCURRENCY", "4");
    for session in ["s1", "s2", "s3", "s4"] {
        turn(&home, session, "ok");
    }
    home.drain();
    assert_eq!(
        server.requests().len(),
        1,
        "the call that passes the budget is the last"
    );
    let budget = &home.json(&["stats", "--json"])["models"]["budget"];
    assert_eq!(
        (&budget["spent"], &budget["left"]),
        (&Value::from(1500), &Value::from(0))
    );
    // Nothing is lost: three turns stay queued, and the memories of the built-in rules stay.
    assert_eq!(home.json(&["stats", "--json"])["models"]["waiting_turns"], 3);
    assert_eq!(
        home.rows("select distinct distiller from summary order by 1"),
        ["anthropic/claude-haiku-4-5", "builtin"]
    );
    let output = home.run(&["distill", "--yes"], b"");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stdout);
    assert!(
        said.contains("3 turns skipped: the daily budget is spent."),
        "{said}"
    );
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn a_session_over_its_budget_keeps_the_built_in_memories() {
    let server = Server::always(Answer::anthropic(ANSWER));
    let home = with_model("anthropic", &server).with("BACKSTORY_DISTILL_SESSION_TOKENS", "1000");
    for _ in 0..3 {
        turn(&home, "s1", "ok");
        home.drain();
    }
    turn(&home, "s2", "ok");
    home.drain();
    assert_eq!(server.requests().len(), 2, "one for each session");
    assert_eq!(home.json(&["stats", "--json"])["models"]["waiting_turns"], 0);
}

#[test]
fn todays_usage_survives_a_restore() {
    let server = Server::always(Answer::anthropic(ANSWER));
    let home = with_model("anthropic", &server);
    let spent = |home: &Home| home.json(&["stats", "--json"])["models"]["budget"]["spent"].clone();
    turn(&home, "s1", "ok");
    home.drain();
    let made = home.json(&["backup", "--json"]);
    turn(&home, "s2", "ok");
    home.drain();
    assert_eq!(spent(&home), 3000);
    home.ok(&["restore", made["path"].as_str().unwrap(), "--yes"]);
    assert_eq!(spent(&home), 3000);
    // Also when a damaged database is rebuilt from an old backup and readable data.
    for newer in ["daily-", "before-restore-"]
        .iter()
        .flat_map(|prefix| copies(&home, prefix))
    {
        fs::remove_file(newer).unwrap();
    }
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    let sql = "select (rootpage - 1) * page_size from sqlite_schema, pragma_page_size() where name = 'session_by_time'";
    let at: u64 = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    connection
        .query_row("pragma wal_checkpoint(truncate)", [], |_| Ok(()))
        .unwrap();
    drop(connection);
    let file = fs::File::options()
        .write(true)
        .open(home.path().join("backstory.db"))
        .unwrap();
    file.write_all_at(&[0xa5; 64], at).unwrap();
    assert!(text(&home.run(&["sessions"], b"").stderr).contains("rebuilt from"));
    assert_eq!(spent(&home), 3000);
    assert_eq!(home.rows("pragma integrity_check"), ["ok"]);
}

fn spent() -> (Server, Home) {
    let server = Server::always(Answer::anthropic(ANSWER));
    let home = with_model("anthropic", &server).with("BACKSTORY_UI_TIMEZONE", "UTC");
    turn(&home, "s1", "test result: ok. 3 passed; 0 failed");
    home.drain();
    (server, home)
}

#[test]
fn stats_show_memory_counts_and_cost() {
    let (_server, home) = spent();
    let mut settings = settings();
    settings.add_filter(r"size( +)\d+ KB", "size$1[size]");
    settings.bind(|| insta::assert_snapshot!("stats", home.ok(&["stats"])));
    let stats = home.json(&["stats", "--json"]);
    assert_eq!(stats["memories"]["observation"], 1);
    assert_eq!(stats["types"]["bugfix"], 1);
    let models = &stats["models"];
    for span in ["today", "last_7_days", "all"] {
        let one = &models[span][0];
        assert_eq!(
            (&one["tokens_in"], &one["tokens_out"], &one["calls"]),
            (&Value::from(1200), &Value::from(300), &Value::from(1))
        );
        // 1,200 tokens at one dollar and 300 at five dollars per million.
        assert_eq!(one["cost_micro_dollars"], 2700);
    }
    assert_eq!(models["tokens_per_memory"], 750);
    assert_eq!(models["budget"]["left"], 198_500);
}

#[test]
fn a_user_price_applies_and_an_unknown_one_is_not_guessed() {
    for (model, prices, cost) in [
        ("claude-haiku-4-5", "claude-haiku=2/10", Value::from(4200)),
        ("some-llama", "", Value::Null),
    ] {
        let server = Server::always(Answer::openai(ANSWER));
        let home = with_model("openai", &server)
            .with("BACKSTORY_DISTILL_MODEL", model)
            .with("BACKSTORY_DISTILL_PRICES", prices);
        turn(&home, "s1", "ok");
        home.drain();
        let all = home.json(&["stats", "--json"])["models"]["all"][0].clone();
        assert_eq!(all["cost_micro_dollars"], cost, "{model}");
    }
}

#[test]
fn past_turns_are_sent_to_a_model_only_on_request() {
    let server = Server::always(Answer::anthropic(ANSWER));
    let home = with_model("anthropic", &server).with("BACKSTORY_DISTILL_PROVIDER", "builtin");
    for session in ["s1", "s2"] {
        turn(&home, session, "ok");
    }
    home.drain();
    let output = home.run(&["distill", "--since", "1d", "--dry-run"], b"");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no model is configured"));
    let home = home.with("BACKSTORY_DISTILL_PROVIDER", "anthropic");
    // Turns from before a model was configured are not queued for one.
    assert_eq!(home.ok(&["distill", "--dry-run"]), "No turns to distill.\n");
    let plan = home.json(&["distill", "--since", "1d", "--dry-run", "--json"]);
    assert_eq!(
        (&plan["turns"], &plan["tokens_out"]),
        (&Value::from(2), &Value::from(1800))
    );
    assert_eq!(plan["items"].as_array().unwrap().len(), 2);
    let output = home.run(&["distill", "--since", "1d"], b"");
    assert_eq!(output.status.code(), Some(2), "no terminal for a confirmation");
    assert!(
        text(&output.stdout).starts_with("2 turns: about "),
        "{}",
        text(&output.stdout)
    );
    assert_eq!(server.requests().len(), 0);
    let done = home.json(&["distill", "--session", "s1", "--yes", "--json"]);
    assert_eq!(
        (&done["distilled"], &done["tokens_in"]),
        (&Value::from(1), &Value::from(1200))
    );
    assert_eq!(server.requests().len(), 1);
    assert_eq!(
        titles(&home)
            .iter()
            .filter(|title| title.starts_with("anthropic/"))
            .count(),
        1
    );
}

#[test]
fn imported_sessions_are_not_sent_to_a_model() {
    let server = Server::always(Answer::anthropic(ANSWER));
    let home = with_model("anthropic", &server);
    let transcripts = crate::home::recorded_folder();
    home.ok(&["import", "claude-code", transcripts.to_str().unwrap()]);
    home.drain();
    assert_eq!(server.requests().len(), 0);
    assert!(!home.rows("select distiller from summary").is_empty());
    let plan = home.json(&["distill", "--since", "2000-01-01", "--dry-run", "--json"]);
    assert!(plan["turns"].as_u64() > Some(0), "{plan}");
}
