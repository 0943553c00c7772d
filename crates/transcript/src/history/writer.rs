//! Collects the records of a session, sanitized and filtered by the capture rules.
//!
//! Everything of a host's file passes through here, so no text reaches a record unsanitized. A prompt that is entirely private
//! makes its turn private: nothing is recorded until the next prompt.

use std::collections::{HashMap, HashSet};

use backstory_capture::{
    filter::{CaptureSettings, ToolTarget, is_own_tool},
    host::{HostPayload, find},
    payload::Payload,
    sanitize::SanitizeOptions,
    strip_tags::TagStripper,
};
use backstory_model::{Timestamp, is_machine_made};
use serde_json::Value;

use crate::{
    host::TranscriptHost,
    record::{History, Record, RecordKind, SessionFacts, Skipped},
};

/// The most line numbers of damaged lines that are kept.
const MAX_DAMAGED: usize = 8;

/// The most records of one line: the line number and the number in the line are one number.
const PER_LINE: u64 = 1_000;

/// A tool call as the host's own hook would report it, in that host's names.
pub(super) struct HookReport {
    pub(super) event: &'static str,
    pub(super) payload: Value,
}

/// Writes the records of one session.
pub(super) struct RecordWriter {
    host: TranscriptHost,
    settings: CaptureSettings,
    records: Vec<Record>,
    facts: SessionFacts,
    at: Timestamp,
    offset: u64,
    private: bool,
    /// Calls whose input hides their output, or shows a file of secrets.
    targets: HashMap<String, ToolTarget>,
    /// Calls that have started, for hosts that report the end apart.
    started: HashMap<String, Value>,
    /// Ids that a host may repeat.
    seen: HashSet<String>,
    pub(super) skipped: Skipped,
}

impl RecordWriter {
    pub(super) fn new(host: TranscriptHost, settings: &CaptureSettings) -> Self {
        Self {
            host,
            settings: settings.clone(),
            records: Vec::new(),
            facts: SessionFacts::default(),
            at: Timestamp::EPOCH,
            offset: 0,
            private: false,
            targets: HashMap::new(),
            started: HashMap::new(),
            seen: HashSet::new(),
            skipped: Skipped::default(),
        }
    }

    /// Starts a line with a number from 1.
    pub(super) fn start_line(&mut self, number: u64) {
        self.offset = number * PER_LINE;
    }

    /// Sets the time of the records that follow; an unreadable time keeps the last one.
    pub(super) fn time(&mut self, text: &Value) {
        let parsed = text
            .as_str()
            .and_then(|text| text.parse::<jiff::Timestamp>().ok());
        if let Some(parsed) = parsed {
            self.at = Timestamp::from_millis(parsed.as_millisecond());
        }
    }

    /// Sets the time in milliseconds.
    pub(super) fn millis(&mut self, at: &Value) {
        if let Some(at) = at.as_i64() {
            self.at = Timestamp::from_millis(at);
        }
    }

    /// Sets the time from a text or a number of milliseconds. Returns false if it is neither.
    pub(super) fn has_set_time(&mut self, at: &Value) -> bool {
        let before = std::mem::replace(&mut self.at, Timestamp::MIN);
        self.time(at);
        self.millis(at);
        let is_set = self.at != Timestamp::MIN;
        if !is_set {
            self.at = before;
        }
        is_set
    }

    /// Moves the time on for a record without one: keys of events contain the time, and keep the order.
    pub(super) fn next_milli(&mut self) {
        self.at = Timestamp::from_millis(self.at.as_millis() + 1);
    }

    /// Counts a record that cannot be read, of a database.
    pub(super) fn damaged_key(&mut self, key: &str) {
        self.skipped.damaged += 1;
        if self.skipped.damaged_keys.len() < MAX_DAMAGED {
            self.skipped.damaged_keys.push(key.to_owned());
        }
    }

    pub(super) fn damaged(&mut self, number: u64) {
        self.skipped.damaged += 1;
        if self.skipped.damaged_lines.len() < MAX_DAMAGED {
            self.skipped.damaged_lines.push(number);
        }
    }

    /// Returns true for an id that was not passed before.
    pub(super) fn is_new(&mut self, id: &str) -> bool {
        self.seen.insert(id.to_owned())
    }

    /// Keeps the start of a call until its end.
    pub(super) fn remember_call(&mut self, id: &Value, start: &Value) {
        if let Some(id) = id.as_str() {
            self.started.insert(id.to_owned(), start.clone());
        }
    }

    /// Returns the start of a call.
    pub(super) fn take_call(&mut self, id: &Value) -> Option<Value> {
        self.started.remove(id.as_str()?)
    }

    /// Records facts about the session if they have changed.
    pub(super) fn set_facts(&mut self, change: impl FnOnce(&mut SessionFacts)) {
        let before = self.facts.clone();
        change(&mut self.facts);
        if self.facts != before {
            self.push(RecordKind::Facts(self.facts.clone()));
        }
    }

