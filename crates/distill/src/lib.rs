//! Distills turns into memories.
//!
//! Without a model: `evidence` reads a turn into items and a work log; `session` composes the logs of a whole session into
//! episodes, memories and a hand-over. The layers below each other are `english` (sentence grammar), `prose` (documents),
//! `evidence`, `episodes`, `memories` and `handover`; a layer uses only those before it. With a model: `digest` writes the
//! text that is sent, `prompt` the request, `provider` makes the call, `answer` reads the reply.
//!
//! Everything but `provider` is pure: no store, no clock, no environment. The same logs always give the same memories.

mod answer;
mod command_results;
mod command_rules;
mod digest;
mod english;
mod episodes;
mod evidence;
mod handover;
mod memories;
mod price;
mod prompt;
mod prose;
mod provider;
mod session;
mod turn;
mod worklog;

pub use answer::{Answer, AnswerError, ModelObservation, ModelSummary, read as read_answer, refine};
pub use backstory_model::{Distilled, NewObservation, NewSummary};
pub use command_rules::{RuledOut, ruled_out};
pub use digest::{Digest, ToolEvidence, digest};
pub use evidence::{KeyedCommand, LoadCall, TurnEvidence, keyed_commands, record, record_each};
pub use memories::Source as MemorySource;
pub use price::{Price, price};
pub use prompt::{KnownMemory, Prompt, prompt};
pub use provider::{
    Anthropic, ApiKey, ClaudeCli, ClaudeOutput, Endpoint, Invocation, OpenAi, Provider, Reply, RunClaude,
    RunError, Trouble, Usage, is_protected,
};
pub use session::{
    Checkpoint, Episode, Handover, ItemRef, SessionMemory, SessionObservation, compose, compose_without,
};
pub use turn::{ToolOutcome, ToolUse, TurnEnd, TurnInput, TurnStep};
pub use worklog::{
    Action, AnswerChoice, ChangeKind, CommandRun, ErrorSignature, FileChange, GitCommit, LogEntry,
    Publication, PublicationAction, PublicationKind, Purpose, Replacement, RunOutcome, TaskState, TurnLog,
};
