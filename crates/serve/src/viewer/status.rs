//! `/status`: whether all is well, what waits, what failed, and what a model cost.

use std::{fs, sync::Arc};

use axum::extract::{Form, State};
use backstory_store::{ProviderBackoff, Store};
use maud::{Markup, html};

use super::{
    plot,
    text::inline_text,
    time::{Clock, day_name, lasted},
    view::{NavItem, Paged, Pairs, View, back, field, many},
};
use crate::{
    api_types::{QueueItemJson, QueueJson},
    problem::ApiError,
    route::status,
    server::Server,
};

/// So many events of the queue are shown.
const SHOWN: u32 = 50;

/// So many days of spending are drawn.
const DAYS: i64 = 30;

const DAY_MS: i64 = 86_400_000;

/// What models cost, and what they may cost.
#[derive(Clone, Debug, Default)]
struct Spending {
    /// Days by their beginning, with tokens in and out.
    days: Vec<(i64, u64)>,
    calls: u64,
    failed: u64,
    /// In millionths of a dollar, as far as prices are known.
    cost: Option<u64>,
    /// The most tokens a day.
    budget: u64,
    /// Providers that are left alone for a while, and why.
    pauses: Vec<ProviderBackoff>,
}

impl Spending {
    fn read(store: &Store, clock: &Clock, budget: u64) -> Result<Self, ApiError> {
        let offset_ms = clock.offset_ms(clock.now_ms);
        let today = (clock.now_ms + offset_ms).div_euclid(DAY_MS);
        let starts: Vec<i64> = (today - DAYS + 1..=today)
            .map(|day| day * DAY_MS - offset_ms)
            .collect();
        let mut spending = Self {
            budget,
            pauses: store.provider_pauses()?,
            ..Self::default()
        };
        for (start, models) in store.spending_by_day(&starts)? {
            let tokens = models
                .iter()
                .map(|model| model.tokens_in + model.tokens_out)
                .sum();
            spending.days.push((start + offset_ms, tokens));
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

struct Page {
    queue: QueueJson,
    coverage: f64,
    provider: String,
    spending: Spending,
    database_bytes: u64,
}

impl Page {
    fn is_well(&self) -> bool {
        status(&self.queue) == "ok" && self.queue.failed == 0
    }

    fn show(&self, view: &View, server: &Server) -> Markup {
        html! {
            h1 { "Health" }
            section.panel #verdict data-live="swap" data-well[self.is_well()] {
                p.lead { (self.verdict()) }
                dl.numbers {
                    (number("waiting", self.queue.pending))
                    (number("in work", self.queue.processing))
                    (number("failed", self.queue.failed))
                    div { dt { "oldest" } dd { (age(self.queue.oldest_seconds)) } }
                }
            }
            div.columns {
                div.wide {
                    section #queue-items aria-labelledby="queue" data-live="swap" {
                        h2 #queue { "Queue" }
                        (items(&self.queue, view))
                    }
                    (spending(&self.provider, &self.spending))
                }
                div.aside { (self.worker(view, server)) }
            }
        }
    }

    fn verdict(&self) -> String {
        let queue = &self.queue;
        match (queue.failed, status(queue)) {
            (0, "ok") => "All is well: what your agents do is remembered as it happens.".to_owned(),
            (0, _) => "The worker is behind: something has waited for more than a minute.".to_owned(),
            (failed, _) => format!(
                "{} could not be processed. Nothing is lost: try again below.",
                many(failed, "event", "events")
            ),
        }
    }

    fn worker(&self, view: &View, server: &Server) -> Markup {
        html! {
            section aria-labelledby="worker" {
                h2 #worker { "Worker" }
                dl.facts {
                    dt { "Runs since" } dd { (view.clock.ago(server.started_ms)) }
                    dt { "Version" } dd { (server.version) }
                    dt { "Process" } dd { (std::process::id()) }
                    dt { "Address" } dd.path { (server.address) }
                    dt { "Watching" } dd { (many(server.feed.listeners() as u64, "listener", "listeners")) }
                    dt { "Database" } dd { (size(self.database_bytes)) }
                    dt { "Found by meaning" } dd { (format!("{:.0} %", self.coverage * 100.0)) }
                    dt { "Memories by" } dd { (inline_text(&self.provider)) }
                }
            }
        }
    }
}

fn number(name: &str, value: u64) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

fn age(seconds: f64) -> String {
    // An age in seconds fits: it is cut, not rounded.
    #[expect(clippy::cast_possible_truncation, reason = "see above")]
    let ms = (seconds * 1000.0) as i64;
    match ms {
        0 => "–".to_owned(),
        ms => lasted(ms),
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
        return html! { p.muted { "Nothing waits." } };
    }
    let listed = queue.items.len() as u64;
    let all = queue.pending + queue.processing + queue.failed;
    html! {
        @if queue.failed > 0 {
            form.actions method="post" action="/status/retry" { button { "Try all " (queue.failed) " again" } }
        }
        ul.list {
            @for item in &queue.items { (row(item, view)) }
        }
        @if all > listed { p.muted { "and " (many(all - listed, "other", "others")) } }
    }
}

fn row(item: &QueueItemJson, view: &View) -> Markup {
    let what = item.tool_name.as_deref().unwrap_or(&item.kind);
    let at_ms = view.clock.now_ms - age_ms(item.age_seconds);
    html! {
        li.item data-item data-status=(item.state) {
            div.head {
                a.title href=(super::link::session(&item.session_id)) { (inline_text(what)) }
                @if item.state == "failed" {
                    form method="post" action="/status/retry" {
                        input type="hidden" name="id" value=(item.id);
                        button.quiet aria-label={ "Try again: event " (item.id) } { "Try again" }
                    }
                }
            }
            @if let Some(error) = &item.error { p.error { (inline_text(error)) } }
            p.meta {
                span.state data-status=(item.state) { (item.state) }
                span { (inline_text(&item.kind)) }
                @if item.tries > 0 { span { (many(item.tries.unsigned_abs(), "try", "tries")) } }
                (view.clock.ago(at_ms))
            }
        }
    }
}

fn age_ms(seconds: f64) -> i64 {
    #[expect(clippy::cast_possible_truncation, reason = "an age in milliseconds fits")]
    let ms = (seconds * 1000.0) as i64;
    ms
}

/// What a model cost, day by day, against what it may cost.
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
            @for pause in &spending.pauses { (paused(pause)) }
            @if spending.calls == 0 {
                @if provider == "builtin" {
                    p.muted { "No model is configured: the built-in rules write all memories, and nothing is spent. " a href="/settings#distill" { "Choose a provider" } "." }
                } @else {
                    p.muted { "Nothing was spent yet. The budget is " (many(spending.budget, "token", "tokens")) " a day." }
                }
            } @else {
                (plot::bars(&bars, Some(spending.budget), &format!("{total} tokens in {} days", bars.len())))
                div.axis aria-hidden="true" {
                    @for (start, _) in [spending.days.first(), spending.days.last()].into_iter().flatten() { span { (day_name(*start)) } }
                }
                p.meta {
                    span { (many(total, "token", "tokens")) " in " (bars.len()) " days" }
                    span { (many(spending.calls, "call", "calls")) @if spending.failed > 0 { ", " (spending.failed) " failed" } }
                    @if let Some(cost) = spending.cost { span { (dollars(cost)) } }
                    span { "the line is the budget: " (many(spending.budget, "token", "tokens")) " a day" }
                }
            }
        }
    }
}

