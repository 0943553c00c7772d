//! Private spans, secrets and injected text never reach the disk.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::home::Home;

/// Records a whole turn with a prompt.
fn turn(home: &Home, prompt_id: &str, prompt: &str, work: &str) {
    let id = json!(prompt_id);
    home.report("user-prompt-submit", &json!({"prompt_id": id, "prompt": prompt}));
    home.report(
        "post-tool-use",
        &json!({"prompt_id": id, "tool_name": "Bash", "tool_input": {"command": work},
        "tool_response": {"stdout": work}}),
    );
    home.report(
        "post-tool-use-failure",
        &json!({"prompt_id": id, "tool_name": "Bash", "error": work}),
    );
    home.report(
        "pre-compact",
        &json!({"prompt_id": id, "custom_instructions": work}),
    );
    home.report(
        "subagent-stop",
        &json!({"prompt_id": id, "agent_id": format!("agent-{prompt_id}"), "agent_type": "Explore",
        "last_assistant_message": work}),
    );
    home.report("stop", &json!({"prompt_id": id, "last_assistant_message": work}));
}

#[test]
fn nothing_of_a_fully_private_turn_is_stored() {
    let home = Home::new();
    turn(&home, "p1", "first question", "plain work one");
    turn(&home, "p2", "<private>tell nobody</private>", "hidden work");
    home.assert_nowhere("tell nobody");
    home.assert_nowhere("hidden work");
    assert_eq!(home.spooled().len(), 6);
    turn(&home, "p3", "third question", "plain work three");
    assert_eq!(home.spooled().len(), 12);
    // A background task of the private turn ends later: still private.
    home.report(
        "subagent-stop",
        &json!({"prompt_id": "p3", "agent_id": "agent-p2", "agent_type": "Explore",
        "last_assistant_message": "hidden work"}),
    );
    home.report(
        "post-tool-use",
        &json!({"prompt_id": "p2", "tool_name": "Bash", "tool_response": "hidden work"}),
    );
    home.report("session-end", &json!({"reason": "other"}));
    home.drain();
    home.assert_nowhere("hidden work");
    home.assert_nowhere("tell nobody");
    let session = home.json(&["session", "s1", "--json"]);
    let prompts: Vec<&Value> = session["turns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|turn| &turn["prompt"])
        .collect();
    assert_eq!(prompts, ["first question", "third question"]);
    assert_eq!(session["status"], "completed");
}

#[test]
fn a_machine_made_prompt_does_not_end_a_private_turn() {
    let home = Home::new();
    home.report(
        "user-prompt-submit",
        &json!({"prompt_id": "p1", "prompt": "<private>look at the payroll</private>"}),
    );
    home.report(
        "post-tool-use",
        &json!({"prompt_id": "p1", "tool_name": "Agent", "tool_response": {"agentId": "a1"}}),
    );
    let notification = "<task-notification><result>payroll is high</result></task-notification>";
    home.report(
        "user-prompt-submit",
        &json!({"prompt_id": "p2", "prompt": notification}),
    );
    home.report(
        "stop",
        &json!({"prompt_id": "p2", "last_assistant_message": "payroll is high"}),
    );
    assert!(home.spooled().is_empty());
    home.assert_nowhere("payroll");
}

#[test]
fn the_answer_to_a_task_of_a_private_turn_is_private() {
    for (launched, answer_id) in [
        ("agentId", json!("p3")),
        ("backgroundTaskId", json!("p3")),
        ("agentId", json!(null)),
    ] {
        let home = Home::new();
        let report = |event: &str, id: &Value, fields: Value| {
            let mut payload = fields;
            payload["prompt_id"] = id.clone();
            home.report(event, &payload);
        };
        let prompt = |id: &Value, text: &str| report("user-prompt-submit", id, json!({"prompt": text}));
        prompt(&json!("p1"), "<private>look at the payroll</private>");
        report(
            "post-tool-use",
            &json!("p1"),
            json!({"tool_name": "Agent", "tool_response": {launched: "a1"}}),
        );
        prompt(&json!("p2"), "go on with the tests");
        report(
            "stop",
            &json!("p2"),
            json!({"last_assistant_message": "tests pass"}),
        );
        prompt(
            &answer_id,
            "<task-notification>\n<task-id>a1</task-id>\n<result>payroll</result></task-notification>",
        );
        report(
            "post-tool-use",
            &answer_id,
            json!({"tool_name": "Bash", "tool_response": {"stdout": "payroll"}}),
        );
        report(
            "stop",
            &answer_id,
            json!({"last_assistant_message": "the payroll is high"}),
        );
        home.assert_nowhere("payroll");
        assert_eq!(home.spooled().len(), 2, "{launched}");
        prompt(&json!("p4"), "and now the docs");
        report(
            "stop",
            &json!("p4"),
            json!({"last_assistant_message": "docs done"}),
        );
        assert_eq!(home.spooled().len(), 4, "{launched}");
    }
}

#[test]
fn secrets_between_colors_and_in_the_lines_of_a_patch_reach_no_file() {
    let home = Home::new();
    let key = ["AKIA", "Q3EGRZJ5TVWXNKP7"].concat();
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Bash", "tool_input": {"command": "./show"},
        "tool_response": {"stdout": format!("\u{1b}[32m{key}\u{1b}[0m\n"), "stderr": ""}}),
    );
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let lines = [
        "+-----BEGIN PRIVATE KEY-----",
        &format!("+{body}"),
        "+-----END PRIVATE KEY-----",
    ];
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Write", "tool_input": {"file_path": "/w/deploy.txt"},
        "tool_response": {"structuredPatch": [{"oldStart": 0, "newStart": 1, "lines": lines}]}}),
    );
    assert_eq!(home.spooled().len(), 2);
    home.assert_nowhere(&key);
    home.assert_nowhere(body);
    home.drain();
    home.assert_nowhere(&key);
    home.assert_nowhere(body);
}

