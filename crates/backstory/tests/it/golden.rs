//! Whole sessions of a real client (`testdata/sessions`) and their memories: read these snapshots as the next session's
//! agent would.
//!
//! Recorded from Claude Code 2.1.325 with a scripted model; paths and ids are replaced, and irrelevant lines of the
//! transcript are removed.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use crate::home::{Home, settings};

/// Recorded session, copied into a home.
struct Recorded {
    home: Home,
    payloads: Vec<Value>,
    transcript: PathBuf,
}

impl Recorded {
    fn new(name: &str) -> Self {
        let home = Home::new();
        let project = home.repository("shop", None);
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../testdata/sessions")
            .join(name);
        let read = |file: &str| {
            let text = fs::read_to_string(folder.join(file)).unwrap();
            text.replace("/work/shop", project.to_str().unwrap())
        };
        let payloads: Vec<Value> = read("hooks.jsonl")
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let session = payloads[0]["session_id"].as_str().unwrap();
        let transcript = home
            .outside()
            .join("claude/projects/-work-shop")
            .join(format!("{session}.jsonl"));
        fs::create_dir_all(transcript.parent().unwrap()).unwrap();
        fs::write(&transcript, read("transcript.jsonl")).unwrap();
        Self {
            home,
            payloads,
            transcript,
        }
    }

    fn session(&self) -> &str {
        self.payloads[0]["session_id"].as_str().unwrap()
    }

    /// Runs the recorded hooks.
    fn replay(&self) {
        for payload in &self.payloads {
            let mut payload = payload.clone();
            payload["transcript_path"] = self.transcript.to_str().unwrap().into();
            let name = payload["hook_event_name"].as_str().unwrap().to_owned();
            self.home.hook(&kebab_case(&name), payload.to_string().as_bytes());
        }
        self.home.drain();
    }

    /// Imports the session from the transcript alone.
    fn import(&self) {
        let old = SystemTime::now() - Duration::from_secs(100 * 3600);
        let file = fs::File::options().write(true).open(&self.transcript).unwrap();
        file.set_modified(old).unwrap();
        let folder = self.home.outside().join("claude/projects");
        self.home.ok(&["import", "claude-code", folder.to_str().unwrap()]);
        self.home.drain();
    }

    /// Returns the output of commands about the session, and all of its summaries.
    fn shown(&self) -> String {
        let mut shown = self.home.ok(&["session", self.session()]);
        let columns = [
            "request",
            "investigated",
            "learned",
            "completed",
            "next_steps",
            "notes",
            "files_read",
            "files_edited",
        ];
        for column in columns {
            let sql = format!(
                "select 'summary of ' || number || ', {column}: ' || coalesce({column}, '-') from summary
                    join turn on turn.id = turn_id order by number"
            );
            shown.push('\n');
            shown.push_str(&self.rows(&sql).join("\n"));
        }
        shown.push_str("\n\n");
        shown.push_str(
            &self
                .rows(
                    "select '#' || o.id || ' ' || coalesce(o.subtitle, '-') || ' | ' || coalesce(narrative, '-') || ' | '
                        || concepts || ' | read ' || files_read from observation o order by o.id",
                )
                .join("\n"),
        );
        shown
    }

    /// Returns all memories, without times and row numbers.
    fn memories(&self) -> Vec<String> {
        self.rows(
            "select number || ' ' || type || ' ' || o.title || ' ' || coalesce(o.subtitle, '-') || ' ' || coalesce(narrative, '-')
                || facts || concepts || files_read || files_modified || evidence
                from observation o join turn t on t.id = o.turn_id
            union all select number || ' summary ' || coalesce(request, '-') || ' ' || coalesce(investigated, '-') || ' '
                || coalesce(learned, '-') || ' ' || coalesce(completed, '-') || ' ' || coalesce(next_steps, '-')
                || files_read || files_edited || coalesce(notes, '-') from summary join turn t on t.id = turn_id
            union all select number || ' ' || kind || ' ' || text from passage join turn t on t.id = turn_id
            order by 1",
        )
    }

    fn rows(&self, sql: &str) -> Vec<String> {
        let root = self.home.outside().to_str().unwrap();
        let rows = self.home.rows(sql);
        rows.iter().map(|row| row.replace(root, "/work")).collect()
    }
}

/// Converts `PostToolUse` to `post-tool-use`.
fn kebab_case(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

fn check(name: &str) {
    let live = Recorded::new(name);
    live.replay();
    let mut settings = settings();
    settings.add_filter(r"/(?:tmp|var)/[\w./-]*?/shop\b", "/work/shop");
    settings.bind(|| insta::assert_snapshot!(format!("golden_{name}"), live.shown()));
    let past = Recorded::new(name);
    past.import();
    let (live, past) = (live.memories(), past.memories());
    assert!(live.len() > 3, "{live:#?}");
    let lost: Vec<_> = live.iter().filter(|row| !past.contains(row)).collect();
    let new: Vec<_> = past.iter().filter(|row| !live.contains(row)).collect();
    assert!(
        lost.is_empty() && new.is_empty(),
        "only by hooks: {lost:#?}\nonly by import: {new:#?}"
    );
    assert_eq!(live.len(), past.len());
}

#[test]
fn bug_fix_with_a_failing_test_first() {
    check("bug-fix");
}

#[test]
fn refactoring_with_an_undone_attempt() {
    check("refactor");
}

#[test]
fn investigation_without_changes() {
    check("investigation");
}
