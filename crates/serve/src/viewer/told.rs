//! What sessions were told, from the injection log: by session, and by memory.

use std::collections::HashMap;

use backstory_engine::injection_log::{InjectionLog, InjectionRecord};
use backstory_model::{Handle, RecallOutcome, Timestamp};
use backstory_store::{Feedback, JudgedRecall, Session, Store, Turn};
use maud::{Markup, html};

use super::{
    card::shown_handle,
    link,
    text::{inline_text, opening},
    view::{View, plural, sentence},
};
use crate::{problem::ApiError, server::Server};

/// Maximum number of injected memories that are listed.
const MAX_LISTED: usize = 100;

/// Maximum number of sessions that are listed for a memory.
const MAX_SESSIONS: usize = 20;

/// Memories that were injected together.
struct Occasion {
    at: Timestamp,
    moment: String,
    file: Option<String>,
    /// Number of the turn; absent before the first one.
    turn: Option<i64>,
    memories: Vec<ToldMemory>,
}

struct ToldMemory {
    /// Handle and title; absent for a warning about a command, and for a memory that was forgotten.
    memory: Option<(Handle, String)>,
    reason: String,
    tokens: usize,
    is_brief: bool,
    /// What became of it; absent if it was not judged yet.
    judged: Option<JudgedRecall>,
}

/// What one session was told, in order.
pub(super) struct SessionTold {
    occasions: Vec<Occasion>,
    memories: usize,
    tokens: usize,
}

impl SessionTold {
    pub(super) fn read(
        store: &Store,
        server: &Server,
        session: &Session,
        turns: &[Turn],
    ) -> Result<Self, ApiError> {
        let log = InjectionLog::of(&server.engine.home, &session.session_id);
        let told: Vec<&InjectionRecord> = log.records().iter().filter(|entry| entry.told).collect();
        let judged = store.outcomes_in(session.db_id)?.into_iter();
        let mut judged: HashMap<(Handle, Timestamp), JudgedRecall> = judged
            .map(|recall| ((recall.handle, recall.at), recall))
            .collect();
        let mut occasions: Vec<Occasion> = Vec::new();
        for record in told.iter().take(MAX_LISTED) {
            let handle = handle_of(record);
            let memory = ToldMemory {
                memory: title_of(store, handle)?,
                judged: handle.and_then(|handle| judged.remove(&(handle, record.at))),
                reason: record.reason.clone(),
                tokens: record.tokens,
                is_brief: record.brief,
            };
            match occasions.last_mut() {
                Some(last)
                    if last.at == record.at && last.moment == record.moment && last.file == record.file =>
                {
                    last.memories.push(memory);
                }
                _ => occasions.push(Occasion {
                    at: record.at,
                    moment: record.moment.clone(),
                    file: record.file.clone(),
                    turn: turn_at(turns, record.at),
                    memories: vec![memory],
                }),
            }
        }
        Ok(Self {
            occasions,
            memories: told.iter().filter(|record| record.id.is_some()).count(),
            tokens: told.iter().map(|record| record.tokens).sum(),
        })
    }

    pub(super) fn show(&self, view: &View, session: &Session) -> Markup {
        html! {
            section #told aria-labelledby="told-title" data-live="swap" {
                h2 #told-title { "What it was told" }
                @if self.occasions.is_empty() {
                    p.muted { "Nothing was injected into this session." }
                } @else {
                    p.muted { (plural(self.memories as u64, "memory", "memories")) ", about " (plural(self.tokens as u64, "token", "tokens")) "." }
                    ol.told {
                        @for occasion in &self.occasions {
                            li { (occasion.show(view, session)) }
                        }
                    }
                }
            }
        }
    }
}

