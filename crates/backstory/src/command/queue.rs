//! `backstory queue`: pending and failed items, and their retry.

use anstream::println;
use anyhow::Result;
use backstory_engine::engine::Engine;
use backstory_model::{EventId, EventState};
use backstory_serve::api_types;
use backstory_store::Queue;
use serde_json::json;

use super::{ExitStatus, open_store};
use crate::{
    json_output::print_json,
    output::{self, BAD, BUSY, DIM, GOOD, Times},
};

/// Show pending and failed items
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory queue         what waits and what failed
  backstory queue retry   try all failed items again")]
pub(crate) struct QueueArguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Maximum number of events
    #[arg(long, short = 'n', default_value_t = 20, value_name = "N")]
    limit: u32,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Retry failed items: the given ones, or all
    Retry {
        /// Numbers shown by `backstory queue`
        #[arg(value_name = "ID")]
        ids: Vec<i64>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(engine: &Engine, arguments: &QueueArguments) -> Result<ExitStatus> {
    if let Some(Action::Retry { ids, json }) = &arguments.action {
        let ids: Vec<EventId> = ids.iter().copied().map(EventId::new).collect();
        return retry(engine, &ids, *json || arguments.json);
    }
    let queue = match open_store(engine)? {
        Some(store) => store.queue(arguments.limit)?,
        None => Queue {
            pending: 0,
            processing: 0,
            failed: 0,
            oldest_at: None,
            items: Vec::new(),
        },
    };
    // Events that cannot be ingested, such as those of a newer version, count as pending.
    let spooled = engine.home.spool().pending()?.len();
    let now = engine.clock.timestamp();
    if arguments.json {
        let queue = api_types::QueueJson::new(queue, spooled as u64, now);
        print_json(serde_json::to_value(&queue)?);
    } else {
        print(&queue, spooled, &Times::new(engine)?);
    }
    Ok(ExitStatus::Done)
}

fn retry(engine: &Engine, ids: &[EventId], json: bool) -> Result<ExitStatus> {
    let retried = match open_store(engine)? {
        Some(mut store) => store.retry(ids)?,
        None => 0,
    };
    if retried > 0 {
        backstory_engine::worker_process::ensure(engine);
    }
    match (retried, ids.len()) {
        _ if json => print_json(json!({ "retried": retried })),
        (0, 0) => println!("No event has failed."),
        (0, _) => println!("None of these events has failed."),
        _ => println!(
            "Retrying {} in the background; `backstory queue` shows what is left.",
            output::count(retried as u64, "event")
        ),
    }
    Ok(if retried == 0 && !ids.is_empty() {
        ExitStatus::Failed
    } else {
        ExitStatus::Done
    })
}

fn print(queue: &Queue, spooled: usize, times: &Times) {
    let pending = queue.pending + spooled as u64;
    let failed_style = if queue.failed > 0 { BAD } else { DIM };
    println!(
        "{pending} pending, {} processing, {failed_style}{} failed{failed_style:#}",
        queue.processing, queue.failed
    );
    if let Some(oldest) = queue.oldest_at {
        println!("{DIM}the oldest was reported {}{DIM:#}", times.ago(oldest));
    }
    for item in &queue.items {
        let (style, state) = match item.state {
            EventState::Pending => (GOOD, "pending"),
            EventState::Processing => (BUSY, "processing"),
            EventState::Failed => (BAD, "failed"),
            // Done items are not listed.
            EventState::Done => (DIM, "done"),
        };
        let tool = output::one_line(item.tool_name.as_deref().unwrap_or(""), 16);
        let session: String = item.session_id.chars().take(8).collect();
        println!(
            "{DIM}{:>7}{DIM:#} {style}{state:<10}{style:#} {:>10}  {:<22} {tool:<16} {DIM}{}{DIM:#}",
            item.id,
            times.ago(item.at),
            item.kind,
            output::one_line(&session, 8)
        );
        if let Some(error) = &item.error {
            println!(
                "        {DIM}attempt {}: {}{DIM:#}",
                item.tries,
                output::one_line(error, output::width() - 16)
            );
        }
    }
    let shown = queue.items.len() as u64;
    let all = queue.pending + queue.processing + queue.failed;
    if shown < all {
        println!(
            "{DIM}… and {} more; --limit shows more of them{DIM:#}",
            all - shown
        );
    }
    if queue.failed > 0 {
        println!("{DIM}`backstory queue retry` retries failed events{DIM:#}");
    }
}
