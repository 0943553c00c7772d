//! `backstory import`: past sessions and other stores' memories become memories here.

mod claude_mem;
mod jsonl;

use std::{
    path::PathBuf,
    sync::{atomic::AtomicBool, mpsc::sync_channel},
    thread,
    time::{Instant, SystemTime},
};

use anstream::println;
use anyhow::{Context, Result};
use backstory_engine::error::HintContext as _;
use backstory_engine::ingest::store_events;
use backstory_engine::worker_process;
use backstory_engine::{
    engine::Engine,
    import::{self, Places, TranscriptEvents},
    models::{self, Model},
    settings::Settings,
    time_arg::{self, TimeArg},
    worker,
};
use backstory_model::{Event, Timestamp};
use backstory_store::{EmbedOrder, ImportedFile, Store};
use backstory_transcript::{self as transcript, SessionPlace, Transcript};
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
    /// Read Claude Code's own transcripts; doing it again adds only what is new
    ClaudeCode(ClaudeCode),
    /// Take over the memories of claude-mem; doing it again adds only what is new
    ///
    /// Its database is only read. It knows a project by its folder's name alone, so memories go to the project that their
    /// session is known to belong to: from our own record, or from the folder that newer versions note. What cannot be
    /// placed is kept apart in a project called `claude-mem:NAME`, unless --map says where it belongs; --dry-run shows
    /// what would go where. Run `backstory import claude-code` first: then most sessions are known.
    ClaudeMem(claude_mem::ClaudeMemArguments),
    /// Read memories from lines of JSON, as `backstory export` writes them
    ///
    /// Each line is an object with a `kind` (observation, summary, prompt, note, passage) and some text; every other
    /// field may be missing. What names no project belongs to the current folder's, except notes: they hold everywhere.
    /// A line that was imported before changes nothing.
    Jsonl(jsonl::Jsonl),
}

#[derive(clap::Args)]
struct ClaudeCode {
    /// Folders or files to read [default: ~/.claude/projects]
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Say what would be imported, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Only sessions that went on after a date, or after so long ago: 2026-01-31, 90d
    #[arg(long, value_name = "DATE", value_parser = time_arg::parse_time_arg)]
    since: Option<TimeArg>,
    /// Only this project: its folder name, its path or its id
    #[arg(long, value_name = "P")]
    project: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What an import did, or would do.
#[derive(Debug, Default)]
struct SessionImportCounts {
    sessions: u64,
    unchanged: u64,
    prompts: u64,
    tools: u64,
    new_events: u64,
    damaged: u64,
    /// File and line of the first damaged lines of each transcript.
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
    // Events that wait in the spool are taken in first: what they tell is not wanted from the transcript.
    let mut store = open_store(engine)?;
    if !arguments.dry_run {
        engine.home.create()?;
        let opened = match store {
            Some(store) => store,
            None => open_for_writing(engine)?,
        };
        // What a power cut takes can be imported again.
        opened.set_bulk_mode()?;
        store = Some(opened);
    }
    let mut tally = SessionImportCounts::default();
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
            Some(true) => tally.unchanged += 1,
            _ => wanted.push((transcript, stamp)),
        }
    }
    let (keep, now) = (settings.capture.capture_settings(), engine.clock.timestamp());
    let known: Vec<SessionPlace> = sessions.iter().map(|(_, place)| place.clone()).collect();
    let places = Places::of(&known, engine.environment.user_home().as_deref());
    import_all(
        &wanted,
        arguments,
        &|transcript| import::read(transcript, &places, &keep, now),
        store.as_mut(),
        &mut |read| {
            progress.show(&format!("{read} of {} sessions read", sessions.len()));
        },
        &mut tally,
    )?;
    let distilled = match store.as_mut().filter(|_| !arguments.dry_run) {
        Some(store) => distil(engine, store, &settings, &mut progress)?,
        None => 0,
    };
    progress.end();
    report(arguments, &tally, distilled, start);
    // The worker embeds what was imported, now or by an import that was cut off.
    let has_work = match &store {
        Some(store) => !store.documents_to_embed(EmbedOrder::Newest, 1)?.is_empty(),
        None => false,
    };
    if (has_work || tally.new_events > 0) && !arguments.dry_run {
        worker_process::ensure(engine);
    }
    Ok(ExitStatus::Done)
}

/// Finds the wanted transcripts with place and time of their sessions, oldest session first.
fn find(engine: &Engine, arguments: &ClaudeCode, zone: &TimeZone) -> Result<Vec<(Transcript, SessionPlace)>> {
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
            anstream::eprintln!("not readable: {}", path.display());
        }
        for transcript in found.transcripts {
            // One that cannot be read is reported when it is imported.
            let place = transcript::peek(&transcript.path).unwrap_or_default();
            sessions.push((transcript, place));
        }
    }
    if let Some(since) = arguments.since {
        let from = since.timestamp(engine.clock.timestamp(), zone)?;
        sessions.retain(|(transcript, place)| last_time(transcript, place) >= from);
    }
    // The times of the files change when they are copied: what supersedes what must not depend on them.
    sessions.sort_by(|(one, at), (other, other_at)| {
        (last_time(one, at), &one.path).cmp(&(last_time(other, other_at), &other.path))
    });
    Ok(sessions)
}

/// Returns the time at which a session was last active; that of its file if no line has one.
fn last_time(transcript: &Transcript, place: &SessionPlace) -> Timestamp {
    place
        .last_ms
        .map_or_else(|| Timestamp::from(transcript.modified), Timestamp::from_millis)
}

