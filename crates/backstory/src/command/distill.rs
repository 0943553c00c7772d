//! `backstory distill`: distills past turns again with a model.

mod ask;

use std::io::{self, IsTerminal, Write};

use anstream::println;
use anyhow::{Context, Result, bail};
use backstory_engine::error::HintedError;
use backstory_engine::error::with_hint;
use backstory_engine::{
    engine::Engine,
    models::Model,
    settings::{ProviderName, Settings},
    time_arg::{self, TimeArg},
    worker::{self, EXPECTED_ANSWER, ModelConfig},
};
use backstory_model::Timestamp;
use backstory_store::{PastTurn, Store};
use serde_json::json;

use super::{ExitStatus, open_store};
use crate::{
    json_output::print_json,
    output::{DIM, count, dollars, one_line, print_hint, thousands, width},
    progress::Progress,
};
use ask::{DistillReport, ask};

/// Distill past turns again with a model
///
/// Shows an estimate and asks for confirmation. Without --session or --since it takes the turns that wait for a model. The
/// result replaces existing memories, except pinned and edited ones. The budget (`distill.daily_tokens`) applies.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory distill --dry-run           the estimate for turns that wait for a model
  backstory distill --since 30d --yes   the turns of the last 30 days")]
pub(crate) struct DistillArguments {
    /// Turns of one session: its id, or a prefix of it
    #[arg(long, value_name = "S", conflicts_with = "since")]
    session: Option<String>,
    /// Turns since a date, or within a period: 2026-01-31, 90d
    #[arg(long, value_name = "DATE", value_parser = time_arg::parse_time_arg)]
    since: Option<TimeArg>,
    /// Provider to use instead of `distill.provider`: claude-cli, anthropic, openai
    #[arg(long, value_name = "P", value_parser = provider)]
    provider: Option<ProviderName>,
    /// Show the estimate only, call no model
    #[arg(long)]
    dry_run: bool,
    /// Skip the confirmation
    #[arg(long, short)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Estimate of a run.
struct Plan {
    turns: Vec<(PastTurn, u64)>,
    tokens_in: u64,
    tokens_out: u64,
    /// Rest of the daily budget, in tokens.
    left: u64,
}

pub(crate) fn run(engine: &Engine, arguments: &DistillArguments) -> Result<ExitStatus> {
    let settings = chosen(engine.checked_settings()?, arguments.provider);
    let Some(model) = Model::from_settings(&settings, &engine.environment) else {
        bail!(HintedError::new("no model is configured").hint("`backstory config set distill.provider claude-cli`, or name one with --provider; see docs/models.md"));
    };
    let Some(mut store) = open_store(engine)? else {
        bail!(
            HintedError::new("no memories yet").hint("`backstory import claude-code` imports past sessions")
        );
    };
    let asking = ModelConfig {
        model,
        keep: settings.capture.capture_settings(),
    };
    let mut progress = Progress::new(arguments.json);
    let plan = plan(
        &store,
        &asking,
        arguments,
        engine.clock.timestamp(),
        &mut progress,
    )?;
    progress.end();
    if plan.turns.is_empty() || arguments.dry_run {
        report_plan(&plan, &asking.model, arguments);
        return Ok(ExitStatus::Done);
    }
    if !arguments.json {
        report_plan(&plan, &asking.model, arguments);
    }
    if !arguments.yes {
        if !io::stdin().is_terminal() {
            anstream::eprintln!("Not a terminal, so no model was called. Pass --yes.");
            print_hint("--dry-run shows the estimate");
            return Ok(ExitStatus::Refused);
        }
        if !is_meant()? {
            println!("No model was called.");
            return Ok(ExitStatus::Failed);
        }
    }
    // A user who runs this by hand wants to know now whether the provider works again.
    store.end_backoff(&asking.model.backoff_key, engine.clock.timestamp())?;
    drop(store);
    let start = engine.clock.timestamp();
    let turns = plan.turns.iter().map(|(turn, _)| turn.id).collect();
    let outcome = ask(engine, &asking, turns, &mut progress)?;
    progress.end();
    report(engine, &outcome, &plan, start, arguments)
}

/// Returns the settings with another provider, and its default model and address.
fn chosen(mut settings: Settings, provider: Option<ProviderName>) -> Settings {
    if let Some(provider) = provider.filter(|provider| *provider != settings.distill.provider) {
        let distill = &mut settings.distill;
        distill.provider = provider;
        distill.model = None;
        distill.base_url = None;
        distill.api_key_env = None;
        distill.api_key_file = None;
    }
    settings
}

fn plan(
    store: &Store,
    asking: &ModelConfig,
    arguments: &DistillArguments,
    now: Timestamp,
    progress: &mut Progress,
) -> Result<Plan> {
    let session = match &arguments.session {
        None => None,
        Some(start) => match store.session(start) {
            Ok(session) => Some(session.session_id),
            Err(error) => {
                bail!(HintedError::new(format_args!("{error}")).hint("`backstory sessions` lists them"))
            }
        },
    };
    let since = arguments
        .since
        .map(|when| when.timestamp(now, &asking.model.zone))
        .transpose()?;
    let past = store.past_turns(session.as_deref(), since)?;
    let all = past.len();
    let mut turns = Vec::new();
    for (at, turn) in past.into_iter().enumerate() {
        progress.bar(at, all, "turns read");
        if let Some(question) = worker::build_request(store, turn.id, asking)? {
            turns.push((turn, question.prompt.tokens() as u64));
        }
    }
    let budget = asking.model.budget(now);
    Ok(Plan {
        tokens_in: turns.iter().map(|(_, tokens)| tokens).sum(),
        tokens_out: turns.len() as u64 * EXPECTED_ANSWER,
        left: budget
            .daily_tokens
            .saturating_sub(store.tokens_since(budget.day_start)?),
        turns,
    })
}

fn report_plan(plan: &Plan, model: &Model, arguments: &DistillArguments) {
    let cost = model.cost(plan.tokens_in, plan.tokens_out);
    if arguments.json {
        let items: Vec<_> = plan
            .turns
            .iter()
            .map(|(turn, tokens)| json!({"session_id": turn.session_id, "turn": turn.number, "tokens_in": tokens}))
            .collect();
        print_json(
            json!({"dry_run": true, "provider": model.provider_name, "model": model.name, "turns": plan.turns.len(),
                "tokens_in": plan.tokens_in, "tokens_out": plan.tokens_out, "cost_micro_dollars": cost,
                "budget_left": plan.left, "items": items}),
        );
        return;
    }
    if plan.turns.is_empty() {
        println!("No turns to distill.");
        return;
    }
    println!(
        "{}: about {} tokens in and {} out{} with {}.",
        count(plan.turns.len() as u64, "turn"),
        thousands(plan.tokens_in),
        thousands(plan.tokens_out),
        cost.map(|cost| format!(", {}", dollars(cost)))
            .unwrap_or_default(),
        model.distiller()
    );
    let wanted = plan.tokens_in + plan.tokens_out;
    let rest = if wanted > plan.left {
        ", not enough for all turns"
    } else {
        ""
    };
    println!(
        "{DIM}{} tokens are left today{rest}.{DIM:#}",
        thousands(plan.left)
    );
}

fn is_meant() -> Result<bool> {
    let mut answer = String::new();
    let ask = write!(io::stderr(), "Call the model? [y/N] ").and_then(|()| io::stderr().flush());
    ask.and_then(|()| io::stdin().read_line(&mut answer))
        .context("could not read the answer")?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn report(
    engine: &Engine,
    outcome: &DistillReport,
    plan: &Plan,
    start: Timestamp,
    arguments: &DistillArguments,
) -> Result<ExitStatus> {
    let store = Store::open(&engine.home.database(), &engine.home.backups()).map_err(with_hint)?;
    let spent = store.spending(start, Timestamp::MAX)?;
    let tokens_in: u64 = spent.iter().map(|one| one.tokens_in).sum();
    let tokens_out: u64 = spent.iter().map(|one| one.tokens_out).sum();
    let costs: Vec<u64> = spent.iter().filter_map(|one| one.cost_micro_dollars).collect();
    let cost = (!costs.is_empty()).then(|| costs.iter().sum::<u64>());
    let rest = plan.turns.len() - outcome.kept - outcome.left;
    if arguments.json {
        print_json(
            json!({"dry_run": false, "turns": plan.turns.len(), "distilled": outcome.kept, "left_to_the_rules": outcome.left,
                "reasons": outcome.reasons, "not_asked": rest, "ended": outcome.ended, "tokens_in": tokens_in, "tokens_out": tokens_out,
                "cost_micro_dollars": cost}),
        );
    } else {
        println!(
            "Distilled {}, kept {} built-in results: {} tokens in, {} out{}.",
            count(outcome.kept as u64, "turn"),
            outcome.left,
            thousands(tokens_in),
            thousands(tokens_out),
            cost.map(|cost| format!(", {}", dollars(cost)))
                .unwrap_or_default()
        );
        if let Some(why) = &outcome.ended {
            println!("{} skipped: {why}.", count(rest as u64, "turn"));
        }
        let mut reasons: Vec<(&String, &usize)> = outcome.reasons.iter().collect();
        reasons.sort_by_key(|(_, turns)| std::cmp::Reverse(**turns));
        for (why, turns) in reasons {
            let turns = count(*turns as u64, "turn");
            println!(
                "{DIM}  {turns}: {}{DIM:#}",
                one_line(why, width().saturating_sub(14))
            );
        }
    }
    Ok(match outcome.ended {
        Some(_) => ExitStatus::Failed,
        None => ExitStatus::Done,
    })
}

fn provider(name: &str) -> Result<ProviderName, String> {
    [
        ProviderName::ClaudeCli,
        ProviderName::Anthropic,
        ProviderName::Openai,
    ]
    .into_iter()
    .find(|provider| provider.name() == name)
    .ok_or_else(|| "expected one of claude-cli, anthropic, openai".to_owned())
}
