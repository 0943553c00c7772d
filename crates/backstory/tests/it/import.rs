//! Import of past sessions from transcripts.

use std::{collections::BTreeSet, fs, path::PathBuf, time::Duration};

use rustix::process::{Flock, FlockType, Pid, Signal, fcntl_getlk, kill_process};
use serde_json::{Value, json};

use crate::home::{Home, eventually, recorded_folder, text};

/// Creates a projects folder with the recorded transcripts in the client's layout.
fn projects(home: &Home) -> PathBuf {
    let folder = home.outside().join("claude/projects/-home-dev-acme");
    fs::create_dir_all(&folder).unwrap();
    for (name, session) in [
        ("transcript.jsonl", "00000000-0000-4000-8000-000000000001"),
        (
            "transcript.compacted.jsonl",
            "00000000-0000-4000-8000-000000000099",
        ),
    ] {
        let text = fs::read_to_string(recorded_folder().join(name)).unwrap();
        let target = folder.join(format!("{session}.jsonl"));
        fs::write(
            &target,
            text.replace("00000000-0000-4000-8000-000000000001", session),
        )
        .unwrap();
        let old = std::time::SystemTime::now() - Duration::from_secs(100 * 3600);
        fs::File::options()
            .write(true)
            .open(&target)
            .unwrap()
            .set_modified(old)
            .unwrap();
    }
    home.outside().join("claude/projects")
}

fn import(home: &Home, more: &[&str]) -> Value {
    let folder = home.outside().join("claude/projects");
    let mut arguments = vec!["import", "claude-code", folder.to_str().unwrap(), "--json"];
    arguments.extend(more);
    home.json(&arguments)
}

fn state(home: &Home) -> (u64, String) {
    let connection = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    let sql = "select group_concat(title || facts, char(10)) from (select title, facts from observation order by id)";
    let memories: Option<String> = connection.query_row(sql, [], |row| row.get(0)).unwrap();
    (home.events(), memories.unwrap_or_default())
}

#[test]
fn past_sessions_are_imported_once() {
    let home = Home::new();
    projects(&home);
    let dry = import(&home, &["--dry-run"]);
    assert_eq!((&dry["sessions"], &dry["dry_run"]), (&json!(2), &json!(true)));
    assert!(!home.path().exists());

    let first = import(&home, &[]);
    assert_eq!(
        (&first["sessions"], &first["damaged_lines"]),
        (&json!(2), &json!(0))
    );
    assert_eq!(first["prompts"], dry["prompts"]);
    let session = home.json(&["session", "00000000-0000-4000-8000-000000000001", "--json"]);
    assert_eq!(session["status"], "completed");
    assert_eq!(
        session["started_at"], "2026-11-15T09:45:55.798Z",
        "the original times are kept"
    );
    let files: Vec<&Value> = session["turns"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|turn| turn["observations"].as_array().unwrap())
        .flat_map(|memory| memory["files_modified"].as_array().unwrap())
        .collect();
    assert!(
        files
            .iter()
            .any(|file| file.as_str().unwrap().ends_with("src/app.py")),
        "{session}"
    );

    let before = state(&home);
    assert_eq!(import(&home, &[])["unchanged"], 2);
    assert_eq!(state(&home), before);
    // Touched but not changed: read again, nothing new.
    let file = home
        .outside()
        .join("claude/projects/-home-dev-acme/00000000-0000-4000-8000-000000000001.jsonl");
    let old = std::time::SystemTime::now() - Duration::from_secs(99 * 3600);
    fs::File::options()
        .write(true)
        .open(file)
        .unwrap()
        .set_modified(old)
        .unwrap();
    let again = import(&home, &[]);
    assert_eq!(
        (&again["unchanged"], &again["sessions"], &again["new_events"]),
        (&json!(2), &json!(0), &json!(0))
    );
    assert_eq!(state(&home), before);
}

#[test]
fn a_session_captured_live_is_not_duplicated() {
    let home = Home::new();
    projects(&home);
    home.report(
        "user-prompt-submit",
        &json!({"session_id": "00000000-0000-4000-8000-000000000001", "prompt": "live"}),
    );
    home.drain();
    let told = import(&home, &[]);
    assert!(
        told["new_events"].as_u64().unwrap() > 0,
        "what came before the first live event is taken over"
    );
    let session = home.json(&["session", "00000000-0000-4000-8000-000000000001", "--json"]);
    let live: Vec<&Value> = session["turns"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|turn| turn["prompt"] == "live")
        .collect();
    assert_eq!(live.len(), 1);
}

