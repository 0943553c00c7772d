//! What leaves a machine and what may enter it: the checks of team memory, and the format of packs.
//!
//! `outbound` turns a memory into a record and refuses secrets; `inbound` verifies a record of another person and decides
//! whether agents may see it; `contradiction` finds statements that disagree; `pack` writes records as a file for a repository.
//! Pure functions of their arguments: the
//! engine brings keys, files, the store and the network.

mod contradiction;
mod inbound;
mod instructions;
mod outbound;
mod pack;
mod personal_paths;

pub use contradiction::Statement;
pub use inbound::{Inspection, inspect, received, searched_text};
pub use outbound::{Author, Blocked, Outgoing, prepare, record_id, shareable_types};
pub use pack::{Pack, PackError, PackHeader};
