//! `backstory context`: prints the context block of a new session.

use std::{
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use anstream::println;
use anyhow::{Context as _, Result, bail};
use backstory_capture::project::locate;
use backstory_engine::engine::Engine;
use backstory_model::MemoryKind;
use backstory_recall::{ContextBlock, ContextEntry, ContextRequest, context};
use backstory_text::tokens;
use serde_json::{Value, json};

use super::{ExitStatus, import::distill_queue, locate_here, open_store, project};
use crate::{
    json_output::print_json,
    output::{self, BOLD, DIM},
    progress::Progress,
};

/// Show the context that a new session gets
///
/// Exits 1 when there is no context.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory context             what a session in this folder starts with
  backstory context --explain   why each memory is in it or not")]
pub(crate) struct ContextArguments {
    /// Project: its folder name, a path inside it, or its id
    #[arg(long, short, value_name = "P", conflicts_with = "cwd")]
    project: Option<String>,
    /// Folder in which the session would start
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Show why each memory is included or skipped
    #[arg(long)]
    explain: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &ContextArguments) -> Result<ExitStatus> {
    let mut block = build(engine, arguments)?;
    let mut pending = 0;
    if block.is_none() {
        pending = await_queue(engine)?;
        block = build(engine, arguments)?;
    }
    let Some(block) = block else {
        match (arguments.json, pending) {
            (true, _) => print_json(json!({"context": null, "tokens": 0, "entries": []})),
            (false, 0) => anstream::eprintln!("No context: this project has no memories yet."),
            (false, _) => anstream::eprintln!(
                "No context yet: {} still being processed (`backstory queue`).",
                match pending {
                    1 => "1 event is".to_owned(),
                    events => format!("{events} events are"),
                }
            ),
        }
        return Ok(ExitStatus::Failed);
    };
    if arguments.json {
        let entries: Vec<Value> = block.entries.iter().map(as_json).collect();
        print_json(json!({"context": block.text, "tokens": tokens(&block.text), "entries": entries}));
    } else if arguments.explain {
        explain(&block);
    } else {
        println!("{}", block.text);
    }
    Ok(ExitStatus::Done)
}

/// Waits until the first events are distilled, which takes about a second: by the worker, or here if none runs. Returns the
/// number of events that are still pending.
pub(crate) fn await_queue(engine: &Engine) -> Result<u64> {
    const TIMEOUT: Duration = Duration::from_secs(3);
    const POLL_INTERVAL: Duration = Duration::from_millis(50);
    let start = Instant::now();
    loop {
        let Some(mut store) = open_store(engine)? else {
            return Ok(0);
        };
        let settings = engine.checked_settings()?;
        let distilled = distill_queue(engine, &mut store, &settings, &mut Progress::new(true))?;
        let queue = store.queue(0)?;
        let pending = queue.pending + queue.processing;
        if pending == 0 || distilled.is_some() || start.elapsed() > TIMEOUT {
            return Ok(pending);
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// Returns the first memories of the context of a project, or of the project in the current folder.
pub(crate) fn first_memories(
    engine: &Engine,
    project: Option<String>,
    most: usize,
) -> Result<Vec<ContextEntry>> {
    let block = build(
        engine,
        &ContextArguments {
            project,
            cwd: None,
            explain: false,
            json: false,
        },
    )?;
    let entries = block.map(|block| block.entries).unwrap_or_default();
    let mut included: Vec<ContextEntry> = entries.into_iter().filter(|entry| entry.is_included).collect();
    // Prompts and passages say less than what was made of them, and a question least.
    included.sort_by_key(|entry| {
        let is_made = matches!(entry.handle.kind, MemoryKind::Note | MemoryKind::Observation);
        (!is_made, entry.title.ends_with('?'))
    });
    included.truncate(most);
    Ok(included)
}

fn build(engine: &Engine, arguments: &ContextArguments) -> Result<Option<ContextBlock>> {
    let limits = engine.checked_settings()?.context.limits();
    let Some(store) = open_store(engine)? else {
        return Ok(None);
    };
    let folder = match &arguments.cwd {
        Some(folder) if !folder.is_dir() => bail!("no such folder: {}", folder.display()),
        Some(folder) => std::path::absolute(folder)?,
        None => std::env::current_dir().context("could not find the current folder")?,
    };
    let facts = locate_here(engine, &folder);
    let (project, branch) = match &arguments.project {
        Some(named) => {
            let project = project(engine, &store, named)?;
            let branch = locate(project.root.as_ref()).facts.branch;
            (project, branch)
        }
        None => (store.project_of(&facts)?, facts.branch),
    };
    let situation = ContextRequest {
        project: &project,
        branch: branch.as_deref(),
        compacted_session: None,
        is_withheld: false,
        now: engine.clock.timestamp(),
    };
    Ok(context(&store, &situation, &limits)?)
}

fn as_json(entry: &ContextEntry) -> Value {
    json!({
        "id": entry.handle,
        "title": entry.title,
        "reason": entry.reason,
        "tokens": entry.tokens,
        "told": entry.is_included,
    })
}

fn explain(block: &ContextBlock) {
    let width = output::width();
    let print = |entry: &ContextEntry| {
        let handle = entry.handle.to_string();
        let title = output::one_line(&entry.title, width.saturating_sub(9).max(20));
        println!("{BOLD}{handle:>6}{BOLD:#}  {title}");
        let tokens = match entry.is_included {
            true => format!(" · ~{} tokens", entry.tokens),
            false => String::new(),
        };
        println!("        {DIM}{}{tokens}{DIM:#}", entry.reason);
    };
    let (included, skipped): (Vec<&ContextEntry>, Vec<&ContextEntry>) =
        block.entries.iter().partition(|entry| entry.is_included);
    println!("Included (~{} tokens):", tokens(&block.text));
    included.into_iter().for_each(print);
    if !skipped.is_empty() {
        println!("\nSkipped:");
        skipped.into_iter().for_each(print);
    }
}
