//! `backstory stats`: memory counts, model usage and cost.

use anstream::println;
use anyhow::Result;
use backstory_engine::{
    engine::Engine,
    outcomes,
    stats::{IMPACT_DAYS, StatsReport},
};
use backstory_model::{MemoryKind, Timestamp};
use backstory_store::{ImpactSums, Spending};
use serde_json::json;

use super::{ExitStatus, open_store};
use crate::{
    json_output::print_json,
    output::{self, BAD, BOLD, DIM, count, dollars, thousands},
};

/// Show memory counts, model usage and cost
///
/// Tokens are those that the provider counted, or an estimate where it does not count. A day begins at midnight in
/// `ui.timezone`. Costs follow a price list that `distill.prices` overrides.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory stats            counts, tokens and cost
  backstory stats --impact   what became of injected memories")]
pub(crate) struct Stats {
    /// Show what became of the memories that were injected in the last 30 days (docs/impact.md)
    #[arg(long)]
    impact: bool,
    /// Make the outcomes so far count no more for the ranking of memories
    #[arg(long, requires = "impact")]
    reset: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Stats) -> Result<ExitStatus> {
    let settings = engine.checked_settings()?;
    let Some(mut store) = open_store(engine)? else {
        match arguments.json {
            true => print_json(json!({"memories": {}, "sessions": 0})),
            false => println!("No memories yet."),
        }
        return Ok(ExitStatus::Done);
    };
    if arguments.reset {
        store.reset_feedback(None, engine.clock.timestamp())?;
        println!("Reset: the outcomes so far do not change the ranking of memories any more.");
        return Ok(ExitStatus::Done);
    }
    if arguments.impact {
        outcomes::judge_sessions(engine, &mut store)?;
    }
    let facts = StatsReport::collect(engine, &settings, &store)?;
    match (arguments.json, arguments.impact) {
        (true, _) => print_json(facts.to_json()),
        (false, true) => print_impact(&facts.impact),
        (false, false) => print(&facts, engine.clock.timestamp()),
    }
    Ok(ExitStatus::Done)
}

/// Prints what became of injected memories.
fn print_impact(impact: &ImpactSums) {
    if impact.recalls == 0 {
        println!("No memory was injected in the last {IMPACT_DAYS} days, or none of those sessions went on.");
        return;
    }
    let share = |part: u64, whole: u64| match whole {
        0 => String::new(),
        whole => format!(" ({} %)", (100 * part + whole / 2) / whole),
    };
    let of_all = |part: u64| format!("{}{}", thousands(part), share(part, impact.recalls));
    field(
        "recalls",
        &format!(
            "{} in {}",
            thousands(impact.recalls),
            count(impact.sessions, "session")
        ),
    );
    field("used", &of_all(impact.used));
    field("ignored", &of_all(impact.ignored));
    field("wrong", &of_all(impact.contradicted));
    let failures = impact.avoided + impact.repeated;
    field(
        "failures",
        &match failures {
            0 => "none that was known before".to_owned(),
            _ => format!(
                "{} known before: {} did not come back, {} did",
                thousands(failures),
                thousands(impact.avoided),
                thousands(impact.repeated)
            ),
        },
    );
    let known = format!(
        "{}{}",
        thousands(impact.known_reads),
        share(impact.known_reads, impact.reads)
    );
    field(
        "reads",
        &format!(
            "{} files, of which a memory had described {known}",
            thousands(impact.reads)
        ),
    );
    println!(
        "\n{DIM}Last {IMPACT_DAYS} days. What counts as used, and what that does not show: docs/impact.md{DIM:#}"
    );
}

fn print(facts: &StatsReport, now: Timestamp) {
    let kinds = MemoryKind::ALL.iter().filter_map(|kind| {
        let number = *facts.counts.memories.get(kind)?;
        let name = match kind {
            MemoryKind::Team => format!("{} shared by others", thousands(number)),
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
    if let Some(tokens) = facts.tokens_per_memory() {
        field("per memory", &format!("{} tokens", thousands(tokens)));
    }
    print_state(facts, now);
}

fn print_span(name: &str, spending: &[Spending]) {
    if spending.is_empty() {
        field(name, "no calls");
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

fn print_state(facts: &StatsReport, now: Timestamp) {
    let left = facts.tokens_left();
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
    if facts.pending_turns > 0 {
        field(
            "waiting",
            &format!("{} for a model", count(facts.pending_turns, "turn")),
        );
    }
    for backoff in &facts.backoffs {
        let rest = backoff.until.since(now);
        let when = if rest.is_zero() {
            "the next call is a probe".to_owned()
        } else {
            format!("backing off for {}", output::span(rest))
        };
        let message = output::one_line(&backoff.message, 200);
        println!(
            "{BAD}{:<11}{BAD:#} {}: {message}; {when}",
            "error", backoff.provider
        );
        if let Some(remedy) = remedy(&backoff.reason) {
            println!("{:<11} {DIM}hint: {remedy}{DIM:#}", "");
        }
    }
}

/// Returns the advice for a provider error.
pub(crate) fn remedy(reason: &str) -> Option<&'static str> {
    match reason {
        "not-set-up" => Some(
            "see docs/models.md; a key is read from `distill.api_key_file`, or from the environment in which the agent runs",
        ),
        "bad-key" => Some("fix the key, then run `backstory distill`"),
        "quota-spent" => Some(
            "nothing is lost: the turns stay queued, and the built-in rules write the memories meanwhile",
        ),
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
