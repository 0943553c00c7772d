//! Goes through a transcript line by line and says what type each line has.
//!
//! Owns what all lines have in common: time, sub-agent, copies made by a fork, the circumstances. What is said in
//! messages is read in `messages`.

use std::{
    collections::VecDeque,
    io::{self, BufRead},
    path::Path,
};

use serde::de::IgnoredAny;

use super::{
    Position, Record, RecordKind, SessionFacts, Skipped, lines::Lines, sanitize::TranscriptSanitizer, time,
};
use backstory_capture::{
    filter::CaptureSettings,
    payload::{Payload, to_text},
    strip_tags::TagStripper,
};
use backstory_text::hash64;

/// Types of lines that say nothing of what happened.
const SILENT: [&str; 26] = [
    "system",
    "progress",
    "queue-operation",
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

/// Whose transcript a file is, as far as its name tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TranscriptOwner {
    /// The session. Lines that name another one are copies.
    pub session_id: Option<String>,
    /// The sub-agent whose file it is.
    pub agent_id: Option<String>,
}

impl TranscriptOwner {
    /// Reads `<session>.jsonl`, `<session>/subagents/agent-<id>.jsonl` and `agent-<id>.jsonl`.
    pub fn of(path: &Path) -> Self {
        let stem = path
            .file_stem()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let agent_id = stem.strip_prefix("agent-").map(str::to_owned);
        let session_id = if agent_id.is_some() {
            super::sessions::session_above(path)
        } else {
            Some(stem)
        };
        Self {
            session_id: session_id.filter(|id| is_uuid(id)).map(str::to_owned),
            agent_id,
        }
    }
}

/// Says whether a name has the form of the client's session ids.
pub(super) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// The records of a transcript, in its order.
///
/// Ends before a last line that has no line break yet, and stays ended: a later read goes on from
/// [`Reader::position`].
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    interpreter: Interpreter,
    has_ended: bool,
    error: Option<io::Error>,
}

impl<R: BufRead> Reader<R> {
    /// Reads an input that stands at a position.
    pub fn new(input: R, from: Position, owner: TranscriptOwner, settings: &CaptureSettings) -> Self {
        Self {
            lines: Lines::new(input),
            interpreter: Interpreter::new(from, owner, settings),
            has_ended: false,
            error: None,
        }
    }

    /// Returns where to go on; none while records of the line read last are still to come.
    pub fn position(&self) -> Option<&Position> {
        self.interpreter
            .ready
            .is_empty()
            .then_some(&self.interpreter.position)
    }

    /// Returns what was passed over so far.
    pub fn skipped(&self) -> &Skipped {
        &self.interpreter.skipped
    }

    /// Returns the error that ended the reading, if it was one.
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

/// What a line has in common with all others.
#[derive(Debug)]
pub(super) struct LineHeader<'t> {
    pub(super) fields: Payload<'t>,
    pub(super) uuid: Option<String>,
    pub(super) agent_id: Option<String>,
    pub(super) is_sidechain: bool,
    pub(super) copied: bool,
    /// The model that answered, as raw JSON.
    pub(super) model: Option<&'t str>,
}

impl<'t> LineHeader<'t> {
    pub(super) fn is(&self, flag: &str) -> bool {
        self.fields.raw(flag) == Some("true")
    }

    pub(super) fn id(&self, name: &str) -> Option<String> {
        id(&self.fields, name)
    }

    pub(super) fn object(&self, name: &str) -> Option<Payload<'t>> {
        Payload::read(self.fields.raw(name)?).ok()
    }
}

/// Turns lines into records.
#[derive(Debug)]
pub(super) struct Interpreter {
    pub(super) position: Position,
    pub(super) settings: CaptureSettings,
    pub(super) wash: TranscriptSanitizer,
    pub(super) skipped: Skipped,
    owner: TranscriptOwner,
    ready: VecDeque<Record>,
}

impl Interpreter {
    fn new(mut position: Position, owner: TranscriptOwner, settings: &CaptureSettings) -> Self {
        let is_private = |id: &String| position.private.tasks.contains(id);
        if owner.agent_id.as_ref().is_some_and(is_private) {
            position.private.begin(None);
        }
        Self {
            position,
            settings: settings.clone(),
            wash: TranscriptSanitizer::new(settings),
            skipped: Skipped::default(),
            owner,
            ready: VecDeque::new(),
        }
    }

