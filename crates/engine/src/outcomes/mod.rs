//! Measures what became of injected memories, from the injection log and the work logs of sessions.
//!
//! Runs in the worker, after turns were distilled. A session is judged again when it has gone on.

mod judge;
mod signs;

use std::{cell::LazyCell, collections::HashMap, fs, io};

use anyhow::{Context as _, Result};
use backstory_distill::TurnLog;
use backstory_model::{Handle, SessionId};
use backstory_store::{SessionImpact, Store};

use self::judge::{InjectedMemory, OtherSession, judge};
use crate::{
    engine::Engine,
    injection_log::{self, InjectionRecord},
};

/// Judges all sessions with an injection log that have gone on since they were last judged.
pub fn judge_sessions(engine: &Engine, store: &mut Store) -> Result<()> {
    let folder = match fs::read_dir(engine.home.injection_logs()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.context("could not list the injection log")?,
    };
    for file in folder {
        let name = file.context("could not list the injection log")?.file_name();
        // The name of a session with an unusual id is not that id; such a session is not judged.
        let Some(session) = name
            .to_str()
            .map(|name| store.session_db_id(name))
            .transpose()?
            .flatten()
        else {
            continue;
        };
        let Some(last_event_at) = store.last_event_if_distilled(session)? else {
            continue;
        };
        if store.judged_to(session)?.is_some_and(|to| to >= last_event_at) {
            continue;
        }
        let records = injection_log::InjectionLog::of(&engine.home, &name.to_string_lossy());
        let impact = judge_session(store, session, records.records())?;
        store.store_impact(session, last_event_at, &impact)?;
    }
    Ok(())
}

/// Judges one session by its injection log.
pub fn judge_session(
    store: &Store,
    session: SessionId,
    records: &[InjectionRecord],
) -> Result<SessionImpact> {
    let turns = turn_logs(store, session)?;
    let mut memories: HashMap<Handle, InjectedMemory> = HashMap::new();
    for handle in records.iter().filter(|record| record.told).filter_map(handle) {
        if memories.contains_key(&handle) {
            continue;
        }
        let Some(memory) = store.memory(handle)? else {
            continue;
        };
        let by = match memory.superseded_by {
            Some(by) => store.memory(by)?,
            None => None,
        };
        let superseded_at = by.map(|by| by.created_at);
        memories.insert(
            handle,
            InjectedMemory {
                memory,
                superseded_at,
            },
        );
    }
    let others = LazyCell::new(|| other_sessions(store, session).unwrap_or_default());
    let mut impact = judge(records, &turns, &memories, &others);
    // Pinned notes are never withheld, so they are no difference between the groups.
    let is_eligible = |record: &&InjectionRecord| record.withheld || record.told && record.reason != "pinned";
    let is_withheld = records.iter().any(|record| record.withheld);
    impact.eligible = records
        .iter()
        .find(is_eligible)
        .map(|record| (record.at, is_withheld));
    Ok(impact)
}

/// Reads the work of the latest sessions of the project before a session.
fn other_sessions(store: &Store, session: SessionId) -> Result<Vec<OtherSession>> {
    /// Enough to tell what every fifth session does.
    const MAX: u32 = 10;
    let earlier = store.earlier_sessions(session, MAX)?;
    let read = |(id, name)| Ok(OtherSession::new(name, &turn_logs(store, id)?));
    earlier.into_iter().map(read).collect()
}

fn turn_logs(store: &Store, session: SessionId) -> Result<Vec<TurnLog>> {
    let logs = store.turn_logs(session)?;
    let parsed = logs.iter().map(|log| serde_json::from_str(&log.json));
    Ok(parsed.filter_map(Result::ok).collect())
}

fn handle(record: &InjectionRecord) -> Option<Handle> {
    record.id.as_deref()?.parse().ok()
}
