//! The user's opinion about memories of others: useful, wrong, or replaced by another memory.
//!
//! An opinion takes effect on this machine at once and is sent with the next exchange. It never changes a record: only its
//! author does.

use anyhow::{Result, bail};
use backstory_model::{Handle, MemoryKind};
use backstory_store::{Store, TeamOpinion, Verdict};

use crate::error::HintedError;

/// Judges a memory of another person.
pub fn rate(store: &mut Store, handle: Handle, verdict: Verdict) -> Result<()> {
    let own = store.own_opinion(record_of_other(store, handle)?)?;
    store.set_own_opinion(&TeamOpinion { verdict, ..own })?;
    Ok(())
}

/// Marks a memory of another person as replaced by another memory that the team has, or as valid again.
///
/// If the replacement is the user's own memory, its record names what it replaces from its next version on.
pub fn replace(store: &mut Store, old: Handle, by: Option<Handle>) -> Result<()> {
    let record_id = record_of_other(store, old)?;
    let superseded_by = by.map(|by| replacement(store, old, by)).transpose()?;
    if let Some(by) = superseded_by {
        let of_other = store.own_opinion(by)?;
        if of_other.superseded_by == Some(record_id) {
            // The user changed their mind: the other way round does not hold any more.
            store.set_own_opinion(&TeamOpinion {
                superseded_by: None,
                ..of_other
            })?;
        }
    }
    let own = store.own_opinion(record_id)?;
    store.set_own_opinion(&TeamOpinion { superseded_by, ..own })?;
    Ok(())
}

fn replacement(store: &Store, old: Handle, by: Handle) -> Result<[u8; 16]> {
    let by = store.resolve(by)?;
    if by == old {
        bail!("{old} cannot replace itself");
    }
    let project = |handle: Handle| -> Result<Option<String>> {
        Ok(store.memory(handle)?.and_then(|memory| memory.record.project))
    };
    let Some(record) = store.team_record_of(by)? else {
        bail!(
            HintedError::new(format_args!(
                "{by} is not shared, so others would not know what replaces {old}"
            ))
            .hint(format_args!("`backstory share {by}` first"))
        );
    };
    if project(old)? != project(by)? {
        bail!("{old} and {by} belong to different projects");
    }
    Ok(record)
}

fn record_of_other(store: &Store, handle: Handle) -> Result<[u8; 16]> {
    let record = match handle.kind {
        MemoryKind::Team => store.record_of(handle)?,
        _ => bail!(
            HintedError::new(format_args!(
                "{handle} is your own memory: opinions are about those of others"
            ))
            .hint("their handles begin with T, such as T41")
        ),
    };
    record.ok_or_else(|| {
        HintedError::new(format_args!("no memory with id {handle}"))
            .hint("it was withdrawn or never existed; `backstory search` finds others")
            .into()
    })
}
