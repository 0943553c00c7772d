//! Recall: selects memories for an agent or a user.
//!
//! Decides what is included, in which order and within which limits. Reads the store and the vector file only, and returns
//! text; the binary prints it.

mod branch;
mod cited_lines;
mod context;
mod corpus;
mod error_lines;
mod files_now;
mod frame;
mod hit;
mod index;
mod injection;
mod listing;
mod question;
mod rank;
mod remedy;
mod search;
mod semantic;
mod snippet;
mod staleness;
mod stop_phrases;
mod time_phrase;
mod vector_file;

pub use backstory_embed::{Encoder, MODEL as ENCODER, Quantized};
pub use branch::BranchMark;
pub use context::{
    ContextBlock, ContextEntry, ContextRequest, FullField, Limits, MAX_SUMMARIES, OpenItem, OpenItems,
    OpenWork, context, open_items, open_work,
};
pub use corpus::Corpus;
pub use error_lines::stated_error;
pub use files_now::{CitedFileStatus, cited_file_statuses};
pub use frame::{escape_for_frame, quoted};
pub use hit::{Query, SearchHit};
pub use index::{FlushPolicy, IndexError, embed_document, embed_next, file_vectors, repair_vectors};
pub use injection::{Injection, InjectionTarget, at_failure, at_file, at_prompt};
pub use question::Question;
pub use remedy::{Remedy, remedies};
pub use search::Searcher;
pub use semantic::embed_query;
pub use snippet::{matches, snippet};
pub use staleness::{FileSnapshot, FileStatus, is_stale};
pub use time_phrase::{Period, TimePhrase};
pub use vector_file::zero_vectors;
