//! Turns events into memories: one share of the queue at a time, one turn after the other.
//!
//! The unit of work is a turn. Whenever events of a turn come in, the turn is distilled as a whole, from all its events
//! and what the transcript adds, in place of what was made of it before: a turn that is killed half way, claimed twice
//! or still running needs no special treatment.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::{self, AssertUnwindSafe},
    path::Path,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{SyncSender, sync_channel},
    },
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use backstory_capture::filter;
use backstory_distill::{TurnInput, TurnStep, distil};
use backstory_model::{Distilled, EventId, EventKind, Timestamp, TurnId};
use backstory_recall::fingerprint_file;
use backstory_store::{
    Claim, DistillRun, FileFingerprint, ModelFollowUp, Store, StoredTurn, TurnProgress, TurnResult,
};

use super::assemble::{Assembled, assemble};
use crate::clock::Clock;

/// How long a share of the queue is kept for one worker: far longer than any share takes.
const LEASE: Duration = Duration::from_mins(1);

/// The most events of one share, so that sessions take turns.
const BATCH_SIZE: u32 = 200;

/// How many shares are distilled at the same time, each of another session.
const CONCURRENCY: usize = 2;

/// A share of the queue on its way through a distiller.
struct Job {
    claim: Claim,
    turns: Vec<StoredTurn>,
    made: Result<Vec<DistilledTurn>>,
}

/// What was made of one turn.
struct DistilledTurn {
    distilled: Distilled,
    /// What the files that it cites hold.
    files: BTreeMap<String, FileFingerprint>,
    /// How far the transcript was read.
    read: Option<String>,
    /// Whether a model is to distil it after the rules.
    then: ModelFollowUp,
}

/// How turns are distilled by rules.
#[derive(Clone, Debug)]
pub struct DistillOptions {
    /// What of a transcript may be kept.
    pub keep: filter::CaptureSettings,
    /// Whether a model follows.
    pub with_model: bool,
}

/// Works until nothing in the queue is ready or it is told to stop, and tells of each share. Returns how many events were finished.
///
/// One thread has the store; others think. Order within a session holds because a session has one share at a time.
pub fn distill_queue(
    store: &mut Store,
    rules: &DistillOptions,
    clock: &Clock,
    stop: &AtomicBool,
    report: &mut dyn FnMut(usize),
) -> Result<usize> {
    thread::scope(|scope| {
        let (done, finished) = sync_channel(CONCURRENCY);
        let pool: Vec<SyncSender<Job>> = (0..CONCURRENCY)
            .map(|_| {
                let (send, receive) = sync_channel::<Job>(1);
                let done = done.clone();
                scope.spawn(move || {
                    for job in receive {
                        // Fails when the other side gave up: then nobody wants the result.
                        done.send(distill_job(job, rules)).ok();
                    }
                });
                send
            })
            .collect();
        let (mut after, mut under_way, mut events) = (None, 0, 0);
        let mut idle = pool.iter().cycle();
        loop {
            let claim = match under_way < CONCURRENCY && !stop.load(Ordering::Relaxed) {
                true => store.claim(clock.timestamp(), LEASE, after, BATCH_SIZE)?,
                false => None,
            };
            if let (Some(claim), Some(thinker)) = (claim, idle.next()) {
                after = Some(claim.session_db_id);
                under_way += 1;
                let turns = ready_turns(store, &claim)?;
                thinker
                    .send(Job {
                        claim,
                        turns,
                        made: Ok(Vec::new()),
                    })
                    .context("a distiller is gone")?;
                continue;
            }
            if under_way == 0 {
                return Ok(events);
            }
            let job = finished.recv().context("the distillers are gone")?;
            under_way -= 1;
            let count = store_result(store, &job, clock.timestamp())?;
            events += count;
            report(count);
        }
    })
}

/// Reads the turns of a share that are worth distilling now.
fn ready_turns(store: &Store, claim: &Claim) -> Result<Vec<StoredTurn>> {
    let mut ids: BTreeSet<TurnId> = claim.events.iter().filter_map(|event| event.turn_id).collect();
    for event in &claim.events {
        // Esc and a closed window end a turn without an event of its own; the next prompt or the end of the session tells.
        if let EventKind::UserPromptSubmit | EventKind::SessionEnd = event.kind {
            ids.extend(store.interrupted_turn(claim.session_db_id, event.turn_id)?);
        }
    }
    let mut turns = Vec::new();
    for id in ids {
        if store.turn_progress(id)?.is_some_and(is_worth_it) {
            turns.extend(store.turn_to_distil(id)?);
        }
    }
    Ok(turns)
}

