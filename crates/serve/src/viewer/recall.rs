//! `/recall`: how often memories were injected, what they cost, what they stand for and what became of them; which are used
//! and which never.
//!
//! Read from the injection log, which goes back 90 days, and from the outcomes that the worker stores.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, PoisonError},
    time::Duration,
};

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use backstory_engine::{experiment::ExperimentReport, stats::IMPACT_DAYS};
use backstory_model::{Handle, MemoryKind, Timestamp, TurnId};
use backstory_store::{Feedback, Filter, ImpactSums, Memory, Store};
use maud::{Markup, html};

use super::{
    card::MemoryCard,
    experiment, impact, plot,
    recall_card::RecallNumbers,
    time::{DAY_MS, TimeFormat, day_name},
    view::{NavItem, Paged, View, number, plural},
};
use crate::{problem::ApiError, server::Server};

/// Number of days in the chart and on the card.
const DAYS: i64 = 30;

/// Maximum number of recalled memories whose work is measured.
const MAX_MEASURED: usize = 400;

/// Number of memories in each list.
const MAX_LISTED: usize = 10;

/// Number of older memories among which unused ones are looked for.
const MAX_CHECKED: usize = 150;

/// Memories younger than this had little chance to be recalled.
const SETTLED: Duration = Duration::from_hours(14 * 24);

const DAY: Duration = Duration::from_hours(24);

/// How often a memory was recalled.
#[derive(Default)]
struct Use {
    sessions: HashSet<String>,
    tokens: u64,
    last_at: Option<Timestamp>,
    /// What became of it.
    feedback: Feedback,
}

/// Injections of the last days, by day and by memory.
#[derive(Default)]
struct Recalls {
    /// Memories and tokens by day.
    days: BTreeMap<i64, (u64, u64)>,
    sessions: HashSet<String>,
    /// By memory, in the whole log.
    uses: HashMap<Handle, Use>,
    /// Memories that were recalled in the last days.
    recent: HashSet<Handle>,
}

struct RecallPage {
    numbers: RecallNumbers,
    /// Start of each day, with its memories and tokens.
    days: Vec<(i64, u64, u64)>,
    top: Vec<(MemoryCard, Use)>,
    unused: Vec<MemoryCard>,
    /// Number of older memories that were checked, and how many of them were never recalled.
    checked: (usize, usize),
    impact: ImpactSums,
    experiment: Option<ExperimentReport>,
}

impl Recalls {
    fn read(server: &Server, times: &TimeFormat) -> Result<Self, ApiError> {
        let first_day = times.day_of(times.now) - DAYS + 1;
        server.injections(|index| {
            let mut recalls = Self::default();
            for (log, injection) in index.all() {
                let Some(handle) = injection.handle else { continue };
                let day = times.day_of(injection.at);
                if day >= first_day {
                    let (memories, tokens) = recalls.days.entry(day).or_default();
                    *memories += 1;
                    *tokens += injection.tokens;
                    recalls.sessions.insert(log.to_owned());
                    recalls.recent.insert(handle);
                }
                let entry = recalls.uses.entry(handle).or_default();
                entry.sessions.insert(log.to_owned());
                entry.tokens += injection.tokens;
                entry.last_at = entry.last_at.max(Some(injection.at));
            }
            recalls
        })
    }
}

