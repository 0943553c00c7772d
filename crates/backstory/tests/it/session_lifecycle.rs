//! Lifecycle of a session: start, end, interruption and continuation, and the resulting memories.
//!
//! Every scenario runs twice: with a worker that processes each event at once, and with one that starts at the end. Both
//! must yield the same sessions, turns, memories and an empty queue.

use serde_json::{Value, json};

use crate::home::{Home, settings};

/// Time at which the worker runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Worker {
    AfterEachEvent,
    WhenAllIsOver,
}

/// A scenario on its way through hooks and worker.
pub(crate) struct Scenario {
    pub(crate) home: Home,
    worker: Worker,
}

impl Scenario {
    pub(crate) fn new(worker: Worker) -> Self {
        Self {
            home: Home::new(),
            worker,
        }
    }

    pub(crate) fn event(&self, session: &str, event: &str, mut fields: Value) {
        fields["session_id"] = session.into();
        self.home.report(event, &fields);
        if self.worker == Worker::AfterEachEvent {
            self.home.drain();
        }
    }

    pub(crate) fn start(&self, session: &str, source: &str) {
        self.event(session, "session-start", json!({"source": source}));
    }

    pub(crate) fn prompt(&self, session: &str, id: &str, prompt: &str) {
        self.event(
            session,
            "user-prompt-submit",
            json!({"prompt_id": id, "prompt": prompt}),
        );
    }

    /// Reports that the agent replaces a line of a file.
    pub(crate) fn edit(&self, session: &str, id: &str, file: &str, old: &str, new: &str) {
        let path = self.home.project().join(file);
        let lines = [format!("-{old}"), format!("+{new}")];
        let patch = json!([{"oldStart": 3, "oldLines": 1, "newStart": 3, "newLines": 1, "lines": lines}]);
        self.event(
            session,
            "post-tool-use",
            json!({"prompt_id": id, "tool_name": "Edit", "tool_use_id": format!("toolu_{id}_{file}"),
                "tool_input": {"file_path": path, "old_string": old, "new_string": new},
                "tool_response": {"filePath": path, "structuredPatch": patch}}),
        );
    }

    pub(crate) fn stop(&self, session: &str, id: &str, message: &str) {
        self.event(
            session,
            "stop",
            json!({"prompt_id": id, "last_assistant_message": message, "background_tasks": []}),
        );
    }

    pub(crate) fn end(&self, session: &str, reason: &str) {
        self.event(session, "session-end", json!({"reason": reason}));
    }

