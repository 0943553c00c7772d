//! Tests for texts that must not become records.

use super::*;

const KEY: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fn with_prompt_id(id: &str, line: Value) -> Value {
    with(line, json!({ "promptId": id }))
}

#[test]
fn nothing_of_a_private_turn_is_recorded() {
    let private_turn = [
        with(
            with_prompt_id("p1", user("<private>x</private>")),
            json!({"cwd": "/private"}),
        ),
        assistant(
            "m1",
            &[text("S"), tool_use("t1", "Bash", json!({"command": "S"}))],
        ),
        with_prompt_id("p1", user(json!([tool_result("t1", "S")]))),
        with(
            assistant("m2", &[text("S")]),
            json!({"isSidechain": true, "agentId": "a1"}),
        ),
        user("<bash-input>S</bash-input>"),
        user("[Request interrupted by user]"),
        user("<task-notification><task-id>z</task-id>S</task-notification>"),
        assistant("m3", &[text("S")]),
        json!({"type": "ai-title", "aiTitle": "S"}),
        with(
            user("<command-name>/clear</command-name>"),
            json!({"cwd": "/private"}),
        ),
    ];
    let after = [
        with(user("Go on."), json!({"cwd": "/w"})),
        assistant("m4", &[text("Going.")]),
        // A late summary that covers the private turn.
        with_prompt_id("p1", user(json!([tool_result("t9", "S")]))),
        with(user("S"), json!({"isCompactSummary": true})),
        json!({"type": "ai-title", "aiTitle": "S"}),
        json!({"type": "custom-title", "customTitle": "Mine"}),
    ];
    let before = [user("First."), assistant("m0", &[text("Done.")])];
    let (records, skipped) = read(&file(&[&before[..], &private_turn, &after].concat()));
    let expected =
        "prompt First.\nprose Done.\nfacts - /w - - - -\nprompt Go on.\nprose Going.\nfacts - /w - - - Mine";
    assert_eq!(shown(&records), expected);
    assert_eq!(skipped.private, 11);
}

#[test]
fn a_private_prompt_may_span_several_blocks() {
    let private = [
        user("<PRIVATE>S"),
        user("<private>S</private>."),
        user("<pri\u{200b}vate>S</private>"),
        user("&lt;private&gt;S&lt;/private&gt;"),
        user(json!([text("<private>S"), text("S</private>\n")])),
        user(json!([{"type": "image"}, text("<private>S</private>")])),
        user(json!([
            text("<system-reminder>r</system-reminder>"),
            text("\u{3c}private>S</private>")
        ])),
        user(json!([
            text("[Request interrupted by user]"),
            text("<private>S</private>")
        ])),
        user(json!([tool_result("t1", "<private>"), text("S")])),
        json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "<private>S</private>"}}),
    ];
    for prompt in private {
        let shown = rendered(&[prompt.clone(), assistant("m1", &[text("S")])]);
        assert!(!shown.contains('S'), "{prompt}: {shown}");
    }
    let partly = [
        user("Fix <private>S</private> it."),
        assistant("m1", &[text("Fixed.")]),
    ];
    assert_eq!(rendered(&partly), "prompt Fix  it.\nprose Fixed.");
    let unmarked = [
        user(json!([
            tool_result("t1", "a <private>S</private>"),
            text("<system-reminder>r</system-reminder>")
        ])),
        assistant("m1", &[text("Read.")]),
    ];
    assert_eq!(rendered(&unmarked), "result t1 ok a | -\nprose Read.");
}

#[test]
fn background_tasks_of_a_private_turn_stay_private() {
    let launch = |task: Value| {
        with(
            user(json!([tool_result("t1", "S")])),
            json!({ "toolUseResult": task }),
        )
    };
    let notice = |task: &str| {
        user(format!(
            "<task-notification>\n<task-id>{task}</task-id>\nS</task-notification>"
        ))
    };
    for task in [json!({"agentId": "a1"}), json!({"backgroundTaskId": "a1"})] {
        let lines = [
            user("<private>x</private>"),
            launch(task),
            user("Go on."),
            notice("a1"),
            assistant("m1", &[text("S")]),
            user("And on."),
            user("<task-notification><task-id>b2</task-id></task-notification>"),
        ];
        let expected = "prompt Go on.\nprompt And on.\nnotice <task-notification><task-id>b2</task-id></task-notification>";
        assert_eq!(rendered(&lines), expected);
    }
}

#[test]
fn a_sub_agent_of_a_private_turn_is_private() {
    let main = file(&[
        with_prompt_id("p1", user("<private>x</private>")),
        with(
            user(json!([tool_result("t1", "S")])),
            json!({"toolUseResult": {"agentId": "a1"}}),
        ),
        with_prompt_id("p2", user("Go on.")),
    ]);
    let mut reader = Reader::new(
        &main[..],
        Position::default(),
        TranscriptOwner::default(),
        &settings(),
    );
    assert_eq!(reader.by_ref().count(), 1);
    let session = reader.position().unwrap().clone();
    let of_agent = |agent: &str, prompt_id: &str| {
        let lines = file(&[
            with_prompt_id(prompt_id, user("S")),
            assistant("m1", &[text("S")]),
        ]);
        let owner = TranscriptOwner {
            agent_id: Some(agent.into()),
            ..TranscriptOwner::default()
        };
        let from = Position::default().with_private_turns_of(&session);
        Reader::new(&lines[..], from, owner, &settings()).count()
    };
    assert_eq!(
        [of_agent("a1", "p9"), of_agent("a2", "p1"), of_agent("a2", "p2")],
        [0, 0, 2]
    );
}

