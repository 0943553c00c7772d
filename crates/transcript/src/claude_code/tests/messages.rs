//! Tests for messages of users, assistants and tools, through the client's versions.

use super::*;

#[test]
fn blocks_in_one_line_or_several_yield_the_same_records() {
    let thinking = json!({"type": "thinking", "thinking": "Hm.", "signature": "x"});
    let blocks = [
        thinking,
        text("I look."),
        tool_use("t1", "Read", json!({"file_path": "/a"})),
    ];
    let one_each: Vec<Value> = blocks
        .iter()
        .map(|block| assistant("m1", std::slice::from_ref(block)))
        .collect();
    let expected = "prose I look.\nuse t1 Read {\"file_path\":\"/a\"}";
    assert_eq!(rendered(&one_each), expected);
    assert_eq!(rendered(&[assistant("m1", &blocks)]), expected);
    // The message is repeated, with more content each time.
    let growing: Vec<Value> = (1..=3).map(|count| assistant("m1", &blocks[..count])).collect();
    assert_eq!(rendered(&growing), expected);
}

#[test]
fn a_growing_text_is_recorded_once() {
    let grown = ["I \"look", "I \"look\"", "I \"look\" at\nit"].map(|said| assistant("m1", &[text(said)]));
    assert_eq!(rendered(&grown), "prose I \"look\nprose \"\nprose  at⏎it");
    let other = [
        assistant("m1", &[text("Yes")]),
        assistant("m2", &[text("Yes, done.")]),
    ];
    assert_eq!(rendered(&other), "prose Yes\nprose Yes, done.");
    let none = [assistant("m1", &[text(""), text(" \n"), text("(no content)")])];
    assert_eq!(rendered(&none), "");
}

#[test]
fn tool_results_and_texts_may_share_a_line() {
    let line = user(json!([
        tool_result("t1", "one\n<system-reminder>Mind the gap.</system-reminder>"),
        with(
            tool_result(
                "t2",
                json!([text("two"), text("three"), {"type": "image", "source": {"data": "x"}}])
            ),
            json!({"is_error": true})
        ),
        text("And now this."),
        text("<system-reminder>Not typed.</system-reminder>"),
    ]));
    let line = with(line, json!({"toolUseResult": {"stdout": "one", "n": 1}}));
    let expected = "result t1 ok one | {\"stdout\":\"one\",\"n\":1}\n\
                    result t2 error two⏎three⏎[image] | -\n\
                    prompt And now this.";
    assert_eq!(rendered(&[line]), expected);
}

#[test]
fn inserted_text_is_no_prompt() {
    let lines = [
        with(user("Expanded."), json!({"isMeta": true})),
        with(user("Shown only."), json!({"isVisibleInTranscriptOnly": true})),
        user("<local-command-stdout>Bye!</local-command-stdout>"),
        user("<system-reminder>x</system-reminder>"),
        user(json!([text("<backstory-context>old</backstory-context>")])),
        user("<claude-mem-context>old</claude-mem-context>\n"),
        with(
            assistant("m1", &[text("API Error: 529")]),
            json!({"isApiErrorMessage": true}),
        ),
        json!({"type": "assistant", "message": {"model": "<synthetic>", "content": [text("No response requested.")]}}),
        json!({"type": "attachment", "attachment": {"type": "hook_success", "stdout": "old"}}),
        json!({"type": "attachment", "attachment": {"type": "hook_additional_context", "content": ["old"]}}),
        json!({"type": "attachment", "attachment": {"type": "date", "date": "2026-11-15"}}),
        json!({"type": "system", "subtype": "stop_hook_summary"}),
        json!({"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted"}),
        json!({"type": "queue-operation", "operation": "enqueue", "content": "Later."}),
        user("Go."),
        assistant("m2", &[text("Gone.")]),
    ];
    let (records, skipped) = read(&file(&lines));
    assert_eq!(shown(&records), "prompt Go.\nprose Gone.");
    assert_eq!((skipped.echoes, skipped.api_errors, skipped.private), (4, 2, 0));
    assert_eq!(skipped.unknown.len(), 0);
}

