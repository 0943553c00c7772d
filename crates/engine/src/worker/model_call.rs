//! Distills one turn with a model and stores the answer in place of the memories of the built-in rules.
//!
//! Every call is recorded in the ledger before it is made, and the text that leaves the machine is redacted again, even if
//! redaction is switched off for capture.

use std::{
    collections::hash_map::RandomState,
    hash::{BuildHasher, Hasher},
    sync::atomic::AtomicBool,
};

use anyhow::Result;
use backstory_capture::filter;
use backstory_capture::sanitize::TextSanitizer;
use backstory_distill::{
    Distilled, KnownMemory, Prompt, Reply, ToolEvidence, Trouble, digest, prompt, read_answer, refine,
};
use backstory_model::{ObservationId, Timestamp, TurnId};
use backstory_store::{
    CallEnd, MODEL_RETRY_DELAY, ModelAnswer, ModelJob, NewBackoff, NewCall, Permit, SessionRef, Store,
    StoredTurn,
};
use backstory_text::tokens;

use super::{
    assemble::assemble,
    distill::{compose_stored, fingerprints, last_event},
};
use crate::{clock::Clock, models::Model, turns::AssembledTurn};

/// Estimated number of tokens of an answer.
pub const EXPECTED_ANSWER: u64 = 900;

/// Number of related memories in a prompt.
const MAX_KNOWN: usize = 12;

/// Model and capture settings of the model calls.
#[derive(Debug)]
pub struct ModelConfig {
    /// Model to call.
    pub model: Model,
    /// Limits for text that is read from a transcript.
    pub keep: filter::CaptureSettings,
}

/// Calls a model for single turns.
#[derive(Clone, Copy, Debug)]
pub struct ModelCaller<'c> {
    /// Model and capture settings.
    pub config: &'c ModelConfig,
    /// Source of the current time.
    pub clock: &'c Clock,
    /// Set when a running call is to be aborted.
    pub stop: &'c AtomicBool,
}

/// Result of a call for one turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// The memories of the model were stored.
    Kept,
    /// The memories of the built-in rules stay: the model had no answer for this turn, or the turn is gone.
    Left(String),
    /// No call is allowed now; the turn stays in the queue.
    Waits(Permit),
    /// The provider failed; the turn stays in the queue.
    Troubled(Trouble),
}

/// Prompt for a turn, with the data that is needed to interpret the answer.
#[derive(Debug)]
pub struct ModelRequest {
    /// Text that is sent.
    pub prompt: Prompt,
    marker: String,
    turn: StoredTurn,
    /// Memories that the built-in rules derived from the turn.
    rules: Distilled,
    evidence: ToolEvidence,
    /// Ids of the related memories in the prompt.
    shown: Vec<ObservationId>,
}

