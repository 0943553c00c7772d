//! `/status`: health of the worker, pending and failed queue items, and model spending.

use std::{fs, sync::Arc, time::Duration};

use axum::extract::{Form, State};
use backstory_engine::connection::Connection;
use backstory_model::{EventId, Timestamp};
use backstory_store::{ProviderBackoff, Store};
use maud::{Markup, html};

use super::{
    agents, checks, plot,
    text::inline_text,
    time::{DAY_MS, TimeFormat, day_name, duration},
    view::{NavItem, Paged, Pairs, View, field, plural, redirect_back},
};
use crate::{
    api_types::{QueueItemJson, QueueJson},
    problem::ApiError,
    server::Server,
};

/// Maximum number of queue items shown.
const MAX_ITEMS: u32 = 50;

/// Number of days in the spending chart.
const DAYS: i64 = 30;

/// Token usage and cost of models, with the daily budget.
#[derive(Clone, Debug, Default)]
struct Spending {
    /// Start of each day, with its tokens in and out.
    days: Vec<(Timestamp, u64)>,
    calls: u64,
    failed: u64,
    /// Micro-dollars, for models with a known price.
    cost: Option<u64>,
    /// Maximum tokens per day.
    budget: u64,
    /// Providers that are backing off.
    backoffs: Vec<ProviderBackoff>,
}

impl Spending {
    fn read(store: &Store, times: &TimeFormat, budget: u64) -> Result<Self, ApiError> {
        let offset_ms = times.offset_ms(times.now);
        let today = (times.now.as_millis() + offset_ms).div_euclid(DAY_MS);
        let starts: Vec<Timestamp> = (today - DAYS + 1..=today)
            .map(|day| Timestamp::from_millis(day * DAY_MS - offset_ms))
            .collect();
        let mut spending = Self {
            budget,
            backoffs: store.provider_backoffs()?,
            ..Self::default()
        };
        for (start, models) in store.spending_by_day(&starts)? {
            let tokens = models
                .iter()
                .map(|model| model.tokens_in + model.tokens_out)
                .sum();
            let local = Timestamp::from_millis(start.as_millis() + offset_ms);
            spending.days.push((local, tokens));
            for model in &models {
                spending.calls += model.calls;
                spending.failed += model.failed;
                spending.cost = match (spending.cost, model.cost_micro_dollars) {
                    (None, None) => None,
                    (known, more) => Some(known.unwrap_or(0) + more.unwrap_or(0)),
                };
            }
        }
        Ok(spending)
    }
}

struct StatusPage {
    connection: Connection,
    queue: QueueJson,
    coverage: f64,
    provider: String,
    spending: Spending,
    database_bytes: u64,
}

impl StatusPage {
    fn is_healthy(&self) -> bool {
        self.queue.status() == "ok"
            && self.queue.failed == 0
            && matches!(self.connection, Connection::Connected(_))
    }

    fn show(&self, view: &View, server: &Server) -> Markup {
        let report = checks::latest(server);
        html! {
            h1 { "Health" }
            section.panel #verdict data-live="swap" data-well[self.is_healthy()] {
                p.lead { (self.verdict()) }
                dl.numbers {
                    (number("pending", self.queue.pending))
                    (number("processing", self.queue.processing))
                    (number("failed", self.queue.failed))
                    div { dt { "oldest" } dd { (age(self.queue.oldest_seconds)) } }
                }
            }
            div.columns {
                div.wide {
                    (agents::section(&self.connection, report.as_ref(), view))
                    section #queue-items aria-labelledby="queue" data-live="swap" {
                        h2 #queue { "Queue" }
                        (items(&self.queue, view))
                    }
                    (checks::section(report.as_ref(), view))
                    (spending(&self.provider, &self.spending))
                }
                div.aside { (self.worker(view, server)) }
            }
        }
    }

    fn verdict(&self) -> String {
        let queue = &self.queue;
        match (queue.failed, queue.status()) {
            (0, "ok") => match self.connection {
                Connection::NotConnected => {
                    "Not connected: no hook is installed. Run `backstory setup` in a terminal.".to_owned()
                }
                Connection::Waiting => {
                    "Waiting for the first session: start a new one in your agent.".to_owned()
                }
                Connection::Connected(_) => "Healthy: all events are processed.".to_owned(),
            },
            (0, _) => "Late: the oldest event is more than 60 s old.".to_owned(),
            (failed, _) => format!(
                "{} failed. Nothing is lost: retry below.",
                plural(failed, "event", "events")
            ),
        }
    }

    fn worker(&self, view: &View, server: &Server) -> Markup {
        html! {
            section aria-labelledby="worker" {
                h2 #worker { "Worker" }
                dl.facts {
                    dt { "Started" } dd { (view.times.ago(server.started_at)) }
                    dt { "Version" } dd { (server.version) }
                    dt { "Process id" } dd { (std::process::id()) }
                    dt { "Address" } dd.path { (server.address) }
                    dt { "Live viewers" } dd { (server.feed.listeners()) }
                    dt { "Database" } dd { (size(self.database_bytes)) }
                    dt { "Semantic index" } dd { (format!("{:.0} %", self.coverage * 100.0)) }
                    dt { "Provider" } dd { (inline_text(&self.provider)) }
                }
            }
        }
    }
}