#[test]
fn slash_commands_are_prompts_unless_they_are_local() {
    let caveat = with(
        user("<local-command-caveat>The command below…</local-command-caveat>"),
        json!({"isMeta": true}),
    );
    let command = |name: &str, arguments: &str| {
        user(format!(
            "<command-name>{name}</command-name>\n  <command-message>m</command-message>\n  <command-args>{arguments}</command-args>"
        ))
    };
    let lines = [
        caveat.clone(),
        command("/statusline", "on"),
        user("<local-command-stdout>Done</local-command-stdout>"),
        command("/deploy", "to <staging>"),
        with(user(json!([text("Deploy as follows…")])), json!({"isMeta": true})),
        assistant("m1", &[text("Deployed.")]),
        command("/clear", ""),
        caveat,
        user("A prompt."),
        command("/deploy", ""),
    ];
    assert_eq!(
        rendered(&lines),
        "prompt /deploy to <staging>\nprose Deployed.\nprompt A prompt.\nprompt /deploy"
    );
}

#[test]
fn a_typed_shell_command_is_a_bash_call() {
    let lines = [
        with(
            user("<bash-input>cat a &amp;&amp; ls</bash-input>"),
            json!({"uuid": "u1"}),
        ),
        user("<bash-stdout>one\n</bash-stdout><bash-stderr>two</bash-stderr>"),
        with(
            user("<bash-input>backstory search x</bash-input>"),
            json!({"uuid": "u2"}),
        ),
        user("<bash-stdout>old</bash-stdout><bash-stderr></bash-stderr>"),
        user("<bash-stdout>nobody asked</bash-stdout>"),
    ];
    let expected = "use typed-u1 Bash {\"command\":\"cat a && ls\"}\n\
                    result typed-u1 ok one⏎two | -\n\
                    use typed-u2 Bash {\"command\":\"backstory search x\"}\n\
                    result typed-u2 ok - | -";
    assert_eq!(rendered(&lines), expected);
}

#[test]
fn notices_queued_prompts_interruptions_and_summaries_are_recorded() {
    let notice = "<task-notification>\n<task-id>a1</task-id>\n</task-notification>";
    let queued = |prompt: Value, mode: &str| {
        json!({"type": "attachment",
        "attachment": {"type": "queued_command", "prompt": prompt, "commandMode": mode}})
    };
    let lines = [
        user(notice),
        with(user("From a peer."), json!({"origin": {"kind": "peer"}})),
        with(
            user("Typed."),
            json!({"origin": {"kind": "human"}, "promptId": "p1"}),
        ),
        queued(json!("Also this."), "prompt"),
        queued(
            json!([{"type": "text", "text": "And that."}, {"type": "image"}]),
            "prompt",
        ),
        queued(json!("ls"), "bash"),
        queued(json!(notice), "task-notification"),
        user(json!([text("[Request interrupted by user for tool use]")])),
        user("[Request interrupted by user]"),
        with(
            user("This session is being continued.<system-reminder>x</system-reminder>"),
            json!({"isCompactSummary": true, "isVisibleInTranscriptOnly": true}),
        ),
        user(json!([{"type": "image", "source": {"type": "base64", "data": "iVBOR"}}])),
    ];
    let notice = notice.replace('\n', "⏎");
    let expected = format!(
        "notice {notice}\nnotice From a peer.\nprompt Typed.\nprompt Also this.\nprompt And that.⏎[image]\n\
         interrupted\ninterrupted\ncompaction This session is being continued.\nprompt [image]"
    );
    assert_eq!(rendered(&lines), expected);
}

