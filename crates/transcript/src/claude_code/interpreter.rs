//! The state of reading a transcript, and what all of its lines have in common: time, sub-agent, copies made by a fork, and
//! the facts about the session.

use std::collections::VecDeque;

use backstory_capture::{
    filter::CaptureSettings, payload::Payload, sanitize::SanitizeOptions, strip_tags::TagStripper,
};
use backstory_text::hash64;

use super::{owner::TranscriptOwner, position::Position};
use crate::record::{Record, RecordKind, SessionFacts, Skipped};

/// The fields that all lines have.
#[derive(Debug)]
pub(super) struct LineHeader<'t> {
    pub(super) fields: Payload<'t>,
    pub(super) uuid: Option<String>,
    pub(super) agent_id: Option<String>,
    pub(super) is_sidechain: bool,
    pub(super) copied: bool,
    /// The model, as raw JSON.
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

/// Turns lines into records and keeps the state between them.
#[derive(Debug)]
pub(super) struct Interpreter {
    pub(super) position: Position,
    pub(super) settings: CaptureSettings,
    pub(super) sanitizer: SanitizeOptions,
    pub(super) skipped: Skipped,
    pub(super) owner: TranscriptOwner,
    pub(super) ready: VecDeque<Record>,
}

impl Interpreter {
    pub(super) fn new(mut position: Position, owner: TranscriptOwner, settings: &CaptureSettings) -> Self {
        let is_private = |id: &String| position.private.tasks.contains(id);
        if owner.agent_id.as_ref().is_some_and(is_private) {
            position.private.begin(None);
        }
        Self {
            position,
            settings: settings.clone(),
            sanitizer: settings.sanitize_options(),
            skipped: Skipped::default(),
            owner,
            ready: VecDeque::new(),
        }
    }

    pub(super) fn common<'t>(&mut self, fields: Payload<'t>) -> LineHeader<'t> {
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

    /// Reports whether a line was copied by a fork, whose file starts with the lines of the original session. Depending
    /// on the version they have the id of that session, a `forkedFrom` field, or only times before that of the file.
    pub(super) fn is_copied(&self, fields: &Payload<'_>) -> bool {
        let session_id = fields.text("sessionId");
        let is_foreign =
            matches!((session_id, &self.owner.session_id), (Some(id), Some(own)) if id != own.as_str());
        let is_older = |begun| !self.position.begun && self.position.at < begun;
        is_foreign
            || self.position.begun_at.is_some_and(is_older)
            || fields.raw("forkedFrom").is_some_and(|raw| raw.starts_with('{'))
    }

    /// Adds a record, preceded by one with the facts about the session if they have changed. Adds nothing in a private
    /// turn.
    pub(super) fn push_record(&mut self, line: &LineHeader<'_>, kind: RecordKind) {
        self.facts(line);
        self.push(line.uuid.clone(), line.agent_id.clone(), line.copied, kind);
    }

    pub(super) fn push(
        &mut self,
        uuid: Option<String>,
        agent_id: Option<String>,
        copied: bool,
        kind: RecordKind,
    ) {
        if self.position.private.now {
            self.skipped.private += 1;
            return;
        }
        self.ready.push_back(Record {
            at: self.position.at,
            uuid,
            offset: self.position.offset,
            agent_id,
            copied,
            kind,
        });
    }

    /// Adds a record with the facts about the session if the line shows a change.
    fn facts(&mut self, line: &LineHeader<'_>) {
        // A sub-agent in the file of its session may work in another folder, which is no fact about the session.
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

    pub(super) fn fact(&self, raw: Option<&str>) -> Option<String> {
        let text = self.sanitizer.json_text(raw?, &mut TagStripper::default());
        (!text.trim().is_empty()).then_some(text)
    }
}

/// Reads an id; `None` if it is long or contains other characters than ids have.
pub(super) fn id(fields: &Payload<'_>, name: &str) -> Option<String> {
    let text = fields.text(name)?;
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_.:@/".contains(&b);
    ((1..=128).contains(&text.len()) && text.bytes().all(is_plain)).then(|| text.into_owned())
}
