//! `backstory reindex`: distills past sessions again.

use std::{thread, time::Duration};

use anstream::println;
use anyhow::Result;
use backstory_engine::{
    engine::Engine,
    reindex::{self, QueuedTurns},
    worker_process,
};
use backstory_store::{ReindexScope, Store};
use serde_json::json;

use super::{ExitStatus, import::distill_queue, open_store};
use crate::{
    json_output::print_json,
    output::{DIM, count},
    progress::Progress,
};

/// Rebuild the memories of past sessions
///
/// Distills turns of earlier versions again, from their stored events and the transcripts that still exist. Pinned and edited
/// memories, notes and the memories of a model stay; replaced ids lead to their successors. No model is called. It can be
/// interrupted and run again, and agents and the worker can go on meanwhile.
#[derive(clap::Args)]
pub(crate) struct Reindex {
    /// All turns, also those of this version
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Reindex) -> Result<ExitStatus> {
    let settings = engine.checked_settings()?;
    let Some(mut store) = open_store(engine)? else {
        report(arguments, QueuedTurns::default());
        return Ok(ExitStatus::Done);
    };
    let scope = if arguments.all {
        ReindexScope::All
    } else {
        ReindexScope::Outdated
    };
    let mut progress = Progress::new(arguments.json);
    let (keep, now) = (settings.capture.capture_settings(), engine.clock.timestamp());
    let queued = reindex::queue(&mut store, scope, &keep, now, &mut |done, all| {
        progress.bar(done, all, "transcripts read");
    })?;
    if queued.turns > 0 && distill_queue(engine, &mut store, &settings, &mut progress)?.is_none() {
        await_worker(engine, &store, queued.turns, &mut progress)?;
    }
    progress.end();
    report(arguments, queued);
    if queued.turns > 0 {
        // It embeds the new memories.
        worker_process::ensure(engine);
    }
    Ok(ExitStatus::Done)
}

/// Shows the progress of the worker until it is done or ends.
fn await_worker(engine: &Engine, store: &Store, turns: usize, progress: &mut Progress) -> Result<()> {
    const POLL_INTERVAL: Duration = Duration::from_millis(100);
    loop {
        let left = usize::try_from(store.turns_in_reindex()?).unwrap_or(usize::MAX);
        let queue = store.queue(0)?;
        let is_done = left == 0 || queue.pending + queue.processing == 0;
        if is_done || !worker_process::is_running(&engine.home) {
            return Ok(());
        }
        progress.bar(turns.saturating_sub(left), turns, "turns");
        thread::sleep(POLL_INTERVAL);
    }
}

fn report(arguments: &Reindex, queued: QueuedTurns) {
    let QueuedTurns {
        turns,
        restored,
        skipped,
    } = queued;
    if arguments.json {
        print_json(json!({"turns": turns, "restored": restored, "skipped": skipped}));
        return;
    }
    if turns == 0 {
        println!("Nothing to rebuild.");
    } else {
        println!("Rebuilt {}.", count(turns as u64, "turn"));
    }
    if skipped > 0 {
        let turns = count(skipped as u64, "turn");
        println!("{DIM}Kept {turns} as is: the events have expired, and the transcripts are gone.{DIM:#}");
    }
}