/// A turn that is over is distilled for good. One that still runs is worth a look when it has used many tools, and a large
/// one again when it has used half as many more: however long it runs, each of its events is looked at a few times only.
fn is_worth_it(turn: TurnProgress) -> bool {
    const EPISODE: u64 = 40;
    const LARGE: u64 = 400;
    let has_grown = turn.tool_uses >= turn.distilled + turn.distilled / 2;
    match turn.is_ended {
        true => turn.distilled < LARGE || has_grown,
        false => turn.tool_uses >= EPISODE && has_grown,
    }
}

/// Distils the turns of a share. A bug in a rule must cost one share, not the worker.
fn distill_job(job: Job, rules: &DistillOptions) -> Job {
    let made = panic::catch_unwind(AssertUnwindSafe(|| {
        job.turns.iter().map(|turn| make(turn, rules)).collect()
    }));
    Job {
        made: made.unwrap_or_else(|_| Err(anyhow!("the distiller panicked"))),
        ..job
    }
}

fn make(stored: &StoredTurn, rules: &DistillOptions) -> Result<DistilledTurn> {
    let Assembled { turn, position } = assemble(stored, &rules.keep);
    let distilled = distil(&turn);
    // A turn that goes on is read again from the same place.
    let read = position.filter(|_| stored.is_ended);
    Ok(DistilledTurn {
        files: marks(stored, &distilled),
        then: match rules.with_model {
            false => ModelFollowUp::Never,
            true if stored.is_ended && is_worth_a_model(&turn) => ModelFollowUp::Wanted,
            true => ModelFollowUp::NotNow,
        },
        distilled,
        read: read
            .map(|position| serde_json::to_string(&position))
            .transpose()?,
    })
}

/// A turn without a tool use and with few words ("thanks") says nothing that a model could say better.
fn is_worth_a_model(turn: &TurnInput) -> bool {
    const FEW_WORDS: usize = 400;
    let is_deed = |step: &TurnStep| !matches!(step, TurnStep::Prose(_));
    let said = [&turn.prompt, &turn.last_message];
    let length: usize = said.into_iter().flatten().map(String::len).sum();
    turn.steps.iter().any(is_deed) || length >= FEW_WORDS
}

/// Remembers what the cited files hold, those that were not written to after the turn.
pub(super) fn marks(turn: &StoredTurn, distilled: &Distilled) -> BTreeMap<String, FileFingerprint> {
    /// A turn that touched more than this is not judged by its files.
    const MAX_FILES: usize = 64;
    /// Clocks of file systems are coarse.
    const SLACK: Duration = Duration::from_millis(50);
    let by_time = last_event(turn) + SLACK;
    let paths: BTreeSet<&String> = distilled
        .observations
        .iter()
        .flat_map(|observation| observation.files_modified.iter().chain(&observation.files_read))
        .collect();
    let marks = paths.into_iter().take(MAX_FILES);
    marks
        .filter_map(|path| {
            Some((
                path.clone(),
                fingerprint_file(Path::new(&turn.root), path, by_time)?,
            ))
        })
        .collect()
}

/// Returns the time of a turn's last event.
pub(super) fn last_event(turn: &StoredTurn) -> Timestamp {
    turn.events.last().map_or(Timestamp::EPOCH, |event| event.at)
}

/// Stores what was made of a share; returns how many events are finished with it.
fn store_result(store: &mut Store, job: &Job, now: Timestamp) -> Result<usize> {
    let ids: Vec<EventId> = job.claim.events.iter().map(|event| event.id).collect();
    let made = match &job.made {
        Ok(made) => made,
        Err(error) => {
            store.fail(&ids, &format!("{error:#}"), now)?;
            return Ok(0);
        }
    };
    for (turn, made) in job.turns.iter().zip(made) {
        let made = TurnResult {
            distilled: &made.distilled,
            files: &made.files,
            transcript_read: made.read.as_deref(),
            by: DistillRun::Rules(made.then),
        };
        store.replace_turn(turn, &made, last_event(turn))?;
    }
    store.finish(job.claim.session_db_id, &ids)?;
    Ok(ids.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_turn_is_looked_at_a_few_times_only() {
        let (mut distilled, mut looks) = (0, 0);
        for tool_uses in 0..10_000 {
            if is_worth_it(TurnProgress {
                is_ended: false,
                tool_uses,
                distilled,
            }) {
                distilled = tool_uses;
                looks += 1;
            }
        }
        assert!((5..20).contains(&looks), "{looks}");
        assert!(is_worth_it(TurnProgress {
            is_ended: true,
            tool_uses: 0,
            distilled: 0
        }));
    }
}
