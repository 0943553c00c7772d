//! `backstory import`: imports past sessions, and memories of other stores.

mod claude_mem;
mod jsonl;

use std::{
    path::{Path, PathBuf},
    sync::{atomic::AtomicBool, mpsc::sync_channel},
    thread,
    time::{Instant, SystemTime},
};

use anstream::println;
use anyhow::{Context, Result};
use backstory_capture::{exclude::Exclude, project};
use backstory_engine::error::HintContext as _;
use backstory_engine::ingest::store_events;
use backstory_engine::worker_process;
use backstory_engine::{
    engine::Engine,
    hook_settings,
    import::{self, CaptureState, FolderProjects, TranscriptEvents},
    models::{self, Model},
    settings::Settings,
    time_arg::{self, TimeArg},
    worker,
};
use backstory_model::{Event, Timestamp};
use backstory_store::{EmbedOrder, ImportedFile, Store};
use backstory_transcript::{self as transcript, SessionOrigin, Transcript};
use jiff::tz::TimeZone;
use serde_json::json;

use super::{ExitStatus, open_for_writing, open_store};
use crate::{
    output::{DIM, count},
    progress::Progress,
};

/// Import past sessions or memories
#[derive(clap::Args)]
pub(crate) struct Import {
    #[command(subcommand)]
    source: Source,
}

#[derive(clap::Subcommand)]
enum Source {
    /// Import Claude Code's transcripts; a repeated import adds only new events
    ClaudeCode(ClaudeCode),
    /// Import the memories of claude-mem; a repeated import adds only new memories
    ///
    /// Its database is only read. It identifies a project by its folder name alone, so memories go to the project that their
    /// session is known to belong to: from our own record, or from the folder that newer versions store. Memories without a
    /// known project go into one called `claude-mem:NAME`, unless --map names its folder; --dry-run shows the assignment.
    /// Run `backstory import claude-code` first: then most sessions are known.
    ClaudeMem(claude_mem::ClaudeMemArguments),
    /// Import memories from lines of JSON, as `backstory export` writes them
    ///
    /// Each line is an object with a `kind` (observation, summary, prompt, note, passage) and some text; every other
    /// field may be missing. A line without a project belongs to the current folder's, except for notes: they become global.
    /// A line that was imported before changes nothing.
    Jsonl(jsonl::Jsonl),
}

#[derive(clap::Args)]
struct ClaudeCode {
    /// Folders or files to read [default: ~/.claude/projects]
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Show what would be imported, change nothing
    #[arg(long)]
    dry_run: bool,
    /// Only sessions that were active after a date, or within a period: 2026-01-31, 90d
    #[arg(long, value_name = "DATE", value_parser = time_arg::parse_time_arg)]
    since: Option<TimeArg>,
    /// Only this project: its folder name, its path or its id
    #[arg(long, value_name = "P")]
    project: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Arguments and settings of an import.
struct ImportOptions<'i> {
    engine: &'i Engine,
    arguments: &'i ClaudeCode,
    exclude: Exclude,
}

/// Counts of an import, done or planned.
#[derive(Debug, Default)]
struct SessionImportCounts {
    sessions: u64,
    unchanged: u64,
    prompts: u64,
    tools: u64,
    new_events: u64,
    damaged: u64,
    /// File and line number of the first damaged lines of each transcript.
    unreadable: Vec<String>,
    bytes: u64,
}

pub(crate) fn run(engine: &Engine, arguments: &Import) -> Result<ExitStatus> {
    match &arguments.source {
        Source::ClaudeCode(arguments) => claude_code(engine, arguments),
        Source::ClaudeMem(arguments) => claude_mem::run(engine, arguments),
        Source::Jsonl(arguments) => jsonl::run(engine, arguments),
    }
}

