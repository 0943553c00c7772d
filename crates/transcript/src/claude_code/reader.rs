//! Reads a transcript line by line and dispatches on the type of each line.

use std::io::{self, BufRead};

use backstory_capture::{
    filter::CaptureSettings,
    payload::{Payload, to_text},
};
use backstory_model::Timestamp;
use serde::de::IgnoredAny;

use super::{interpreter::Interpreter, owner::TranscriptOwner, position::Position};
use crate::{
    lines::Lines,
    record::{Record, RecordKind, Skipped},
};

/// Types of lines without conversation, which are ignored.
const IGNORED: [&str; 25] = [
    "system",
    "progress",
    "file-history-snapshot",
    "last-prompt",
    "tools-used",
    "api-request",
    "api-request-blob",
    "api-request-shape",
    "cost-state",
    "mode",
    "permission-mode",
    "atis-latch",
    "agent-name",
    "agent-color",
    "agent-setting",
    "tag",
    "pr-link",
    "worktree-state",
    "content-replacement",
    "attribution-snapshot",
    "saved_hook_context",
    "history-suppression",
    "task-summary",
    "speculation-accept",
    "bridge-session",
];

/// An iterator over the records of a transcript.
///
/// Ends before an incomplete last line; a later read continues from [`Reader::position`].
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    interpreter: Interpreter,
    has_ended: bool,
    error: Option<io::Error>,
}

impl<R: BufRead> Reader<R> {
    /// Reads an input that starts at a position.
    pub fn new(input: R, from: Position, owner: TranscriptOwner, settings: &CaptureSettings) -> Self {
        Self {
            lines: Lines::new(input),
            interpreter: Interpreter::new(from, owner, settings),
            has_ended: false,
            error: None,
        }
    }

    /// Returns the position at which to continue; `None` while records of the last line are pending.
    pub fn position(&self) -> Option<&Position> {
        self.interpreter
            .ready
            .is_empty()
            .then_some(&self.interpreter.position)
    }

    /// Returns the counts of skipped lines and records so far.
    pub fn skipped(&self) -> &Skipped {
        &self.interpreter.skipped
    }

    /// Returns the error that ended the iteration, if any.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = Record;

    fn next(&mut self) -> Option<Record> {
        while self.interpreter.ready.is_empty() && !self.has_ended {
            match self.lines.next() {
                Ok(Some(line)) => self.interpreter.line(line.bytes, line.length),
                Ok(None) => self.has_ended = true,
                Err(error) => {
                    self.has_ended = true;
                    self.error = Some(error);
                }
            }
        }
        self.interpreter.ready.pop_front()
    }
}

impl Interpreter {
    fn line(&mut self, bytes: Option<&[u8]>, length: u64) {
        self.position.offset += length;
        self.position.lines += 1;
        let Some(bytes) = bytes else {
            self.skipped.too_long += 1;
            return;
        };
        // A crash of the machine can leave zeros in place of a line.
        let text = to_text(bytes);
        let text = text.trim_matches(|c: char| c == '\0' || c.is_ascii_whitespace());
        if text.is_empty() {
            return;
        }
        // The splitter accepts some damage, but records must contain valid JSON.
        match serde_json::from_str::<IgnoredAny>(text).map(|_| Payload::read(text)) {
            Ok(Ok(fields)) => self.fields(fields),
            _ => self.damaged(),
        }
    }

    fn damaged(&mut self) {
        self.skipped.damaged += 1;
        if self.skipped.damaged_lines.len() < 8 {
            self.skipped.damaged_lines.push(self.position.lines);
        }
    }

    fn fields(&mut self, fields: Payload<'_>) {
        let kind = fields.text("type").unwrap_or_default();
        let time = fields
            .text("timestamp")
            .and_then(|text| text.parse::<jiff::Timestamp>().ok());
        if let Some(at) = time.map(|time| Timestamp::from_millis(time.as_millisecond())) {
            self.position.at = at;
            if kind == "queue-operation" && !self.position.begun {
                self.position.begun_at.get_or_insert(at);
            }
        }
        match kind.as_ref() {
            "user" | "assistant" | "attachment" => {
                let line = self.common(fields);
                self.position.begun |= !line.copied && kind != "attachment";
                match kind.as_ref() {
                    "user" => self.user(&line),
                    "assistant" => self.assistant(line),
                    _ => self.attachment(&line),
                }
            }
            "queue-operation" => self.queue_operation(&fields),
            "summary" => self.title(&fields, "summary"),
            "ai-title" => self.title(&fields, "aiTitle"),
            "custom-title" => self.title(&fields, "customTitle"),
            silent if IGNORED.contains(&silent) => {}
            unknown => self.unknown(unknown),
        }
    }

    fn unknown(&mut self, kind: &str) {
        // The name is shown to the user: it must be short and contain no other characters.
        let is_name = kind.len() <= 40
            && kind
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
        let known = &mut self.skipped.unknown;
        let name = if is_name && (known.len() < 32 || known.contains_key(kind)) {
            kind
        } else {
            ""
        };
        *known.entry(name.to_owned()).or_default() += 1;
    }

    /// Reads a line with the title of the session.
    fn title(&mut self, fields: &Payload<'_>, name: &str) {
        let by_person = name == "customTitle";
        // A title by the host may reveal a private turn. One before the first message belongs to another session.
        let is_unfit = !by_person && (self.position.private.ever || self.position.named)
            || name == "summary" && !self.position.begun
            || self.is_copied(fields)
            || self.position.private.now;
        let Some(title) = self.fact(fields.raw(name)).filter(|_| !is_unfit) else {
            return;
        };
        self.position.named |= by_person;
        if self.position.facts.title.as_deref() != Some(title.as_str()) {
            self.position.facts.title = Some(title);
            let facts = RecordKind::Facts(self.position.facts.clone());
            self.push(None, self.owner.agent_id.clone(), false, facts);
        }
    }
}
