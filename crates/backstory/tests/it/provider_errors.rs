//! What can go wrong with a provider: told apart, and nothing is lost in any of it.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{
    fake_provider::{Answer, Server},
    home::{Home, eventually},
    models::{KEY, TOLD, titles, turn, with_model},
};

fn reasons(home: &Home) -> Vec<String> {
    home.rows("select reason from provider_pause")
}

fn outcomes(home: &Home) -> Vec<String> {
    home.rows("select outcome from model_call order by id")
}

fn waiting(home: &Home) -> u64 {
    home.json(&["stats", "--json"])["models"]["waiting_turns"]
        .as_u64()
        .unwrap()
}

/// One case: who is asked, what comes back, what it is called.
type Case = (&'static str, Answer, &'static str);

fn cases() -> Vec<Case> {
    let (anthropic, openai) = (Answer::anthropic_error, Answer::openai_error);
    let echo = format!("Incorrect API key provided: {KEY}.");
    vec![
        (
            "anthropic",
            anthropic(401, "authentication_error", "invalid x-api-key"),
            "bad-key",
        ),
        (
            "anthropic",
            anthropic(404, "not_found_error", "model: claude-x"),
            "not-set-up",
        ),
        (
            "anthropic",
            anthropic(
                429,
                "rate_limit_error",
                "This request would exceed your rate limit",
            ),
            "rate-limited",
        ),
        (
            "anthropic",
            anthropic(
                400,
                "invalid_request_error",
                "Your credit balance is too low to access the API",
            ),
            "quota-spent",
        ),
        (
            "anthropic",
            anthropic(529, "overloaded_error", "Overloaded"),
            "unreachable",
        ),
        ("openai", openai(401, "invalid_api_key", &echo), "bad-key"),
        (
            "openai",
            openai(404, "model_not_found", "The model does not exist"),
            "not-set-up",
        ),
        (
            "openai",
            openai(429, "rate_limit_exceeded", "Rate limit reached for gpt-4.1-mini"),
            "rate-limited",
        ),
        (
            "openai",
            openai(429, "insufficient_quota", "You exceeded your current quota"),
            "quota-spent",
        ),
        (
            "openai",
            openai(503, "", "The engine is currently overloaded"),
            "unreachable",
        ),
    ]
}

#[test]
fn a_provider_in_trouble_is_left_alone_and_the_turn_waits() {
    for (provider, answer, name) in cases() {
        let server = Server::start(move |_, before| match (before, provider) {
            (0, _) => answer.clone(),
            (_, "anthropic") => Answer::anthropic(TOLD),
            _ => Answer::openai(TOLD),
        });
        let home = with_model(provider, &server);
        turn(&home, "s1", "ok");
        home.drain();
        assert_eq!(
            (reasons(&home), outcomes(&home)),
            (vec![name.to_owned()], vec![name.to_owned()])
        );
        assert!(
            titles(&home)[0].starts_with("builtin: "),
            "the rules' memories stand"
        );
        assert_eq!(waiting(&home), 1);
        let stats = home.json(&["stats", "--json"]);
        assert_eq!(stats["models"]["paused"][0]["reason"], name);
        assert_eq!(stats["models"]["budget"]["spent"], 0);
        // It is left alone, also by the next worker.
        home.drain();
        assert_eq!(server.asked().len(), 1, "{name}");
        // Whoever asks by hand looks whether it is well again, and it is.
        home.ok(&["distill", "--yes"]);
        assert_eq!(server.asked().len(), 2);
        assert!(
            titles(&home)[0].starts_with(&format!("{provider}/")),
            "{:?}",
            titles(&home)
        );
        assert_eq!((reasons(&home), waiting(&home)), (Vec::new(), 0));
        home.assert_nowhere(KEY);
    }
}