/// A session of three turns. Hooks recorded the first and the third, and the second is in the transcript only.
struct InterruptedCapture {
    home: Home,
    transcript: PathBuf,
}

impl InterruptedCapture {
    const SESSION: &str = "00000000-0000-4000-8000-000000000005";

    fn new(has_prompt_ids: bool) -> Self {
        let home = Home::new();
        let folder = home.outside().join("claude/projects/-work-shop");
        fs::create_dir_all(&folder).unwrap();
        let transcript = folder.join(format!("{}.jsonl", Self::SESSION));
        let mut lines = String::new();
        for (number, part) in (1..=3).zip(["cart", "stock", "payment"]) {
            let begin = jiff::Timestamp::now();
            std::thread::sleep(Duration::from_millis(30));
            let mut prompt = json!({"type": "user", "sessionId": Self::SESSION, "cwd": home.project(), "gitBranch": "main",
                "timestamp": begin.to_string(),
                "message": {"role": "user", "content": format!("Why is the {part} slow?")}});
            if has_prompt_ids {
                prompt["promptId"] = json!(format!("p{number}"));
            }
            let answer = format!("The {part} is slow because the {part} index is missing.");
            let line = json!({"type": "assistant", "sessionId": Self::SESSION, "cwd": home.project(),
                "timestamp": (begin + jiff::SignedDuration::from_millis(10)).to_string(),
                "message": {"id": format!("m{number}"), "role": "assistant", "content": [{"type": "text", "text": answer}]}});
            lines.push_str(&format!("{prompt}\n{line}\n"));
            fs::write(&transcript, &lines).unwrap();
            if number != 2 {
                let mut fields = json!({"session_id": Self::SESSION, "transcript_path": transcript,
                    "prompt": format!("Why is the {part} slow?"), "last_assistant_message": answer});
                if has_prompt_ids {
                    fields["prompt_id"] = json!(format!("p{number}"));
                }
                home.report("user-prompt-submit", &fields);
                home.report("stop", &fields);
                home.drain();
            }
        }
        Self { home, transcript }
    }

    fn prompts(&self) -> Vec<String> {
        self.home
            .rows("select number || ' ' || prompt from turn order by number")
    }
}

#[test]
fn turns_that_hooks_missed_are_imported_in_their_order() {
    for has_prompt_ids in [true, false] {
        let session = InterruptedCapture::new(has_prompt_ids);
        let home = &session.home;
        assert_eq!(
            session.prompts(),
            ["1 Why is the cart slow?", "2 Why is the payment slow?"]
        );
        assert_eq!(import(home, &[])["prompts"], 1);
        let all = [
            "1 Why is the cart slow?",
            "2 Why is the stock slow?",
            "3 Why is the payment slow?",
        ];
        assert_eq!(session.prompts(), all);
        assert!(
            home.ok(&["search", "stock index"])
                .contains("stock index is missing")
        );
        // Its prose comes from the import or from the transcript, not from both.
        let passages = home.rows("select text from passage where text like 'The stock is slow%'");
        assert_eq!(passages.len(), 1, "{passages:?}");
        let events = home.events();
        assert_eq!(import(home, &[])["new_events"], 0);
        let again = home.outside().join("claude/projects/-work-shop/again");
        fs::create_dir_all(&again).unwrap();
        fs::copy(
            &session.transcript,
            again.join(session.transcript.file_name().unwrap()),
        )
        .unwrap();
        assert_eq!(import(home, &[])["new_events"], 0);
        assert_eq!(
            (session.prompts(), home.events()),
            (all.map(str::to_owned).to_vec(), events)
        );
    }
}

#[test]
fn turns_are_not_imported_where_capture_is_off_or_after_they_were_forgotten() {
    let session = InterruptedCapture::new(true);
    fs::write(session.home.project().join(".backstory-ignore"), "").unwrap();
    assert_eq!(import(&session.home, &[])["new_events"], 0);

    let session = InterruptedCapture::new(true);
    session
        .home
        .ok(&["forget", "--session", InterruptedCapture::SESSION, "--yes"]);
    assert_eq!(import(&session.home, &[])["new_events"], 0);
}

