//! `backstory doctor`: runs all checks and prints their findings.

use anstream::println;
use anstyle::Style;
use anyhow::Result;
use backstory_engine::{connection::Connection, engine::Engine, settings};
use backstory_store::{BusyTimeout, Store, StoreError};
use serde_json::{Map, Value, json};

use super::ExitStatus;
use crate::{
    doctor::{CheckContext, Finding, GROUPS, Severity},
    json_output::print_json,
    output::{self, BAD, BOLD, BUSY, DIM, GOOD},
};

/// Check the installation and suggest fixes
///
/// Home, settings, database, backups, capture, worker, hosts, disk and clock, and a round trip from hook to search in a
/// temporary home. Changes nothing. Exits 1 when something is broken; warnings are no failure.
#[derive(clap::Args)]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Doctor) -> Result<ExitStatus> {
    let context = examine(engine);
    let mut all = Vec::new();
    for (group, check) in GROUPS {
        let findings = check(&context);
        if !arguments.json {
            print(group, &findings);
        }
        all.push((group, findings));
    }
    let worst = all
        .iter()
        .flat_map(|(_, findings)| findings)
        .map(|finding| finding.level)
        .max()
        .unwrap_or(Severity::Ok);
    match arguments.json {
        true => print_json(to_json(&all, worst, context.connection.as_ref())?),
        false => print_end(worst, context.connection.as_ref()),
    }
    Ok(match worst {
        Severity::Broken => ExitStatus::Failed,
        _ => ExitStatus::Done,
    })
}

fn examine(engine: &Engine) -> CheckContext<'_> {
    let path = engine.home.config();
    let (text, unreadable) = match settings::read(&path) {
        Ok(text) => (text, None),
        Err(error) => (None, Some(format!("{error:#}"))),
    };
    let (settings, problems) = settings::load(&path, text.as_deref(), &engine.environment.settings());
    let problems = problems.iter().map(ToString::to_string).chain(unreadable);
    CheckContext {
        engine,
        settings,
        problems: problems.collect(),
        now: engine.clock.timestamp(),
        connection: connection(engine),
    }
}

/// Determines the state of the connection to the agents; `None` if the database cannot be read.
fn connection(engine: &Engine) -> Option<Connection> {
    let store = match Store::open_read_only(&engine.home.database(), BusyTimeout::Command) {
        Ok(store) => Some(store),
        Err(StoreError::Missing(_)) => None,
        Err(_) => return None,
    };
    Connection::read(engine, store.as_ref()).ok()
}

fn to_json(all: &[(&str, Vec<Finding>)], worst: Severity, connection: Option<&Connection>) -> Result<Value> {
    let mut findings = Vec::new();
    for (group, of_group) in all {
        for finding in of_group {
            let mut fields = Map::from_iter([("group".to_owned(), json!(group))]);
            if let Value::Object(rest) = serde_json::to_value(finding)? {
                fields.extend(rest);
            }
            findings.push(Value::Object(fields));
        }
    }
    let connection = connection.map(Connection::name);
    Ok(
        json!({"ok": worst < Severity::Broken, "worst": worst, "connection": connection, "version": env!("CARGO_PKG_VERSION"), "findings": findings}),
    )
}

const fn sign(level: Severity) -> (&'static str, Style) {
    match level {
        Severity::Ok => ("✓", GOOD),
        Severity::Note => ("·", DIM),
        Severity::Warning => ("!", BUSY),
        Severity::Broken => ("✗", BAD),
    }
}

/// Prints a group: its name once, then one line per finding and one per remedy.
fn print(group: &str, findings: &[Finding]) {
    const INDENT: usize = 14;
    let mut name = group;
    for finding in findings {
        let (sign, style) = sign(finding.level);
        let mut lines = output::wrap(&finding.message, output::width().saturating_sub(INDENT)).into_iter();
        let first = lines.next().unwrap_or_default();
        println!("{BOLD}{name:<11}{BOLD:#} {style}{sign}{style:#} {first}");
        for line in lines {
            println!("{:INDENT$}{line}", "");
        }
        if let Some(remedy) = &finding.remedy {
            let lines = output::wrap(remedy, output::width().saturating_sub(INDENT + 2));
            for (index, line) in lines.iter().enumerate() {
                let arrow = if index == 0 { "→" } else { " " };
                println!("{:INDENT$}{DIM}{arrow} {line}{DIM:#}", "");
            }
        }
        name = "";
    }
}

fn print_end(worst: Severity, connection: Option<&Connection>) {
    match (worst, connection) {
        (Severity::Ok | Severity::Note, Some(Connection::NotConnected)) => {
            println!("\n{BUSY}Not connected: no agent reports to backstory yet.{BUSY:#}");
        }
        (Severity::Ok | Severity::Note, Some(Connection::Waiting)) => {
            println!("\n{BUSY}Installed; waiting for the first session.{BUSY:#}");
        }
        (Severity::Ok | Severity::Note, _) => println!("\n{GOOD}No problems found.{GOOD:#}"),
        (Severity::Warning, _) => println!("\n{BUSY}Working, with warnings (see !).{BUSY:#}"),
        (Severity::Broken, _) => println!("\n{BAD}Something is broken; see the lines marked ✗.{BAD:#}"),
    }
}
