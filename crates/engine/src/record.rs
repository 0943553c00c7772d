//! Records one event: from a payload to the spool.
//!
//! Runs in every hook and for events that arrive over HTTP. Text is sanitized before the first byte is written.

use std::{fmt, io, path::Path};

use backstory_capture::{
    drop_counters::{self, DropReason},
    exclude::Exclude,
    filter::{self, CaptureDecision},
    hook_payload::HookPayload,
    payload,
    private::PrivateTurns,
    project,
    seen_secrets::SeenSecrets,
    spool::{self, Spool},
};
use backstory_model::{Event, EventKind, EventSource, Host, ProjectIdentity, Timestamp, is_machine_made};

use crate::{engine::Engine, hook_settings, settings::hook_cache::Validity, worker_process};

/// Result of recording an event.
#[derive(Debug)]
pub enum RecordOutcome {
    /// The event is in the spool.
    Recorded(Box<Event>),
    /// Capture is switched off, for this reason.
    Off(&'static str),
    /// There is nothing to record, for this reason.
    Nothing(&'static str),
    /// The event could not be recorded, for this reason.
    Failed(String),
}

impl fmt::Display for RecordOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded(event) => write!(f, "recorded as {}", event.key),
            Self::Off(why) => write!(f, "capture is off: {why}"),
            Self::Nothing(why) => write!(f, "nothing recorded: {why}"),
            Self::Failed(why) => write!(f, "not recorded: {why}"),
        }
    }
}

/// Maximum length of the session id that an agent chooses.
const MAX_SESSION_ID_LEN: usize = 512;

/// Records one event. `given` overrides the project of the folder in the payload.
pub fn record(
    engine: &Engine,
    kind: EventKind,
    host: &Host,
    input: &[u8],
    given: Option<ProjectIdentity>,
) -> RecordOutcome {
    let at = engine.clock.since_1970();
    if engine.environment.is_on("BACKSTORY_DISABLED") {
        return RecordOutcome::Off("BACKSTORY_DISABLED is set");
    }
    let text = payload::to_text(input);
    let payload = match HookPayload::read(&text) {
        Ok(payload) => payload,
        Err(error) => {
            let line = format!("{kind} of {} bytes not recorded: {error}", input.len());
            return lost(engine, DropReason::Unreadable, &line);
        }
    };
    let session_id = payload.session_id().filter(|id| is_session_id(id));
    let Some(session_id) = session_id else {
        return lost(
            engine,
            DropReason::NoSession,
            &format!("{kind} of {} bytes names no session", input.len()),
        );
    };
    let settings = hook_settings::load(engine);
    if settings.validity == Validity::Unknown {
        return RecordOutcome::Off("config.toml has a mistake, and what it excludes is not known");
    }
    let cwd = payload.cwd().unwrap_or_default();
    let project = match locate_project(kind, &cwd, &payload, &settings.exclude) {
        Ok(project) => project,
        Err(why) => return RecordOutcome::Off(why),
    };
    let spool = engine.home.spool();
    let kept = match kept(&spool, kind, &payload, &session_id, &settings.keep) {
        Ok(kept) => kept,
        Err(error) => return dropped(&spool, &error),
    };
    let Some(json) = kept else {
        return RecordOutcome::Nothing("it is private, off the record or routine");
    };
    let event = Event {
        key: spool::key(at, std::process::id(), kind),
        source: EventSource::Hook,
        kind,
        host: host.clone(),
        at: Timestamp::EPOCH + at,
        session_id: session_id.into_owned(),
        project: given.or(project),
        payload: json,
    };
    if let Err(error) = spool.put(&event, settings.durability) {
        return dropped(&spool, &error);
    }
    worker_process::ensure(engine);
    RecordOutcome::Recorded(Box::new(event))
}

/// Counts an event whose name this version does not know.
pub fn unknown_event(engine: &Engine, name: &str) -> RecordOutcome {
    // Logged only as far as it looks like an identifier: it may be any text.
    let shown: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .take(40)
        .collect();
    lost(
        engine,
        DropReason::UnknownEvent,
        &format!("unknown event `{shown}`"),
    )
}

const EXCLUDED: &str = "capture.exclude names this folder or file";
const IGNORED: &str = "the project has a .backstory-ignore file";

/// Returns the reason why sessions in a folder are not recorded, if they are not.
pub fn switched_off_in(engine: &Engine, folder: &Path) -> Option<&'static str> {
    let exclude = hook_settings::load(engine).exclude;
    let found = project::locate(folder);
    if found.ignored {
        return Some(IGNORED);
    }
    let paths = [folder, Path::new(&found.facts.root)];
    paths
        .iter()
        .any(|path| is_excluded(&exclude, path))
        .then_some(EXCLUDED)
}

