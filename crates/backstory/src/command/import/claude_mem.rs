//! `backstory import claude-mem`: imports the memories of claude-mem.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    path::PathBuf,
};

use anstream::println;
use anyhow::{Context, Result, anyhow};
use backstory_capture::project;
use backstory_engine::error::{HintedError, error_chain};
use backstory_engine::worker_process;
use backstory_engine::{engine::Engine, jsonl};
use backstory_model::ProjectIdentity;
use backstory_store::{ClaudeMem, ForeignMemory, PreparedLine, Store, StoreError};
use serde_json::json;

use crate::{
    command::{ExitStatus, open_for_writing, open_store},
    json_output::print_json,
    output::{self, DIM, count},
    progress::Progress,
};

#[derive(clap::Args)]
pub(super) struct ClaudeMemArguments {
    /// Database of claude-mem [default: ~/.claude-mem/claude-mem.db]
    #[arg(value_name = "DB")]
    database: Option<PathBuf>,
    /// Folder of the project with that name; may be repeated
    #[arg(long, value_name = "NAME=DIR", value_parser = map)]
    map: Vec<(String, PathBuf)>,
    /// Show what would be imported and into which projects, change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn map(text: &str) -> Result<(String, PathBuf), String> {
    let (name, folder) = text.split_once('=').ok_or("expected NAME=DIR")?;
    let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
    match folder.is_dir() {
        true => Ok((name.to_owned(), folder)),
        false => Err(format!("{} is not a folder", folder.display())),
    }
}

/// Lines per transaction.
const BATCH: usize = 2_000;

#[derive(Default)]
struct Tally {
    imported: u64,
    unchanged: u64,
    /// Memories of earlier imports that `--map` assigns to a project.
    moved: u64,
    /// Prompts that the store already has from the agent, and memories of forgotten sessions.
    skipped: u64,
    damaged: u64,
    /// Number of memories by project name and target project.
    projects: BTreeMap<(String, String), u64>,
}

pub(super) fn run(engine: &Engine, arguments: &ClaudeMemArguments) -> Result<ExitStatus> {
    let redact = engine.checked_settings()?.capture.redact;
    let path = find(engine, arguments)?;
    let theirs = ClaudeMem::open(&path).map_err(|error| open_error(error, &path))?;
    let memories = theirs.memories()?;
    let mut resolver = ProjectResolver {
        mapped: arguments.map.iter().cloned().collect(),
        folders: theirs.folders()?,
        known: HashMap::new(),
    };
    let mut store = match arguments.dry_run {
        true => open_store(engine)?,
        false => {
            engine.home.create()?;
            Some(open_for_writing(engine)?)
        }
    };
    let mut counts = Tally::default();
    if let Some(store) = &mut store {
        counts.moved = move_unplaced(engine, arguments, store)?;
    }
    let mut progress = Progress::new(arguments.json);
    let had = store
        .as_ref()
        .map(Store::from_claude_mem)
        .transpose()?
        .unwrap_or_default();
    for (at, batch) in memories.chunks(BATCH).enumerate() {
        let mut ready = Vec::with_capacity(batch.len());
        for memory in batch {
            if let Some((facts, line)) =
                choose(memory, &had, store.as_ref(), &mut resolver, redact, &mut counts)?
            {
                if !arguments.dry_run
                    && let Some(store) = &mut store
                {
                    store.add_project(&facts, engine.clock.timestamp())?;
                }
                ready.push(line);
            }
        }
        match &mut store {
            Some(store) if !arguments.dry_run => {
                let stored = store.import_lines(&ready, &unknown_project(), engine.clock.timestamp())?;
                counts.imported += stored.new;
                counts.unchanged += stored.known;
            }
            _ => counts.imported += ready.len() as u64,
        }
        progress.bar(at * BATCH + batch.len(), memories.len(), "memories");
    }
    progress.end();
    report(arguments, &path, &counts);
    if counts.imported + counts.moved > 0 && !arguments.dry_run {
        // It embeds the memories.
        worker_process::ensure(engine);
    }
    Ok(ExitStatus::Done)
}

/// Moves memories that an earlier import could not place into the folders that `--map` names. Returns their number.
fn move_unplaced(engine: &Engine, arguments: &ClaudeMemArguments, store: &mut Store) -> Result<u64> {
    let mut moved = 0;
    for (name, folder) in &arguments.map {
        let key = unplaced(name);
        moved += match arguments.dry_run {
            true => u64::from(store.count_memories(&key, u32::MAX)?),
            false => store.move_project(&key, &project::locate(folder).facts, engine.clock.timestamp())?,
        };
    }
    Ok(moved)
}

fn find(engine: &Engine, arguments: &ClaudeMemArguments) -> Result<PathBuf> {
    match &arguments.database {
        Some(path) => Ok(path.clone()),
        None => Ok(engine
            .environment
            .user_home()
            .context("could not find your home folder")?
            .join(".claude-mem/claude-mem.db")),
    }
}

fn open_error(error: StoreError, path: &std::path::Path) -> anyhow::Error {
    // As text only: the damaged database is not our own.
    HintedError::new(format_args!("could not read {}", path.display()))
        .hint("name claude-mem's database; it is only read")
        .caused_by(anyhow!(error_chain(&error.into())))
        .into()
}