#[test]
fn a_dry_run_predicts_the_import() {
    let home = Home::new();
    projects(&home);
    let told = |more: &[&str]| {
        let mut told = import(&home, more);
        let fields = told.as_object_mut().unwrap();
        for other in ["dry_run", "distilled", "seconds"] {
            fields.remove(other);
        }
        told
    };
    // Hooks recorded all turns of this session, before its first line; their events are still in the spool.
    let session = "00000000-0000-4000-8000-000000000001";
    let file = home
        .outside()
        .join(format!("claude/projects/-home-dev-acme/{session}.jsonl"));
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("\"2026-11-15T", "\"2099-11-15T")).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let prompt_ids: BTreeSet<String> = lines
        .filter_map(|line| Some(line["promptId"].as_str()?.to_owned()))
        .collect();
    for id in &prompt_ids {
        home.report(
            "user-prompt-submit",
            &json!({"session_id": session, "prompt": "live", "prompt_id": id}),
        );
    }

    let dry = told(&["--dry-run"]);
    assert_eq!(
        (&dry["sessions"], &dry["unchanged"]),
        (&json!(1), &json!(1)),
        "{dry}"
    );
    assert_eq!(told(&[]), dry);
    assert_eq!(told(&["--dry-run"])["unchanged"], 2);
    let stored = home.rows("select count(*) || '' from turn where prompt is not null");
    let expected = dry["prompts"].as_u64().unwrap() + prompt_ids.len() as u64;
    assert_eq!(stored, [expected.to_string()]);
}

#[test]
fn damaged_lines_are_counted_and_the_rest_imported() {
    let home = Home::new();
    let folder = projects(&home).join("-home-dev-acme");
    let file = folder.join("00000000-0000-4000-8000-000000000001.jsonl");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen('\n', "\n{\"half\": \nnot json\n", 1)).unwrap();
    let told = import(&home, &[]);
    assert_eq!(
        (&told["sessions"], &told["damaged_lines"]),
        (&json!(2), &json!(2))
    );
    let places = [2, 3].map(|line| format!("{}:{line}", file.display()));
    assert_eq!(told["unreadable"], json!(places));
}

/// Writes a transcript of one turn.
fn transcript(home: &Home, session: &str, cwd: &str, day: &str) {
    let folder = home.outside().join("claude/projects/-some-folder");
    fs::create_dir_all(&folder).unwrap();
    let line = |second: u32, kind: &str, message: Value| {
        json!({"type": kind, "sessionId": session, "cwd": cwd, "gitBranch": "feat/x", "message": message,
            "timestamp": format!("{day}T10:00:{second:02}.000Z")})
    };
    let lines = [
        line(
            1,
            "user",
            json!({"role": "user", "content": "Retry failed uploads"}),
        ),
        line(
            2,
            "assistant",
            json!({"id": "m", "content": [{"type": "text", "text": "Uploads are retried now."}]}),
        ),
    ];
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(folder.join(format!("{session}.jsonl")), text).unwrap();
}

#[test]
fn sessions_of_deleted_worktrees_join_their_project() {
    let home = Home::new();
    let id = |n: u32| format!("00000000-0000-4000-8000-0000000000{n:02}");
    let folders = [
        "/gone/app",
        "/gone/app/.worktrees/a",
        "/gone/app/.claude/worktrees/b",
        "/gone/app-worktrees/c",
        "/gone/other",
    ];
    for (n, cwd) in (1..).zip(folders) {
        transcript(&home, &id(n), cwd, "2026-01-05");
    }
    assert_eq!(import(&home, &[])["sessions"], 5);
    let counts = home.rows(
        "select project.root || ' ' || count(*) from session join project on project.id = project_id
        group by project.id order by 1",
    );
    assert_eq!(counts, ["/gone/app 4", "/gone/other 1"]);
}

#[test]
fn times_come_from_the_session_and_not_from_its_file() {
    let home = Home::new();
    // Both files are written now.
    transcript(
        &home,
        "00000000-0000-4000-8000-000000000001",
        "/gone/app",
        "2020-01-05",
    );
    transcript(
        &home,
        "00000000-0000-4000-8000-000000000002",
        "/gone/app",
        "2026-01-05",
    );
    assert_eq!(import(&home, &["--since", "2026-01-01"])["sessions"], 1);
    import(&home, &[]);
    let states = home.rows("select status from session order by session_id");
    assert_eq!(states, ["completed", "completed"]);
}

