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
};

use anyhow::{Context, Result, anyhow};
use backstory_capture::{
    keep,
    transcript::{self, Position, What},
};
use backstory_distill::{Outcome, Step, ToolUse, Turn, TurnEnd, distil};
use backstory_model::{Distilled, EventKind};
use backstory_recall::mark;
use backstory_store::{
    Claim, Distiller, FileMark, Made, Store, ThenModel, TurnEvent, TurnProgress, TurnToDistil,
};
use serde_json::Value;

use crate::clock;

/// How long a share of the queue is kept for one worker: far longer than any share takes.
const LEASE_MS: i64 = 60_000;

/// The most events of one share, so that sessions take turns.
const SHARE: u32 = 200;

/// How many shares are distilled at the same time, each of another session.
const AT_ONCE: usize = 2;

/// A share of the queue on its way through a distiller.
struct Job {
    claim: Claim,
    turns: Vec<TurnToDistil>,
    made: Result<Vec<Thought>>,
}

/// What was made of one turn.
struct Thought {
    distilled: Distilled,
    /// What the files that it cites hold.
    files: BTreeMap<String, FileMark>,
    /// How far the transcript was read.
    read: Option<String>,
}

/// Works until nothing in the queue is ready or it is told to stop, and tells of each share. Returns how many events were finished.
///
/// One thread has the store; others think. Order within a session holds because a session has one share at a time.
pub(crate) fn distil_all(
    store: &mut Store,
    settings: &keep::Settings,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(usize),
) -> Result<usize> {
    thread::scope(|scope| {
        let (done, finished) = sync_channel(AT_ONCE);
        let thinkers: Vec<SyncSender<Job>> = (0..AT_ONCE)
            .map(|_| {
                let (send, receive) = sync_channel::<Job>(1);
                let done = done.clone();
                scope.spawn(move || {
                    for job in receive {
                        // Fails when the other side gave up: then nobody wants the result.
                        done.send(think(job, settings)).ok();
                    }
                });
                send
            })
            .collect();
        let (mut after, mut under_way, mut events) = (0, 0, 0);
        let mut idle = thinkers.iter().cycle();
        loop {
            let claim = match under_way < AT_ONCE && !stop.load(Ordering::Relaxed) {
                true => store.claim(clock::now_ms(), LEASE_MS, after, SHARE)?,
                false => None,
            };
            if let (Some(claim), Some(thinker)) = (claim, idle.next()) {
                after = claim.session_db_id;
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
            let count = keep_result(store, &job)?;
            events += count;
            tell(count);
        }
    })
}

/// Reads the turns of a share that are worth distilling now.
fn ready_turns(store: &Store, claim: &Claim) -> Result<Vec<TurnToDistil>> {
    let mut ids: BTreeSet<i64> = claim.events.iter().filter_map(|event| event.turn_id).collect();
    for event in &claim.events {
        // Esc and a closed window end a turn without an event of its own; the next prompt or the end of the session tells.
        if let Some(EventKind::UserPromptSubmit | EventKind::SessionEnd) = EventKind::from_name(&event.kind) {
            ids.extend(store.turn_cut_off(claim.session_db_id, event.turn_id)?);
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
fn think(job: Job, settings: &keep::Settings) -> Job {
    let made = panic::catch_unwind(AssertUnwindSafe(|| {
        job.turns.iter().map(|turn| make(turn, settings)).collect()
    }));
    Job {
        made: made.unwrap_or_else(|_| Err(anyhow!("the distiller panicked"))),
        ..job
    }
}

fn make(stored: &TurnToDistil, settings: &keep::Settings) -> Result<Thought> {
    let heard = listen(stored, settings);
    let distilled = distil(&turn(stored, &heard.prose));
    // A turn that goes on is read again from the same place.
    let read = heard.position.filter(|_| stored.is_ended);
    Ok(Thought {
        files: marks(stored, &distilled),
        distilled,
        read: read
            .map(|position| serde_json::to_string(&position))
            .transpose()?,
    })
}

/// Remembers what the cited files hold, those that were not written to after the turn.
fn marks(turn: &TurnToDistil, distilled: &Distilled) -> BTreeMap<String, FileMark> {
    /// A turn that touched more than this is not judged by its files.
    const MOST_FILES: usize = 64;
    /// Clocks of file systems are coarse.
    const SLACK_MS: i64 = 50;
    let by_ms = turn.events.last().map_or(0, |event| event.at_ms) + SLACK_MS;
    let paths: BTreeSet<&String> = distilled
        .observations
        .iter()
        .flat_map(|observation| observation.files_modified.iter().chain(&observation.files_read))
        .collect();
    let marks = paths.into_iter().take(MOST_FILES);
    marks
        .filter_map(|path| Some((path.clone(), mark(Path::new(&turn.root), path, by_ms)?)))
        .collect()
}

/// Stores what was made of a share; returns how many events are finished with it.
fn keep_result(store: &mut Store, job: &Job) -> Result<usize> {
    let ids: Vec<i64> = job.claim.events.iter().map(|event| event.id).collect();
    let made = match &job.made {
        Ok(made) => made,
        Err(error) => {
            store.fail(&ids, &format!("{error:#}"), clock::now_ms())?;
            return Ok(0);
        }
    };
    for (turn, made) in job.turns.iter().zip(made) {
        let at_ms = turn.events.last().map_or(0, |event| event.at_ms);
        let made = Made {
            distilled: &made.distilled,
            files: &made.files,
            transcript_read: made.read.as_deref(),
            by: Distiller::Rules(ThenModel::Never),
        };
        store.replace_turn(turn, &made, at_ms)?;
    }
    store.finish(job.claim.session_db_id, &ids)?;
    Ok(ids.len())
}

/// What the transcript adds to the events of a turn.
#[derive(Debug, Default)]
struct Heard {
    prose: Prose,
    position: Option<Position>,
}

/// What the agent said and summed up, by the tool use that it came before.
#[derive(Debug, Default)]
struct Prose {
    before: BTreeMap<String, Vec<Step>>,
    at_end: Vec<Step>,
}

/// Reads what is new in the transcript. Without one, or with one that cannot be read, the events alone must do.
fn listen(turn: &TurnToDistil, settings: &keep::Settings) -> Heard {
    let Some(path) = turn.transcript_path.as_deref() else {
        return Heard::default();
    };
    let from = turn
        .transcript_from
        .as_deref()
        .and_then(|read| serde_json::from_str(read).ok())
        .unwrap_or_default();
    let path = Path::new(path);
    let reader = transcript::open(path, from, settings)
        .or_else(|_| transcript::open(path, Position::default(), settings));
    let Ok(mut reader) = reader else {
        return Heard::default();
    };
    let mut prose = Prose::default();
    let mut begun = None;
    let mut is_over = false;
    for record in reader
        .by_ref()
        .filter(|record| !record.copied && record.agent_id.is_none())
    {
        match record.what {
            What::Prompt { text, prompt_id, .. } => {
                let fit = fit(turn, &text, prompt_id.as_deref());
                // A later turn.
                if begun.is_some() && fit < begun {
                    is_over = true;
                    break;
                }
                // What stands before the turn's own prompt is an earlier turn's: its last words, which came too late for it.
                begun = begun.max(fit);
                prose = Prose::default();
            }
            What::Prose { text, .. } => prose.at_end.push(Step::Prose(text)),
            What::Compaction { summary } => prose.at_end.push(Step::Compaction(summary)),
            What::ToolUse { id, .. } => {
                let said = std::mem::take(&mut prose.at_end);
                prose.before.entry(id).or_default().extend(said);
            }
            _ => {}
        }
    }
    // The later turn looks for its own beginning from the same place.
    let position = if is_over { None } else { reader.position().cloned() };
    Heard { prose, position }
}

/// How well a prompt of the transcript fits a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The same id, other words. A fork gives all turns that it copies the id of its first own turn, and what a person adds
    /// while the agent works has the id of what was asked first.
    Id,
    /// The turn's own.
    Whole,
}

fn fit(turn: &TurnToDistil, text: &str, prompt_id: Option<&str>) -> Option<Fit> {
    let same_words = turn.prompt.as_deref() == Some(text);
    match prompt_id {
        Some(id) if Some(id) != turn.prompt_id.as_deref() => None,
        _ if same_words => Some(Fit::Whole),
        Some(_) => Some(Fit::Id),
        None => None,
    }
}

/// Puts a turn together from its events and what was said between them.
fn turn(stored: &TurnToDistil, prose: &Prose) -> Turn {
    let mut steps = Vec::new();
    let mut last_message = None;
    let mut end = match (stored.is_ended, stored.goes_on) {
        (false, _) => TurnEnd::Open,
        (true, false) => TurnEnd::Interrupted,
        // The end of the next turn is the end of this one too.
        (true, true) => TurnEnd::Stopped,
    };
    let mut running: Vec<String> = Vec::new();
    for event in &stored.events {
        // Checked when it was taken in.
        let payload: Value = serde_json::from_str(&event.payload).unwrap_or_default();
        let text = |name: &str| payload[name].as_str().map(ToOwned::to_owned);
        match EventKind::from_name(&event.kind) {
            Some(EventKind::PostToolUse | EventKind::PostToolUseFailure) => {
                let id = text("tool_use_id");
                let said = id.as_ref().and_then(|id| prose.before.get(id));
                steps.extend(said.into_iter().flatten().cloned());
                // Imported events bring what was said before them.
                let brought = payload["said"].as_array().into_iter().flatten();
                steps.extend(
                    brought
                        .filter_map(|said| said.as_str())
                        .map(|said| Step::Prose(said.to_owned())),
                );
                steps.push(Step::Tool(tool_use(event, payload, id)));
            }
            Some(EventKind::SubagentStop) => {
                let agent_id = text("agent_id");
                running.retain(|task| Some(task) != agent_id.as_ref());
                if end == TurnEnd::Background && running.is_empty() {
                    end = TurnEnd::Stopped;
                }
                steps.push(Step::SubAgent {
                    agent_id,
                    agent_type: text("agent_type"),
                    report: text("last_assistant_message").unwrap_or_default(),
                });
            }
            // Imported; a live session's stands in its transcript.
            Some(EventKind::PreCompact) => steps.extend(text("compact_summary").map(Step::Compaction)),
            Some(EventKind::Stop) => {
                last_message = text("last_assistant_message");
                let tasks = payload["background_tasks"].as_array().into_iter().flatten();
                running = tasks
                    .map(|task| task["id"].as_str().unwrap_or_default().to_owned())
                    .collect();
                end = if running.is_empty() {
                    TurnEnd::Stopped
                } else {
                    TurnEnd::Background
                };
            }
            _ => {}
        }
    }
    steps.extend(prose.at_end.iter().cloned());
    Turn {
        prompt: stored.prompt.clone(),
        machine_made: stored.machine_made,
        root: Some(stored.root.clone()),
        branch: stored.branch.clone(),
        steps,
        last_message,
        end,
    }
}

fn tool_use(event: &TurnEvent, mut payload: Value, id: Option<String>) -> ToolUse {
    let outcome = match payload["error"].as_str() {
        Some(error) if event.kind == EventKind::PostToolUseFailure.name() => {
            Outcome::Failed(error.to_owned())
        }
        _ if payload["tool_response"].is_null() => Outcome::Unknown,
        _ => Outcome::Answered(payload["tool_response"].take()),
    };
    ToolUse {
        id,
        agent_id: payload["agent_id"].as_str().map(ToOwned::to_owned),
        name: payload["tool_name"].as_str().unwrap_or_default().to_owned(),
        input: payload["tool_input"].take(),
        outcome,
        at_ms: event.at_ms,
    }
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
