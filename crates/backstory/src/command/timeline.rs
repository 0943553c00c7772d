//! `backstory timeline`: shows the history around a memory.

use anyhow::{Result, bail};
use backstory_engine::engine::Engine;
use backstory_model::Handle;
use backstory_recall::{Query, Searcher};
use backstory_serve::api_types;
use backstory_store::{Filter, Store, TimelineEntry, TimelineSpan};
use serde_json::json;

use super::{ExitStatus, open_store, scope::ScopeArguments, unknown};
use crate::{
    json_output::print_json,
    output::{self, BOLD, DIM, LABEL_WIDTH, Page, Times},
};

/// Show the history around a memory
///
/// Prompts, observations, summaries and notes of the same project; passages too when the memory is one.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory timeline 12                       what happened around a memory
  backstory timeline -B 3 -A 3 retry upload   around the best match")]
pub(crate) struct TimelineArguments {
    /// Handle such as 123, S12, P34, N5, V678; or words, whose best match is used
    #[arg(value_name = "HANDLE|WORDS", required = true)]
    words: Vec<String>,
    /// Number of entries before it
    #[arg(long, short = 'B', default_value_t = 10, value_name = "N")]
    before: u32,
    /// Number of entries after it
    #[arg(long, short = 'A', default_value_t = 10, value_name = "N")]
    after: u32,
    #[command(flatten)]
    scope: ScopeArguments,
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
            print_json(json!({"anchor": null, "timeline": []}));
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
        print_json(json!({"anchor": anchor, "timeline": list}));
    } else {
        let mut page = Page::new(output::width());
        write(&mut page, &entries, &Times::new(engine)?);
        page.print(&engine.environment);
    }
    Ok(ExitStatus::Done)
}

/// Returns the best match for the words.
fn best_hit(engine: &Engine, store: &Store, arguments: &TimelineArguments) -> Result<Option<Handle>> {
    let searched = arguments.scope.find(engine, store)?;
    let Some(scope) = searched.to_search() else {
        return Ok(None);
    };
    let query = Query {
        text: &arguments.words.join(" "),
        scope,
        filter: &Filter::default(),
        limit: 1,
        now: engine.clock.timestamp(),
        zone: &engine.zone(),
    };
    let hits = Searcher::new(store, &engine.home.vectors())?.search(&query)?;
    Ok(hits.first().map(|hit| hit.memory.handle))
}

fn write(page: &mut Page, entries: &[TimelineEntry], times: &Times) {
    let width = page.width;
    let mut day = String::new();
    for moment in entries {
        let line = &moment.memory.record;
        let at = line.created_at.unwrap_or_default();
        let date = times.day(at);
        if date != day {
            let age = times
                .recent(at)
                .map(|age| format!(" · {age}"))
                .unwrap_or_default();
            page.line(format_args!("{DIM}{date}{age}{DIM:#}"));
            day = date;
        }
        let (mark, style) = match moment.is_anchor {
            true => ("▶", BOLD),
            false => (" ", anstyle::Style::new()),
        };
        let (label, color) = output::label(line, moment.memory.rejected);
        page.line(format_args!(
            "{mark} {DIM}{}{DIM:#} {color}{label:<LABEL_WIDTH$}{color:#} {style}{}{style:#} {DIM}#{}{DIM:#}",
            output::local(at, &times.zone, "%H:%M"),
            output::one_line(line.headline(), width - 29),
            moment.memory.handle,
        ));
    }
}
