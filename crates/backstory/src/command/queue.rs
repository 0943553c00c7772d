//! `backstory queue`: pending and failed items, and their retry.

use anstream::println;
use anyhow::Result;
use backstory_engine::engine::Engine;
use backstory_model::{EventId, EventState, Timestamp};
use backstory_serve::api_types;
use backstory_store::Queue;

use super::{ExitStatus, open_store};
use crate::output::{self, BAD, BUSY, DIM, GOOD};

/// Show pending and failed items
#[derive(clap::Args)]
pub(crate) struct QueueArguments {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Maximum number of events
    #[arg(long, default_value_t = 20, value_name = "N")]
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
    },
}

pub(crate) fn run(engine: &Engine, arguments: &QueueArguments) -> Result<ExitStatus> {
    if let Some(Action::Retry { ids }) = &arguments.action {
        let ids: Vec<EventId> = ids.iter().copied().map(EventId::new).collect();
        return retry(engine, &ids);
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
        println!("{}", serde_json::to_string(&queue)?);
    } else {
        print(&queue, spooled, now);
    }
    Ok(ExitStatus::Done)
}

fn retry(engine: &Engine, ids: &[EventId]) -> Result<ExitStatus> {
    let retried = match open_store(engine)? {
        Some(mut store) => store.retry(ids)?,
        None => 0,
    };
    if retried > 0 {
        backstory_engine::worker_process::ensure(engine);
    }
    match (retried, ids.len()) {
        (0, 0) => println!("No event has failed."),
        (0, _) => println!("None of these events has failed."),
        (1, _) => println!("Retrying 1 event."),
        _ => println!("Retrying {retried} events."),
    }
    Ok(if retried == 0 && !ids.is_empty() {
        ExitStatus::Failed
    } else {
        ExitStatus::Done
    })
}

fn print(queue: &Queue, spooled: usize, now: Timestamp) {
    let pending = queue.pending + spooled as u64;
    let failed_style = if queue.failed > 0 { BAD } else { DIM };
    println!(
        "{pending} pending, {} processing, {failed_style}{} failed{failed_style:#}",
        queue.processing, queue.failed
    );
    if let Some(oldest) = queue.oldest_at {
        println!("{DIM}the oldest was reported {}{DIM:#}", output::ago(now, oldest));
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
            "{DIM}{:>7}{DIM:#} {style}{state:<10}{style:#} {:>8}  {:<22} {tool:<16} {DIM}{}{DIM:#}",
            item.id,
            output::ago(now, item.at),
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
