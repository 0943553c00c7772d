//! The queue of messages that the user types while the assistant works.

use serde::{Deserialize, Serialize};

/// The maximum number of messages that are tracked; a queue is short.
const MAX_QUEUED: usize = 32;

/// Holds the queued messages, and those that were delivered to the assistant but not recorded yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct MessageQueue {
    #[serde(rename = "waiting")]
    queued: Vec<QueuedMessage>,
    delivered: Vec<QueuedMessage>,
}

/// A message in the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum QueuedMessage {
    /// The user's words.
    Words(String),
    /// A fully private message: the rest of the turn is private.
    Private,
    /// A notification or a command to the host.
    Other,
}

impl MessageQueue {
    /// Adds a message.
    pub(super) fn enqueue(&mut self, message: QueuedMessage) {
        if self.queued.len() < MAX_QUEUED {
            self.queued.push(message);
        }
    }

    /// Marks a message, or else the first one, as delivered to the assistant.
    pub(super) fn deliver(&mut self, message: Option<&QueuedMessage>) {
        let at = match message {
            Some(message) => self.queued.iter().position(|queued| queued == message),
            None => (!self.queued.is_empty()).then_some(0),
        };
        if let Some(at) = at.filter(|_| self.delivered.len() < MAX_QUEUED) {
            let message = self.queued.remove(at);
            self.delivered.push(message);
        }
    }

    /// Removes the first message, which the client repeats as a prompt.
    pub(super) fn dequeue(&mut self) {
        if !self.queued.is_empty() {
            self.queued.remove(0);
        }
    }

    /// Removes all waiting messages.
    pub(super) fn clear(&mut self) {
        self.queued.clear();
    }

    /// Removes a delivered message that the client repeats in another line.
    pub(super) fn forget(&mut self, text: &str) {
        let is_same = |known: &QueuedMessage| matches!(known, QueuedMessage::Words(known) if known == text);
        self.delivered.retain(|known| !is_same(known));
    }

    /// Takes out the messages that were delivered.
    pub(super) fn take_delivered(&mut self) -> Vec<QueuedMessage> {
        std::mem::take(&mut self.delivered)
    }
}
