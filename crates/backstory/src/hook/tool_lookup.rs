//! Request for what is known about a tool call, from the hook that runs before it. Records no event.

use std::path::Path;

use backstory_capture::{hook_payload::HookPayload, payload, private::PrivateTurns, project};
use backstory_engine::{engine::Engine, hook_settings};
use backstory_model::Timestamp;

/// Names the subject of the tool call and the session.
#[derive(Clone, Debug)]
pub(crate) struct ToolLookup {
    pub(crate) session_id: String,
    pub(crate) cwd: String,
    pub(crate) subject: LookupSubject,
    pub(crate) at: Timestamp,
}

/// The subject of a tool call.
#[derive(Clone, Debug)]
pub(crate) enum LookupSubject {
    /// A file that is read or changed.
    File(String),
    /// A shell command.
    Command(String),
}

impl ToolLookup {
    /// Parses a payload; `None` if it names no file and no command, capture is off in the project, or the turn is private.
    pub(crate) fn read(engine: &Engine, input: &[u8]) -> Option<Self> {
        if engine.environment.is_on("BACKSTORY_DISABLED") {
            return None;
        }
        let text = payload::to_text(input);
        let payload = HookPayload::read(&text).ok()?;
        let tool_input = payload.tool_input()?;
        let subject = match tool_input.file() {
            Some(path) => LookupSubject::File(path.into_owned()),
            None => LookupSubject::Command(tool_input.command()?.into_owned()),
        };
        let cwd = payload.cwd()?;
        let exclude = hook_settings::load(engine).exclude;
        let is_excluded = |path: &str| !exclude.is_empty() && exclude.matches(path);
        let is_excluded_file = matches!(&subject, LookupSubject::File(path) if is_excluded(path));
        if is_excluded(&cwd) || is_excluded_file || project::is_ignored(Path::new(&*cwd)) {
            return None;
        }
        let session_id = payload.session_id()?;
        // An injection is logged with the name of the file, and nothing of a private turn may be logged.
        if PrivateTurns::of(&engine.home.spool(), &session_id)
            .ok()?
            .covers(&payload)
        {
            return None;
        }
        Some(Self {
            session_id: session_id.into_owned(),
            cwd: cwd.into_owned(),
            subject,
            at: engine.clock.timestamp(),
        })
    }
}