impl Occasion {
    fn show(&self, view: &View, session: &Session) -> Markup {
        let tokens: usize = self.memories.iter().map(|told| told.tokens).sum();
        let is_used = |told: &&ToldMemory| {
            let judged = told.judged.as_ref();
            judged.is_some_and(|judged| judged.outcome == RecallOutcome::Used)
        };
        let used = self.memories.iter().filter(is_used).count();
        html! {
            details {
                summary {
                    (trigger_label(&self.moment))
                    span.meta {
                        span { (plural(self.memories.len() as u64, "entry", "entries")) }
                        @if used > 0 { span.outcome data-outcome="used" { (used) " used" } }
                        span { "~" (tokens) " tokens" }
                        (view.times.exact(self.at))
                    }
                }
                @if let Some(file) = &self.file { p.path { (inline_text(file)) } }
                @if let Some(turn) = self.turn { p.meta { a href=(link::turn(&session.session_id, turn)) { "in turn " (turn) } } }
                ul.entries {
                    @for told in &self.memories {
                        li {
                            @match &told.memory {
                                Some((handle, title)) => a href=(link::memory(*handle)) {
                                    span.handle { (shown_handle(*handle)) } " " (inline_text(title))
                                },
                                None => { "A memory that was forgotten, or a warning." }
                            }
                            p.meta {
                                @if let Some(judged) = &told.judged { (outcome(judged)) }
                                span { (inline_text(&told.reason)) }
                                span { "~" (told.tokens) " tokens" }
                                @if told.is_brief { span { "title only" } }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The sessions that were told a memory, the latest first.
pub(super) struct MemoryTold {
    sessions: Vec<ToldSession>,
    total: usize,
    feedback: Feedback,
}

struct ToldSession {
    session_id: String,
    title: String,
    first: InjectionRecord,
    times: usize,
    /// What became of it: the best of all times.
    judged: Option<JudgedRecall>,
}

impl MemoryTold {
    pub(super) fn read(store: &Store, server: &Server, handle: Handle) -> Result<Self, ApiError> {
        let logs = server.injections(|index| index.logs_with(handle))?;
        let total = logs.len();
        let mut judged: HashMap<String, JudgedRecall> = HashMap::new();
        for (session, recall) in store.outcomes_of(handle)? {
            let best = judged.entry(session).or_insert_with(|| recall.clone());
            if recall.outcome != RecallOutcome::Ignored && best.outcome != RecallOutcome::Used {
                *best = recall;
            }
        }
        let mut sessions = Vec::new();
        for name in logs {
            let log = InjectionLog::named(&server.engine.home, &name);
            let mut records = log
                .records()
                .iter()
                .filter(|record| record.told && handle_of(record) == Some(handle));
            if let Some(first) = records.next() {
                sessions.push(ToldSession {
                    title: String::new(),
                    judged: judged.remove(&name),
                    session_id: name,
                    first: first.clone(),
                    times: 1 + records.count(),
                });
            }
        }
        sessions.sort_by_key(|session| std::cmp::Reverse(session.first.at));
        sessions.truncate(MAX_SESSIONS);
        for told in &mut sessions {
            // The name of a log is the id of its session, unless the id has unusual characters.
            if let Some(id) = store.session_db_id(&told.session_id)?
                && let Some(session) = store.session_by_number(id)?
            {
                let title = session.title.or(session.first_prompt).unwrap_or_default();
                told.title = opening(&title, 100);
            }
        }
        Ok(Self {
            sessions,
            total,
            feedback: store.feedback(handle)?,
        })
    }

    pub(super) fn show(&self, view: &View) -> Markup {
        html! {
            section #told aria-labelledby="told-title" {
                h2 #told-title { "Recalled in" }
                @if self.sessions.is_empty() { p.muted { "No session was told this yet." } }
                @if !self.feedback.is_empty() { p.muted { (rank_change(self.feedback)) } }
                ul.entries {
                    @for told in &self.sessions {
                        li {
                            a href={ (link::session(&told.session_id)) "#told" } {
                                @if told.title.is_empty() { (inline_text(&told.session_id)) } @else { (inline_text(&told.title)) }
                            }
                            p.meta {
                                @if let Some(judged) = &told.judged { (outcome(judged)) }
                                span { (trigger_label(&told.first.moment)) }
                                span { (inline_text(&told.first.reason)) }
                                @if told.times > 1 { span { (told.times) " times" } }
                                (view.times.ago(told.first.at))
                            }
                        }
                    }
                }
                @if self.total > self.sessions.len() { p.muted { "and " (plural((self.total - self.sessions.len()) as u64, "session", "sessions")) } }
            }
        }
    }
}

/// Says how the outcomes change the rank of a memory.
fn rank_change(feedback: Feedback) -> String {
    let counts = [
        (feedback.used, "used"),
        (feedback.ignored, "ignored"),
        (feedback.contradicted, "contradicted"),
    ];
    let named: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, name)| format!("{name} {}", plural(u64::from(count), "time", "times")))
        .collect();
    let percent = f64::from(feedback.weight()) / 10.0 - 100.0;
    sentence(&format!(
        "{}: its rank changes by {percent:+.1} %",
        named.join(", ")
    ))
}

fn handle_of(record: &InjectionRecord) -> Option<Handle> {
    record.id.as_deref()?.parse().ok()
}

/// Renders what became of an injected memory, with the evidence.
fn outcome(judged: &JudgedRecall) -> Markup {
    html! {
        span.outcome data-outcome=(judged.outcome.name()) {
            (judged.outcome.name())
            @if let Some(evidence) = &judged.evidence { ": " (inline_text(evidence)) }
        }
    }
}

/// Returns a memory with its title; `None` if it is gone.
fn title_of(store: &Store, handle: Option<Handle>) -> Result<Option<(Handle, String)>, ApiError> {
    let Some(handle) = handle else {
        return Ok(None);
    };
    let memory = store.memory(handle)?;
    Ok(memory.map(|memory| (memory.handle, opening(memory.record.headline(), 140))))
}

/// Returns the number of the turn during which something happened.
fn turn_at(turns: &[Turn], at: Timestamp) -> Option<i64> {
    let started = turns.iter().take_while(|turn| turn.started_at <= at);
    started.last().map(|turn| turn.number)
}

/// Describes the trigger of an injection.
fn trigger_label(moment: &str) -> Markup {
    let label = match moment {
        "start" => "at the start",
        "prompt" => "at a prompt",
        "file" => "at a file",
        "failure" => "after a failure",
        "command" => "before a command",
        other => return inline_text(other),
    };
    html! { (label) }
}