#[test]
fn a_secret_is_redacted_in_later_events_of_its_session() {
    let home = Home::new();
    let secret = ["q8Zt3Lr", "Wp5Vn2Kx7Jd4Hs"].concat();
    let output = |session: &str, text: String| {
        home.report(
            "post-tool-use",
            &json!({"session_id": session, "tool_name": "Bash", "tool_response": {"stdout": text}}),
        );
    };
    output("s1", format!("ADAFRUIT_TOKEN={secret}"));
    output("s1", format!("sent to https://acme.dev/{secret}/x"));
    output("s1", format!("line\n{secret}\n"));
    home.assert_nowhere(&secret);
    assert!(home.spooled_text().contains("[redacted:repeated]"));
    home.drain();
    home.assert_nowhere(&secret);
    // Nothing announces it in another session.
    output("s2", format!("line\n{secret}\n"));
    assert!(home.spooled_text().contains(&secret));
}

#[test]
fn private_turns_are_private_to_their_session() {
    let home = Home::new();
    home.report("user-prompt-submit", &json!({"prompt": "<private>x</private>"}));
    home.report(
        "user-prompt-submit",
        &json!({"session_id": "s2", "prompt": "hello"}),
    );
    home.report("post-tool-use", &json!({"session_id": "s2", "tool_name": "Bash"}));
    assert_eq!(home.spooled().len(), 2);
}

#[test]
fn a_machine_made_prompt_is_marked_and_not_counted_as_the_users_words() {
    let home = Home::new();
    let notification = crate::home::recorded()
        .into_iter()
        .find(|(name, _)| name == "UserPromptSubmit.task-notification")
        .map(|(_, payload)| payload)
        .unwrap();
    home.hook("user-prompt-submit", notification.as_bytes());
    let session = home.json(&["session", "0000", "--json"]);
    assert_eq!(
        (&session["prompts"], &session["turns"][0]["machine_made"]),
        (&json!(0), &json!(true))
    );
    assert_eq!(session["first_prompt"], Value::Null);
}

