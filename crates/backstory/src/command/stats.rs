//! `backstory stats`: how much is remembered, and what models cost.

use std::fs;

use anstream::println;
use anyhow::Result;
use backstory_model::MemoryKind;
use backstory_store::{Counts, ProviderBackoff, Spending, Store, StoreError};
use serde_json::{Map, Value, json};

use super::{ExitStatus, open_store, settings};
use crate::{
    clock,
    home::Home,
    models::{self, Model},
    output::{self, BAD, BOLD, DIM, count, dollars, thousands},
    settings::Settings,
};

/// Show how much is remembered, and what models were asked and what that cost
///
/// Tokens are those that the provider counted, or an estimate where it does not count. A day begins at midnight in
/// `ui.timezone`. Costs follow a list of prices, which `distill.prices` puts right.
#[derive(clap::Args)]
pub(crate) struct Stats {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Everything that is shown.
struct StatsReport {
    counts: Counts,
    bytes: u64,
    model: Option<Model>,
    spans: [(&'static str, Vec<Spending>); 3],
    /// When today began, and how many tokens it has taken.
    today: (i64, u64),
    daily_tokens: u64,
    waiting: u64,
    pauses: Vec<ProviderBackoff>,
}

const DAY_MS: i64 = 86_400_000;

pub(crate) fn run(home: &Home, arguments: &Stats) -> Result<ExitStatus> {
    let settings = settings(home)?;
    let Some(store) = open_store(home)? else {
        match arguments.json {
            true => println!("{}", json!({"memories": {}, "sessions": 0})),
            false => println!("Nothing is remembered yet."),
        }
        return Ok(ExitStatus::Done);
    };
    let facts = facts(home, &settings, &store)?;
    match arguments.json {
        true => println!("{}", as_json(&facts)),
        false => print(&facts, clock::now_ms()),
    }
    Ok(ExitStatus::Done)
}

/// Returns what `--json` prints, for whoever asks over HTTP.
pub(crate) fn of(home: &Home, settings: &Settings, store: &Store) -> Result<Value, StoreError> {
    Ok(as_json(&facts(home, settings, store)?))
}

fn facts(home: &Home, settings: &Settings, store: &Store) -> Result<StatsReport, StoreError> {
    let now_ms = clock::now_ms();
    let day = models::start_of_day(now_ms, &models::zone(settings));
    // Seven days with today; an hour more or less where clocks change.
    let week = models::start_of_day(day - 6 * DAY_MS, &models::zone(settings));
    Ok(StatsReport {
        counts: store.counts()?,
        bytes: size(home),
        model: Model::from_settings(settings),
        spans: [
            ("today", store.spending(day, i64::MAX)?),
            ("7 days", store.spending(week, i64::MAX)?),
            ("all", store.spending(0, i64::MAX)?),
        ],
        today: (day, store.tokens_since(day)?),
        daily_tokens: u64::from(settings.distill.daily_tokens),
        waiting: store.pending_model_jobs()?,
        pauses: store.provider_pauses()?,
    })
}

/// How large everything is that is remembered.
fn size(home: &Home) -> u64 {
    [home.database(), home.database_log(), home.vectors()]
        .iter()
        .filter_map(|path| Some(fs::metadata(path).ok()?.len()))
        .sum()
}

/// Tokens for each memory that a model wrote.
fn tokens_per_memory(facts: &StatsReport) -> Option<u64> {
    let [.., (_, all)] = &facts.spans;
    let tokens: u64 = all.iter().map(|one| one.tokens_in + one.tokens_out).sum();
    (tokens > 0)
        .then(|| tokens.checked_div(facts.counts.by_model))
        .flatten()
}

fn as_json(facts: &StatsReport) -> Value {
    let memories: Map<String, Value> = MemoryKind::ALL
        .iter()
        .map(|kind| {
            let number = facts.counts.memories.get(kind).copied().unwrap_or_default();
            (kind.name().to_owned(), number.into())
        })
        .collect();
    let types: Map<String, Value> = facts
        .counts
        .types
        .iter()
        .map(|(name, number)| (name.clone(), (*number).into()))
        .collect();
    let pauses: Vec<Value> = facts
        .pauses
        .iter()
        .map(|pause| {
            let mut value = json!(pause);
            value["since"] = output::rfc3339(pause.since_ms).into();
            value["until"] = output::rfc3339(pause.until_ms).into();
            value
        })
        .collect();
    let [(_, today), (_, week), (_, all)] = &facts.spans;
    json!({
        "memories": memories,
        "types": types,
        "projects": facts.counts.projects,
        "sessions": facts.counts.sessions,
        "store_bytes": facts.bytes,
        "models": {
            "provider": facts.model.as_ref().map_or("builtin", |model| model.provider_name),
            "model": facts.model.as_ref().map(|model| &model.name),
            "today": today,
            "last_7_days": week,
            "all": all,
            "memories": facts.counts.by_model,
            "tokens_per_memory": tokens_per_memory(facts),
            "budget": {
                "daily_tokens": facts.daily_tokens,
                "spent": facts.today.1,
                "left": facts.daily_tokens.saturating_sub(facts.today.1),
                "day_began_at": output::rfc3339(facts.today.0),
            },
            "waiting_turns": facts.waiting,
            "paused": pauses,
        },
    })
}

fn print(facts: &StatsReport, now_ms: i64) {
    let kinds = MemoryKind::ALL.iter().filter_map(|kind| {
        let number = *facts.counts.memories.get(kind)?;
        let name = match kind {
            MemoryKind::Summary if number != 1 => format!("{} summaries", thousands(number)),
            _ => format!("{} {}", thousands(number), plural(kind.name(), number)),
        };
        (number > 0).then_some(name)
    });
    field("memories", &kinds.collect::<Vec<_>>().join(", "));
    let types = facts.counts.types.iter();
    let types: Vec<String> = types
        .map(|(name, number)| format!("{} {name}", thousands(*number)))
        .collect();
    field("by type", &types.join(", "));
    field(
        "from",
        &format!(
            "{} in {}",
            count(facts.counts.sessions, "session"),
            count(facts.counts.projects, "project")
        ),
    );
    field("size", &output::size(facts.bytes));
    println!();
    let [.., (_, all)] = &facts.spans;
    match &facts.model {
        Some(model) => field("model", &model.distiller()),
        None => field("model", "none: the built-in rules write all memories"),
    }
    if facts.model.is_none() && all.is_empty() {
        return;
    }
    for (name, spending) in &facts.spans {
        print_span(name, spending);
    }
    if let Some(tokens) = tokens_per_memory(facts) {
        field("per memory", &format!("{} tokens", thousands(tokens)));
    }
    print_state(facts, now_ms);
}

fn print_span(name: &str, spending: &[Spending]) {
    if spending.is_empty() {
        field(name, "nothing asked");
    }
    for (at, one) in spending.iter().enumerate() {
        let failed = match one.failed {
            0 => String::new(),
            failed => format!(" ({failed} failed)"),
        };
        let cost = one.cost_micro_dollars;
        field(
            if at == 0 { name } else { "" },
            &format!(
                "{}{failed}, {} tokens in, {} out{} · {}/{}",
                count(one.calls, "call"),
                thousands(one.tokens_in),
                thousands(one.tokens_out),
                cost.map(|cost| format!(", {}", dollars(cost)))
                    .unwrap_or_default(),
                one.provider,
                one.model
            ),
        );
    }
}

fn print_state(facts: &StatsReport, now_ms: i64) {
    let left = facts.daily_tokens.saturating_sub(facts.today.1);
    let budget = format!(
        "{} of {} tokens left today",
        thousands(left),
        thousands(facts.daily_tokens)
    );
    match left {
        0 => field(
            "budget",
            &format!("{budget}: until tomorrow the built-in rules write the memories"),
        ),
        _ => field("budget", &budget),
    }
    if facts.waiting > 0 {
        field(
            "waiting",
            &format!("{} for a model", count(facts.waiting, "turn")),
        );
    }
    for pause in &facts.pauses {
        let when = match pause.until_ms - now_ms {
            ..=0 => "the next call looks whether it is well again".to_owned(),
            rest => format!("left alone for {} more", output::span(rest)),
        };
        let said = output::one_line(&pause.said, 200);
        println!("{BAD}{:<11}{BAD:#} {}: {said}; {when}", "trouble", pause.provider);
        if let Some(remedy) = remedy(&pause.reason) {
            println!("{:<11} {DIM}hint: {remedy}{DIM:#}", "");
        }
    }
}

/// What a person can do about a provider in trouble.
pub(crate) fn remedy(reason: &str) -> Option<&'static str> {
    match reason {
        "not-set-up" => Some(
            "see docs/models.md; a key is read from `distill.api_key_file`, or from the environment in which the agent runs",
        ),
        "bad-key" => Some("put the key right, then `backstory distill` asks at once"),
        "quota-spent" => {
            Some("nothing is lost: the turns wait, and the built-in rules' memories stand meanwhile")
        }
        _ => None,
    }
}

fn plural(name: &str, number: u64) -> String {
    match number {
        1 => name.to_owned(),
        _ => format!("{name}s"),
    }
}

fn field(name: &str, text: &str) {
    println!("{BOLD}{name:<11}{BOLD:#} {text}");
}
