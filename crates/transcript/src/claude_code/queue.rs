//! Follows the queue of messages that the user types while the assistant works.
//!
//! The client writes each change of the queue as a line of its own. A message that leaves the queue in the middle of a turn
//! was given to the assistant then; newer clients repeat it as an attachment, which is a prompt. One that leaves it between
//! two turns is repeated as a prompt, and one that the user takes back was never sent.

use serde::{Deserialize, Serialize};

use backstory_capture::{payload::Payload, strip_tags::TagStripper};

use super::{
    interpreter::{Interpreter, LineHeader},
    prompts::{self, UserTextKind},
};
use crate::record::RecordKind;

/// The most messages that are followed; a queue is short.
const MAX_QUEUED: usize = 32;

/// The messages that wait, and those that were given to the assistant and not told yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct MessageQueue {
    waiting: Vec<QueuedMessage>,
    delivered: Vec<QueuedMessage>,
}

/// A message in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum QueuedMessage {
    /// The user's words.
    Words(String),
    /// A message of which nothing is left: the rest of the turn is private.
    Private,
    /// A notice or a command to the client.
    Other,
}

impl MessageQueue {
    /// Forgets a message that the client repeats in another line.
    pub(super) fn forget(&mut self, text: &str) {
        let is_same = |known: &QueuedMessage| matches!(known, QueuedMessage::Words(known) if known == text);
        self.delivered.retain(|known| !is_same(known));
    }
}

impl Interpreter {
    /// Reads a change of the queue.
    pub(super) fn queue_operation(&mut self, fields: &Payload<'_>) {
        if self.is_copied(fields) {
            return;
        }
        match fields.text("operation").as_deref() {
            Some("enqueue") => {
                let message = self.queued_message(fields);
                let waiting = &mut self.position.queue.waiting;
                if waiting.len() < MAX_QUEUED {
                    waiting.push(message);
                }
            }
            Some("remove") => {
                let is_named = fields.raw("content").is_some_and(|raw| raw.starts_with('"'));
                let named = is_named.then(|| self.queued_message(fields));
                let queue = &mut self.position.queue;
                let at = match named {
                    Some(message) => queue.waiting.iter().position(|waiting| *waiting == message),
                    None => Some(0).filter(|_| !queue.waiting.is_empty()),
                };
                if let Some(at) = at.filter(|_| queue.delivered.len() < MAX_QUEUED) {
                    let message = queue.waiting.remove(at);
                    queue.delivered.push(message);
                }
            }
            Some("dequeue") => {
                let waiting = &mut self.position.queue.waiting;
                if !waiting.is_empty() {
                    waiting.remove(0);
                }
            }
            Some("popAll") => self.position.queue.waiting.clear(),
            _ => {}
        }
    }

    fn queued_message(&self, fields: &Payload<'_>) -> QueuedMessage {
        let raw = fields.raw("content").unwrap_or_default();
        let mut cutter = TagStripper::default();
        let text = self.sanitizer.json_text(raw, &mut cutter);
        match prompts::read(&text, false) {
            UserTextKind::Prompt(text) if !text.starts_with('/') => QueuedMessage::Words(text),
            UserTextKind::Nothing if cutter.has_stripped() => QueuedMessage::Private,
            _ => QueuedMessage::Other,
        }
    }

    /// Tells the messages that were given to the assistant before this line.
    pub(super) fn delivered_messages(&mut self, line: &LineHeader<'_>) {
        if line.copied || line.agent_id.is_some() {
            return;
        }
        for message in std::mem::take(&mut self.position.queue.delivered) {
            match message {
                // In a private turn nothing is told: the assistant goes on with the private work.
                QueuedMessage::Words(text) => self.push_record(line, RecordKind::QueuedMessage { text }),
                QueuedMessage::Private => self.position.private.begin(None),
                QueuedMessage::Other => {}
            }
        }
    }
}