#[test]
fn skipped_tools_and_our_own_are_dropped_with_their_results() {
    let calls = [
        tool_use("t1", "Skill", json!({"skill": "x"})),
        tool_use("t2", "mcp__backstory__search", json!({"query": "x"})),
        tool_use("t3", "Bash", json!({"command": "backstory show 5"})),
        tool_use("t4", "Bash", json!({"command": "ls"})),
    ];
    let answers = ["t1", "t2", "t3", "t4"].map(|id| {
        with(
            user(json!([tool_result(id, format!("of {id}"))])),
            json!({"toolUseResult": {"stdout": id}}),
        )
    });
    let lines = [&[assistant("m1", &calls)], &answers[..]].concat();
    let expected = "use t3 Bash {\"command\":\"backstory show 5\"}\n\
                    use t4 Bash {\"command\":\"ls\"}\n\
                    result t3 ok - | -\n\
                    result t4 ok of t4 | {\"stdout\":\"t4\"}";
    assert_eq!(rendered(&lines), expected);
}

#[test]
fn questions_and_task_lists_are_told_also_when_they_are_no_events() {
    let lines = [
        assistant("m1", &[tool_use("t1", "TodoWrite", json!({"todos": []}))]),
        with(
            user(json!([tool_result("t1", "Todos have been modified")])),
            json!({"toolUseResult": {"oldTodos": [], "newTodos": []}}),
        ),
    ];
    let expected = "use t1 TodoWrite {\"todos\":[]}\n\
                    result t1 ok Todos have been modified | {\"oldTodos\":[],\"newTodos\":[]}";
    assert_eq!(rendered(&lines), expected);
}

fn queue(operation: &str, content: Option<&str>) -> Value {
    let mut line =
        json!({"type": "queue-operation", "operation": operation, "timestamp": "2026-02-07T04:05:57.222Z"});
    if let Some(content) = content {
        line["content"] = content.into();
    }
    line
}

#[test]
fn a_message_typed_while_the_assistant_works_is_told_once_where_it_was_given() {
    let call = |id: &str| assistant(id, &[tool_use(id, "Bash", json!({"command": "ls"}))]);
    let lines = [
        user("Fix it."),
        call("t1"),
        queue("enqueue", Some("Use the git CLI.")),
        queue("remove", None),
        user(json!([tool_result("t1", "x")])),
        call("t2"),
        queue("enqueue", Some("Taken back.")),
        queue("popAll", Some("Taken back.")),
        queue("enqueue", Some("<task-notification>done</task-notification>")),
        queue("enqueue", Some("/help")),
        queue("enqueue", Some("Also test it.")),
        queue("remove", None),
        queue("remove", None),
        queue("remove", Some("Also test it.")),
        user(json!([tool_result("t2", "y")])),
        assistant("m3", &[text("Done.")]),
        queue("enqueue", Some("Now push.")),
        queue("dequeue", None),
        user("Now push."),
    ];
    let bash = |id: &str| format!("use {id} Bash {{\"command\":\"ls\"}}");
    let expected = format!(
        "prompt Fix it.\n{}\nresult t1 ok x | -\nqueued Use the git CLI.\n{}\nresult t2 ok y | -\nqueued Also test it.\n\
         prose Done.\nprompt Now push.",
        bash("t1"),
        bash("t2")
    );
    assert_eq!(rendered(&lines), expected);
}

#[test]
fn a_queued_message_that_the_client_repeats_is_a_prompt() {
    let lines = [
        user("Fix it."),
        queue("enqueue", Some("Also test it.")),
        queue("remove", Some("Also test it.")),
        json!({"type": "attachment", "attachment": {"type": "queued_command", "prompt": "Also test it."}}),
        assistant("m1", &[text("Done.")]),
    ];
    assert_eq!(
        rendered(&lines),
        "prompt Fix it.\nprompt Also test it.\nprose Done."
    );
}

#[test]
fn a_private_message_in_the_queue_makes_the_rest_of_the_turn_private() {
    let lines = [
        user("Fix it."),
        queue("enqueue", Some("<private>my key is x</private>")),
        queue("remove", None),
        assistant("m1", &[text("Done with x.")]),
        user("Next."),
        assistant("m2", &[text("Sure.")]),
    ];
    assert_eq!(rendered(&lines), "prompt Fix it.\nprompt Next.\nprose Sure.");
}
