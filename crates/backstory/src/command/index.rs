//! `backstory index`: progress of the semantic index.

use std::{num::NonZero, thread};

use anstream::println;
use anyhow::Result;
use backstory_engine::engine::Engine;
use backstory_engine::worker_process;
use backstory_recall::{Encoder, FlushPolicy, embed_next, file_vectors, repair_vectors};
use backstory_store::{EmbedOrder, Store};
use serde_json::json;

use super::{ExitStatus, open_store};
use crate::{
    json_output::print_json,
    output::{memories, thousands},
    progress::Progress,
};

/// Show the progress of the semantic index
///
/// Lexical search works at once. The semantic index follows in the background: notes, observations, summaries and prompts
/// before passages.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory index --wait   until everything is indexed")]
pub(crate) struct Index {
    /// Wait until the index is complete
    #[arg(long)]
    wait: bool,
    /// Rebuild all vectors
    #[arg(long)]
    rebuild: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Index) -> Result<ExitStatus> {
    let Some(mut store) = open_store(engine)? else {
        match arguments.json {
            true => print_json(json!({"documents": 0, "embedded": 0, "vectors": 1.0})),
            false => println!("No memories yet."),
        }
        return Ok(ExitStatus::Done);
    };
    if arguments.rebuild {
        store.optimize_fts()?;
        store.forget_vectors()?;
    }
    if arguments.wait {
        let mut progress = Progress::new(arguments.json);
        let waited = wait(engine, &mut store, &mut progress);
        progress.end();
        waited?;
    } else if arguments.rebuild || store.coverage()?.share() < 1.0 {
        worker_process::ensure(engine);
    }
    let coverage = store.coverage()?;
    if arguments.json {
        let vectors = coverage.share();
        print_json(
            json!({"documents": coverage.documents, "embedded": coverage.embedded, "vectors": vectors}),
        );
    } else {
        println!(
            "{} of {} indexed ({:.0} %).",
            thousands(coverage.embedded),
            memories(coverage.documents),
            coverage.share() * 100.0
        );
    }
    Ok(ExitStatus::Done)
}

/// Embeds on all cores but one, which is for a worker that starts at the other end.
fn wait(engine: &Engine, store: &mut Store, progress: &mut Progress) -> Result<()> {
    const BATCH_SIZE: usize = 256;
    store.set_bulk_mode()?;
    if !worker_process::is_running(&engine.home) {
        repair_vectors(store, &engine.home.vectors())?;
    }
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut encoders: Vec<Encoder> = Vec::new();
    // What was indexed before says nothing about the time that the rest takes.
    let before = store.coverage()?.embedded;
    loop {
        let coverage = store.coverage()?;
        let (done, all) = (
            coverage.embedded.saturating_sub(before),
            coverage.documents.saturating_sub(before),
        );
        let text = format!(
            "{} of {} indexed",
            thousands(coverage.embedded),
            memories(coverage.documents)
        );
        progress.weighted_bar(done, all, "indexed", &text);
        let (most, at_once) = match worker_process::is_running(&engine.home) {
            true => (cores.saturating_sub(1).max(1), BATCH_SIZE / 4),
            false => (cores, BATCH_SIZE),
        };
        encoders.resize_with(most, Encoder::new);
        if embed_next(store, &mut encoders, EmbedOrder::Oldest, at_once)? == 0 {
            file_vectors(store, &engine.home.vectors(), FlushPolicy::Now)?;
            break;
        }
        file_vectors(store, &engine.home.vectors(), FlushPolicy::Enough)?;
    }
    Ok(())
}