fn paused(pause: &ProviderBackoff) -> Markup {
    html! {
        div.notice.warn {
            p { (inline_text(&pause.provider)) " is left alone for now: " (inline_text(&pause.reason)) }
            p.muted { (inline_text(&pause.said)) }
        }
    }
}

fn dollars(micro: u64) -> String {
    format!("${}.{:02}", micro / 1_000_000, micro % 1_000_000 / 10_000)
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View) -> Paged {
    let (at_hand, clock) = (Arc::clone(&server), view.clock.clone());
    let settings = server.settings().await?;
    let budget = settings["distill.daily_tokens"]["value"].as_u64().unwrap_or(0);
    let (queue, coverage, spending) = server
        .stores
        .read(move |store| {
            let spooled = (at_hand.outside.spooled)();
            let queue = QueueJson::new(store.queue(SHOWN)?, spooled, at_hand.now_ms());
            let spending = Spending::read(store, &clock, budget)?;
            Ok((queue, store.coverage()?.share(), spending))
        })
        .await?;
    let page = Page {
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

/// Gives failed events another round: one, or all.
pub(super) async fn retry(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    let one = field(&pairs, "id")
        .map(str::parse::<i64>)
        .transpose()
        .map_err(|_| ApiError::bad("an event goes by a number"))?;
    let ids: Vec<i64> = one.into_iter().collect();
    server.stores.write(move |store| Ok(store.retry(&ids)?)).await?;
    Ok(back(&pairs, "/status"))
}