#[test]
fn a_server_that_says_when_is_asked_again_then() {
    let server = Server::start(|_, before| match before {
        0 => Answer::anthropic_error(429, "rate_limit_error", "slow down").with_header("retry-after", "2"),
        1 => {
            Answer::anthropic_error(500, "api_error", "Internal server error").with_header("retry-after", "1")
        }
        _ => Answer::anthropic(TOLD),
    });
    let home = with_model("anthropic", &server);
    let mut worker = home.command(&["worker", "run"]).spawn().unwrap();
    turn(&home, "s1", "ok");
    eventually("it is asked", || !server.asked().is_empty());
    let start = Instant::now();
    eventually("it is asked a third time", || server.asked().len() == 3);
    assert!(
        start.elapsed() > Duration::from_millis(2_900),
        "{:?}",
        start.elapsed()
    );
    eventually("its memories are there", || {
        titles(&home)[0].starts_with("anthropic/")
    });
    assert_eq!(reasons(&home), [""; 0]);
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[test]
fn after_a_pause_one_call_looks_for_all() {
    let server = Server::always(
        Answer::anthropic_error(402, "billing_error", "no credit")
            .with_header("retry-after", "1")
            .after(Duration::from_millis(300)),
    );
    let home = with_model("anthropic", &server).with("BACKSTORY_DISTILL_CONCURRENCY", "1");
    for session in ["s1", "s2", "s3", "s4"] {
        turn(&home, session, "ok");
    }
    home.drain();
    assert_eq!(server.asked().len(), 1);
    std::thread::sleep(Duration::from_millis(1_100));
    // The pause is over: four turns wait, four could ask, one does.
    let home = home.with("BACKSTORY_DISTILL_CONCURRENCY", "4");
    home.drain();
    assert_eq!(server.asked().len(), 2);
    assert_eq!(waiting(&home), 4);
}

#[test]
fn a_turn_whose_answer_breaks_off_is_paid_for_and_makes_way_for_others() {
    let server = Server::start(|asked, _| match asked.user().contains("poison") {
        true => Answer::anthropic(TOLD).broken_off(),
        false => Answer::anthropic(TOLD),
    });
    let home = with_model("anthropic", &server).with("BACKSTORY_DISTILL_CONCURRENCY", "1");
    turn(&home, "s1", "ok");
    turn(&home, "s2", "poison");
    home.drain();
    assert_eq!(outcomes(&home), ["broken-off"], "the newer turn comes first");
    let spent = "select cast(sum(coalesce(tokens_in, estimated_in)) > 500 as text) from model_call";
    assert_eq!(home.rows(spent), ["1"], "its estimate stays spent");
    // The provider is left alone for a moment; then the other turn has its turn.
    home.rows("update provider_pause set until = 0 returning provider");
    home.drain();
    home.drain();
    assert_eq!(outcomes(&home), ["broken-off", "ok"]);
    assert_eq!((reasons(&home).len(), waiting(&home)), (0, 1));
    // Whoever asks by hand need not wait.
    let asked = server.asked().len();
    home.run(&["distill", "--yes"], b"");
    assert!(server.asked().len() > asked);
}

#[test]
fn nobody_there_is_no_loss() {
    let server = Server::always(Answer::anthropic(TOLD));
    // A port that nobody listens on.
    let home = with_model("anthropic", &server).with("BACKSTORY_DISTILL_BASE_URL", "http://127.0.0.1:9");
    turn(&home, "s1", "ok");
    home.drain();
    assert_eq!(
        (reasons(&home), waiting(&home)),
        (vec!["unreachable".to_owned()], 1)
    );
    assert_eq!(home.json(&["stats", "--json"])["models"]["budget"]["spent"], 0);
    // Another address is another matter.
    let home = home.with("BACKSTORY_DISTILL_BASE_URL", server.address());
    home.drain();
    assert_eq!(waiting(&home), 0);
}

#[test]
fn without_a_key_nobody_is_asked() {
    let server = Server::always(Answer::anthropic(TOLD));
    let home = with_model("anthropic", &server).with("ANTHROPIC_API_KEY", "");
    turn(&home, "s1", "ok");
    home.drain();
    assert_eq!(
        (reasons(&home), waiting(&home)),
        (vec!["not-set-up".to_owned()], 1)
    );
    assert_eq!(server.asked().len(), 0);
    // A local server needs none.
    let local = Server::always(Answer::openai(TOLD));
    let home = with_model("openai", &local).with("OPENAI_API_KEY", "");
    turn(&home, "s1", "ok");
    home.drain();
    assert_eq!((local.asked().len(), waiting(&home)), (1, 0));
    assert_eq!(local.asked()[0].header("authorization"), None);
}

#[test]
fn an_answer_that_cannot_be_read_is_asked_for_once_more() {
    let server = Server::start(|asked, before| match before {
        0 => Answer::anthropic("I would rather write a poem."),
        _ if asked.user().contains("An earlier answer could not be read") => Answer::anthropic(TOLD),
        _ => panic!("the second question says what was wrong"),
    });
    let home = with_model("anthropic", &server);
    turn(&home, "s1", "ok");
    home.drain();
    assert_eq!(outcomes(&home), ["nonsense", "ok"]);
    assert!(titles(&home)[0].starts_with("anthropic/"));
}

#[test]
fn nonsense_and_refusals_leave_the_turn_to_the_rules() {
    let refusal: Value = serde_json::json!({"type": "message", "content": [], "stop_reason": "refusal"});
    let filtered: Value =
        serde_json::json!({"choices": [{"message": {"content": null}, "finish_reason": "content_filter"}]});
    for (provider, answer, expected) in [
        (
            "anthropic",
            Answer::anthropic("A poem."),
            vec!["nonsense", "nonsense"],
        ),
        ("anthropic", Answer::new(200, &refusal), vec!["refused"]),
        (
            "anthropic",
            Answer::anthropic_error(400, "invalid_request_error", "bad"),
            vec!["refused"],
        ),
        ("openai", Answer::new(200, &filtered), vec!["refused"]),
        (
            "openai",
            Answer::new(200, &Value::Null),
            vec!["nonsense", "nonsense"],
        ),
    ] {
        let server = Server::always(answer);
        let home = with_model(provider, &server);
        turn(&home, "s1", "ok");
        home.drain();
        assert_eq!(outcomes(&home), expected);
        assert!(titles(&home)[0].starts_with("builtin: "), "{provider}");
        assert_eq!((reasons(&home).len(), waiting(&home)), (0, 0), "{provider}");
    }
}