fn claude_code(engine: &Engine, arguments: &ClaudeCode) -> Result<ExitStatus> {
    let settings = engine.checked_settings()?;
    let sessions = find(engine, arguments, &models::zone(&settings))?;
    let start = Instant::now();
    // Spooled events are ingested first: they take precedence over the transcript.
    let mut store = open_store(engine)?;
    if !arguments.dry_run {
        engine.home.create()?;
        let opened = match store {
            Some(store) => store,
            None => open_for_writing(engine)?,
        };
        // An import that a power failure undoes can be repeated.
        opened.set_bulk_mode()?;
        store = Some(opened);
    }
    let mut counts = SessionImportCounts::default();
    let mut progress = Progress::new(arguments.json);
    let mut wanted = Vec::new();
    for (transcript, _) in &sessions {
        let stamp = stamp(transcript);
        let path = transcript.path.to_string_lossy();
        let file = ImportedFile {
            path: &path,
            stamp: &stamp,
        };
        match store.as_ref().map(|store| store.is_imported(file)).transpose()? {
            Some(true) => counts.unchanged += 1,
            _ => wanted.push((transcript, stamp)),
        }
    }
    let all_bytes = wanted.iter().map(|(transcript, _)| size(transcript)).sum();
    let (keep, now) = (settings.capture.capture_settings(), engine.clock.timestamp());
    let known: Vec<SessionOrigin> = sessions.iter().map(|(_, origin)| origin.clone()).collect();
    let folders = FolderProjects::of(&known, engine.environment.user_home().as_deref());
    let options = ImportOptions {
        engine,
        arguments,
        exclude: hook_settings::load(engine).exclude,
    };
    import_all(
        &wanted,
        &options,
        &|transcript| import::read(transcript, &folders, &keep, now),
        store.as_mut(),
        &mut |read| {
            let text = format!("{} of {} sessions read", read.files, wanted.len());
            progress.weighted_bar(read.bytes, all_bytes, "sessions", &text);
        },
        &mut counts,
    )?;
    let distilled = match store.as_mut().filter(|_| !arguments.dry_run) {
        Some(store) => match distill_queue(engine, store, &settings, &mut progress)? {
            Some(events) => events,
            None => {
                anstream::eprintln!("The worker distills the imported events in the background.");
                0
            }
        },
        None => 0,
    };
    progress.end();
    report(arguments, &counts, distilled, start);
    // The worker embeds the imported memories, also those of an interrupted import.
    let has_work = match &store {
        Some(store) => !store.documents_to_embed(EmbedOrder::Newest, 1)?.is_empty(),
        None => false,
    };
    if (has_work || counts.new_events > 0) && !arguments.dry_run {
        worker_process::ensure(engine);
    }
    Ok(ExitStatus::Done)
}

/// Finds the selected transcripts with project and time of their sessions, oldest session first.
fn find(
    engine: &Engine,
    arguments: &ClaudeCode,
    zone: &TimeZone,
) -> Result<Vec<(Transcript, SessionOrigin)>> {
    let folders = match arguments.folders.as_slice() {
        [] => vec![
            engine
                .environment
                .user_home()
                .context("could not find your home folder")?
                .join(".claude/projects"),
        ],
        folders => folders.to_vec(),
    };
    let mut sessions = Vec::new();
    for folder in folders {
        let found = transcript::sessions(&folder).hint_context(
            format_args!("could not read {}", folder.display()),
            "name the folder that holds Claude Code's transcripts",
        )?;
        for path in found.unreadable {
            anstream::eprintln!("could not read {}", path.display());
        }
        for transcript in found.transcripts {
            // The import itself reports a file that cannot be read.
            let origin = transcript::peek(&transcript.path).unwrap_or_default();
            sessions.push((transcript, origin));
        }
    }
    if let Some(since) = arguments.since {
        let from = since.timestamp(engine.clock.timestamp(), zone)?;
        sessions.retain(|(transcript, origin)| last_time(transcript, origin) >= from);
    }
    // Not by file time, which changes when a file is copied: the order decides which memory supersedes which.
    sessions.sort_by(|(one, at), (other, other_at)| {
        (last_time(one, at), &one.path).cmp(&(last_time(other, other_at), &other.path))
    });
    Ok(sessions)
}

