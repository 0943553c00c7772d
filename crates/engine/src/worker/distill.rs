//! Distills the queue: one batch of one session at a time.
//!
//! Whenever events of a turn come in, the turn is read as a whole, from its events and from the transcript, into evidence
//! items and a work log; then the memory of its session is composed again from the logs of all turns. The result depends
//! on the events alone, so a batch that is claimed twice, killed half way or still growing needs no special treatment.

use std::{
    collections::BTreeMap,
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
use backstory_distill::{TurnInput, TurnLog, TurnStep, compose, record_each};
use backstory_model::{EventId, EventKind, NewObservation, SessionMemory, Timestamp, TurnId};
use backstory_recall::FileSnapshot;
use backstory_store::{
    Claim, EvidenceItems, Fingerprints, ModelFollowUp, SessionRef, Store, StoredLog, StoredTurn,
    TurnProgress, TurnRecord,
};

use super::assemble::{Assembled, assemble};
use crate::{clock::Clock, turns::AssembledTurn};

/// How long a share of the queue is kept for one worker: far longer than any share takes.
const LEASE: Duration = Duration::from_mins(1);

/// The most events of one share, so that sessions take turns.
const BATCH_SIZE: u32 = 200;

/// How many shares are distilled at the same time, each of another session.
const CONCURRENCY: usize = 2;

/// A batch of the queue on its way through a distiller.
struct Job {
    claim: Claim,
    turns: Vec<StoredTurn>,
    /// The work logs of the session, as they are stored.
    logs: Vec<StoredLog>,
    result: Result<SessionResult>,
}

/// The result of a batch.
#[derive(Default)]
struct SessionResult {
    turns: Vec<RecordedTurn>,
    memory: SessionMemory,
    /// The state of the cited files.
    files: Fingerprints,
}

/// One turn as evidence and log.
struct RecordedTurn {
    items: EvidenceItems,
    /// The log as JSON.
    log: String,
    /// The position up to which the transcript was read.
    read: Option<String>,
    follow_up: ModelFollowUp,
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
                let logs = if turns.is_empty() {
                    Vec::new()
                } else {
                    store.turn_logs(claim.session_db_id)?
                };
                thinker
                    .send(Job {
                        claim,
                        turns,
                        logs,
                        result: Ok(SessionResult::default()),
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
    let mut ids: BTreeMap<TurnId, BatchEnd> = BTreeMap::new();
    for event in &claim.events {
        let end = match event.kind {
            EventKind::Stop | EventKind::SubagentStop => BatchEnd::Stop,
            _ => BatchEnd::Open,
        };
        if let Some(turn) = event.turn_id {
            let known = ids.entry(turn).or_insert(end);
            *known = end.max(*known);
        }
        // Esc and a closed window end a turn without an event of its own; the next prompt or the end of the session shows it.
        if let EventKind::UserPromptSubmit | EventKind::SessionEnd = event.kind {
            let interrupted = store.interrupted_turn(claim.session_db_id, event.turn_id)?;
            ids.extend(interrupted.map(|turn| (turn, BatchEnd::Interruption)));
        }
    }
    let mut turns = Vec::new();
    for (id, end) in ids {
        if store
            .turn_progress(id)?
            .is_some_and(|progress| is_worth_it(progress, end))
        {
            turns.extend(store.turn_to_distil(id)?);
        }
    }
    Ok(turns)
}

/// The last thing that a batch says about a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BatchEnd {
    /// It may go on.
    Open,
    /// The agent or a sub-agent stopped.
    Stop,
    /// The turn ended without a Stop.
    Interruption,
}

/// Decides whether a turn is distilled now. However long it runs, each of its events is read a few times only.
///
/// A turn that is over is distilled completely. One that still runs is distilled when it has many events, and again when it
/// has half as many more. The end of a large turn is distilled at its Stop, unless an earlier batch has read that far.
fn is_worth_it(turn: TurnProgress, end: BatchEnd) -> bool {
    const EPISODE: u64 = 40;
    const LARGE: u64 = 400;
    let has_grown = turn.events >= turn.distilled + turn.distilled / 2;
    if turn.is_ended {
        let has_new_end = match end {
            BatchEnd::Open => false,
            BatchEnd::Stop => turn.events > turn.distilled,
            BatchEnd::Interruption => true,
        };
        turn.distilled < LARGE || has_grown || has_new_end
    } else {
        turn.events >= EPISODE && has_grown
    }
}

/// Distills a batch. A bug in a rule must cost one batch, not the worker.
fn distill_job(mut job: Job, options: &DistillOptions) -> Job {
    let result = panic::catch_unwind(AssertUnwindSafe(|| distill_session(&mut job, options)));
    Job {
        result: result.unwrap_or_else(|_| Err(anyhow!("the distiller panicked"))),
        ..job
    }
}

fn distill_session(job: &mut Job, options: &DistillOptions) -> Result<SessionResult> {
    if job.turns.is_empty() {
        return Ok(SessionResult::default());
    }
    let mut logs = parse_logs(&job.logs);
    let mut turns = Vec::with_capacity(job.turns.len());
    for stored in &mut job.turns {
        let (turn, log) = record_turn(stored, options)?;
        turns.push(turn);
        logs.insert(log.number, log);
    }
    let logs: Vec<TurnLog> = logs.into_values().collect();
    let memory = compose(&logs);
    Ok(SessionResult {
        files: fingerprints_of_turns(&job.turns, &memory),
        turns,
        memory,
    })
}

/// Parses stored logs, by the number of their turn. A log that cannot be read is left out: its turn contributes nothing
/// until it is distilled again.
fn parse_logs(logs: &[StoredLog]) -> BTreeMap<u32, TurnLog> {
    logs.iter()
        .filter_map(|log| {
            let parsed: TurnLog = serde_json::from_str(&log.json).ok()?;
            // An import may have added a turn before this one since.
            let number = log.number;
            Some((number, TurnLog { number, ..parsed }))
        })
        .collect()
}

fn record_turn(stored: &mut StoredTurn, options: &DistillOptions) -> Result<(RecordedTurn, TurnLog)> {
    let is_ended = stored.is_ended;
    let Assembled { turn, position } = assemble(stored, &options.keep);
    let AssembledTurn { turn, mut calls } = turn;
    let mut items = EvidenceItems::default();
    let log = record_each(&turn, &mut |step| calls.take(step), &mut |item| {
        items.push(item);
    });
    // A turn that continues is read again from the same place.
    let read = position.filter(|_| is_ended);
    let recorded = RecordedTurn {
        items,
        log: serde_json::to_string(&log)?,
        read: read
            .map(|position| serde_json::to_string(&position))
            .transpose()?,
        follow_up: if !options.with_model {
            ModelFollowUp::Never
        } else if is_ended && is_worth_a_model(&turn) {
            ModelFollowUp::Wanted
        } else {
            ModelFollowUp::NotNow
        },
    };
    Ok((recorded, log))
}

/// Composes the memory of a session from its stored logs.
pub(crate) fn compose_stored(store: &Store, session: SessionRef) -> Result<SessionMemory> {
    let logs = parse_logs(&store.turn_logs(session.session_db_id)?);
    let logs: Vec<TurnLog> = logs.into_values().collect();
    panic::catch_unwind(|| compose(&logs)).map_err(|_| anyhow!("the distiller panicked"))
}

/// Composes sessions again of which something was forgotten.
pub(crate) fn compose_pending(store: &mut Store) -> Result<()> {
    for session in store.sessions_to_compose()? {
        let memory = compose_stored(store, session)?;
        store.store_session(session, &[], &memory, &Fingerprints::new())?;
    }
    Ok(())
}

/// A turn without a tool use and with few words ("thanks") says nothing that a model could say better.
fn is_worth_a_model(turn: &TurnInput) -> bool {
    const FEW_WORDS: usize = 400;
    let is_deed = |step: &TurnStep| !matches!(step, TurnStep::Prose(_));
    let said = [&turn.prompt, &turn.last_message];
    let length: usize = said.into_iter().flatten().map(String::len).sum();
    turn.steps.iter().any(is_deed) || length >= FEW_WORDS
}

/// Fingerprints the files that observations of these turns cite.
fn fingerprints_of_turns(turns: &[StoredTurn], memory: &SessionMemory) -> Fingerprints {
    let mut files = Fingerprints::new();
    for turn in turns {
        let observations = memory.observations.iter().filter(|new| new.turn == turn.number);
        files.extend(fingerprints(turn, observations.map(|new| &new.observation)));
    }
    files
}

/// Fingerprints the files that observations of a turn cite, except those that were written to after the turn.
pub(super) fn fingerprints<'o>(
    turn: &StoredTurn,
    observations: impl Iterator<Item = &'o NewObservation>,
) -> Fingerprints {
    /// A turn that touched more files than this is not checked for staleness: reading them all would take too long.
    const MAX_FILES: usize = 64;
    /// File systems round modification times.
    const SLACK: Duration = Duration::from_millis(50);
    let by_time = last_event(turn) + SLACK;
    let mut snapshots: BTreeMap<&String, Option<FileSnapshot>> = BTreeMap::new();
    let mut files = Fingerprints::new();
    for observation in observations {
        let text = cited_text(observation);
        for path in observation.files_modified.iter().chain(&observation.files_read) {
            if snapshots.len() >= MAX_FILES && !snapshots.contains_key(path) {
                continue;
            }
            let snapshot = snapshots
                .entry(path)
                .or_insert_with(|| FileSnapshot::read(Path::new(&turn.root), path, by_time));
            if let Some(snapshot) = snapshot {
                let of_memory = files.entry(observation.title.clone()).or_default();
                of_memory.insert(path.clone(), snapshot.fingerprint(&text));
            }
        }
    }
    files
}

/// Returns the text of an observation that names what it is about.
fn cited_text(observation: &NewObservation) -> String {
    let narrative = observation.narrative.as_deref().unwrap_or_default();
    format!(
        "{}\n{}\n{narrative}",
        observation.title,
        observation.facts.join("\n")
    )
}

/// Returns the time of a turn's last event.
pub(super) fn last_event(turn: &StoredTurn) -> Timestamp {
    turn.events.last().map_or(Timestamp::EPOCH, |event| event.at)
}

/// Stores the result of a batch; returns how many events are finished with it.
fn store_result(store: &mut Store, job: &Job, now: Timestamp) -> Result<usize> {
    let ids: Vec<EventId> = job.claim.events.iter().map(|event| event.id).collect();
    let result = match &job.result {
        Ok(result) => result,
        Err(error) => {
            store.fail(&ids, &format!("{error:#}"), now)?;
            return Ok(0);
        }
    };
    let turns: Vec<TurnRecord<'_>> = job
        .turns
        .iter()
        .zip(&result.turns)
        .map(|(turn, recorded)| TurnRecord {
            turn,
            items: &recorded.items,
            log: &recorded.log,
            transcript_read: recorded.read.as_deref(),
            follow_up: recorded.follow_up,
        })
        .collect();
    if let Some(first) = job.turns.first() {
        let session = SessionRef {
            session_db_id: first.session_db_id,
            project_db_id: first.project_db_id,
        };
        store.store_session(session, &turns, &result.memory, &result.files)?;
    }
    store.finish(job.claim.session_db_id, &ids)?;
    Ok(ids.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress(is_ended: bool, events: u64, distilled: u64) -> TurnProgress {
        TurnProgress {
            is_ended,
            events,
            distilled,
        }
    }

    #[test]
    fn a_long_turn_is_looked_at_a_few_times_only() {
        let (mut distilled, mut looks) = (0, 0);
        for events in 0..10_000 {
            if is_worth_it(progress(false, events, distilled), BatchEnd::Open) {
                distilled = events;
                looks += 1;
            }
        }
        assert!((5..20).contains(&looks), "{looks}");
        assert!(is_worth_it(progress(true, 0, 0), BatchEnd::Open));
    }

    #[test]
    fn the_end_of_a_long_turn_is_distilled() {
        let is_worth_it = |events, end| is_worth_it(progress(true, events, 1_000), end);
        assert!(!is_worth_it(1_001, BatchEnd::Open), "more events will follow");
        assert!(is_worth_it(1_001, BatchEnd::Stop));
        assert!(!is_worth_it(1_000, BatchEnd::Stop), "it is distilled to its end");
        assert!(is_worth_it(1_000, BatchEnd::Interruption));
    }
}