/// Reads transcripts on one core while the other stores what was read before.
fn import_all(
    wanted: &[(&Transcript, String)],
    arguments: &ClaudeCode,
    read: &(dyn Fn(&Transcript) -> Result<TranscriptEvents> + Sync),
    mut store: Option<&mut Store>,
    tell: &mut dyn FnMut(u64),
    tally: &mut SessionImportCounts,
) -> Result<()> {
    thread::scope(|scope| {
        // A few at most: a session can be large.
        let (send, receive) = sync_channel(2);
        scope.spawn(move || {
            for (transcript, stamp) in wanted {
                if send.send((*transcript, stamp, read(transcript))).is_err() {
                    return;
                }
            }
        });
        for (transcript, stamp, told) in receive {
            tell(tally.sessions);
            match told {
                Ok(told) => take(transcript, stamp, told, arguments, store.as_deref_mut(), tally)?,
                // One that cannot be read must not keep the others out; it is tried again next time.
                Err(error) => anstream::eprintln!("{error:#}"),
            }
        }
        Ok(())
    })
}

fn take(
    transcript: &Transcript,
    stamp: &str,
    told: TranscriptEvents,
    arguments: &ClaudeCode,
    store: Option<&mut Store>,
    tally: &mut SessionImportCounts,
) -> Result<()> {
    let is_wanted = |named: &str| {
        let project = told.project.as_ref();
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
    tally.damaged += told.damaged;
    for damaged in &told.damaged_lines {
        let place = format!("{}:{}", damaged.path.display(), damaged.line);
        anstream::eprintln!("not readable: {place}");
        tally.unreadable.push(place);
    }
    let new = new_events(told.events, &transcript.session_id, store.as_deref())?;
    if new.is_empty() {
        tally.unchanged += 1;
    } else {
        let number = |is_one: fn(&Event) -> bool| new.iter().filter(|event| is_one(event)).count() as u64;
        tally.sessions += 1;
        tally.new_events += new.len() as u64;
        tally.prompts += number(import::is_prompt);
        tally.tools += number(import::is_tool_use);
        tally.bytes += transcript.size + transcript.agents.iter().map(|agent| agent.size).sum::<u64>();
    }
    if let Some(store) = store.filter(|_| !arguments.dry_run) {
        for batch in new.chunks(500) {
            store_events(store, batch)?;
        }
        let file = ImportedFile {
            path: &transcript.path.to_string_lossy(),
            stamp,
        };
        store.note_import(file, &transcript.session_id)?;
    }
    Ok(())
}

/// Returns those of a session's events that are not known and may be.
fn new_events(events: Vec<Event>, session_id: &str, store: Option<&Store>) -> Result<Vec<Event>> {
    let Some(store) = store else { return Ok(events) };
    // What was seen live is there already, and better: only what came before is taken from the transcript.
    let live_from = store.first_live_event(session_id)?.unwrap_or(Timestamp::MAX);
    // What a person wanted gone does not come back by the back door.
    let forgotten_until = store.forgotten_until(session_id)?.unwrap_or(Timestamp::MIN);
    let mut new = Vec::new();
    for event in events {
        if (forgotten_until..live_from).contains(&event.at) && !store.has_event(&event.key)? {
            new.push(event);
        }
    }
    Ok(new)
}

/// Tells one state of a session's files from another.
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
    std::iter::once(of(transcript.size, transcript.modified))
        .chain(agents)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Makes memories of what was imported: here, unless a worker is at it.
fn distil(engine: &Engine, store: &mut Store, settings: &Settings, progress: &mut Progress) -> Result<usize> {
    let Some(_lock) = worker_process::WorkerLock::take(&engine.home).context("could not lock worker.lock")?
    else {
        anstream::eprintln!("The worker makes memories of it in the background.");
        return Ok(0);
    };
    store.recover(engine.clock.timestamp())?;
    let total = store.queue(0)?.pending;
    let mut finished = 0;
    worker::distill_queue(
        store,
        &worker::DistillOptions {
            keep: settings.capture.capture_settings(),
            // History is not asked for: `backstory distill` does that, and says what it will take.
            with_model: Model::from_settings(settings, &engine.environment).is_some(),
        },
        &engine.clock,
        &AtomicBool::new(false),
        &mut |events| {
            finished += events;
            progress.show(&format!("{finished} of {total} events distilled"));
        },
    )
}

fn report(arguments: &ClaudeCode, tally: &SessionImportCounts, distilled: usize, start: Instant) {
    let seconds = start.elapsed().as_secs_f64();
    // Sizes fit a float well enough to be shown.
    #[expect(clippy::cast_precision_loss, reason = "see above")]
    let megabytes = tally.bytes as f64 / 1e6;
    if arguments.json {
        println!(
            "{}",
            json!({"sessions": tally.sessions, "unchanged": tally.unchanged, "prompts": tally.prompts, "tool_uses": tally.tools,
                "new_events": tally.new_events, "damaged_lines": tally.damaged, "unreadable": tally.unreadable, "bytes": tally.bytes,
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
        count(tally.sessions, "session"),
        count(tally.prompts, "prompt"),
        count(tally.tools, "tool use")
    );
    if tally.unchanged > 0 {
        println!(
            "{DIM}Nothing new in {}.{DIM:#}",
            count(tally.unchanged, "session")
        );
    }
    if tally.damaged > 0 {
        println!(
            "{DIM}Skipped {} (unreadable).{DIM:#}",
            count(tally.damaged, "line")
        );
    }
}
