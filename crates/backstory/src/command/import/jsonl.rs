//! `backstory import jsonl`: imports memories from lines of JSON.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Read},
    path::{Path, PathBuf},
    sync::mpsc::{SyncSender, sync_channel},
    thread,
    time::Instant,
};

use anstream::println;
use anyhow::{Context, Result};
use backstory_capture::project;
use backstory_engine::error::HintContext as _;
use backstory_engine::worker_process;
use backstory_engine::{engine::Engine, jsonl};
use backstory_store::PreparedLine;
use serde_json::json;

use crate::{
    command::{ExitStatus, open_for_writing},
    json_output::print_json,
    output::{DIM, count, memories},
    progress::Progress,
};

#[derive(clap::Args)]
pub(super) struct Jsonl {
    /// The file to read; `-` is standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Limits of one transaction, in lines and bytes.
const BATCH_LINES: usize = 4_000;
const BATCH_BYTES: usize = 8 << 20;

/// Maximum length of a line.
const MAX_LINE_LEN: u64 = 8 << 20;

/// Maximum number of skipped lines that are reported one by one.
const MAX_NAMED: u64 = 5;

/// Lines of one transaction.
#[derive(Default)]
struct Batch {
    lines: Vec<PreparedLine>,
    /// Number of each skipped line, and the reason.
    damaged: Vec<(u64, String)>,
    bytes: usize,
}

#[derive(Default)]
struct JsonlImportCounts {
    imported: u64,
    unchanged: u64,
    damaged: u64,
}

pub(super) fn run(engine: &Engine, arguments: &Jsonl) -> Result<ExitStatus> {
    let redact = engine.checked_settings()?.capture.redact;
    let input = open(&arguments.file)?;
    let here = project::locate(&std::env::current_dir().context("could not find the current folder")?).facts;
    engine.home.create()?;
    let mut store = open_for_writing(engine)?;
    // An import that a power failure undoes can be repeated.
    store.set_bulk_mode()?;
    let start = Instant::now();
    let mut progress = Progress::new(arguments.json);
    let mut counts = JsonlImportCounts::default();
    let length = fs::metadata(&arguments.file).ok().map(|file| file.len());
    let mut read_bytes = 0;
    let read = thread::scope(|scope| {
        // One batch is stored while the next is read; the small limit bounds memory.
        let (send, receive) = sync_channel(1);
        let reader = scope.spawn(move || read_all(input, redact, &send));
        for batch in receive {
            let batch: Batch = batch;
            let stored = store.import_lines(&batch.lines, &here, engine.clock.timestamp())?;
            counts.imported += stored.new;
            counts.unchanged += stored.known;
            for (number, reason) in &batch.damaged {
                if counts.damaged < MAX_NAMED {
                    progress.end();
                    anstream::eprintln!("line {number}: {reason}");
                }
                counts.damaged += 1;
            }
            read_bytes += batch.bytes as u64;
            let text = format!("{} read", count(counts.lines(), "line"));
            match length {
                Some(length) => progress.weighted_bar(read_bytes, length, "read", &text),
                // The length of a pipe is unknown.
                None => progress.show(&text),
            }
        }
        anyhow::Ok(reader.join())
    })?;
    if counts.imported > OPTIMIZE_FROM {
        store.optimize_fts()?;
    }
    progress.end();
    report(arguments, &counts, start);
    // It embeds the memories.
    worker_process::ensure(engine);
    match read {
        Ok(read) => read.with_context(|| format!("could not read {}", arguments.file.display()))?,
        Err(panic) => std::panic::resume_unwind(panic),
    }
    Ok(if counts.lines() == counts.damaged && counts.damaged > 0 {
        ExitStatus::Failed
    } else {
        ExitStatus::Done
    })
}

/// Number of new memories from which optimizing the full-text index pays off.
const OPTIMIZE_FROM: u64 = 2_000;

impl JsonlImportCounts {
    fn lines(&self) -> u64 {
        self.imported + self.unchanged + self.damaged
    }
}

fn open(file: &Path) -> Result<Box<dyn BufRead + Send>> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::with_capacity(1 << 18, io::stdin())));
    }
    let opened = File::open(file).hint_context(
        format_args!("could not open {}", file.display()),
        "name a file with one memory per line, as `backstory export` writes it, or `-`",
    )?;
    Ok(Box::new(BufReader::with_capacity(1 << 18, opened)))
}

/// Reads lines and sends them in batches, until the receiver is gone.
fn read_all(mut input: Box<dyn BufRead + Send>, redact: bool, send: &SyncSender<Batch>) -> io::Result<()> {
    let mut batch = Batch::default();
    let mut bytes = Vec::new();
    let mut number = 0;
    loop {
        bytes.clear();
        let read = input.by_ref().take(MAX_LINE_LEN).read_until(b'\n', &mut bytes);
        let is_last = match &read {
            Ok(length) => *length == 0,
            Err(_) => true,
        };
        if is_last {
            // Lines before the error are kept.
            send.send(batch).ok();
            return read.map(drop);
        }
        number += 1;
        if bytes.len() as u64 == MAX_LINE_LEN && !bytes.ends_with(b"\n") {
            skip_line(&mut input)?;
            let reason = format!("longer than {} MB", MAX_LINE_LEN >> 20);
            batch.damaged.push((number, reason));
            continue;
        }
        let line = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes).trim_ascii();
        if line.is_empty() {
            continue;
        }
        match jsonl::read(line, redact) {
            Ok(line) => batch.lines.push(line.into()),
            Err(reason) => batch.damaged.push((number, reason)),
        }
        batch.bytes += bytes.len();
        if batch.lines.len() + batch.damaged.len() >= BATCH_LINES || batch.bytes >= BATCH_BYTES {
            let full = std::mem::take(&mut batch);
            if send.send(full).is_err() {
                return Ok(());
            }
        }
    }
}

fn skip_line(input: &mut impl BufRead) -> io::Result<()> {
    loop {
        let buffer = input.fill_buf()?;
        let (length, is_over) = match buffer.iter().position(|&byte| byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (buffer.len(), buffer.is_empty()),
        };
        input.consume(length);
        if is_over {
            return Ok(());
        }
    }
}

fn report(arguments: &Jsonl, counts: &JsonlImportCounts, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    if arguments.json {
        print_json(
            json!({"lines": counts.lines(), "imported": counts.imported, "unchanged": counts.unchanged,
                "damaged_lines": counts.damaged, "seconds": seconds}),
        );
        return;
    }
    println!("Imported {} in {seconds:.1} s.", memories(counts.imported));
    if counts.unchanged > 0 {
        println!("{DIM}Nothing new in {}.{DIM:#}", count(counts.unchanged, "line"));
    }
    if counts.damaged > 0 {
        println!(
            "{DIM}Skipped {} (unreadable).{DIM:#}",
            count(counts.damaged, "line")
        );
    }
}