    fn line(&mut self, bytes: Option<&[u8]>, length: u64) {
        self.position.offset += length;
        self.position.lines += 1;
        let Some(bytes) = bytes else {
            self.skipped.too_long += 1;
            return;
        };
        // A crash of the machine can leave zeros where a line was to be.
        let text = to_text(bytes);
        let text = text.trim_matches(|c: char| c == '\0' || c.is_ascii_whitespace());
        if text.is_empty() {
            return;
        }
        // Splitting alone lets some damage pass, and what leaves here is JSON to whoever reads it.
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
        if let Some(at_ms) = fields
            .text("timestamp")
            .and_then(|text| time::milliseconds(&text))
        {
            self.position.at_ms = at_ms;
            if kind == "queue-operation" && !self.position.begun {
                self.position.begun_ms.get_or_insert(at_ms);
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
            "summary" => self.title(&fields, "summary"),
            "ai-title" => self.title(&fields, "aiTitle"),
            "custom-title" => self.title(&fields, "customTitle"),
            silent if SILENT.contains(&silent) => {}
            unknown => self.unknown(unknown),
        }
    }

    fn unknown(&mut self, kind: &str) {
        // The name is shown to people: short, and nothing but a name.
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

    fn common<'t>(&mut self, fields: Payload<'t>) -> LineHeader<'t> {
        let mut line = LineHeader {
            uuid: id(&fields, "uuid"),
            agent_id: id(&fields, "agentId").or_else(|| self.owner.agent_id.clone()),
            is_sidechain: fields.raw("isSidechain") == Some("true"),
            copied: self.is_copied(&fields),
            model: None,
            fields,
        };
        if line.is_sidechain && line.agent_id.is_none() {
            let (uuid, parent) = (line.uuid.as_deref().unwrap_or_default(), line.id("parentUuid"));
            line.agent_id = self.position.sidechain(uuid, parent.as_deref());
        }
        line
    }

    /// A fork begins its file with the lines of the session that it goes on from. Versions differ in how they tell: by
    /// that session's id, by a mark, or only by lines that are older than the file.
    fn is_copied(&self, fields: &Payload<'_>) -> bool {
        let session_id = fields.text("sessionId");
        let is_foreign =
            matches!((session_id, &self.owner.session_id), (Some(id), Some(own)) if id != own.as_str());
        let is_older = |begun| !self.position.begun && self.position.at_ms < begun;
        is_foreign
            || self.position.begun_ms.is_some_and(is_older)
            || fields.raw("forkedFrom").is_some_and(|raw| raw.starts_with('{'))
    }

    /// Adds a record, after one of the circumstances if they have changed; nothing if the turn is private.
    pub(super) fn push_record(&mut self, line: &LineHeader<'_>, what: RecordKind) {
        self.facts(line);
        self.push(line.uuid.clone(), line.agent_id.clone(), line.copied, what);
    }

    fn push(&mut self, uuid: Option<String>, agent_id: Option<String>, copied: bool, what: RecordKind) {
        if self.position.private.now {
            self.skipped.private += 1;
            return;
        }
        self.ready.push_back(Record {
            at_ms: self.position.at_ms,
            uuid,
            offset: self.position.offset,
            agent_id,
            copied,
            what,
        });
    }

    /// Tells the circumstances if a line shows others than those before.
    fn facts(&mut self, line: &LineHeader<'_>) {
        // A sub-agent inside the session's own file may work elsewhere, which is no fact of the session.
        if self.position.private.now || line.copied || (line.is_sidechain && self.owner.agent_id.is_none()) {
            return;
        }
        const NAMES: [&str; 4] = ["sessionId", "cwd", "gitBranch", "version"];
        let raw = NAMES.map(|name| line.fields.raw(name));
        let all = raw.map(Option::unwrap_or_default).join("\0");
        let known = (
            hash64(all.as_bytes()),
            line.model
                .map_or(self.position.model_hash, |model| hash64(model.as_bytes())),
        );
        if known == (self.position.facts_hash, self.position.model_hash) {
            return;
        }
        let before = self.position.facts.clone();
        let fact = |index: usize, before: Option<String>| self.fact(raw[index]).or(before);
        let facts = SessionFacts {
            session_id: line.id("sessionId").or(before.session_id.clone()),
            cwd: fact(1, before.cwd.clone()),
            git_branch: fact(2, before.git_branch.clone()),
            version: fact(3, before.version.clone()),
            model: self.fact(line.model).or(before.model.clone()),
            title: before.title.clone(),
        };
        (self.position.facts_hash, self.position.model_hash) = known;
        if facts != before {
            self.position.facts = facts.clone();
            self.push(
                line.uuid.clone(),
                line.agent_id.clone(),
                false,
                RecordKind::Facts(facts),
            );
        }
    }

    fn fact(&self, raw: Option<&str>) -> Option<String> {
        let text = self.wash.text(raw?, &mut TagStripper::default());
        (!text.trim().is_empty()).then_some(text)
    }

    /// Reads a line that gives the session a title.
    fn title(&mut self, fields: &Payload<'_>, name: &str) {
        let by_person = name == "customTitle";
        // A title by the client may tell of a private turn. One before the first message is another session's.
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

/// Reads an id: short, and nothing but an id.
pub(super) fn id(fields: &Payload<'_>, name: &str) -> Option<String> {
    let text = fields.text(name)?;
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:@/".contains(&b);
    ((1..=128).contains(&text.len()) && text.bytes().all(is_plain)).then(|| text.into_owned())
}