fn number(name: &str, value: u64) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn age(seconds: f64) -> String {
    let age = Duration::from_secs_f64(seconds);
    if age.is_zero() {
        "–".to_owned()
    } else {
        duration(age)
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        ..1_048_576 => format!("{} KB", bytes.div_ceil(1024)),
        1_048_576..1_073_741_824 => format!("{} MB", bytes / 1_048_576),
        _ => format!(
            "{}.{} GB",
            bytes / 1_073_741_824,
            bytes % 1_073_741_824 * 10 / 1_073_741_824
        ),
    }
}

fn items(queue: &QueueJson, view: &View) -> Markup {
    if queue.items.is_empty() {
        return html! { p.muted { "The queue is empty." } };
    }
    let listed = queue.items.len() as u64;
    let all = queue.pending + queue.processing + queue.failed;
    html! {
        @if queue.failed > 0 {
            form.actions method="post" action="/status/retry" { button { "Retry all " (queue.failed) } }
        }
        ul.list {
            @for item in &queue.items { (row(item, view)) }
        }
        @if all > listed { p.muted { "and " (all - listed) " more" } }
    }
}

fn row(item: &QueueItemJson, view: &View) -> Markup {
    let label = item.tool_name.as_deref().unwrap_or(item.kind);
    let at = view.times.now - Duration::from_secs_f64(item.age_seconds);
    html! {
        li.item data-item data-status=(item.state) {
            div.head {
                a.title href=(super::link::session(&item.session_id)) { (inline_text(label)) }
                @if item.state == "failed" {
                    form method="post" action="/status/retry" {
                        input type="hidden" name="id" value=(item.id);
                        button.quiet aria-label={ "Retry event " (item.id) } { "Retry" }
                    }
                }
            }
            @if let Some(error) = &item.error { p.error { (inline_text(error)) } }
            p.meta {
                span.state data-status=(item.state) { (item.state) }
                span { (inline_text(item.kind)) }
                @if item.tries > 0 { span { (plural(item.tries.unsigned_abs(), "attempt", "attempts")) } }
                (view.times.ago(at))
            }
        }
    }
}

/// Renders model spending per day against the daily budget.
fn spending(provider: &str, spending: &Spending) -> Markup {
    let bars: Vec<plot::Bar> = spending
        .days
        .iter()
        .map(|(start, tokens)| plot::Bar {
            label: day_name(*start),
            parts: vec![("refactor", *tokens)],
        })
        .collect();
    let total: u64 = spending.days.iter().map(|(_, tokens)| tokens).sum();
    html! {
        section aria-labelledby="spending" {
            h2 #spending { "Model spending" }
            @for backoff in &spending.backoffs { (backing_off(backoff)) }
            @if spending.calls == 0 {
                @if provider == "builtin" {
                    p.muted { "No model is configured; the built-in rules write all memories at no cost. " a href="/settings#distill" { "Choose a provider" } "." }
                } @else {
                    p.muted { "Nothing spent yet. The budget is " (plural(spending.budget, "token", "tokens")) " per day." }
                }
            } @else {
                (plot::bars(&bars, Some(spending.budget), &format!("{total} tokens in {} days", bars.len())))
                div.axis aria-hidden="true" {
                    @for (start, _) in [spending.days.first(), spending.days.last()].into_iter().flatten() { span { (day_name(*start)) } }
                }
                p.meta {
                    span { (plural(total, "token", "tokens")) " in " (bars.len()) " days" }
                    span { (plural(spending.calls, "call", "calls")) @if spending.failed > 0 { ", " (spending.failed) " failed" } }
                    @if let Some(cost) = spending.cost { span { (dollars(cost)) } }
                    span { "line: daily budget of " (plural(spending.budget, "token", "tokens")) }
                }
            }
        }
    }
}

fn backing_off(backoff: &ProviderBackoff) -> Markup {
    html! {
        div.notice.warn {
            p { (inline_text(&backoff.provider)) " is backing off: " (inline_text(&backoff.reason)) }
            p.muted { (inline_text(&backoff.message)) }
        }
    }
}

fn dollars(micro: u64) -> String {
    format!("${}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000)
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View) -> Paged {
    let (state, clock) = (Arc::clone(&server), view.times.clone());
    let settings = server.settings().await?;
    let budget = settings["distill.daily_tokens"]["value"].as_u64().unwrap_or(0);
    let (connection, queue, coverage, spending) = server
        .stores
        .read(move |store| {
            let spooled = state.engine.spooled();
            let queue = QueueJson::new(store.queue(MAX_ITEMS)?, spooled, state.now());
            let spending = Spending::read(store, &clock, budget)?;
            let connection = Connection::read(&state.engine, Some(store))?;
            Ok((connection, queue, store.coverage()?.share(), spending))
        })
        .await?;
    let page = StatusPage {
        connection,
        queue,
        coverage,
        provider: settings["distill.provider"]["value"]
            .as_str()
            .unwrap_or("builtin")
            .to_owned(),
        spending,
        database_bytes: fs::metadata(server.stores.database()).map_or(0, |file| file.len()),
    };
    Ok(view.page("Health", NavItem::Status, &page.show(&view, &server)))
}

/// Retries one failed event, or all.
pub(super) async fn retry(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    let one = field(&pairs, "id")
        .map(str::parse::<i64>)
        .transpose()
        .map_err(|_| ApiError::bad("invalid event id"))?;
    let ids: Vec<EventId> = one.into_iter().map(EventId::new).collect();
    server.stores.write(move |store| Ok(store.retry(&ids)?)).await?;
    Ok(redirect_back(&pairs, "/status"))
}