/// Decides whether a memory is imported, and into which project.
fn choose(
    memory: &ForeignMemory,
    had: &HashSet<String>,
    store: Option<&Store>,
    resolver: &mut ProjectResolver,
    redact: bool,
    counts: &mut Tally,
) -> Result<Option<(ProjectIdentity, PreparedLine)>> {
    if had.contains(&memory.external_id) {
        counts.unchanged += 1;
        return Ok(None);
    }
    let resolved = resolver.resolve(memory, store)?;
    let is_prompt = memory.fields.get("kind").is_some_and(|kind| kind == "prompt");
    if resolved.is_forgotten || (is_prompt && resolved.is_live) {
        counts.skipped += 1;
        return Ok(None);
    }
    let mut fields = memory.fields.clone();
    fields.insert("project".to_owned(), resolved.facts.key.clone().into());
    match jsonl::read(serde_json::to_string(&fields)?.as_bytes(), redact) {
        Ok(line) => {
            let key = (memory.project.clone(), resolved.facts.key.clone());
            *counts.projects.entry(key).or_default() += 1;
            Ok(Some((resolved.facts, line.into())))
        }
        Err(_) => {
            counts.damaged += 1;
            Ok(None)
        }
    }
}

/// Maps sessions and project names to projects.
struct ProjectResolver {
    mapped: HashMap<String, PathBuf>,
    folders: HashMap<String, PathBuf>,
    known: HashMap<(Option<String>, String), ResolvedProject>,
}

#[derive(Clone)]
struct ResolvedProject {
    facts: ProjectIdentity,
    /// True if the store has the session's prompts from the agent itself.
    is_live: bool,
    is_forgotten: bool,
}

impl ProjectResolver {
    fn resolve(&mut self, memory: &ForeignMemory, store: Option<&Store>) -> Result<ResolvedProject> {
        let key = (memory.session_id.clone(), memory.project.clone());
        if let Some(resolved) = self.known.get(&key) {
            return Ok(resolved.clone());
        }
        let session_id = memory.session_id.as_deref();
        let session = match (store, session_id) {
            (Some(store), Some(id)) if store.session_db_id(id)?.is_some() => store.session(id).ok(),
            _ => None,
        };
        let is_live = session.as_ref().is_some_and(|session| session.host != "import");
        let is_forgotten = match (store, session_id) {
            (Some(store), Some(id)) => session.is_none() && store.forgotten_until(id)?.is_some(),
            _ => false,
        };
        let folder = self
            .mapped
            .get(&memory.project)
            .or_else(|| self.folders.get(session_id?))
            .filter(|folder| folder.is_dir());
        let facts = match (self.mapped.contains_key(&memory.project), session, folder) {
            (false, Some(session), _) if is_live => facts(session.project_id),
            (_, _, Some(folder)) => project::locate(folder).facts,
            // No remote and no path has this form, so it cannot collide.
            // Nor is it named like the folder: the name of a real project must stay unambiguous.
            _ => facts(unplaced(&memory.project)),
        };
        let resolved = ResolvedProject {
            facts,
            is_live,
            is_forgotten,
        };
        self.known.insert(key, resolved.clone());
        Ok(resolved)
    }
}

/// Returns the key of the project for memories whose folder is not known.
fn unplaced(name: &str) -> String {
    format!("claude-mem:{name}")
}

/// Returns the identity of a project that is known by its key alone.
fn facts(key: String) -> ProjectIdentity {
    ProjectIdentity {
        root: key.clone(),
        name: key.clone(),
        key,
        branch: None,
        worktree: None,
    }
}

/// Returns a placeholder project: every line names its own.
fn unknown_project() -> ProjectIdentity {
    facts(String::new())
}

fn memories_text(number: u64) -> String {
    count(number, "memory").replace("memorys", "memories")
}

fn report(arguments: &ClaudeMemArguments, path: &std::path::Path, counts: &Tally) {
    if arguments.json {
        let projects: Vec<_> = counts
            .projects
            .iter()
            .map(|((name, key), memories)| json!({"name": name, "project": key, "memories": memories}))
            .collect();
        print_json(
            json!({"imported": counts.imported, "unchanged": counts.unchanged, "moved": counts.moved, "left_out": counts.skipped,
                "damaged": counts.damaged, "projects": projects, "dry_run": arguments.dry_run}),
        );
        return;
    }
    let verb = if arguments.dry_run {
        "Would import"
    } else {
        "Imported"
    };
    println!(
        "{verb} {} from {}.",
        memories_text(counts.imported),
        path.display()
    );
    if counts.moved > 0 {
        let verb = if arguments.dry_run { "Would move" } else { "Moved" };
        println!(
            "{verb} {} of an earlier import into the mapped projects.",
            memories_text(counts.moved)
        );
    }
    for ((name, key), memories) in &counts.projects {
        println!(
            "  {} {DIM}→{DIM:#} {} {DIM}({memories}){DIM:#}",
            output::one_line(name, 40),
            output::one_line(key, 80)
        );
    }
    let apart = counts
        .projects
        .keys()
        .find(|(_, key)| key.starts_with("claude-mem:"));
    if let Some((name, _)) = apart {
        println!(
            "{DIM}Some have no known project and are kept apart. Use `--map {}=DIR` to assign them.{DIM:#}",
            output::one_line(name, 40)
        );
    }
    for (number, what) in [
        (counts.unchanged, "already imported"),
        (counts.skipped, "already recorded from the agent, or forgotten"),
        (counts.damaged, "without usable text"),
    ] {
        if number > 0 {
            println!("{DIM}{number} {what}.{DIM:#}");
        }
    }
}
