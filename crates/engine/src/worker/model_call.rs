//! Asks a model about one turn, and keeps what it says in place of what the rules said.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    panic::{self, AssertUnwindSafe},
    sync::atomic::AtomicBool,
    time::Instant,
};

use anyhow::Result;
use backstory_capture::filter;
use backstory_distill::{
    Distilled, KnownMemory, Prompt, Reply, ToolEvidence, Trouble, digest, distil, prompt, read_answer, refine,
};
use backstory_model::{ObservationId, Timestamp, TurnId};
use backstory_store::{
    CallEnd, DistillRun, MODEL_RETRY_DELAY, ModelJob, NewBackoff, NewCall, Permit, Store, StoredTurn,
    TurnResult,
};
use backstory_text::tokens;

use super::{
    assemble::assemble,
    distill::{last_event, marks},
};
use crate::{clock, models::Model, sanitize::Sanitizer};

/// About how many tokens an answer has.
pub const EXPECTED_ANSWER: u64 = 900;

/// How many known memories a model is shown.
const MAX_KNOWN: usize = 12;

/// What came of asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The model's memories stand.
    Kept,
    /// The rules' memories stand: the model had no answer for this turn, or the turn is gone.
    Left(String),
    /// It may not be asked now; the turn waits.
    Waits(Permit),
    /// Something is wrong with the provider; the turn waits.
    Troubled(Trouble),
}

/// A question about a turn, with all that is needed to understand the answer.
#[derive(Debug)]
pub struct ModelRequest {
    /// What is sent.
    pub prompt: Prompt,
    marker: String,
    turn: StoredTurn,
    rules: Distilled,
    evidence: ToolEvidence,
    shown: Vec<ObservationId>,
}

/// Puts a question about a turn together; `None` when there is nothing to ask about.
pub fn build_request(
    store: &Store,
    turn_id: TurnId,
    model: &Model,
    settings: &filter::CaptureSettings,
) -> Result<Option<ModelRequest>> {
    let Some(stored) = store.turn_to_distil(turn_id)? else {
        return Ok(None);
    };
    let turn = assemble(&stored, settings).turn;
    // A rule that panics has done so before, and the turn stands in the queue as failed.
    let Ok(rules) = panic::catch_unwind(AssertUnwindSafe(|| distil(&turn))) else {
        return Ok(None);
    };
    // Secrets never reach the disk; what leaves the machine is looked at once more, whatever the settings say.
    let digest = digest(&turn, model.max_input_tokens, &|text| {
        Sanitizer::new(true).text(text).unwrap_or_default()
    });
    if digest.text.is_empty() {
        return Ok(None);
    }
    let files: Vec<String> = digest
        .evidence
        .modified
        .iter()
        .chain(&digest.evidence.read)
        .take(MAX_KNOWN * 2)
        .cloned()
        .collect();
    let known: Vec<KnownMemory> = store
        .related_observations(stored.project_db_id, stored.id, &files, MAX_KNOWN)?
        .into_iter()
        .map(|known| KnownMemory {
            id: known.id,
            kind: known.kind,
            title: known.title,
        })
        .collect();
    let marker = marker();
    Ok(Some(ModelRequest {
        prompt: prompt(&digest.text, &known, &marker),
        marker,
        turn: stored,
        rules,
        evidence: digest.evidence,
        shown: known.iter().map(|memory| memory.id).collect(),
    }))
}

/// Asks about a claimed turn; one repair try where the answer cannot be read. Whatever happens, the turn is either done or
/// waits for another time.
pub fn distill_with_model(
    store: &mut Store,
    claim: ModelJob,
    model: &Model,
    settings: &filter::CaptureSettings,
    stop: &AtomicBool,
) -> Result<CallOutcome> {
    let Some(question) = build_request(store, claim.turn_id, model, settings)? else {
        store.finish_model_job(claim)?;
        return Ok(CallOutcome::Left("there is nothing to ask about".to_owned()));
    };
    let mut prompt = question.prompt.clone();
    let mut why = String::new();
    for _ in 0..2 {
        let reply = match call(store, &question, &prompt, model, stop)? {
            Ok(reply) => reply,
            Err(Refusal::Permit(Permit::SessionSpent)) => {
                // It will not be less tomorrow: for this session, the rules have to do.
                store.finish_model_job(claim)?;
                return Ok(CallOutcome::Left("the session's tokens are spent".to_owned()));
            }
            Err(Refusal::Permit(permit)) => {
                store.release_model_job(claim, Timestamp::EPOCH)?;
                return Ok(CallOutcome::Waits(permit));
            }
            Err(Refusal::Trouble(Trouble::Nonsense(said))) => {
                why = said;
                continue;
            }
            Err(Refusal::Trouble(Trouble::Refused(said))) => {
                store.finish_model_job(claim)?;
                return Ok(CallOutcome::Left(format!("refused: {said}")));
            }
            Err(Refusal::Trouble(trouble)) => {
                let not_before = match trouble {
                    // It may be this very turn that they cannot answer.
                    Trouble::BrokenOff { .. } => clock::timestamp() + MODEL_RETRY_DELAY,
                    _ => Timestamp::EPOCH,
                };
                store.release_model_job(claim, not_before)?;
                return Ok(CallOutcome::Troubled(trouble));
            }
        };
        match read_answer(&reply.text, &question.marker) {
            Ok(answer) => {
                let made = refine(answer, &question.rules, &question.evidence, &question.shown);
                keep_answer(store, claim, &question.turn, &made, model)?;
                return Ok(CallOutcome::Kept);
            }
            Err(unreadable) => {
                why = unreadable.to_string();
                prompt = question.prompt.repair_prompt(&why);
            }
        }
    }
    store.finish_model_job(claim)?;
    Ok(CallOutcome::Left(format!("no answer that could be read: {why}")))
}