    /// Sets the working folder, unless one is known.
    pub(super) fn folder(&mut self, cwd: Option<String>) {
        self.set_facts(|facts| facts.cwd = facts.cwd.take().or(cwd));
    }

    pub(super) fn prompt(&mut self, text: &str, prompt_id: Option<String>) {
        let mut stripper = TagStripper::of_user_text();
        let clean = self.sanitized(text, &mut stripper);
        let says_nothing = !clean.contains(char::is_alphanumeric);
        self.private = says_nothing && stripper.has_stripped();
        if says_nothing {
            self.skipped.private += u64::from(self.private);
            return;
        }
        self.push(RecordKind::Prompt {
            machine_made: is_machine_made(&clean),
            text: clean,
            prompt_id,
        });
    }

    pub(super) fn prose(&mut self, text: &str, message_id: Option<String>) {
        let text = self.sanitized(text, &mut TagStripper::default());
        if !text.trim().is_empty() {
            self.push(RecordKind::Prose { text, message_id });
        }
    }

    pub(super) fn interrupted(&mut self) {
        self.push(RecordKind::Interrupted);
    }

    pub(super) fn compaction(&mut self, summary: &str) {
        let summary = self.sanitized(summary, &mut TagStripper::default());
        self.push(RecordKind::Compaction { summary });
    }

    /// Records a call and its result from the report that the host's hook would have sent: the same mapping as for live
    /// sessions decides about names and failures.
    pub(super) fn reported_tool(&mut self, id: &str, report: &HookReport) {
        let json = report.payload.to_string();
        let Ok(payload) = Payload::read(&json) else {
            return;
        };
        let mapping = find(self.host.name()).and_then(|host| host.normalize);
        let mapped = mapping.and_then(|mapping| {
            mapping(&HostPayload {
                event: report.event,
                payload: &payload,
                folder: "",
            })
        });
        let Some(mapped) = mapped else { return };
        let fields: Value = serde_json::from_str(&mapped.json).unwrap_or_default();
        let name = fields["tool_name"].as_str().unwrap_or_default();
        if !self.tool_use(id, name, &fields["tool_input"]) {
            return;
        }
        match fields["error"].as_str() {
            Some(error) => self.tool_failure(id, error),
            None => self.tool_result(id, &fields["tool_response"]),
        }
    }

    /// Records a call. Returns false for a tool whose calls are not recorded.
    pub(super) fn tool_use(&mut self, id: &str, name: &str, input: &Value) -> bool {
        if name.is_empty() || is_own_tool(name) || self.settings.skip_tools.iter().any(|tool| tool == name) {
            self.skipped.echoes += u64::from(is_own_tool(name));
            return false;
        }
        let raw = input.to_string();
        let target = Payload::read(&raw)
            .map(|input| ToolTarget::of(&input.as_tool_input()))
            .unwrap_or_default();
        let rules = self
            .settings
            .sanitize_options()
            .of_secret_file(target.secret_file);
        let input = rules.json_value(&raw, &mut TagStripper::default());
        self.targets.insert(id.to_owned(), target);
        self.push(RecordKind::ToolUse {
            id: id.to_owned(),
            name: name.to_owned(),
            input,
        });
        true
    }

    /// Returns the rules for the answer of a call, once.
    fn rules_of_answer(&mut self, id: &str) -> Option<(ToolTarget, SanitizeOptions)> {
        let target = self.targets.remove(id)?;
        let rules = self
            .settings
            .sanitize_options()
            .of_secret_file(target.secret_file);
        Some((target, rules))
    }

    pub(super) fn tool_result(&mut self, id: &str, answer: &Value) {
        let Some((target, rules)) = self.rules_of_answer(id) else {
            return;
        };
        let result = match target.hidden_output {
            true => "null".to_owned(),
            false => rules.json_value(&answer.to_string(), &mut TagStripper::default()),
        };
        self.push(RecordKind::ToolResult {
            id: id.to_owned(),
            is_error: false,
            text: None,
            result: Some(result),
        });
    }

    pub(super) fn tool_failure(&mut self, id: &str, error: &str) {
        let Some((target, rules)) = self.rules_of_answer(id) else {
            return;
        };
        let text = match target.hidden_output {
            true => String::new(),
            false => rules.json_text(&Value::from(error).to_string(), &mut TagStripper::default()),
        };
        self.push(RecordKind::ToolResult {
            id: id.to_owned(),
            is_error: true,
            text: Some(text),
            result: None,
        });
    }

    pub(super) fn finish(self) -> History {
        History {
            records: self.records,
            skipped: self.skipped,
        }
    }

    fn sanitized(&self, text: &str, stripper: &mut TagStripper) -> String {
        let raw = Value::from(text).to_string();
        self.settings.sanitize_options().json_text(&raw, stripper)
    }

    fn push(&mut self, kind: RecordKind) {
        if self.private && !matches!(kind, RecordKind::Facts(_)) {
            self.skipped.private += 1;
            return;
        }
        self.offset += 1;
        self.records.push(Record {
            at: self.at,
            uuid: None,
            offset: self.offset,
            agent_id: None,
            copied: false,
            kind,
        });
    }
}