/// Builds the prompt for a turn. Returns `None` if the turn is gone or has nothing to distill.
pub fn build_request(store: &Store, turn_id: TurnId, config: &ModelConfig) -> Result<Option<ModelRequest>> {
    let Some(mut stored) = store.turn_to_distil(turn_id)? else {
        return Ok(None);
    };
    // A rule that panics here has panicked before, and the turn is in the queue as failed.
    let session = SessionRef {
        session_db_id: stored.session_db_id,
        project_db_id: stored.project_db_id,
    };
    let Ok(memory) = compose_stored(store, session) else {
        return Ok(None);
    };
    let rules = memory.of_turn(stored.number);
    // Redacted regardless of the settings: this text leaves the machine.
    let clean = |text: &str| TextSanitizer::new(true).text(text).unwrap_or_default();
    let AssembledTurn { turn, mut calls } = assemble(&mut stored, &config.keep).turn;
    let digest = digest(
        &turn,
        &mut |step| calls.take(step),
        config.model.max_input_tokens,
        &clean,
    );
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

impl ModelCaller<'_> {
    /// Distills a claimed turn, with one repair attempt if the answer cannot be read. Afterwards the turn is either finished
    /// or back in the queue.
    pub fn distill(&self, store: &mut Store, claim: ModelJob) -> Result<CallOutcome> {
        let Some(request) = build_request(store, claim.turn_id, self.config)? else {
            store.finish_model_job(claim)?;
            return Ok(CallOutcome::Left("nothing to distill".to_owned()));
        };
        let mut prompt = request.prompt.clone();
        let mut why = String::new();
        for _ in 0..2 {
            let reply = match self.call(store, &request, &prompt)? {
                Ok(reply) => reply,
                Err(Refusal::Permit(Permit::SessionSpent)) => {
                    // The budget of a session never recovers.
                    store.finish_model_job(claim)?;
                    return Ok(CallOutcome::Left(
                        "the token budget of the session is spent".to_owned(),
                    ));
                }
                Err(Refusal::Permit(permit)) => {
                    store.release_model_job(claim, Timestamp::EPOCH)?;
                    return Ok(CallOutcome::Waits(permit));
                }
                Err(Refusal::Trouble(Trouble::Nonsense(detail))) => {
                    why = detail;
                    continue;
                }
                Err(Refusal::Trouble(Trouble::Refused(detail))) => {
                    store.finish_model_job(claim)?;
                    return Ok(CallOutcome::Left(format!("refused: {detail}")));
                }
                Err(Refusal::Trouble(trouble)) => {
                    let not_before = match trouble {
                        // The cause may be this turn, so others go first.
                        Trouble::BrokenOff { .. } => self.clock.timestamp() + MODEL_RETRY_DELAY,
                        _ => Timestamp::EPOCH,
                    };
                    store.release_model_job(claim, not_before)?;
                    return Ok(CallOutcome::Troubled(trouble));
                }
            };
            match read_answer(&reply.text, &request.marker) {
                // Text in the turn may have talked the model out of its memories; the rules read evidence.
                Ok(answer) if answer.observations.is_empty() && !request.rules.observations.is_empty() => {
                    store.finish_model_job(claim)?;
                    return Ok(CallOutcome::Left("the model has no memories of it".to_owned()));
                }
                Ok(answer) => {
                    let made = refine(answer, &request.rules, &request.evidence, &request.shown);
                    self.store_answer(store, claim, &request.turn, &made)?;
                    return Ok(CallOutcome::Kept);
                }
                Err(error) => {
                    why = error.to_string();
                    prompt = request.prompt.repair_prompt(&why);
                }
            }
        }
        store.finish_model_job(claim)?;
        Ok(CallOutcome::Left(format!("unreadable answer: {why}")))
    }

    /// Makes one call and records it in the ledger, before and after.
    fn call(
        &self,
        store: &mut Store,
        request: &ModelRequest,
        prompt: &Prompt,
    ) -> Result<Result<Reply, Refusal>> {
        let model = &self.config.model;
        let now = self.clock.timestamp();
        let estimated_in = prompt.tokens() as u64;
        let new = NewCall {
            provider: model.provider_name,
            model: &model.name,
            backoff_key: &model.backoff_key,
            session_db_id: request.turn.session_db_id,
            turn_id: request.turn.id,
            estimated_in,
            estimated_out: EXPECTED_ANSWER,
        };
        let entry = match store.reserve_call(&new, &model.budget(now), now)? {
            Permit::Granted(entry) => entry,
            permit => return Ok(Err(Refusal::Permit(permit))),
        };
        let start = self.clock.monotonic();
        let result = model.provider.ask(prompt, self.stop);
        let duration = self.clock.monotonic() - start;
        match result {
            Ok(reply) => {
                let (tokens_in, tokens_out) = reply.usage.map_or_else(
                    || (estimated_in, tokens(&reply.text) as u64),
                    |usage| (usage.tokens_in, usage.tokens_out),
                );
                let is_readable = read_answer(&reply.text, &request.marker).is_ok();
                store.close_call(
                    entry,
                    &CallEnd {
                        outcome: if is_readable { "ok" } else { "nonsense" },
                        tokens: Some((tokens_in, tokens_out)),
                        cost: model.cost(tokens_in, tokens_out),
                        duration,
                    },
                )?;
                store.resume_provider(&model.backoff_key)?;
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
                self.back_off(store, &trouble)?;
                Ok(Err(Refusal::Trouble(trouble)))
            }
        }
    }

    /// Puts the provider into backoff, or ends its backoff if the error is not its own.
    fn back_off(&self, store: &mut Store, trouble: &Trouble) -> Result<()> {
        let provider = &self.config.model.backoff_key;
        let now = self.clock.timestamp();
        let backoffs = store.provider_backoffs()?;
        let before = backoffs.iter().find(|backoff| backoff.provider == *provider);
        let failures = before.map_or(0, |backoff| backoff.failures);
        match trouble.backoff(failures) {
            Some(backoff) => {
                let message = trouble.to_string();
                let backoff = NewBackoff {
                    reason: trouble.name(),
                    message: &message,
                    until: now + backoff,
                };
                store.back_off_provider(provider, &backoff, now)?;
            }
            // Stopped during a probe: the next call probes again.
            None if *trouble == Trouble::Stopped => store.end_probe(provider)?,
            // The provider answered, so it is available.
            None => store.resume_provider(provider)?,
        }
        Ok(())
    }

    fn store_answer(
        &self,
        store: &mut Store,
        claim: ModelJob,
        turn: &StoredTurn,
        distilled: &Distilled,
    ) -> Result<()> {
        let answer = ModelAnswer {
            distilled,
            files: &fingerprints(turn, distilled.observations.iter()),
            model: &self.config.model.distiller(),
            claim,
            at: last_event(turn),
        };
        store.store_model_answer(turn, &answer)?;
        Ok(())
    }
}

/// Reason why a call has no reply.
enum Refusal {
    Permit(Permit),
    Trouble(Trouble),
}

/// Returns the tokens that a failed call used, sent and answered. `None` if unknown; then the estimate stays in the ledger.
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

/// Returns a random word that no recorded text can contain.
fn marker() -> String {
    // `RandomState` is seeded by the operating system once per thread and changes with every instance.
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}