/// Injected text comes back in prompts and tool output.
#[test]
fn injected_memory_is_never_captured_again() {
    let home = Home::new();
    let echo = "<backstory-context>\n#12 old memory\n</backstory-context>";
    home.report(
        "user-prompt-submit",
        &json!({"prompt": format!("{echo} and now this")}),
    );
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Read", "tool_response": {"content": format!("a {echo} b")}}),
    );
    home.report(
        "post-tool-use",
        &json!({"tool_name": "mcp__backstory__search", "tool_response": "old memory"}),
    );
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Bash", "tool_input": {"command": "backstory search x"},
        "tool_response": {"stdout": "old memory"}}),
    );
    home.assert_nowhere("old memory");
    assert_eq!(home.spooled().len(), 3);
    assert!(home.spooled_text().contains("and now this"));
}

/// Generates one secret of each family.
fn secrets() -> impl Strategy<Value = (&'static str, String)> {
    let word = |alphabet: &'static str, length: usize| {
        prop::collection::vec(prop::sample::select(alphabet.as_bytes().to_vec()), length)
            .prop_map(|bytes| String::from_utf8(bytes).unwrap())
    };
    const ALNUM: &str = "ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0123456789";
    const UPPER: &str = "ABCDEFGHJKLMNPQRSTUVWXYZ234567";
    let families: Vec<(&'static str, &'static str, &'static str, usize)> = vec![
        ("AKIA{}", "{}", UPPER, 16),
        ("token ghp_{} end", "{}", ALNUM, 36),
        ("sk-ant-api03-{}", "{}", ALNUM, 40),
        ("xoxb-123456789012-{}", "{}", ALNUM, 24),
        ("postgres://app:{}@db.internal/main", "{}", ALNUM, 18),
        ("export DB_PASSWORD={}", "{}", ALNUM, 14),
        ("{\"client_secret\": \"{}\"}", "{}", ALNUM, 32),
        ("Authorization: Bearer {}", "{}", ALNUM, 40),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE{}\n-----END RSA PRIVATE KEY-----",
            "{}",
            ALNUM,
            64,
        ),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{}", "{}", ALNUM, 43),
        ("curl -u admin:{} https://x.test", "{}", ALNUM, 12),
    ];
    prop::sample::select(families).prop_flat_map(move |(template, _, alphabet, length)| {
        word(alphabet, length).prop_map(move |secret| (template, secret))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_secret_and_no_private_span_is_in_any_file(
        (template, secret) in secrets(),
        private in "[A-Z]{12,20}",
        filler in "[a-z \n\"\\\\{}:,;<>/é]{0,200}",
        field in 0usize..6,
        spread in any::<bool>(),
        far in any::<bool>(),
    ) {
        let home = Home::new();
        let hidden = template.replace("{}", &secret);
        let filler = if far { filler.repeat(400) } else { filler };
        let text = format!("{filler}\n{hidden}\n{filler}");
        let (open, close) = if spread {
            (format!("a <private>{private}"), format!("{private}</PRIVATE> b"))
        } else {
            (format!("a <private>{private}</private>"), "b".to_owned())
        };
        let tool = |value: Value| json!({"tool_name": "Bash", "tool_input": {"command": open, "note": [close]}, "tool_response": value});
        let (event, fields) = match field {
            0 => ("user-prompt-submit", json!({"prompt": format!("say {open} {close} {text}")})),
            1 => ("post-tool-use", tool(json!({"stdout": text, "n": 1}))),
            2 => ("post-tool-use", tool(json!([{"type": "text", "text": text}, {"a": {"b": [text]}}]))),
            3 => ("post-tool-use-failure", json!({"error": format!("{open} {close} {text}")})),
            4 => ("stop", json!({"last_assistant_message": format!("{text} {open} {close}")})),
            _ => ("pre-compact", json!({"custom_instructions": format!("{open} {close} {text}"), "new_field": {"x": text}})),
        };
        home.report(event, &fields);
        prop_assert_eq!(home.spooled().len(), 1);
        home.assert_nowhere(&secret);
        home.assert_nowhere(&private);
        home.drain();
        home.assert_nowhere(&secret);
        home.assert_nowhere(&private);
    }
}
