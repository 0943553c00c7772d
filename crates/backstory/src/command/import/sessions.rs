//! Imports past sessions of agents: finds them, reads them on one thread and stores them on another, and distills them.

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
    import::{self, CaptureState, FolderProjects, ImportedEvent, TranscriptEvents},
    models::{self, Model},
    settings::Settings,
    time_arg::{self, TimeArg},
    worker,
};
use backstory_model::{Event, Timestamp};
use backstory_store::{EmbedOrder, ImportedFile, Store};
use backstory_transcript::{SessionOrigin, Transcript, TranscriptHost};
use jiff::tz::TimeZone;
use serde_json::json;

use crate::{
    command::{ExitStatus, open_for_writing, open_store},
    json_output::print_json,
    output::{DIM, count},
    progress::Progress,
};

#[derive(clap::Args, Default)]
pub(crate) struct SessionArguments {
    /// Folders or files to read instead of the agent's own
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Show what would be imported, change nothing
    #[arg(long)]
    dry_run: bool,
    /// Only sessions that were active after a date, or within a period: 2026-01-31, 90d
    #[arg(long, value_name = "DATE", value_parser = time_arg::parse_time_arg)]
    since: Option<TimeArg>,
    /// Only this project: its folder name, its path or its id
    #[arg(long, short, value_name = "P")]
    project: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl SessionArguments {
    /// Returns the arguments of an import of everything.
    pub(super) fn quiet(json: bool) -> Self {
        Self {
            json,
            ..Self::default()
        }
    }
}

/// Arguments and settings of an import.
struct ImportOptions<'i> {
    engine: &'i Engine,
    arguments: &'i SessionArguments,
    exclude: Exclude,
}

/// Counts of an import, done or planned.
#[derive(Debug, Default)]
pub(crate) struct SessionImportCounts {
    pub(crate) sessions: u64,
    unchanged: u64,
    prompts: u64,
    tools: u64,
    new_events: u64,
    damaged: u64,
    /// File and line number of the first damaged lines of each transcript.
    unreadable: Vec<String>,
    bytes: u64,
    /// Events that were distilled here; 0 if the worker does it.
    distilled: usize,
}

/// A past session with its place and time.
pub(crate) type FoundSession = (Transcript, SessionOrigin);

pub(super) fn run(engine: &Engine, host: TranscriptHost, arguments: &SessionArguments) -> Result<ExitStatus> {
    let settings = engine.checked_settings()?;
    let start = Instant::now();
    let sessions = find(engine, host, arguments, &models::zone(&settings))?;
    let done = import(engine, arguments, &sessions)?;
    report(arguments, &done, start);
    Ok(ExitStatus::Done)
}

