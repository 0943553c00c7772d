//! `backstory forget`: deletes memories permanently.

use std::io::{self, IsTerminal, Write};

use anstream::println;
use anyhow::{Context, Result, bail};
use backstory_engine::error::HintedError;
use backstory_engine::{
    engine::Engine,
    forgetting::forget,
    models,
    time_arg::{self, TimeArg},
};
use backstory_model::{Handle, MemoryKind, Timestamp};
use backstory_store::{Forgotten, Project, Selection, Session, Store};
use jiff::tz::TimeZone;
use serde_json::{Map, json};

use super::{ExitStatus, open_store, project, unknown};
use crate::{
    json_output::print_json,
    output::{self, BOLD, DIM, LABEL_WIDTH, count, print_hint},
};

/// Permanently delete memories, sessions or a project
///
/// Shows what will be deleted and asks for confirmation. A handle names one memory and removes nothing else: an
/// observation's evidence stays, and a forgotten prompt leaves its turn. A forgotten session is not imported again. A new
/// backup replaces the automatic ones; backups made by hand keep the data and are listed.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory forget 12 N3                            two memories
  backstory forget --session 3f9a                   a session with everything in it
  backstory forget -p shop --before 90d --dry-run   what would go")]
#[command(group(clap::ArgGroup::new("what").required(true).multiple(true).args(["handles", "session", "project", "before", "words"])))]
pub(crate) struct Forget {
    /// Handles: 123, S12, P34, N5, V678
    #[arg(value_name = "HANDLE", conflicts_with_all = ["session", "project", "before", "words"])]
    handles: Vec<Handle>,
    /// A session with everything in it: its id, or a prefix of it
    #[arg(long, value_name = "S", conflicts_with_all = ["project", "before", "words"])]
    session: Option<String>,
    /// A project with all its sessions; with --before or --match only the matching part
    #[arg(long, short, value_name = "P")]
    project: Option<String>,
    /// Everything that ended before a date, or longer ago than a period: 2026-01-31, 90d
    #[arg(long, value_name = "DATE", conflicts_with = "words", value_parser = time_arg::parse_time_arg)]
    before: Option<TimeArg>,
    /// Memories and recorded events that contain all of these words
    #[arg(long = "match", value_name = "WORDS")]
    words: Option<String>,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
    /// List the affected memories, delete nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Targets from the command line, resolved in the store.
#[derive(Default)]
struct ForgetTargets {
    session: Option<Session>,
    project: Option<Project>,
    before: Option<Timestamp>,
}

impl ForgetTargets {
    fn selection<'f>(&'f self, arguments: &'f Forget) -> Selection<'f> {
        let project = self.project.as_ref();
        match (&self.session, &arguments.words, self.before, project) {
            (Some(session), ..) => Selection::Session(session),
            (None, Some(words), ..) => Selection::Match(words, project),
            (None, None, Some(ms), _) => Selection::Before(ms, project),
            (None, None, None, Some(project)) => Selection::Project(project),
            (None, None, None, None) => Selection::Memories(&arguments.handles),
        }
    }
}

pub(crate) fn run(engine: &Engine, arguments: &Forget) -> Result<ExitStatus> {
    let Some(mut store) = open_store(engine)? else {
        bail!(HintedError::new("no memories yet").hint("there is nothing to forget"));
    };
    let zone = models::zone(&engine.checked_settings()?);
    let found = find(engine, &store, arguments, &zone)?;
    let selection = found.selection(arguments);
    let plan = store.preview_forget(selection)?;
    let is_empty = plan.is_empty() && !matches!(selection, Selection::Project(_));
    match (arguments.json, is_empty) {
        (true, _) => {}
        (false, true) => println!("Nothing to forget."),
        (false, false) => print_plan(&store, &plan, selection)?,
    }
    if arguments.dry_run || is_empty {
        if arguments.json {
            print_report(&plan, true);
        } else if !is_empty {
            println!("{DIM}Nothing was changed.{DIM:#}");
        }
        return Ok(if is_empty {
            ExitStatus::Failed
        } else {
            ExitStatus::Done
        });
    }
    if !arguments.yes {
        if !io::stdin().is_terminal() {
            anstream::eprintln!("Not a terminal, so nothing was changed. Pass --yes to apply.");
            print_hint("--dry-run lists what would be deleted");
            return Ok(ExitStatus::Refused);
        }
        if !is_meant()? {
            println!("Nothing was changed.");
            return Ok(ExitStatus::Failed);
        }
    }
    let done = forget(engine, &mut store, selection, &engine.checked_settings()?.context)?;
    if !done.is_traceless {
        anstream::eprintln!("Another process reads the database; deletion completes when it exits.");
    }
    if arguments.json {
        print_report(&done.forgotten, false);
    } else {
        println!("Forgotten.");
    }
    for copy in done.by_hand {
        anstream::eprintln!(
            "This backup was made by hand and may still contain it: {}",
            copy.path.display()
        );
    }
    Ok(ExitStatus::Done)
}

fn find(engine: &Engine, store: &Store, arguments: &Forget, zone: &TimeZone) -> Result<ForgetTargets> {
    let now = engine.clock.timestamp();
    let mut found = ForgetTargets::default();
    for &handle in &arguments.handles {
        if !store.exists(handle)? {
            return Err(unknown(handle));
        }
    }
    if let Some(start) = &arguments.session {
        match store.session(start) {
            Ok(session) => found.session = Some(session),
            Err(error) => {
                bail!(HintedError::new(format_args!("{error}")).hint("`backstory sessions` lists them"))
            }
        }
    }
    if let Some(named) = &arguments.project {
        found.project = Some(project(engine, store, named)?);
    }
    found.before = arguments
        .before
        .map(|when| when.timestamp(now, zone))
        .transpose()?;
    Ok(found)
}

fn is_meant() -> Result<bool> {
    let mut answer = String::new();
    let ask = write!(io::stderr(), "Delete permanently? [y/N] ").and_then(|()| io::stderr().flush());
    ask.and_then(|()| io::stdin().read_line(&mut answer))
        .context("could not read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn print_plan(store: &Store, plan: &Forgotten, selection: Selection<'_>) -> Result<()> {
    let mut parts: Vec<String> = Vec::new();
    if let Selection::Project(project) = selection {
        parts.push(format!("the project {}", output::one_line(&project.name, 60)));
    }
    if plan.sessions > 0 {
        parts.push(count(plan.sessions, "session"));
    }
    for kind in MemoryKind::ALL {
        if let Some(&number) = plan.memories.get(&kind) {
            parts.push(match kind {
                MemoryKind::Summary if number > 1 => format!("{number} summaries"),
                MemoryKind::Team if number > 1 => format!("{number} memories of others"),
                MemoryKind::Team => "1 memory of another person".to_owned(),
                _ => count(number, kind.name()),
            });
        }
    }
    if plan.events > 0 {
        parts.push(format!("the record of {}", count(plan.events, "event")));
    }
    println!("{BOLD}Will be deleted:{BOLD:#} {}", parts.join(", "));
    if plan.pinned > 0 {
        println!("  {BOLD}{} pinned{BOLD:#}", plan.pinned);
    }
    for (handle, title) in &plan.titles {
        let memory = store.memory(*handle)?;
        let (label, style) = memory.map_or((handle.kind.name(), DIM), |memory| {
            output::label(&memory.record, memory.rejected)
        });
        println!(
            "  {style}{label:<LABEL_WIDTH$}{style:#} {} {DIM}#{handle}{DIM:#}",
            output::one_line(title, output::width() - 23)
        );
    }
    let all: u64 = plan.memories.values().sum();
    let left = all.saturating_sub(plan.titles.len() as u64);
    if left > 0 {
        println!("  {DIM}… and {left} more{DIM:#}");
    }
    Ok(())
}

fn print_report(plan: &Forgotten, is_dry: bool) {
    let mut counts: Map<String, serde_json::Value> = MemoryKind::ALL
        .iter()
        .map(|kind| {
            let number = plan.memories.get(kind).copied().unwrap_or_default();
            (
                format!("{}s", kind.name())
                    .replace("summarys", "summaries")
                    .replace("teams", "team_memories"),
                number.into(),
            )
        })
        .collect();
    counts.insert("sessions".to_owned(), plan.sessions.into());
    counts.insert("events".to_owned(), plan.events.into());
    print_json(json!({"forgotten": counts, "pinned": plan.pinned, "dry_run": is_dry}));
}