/// Returns the last activity of a session; the time of its file if no line has one.
fn last_time(transcript: &Transcript, origin: &SessionOrigin) -> Timestamp {
    origin
        .last_at
        .unwrap_or_else(|| Timestamp::from(transcript.modified))
}

/// Progress of reading.
#[derive(Clone, Copy, Debug, Default)]
struct FilesRead {
    files: u64,
    bytes: u64,
}

/// Reads transcripts on one thread and stores them on another.
fn import_all(
    wanted: &[(&Transcript, String)],
    options: &ImportOptions<'_>,
    read: &(dyn Fn(&Transcript) -> Result<TranscriptEvents> + Sync),
    mut store: Option<&mut Store>,
    tell: &mut dyn FnMut(FilesRead),
    counts: &mut SessionImportCounts,
) -> Result<()> {
    thread::scope(|scope| {
        // A small limit: a session can be large.
        let (send, receive) = sync_channel(2);
        scope.spawn(move || {
            for (transcript, stamp) in wanted {
                if send.send((*transcript, stamp, read(transcript))).is_err() {
                    return;
                }
            }
        });
        let mut read_so_far = FilesRead::default();
        for (transcript, stamp, parsed) in receive {
            tell(read_so_far);
            read_so_far.files += 1;
            read_so_far.bytes += size(transcript);
            match parsed {
                Ok(parsed) => take(transcript, stamp, parsed, options, store.as_deref_mut(), counts)?,
                // One unreadable transcript must not stop the others; the next import tries it again.
                Err(error) => anstream::eprintln!("{error:#}"),
            }
        }
        Ok(())
    })
}

fn take(
    transcript: &Transcript,
    stamp: &str,
    parsed: TranscriptEvents,
    options: &ImportOptions<'_>,
    store: Option<&mut Store>,
    counts: &mut SessionImportCounts,
) -> Result<()> {
    let arguments = options.arguments;
    let is_wanted = |named: &str| {
        let project = parsed.project.as_ref();
        project.is_some_and(|project| {
            [&project.name, &project.key, &project.root]
                .iter()
                .any(|one| *one == named)
        })
    };
    if arguments
        .project
        .as_deref()
        .is_some_and(|named| !is_wanted(named))
    {
        return Ok(());
    }
    counts.damaged += parsed.damaged;
    for damaged in &parsed.damaged_lines {
        let origin = format!("{}:{}", damaged.path.display(), damaged.line);
        anstream::eprintln!("could not read {origin}");
        counts.unreadable.push(origin);
    }
    let root = parsed.project.as_ref().map_or("", |project| &project.root);
    let capture = if project::is_ignored(Path::new(root)) || options.exclude.matches(root) {
        CaptureState::Off
    } else {
        CaptureState::On
    };
    let new = new_events(parsed.events, &transcript.session_id, capture, store.as_deref())?;
    if new.is_empty() {
        counts.unchanged += 1;
    } else {
        let number = |is_one: fn(&Event) -> bool| new.iter().filter(|event| is_one(event)).count() as u64;
        counts.sessions += 1;
        counts.new_events += new.len() as u64;
        counts.prompts += number(import::is_prompt);
        counts.tools += number(import::is_tool_use);
        counts.bytes += size(transcript);
    }
    if let Some(store) = store.filter(|_| !arguments.dry_run) {
        for batch in new.chunks(500) {
            store_events(options.engine, store, batch)?;
        }
        let file = ImportedFile {
            path: &transcript.path.to_string_lossy(),
            stamp,
        };
        store.note_import(file, &transcript.session_id)?;
    }
    Ok(())
}

