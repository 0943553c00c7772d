//! `backstory timeline`: shows the history around a memory.

use anstream::println;
use anyhow::{Result, bail};
use backstory_engine::{engine::Engine, models};
use backstory_model::{Handle, Timestamp};
use backstory_recall::{Query, Searcher};
use backstory_serve::api_types;
use backstory_store::{Filter, Scope, Store, TimelineEntry, TimelineSpan};
use jiff::tz::TimeZone;
use serde_json::json;

use super::{ExitStatus, current_project, open_store, project, unknown};
use crate::output::{self, BOLD, DIM};

/// Show the history around a memory
///
/// Prompts, observations, summaries and notes of the same project; passages too when the memory is one.
#[derive(clap::Args)]
pub(crate) struct TimelineArguments {
    /// Handle such as 123, S12, P34, N5, V678; or words, whose best match is used
    #[arg(value_name = "HANDLE|WORDS", required = true)]
    words: Vec<String>,
    /// Number of entries before it
    #[arg(long, default_value_t = 10, value_name = "N")]
    before: u32,
    /// Number of entries after it
    #[arg(long, default_value_t = 10, value_name = "N")]
    after: u32,
    /// Search this project for the words: its folder name, a path inside it, or its id
    #[arg(long, value_name = "P", conflicts_with = "all")]
    project: Option<String>,
    /// Search all projects for the words
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &TimelineArguments) -> Result<ExitStatus> {
    let as_handle = match arguments.words.as_slice() {
        [word] => word.parse::<Handle>().ok(),
        _ => None,
    };
    let store = open_store(engine)?;
    let anchor = match (as_handle, &store) {
        (Some(handle), _) => Some(handle),
        (None, Some(store)) => best_hit(engine, store, arguments)?,
        (None, None) => None,
    };
    let Some(anchor) = anchor else {
        if arguments.json {
            println!("{}", json!({"anchor": null, "timeline": []}));
        } else {
            anstream::eprintln!("No memory matches these words.");
        }
        return Ok(ExitStatus::Failed);
    };
    let entries = match &store {
        Some(store) => store.timeline(
            anchor,
            TimelineSpan {
                before: arguments.before,
                after: arguments.after,
            },
        )?,
        None => None,
    };
    let Some(entries) = entries else {
        bail!(unknown(anchor));
    };
    if arguments.json {
        let list: Vec<api_types::TimelineEntryJson> = entries
            .into_iter()
            .map(api_types::TimelineEntryJson::from)
            .collect();
        println!("{}", json!({"anchor": anchor, "timeline": list}));
    } else {
        print(
            &entries,
            engine.clock.timestamp(),
            &models::zone(&engine.checked_settings()?),
        );
    }
    Ok(ExitStatus::Done)
}

/// Returns the best match for the words.
fn best_hit(engine: &Engine, store: &Store, arguments: &TimelineArguments) -> Result<Option<Handle>> {
    let named = match (&arguments.project, arguments.all) {
        (Some(named), _) => Some(project(engine, store, named)?),
        (None, true) => None,
        (None, false) => match current_project(engine, store)? {
            Some(project) => Some(project),
            // Nothing was recorded in this project.
            None => return Ok(None),
        },
    };
    let query = Query {
        text: &arguments.words.join(" "),
        scope: named.as_ref().map_or(Scope::Everywhere, Scope::Project),
        filter: &Filter::default(),
        limit: 1,
        now: engine.clock.timestamp(),
        zone: &engine.zone(),
    };
    let hits = Searcher::new(store, &engine.home.vectors())?.search(&query)?;
    Ok(hits.first().map(|hit| hit.memory.handle))
}

fn print(entries: &[TimelineEntry], now: Timestamp, zone: &TimeZone) {
    let width = output::width();
    let mut day = String::new();
    for moment in entries {
        let line = &moment.memory.record;
        let at = line.created_at.unwrap_or_default();
        let date = output::local(at, zone, "%Y-%m-%d");
        if date != day {
            println!("{DIM}{date} · {}{DIM:#}", output::ago(now, at));
            day = date;
        }
        let (mark, style) = match moment.is_anchor {
            true => ("▶", BOLD),
            false => (" ", anstyle::Style::new()),
        };
        println!(
            "{mark} {DIM}{}{DIM:#} {} {style}{}{style:#} {DIM}#{}{DIM:#}",
            output::local(at, zone, "%H:%M"),
            line.icon(),
            output::one_line(line.headline(), width - 22),
            moment.memory.handle,
        );
    }
}