#[test]
fn a_fork_that_copied_a_private_turn_does_not_make_the_next_one_private() {
    let lines = [
        with_prompt_id("p1", user("<private>x</private>")),
        with_prompt_id("p1", user("Forked.")),
        with_prompt_id("p1", user(json!([tool_result("t1", "ok")]))),
    ];
    assert_eq!(rendered(&lines), "prompt Forked.\nresult t1 ok ok | -");
}

#[test]
fn a_private_span_is_removed_across_the_lines_of_a_message() {
    let lines = [
        assistant("m1", &[text("a <private>S")]),
        assistant("m2", &[text("another message")]),
        assistant(
            "m1",
            &[text("S"), tool_use("t1", "Bash", json!({"command": "S", "n": 5}))],
        ),
        assistant("m1", &[text("S</private> b")]),
        user(json!([tool_result("t1", "S")])),
        assistant("m3", &[text("c")]),
    ];
    let expected = "prose a \nprose another message\nuse t1 Bash {\"\":\"\",\"\":null}\nprose  b\nresult t1 ok - | -\nprose c";
    assert_eq!(rendered(&lines), expected);
}

#[test]
fn a_span_that_opens_in_dropped_input_continues_in_the_result() {
    let many: Vec<String> = (0..40_000).map(|n| format!("string number {n}")).collect();
    let lines = [
        assistant(
            "m1",
            &[tool_use("t1", "Batch", json!({"a": many, "b": "<private>"}))],
        ),
        user(json!([tool_result("t1", "S</private>")])),
    ];
    assert!(rendered(&lines).ends_with("\nresult t1 ok - | -"));
}

#[test]
fn secrets_images_and_bulk_data_are_removed_everywhere() {
    let picture = "iVBORw0KGgoAAAANSUhEUg".repeat(100);
    let long = "a line\n".repeat(20_000);
    let lines = [
        user(format!("Use {KEY} here.")),
        assistant(
            "m1",
            &[
                text(&format!("I use {KEY}.")),
                tool_use(
                    "t1",
                    "Bash",
                    json!({"command": format!("curl -H 'X: {KEY}'"), "password": "hunter2 or 3"}),
                ),
            ],
        ),
        with(
            user(json!([tool_result("t1", format!("{KEY}\n{long}"))])),
            json!({"toolUseResult": {"stdout": format!("{long}{KEY}"), "image": picture, "originalFile": long}}),
        ),
        with(user(format!("In sum: {KEY}")), json!({"isCompactSummary": true})),
        with(
            user("Go."),
            json!({"cwd": format!("/w/{KEY}"), "gitBranch": format!("x-{KEY}")}),
        ),
        user(format!("<bash-input>echo {KEY}</bash-input>")),
        user(format!(
            "<bash-stdout>{KEY} &lt;private&gt;S&lt;/private&gt;</bash-stdout>"
        )),
        json!({"type": "custom-title", "customTitle": KEY}),
    ];
    let shown = rendered(&lines);
    for part in ["ghp_", "hunter2", "iVBOR", "S"] {
        assert!(!shown.contains(part), "{part}");
    }
    assert_eq!(shown.matches("[redacted:").count(), 14);
    assert!(shown.len() < 100_000, "{}", shown.len());
}

#[test]
fn the_content_of_a_secret_file_is_redacted() {
    let lines = [
        assistant("m1", &[tool_use("t1", "Read", json!({"file_path": "/w/.env"}))]),
        with(
            user(json!([tool_result("t1", "MODE=quiet-otter")])),
            json!({"toolUseResult": {"file": {"content": "MODE=quiet-otter"}}}),
        ),
        user("<bash-input>cat .env</bash-input>"),
        user("<bash-stdout>MODE=quiet-otter</bash-stdout><bash-stderr></bash-stderr>"),
    ];
    let shown = rendered(&lines);
    assert!(
        !shown.contains("otter") && shown.matches("result").count() == 2,
        "{shown}"
    );
}

#[test]
fn a_secret_in_a_growing_block_is_redacted() {
    let lines: Vec<Value> = [30, 44, 50, 60]
        .map(|length| &"The token is ghp_0123456789abcdefghijABCDEFGHIJ012345 today."[..length])
        .map(|said| assistant("m1", &[text(said)]))
        .to_vec();
    let shown = rendered(&lines);
    for part in ["abcdefghij", "ABCDEFGHIJ", "HIJ012345"] {
        assert!(!shown.contains(part), "{shown}");
    }
    assert!(shown.ends_with("today."), "{shown}");
}

#[test]
fn a_private_key_over_the_blocks_of_a_result_is_redacted() {
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let lines = [
        "-----BEGIN PRIVATE KEY-----",
        body,
        body,
        "-----END PRIVATE KEY-----",
        "plain",
    ];
    let result = json!({"type": "tool_result", "tool_use_id": "t1", "content": lines.map(text)});
    let (records, _) = read(&file(&[
        user("Show it."),
        assistant("m1", &[tool_use("t1", "mcp__files__read", json!({"name": "x"}))]),
        user(json!([result])),
    ]));
    let shown = shown(&records);
    assert!(!shown.contains("MIIEvQ") && shown.contains("plain"), "{shown}");
}
