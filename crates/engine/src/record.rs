//! From a payload to the spool.

use std::{fmt, io, path::Path};

use backstory_capture::{
    drop_counters::{self, DropReason},
    exclude::Exclude,
    filter::{self, CaptureDecision},
    hook_payload::HookPayload,
    payload,
    private::PrivateTurns,
    project,
    spool::{self, Spool},
};
use backstory_model::{Event, EventKind, EventSource, Host, ProjectIdentity, Timestamp};

use crate::{clock, environment, home::Home, hook_settings, log, worker};

/// What became of an event; only `BACKSTORY_DEBUG` shows it.
#[derive(Debug)]
pub enum HookOutcome {
    /// It is in the spool.
    Recorded(Box<Event>),
    /// Capture is switched off here.
    Off(&'static str),
    /// There was nothing to record.
    Nothing(&'static str),
    /// It could not be recorded.
    Failed(String),
}

impl fmt::Display for HookOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded(event) => write!(f, "recorded as {}", event.key),
            Self::Off(why) => write!(f, "capture is off: {why}"),
            Self::Nothing(why) => write!(f, "nothing recorded: {why}"),
            Self::Failed(why) => write!(f, "not recorded: {why}"),
        }
    }
}

/// Session ids are the agent's: any text that is not blank, within reason.
const MAX_SESSION_ID_LEN: usize = 512;

/// Records one event. A project that is given counts instead of that of the folder.
pub fn record(
    home: &Home,
    kind: EventKind,
    host: &Host,
    input: &[u8],
    given: Option<ProjectIdentity>,
) -> HookOutcome {
    let at = clock::since_1970();
    if environment::is_on("BACKSTORY_DISABLED") {
        return HookOutcome::Off("BACKSTORY_DISABLED is set");
    }
    let text = payload::to_text(input);
    let payload = match HookPayload::read(&text) {
        Ok(payload) => payload,
        Err(error) => {
            let line = format!("{kind} of {} bytes not recorded: {error}", input.len());
            return lost(home, DropReason::Unreadable, &line);
        }
    };
    let session_id = payload.session_id().filter(|id| is_session_id(id));
    let Some(session_id) = session_id else {
        return lost(
            home,
            DropReason::NoSession,
            &format!("{kind} of {} bytes names no session", input.len()),
        );
    };
    let settings = hook_settings::load(home);
    let cwd = payload.cwd().unwrap_or_default();
    let project = match place(kind, &cwd, &payload, &settings.exclude) {
        Ok(project) => project,
        Err(why) => return HookOutcome::Off(why),
    };
    let spool = home.spool();
    let kept = match kept(&spool, kind, &payload, &session_id, &settings.keep) {
        Ok(kept) => kept,
        Err(error) => return dropped(&spool, &error),
    };
    let Some(json) = kept else {
        return HookOutcome::Nothing("it is private or routine");
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
    worker::ensure(home);
    HookOutcome::Recorded(Box::new(event))
}

/// Counts an event of a name that this version does not know.
pub fn unknown_event(home: &Home, name: &str) -> HookOutcome {
    // A name is an identifier; anything longer is none and may be anything.
    let shown: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .take(40)
        .collect();
    lost(
        home,
        DropReason::UnknownEvent,
        &format!("unknown event `{shown}`"),
    )
}

/// Looks around where an event happened: says which project it is when the event opens or continues a session, and fails
/// when capture is off there.
fn place(
    kind: EventKind,
    cwd: &str,
    payload: &HookPayload<'_>,
    exclude: &Exclude,
) -> Result<Option<ProjectIdentity>, &'static str> {
    const EXCLUDED: &str = "capture.exclude names this folder or file";
    const IGNORED: &str = "the project has a .backstory-ignore file";
    let is_excluded = |path: &str| !exclude.is_empty() && exclude.matches(path);
    let tool_path = || payload.tool_input()?.path();
    if !exclude.is_empty() && (is_excluded(cwd) || tool_path().is_some_and(|path| is_excluded(&path))) {
        return Err(EXCLUDED);
    }
    if !matches!(kind, EventKind::SessionStart | EventKind::UserPromptSubmit) {
        return if project::is_ignored(Path::new(cwd)) {
            Err(IGNORED)
        } else {
            Ok(None)
        };
    }
    let place = project::locate(Path::new(cwd));
    match (place.ignored, is_excluded(&place.facts.root)) {
        (true, _) => Err(IGNORED),
        (_, true) => Err(EXCLUDED),
        _ => Ok(Some(place.facts)),
    }
}

fn is_session_id(id: &str) -> bool {
    !id.trim().is_empty() && id.len() <= MAX_SESSION_ID_LEN && !id.contains(char::is_control)
}

/// Decides what is kept, and keeps the marks of private turns.
fn kept(
    spool: &Spool,
    kind: EventKind,
    payload: &HookPayload<'_>,
    session_id: &str,
    settings: &filter::CaptureSettings,
) -> io::Result<Option<String>> {
    let marks = PrivateTurns::of(spool, session_id)?;
    let by_person = || {
        !payload
            .prompt_start(64)
            .is_some_and(|prompt| filter::is_machine_made(&prompt))
    };
    let opens_turn = kind == EventKind::UserPromptSubmit && by_person();
    // That a session began or ended is no part of any turn.
    let in_turn = !matches!(kind, EventKind::SessionStart | EventKind::SessionEnd);
    if in_turn && !opens_turn && marks.covers(payload) {
        return marks.note(payload).map(|()| None);
    }
    match filter::filter_payload(kind, payload, settings) {
        CaptureDecision::Event(json) => {
            if opens_turn {
                marks.end_private()?;
            }
            Ok(Some(json))
        }
        CaptureDecision::PrivatePrompt => {
            spool.create()?;
            marks.begin_private(payload).map(|()| None)
        }
        CaptureDecision::Nothing => Ok(None),
    }
}

/// Notes an event that could not be used.
fn lost(home: &Home, loss: DropReason, line: &str) -> HookOutcome {
    let spool = home.spool();
    // Logging and counting are best effort: the agent goes on either way.
    spool.create().ok();
    log::append(home, "hook.log", clock::since_1970(), line).ok();
    drop_counters::add(&spool, loss).ok();
    HookOutcome::Failed(line.to_owned())
}

/// Counts an event that could not be written.
fn dropped(spool: &Spool, error: &io::Error) -> HookOutcome {
    // When even the count cannot be written there is nothing left to do.
    drop_counters::add(spool, DropReason::Dropped).ok();
    HookOutcome::Failed(format!("could not write to {}: {error}", spool.root().display()))
}
