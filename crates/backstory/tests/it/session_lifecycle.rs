//! The life of a session: how it begins, ends, breaks off and goes on, and what is remembered of it each time.
//!
//! Every story is told twice: to a worker that looks after each event, as one that lives does, and to one that comes when
//! all is over. Both must end with the same sessions, turns, memories and an empty queue.

use serde_json::{Value, json};

use crate::home::{Home, settings};

/// When the worker looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Worker {
    AfterEachEvent,
    WhenAllIsOver,
}

/// A story on its way through hooks and worker.
pub(crate) struct Life {
    pub(crate) home: Home,
    worker: Worker,
}

impl Life {
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

    /// The agent replaces a line of a file.
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

    /// A whole turn: asked, done, said.
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

    /// Another one.
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

    /// Everything that people and scripts are shown.
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

/// Tells a story both ways, and compares.
fn told(name: &str, story: impl Fn(&Life)) {
    let mut settings = settings();
    // Numbers of memories depend on how often a turn was distilled.
    settings.add_filter(r" #\d+", " #[id]");
    settings.bind(|| {
        for worker in [Worker::AfterEachEvent, Worker::WhenAllIsOver] {
            let life = Life::new(worker);
            story(&life);
            life.home.drain();
            insta::allow_duplicates! {
                insta::assert_snapshot!(format!("life_{name}"), life.shown());
            }
        }
    });
}

#[test]
fn a_stop_before_any_prompt_is_a_turn_that_nobody_heard_begin() {
    told("stop_first", |life| {
        life.stop(
            "s1",
            "p0",
            "The build was broken because `serde` 2 renamed `Deserializer`.",
        );
        life.cache_turn("s1", "p1");
    });
    let life = Life::new(Worker::AfterEachEvent);
    life.stop("s1", "p0", "Done.");
    assert_eq!(life.status("s1"), "active", "not summarizing for ever");
}

#[test]
fn an_end_without_a_stop_ends_the_turn() {
    told("end_without_stop", |life| {
        life.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        life.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        life.end("s1", "other");
    });
}

#[test]
fn after_esc_the_next_prompt_ends_the_turn() {
    told("esc", |life| {
        life.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        life.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        life.cache_turn("s1", "p2");
    });
}

#[test]
fn several_stops_are_several_summaries() {
    told("several_stops", |life| {
        life.start("s1", "startup");
        life.retry_turn("s1", "p1");
        life.cache_turn("s1", "p2");
        life.retry_turn("s1", "p3");
        life.end("s1", "prompt_input_exit");
    });
}

#[test]
fn a_turn_that_is_distilled_again_counts_once() {
    let life = Life::new(Worker::AfterEachEvent);
    life.retry_turn("s1", "p1");
    life.retry_turn("s2", "p2");
    let seen = || life.home.rows("select title || ' ' || seen from observation");
    assert!(seen().iter().any(|row| row.ends_with(" 2")), "{:?}", seen());
    let before = seen();
    let connection = rusqlite::Connection::open(life.home.path().join("backstory.db")).unwrap();
    for again in ["turn_id = 2", "true"] {
        let sql = format!("update event set state = 'failed' where {again}");
        connection.execute(&sql, []).unwrap();
        life.home.ok(&["queue", "retry"]);
        life.home.drain();
        assert_eq!(seen(), before);
    }
}

#[test]
fn a_session_goes_through_its_states() {
    let life = Life::new(Worker::WhenAllIsOver);
    let shows = |status: &str, queued: u64| {
        assert_eq!(life.status("s1"), status);
        assert_eq!(life.home.json(&["queue", "--json"])["pending"], queued);
    };
    life.start("s1", "startup");
    shows("active", 1);
    life.retry_turn("s1", "p1");
    shows("summarizing", 4);
    life.home.drain();
    shows("active", 0);
    life.cache_turn("s1", "p2");
    life.prompt("s1", "p3", "Go on");
    shows("active", 4);
    life.stop("s1", "p3", "Done.");
    shows("summarizing", 5);
    life.end("s1", "other");
    shows("completed", 6);
    life.home.drain();
    shows("completed", 0);
    life.start("s1", "resume");
    shows("active", 1);
}

#[test]
fn work_in_the_background_belongs_to_who_asked_and_its_notice_is_no_persons_turn() {
    told("background", |life| {
        life.prompt("s1", "p1", "Find out why the importer is slow");
        life.event(
            "s1",
            "post-tool-use",
            json!({"prompt_id": "p1", "tool_name": "Agent", "tool_use_id": "toolu_1",
                "tool_input": {"description": "Profile the importer", "prompt": "Profile it.", "subagent_type": "Explore"},
                "tool_response": {"isAsync": true, "status": "async_launched", "agentId": "a0000000000000001"}}),
        );
        life.event(
            "s1",
            "stop",
            json!({"prompt_id": "p1", "last_assistant_message": "I started a profile of the importer and wait for it.",
                "background_tasks": [{"id": "a0000000000000001", "type": "subagent", "status": "running",
                    "description": "Profile the importer", "agent_type": "Explore"}], "session_crons": []}),
        );
        life.event(
            "s1",
            "post-tool-use",
            json!({"prompt_id": "p1", "agent_id": "a0000000000000001", "agent_type": "Explore", "tool_name": "Grep",
                "tool_use_id": "toolu_2", "tool_input": {"pattern": "fsync"}, "tool_response": {"numFiles": 1}}),
        );
        life.event(
            "s1",
            "subagent-stop",
            json!({"prompt_id": "p1", "agent_id": "a0000000000000001", "agent_type": "Explore",
                "last_assistant_message": "The importer is slow because `src/import.rs` calls fsync after every row.",
                "background_tasks": []}),
        );
        // Compactions run as nameless sub-agents.
        life.event(
            "s1",
            "subagent-stop",
            json!({"prompt_id": "p1", "agent_id": "a0000000000000002", "agent_type": "", "last_assistant_message": "<summary>x</summary>"}),
        );
        life.prompt(
            "s1",
            "p2",
            "<task-notification>\n<task-id>a0000000000000001</task-id>\n<status>completed</status>\n</task-notification>",
        );
        life.stop(
            "s1",
            "p2",
            "The profile is done: the importer is slow because it calls fsync after every row.",
        );
    });
}

#[test]
fn what_still_runs_is_said() {
    told("background_running", |life| {
        life.prompt("s1", "p1", "Find out why the importer is slow");
        let task = |id: &str| json!({"id": id, "type": "subagent", "status": "running"});
        life.event(
            "s1",
            "stop",
            json!({"prompt_id": "p1", "last_assistant_message": "I started two profiles of the importer.",
                "background_tasks": [task("a1"), task("a2")]}),
        );
        life.event(
            "s1",
            "subagent-stop",
            json!({"prompt_id": "p1", "agent_id": "a1", "agent_type": "Explore",
                "last_assistant_message": "The importer is slow because it calls fsync after every row."}),
        );
    });
}

#[test]
fn a_notice_in_the_middle_of_a_turn_does_not_take_it_away_from_the_person() {
    told("notice_inside", |life| {
        life.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        life.prompt(
            "s1",
            "p1",
            "<task-notification>\n<status>completed</status>\n</task-notification>",
        );
        life.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        life.stop("s1", "p1", "Fixed: the token refresh now retries once on a 401.");
    });
}

/// As recorded: what is typed while the agent works comes with the id of what was asked first.
#[test]
fn what_a_person_adds_meanwhile_is_a_turn_and_the_first_was_not_interrupted() {
    told("added_meanwhile", |life| {
        life.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        life.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        life.prompt("s1", "p1", "And cap the cache of avatars");
        life.edit(
            "s1",
            "p1",
            "src/avatars.rs",
            "Cache::new()",
            "Cache::with_capacity(512)",
        );
        life.stop(
            "s1",
            "p1",
            "The token refresh now retries once on a 401, and the avatar cache holds 512 entries at most.",
        );
    });
}

/// As recorded: `!ls` is no prompt, but the agent answers it, with an id that nobody has heard of.
#[test]
fn the_answer_to_a_typed_command_does_not_replace_what_was_said_before() {
    told("typed_command", |life| {
        life.retry_turn("s1", "p1");
        life.stop("s1", "p2", "I see one file.");
    });
}

#[test]
fn a_session_is_resumed_after_its_end() {
    told("resumed", |life| {
        life.start("s1", "startup");
        life.retry_turn("s1", "p1");
        life.end("s1", "other");
        life.start("s1", "resume");
        life.cache_turn("s1", "p2");
    });
}

#[test]
fn clearing_does_not_complete_a_session_and_a_new_one_starts() {
    told("cleared", |life| {
        life.retry_turn("s1", "p1");
        life.end("s1", "clear");
        life.start("s2", "clear");
        life.cache_turn("s2", "p2");
    });
}

#[test]
fn clearing_ends_the_turn_that_was_under_way() {
    told("cleared_in_a_turn", |life| {
        life.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        life.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        life.end("s1", "clear");
    });
}

#[test]
fn a_turn_goes_on_through_a_compaction() {
    told("compacted", |life| {
        life.prompt("s1", "p1", "Token refresh fails with 401, mend it");
        life.edit(
            "s1",
            "p1",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        life.event("s1", "pre-compact", json!({"prompt_id": "p1", "trigger": "auto"}));
        life.event(
            "s1",
            "session-start",
            json!({"prompt_id": "p1", "source": "compact"}),
        );
        life.edit(
            "s1",
            "p1",
            "tests/auth.rs",
            "assert_eq!(calls, 1)",
            "assert_eq!(calls, 2)",
        );
        life.stop("s1", "p1", "Fixed: the token refresh now retries once on a 401.");
    });
}

#[test]
fn two_sessions_side_by_side_do_not_mix() {
    told("side_by_side", |life| {
        life.start("s1", "startup");
        life.start("s2", "startup");
        // Ids of prompts are the agents' own: they may be the same by accident.
        life.prompt("s1", "p", "Token refresh fails with 401, mend it");
        life.prompt("s2", "p", "Cap the cache of avatars");
        life.edit(
            "s1",
            "p",
            "src/auth.rs",
            "refresh(token)",
            "retry_once(|| refresh(token))",
        );
        life.edit(
            "s2",
            "p",
            "src/avatars.rs",
            "Cache::new()",
            "Cache::with_capacity(512)",
        );
        life.stop(
            "s2",
            "p",
            "The avatar cache now holds 512 entries at most.\n\nNext steps: measure how often it misses.",
        );
        life.end("s2", "other");
        life.stop("s1", "p", "Fixed: the token refresh now retries once on a 401.");
    });
}

#[test]
fn the_end_of_a_session_that_never_began_leaves_nothing_to_see() {
    told("never_began", |life| {
        life.end("ghost", "other");
        life.cache_turn("s1", "p1");
    });
}
