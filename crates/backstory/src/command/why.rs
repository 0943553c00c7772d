//! `backstory why`: shows when and why a memory was injected or skipped.

use anstream::println;
use anyhow::Result;
use backstory_engine::{
    engine::Engine,
    injection_log::{self, InjectionRecord},
};
use backstory_model::Handle;
use serde_json::{Value, json};

use super::{ExitStatus, open_store, unknown};
use crate::output::{self, BOLD, DIM};

/// Show when and why a memory was injected or skipped
#[derive(clap::Args)]
pub(crate) struct Why {
    /// Handle such as 123, S12, P34, N5, V678
    handle: Handle,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Why) -> Result<ExitStatus> {
    let handle = arguments.handle;
    let memory = match open_store(engine)? {
        Some(store) => store.memory(handle)?,
        None => None,
    };
    let Some(memory) = memory else {
        return Err(unknown(handle));
    };
    let records = injection_log::of_memory(&engine.home, handle)?;
    if arguments.json {
        let list: Vec<Value> = records
            .iter()
            .map(|(session, record)| as_json(session, record))
            .collect();
        println!("{:#}", json!({"id": handle, "given": list}));
        return Ok(ExitStatus::Done);
    }
    let fields = memory.fields();
    let title = if fields.title.is_empty() {
        &fields.narrative
    } else {
        &fields.title
    };
    println!(
        "{BOLD}{handle}{BOLD:#} {}",
        output::one_line(title, output::width().saturating_sub(8))
    );
    if records.is_empty() {
        println!("Never injected or considered.");
        return Ok(ExitStatus::Done);
    }
    let now = engine.clock.timestamp();
    for (session, record) in &records {
        let verdict = match record.told {
            true => format!("injected at {}", trigger_label(&record.moment)),
            false => format!("skipped at {}", trigger_label(&record.moment)),
        };
        println!(
            "  {:>8}  session {}  {verdict}: {}",
            output::ago(now, record.at),
            output::one_line(session, 12),
            record.reason
        );
        if let Some(file) = &record.file {
            println!("            {DIM}{file}{DIM:#}");
        }
    }
    Ok(ExitStatus::Done)
}

fn trigger_label(moment: &str) -> &str {
    match moment {
        "start" => "start",
        "file" => "opening of a file",
        other => other,
    }
}

fn as_json(session: &str, record: &InjectionRecord) -> Value {
    json!({
        "session_id": session,
        "at": output::rfc3339(record.at),
        "moment": record.moment,
        "file": record.file,
        "reason": record.reason,
        "tokens": record.tokens,
        "told": record.told,
    })
}
