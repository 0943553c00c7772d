//! Distil: from a turn, all that was said and done after one prompt, to memories worth reading.
//!
//! `turn` is what goes in, `memory` what comes out, `builtin` the rules that need no model: pure functions, no store, no
//! clock. With a model, `digest` says what it is shown, `prompt` how it is asked, `provider` who is asked, `answer` what it
//! said and what counts of it.

mod answer;
mod builtin;
mod digest;
mod english;
mod episodes;
mod evidence;
mod handover;
mod memories;
mod memory;
mod price;
mod prompt;
mod prose;
mod provider;
mod session;
mod turn;
mod worklog;

pub use answer::{Answer, AnswerError, ModelObservation, ModelSummary, read as read_answer, refine};
pub use builtin::distil;
pub use digest::{Digest, ToolEvidence, digest};
pub use evidence::{TurnEvidence, record};
pub use memory::{Distilled, NewObservation, NewPassage, NewSummary, PassageKind};
pub use price::{Price, price};
pub use prompt::{KnownMemory, Prompt, prompt};
pub use provider::{
    Anthropic, ApiKey, ClaudeCli, ClaudeOutput, Endpoint, Invocation, OpenAi, Provider, Reply, RunClaude,
    RunError, Trouble, Usage,
};
pub use session::{Checkpoint, Episode, Handover, ItemRef, SessionMemory, SessionObservation, compose};
pub use turn::{ToolOutcome, ToolUse, TurnEnd, TurnInput, TurnStep};
pub use worklog::{
    Action, ChangeKind, CommandRun, ErrorSignature, FileChange, GitCommit, LogEntry, Publication,
    PublicationAction, PublicationKind, Purpose, RunOutcome, TaskState, TurnLog,
};