/// Why there is no reply.
enum Refusal {
    Permit(Permit),
    Trouble(Trouble),
}

/// Makes one call, entered into the ledger before and after.
fn call(
    store: &mut Store,
    question: &ModelRequest,
    prompt: &Prompt,
    model: &Model,
    stop: &AtomicBool,
) -> Result<Result<Reply, Refusal>> {
    let now = clock::timestamp();
    let estimated_in = prompt.tokens() as u64;
    let new = NewCall {
        provider: model.provider_name,
        model: &model.name,
        place: &model.place,
        session_db_id: question.turn.session_db_id,
        turn_id: question.turn.id,
        estimated_in,
        estimated_out: EXPECTED_ANSWER,
    };
    let entry = match store.reserve_call(&new, &model.budget(now), now)? {
        Permit::Granted(entry) => entry,
        permit => return Ok(Err(Refusal::Permit(permit))),
    };
    let start = Instant::now();
    let result = model.provider.ask(prompt, stop);
    let duration = start.elapsed();
    match result {
        Ok(reply) => {
            let (tokens_in, tokens_out) = reply.usage.map_or_else(
                || (estimated_in, tokens(&reply.text) as u64),
                |usage| (usage.tokens_in, usage.tokens_out),
            );
            let is_readable = read_answer(&reply.text, &question.marker).is_ok();
            store.close_call(
                entry,
                &CallEnd {
                    outcome: if is_readable { "ok" } else { "nonsense" },
                    tokens: Some((tokens_in, tokens_out)),
                    cost: model.cost(tokens_in, tokens_out),
                    duration,
                },
            )?;
            store.resume_provider(&model.place)?;
            Ok(Ok(reply))
        }
        Err(trouble) => {
            let tokens = tokens_used(&trouble);
            let end = CallEnd {
                outcome: trouble.name(),
                tokens,
                cost: tokens.and_then(|(tokens_in, tokens_out)| model.cost(tokens_in, tokens_out)),
                duration,
            };
            store.close_call(entry, &end)?;
            note_trouble(store, model, &trouble)?;
            Ok(Err(Refusal::Trouble(trouble)))
        }
    }
}

/// What a call that failed took, in tokens sent and answered. Where nobody knows, its estimate stays spent.
fn tokens_used(trouble: &Trouble) -> Option<(u64, u64)> {
    match trouble {
        Trouble::NotSetUp(_)
        | Trouble::BadKey(_)
        | Trouble::RateLimited { .. }
        | Trouble::QuotaSpent { .. }
        | Trouble::Unreachable { .. } => Some((0, 0)),
        Trouble::BrokenOff { usage, .. } => usage.map(|usage| (usage.tokens_in, usage.tokens_out)),
        Trouble::Refused(_) | Trouble::Nonsense(_) | Trouble::Stopped => None,
    }
}

fn note_trouble(store: &mut Store, model: &Model, trouble: &Trouble) -> Result<()> {
    let now = clock::timestamp();
    let pauses = store.provider_pauses()?;
    let before = pauses.iter().find(|pause| pause.provider == model.place);
    let failures = before.map_or(0, |pause| pause.failures);
    match trouble.pause(failures) {
        Some(pause) => {
            let said = trouble.to_string();
            let pause = NewBackoff {
                reason: trouble.name(),
                said: &said,
                until: now + pause,
            };
            store.back_off_provider(&model.place, &pause, now)?;
        }
        // Stopped in the middle of looking: whoever comes next looks again.
        None if *trouble == Trouble::Stopped => store.end_probe(&model.place)?,
        // It answered, if not what we wanted: it is well.
        None => store.resume_provider(&model.place)?,
    }
    Ok(())
}

fn keep_answer(
    store: &mut Store,
    claim: ModelJob,
    turn: &StoredTurn,
    distilled: &Distilled,
    model: &Model,
) -> Result<()> {
    let made = TurnResult {
        distilled,
        files: &marks(turn, distilled),
        transcript_read: None,
        by: DistillRun::Model {
            name: &model.distiller(),
            claim,
        },
    };
    store.replace_turn(turn, &made, last_event(turn))?;
    Ok(())
}

/// A word that nothing in a record can know.
fn marker() -> String {
    // Keyed by the system's randomness, once for each thread, and another key each time.
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}