/// Returns the project of an event that opens a session or a turn. Fails with a reason if capture is switched off in the folder.
fn locate_project(
    kind: EventKind,
    cwd: &str,
    payload: &HookPayload<'_>,
    exclude: &Exclude,
) -> Result<Option<ProjectIdentity>, &'static str> {
    if !exclude.is_empty() {
        let path = payload.tool_input().and_then(|input| input.path());
        let file = path.map(|path| Path::new(cwd).join(&*path));
        let folder = Path::new(cwd);
        if is_excluded(exclude, folder) || file.is_some_and(|file| is_excluded(exclude, &file)) {
            return Err(EXCLUDED);
        }
    }
    // Without a folder in the payload only this process knows where the session runs: the worker runs elsewhere.
    let opens = cwd.is_empty() || matches!(kind, EventKind::SessionStart | EventKind::UserPromptSubmit);
    if !opens && exclude.is_empty() {
        return if project::is_ignored(Path::new(cwd)) {
            Err(IGNORED)
        } else {
            Ok(None)
        };
    }
    // A host that names no folder and starts its hooks in the root does not say where the session runs.
    if cwd.is_empty() && is_root_folder() {
        return Ok(None);
    }
    // A worktree may lie outside of its excluded project.
    let found = project::locate(Path::new(cwd));
    match (found.ignored, is_excluded(exclude, Path::new(&found.facts.root))) {
        (true, _) => Err(IGNORED),
        (_, true) => Err(EXCLUDED),
        _ => Ok(opens.then_some(found.facts)),
    }
}

/// Reports whether this process runs in the root of the file system or of a drive.
fn is_root_folder() -> bool {
    std::env::current_dir().is_ok_and(|folder| folder.parent().is_none())
}

/// Reports whether a path is excluded as it is written or where its links lead.
fn is_excluded(exclude: &Exclude, path: &Path) -> bool {
    !exclude.is_empty()
        && (exclude.matches(&path.to_string_lossy())
            || exclude.matches(&project::real_path(path).to_string_lossy()))
}

fn is_session_id(id: &str) -> bool {
    !id.trim().is_empty() && id.len() <= MAX_SESSION_ID_LEN && !id.contains(char::is_control)
}

/// Applies the payload filter and tracks private turns. Returns `None` if nothing of the payload is recorded.
fn kept(
    spool: &Spool,
    kind: EventKind,
    payload: &HookPayload<'_>,
    session_id: &str,
    settings: &filter::CaptureSettings,
) -> io::Result<Option<String>> {
    let private = PrivateTurns::of(spool, session_id)?;
    if private.is_off() {
        return Ok(None);
    }
    let by_user = || {
        !payload
            .prompt_start(64)
            .is_some_and(|prompt| is_machine_made(&prompt))
    };
    let opens_turn = kind == EventKind::UserPromptSubmit && by_user();
    // The start and the end of a session belong to no turn.
    let in_turn = !matches!(kind, EventKind::SessionStart | EventKind::SessionEnd);
    if in_turn && !opens_turn && private.covers(payload) {
        return private.note(payload).map(|()| None);
    }
    let mut seen = SeenSecrets::of(spool, session_id);
    match filter::filter_payload(kind, payload, settings, &mut seen) {
        CaptureDecision::Event(json) => {
            seen.save(spool, session_id)?;
            if opens_turn {
                private.end_private()?;
            }
            Ok(Some(json))
        }
        CaptureDecision::PrivatePrompt => {
            spool.create()?;
            private.begin_private(payload).map(|()| None)
        }
        CaptureDecision::Nothing => Ok(None),
    }
}

/// Logs and counts an event that could not be used.
fn lost(engine: &Engine, reason: DropReason, line: &str) -> RecordOutcome {
    let spool = engine.home.spool();
    // Best effort: a hook never fails.
    spool.create().ok();
    engine.log("hook.log", line).ok();
    drop_counters::add(&spool, reason).ok();
    RecordOutcome::Failed(line.to_owned())
}

/// Counts an event that could not be written.
fn dropped(spool: &Spool, error: &io::Error) -> RecordOutcome {
    // Best effort: the disk may be full.
    drop_counters::add(spool, DropReason::Dropped).ok();
    RecordOutcome::Failed(format!("could not write to {}: {error}", spool.root().display()))
}
