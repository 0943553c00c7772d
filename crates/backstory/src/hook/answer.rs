//! What a hook prints: at most one JSON object, and only what the agent honours for that event.

use std::io::{self, Write};

use backstory_capture::payload::Payload;
use backstory_model::{Event, EventKind};
use backstory_recall::{Limits, context};
use backstory_store::{Access, Store};
use jiff::Timestamp;
use serde_json::json;

use super::{Hook, capture::Outcome};
use crate::{environment, home::Home, settings};

/// Tells the agent to go on and not to show this to anyone.
const GO_ON: &str = "{\"continue\":true,\"suppressOutput\":true}\n";

/// Answers an event.
pub(crate) fn print(home: &Home, hook: Hook, outcome: &Outcome) {
    let text = match (hook, outcome) {
        (Hook::Record(EventKind::SessionStart), Outcome::Recorded(event)) => {
            let Some(text) = session_start(home, event) else {
                return;
            };
            text
        }
        // Text printed here would go into the conversation.
        (Hook::Record(EventKind::SessionStart | EventKind::UserPromptSubmit) | Hook::PreToolUse, _) => return,
        (Hook::Record(_), _) => GO_ON.to_owned(),
    };
    // An agent that has closed the pipe does not want to know.
    io::stdout().write_all(text.as_bytes()).ok();
}

/// What happened before in this project. A resumed session has it in its conversation already.
fn session_start(home: &Home, event: &Event) -> Option<String> {
    let source = Payload::read(&event.payload)
        .ok()?
        .text("source")
        .map(|source| source.into_owned());
    if matches!(source.as_deref(), Some("resume" | "fork")) {
        return None;
    }
    let store = Store::open_read_only(&home.database(), Access::Hook).ok()?;
    let text = settings::read(&home.config()).ok().flatten();
    let settings = settings::load(&home.config(), text.as_deref(), &environment::settings())
        .0
        .context;
    if !settings.on_start {
        return None;
    }
    let limits = Limits {
        observations: settings.observations,
        tokens: settings.budget_tokens as usize,
    };
    let now = Timestamp::from_millisecond(event.at_ms).ok()?;
    let block = context(&store, &event.project.as_ref()?.key, now, limits).ok()??;
    let answer = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": block}});
    Some(format!("{answer}\n"))
}