/// Returns the size of a transcript and those of its sub-agents.
fn size(transcript: &Transcript) -> u64 {
    transcript.size + transcript.agents.iter().map(|agent| agent.size).sum::<u64>()
}

/// Returns the events of a session that are neither known nor forgotten.
fn new_events(
    events: Vec<Event>,
    session_id: &str,
    capture: CaptureState,
    store: Option<&Store>,
) -> Result<Vec<Event>> {
    let Some(store) = store else { return Ok(events) };
    let events = match store.live_session(session_id)? {
        Some(live) => import::without_recorded(events, &live, capture),
        None => events,
    };
    // An import must not restore what the user has deleted.
    let forgotten_until = store.forgotten_until(session_id)?.unwrap_or(Timestamp::MIN);
    let mut new = Vec::new();
    for event in events {
        if event.at >= forgotten_until && !store.has_event(&event.key)? {
            new.push(event);
        }
    }
    Ok(new)
}

/// Returns a fingerprint of the state of a session's files.
fn stamp(transcript: &Transcript) -> String {
    let of = |size: u64, modified: SystemTime| {
        let at = modified
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        format!("{size}@{}", at.as_nanos())
    };
    let agents = transcript
        .agents
        .iter()
        .map(|agent| of(agent.size, agent.modified));
    // The first part names the rules of reading: a file is read once more after they have changed.
    std::iter::once("turns".to_owned())
        .chain(std::iter::once(of(transcript.size, transcript.modified)))
        .chain(agents)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Distills the queue with a progress display; returns the number of events, or `None` if a worker is running, which does it.
pub(super) fn distill_queue(
    engine: &Engine,
    store: &mut Store,
    settings: &Settings,
    progress: &mut Progress,
) -> Result<Option<usize>> {
    let Some(_lock) = worker_process::WorkerLock::take(&engine.home).context("could not lock worker.lock")?
    else {
        return Ok(None);
    };
    store.recover(engine.clock.timestamp())?;
    let total = usize::try_from(store.queue(0)?.pending).unwrap_or(usize::MAX);
    let mut finished = 0;
    let events = worker::distill_queue(
        store,
        &worker::DistillOptions {
            keep: settings.capture.capture_settings(),
            // No model for history: `backstory distill` does that, after showing an estimate.
            with_model: Model::from_settings(settings, &engine.environment).is_some(),
        },
        &engine.clock,
        &AtomicBool::new(false),
        &mut |events| {
            finished += events;
            progress.bar(finished, total, "events distilled");
        },
    )?;
    Ok(Some(events))
}

fn report(arguments: &ClaudeCode, counts: &SessionImportCounts, distilled: usize, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    // An f64 is exact enough for display.
    #[expect(clippy::cast_precision_loss, reason = "see above")]
    let megabytes = counts.bytes as f64 / 1e6;
    if arguments.json {
        println!(
            "{}",
            json!({"sessions": counts.sessions, "unchanged": counts.unchanged, "prompts": counts.prompts, "tool_uses": counts.tools,
                "new_events": counts.new_events, "damaged_lines": counts.damaged, "unreadable": counts.unreadable, "bytes": counts.bytes,
                "distilled": distilled, "seconds": seconds, "dry_run": arguments.dry_run})
        );
        return;
    }
    let verb = if arguments.dry_run {
        "Would import"
    } else {
        "Imported"
    };
    println!(
        "{verb} {}: {}, {}, {megabytes:.1} MB in {seconds:.1} s.",
        count(counts.sessions, "session"),
        count(counts.prompts, "prompt"),
        count(counts.tools, "tool use")
    );
    if counts.unchanged > 0 {
        println!(
            "{DIM}Nothing new in {}.{DIM:#}",
            count(counts.unchanged, "session")
        );
    }
    if counts.damaged > 0 {
        println!(
            "{DIM}Skipped {} (unreadable).{DIM:#}",
            count(counts.damaged, "line")
        );
    }
}
