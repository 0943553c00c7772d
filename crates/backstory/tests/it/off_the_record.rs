//! `backstory off`: nothing more of a session is recorded, imported or recalled in it.

use std::fs;

use serde_json::{Value, json};

use crate::home::{Home, text};

const ID: &str = "11111111-2222-4333-8444-555555555555";

fn tell(home: &Home, session: &str, event: &str, fields: Value) -> String {
    let mut fields = fields;
    fields["session_id"] = session.into();
    home.report(event, &fields)
}

fn prompt(home: &Home, session: &str, prompt: &str) -> String {
    tell(home, session, "user-prompt-submit", json!({"prompt": prompt}))
}

/// Returns a home with a past session and a running one.
fn running() -> Home {
    let home = Home::new();
    prompt(
        &home,
        "old",
        "Retry the token refresh once when the server answers 401",
    );
    tell(
        &home,
        "old",
        "stop",
        json!({"last_assistant_message": "The token refresh retries once on a 401 now, because the clock is wrong after sleep."}),
    );
    tell(&home, "old", "session-end", json!({"reason": "exit"}));
    home.drain();
    tell(&home, ID, "session-start", json!({"source": "startup"}));
    prompt(&home, ID, "Look at the walnut ledger");
    home
}

#[test]
fn a_session_off_the_record_is_neither_recorded_nor_recalled_in() {
    let home = running();
    let printed = home.ok(&["off"]);
    assert!(
        printed.starts_with(&format!("Session {ID} is off the record")),
        "{printed}"
    );
    assert!(printed.contains("2 events recorded before."), "{printed}");
    let before = home.events();
    for source in ["resume", "compact", "startup"] {
        assert_eq!(
            tell(&home, ID, "session-start", json!({"source": source})),
            "",
            "{source}"
        );
    }
    assert_eq!(
        prompt(&home, ID, "why does the token refresh retry once on a 401"),
        ""
    );
    let quiet = ["", "{\"continue\":true,\"suppressOutput\":true}\n"];
    let call = json!({"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": "cat chestnut"},
        "tool_response": {"stdout": "chestnut", "stderr": ""}});
    assert!(quiet.contains(&tell(&home, ID, "post-tool-use", call).as_str()));
    tell(
        &home,
        ID,
        "stop",
        json!({"last_assistant_message": "The chestnut is counted."}),
    );
    tell(&home, ID, "session-end", json!({"reason": "exit"}));
    home.drain();
    assert_eq!(home.events(), before);
    home.assert_nowhere("chestnut");

    let on = home
        .command(&["on"])
        .env("CLAUDE_CODE_SESSION_ID", ID)
        .output()
        .unwrap();
    assert!(text(&on.stdout).starts_with("This session stays off the record."));
    prompt(&home, ID, "the acorn");
    assert_eq!(home.events(), before, "`on` is about new sessions");
    prompt(&home, "new", "Count the almonds");
    home.drain();
    assert_eq!(home.events(), before + 1);
}

#[test]
fn what_was_recorded_is_deleted_if_asked() {
    let home = running();
    let done = home
        .command(&["off", "--forget"])
        .env("CLAUDE_CODE_SESSION_ID", ID)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    assert!(text(&done.stdout).contains("Deleted what it had recorded."));
    home.assert_nowhere("walnut");
    assert_eq!(
        home.json(&["sessions", "--json"])["sessions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    prompt(&home, ID, "Look at the walnut ledger again");
    home.drain();
    home.assert_nowhere("walnut");
}

#[test]
fn an_import_does_not_bring_it_back() {
    let home = Home::new();
    let folder = home.outside().join("home/.claude/projects/acme");
    fs::create_dir_all(&folder).unwrap();
    let line = |kind: &str, at: u32, message: Value| {
        json!({"type": kind, "sessionId": ID, "cwd": home.project(), "uuid": format!("u{at}"), "version": "2.1.0",
            "timestamp": format!("2026-01-05T10:00:0{at}.000Z"), "message": message})
        .to_string()
    };
    let lines = [
        line(
            "user",
            1,
            json!({"role": "user", "content": "Look at the walnut ledger"}),
        ),
        line(
            "assistant",
            2,
            json!({"role": "assistant", "id": "m", "content": [{"type": "text", "text": "The walnut ledger is balanced."}]}),
        ),
    ];
    fs::write(folder.join(format!("{ID}.jsonl")), lines.join("\n") + "\n").unwrap();
    let printed = home.ok(&["off", ID]);
    assert!(
        printed.contains("Nothing of it was recorded before."),
        "{printed}"
    );
    home.run(&["import", "claude-code", folder.to_str().unwrap()], b"");
    home.drain();
    home.assert_nowhere("walnut");
}

#[test]
fn an_unknown_or_ambiguous_session_is_an_error() {
    let home = Home::new();
    let none = home.run(&["off"], b"");
    assert!(!none.status.success());
    assert!(
        text(&none.stderr).contains("no session runs in this project"),
        "{}",
        text(&none.stderr)
    );
    prompt(&home, "one", "Count the walnuts");
    prompt(&home, "two", "Count the almonds");
    let several = text(&home.run(&["off"], b"").stderr);
    assert!(several.contains("2 sessions run in this project"), "{several}");
    assert!(several.contains("one") && several.contains("two"), "{several}");
    assert!(
        home.ok(&["off", "one"])
            .starts_with("Session one is off the record")
    );
}