#[test]
fn filters_exclude_sessions() {
    let home = Home::new();
    projects(&home);
    assert_eq!(import(&home, &["--since", "2999-01-01"])["sessions"], 0);
    assert_eq!(
        import(&home, &["--project", "nothing-of-that-name"])["sessions"],
        0
    );
    assert_eq!(import(&home, &["--project", "acme"])["sessions"], 2);
    let missing = home.run(&["import", "claude-code", "/no/such/folder"], b"");
    assert_eq!(missing.status.code(), Some(1));
    assert!(
        String::from_utf8(missing.stderr)
            .unwrap()
            .contains("hint: name the folder")
    );
}

#[test]
fn an_import_that_is_killed_repeatedly_has_the_same_result() {
    let calm = Home::new();
    projects(&calm);
    import(&calm, &[]);
    let home = Home::new();
    projects(&home);
    let folder = home.outside().join("claude/projects");
    for moment in (0..20).map(|n| Duration::from_millis(2 + n * 3)) {
        let mut child = home
            .command(&["import", "claude-code", folder.to_str().unwrap()])
            .spawn()
            .unwrap();
        std::thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    import(&home, &[]);
    home.drain();
    let sorted = |home: &Home| {
        let (events, memories) = state(home);
        let mut memories: Vec<String> = memories.lines().map(ToOwned::to_owned).collect();
        memories.sort();
        (events, memories)
    };
    assert_eq!(sorted(&home), sorted(&calm));
    let queue = home.json(&["queue", "--json"]);
    assert_eq!((&queue["pending"], &queue["failed"]), (&json!(0), &json!(0)));
}

#[test]
fn other_commands_wait_for_a_running_import() {
    let home = Home::new();
    home.ok(&["remember", "releases are cut on Tuesdays"]);
    let copy = home.outside().join("copy.db");
    home.ok(&["backup", copy.to_str().unwrap()]);
    // Large enough to be observed while it distills.
    let folder = projects(&home);
    let one = folder.join("-home-dev-acme/00000000-0000-4000-8000-000000000099.jsonl");
    let one = fs::read_to_string(one).unwrap();
    for n in 100..200 {
        let session = format!("00000000-0000-4000-8000-000000000{n}");
        let path = folder.join(format!("-home-dev-acme/{session}.jsonl"));
        fs::write(
            path,
            one.replace("00000000-0000-4000-8000-000000000099", &session),
        )
        .unwrap();
    }
    let import = ["import", "claude-code", folder.to_str().unwrap(), "--json"];
    let mut import = home.command(&import).spawn().unwrap();
    let pid = Pid::from_child(&import);
    let holds_the_lock = || {
        let lock = fs::File::open(home.path().join("worker.lock")).ok();
        let held = lock.and_then(|lock| fcntl_getlk(lock, &Flock::from(FlockType::ReadLock)).unwrap());
        held.is_some_and(|held| held.pid == Some(pid))
    };
    eventually("the import distills", holds_the_lock);
    kill_process(pid, Signal::STOP).unwrap();
    assert!(holds_the_lock(), "it was met in the middle");

    let restore = ["restore", copy.to_str().unwrap(), "--yes"];
    let refused = home.run(&restore, b"");
    let said = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains(&format!("process {pid} is working on the database")),
        "{said}"
    );
    assert!(said.contains("hint: try again when it has ended"), "{said}");
    assert_eq!(home.ok(&["worker", "stop"]), "The worker is not running.\n");

    let waiting = home.command(&restore).spawn().unwrap();
    // The waiting command leaves no trace to wait for: it opens the lock only to look at it.
    std::thread::sleep(Duration::from_millis(200));
    kill_process(pid, Signal::CONT).unwrap();
    let ended = import.wait().unwrap();
    assert!(ended.success(), "{ended}");
    let restored = waiting.wait_with_output().unwrap();
    assert!(restored.status.success(), "{}", text(&restored.stderr));
    assert_eq!(
        home.rows("select text from note"),
        ["releases are cut on Tuesdays"]
    );
    assert_eq!(home.events(), 0);
}