impl RecallPage {
    fn read(store: &Store, server: &Server, times: &TimeFormat) -> Result<Self, ApiError> {
        let mut recalls = Recalls::read(server, times)?;
        let today = times.day_of(times.now);
        let days: Vec<(i64, u64, u64)> = (today - DAYS + 1..=today)
            .map(|day| {
                let (memories, tokens) = recalls.days.get(&day).copied().unwrap_or_default();
                (day, memories, tokens)
            })
            .collect();
        let numbers = RecallNumbers {
            memories: days.iter().map(|(_, memories, _)| memories).sum(),
            tokens: days.iter().map(|(_, _, tokens)| tokens).sum(),
            sessions: recalls.sessions.len() as u64,
            work: work_behind(store, server, &recalls.recent)?,
            days: days.iter().map(|(_, memories, _)| *memories).collect(),
        };
        let (unused, checked) = unused(store, server, times.now, &recalls.uses)?;
        let judged_since = times.now - IMPACT_DAYS * DAY;
        for (handle, feedback) in store.outcomes_since(judged_since)? {
            if let Some(used) = recalls.uses.get_mut(&handle) {
                used.feedback = feedback;
            }
        }
        let mut ranked: Vec<(u32, usize, Option<Timestamp>, Handle)> = recalls
            .uses
            .iter()
            .map(|(handle, used)| (used.feedback.used, used.sessions.len(), used.last_at, *handle))
            .collect();
        ranked.sort_unstable_by_key(|rank| std::cmp::Reverse(*rank));
        let mut top = Vec::new();
        for (.., handle) in ranked {
            if top.len() == MAX_LISTED {
                break;
            }
            let used = recalls.uses.remove(&handle).unwrap_or_default();
            if let Some(memory) = store.memory(handle)?.filter(|memory| is_shown(server, memory)) {
                top.push((MemoryCard::new(&memory), used));
            }
        }
        Ok(Self {
            numbers,
            days,
            top,
            unused,
            checked,
            impact: store.impact_since(judged_since)?,
            experiment: ExperimentReport::collect(store).map_err(|error| ApiError::unavailable(&error))?,
        })
    }

    fn show(&self, view: &View) -> Markup {
        html! {
            h1 { "Recall" }
            p.lead { "What sessions were told from memory, and what it stands for." }
            @if self.top.is_empty() {
                div.empty {
                    p.lead { "Nothing was recalled yet." }
                    p { "Memories are injected when a session starts, at prompts, files and failures. " a href="/context" { "See the context of the next session" } "." }
                }
            } @else {
                (self.chart())
                (impact::show(&self.impact))
            }
            @if let Some(report) = &self.experiment { (experiment::show(report, view)) }
            @if !self.top.is_empty() {
                div.columns.halves {
                    section aria-labelledby="top" {
                        h2 #top { @if self.impact.used > 0 { "Most useful" } @else { "Most recalled" } }
                        ol.list { @for (card, used) in &self.top { (card.show(view, &uses(used, view))) } }
                    }
                    (self.unused(view))
                }
            }
        }
    }

    fn chart(&self) -> Markup {
        let name = |day: i64| day_name(Timestamp::from_millis(day * DAY_MS));
        let bars: Vec<plot::Bar> = self
            .days
            .iter()
            .map(|(day, memories, _)| plot::Bar {
                label: name(*day),
                parts: vec![("note", *memories)],
            })
            .collect();
        let numbers = &self.numbers;
        let about = format!(
            "{} recalled in {DAYS} days",
            plural(numbers.memories, "memory", "memories")
        );
        html! {
            section.panel #recalled aria-labelledby="recalled-title" data-live="swap" {
                div.bar.apart {
                    h2 #recalled-title { "The last " (DAYS) " days" }
                    a.button.quiet href="/recall/card.svg" download="backstory-recall.svg" { "Save as a picture" }
                }
                dl.numbers {
                    div { dt { "memories recalled" } dd { (number(numbers.memories)) } }
                    div { dt { "sessions" } dd { (number(numbers.sessions)) } }
                    div { dt { "tokens injected" } dd { (number(numbers.tokens)) } }
                    div { dt { "tokens of work they stand for" } dd { (number(numbers.work)) } }
                    @if let Some(ratio) = numbers.ratio() { div { dt { "work per token" } dd { (number(ratio)) " : 1" } } }
                }
                (plot::bars(&bars, None, &about))
                div.axis aria-hidden="true" {
                    @for (day, ..) in [self.days.first(), self.days.last()].into_iter().flatten() { span { (name(*day)) } }
                }
                details {
                    summary { "As a table" }
                    table {
                        thead { tr { th scope="col" { "Day" } th scope="col" { "Memories" } th scope="col" { "Tokens" } } }
                        tbody {
                            @for (day, memories, tokens) in self.days.iter().rev().filter(|(_, memories, _)| *memories > 0) {
                                tr { th scope="row" { (name(*day)) } td { (number(*memories)) } td { (number(*tokens)) } }
                            }
                        }
                    }
                }
            }
        }
    }

    fn unused(&self, view: &View) -> Markup {
        let (checked, unused) = self.checked;
        html! {
            section aria-labelledby="unused" {
                h2 #unused { "Never recalled" }
                @if checked == 0 {
                    p.muted { "All memories are younger than two weeks." }
                } @else {
                    p.muted { (unused) " of the latest " (checked) " memories older than two weeks were not recalled in 90 days." }
                }
                ol.list { @for card in &self.unused { (card.show(view, &html! {})) } }
            }
        }
    }
}

