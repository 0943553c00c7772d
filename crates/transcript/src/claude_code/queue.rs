//! Interprets the lines that record changes of the message queue.
//!
//! The client writes each change as a line of its own. A message that leaves the queue in the middle of a turn was delivered
//! to the assistant; newer clients repeat it as an attachment, which is a prompt. One that leaves it between two turns is
//! repeated as a prompt, and one that the user takes back was never sent.

use backstory_capture::{payload::Payload, strip_tags::TagStripper};

use super::{
    interpreter::{Interpreter, LineHeader},
    message_queue::QueuedMessage,
    prompts::{self, UserTextKind},
};
use crate::record::RecordKind;

impl Interpreter {
    /// Reads a change of the queue.
    pub(super) fn queue_operation(&mut self, fields: &Payload<'_>) {
        if self.is_copied(fields) {
            return;
        }
        match fields.text("operation").as_deref() {
            Some("enqueue") => {
                let message = self.queued_message(fields);
                self.position.queue.enqueue(message);
            }
            Some("remove") => {
                let is_named = fields.raw("content").is_some_and(|raw| raw.starts_with('"'));
                let message = is_named.then(|| self.queued_message(fields));
                self.position.queue.deliver(message.as_ref());
            }
            Some("dequeue") => self.position.queue.dequeue(),
            Some("popAll") => self.position.queue.clear(),
            _ => {}
        }
    }

    fn queued_message(&self, fields: &Payload<'_>) -> QueuedMessage {
        let raw = fields.raw("content").unwrap_or_default();
        let mut stripper = TagStripper::of_user_text();
        let text = self.sanitizer.json_text(raw, &mut stripper);
        match prompts::read(&text, false) {
            UserTextKind::Prompt(text) if !text.starts_with('/') => QueuedMessage::Words(text),
            UserTextKind::Nothing if stripper.has_stripped() => QueuedMessage::Private,
            _ => QueuedMessage::Other,
        }
    }

    /// Adds records for the messages that were delivered before this line.
    pub(super) fn delivered_messages(&mut self, line: &LineHeader<'_>) {
        if line.copied || line.agent_id.is_some() {
            return;
        }
        for message in self.position.queue.take_delivered() {
            match message {
                // Not recorded in a private turn, in which the assistant continues the private work.
                QueuedMessage::Words(text) => self.push_record(line, RecordKind::QueuedMessage { text }),
                QueuedMessage::Private => self.position.private.begin(None),
                QueuedMessage::Other => {}
            }
        }
    }
}
