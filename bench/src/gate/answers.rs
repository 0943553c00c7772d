//! What the hook answers to each prompt, and whether that is what was meant.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde_json::{Value, json};

use super::{
    Promise, Show, Wanted,
    handles::{Handle, handles},
    memory::{Asked, Memory},
};
use crate::{
    process,
    report::{Samples, Section, micros},
};

/// So many of the related prompts must bring what was meant.
const RIGHT_AT_LEAST: usize = 45;
/// So many of the unrelated prompts may bring anything.
const UNRELATED_AT_MOST: usize = 1;

/// What came.
#[derive(Debug)]
struct Came {
    is_related: bool,
    /// Has few words in common with what is meant, or some though nothing is.
    is_hard: bool,
    /// The text, if any.
    context: Option<String>,
    /// The sessions of the memories in it.
    sessions: Vec<String>,
    /// How many of these were meant.
    meant: usize,
    took: Samples,
}

pub(super) fn measure(memory: &Memory, wanted: Wanted) -> Result<Section> {
    let database = Connection::open_with_flags(memory.home.database(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut all = Vec::new();
    for (number, asked) in memory.prompts()?.iter().enumerate() {
        let came = ask(memory, &database, asked, number)?;
        if wanted.show == Show::List {
            print(memory, asked, &came);
        }
        all.push(came);
    }
    Ok(section(&all, wanted.promise))
}

/// Types a prompt into a new session.
fn ask(memory: &Memory, database: &Connection, asked: &Asked<'_>, number: usize) -> Result<Came> {
    let payload = json!({
        "session_id": format!("{number:08x}-a5ed-4000-8000-000000000000"),
        "transcript_path": format!("/home/dev/.claude/projects/-gate/{number}.jsonl"),
        "cwd": asked.root,
        "prompt_id": format!("{number:08x}-a5ed-4000-8000-000000000001"),
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": asked.prompt.text,
    });
    let mut command = memory.home.command(&["hook", "user-prompt-submit"]);
    let command = command.current_dir(asked.root);
    let (finished, printed) = process::answer(command, payload.to_string().as_bytes())?;
    ensure!(finished.status.success(), "a hook failed: {}", finished.status);
    // Or the next command would take it in, and the prompts would become memories.
    memory.home.clear_spool()?;
    let context = context(&printed)?;
    let sessions = match &context {
        Some(text) => sessions(database, text)?,
        None => Vec::new(),
    };
    let is_meant = |session: &&String| asked.expected.contains(&session.as_str());
    let mut took = Samples::default();
    took.add(finished.took);
    Ok(Came {
        is_related: asked.is_related(),
        is_hard: asked.prompt.far || asked.prompt.shares,
        meant: sessions.iter().filter(is_meant).count(),
        context,
        sessions,
        took,
    })
}

/// Returns what the agent would be shown.
fn context(printed: &[u8]) -> Result<Option<String>> {
    if printed.trim_ascii().is_empty() {
        return Ok(None);
    }
    let answer: Value = serde_json::from_slice(printed).context("the hook printed no JSON")?;
    let text = answer["hookSpecificOutput"]["additionalContext"].as_str();
    Ok(text.filter(|text| !text.trim().is_empty()).map(ToOwned::to_owned))
}

/// Returns the session of each memory in a text: by its handle or, where a text has none, by titles.
fn sessions(database: &Connection, text: &str) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for handle in handles(text).into_iter().collect::<BTreeSet<Handle>>() {
        let sql = format!(
            "select session_id from session join {} memory on session.id = memory.session_db_id where memory.id = ?1",
            handle.table
        );
        let session = database
            .query_row(&sql, [handle.id], |row| row.get(0))
            .optional()?;
        found.extend(session);
    }
    if found.is_empty() {
        let mut titles = database.prepare(
            "select session_id from session join observation memory on session.id = memory.session_db_id
                where length(memory.title) > 10 and instr(?1, memory.title) > 0",
        )?;
        for session in titles.query_map([text], |row| row.get(0))? {
            found.push(session?);
        }
    }
    Ok(found)
}

fn print(memory: &Memory, asked: &Asked<'_>, came: &Came) {
    let verdict = match (&came.context, came.is_related, came.meant) {
        (None, true, _) => "nothing came",
        (None, false, _) => "rightly nothing",
        (Some(_), true, 1..) => "right",
        (Some(_), true, 0) => "WRONG",
        (Some(_), false, _) => "WRONGLY FIRED",
    };
    println!(
        "\n{verdict}: {}: {} ({})",
        asked.project,
        asked.one_line(),
        asked.way()
    );
    if came.is_related && came.meant == 0 {
        let meant: Vec<&str> = asked.expected.iter().map(|id| memory.name(id)).collect();
        println!("    meant: {}", meant.join(", "));
    }
    if let Some(text) = &came.context {
        let sessions: Vec<&str> = came.sessions.iter().map(|id| memory.name(id)).collect();
        println!("    of: {}", sessions.join(", "));
        text.lines().for_each(|line| println!("    | {line}"));
    }
}

fn section(all: &[Came], promise: Promise) -> Section {
    let columns = &[
        "prompts",
        "asked",
        "fired",
        "right",
        "wrong",
        "median tokens",
        "most tokens",
        "p50 us",
        "p95 us",
    ];
    let mut section = Section::new("Which prompts bring memories back", columns);
    let of = |is_related: bool, only_hard: bool| -> Vec<&Came> {
        all.iter()
            .filter(|came| came.is_related == is_related && (came.is_hard || !only_hard))
            .collect()
    };
    for (name, is_related, only_hard) in [
        ("related", true, false),
        ("  with few words in common", true, true),
        ("unrelated", false, false),
        ("  with some words in common", false, true),
    ] {
        section.row(row(name, &of(is_related, only_hard)));
    }
    let related = of(true, false);
    let right = related.iter().filter(|came| came.meant > 0).count();
    let fired = of(false, false)
        .iter()
        .filter(|came| came.context.is_some())
        .count();
    let shown: usize = related.iter().map(|came| came.sessions.len()).sum();
    let meant: usize = related.iter().map(|came| came.meant).sum();
    section.note(format!(
        "of {shown} memories shown at related prompts, {meant} are of a session that was meant"
    ));
    for (what, holds) in [
        (
            format!("at least {RIGHT_AT_LEAST} related prompts bring what was meant: {right}"),
            right >= RIGHT_AT_LEAST,
        ),
        (
            format!("at most {UNRELATED_AT_MOST} unrelated prompt brings anything: {fired}"),
            fired <= UNRELATED_AT_MOST,
        ),
    ] {
        match (promise, holds) {
            (Promise::Kept, _) => section.check(what, holds),
            (Promise::Reported, true) => section.note(format!("promised: {what}")),
            (Promise::Reported, false) => section.note(format!("promised, and broken: {what}")),
        }
    }
    section
}

fn row(name: &str, came: &[&Came]) -> Vec<Value> {
    let mut tokens: Vec<usize> = came
        .iter()
        .filter_map(|came| Some(came.context.as_ref()?.len().div_ceil(4)))
        .collect();
    tokens.sort_unstable();
    let right = came.iter().filter(|came| came.meant > 0).count();
    let mut took = Samples::default();
    came.iter().for_each(|came| took.extend(came.took.clone()));
    vec![
        json!(name),
        json!(came.len()),
        json!(tokens.len()),
        json!(right),
        json!(tokens.len() - right),
        json!(tokens.get(tokens.len() / 2)),
        json!(tokens.last()),
        micros(took.median()),
        micros(took.percentile(95)),
    ]
}
