//! Runs the prompt hook for each prompt and checks the recalled sessions.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use serde_json::{Value, json};

use super::{
    Limits, Options, Show,
    handles::{Handle, handles},
    memory::{GatePrompt, Memory},
};
use crate::{
    process,
    report::{Samples, Section, micros},
};

/// Minimum number of related prompts that recall an expected session.
const MIN_RIGHT: usize = 45;
/// Maximum number of unrelated prompts that recall anything.
const MAX_UNRELATED: usize = 1;

/// Result of one prompt.
#[derive(Debug)]
struct GateResult {
    is_related: bool,
    /// Shares few words with the expected session, or some words although nothing is expected.
    is_hard: bool,
    /// Injected text, if any.
    context: Option<String>,
    /// Sessions of the injected memories.
    sessions: Vec<String>,
    /// Number of expected sessions among them.
    expected: usize,
    took: Samples,
}

pub(super) fn measure(memory: &Memory, options: Options) -> Result<Section> {
    let database = Connection::open_with_flags(memory.home.database(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut all = Vec::new();
    for (number, prompt) in memory.prompts()?.iter().enumerate() {
        let result = submit(memory, &database, prompt, number)?;
        if options.show == Show::List {
            print(memory, prompt, &result);
        }
        all.push(result);
    }
    Ok(section(&all, options.limits))
}

/// Sends a prompt to a new session.
fn submit(
    memory: &Memory,
    database: &Connection,
    prompt: &GatePrompt<'_>,
    number: usize,
) -> Result<GateResult> {
    let payload = json!({
        "session_id": format!("{number:08x}-a5ed-4000-8000-000000000000"),
        "transcript_path": format!("/home/dev/.claude/projects/-gate/{number}.jsonl"),
        "cwd": prompt.root,
        "prompt_id": format!("{number:08x}-a5ed-4000-8000-000000000001"),
        "permission_mode": "default",
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt.prompt.text,
    });
    let mut command = memory.home.command(&["hook", "user-prompt-submit"]);
    let command = command.current_dir(prompt.root);
    let (finished, printed) = process::run_with_output(command, payload.to_string().as_bytes())?;
    ensure!(finished.status.success(), "a hook failed: {}", finished.status);
    // Otherwise the next command would ingest the prompts as memories.
    memory.home.clear_spool()?;
    let context = context(&printed)?;
    let sessions = match &context {
        Some(text) => sessions(database, text)?,
        None => Vec::new(),
    };
    let is_expected = |session: &&String| prompt.expected.contains(&session.as_str());
    let mut took = Samples::default();
    took.add(finished.took);
    Ok(GateResult {
        is_related: prompt.is_related(),
        is_hard: prompt.prompt.far || prompt.prompt.shares,
        expected: sessions.iter().filter(is_expected).count(),
        context,
        sessions,
        took,
    })
}

/// Returns the text that the hook injects.
fn context(printed: &[u8]) -> Result<Option<String>> {
    if printed.trim_ascii().is_empty() {
        return Ok(None);
    }
    let answer: Value = serde_json::from_slice(printed).context("the hook printed no JSON")?;
    let text = answer["hookSpecificOutput"]["additionalContext"].as_str();
    Ok(text.filter(|text| !text.trim().is_empty()).map(ToOwned::to_owned))
}

/// Returns the sessions of the memories in a text, by handle, or by title if it has no handles.
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

fn print(memory: &Memory, prompt: &GatePrompt<'_>, result: &GateResult) {
    let verdict = match (&result.context, result.is_related, result.expected) {
        (None, true, _) => "missed",
        (None, false, _) => "correctly silent",
        (Some(_), true, 1..) => "right",
        (Some(_), true, 0) => "WRONG",
        (Some(_), false, _) => "FALSE POSITIVE",
    };
    println!(
        "\n{verdict}: {}: {} ({})",
        prompt.project,
        prompt.one_line(),
        prompt.way()
    );
    if result.is_related && result.expected == 0 {
        let expected: Vec<&str> = prompt.expected.iter().map(|id| memory.name(id)).collect();
        println!("    expected: {}", expected.join(", "));
    }
    if let Some(text) = &result.context {
        let sessions: Vec<&str> = result.sessions.iter().map(|id| memory.name(id)).collect();
        println!("    sessions: {}", sessions.join(", "));
        text.lines().for_each(|line| println!("    | {line}"));
    }
}

fn section(all: &[GateResult], limits: Limits) -> Section {
    let columns = &[
        "prompts",
        "count",
        "fired",
        "right",
        "wrong",
        "median tokens",
        "max tokens",
        "p50 us",
        "p95 us",
    ];
    let mut section = Section::new("Prompts that recall memories", columns);
    let of = |is_related: bool, only_hard: bool| -> Vec<&GateResult> {
        all.iter()
            .filter(|result| result.is_related == is_related && (result.is_hard || !only_hard))
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
    let right = related.iter().filter(|result| result.expected > 0).count();
    let fired = of(false, false)
        .iter()
        .filter(|result| result.context.is_some())
        .count();
    let shown: usize = related.iter().map(|result| result.sessions.len()).sum();
    let expected: usize = related.iter().map(|result| result.expected).sum();
    section.note(format!(
        "{expected} of {shown} memories at related prompts are from an expected session"
    ));
    for (limit, is_met) in [
        (
            format!("at least {MIN_RIGHT} related prompts recall an expected session: {right}"),
            right >= MIN_RIGHT,
        ),
        (
            format!("at most {MAX_UNRELATED} unrelated prompt recalls anything: {fired}"),
            fired <= MAX_UNRELATED,
        ),
    ] {
        match (limits, is_met) {
            (Limits::Enforced, _) => section.check(limit, is_met),
            (Limits::Reported, true) => section.note(format!("met: {limit}")),
            (Limits::Reported, false) => section.note(format!("missed: {limit}")),
        }
    }
    section
}

fn row(name: &str, results: &[&GateResult]) -> Vec<Value> {
    let mut tokens: Vec<usize> = results
        .iter()
        .filter_map(|result| Some(result.context.as_ref()?.len().div_ceil(4)))
        .collect();
    tokens.sort_unstable();
    let right = results.iter().filter(|result| result.expected > 0).count();
    let mut took = Samples::default();
    results.iter().for_each(|result| took.extend(result.took.clone()));
    vec![
        json!(name),
        json!(results.len()),
        json!(tokens.len()),
        json!(right),
        json!(tokens.len() - right),
        json!(tokens.get(tokens.len() / 2)),
        json!(tokens.last()),
        micros(took.median()),
        micros(took.percentile(95)),
    ]
}
