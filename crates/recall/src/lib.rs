//! Recall: from the store to what an agent is shown.
//!
//! Owns what is chosen, in which order and within which limits. Reads the store only, and returns text; printing is left
//! to the binary.

mod cited;
mod context;
mod everyday;
mod files_now;
mod framed;
mod index;
mod meaning;
mod moment;
mod one_line;
mod rank;
mod search;
mod snippet;
mod vector_file;

pub use backstory_embed::Encoder;
pub use cited::{Fate, mark};
pub use context::{
    Context, Entry, FullField, Limits, MOST_SUMMARIES, OpenWork, Situation, context, open_work,
};
pub use files_now::{FileNow, files_now};
pub use framed::framed;
pub use index::{IndexError, When, embed_next, file_vectors, mend_vectors};
pub use moment::{Listener, Said, at_failure, at_file, at_prompt};
pub use one_line::{is_invisible, one_line};
pub use search::{Hit, Query, Searcher, is_stale, tokens};
pub use snippet::{matches, snippet};
pub use vector_file::blank;
