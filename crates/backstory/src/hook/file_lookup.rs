//! Request for the history of a file, from the hook that runs before a tool use. Records no event.

use std::path::Path;

use backstory_capture::{hook_payload::HookPayload, payload, private::PrivateTurns, project};
use backstory_engine::{engine::Engine, hook_settings};
use backstory_model::Timestamp;

/// Names the file and the session.
#[derive(Clone, Debug)]
pub(crate) struct FileLookup {
    pub(crate) session_id: String,
    pub(crate) cwd: String,
    pub(crate) path: String,
    pub(crate) at: Timestamp,
}

impl FileLookup {
    /// Parses a payload; `None` if it names no file, capture is off in the project, or the turn is private.
    pub(crate) fn read(engine: &Engine, input: &[u8]) -> Option<Self> {
        if engine.environment.is_on("BACKSTORY_DISABLED") {
            return None;
        }
        let text = payload::to_text(input);
        let payload = HookPayload::read(&text).ok()?;
        let path = payload.tool_input()?.file()?;
        let cwd = payload.cwd()?;
        let exclude = hook_settings::load(engine).exclude;
        let is_excluded = |path: &str| !exclude.is_empty() && exclude.matches(path);
        if is_excluded(&cwd) || is_excluded(&path) || project::is_ignored(Path::new(&*cwd)) {
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
            path: path.into_owned(),
            at: engine.clock.timestamp(),
        })
    }
}