    /// Reports a whole turn: prompt, work, last message.
    pub(crate) fn retry_turn(&self, session: &str, id: &str) {
        self.prompt(session, id, "Token refresh fails with 401, mend it");
        self.edit(
            session,
            id,
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        self.stop(
            session,
            id,
            "Fixed: the token refresh now retries once on a 401 before it gives up.",
        );
    }

    /// Reports another turn.
    pub(crate) fn cache_turn(&self, session: &str, id: &str) {
        self.prompt(session, id, "Cap the cache of avatars");
        self.edit(
            session,
            id,
            "src/avatars.rs",
            "Cache::new()",
            "Cache::with_capacity(512)",
        );
        self.stop(
            session,
            id,
            "The avatar cache now holds 512 entries at most.\n\nNext steps: measure how often it misses.",
        );
    }

    pub(crate) fn status(&self, session: &str) -> Value {
        self.home.json(&["session", session, "--json"])["status"].clone()
    }

    /// Returns all command output about the sessions.
    pub(crate) fn shown(&self) -> String {
        let sessions = self.home.json(&["sessions", "--json"]);
        let mut sessions: Vec<&Value> = sessions["sessions"].as_array().unwrap().iter().collect();
        sessions.sort_by_key(|session| session["session_id"].as_str());
        let mut shown = String::new();
        for session in sessions {
            let id = session["session_id"].as_str().unwrap();
            let fields = ["status", "end_reason", "title", "prompts", "turns", "events"];
            let fields: Vec<String> = fields
                .iter()
                .map(|name| format!("{name}={}", session[name]))
                .collect();
            shown.push_str(&format!(
                "{id}: {}\n{}",
                fields.join(" "),
                self.home.ok(&["session", id])
            ));
            let whole = self.home.json(&["session", id, "--json"]);
            for turn in whole["turns"].as_array().unwrap() {
                shown.push_str(&format!("summary of {}: {}\n", turn["number"], turn["summary"]));
            }
            shown.push('\n');
        }
        let queue = self.home.json(&["queue", "--json"]);
        shown
            + &format!(
                "queue: {} pending, {} processing, {} failed\n",
                queue["pending"], queue["processing"], queue["failed"]
            )
    }
}

/// Runs a scenario both ways and compares the results.
fn run_both_ways(name: &str, steps: impl Fn(&Scenario)) {
    let mut settings = settings();
    // Ids of memories depend on how often a turn was distilled.
    settings.add_filter(r" #\d+", " #[id]");
    settings.bind(|| {
        for worker in [Worker::AfterEachEvent, Worker::WhenAllIsOver] {
            let scenario = Scenario::new(worker);
            steps(&scenario);
            scenario.home.drain();
            insta::allow_duplicates! {
                insta::assert_snapshot!(format!("life_{name}"), scenario.shown());
            }
        }
    });
}

#[test]
fn a_stop_before_any_prompt_is_a_turn_without_a_prompt() {
    run_both_ways("stop_first", |scenario| {
        scenario.stop(
            "s1",
            "p0",
            "The build was broken because `serde` 2 renamed `Deserializer`.",
        );
        scenario.cache_turn("s1", "p1");
    });
    let scenario = Scenario::new(Worker::AfterEachEvent);
    scenario.stop("s1", "p0", "Done.");
    assert_eq!(scenario.status("s1"), "active", "not summarizing for ever");
}

#[test]
fn an_end_without_a_stop_ends_the_turn() {
    run_both_ways("end_without_stop", |scenario| {
        scenario.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        scenario.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        scenario.end("s1", "other");
    });
}

#[test]
fn after_esc_the_next_prompt_ends_the_turn() {
    run_both_ways("esc", |scenario| {
        scenario.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        scenario.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        scenario.cache_turn("s1", "p2");
    });
}

#[test]
fn several_stops_are_several_summaries() {
    run_both_ways("several_stops", |scenario| {
        scenario.start("s1", "startup");
        scenario.retry_turn("s1", "p1");
        scenario.cache_turn("s1", "p2");
        scenario.retry_turn("s1", "p3");
        scenario.end("s1", "prompt_input_exit");
    });
}

#[test]
fn a_turn_that_is_distilled_again_counts_once() {
    let scenario = Scenario::new(Worker::AfterEachEvent);
    scenario.retry_turn("s1", "p1");
    scenario.retry_turn("s2", "p2");
    let seen = || scenario.home.rows("select title || ' ' || seen from observation");
    assert!(seen().iter().any(|row| row.ends_with(" 2")), "{:?}", seen());
    let before = seen();
    let connection = rusqlite::Connection::open(scenario.home.path().join("backstory.db")).unwrap();
    for again in ["turn_id = 2", "true"] {
        let sql = format!("update event set state = 'failed' where {again}");
        connection.execute(&sql, []).unwrap();
        scenario.home.ok(&["queue", "retry"]);
        scenario.home.drain();
        assert_eq!(seen(), before);
    }
}

#[test]
fn a_session_changes_its_status() {
    let scenario = Scenario::new(Worker::WhenAllIsOver);
    let shows = |status: &str, queued: u64| {
        assert_eq!(scenario.status("s1"), status);
        assert_eq!(scenario.home.json(&["queue", "--json"])["pending"], queued);
    };
    scenario.start("s1", "startup");
    shows("active", 1);
    scenario.retry_turn("s1", "p1");
    shows("summarizing", 4);
    scenario.home.drain();
    shows("active", 0);
    scenario.cache_turn("s1", "p2");
    scenario.prompt("s1", "p3", "Go on");
    shows("active", 4);
    scenario.stop("s1", "p3", "Done.");
    shows("summarizing", 5);
    scenario.end("s1", "other");
    shows("completed", 6);
    scenario.home.drain();
    shows("completed", 0);
    scenario.start("s1", "resume");
    shows("active", 1);
}

#[test]
fn background_work_belongs_to_its_prompt_and_its_notice_is_no_user_turn() {
    run_both_ways("background", |scenario| {
        scenario.prompt("s1", "p1", "Find out why the importer is slow");
        scenario.event(
            "s1",
            "post-tool-use",
            json!({"prompt_id": "p1", "tool_name": "Agent", "tool_use_id": "toolu_1",
                "tool_input": {"description": "Profile the importer", "prompt": "Profile it.", "subagent_type": "Explore"},
                "tool_response": {"isAsync": true, "status": "async_launched", "agentId": "a0000000000000001"}}),
        );
        scenario.event(
            "s1",
            "stop",
            json!({"prompt_id": "p1", "last_assistant_message": "I started a profile of the importer and wait for it.",
                "background_tasks": [{"id": "a0000000000000001", "type": "subagent", "status": "running",
                    "description": "Profile the importer", "agent_type": "Explore"}], "session_crons": []}),
        );
        scenario.event(
            "s1",
            "post-tool-use",
            json!({"prompt_id": "p1", "agent_id": "a0000000000000001", "agent_type": "Explore", "tool_name": "Grep",
                "tool_use_id": "toolu_2", "tool_input": {"pattern": "fsync"}, "tool_response": {"numFiles": 1}}),
        );
        scenario.event(
            "s1",
            "subagent-stop",
            json!({"prompt_id": "p1", "agent_id": "a0000000000000001", "agent_type": "Explore",
                "last_assistant_message": "The importer is slow because `src/import.rs` calls fsync after every row.",
                "background_tasks": []}),
        );
        // Compactions run as unnamed sub-agents.
        scenario.event(
            "s1",
            "subagent-stop",
            json!({"prompt_id": "p1", "agent_id": "a0000000000000002", "agent_type": "", "last_assistant_message": "<summary>x</summary>"}),
        );
        scenario.prompt(
            "s1",
            "p2",
            "<task-notification>\n<task-id>a0000000000000001</task-id>\n<status>completed</status>\n</task-notification>",
        );
        scenario.stop(
            "s1",
            "p2",
            "The profile is done: the importer is slow because it calls fsync after every row.",
        );
    });
}

#[test]
fn running_tasks_are_reported() {
    run_both_ways("background_running", |scenario| {
        scenario.prompt("s1", "p1", "Find out why the importer is slow");
        let task = |id: &str| json!({"id": id, "type": "subagent", "status": "running"});
        scenario.event(
            "s1",
            "stop",
            json!({"prompt_id": "p1", "last_assistant_message": "I started two profiles of the importer.",
                "background_tasks": [task("a1"), task("a2")]}),
        );
        scenario.event(
            "s1",
            "subagent-stop",
            json!({"prompt_id": "p1", "agent_id": "a1", "agent_type": "Explore",
                "last_assistant_message": "The importer is slow because it calls fsync after every row."}),
        );
    });
}

#[test]
fn a_notice_during_a_turn_does_not_end_the_users_turn() {
    run_both_ways("notice_inside", |scenario| {
        scenario.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        scenario.prompt(
            "s1",
            "p1",
            "<task-notification>\n<status>completed</status>\n</task-notification>",
        );
        scenario.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        scenario.stop("s1", "p1", "Fixed: the token refresh now retries once on a 401.");
    });
}

/// As recorded: a message typed while the agent works has the id of the first prompt.
#[test]
fn a_message_during_a_turn_is_a_turn_and_the_first_is_not_interrupted() {
    run_both_ways("added_meanwhile", |scenario| {
        scenario.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        scenario.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        scenario.prompt("s1", "p1", "And cap the cache of avatars");
        scenario.edit(
            "s1",
            "p1",
            "src/avatars.rs",
            "Cache::new()",
            "Cache::with_capacity(512)",
        );
        scenario.stop(
            "s1",
            "p1",
            "The token refresh now retries once on a 401, and the avatar cache holds 512 entries at most.",
        );
    });
}

/// As recorded: `!ls` is no prompt, but the agent answers it, with an unknown id.
#[test]
fn the_answer_to_a_typed_command_does_not_replace_the_last_message() {
    run_both_ways("typed_command", |scenario| {
        scenario.retry_turn("s1", "p1");
        scenario.stop("s1", "p2", "I see one file.");
    });
}

#[test]
fn a_session_is_resumed_after_its_end() {
    run_both_ways("resumed", |scenario| {
        scenario.start("s1", "startup");
        scenario.retry_turn("s1", "p1");
        scenario.end("s1", "other");
        scenario.start("s1", "resume");
        scenario.cache_turn("s1", "p2");
    });
}

#[test]
fn clearing_does_not_complete_a_session_and_a_new_one_starts() {
    run_both_ways("cleared", |scenario| {
        scenario.retry_turn("s1", "p1");
        scenario.end("s1", "clear");
        scenario.start("s2", "clear");
        scenario.cache_turn("s2", "p2");
    });
}

#[test]
fn clearing_ends_the_open_turn() {
    run_both_ways("cleared_in_a_turn", |scenario| {
        scenario.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        scenario.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        scenario.end("s1", "clear");
    });
}

#[test]
fn a_turn_continues_through_a_compaction() {
    run_both_ways("compacted", |scenario| {
        scenario.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        scenario.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        scenario.event("s1", "pre-compact", json!({"prompt_id": "p1", "trigger": "auto"}));
        scenario.event(
            "s1",
            "session-start",
            json!({"prompt_id": "p1", "source": "compact"}),
        );
        scenario.edit(
            "s1",
            "p1",
            "tests/auth.rs",
            "assert_eq!(calls, 1)",
            "assert_eq!(calls, 2)",
        );
        scenario.stop("s1", "p1", "Fixed: the token refresh now retries once on a 401.");
    });
}

#[test]
fn concurrent_sessions_do_not_mix() {
    run_both_ways("side_by_side", |scenario| {
        scenario.start("s1", "startup");
        scenario.start("s2", "startup");
        // Prompt ids are the agents' own: they may be equal by accident.
        scenario.prompt("s1", "p", "Token refresh fails with 401, mend it");
        scenario.prompt("s2", "p", "Cap the cache of avatars");
        scenario.edit(
            "s1",
            "p",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        scenario.edit(
            "s2",
            "p",
            "src/avatars.rs",
            "Cache::new()",
            "Cache::with_capacity(512)",
        );
        scenario.stop(
            "s2",
            "p",
            "The avatar cache now holds 512 entries at most.\n\nNext steps: measure how often it misses.",
        );
        scenario.end("s2", "other");
        scenario.stop("s1", "p", "Fixed: the token refresh now retries once on a 401.");
    });
}

#[test]
fn the_end_of_an_unknown_session_is_not_listed() {
    run_both_ways("never_began", |scenario| {
        scenario.end("ghost", "other");
        scenario.cache_turn("s1", "p1");
    });
}

#[test]
fn a_prompt_that_only_the_transcript_has_is_used() {
    for has_ids in [true, false] {
        let home = Home::new();
        let transcript = home.outside().join("transcript.jsonl");
        let line = |second: u32, id: &str, kind: &str, content: &str| {
            let mut line = json!({"type": kind, "sessionId": "s1", "cwd": home.project(), "message": {"role": kind, "content": content},
                "timestamp": format!("2026-01-05T10:00:{second:02}.000Z")});
            if has_ids && kind == "user" {
                line["promptId"] = json!(id);
            }
            format!("{line}\n")
        };
        let lines = [
            line(1, "p1", "user", "Where is the stock lock taken?"),
            line(2, "p1", "assistant", "In `reserve()`."),
            line(3, "p2", "user", "Release the stock lock before the payment"),
            line(
                4,
                "p2",
                "assistant",
                "The lock is released before the payment now.",
            ),
        ];
        std::fs::write(&transcript, lines.concat()).unwrap();
        // Hooks were installed after the second prompt.
        let mut stop = json!({"transcript_path": transcript, "last_assistant_message": "The lock is released before the payment now."});
        if has_ids {
            stop["prompt_id"] = json!("p2");
        }
        home.report("stop", &stop);
        home.drain();
        let shown = home.ok(&["session", "s1"]);
        assert!(
            shown.contains("Release the stock lock before the payment"),
            "{shown}"
        );
        assert!(!shown.contains("Where is the stock lock taken?"), "{shown}");
        let found = home.json(&["search", "--json", "release stock lock", "--kind", "prompt"]);
        assert_eq!(found["results"][0]["id"], "P1", "{found}");
    }
}
