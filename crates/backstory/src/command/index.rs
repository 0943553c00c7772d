//! `backstory index`: how many memories can be found by meaning.

use std::{
    io::{self, IsTerminal},
    num::NonZero,
    thread,
};

use anstream::println;
use anyhow::Result;
use backstory_recall::{Encoder, When, embed_next, file_vectors, mend_vectors};
use backstory_store::{Begin, Store};
use serde_json::json;

use super::{Status, open_store};
use crate::{home::Home, output, worker};

/// Show how many memories can be found by meaning, or wait until all can
///
/// Words are found at once. Meaning follows in the background: notes, observations, summaries and prompts before
/// passages.
#[derive(clap::Args)]
pub(crate) struct Index {
    /// Wait until every memory has its vector
    #[arg(long)]
    wait: bool,
    /// Make all vectors anew
    #[arg(long)]
    rebuild: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(home: &Home, arguments: &Index) -> Result<Status> {
    let Some(mut store) = open_store(home)? else {
        match arguments.json {
            true => println!("{}", json!({"documents": 0, "embedded": 0, "vectors": 1.0})),
            false => println!("Nothing is remembered yet."),
        }
        return Ok(Status::Done);
    };
    if arguments.rebuild {
        store.tidy_words()?;
        store.forget_vectors()?;
    }
    if arguments.wait {
        wait(home, &mut store)?;
    } else if arguments.rebuild || store.coverage()?.share() < 1.0 {
        worker::ensure(home);
    }
    let coverage = store.coverage()?;
    if arguments.json {
        let vectors = coverage.share();
        println!(
            "{}",
            json!({"documents": coverage.documents, "embedded": coverage.embedded, "vectors": vectors})
        );
    } else {
        println!(
            "{} of {} can be found by meaning ({:.0} %).",
            coverage.embedded,
            output::count(coverage.documents, "memory").replace("memorys", "memories"),
            coverage.share() * 100.0
        );
    }
    Ok(Status::Done)
}

/// Works on all cores but the one of a worker that is at it from the other end.
fn wait(home: &Home, store: &mut Store) -> Result<()> {
    const AT_ONCE: usize = 256;
    store.relax()?;
    if !worker::lives(home) {
        mend_vectors(store, &home.vectors())?;
    }
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let mut encoders: Vec<Encoder> = Vec::new();
    loop {
        progress(store)?;
        let (most, at_once) = match worker::lives(home) {
            true => (cores.saturating_sub(1).max(1), AT_ONCE / 4),
            false => (cores, AT_ONCE),
        };
        encoders.resize_with(most, Encoder::new);
        if embed_next(store, &mut encoders, Begin::Oldest, at_once)? == 0 {
            file_vectors(store, &home.vectors(), When::Now)?;
            break;
        }
        file_vectors(store, &home.vectors(), When::Enough)?;
    }
    if io::stderr().is_terminal() {
        anstream::eprint!("\r\x1b[K");
    }
    Ok(())
}

fn progress(store: &Store) -> Result<()> {
    if io::stderr().is_terminal() {
        let coverage = store.coverage()?;
        anstream::eprint!("\rindexing {} of {}", coverage.embedded, coverage.documents);
    }
    Ok(())
}
