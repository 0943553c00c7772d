//! Errors of providers: classified, and without loss of data.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::{
    fake_provider::{Answer, Server},
    home::{Home, eventually},
    models::{ANSWER, KEY, titles, turn, with_model},
};

fn reasons(home: &Home) -> Vec<String> {
    home.rows("select reason from provider_pause")
}

fn outcomes(home: &Home) -> Vec<String> {
    home.rows("select outcome from model_call order by id")
}

fn pending_turns(home: &Home) -> u64 {
    home.json(&["stats", "--json"])["models"]["waiting_turns"]
        .as_u64()
        .unwrap()
}

/// Provider, response, and expected error name.
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
fn a_failing_provider_is_backed_off_and_the_turn_stays_queued() {
    for (provider, answer, name) in cases() {
        let server = Server::start(move |_, before| match (before, provider) {
            (0, _) => answer.clone(),
            (_, "anthropic") => Answer::anthropic(ANSWER),
            _ => Answer::openai(ANSWER),
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
        assert_eq!(pending_turns(&home), 1);
        let stats = home.json(&["stats", "--json"]);
        assert_eq!(stats["models"]["paused"][0]["reason"], name);
        assert_eq!(stats["models"]["budget"]["spent"], 0);
        // The backoff also applies to the next worker.
        home.drain();
        assert_eq!(server.requests().len(), 1, "{name}");
        // A call by hand ignores the backoff, and succeeds.
        home.ok(&["distill", "--yes"]);
        assert_eq!(server.requests().len(), 2);
        assert!(
            titles(&home)[0].starts_with(&format!("{provider}/")),
            "{:?}",
            titles(&home)
        );
        assert_eq!((reasons(&home), pending_turns(&home)), (Vec::new(), 0));
        home.assert_nowhere(KEY);
    }
}

#[test]
fn a_retry_after_header_is_honored() {
    let server = Server::start(|_, before| match before {
        0 => Answer::anthropic_error(429, "rate_limit_error", "slow down").with_header("retry-after", "2"),
        1 => {
            Answer::anthropic_error(500, "api_error", "Internal server error").with_header("retry-after", "1")
        }
        _ => Answer::anthropic(ANSWER),
    });
    let home = with_model("anthropic", &server);
    let mut worker = home.command(&["worker", "run"]).spawn().unwrap();
    turn(&home, "s1", "ok");
    eventually("it is called", || !server.requests().is_empty());
    let start = Instant::now();
    eventually("it is called a third time", || server.requests().len() == 3);
    assert!(
        start.elapsed() > Duration::from_millis(2_900),
        "{:?}",
        start.elapsed()
    );
    eventually("its memories are stored", || {
        titles(&home)[0].starts_with("anthropic/")
    });
    assert_eq!(reasons(&home), [""; 0]);
    worker.kill().unwrap();
    worker.wait().unwrap();
}

#[test]
fn after_a_backoff_one_call_probes_the_provider() {
    let server = Server::always(
        Answer::anthropic_error(402, "billing_error", "no credit")
            .with_header("retry-after", "1")
            .after(Duration::from_millis(200)),
    );
    let home = with_model("anthropic", &server).with("BACKSTORY_DISTILL_CONCURRENCY", "1");
    for session in ["s1", "s2", "s3", "s4"] {
        turn(&home, session, "ok");
    }
    home.drain();
    assert_eq!(server.requests().len(), 1);
    home.rows("update provider_pause set until = 0 returning provider");
    // The backoff is over: four turns are queued, four threads could call, one does.
    let home = home.with("BACKSTORY_DISTILL_CONCURRENCY", "4");
    home.drain();
    assert_eq!(server.requests().len(), 2);
    assert_eq!(pending_turns(&home), 4);
}

#[test]
fn a_turn_with_an_incomplete_answer_is_billed_and_moves_to_the_end() {
    let server = Server::start(|request, _| match request.user().contains("poison") {
        true => Answer::anthropic(ANSWER).broken_off(),
        false => Answer::anthropic(ANSWER),
    });
    let home = with_model("anthropic", &server).with("BACKSTORY_DISTILL_CONCURRENCY", "1");
    turn(&home, "s1", "ok");
    turn(&home, "s2", "poison");
    home.drain();
    assert_eq!(outcomes(&home), ["broken-off"], "the newer turn comes first");
    let spent = "select cast(sum(coalesce(tokens_in, estimated_in)) > 500 as text) from model_call";
    assert_eq!(home.rows(spent), ["1"], "its estimate stays spent");
    // After a short backoff the other turn is next.
    home.rows("update provider_pause set until = 0 returning provider");
    home.drain();
    home.drain();
    assert_eq!(outcomes(&home), ["broken-off", "ok"]);
    assert_eq!((reasons(&home).len(), pending_turns(&home)), (0, 1));
    // A call by hand does not wait.
    let requests = server.requests().len();
    home.run(&["distill", "--yes"], b"");
    assert!(server.requests().len() > requests);
}

#[test]
fn an_unreachable_provider_loses_nothing() {
    let server = Server::always(Answer::anthropic(ANSWER));
    // A port without a listener.
    let home = with_model("anthropic", &server).with("BACKSTORY_DISTILL_BASE_URL", "http://127.0.0.1:9");
    turn(&home, "s1", "ok");
    home.drain();
    assert_eq!(
        (reasons(&home), pending_turns(&home)),
        (vec!["unreachable".to_owned()], 1)
    );
    assert_eq!(home.json(&["stats", "--json"])["models"]["budget"]["spent"], 0);
    // Another address has its own backoff.
    let home = home.with("BACKSTORY_DISTILL_BASE_URL", server.address());
    home.drain();
    assert_eq!(pending_turns(&home), 0);
}

#[test]
fn without_a_key_no_provider_is_called() {
    let server = Server::always(Answer::anthropic(ANSWER));
    let home = with_model("anthropic", &server).with("ANTHROPIC_API_KEY", "");
    turn(&home, "s1", "ok");
    home.drain();
    assert_eq!(
        (reasons(&home), pending_turns(&home)),
        (vec!["not-set-up".to_owned()], 1)
    );
    assert_eq!(server.requests().len(), 0);
    // A local server needs none.
    let local = Server::always(Answer::openai(ANSWER));
    let home = with_model("openai", &local).with("OPENAI_API_KEY", "");
    turn(&home, "s1", "ok");
    home.drain();
    assert_eq!((local.requests().len(), pending_turns(&home)), (1, 0));
    assert_eq!(local.requests()[0].header("authorization"), None);
}

#[test]
fn an_unreadable_answer_is_requested_once_more() {
    let server = Server::start(|request, before| match before {
        0 => Answer::anthropic("I would rather write a poem."),
        _ if request.user().contains("An earlier answer could not be read") => Answer::anthropic(ANSWER),
        _ => panic!("the second prompt names the problem"),
    });
    let home = with_model("anthropic", &server);
    turn(&home, "s1", "ok");
    home.drain();
    assert_eq!(outcomes(&home), ["nonsense", "ok"]);
    assert!(titles(&home)[0].starts_with("anthropic/"));
}

#[test]
fn unreadable_answers_and_refusals_keep_the_built_in_memories() {
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
        assert_eq!((reasons(&home).len(), pending_turns(&home)), (0, 0), "{provider}");
    }
}