/// Imports sessions, oldest first, and distills them, with a progress display.
pub(super) fn import(
    engine: &Engine,
    arguments: &SessionArguments,
    sessions: &[FoundSession],
) -> Result<SessionImportCounts> {
    let settings = engine.checked_settings()?;
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
    for (transcript, _) in sessions {
        match store
            .as_ref()
            .map(|store| is_imported(store, transcript))
            .transpose()?
        {
            Some(true) => counts.unchanged += 1,
            _ => wanted.push((transcript, stamp(transcript))),
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
    counts.distilled = match store.as_mut().filter(|_| !arguments.dry_run) {
        Some(store) => match distill_queue(engine, store, &settings, &mut progress)? {
            Some(events) => events,
            None => {
                if counts.new_events > 0 && !arguments.json {
                    anstream::eprintln!("The worker distills the imported events in the background.");
                }
                0
            }
        },
        None => 0,
    };
    progress.end();
    // The worker embeds the imported memories, also those of an interrupted import.
    let has_work = match &store {
        Some(store) => !store.documents_to_embed(EmbedOrder::Newest, 1)?.is_empty(),
        None => false,
    };
    if (has_work || counts.new_events > 0) && !arguments.dry_run {
        worker_process::ensure(engine);
    }
    Ok(counts)
}

/// Finds the selected sessions of a host with place and time, oldest first.
fn find(
    engine: &Engine,
    host: TranscriptHost,
    arguments: &SessionArguments,
    zone: &TimeZone,
) -> Result<Vec<FoundSession>> {
    let title = backstory_capture::host::find(host.name()).map_or(host.name(), |spec| spec.title);
    let folders = match arguments.folders.as_slice() {
        [] => {
            let folders = import::default_folders(host, &engine.environment);
            // The first must exist; the others are for old sessions.
            let (first, more) = folders.split_first().context("could not find your home folder")?;
            let more = more.iter().filter(|folder| folder.exists()).cloned();
            std::iter::once(first.clone()).chain(more).collect()
        }
        folders => folders.to_vec(),
    };
    let mut sessions = Vec::new();
    for folder in folders {
        let found = import::find_sessions(host, &folder).hint_context(
            format_args!("could not read {}", folder.display()),
            format_args!("name the folder that holds the sessions of {title}"),
        )?;
        for path in found.unreadable {
            anstream::eprintln!("could not read {}", path.display());
        }
        sessions.extend(found.transcripts.into_iter().map(with_origin));
    }
    if let Some(since) = arguments.since {
        let from = since.timestamp(engine.clock.timestamp(), zone)?;
        sessions.retain(|(transcript, origin)| last_time(transcript, origin) >= from);
    }
    sort(&mut sessions);
    Ok(sessions)
}

/// Adds place and time to a session. The import itself reports a file that cannot be read.
pub(super) fn with_origin(transcript: Transcript) -> FoundSession {
    let origin = import::peek(&transcript).unwrap_or_default();
    (transcript, origin)
}

/// Sorts sessions by time. Not by file time, which changes when a file is copied: the order decides which memory supersedes
/// which.
pub(super) fn sort(sessions: &mut [FoundSession]) {
    sessions.sort_by(|(one, at), (other, other_at)| {
        (last_time(one, at), &one.path).cmp(&(last_time(other, other_at), &other.path))
    });
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
    for damaged in &parsed.damaged_records {
        let origin = format!("{}:{}", damaged.path.display(), damaged.place);
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
        counts.sessions += 1;
        counts.new_events += new.len() as u64;
        counts.prompts += new.iter().filter(|event| event.is_prompt()).count() as u64;
        counts.tools += new.iter().filter(|event| event.head.kind.is_tool_use()).count() as u64;
        counts.bytes += size(transcript);
    }
    if let Some(store) = store.filter(|_| !arguments.dry_run) {
        for batch in new.chunks(500) {
            let batch: Vec<Event> = batch.iter().map(ImportedEvent::to_event).collect();
            store_events(options.engine, store, &batch)?;
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
    events: Vec<ImportedEvent>,
    session_id: &str,
    capture: CaptureState,
    store: Option<&Store>,
) -> Result<Vec<ImportedEvent>> {
    let Some(store) = store else { return Ok(events) };
    let events = match store.live_session(session_id)? {
        Some(live) => import::without_recorded(events, &live, capture),
        None => events,
    };
    // An import must not restore what the user has deleted.
    let forgotten_until = store.forgotten_until(session_id)?.unwrap_or(Timestamp::MIN);
    let mut new = Vec::new();
    for event in events {
        if event.head.at >= forgotten_until && !store.has_event(&event.head.key)? {
            new.push(event);
        }
    }
    Ok(new)
}

/// Returns true if a session was imported in its present state.
pub(super) fn is_imported(store: &Store, transcript: &Transcript) -> Result<bool> {
    let file = ImportedFile {
        path: &transcript.path.to_string_lossy(),
        stamp: &stamp(transcript),
    };
    Ok(store.is_imported(file)?)
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
pub(crate) fn distill_queue(
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

pub(super) fn report(arguments: &SessionArguments, counts: &SessionImportCounts, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    // An f64 is exact enough for display.
    #[expect(clippy::cast_precision_loss, reason = "see above")]
    let megabytes = counts.bytes as f64 / 1e6;
    if arguments.json {
        print_json(
            json!({"sessions": counts.sessions, "unchanged": counts.unchanged, "prompts": counts.prompts, "tool_uses": counts.tools,
                "new_events": counts.new_events, "damaged_lines": counts.damaged, "unreadable": counts.unreadable, "bytes": counts.bytes,
                "distilled": counts.distilled, "seconds": seconds, "dry_run": arguments.dry_run}),
        );
        return;
    }
    let verb = if arguments.dry_run {
        "Would import"
    } else {
        "Imported"
    };
    if counts.sessions > 0 || counts.unchanged == 0 {
        println!(
            "{verb} {}: {}, {}, {megabytes:.1} MB in {seconds:.1} s.",
            count(counts.sessions, "session"),
            count(counts.prompts, "prompt"),
            count(counts.tools, "tool use")
        );
    }
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
