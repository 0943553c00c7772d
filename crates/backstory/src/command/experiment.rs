//! `backstory experiment`: measures whether recall helps, by withholding it from some sessions.

use anstream::println;
use anyhow::{Result, bail};
use backstory_engine::{
    engine::Engine,
    error::HintedError,
    experiment::{ExperimentReport, MIN_SESSIONS, format_difference, format_mean},
    outcomes,
};
use backstory_store::Store;
use serde_json::json;

use super::{ExitStatus, config, open_store};
use crate::{
    json_output::print_json,
    output::{BOLD, DIM, Times, count, thousands},
};

/// Measure whether recall helps on your own work
///
/// While an experiment runs, a share of sessions gets no memories but pinned notes. The group of a session follows from its
/// id, so a resumed session stays in its group. The report compares both groups: docs/impact.md.
#[derive(clap::Args)]
pub(crate) struct ExperimentArguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Withhold recall from a share of the sessions from now on
    Start {
        /// Share of sessions without recall, from 1% to 50%
        #[arg(long, value_name = "PERCENT", default_value = "10%", value_parser = parse_share)]
        share: u32,
    },
    /// End the experiment: every session gets its memories again
    Stop,
    /// Show the difference between sessions with and without recall
    Report {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

fn parse_share(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    number
        .filter(|percent| (1..=50).contains(percent))
        .ok_or_else(|| "expected a whole number from 1% to 50%".to_owned())
}

pub(crate) fn run(engine: &Engine, arguments: &ExperimentArguments) -> Result<ExitStatus> {
    let Some(mut store) = open_store(engine)? else {
        bail!(
            HintedError::new("there are no memories yet")
                .hint("an experiment needs sessions with something to recall")
        );
    };
    match &arguments.action {
        Action::Start { share } => start(engine, &mut store, *share),
        Action::Stop => stop(engine, &mut store),
        Action::Report { json } => report(engine, &mut store, *json),
    }
}

fn start(engine: &Engine, store: &mut Store, share: u32) -> Result<ExitStatus> {
    if !store.start_experiment(f64::from(share) / 100.0, engine.clock.timestamp())? {
        bail!(HintedError::new("an experiment is running").hint("`backstory experiment stop` ends it"));
    }
    set_share(engine, share)?;
    println!("Started: {share}% of new sessions get no memories but pinned notes.");
    println!(
        "{DIM}`backstory experiment report` shows the result, `backstory experiment stop` ends it.{DIM:#}"
    );
    Ok(ExitStatus::Done)
}

fn stop(engine: &Engine, store: &mut Store) -> Result<ExitStatus> {
    // First: an interrupted command must not leave recall off.
    set_share(engine, 0)?;
    match store.stop_experiment(engine.clock.timestamp())? {
        true => println!("Stopped: every session gets its memories again."),
        false => println!("No experiment is running."),
    }
    Ok(ExitStatus::Done)
}

/// Sets the share in the settings, where hooks find it.
fn set_share(engine: &Engine, share: u32) -> Result<()> {
    let (path, environment) = (engine.home.config(), engine.environment.settings());
    let outcome = config::set(&path, "context.withhold", &share.to_string(), &environment)?;
    for message in &outcome.messages {
        anstream::eprintln!("{message}");
    }
    Ok(())
}

fn report(engine: &Engine, store: &mut Store, json: bool) -> Result<ExitStatus> {
    outcomes::judge_sessions(engine, store)?;
    let Some(report) = ExperimentReport::collect(store)? else {
        match json {
            true => print_json(json!({"experiment": null})),
            false => println!("There was no experiment yet: `backstory experiment start` begins one."),
        }
        return Ok(ExitStatus::Failed);
    };
    match json {
        true => print_json(report.to_json()),
        false => print(&report, &Times::new(engine)?),
    }
    Ok(ExitStatus::Done)
}

fn print(report: &ExperimentReport, times: &Times) {
    let state = match report.experiment.stopped_at {
        Some(at) => format!("stopped {}", times.ago(at)),
        None => "running".to_owned(),
    };
    println!(
        "{BOLD}Experiment{BOLD:#} started {}, {state}: {} with recall, {} without",
        times.ago(report.experiment.started_at),
        count(report.with_recall as u64, "session"),
        thousands(report.without as u64),
    );
    if report.differences.is_empty() {
        println!(
            "Too little data: a comparison needs {MIN_SESSIONS} sessions in each group that had something to recall."
        );
        return;
    }
    println!("\n{DIM}per session           with recall   without   difference (95% interval){DIM:#}");
    for one in &report.differences {
        println!(
            "{:<20} {:>12} {:>9}   {} ({} to {}), {}",
            one.measure,
            format_mean(one.with_recall),
            format_mean(one.without),
            format_difference(one.difference()),
            format_difference(one.interval.0),
            format_difference(one.interval.1),
            one.verdict(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_up_to_half() {
        assert_eq!(parse_share("10%"), Ok(10));
        assert_eq!(parse_share("25"), Ok(25));
        for wrong in ["0", "51%", "ten", "", "0.1"] {
            assert!(parse_share(wrong).is_err(), "{wrong}");
        }
    }
}