fn uses(used: &Use, view: &View) -> Markup {
    html! {
        p.why {
            @if used.feedback.used > 0 { span.outcome data-outcome="used" { "used " (plural(u64::from(used.feedback.used), "time", "times")) } }
            @if used.feedback.contradicted > 0 { span.outcome data-outcome="contradicted" { "contradicted " (plural(u64::from(used.feedback.contradicted), "time", "times")) } }
            span { "told to " (plural(used.sessions.len() as u64, "session", "sessions")) }
            span { (plural(used.tokens, "token", "tokens")) " in all" }
            @if let Some(last) = used.last_at { span { "last " (view.times.ago(last)) } }
        }
    }
}

fn is_shown(server: &Server, memory: &Memory) -> bool {
    !server.pending_deletes.has(memory.handle)
}

/// Returns the tokens of the evidence of the turns that the memories come from. A turn counts once.
fn work_behind(store: &Store, server: &Server, handles: &HashSet<Handle>) -> Result<u64, ApiError> {
    let mut turns: HashSet<TurnId> = HashSet::new();
    for handle in handles.iter().take(MAX_MEASURED) {
        turns.extend(store.turn_of(*handle)?);
    }
    let mut sizes = server
        .evidence_sizes
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    let mut total = 0;
    for turn in turns {
        total += match sizes.get(&turn) {
            Some(size) => *size,
            None => {
                let size = store.evidence_tokens(turn)?;
                sizes.insert(turn, size);
                size
            }
        };
    }
    Ok(total)
}

/// Returns the first unused memories, the number of memories that were checked and the number of unused ones.
fn unused(
    store: &Store,
    server: &Server,
    now: Timestamp,
    uses: &HashMap<Handle, Use>,
) -> Result<(Vec<MemoryCard>, (usize, usize)), ApiError> {
    let filter = Filter {
        until: Some(now - SETTLED),
        ..Filter::default()
    };
    let page = store.page(&[MemoryKind::Observation], None, &filter, None, MAX_CHECKED)?;
    let is_unused = |memory: &&Memory| !uses.contains_key(&memory.handle) && is_shown(server, memory);
    let unused: Vec<&Memory> = page.memories.iter().filter(is_unused).collect();
    let cards = unused
        .iter()
        .take(MAX_LISTED)
        .map(|memory| MemoryCard::new(memory));
    Ok((cards.collect(), (page.memories.len(), unused.len())))
}

async fn read(server: &Arc<Server>, view: &View) -> Result<RecallPage, ApiError> {
    let (state, times) = (Arc::clone(server), view.times.clone());
    server
        .stores
        .read(move |store| RecallPage::read(store, &state, &times))
        .await
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View) -> Paged {
    let page = read(&server, &view).await?;
    Ok(view.page("Recall", NavItem::Recall, &page.show(&view)))
}

/// Serves the numbers as a picture.
pub(super) async fn card(State(server): State<Arc<Server>>, view: View) -> Paged {
    let page = read(&server, &view).await?;
    let headers = [
        (header::CONTENT_TYPE, "image/svg+xml"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    let picture: Response = (headers, page.numbers.draw().into_string()).into_response();
    Ok(picture)
}
