//! The position at which a read of a transcript ended, with the state that later lines depend on.
//!
//! An offset is not enough to continue: earlier lines determine whether the turn is private, which part of a message
//! was read, and which sub-agent a line belongs to. A position is serializable, and its size is bounded. Its field
//! names are stored: renaming one loses that state for transcripts in progress.

use backstory_capture::strip_tags::TagStripper;
use backstory_model::Timestamp;
use backstory_text::hash64;
use serde::{Deserialize, Serialize};

use super::message_queue::MessageQueue;
use crate::record::SessionFacts;

/// A position in a transcript. The default is its start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Position {
    pub(super) offset: u64,
    pub(super) lines: u64,
    #[serde(rename = "at_ms")]
    pub(super) at: Timestamp,
    /// The time at which the file was created, if its first line states one: older lines are copies.
    #[serde(rename = "begun_ms")]
    pub(super) begun_at: Option<Timestamp>,
    pub(super) facts: SessionFacts,
    /// The hash of the raw fields from which `facts` was read.
    pub(super) facts_hash: u64,
    pub(super) model_hash: u64,
    /// The title was set by the user.
    pub(super) named: bool,
    /// A message of this session was read. A summary before the first one belongs to another session.
    pub(super) begun: bool,
    /// The host announced local commands, which are not for the model.
    pub(super) local_commands: bool,
    /// The `!command` whose output follows.
    pub(super) typed: Option<Call>,
    pub(super) private: PrivateTurnState,
    pub(super) queue: MessageQueue,
    messages: Vec<MessageState>,
    calls: Vec<Call>,
    sidechains: Vec<(u64, String)>,
}

/// The private turns of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PrivateTurnState {
    /// The current turn is private.
    pub(super) now: bool,
    /// A turn was private: a summary of the conversation may reveal it.
    pub(super) ever: bool,
    /// The ids of private turns and, in `tasks`, of their background tasks.
    pub(super) prompts: Vec<String>,
    pub(super) tasks: Vec<String>,
}

/// The part of an assistant's message that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MessageState {
    id: String,
    /// A private span may continue in the next line of the message.
    #[serde(rename = "cutter")]
    pub(super) stripper: TagStripper,
    /// Length and hash of each block.
    blocks: Vec<(usize, u64)>,
}

/// A tool call whose result is not simply kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Call {
    pub(super) id: String,
    pub(super) result: Treatment,
    pub(super) secret_file: bool,
}

/// The treatment of a tool result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Treatment {
    #[default]
    Kept,
    /// Kept without its content, which repeats the memory or is private.
    Emptied,
    /// Not recorded.
    Dropped,
}

/// The part of a block that was not read before.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum BlockDelta {
    All,
    /// The block has grown: the part after this many bytes.
    From(usize),
    Nothing,
}

/// Bounds the number of interleaved messages, which are those of concurrent sub-agents.
const MESSAGES_KEPT: usize = 16;
const BLOCKS_KEPT: usize = 64;
const CALLS_KEPT: usize = 256;
const SIDECHAIN_LINES_KEPT: usize = 64;

impl Position {
    /// Returns the offset of the next line, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Adds the private turns of its session to the position of a sub-agent, so that its work in them is private too.
    #[must_use]
    pub fn with_private_turns_of(mut self, session: &Self) -> Self {
        for (own, known) in [
            (&mut self.private.prompts, &session.private.prompts),
            (&mut self.private.tasks, &session.private.tasks),
        ] {
            for id in known {
                note(own, id);
            }
        }
        self
    }

    /// Takes out the state of a message, which [`Position::put`] returns.
    pub(super) fn take(&mut self, id: Option<&str>) -> MessageState {
        let found = self
            .messages
            .iter()
            .position(|message| Some(message.id.as_str()) == id);
        found.map_or_else(
            || MessageState {
                id: id.unwrap_or_default().to_owned(),
                ..MessageState::default()
            },
            |index| self.messages.remove(index),
        )
    }

    pub(super) fn put(&mut self, message: MessageState) {
        if !message.id.is_empty() {
            push(&mut self.messages, message, MESSAGES_KEPT);
        }
    }

    /// Records a call whose result is not simply kept.
    pub(super) fn expect(&mut self, call: Call) {
        if call.result != Treatment::Kept || call.secret_file {
            push(&mut self.calls, call, CALLS_KEPT);
        }
    }

    /// Returns the call that a result belongs to, with its treatment.
    pub(super) fn answered(&mut self, id: &str) -> Call {
        let found = self.calls.iter().position(|call| call.id == id);
        found.map(|index| self.calls.remove(index)).unwrap_or_default()
    }

    /// Returns the sub-agent of a line that does not name it: that of the line it continues.
    pub(super) fn sidechain(&mut self, uuid: &str, parent: Option<&str>) -> Option<String> {
        let root = match parent {
            None => Some(format!("sidechain-{uuid}")),
            Some(parent) => {
                let parent = hash64(parent.as_bytes());
                let known = self.sidechains.iter().rev().find(|(line, _)| *line == parent);
                known.or(self.sidechains.last()).map(|(_, root)| root.clone())
            }
        }?;
        push(
            &mut self.sidechains,
            (hash64(uuid.as_bytes()), root.clone()),
            SIDECHAIN_LINES_KEPT,
        );
        Some(root)
    }
}

impl PrivateTurnState {
    /// Starts a private turn.
    pub(super) fn begin(&mut self, prompt_id: Option<&str>) {
        self.now = true;
        self.ever = true;
        if let Some(id) = prompt_id {
            note(&mut self.prompts, id);
        }
    }

    /// Ends the private turn.
    pub(super) fn end(&mut self, prompt_id: Option<&str>) {
        self.now = false;
        // A fork gives all copied turns, including private ones, the id of its own first turn.
        self.prompts.retain(|id| Some(id.as_str()) != prompt_id);
    }

    /// Records a background task of a private turn.
    pub(super) fn started(&mut self, task: &str) {
        note(&mut self.tasks, task);
    }
}

impl MessageState {
    /// Returns the part of a text that is new, and records it as read.
    pub(super) fn text(&mut self, text: &str) -> BlockDelta {
        let whole = (text.len(), hash64(text.as_bytes()));
        if self.blocks.contains(&whole) {
            return BlockDelta::Nothing;
        }
        let grown = self.blocks.iter_mut().find(|(length, beginning)| {
            text.get(..*length)
                .is_some_and(|part| *length > 0 && hash64(part.as_bytes()) == *beginning)
        });
        match grown {
            Some(block) => {
                let (length, _) = std::mem::replace(block, whole);
                BlockDelta::From(length)
            }
            None => {
                push(&mut self.blocks, whole, BLOCKS_KEPT);
                BlockDelta::All
            }
        }
    }

    /// Reports whether a tool call is new, and records it as read.
    pub(super) fn is_new_call(&mut self, id: &str) -> bool {
        // A length that no text has distinguishes calls from texts.
        let block = (usize::MAX, hash64(id.as_bytes()));
        let is_new = !self.blocks.contains(&block);
        if is_new {
            push(&mut self.blocks, block, BLOCKS_KEPT);
        }
        is_new
    }
}

fn note(ids: &mut Vec<String>, id: &str) {
    if !ids.iter().any(|known| known == id) {
        ids.push(id.to_owned());
    }
}

fn push<T>(list: &mut Vec<T>, item: T, most: usize) {
    if list.len() >= most {
        list.remove(0);
    }
    list.push(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_or_grown_block_is_read_once() {
        let mut message = MessageState::default();
        let steps = [
            ("Let me", BlockDelta::All),
            ("Let me", BlockDelta::Nothing),
            ("Let me look", BlockDelta::From(6)),
            ("Let me look", BlockDelta::Nothing),
            ("Found", BlockDelta::All),
            ("Let me look.", BlockDelta::From(11)),
            ("Füßé", BlockDelta::All),
        ];
        for (text, news) in steps {
            assert_eq!(message.text(text), news, "{text}");
        }
        assert!(message.is_new_call("t1") && message.is_new_call("t2") && !message.is_new_call("t1"));
    }

    #[test]
    fn a_line_belongs_to_the_sub_agent_that_it_continues() {
        let mut position = Position::default();
        assert_eq!(position.sidechain("x", Some("gone")), None);
        let mut of = |uuid, parent| position.sidechain(uuid, parent).unwrap();
        assert_eq!(of("a1", None), "sidechain-a1");
        assert_eq!(of("b1", None), "sidechain-b1");
        assert_eq!(of("a2", Some("a1")), "sidechain-a1");
        assert_eq!(of("b2", Some("b1")), "sidechain-b1");
        assert_eq!(of("a3", Some("a2")), "sidechain-a1");
        assert_eq!(of("a4", Some("lost")), "sidechain-a1");
    }

    #[test]
    fn the_size_of_a_position_is_bounded() {
        let mut position = Position::default();
        for n in 0..10_000 {
            let mut message = position.take(Some(&format!("msg_{n}")));
            for block in 0..100 {
                message.text(&format!("{block} of {n}"));
            }
            position.put(message);
            position.sidechain(&format!("line {n}"), None);
            position.expect(Call {
                id: format!("toolu_{n}"),
                result: Treatment::Dropped,
                secret_file: false,
            });
        }
        let json = serde_json::to_string(&position).unwrap();
        assert!(json.len() < 64 * 1024, "{}", json.len());
        assert_eq!(serde_json::from_str::<Position>(&json).unwrap(), position);
    }
}
