//! `backstory why`: shows when and why a memory was injected or skipped.

use anstream::println;
use anyhow::Result;
use backstory_engine::{
    engine::Engine,
    injection_log::{self, InjectionRecord},
};
use backstory_model::Handle;
use backstory_store::JudgedRecall;
use serde_json::{Value, json};

use super::{ExitStatus, open_store, unknown};
use crate::{
    json_output::print_json,
    output::{self, BOLD, DIM, Times},
};

/// Show when and why a memory was injected or skipped
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory why 12   when it was injected, and what became of it")]
pub(crate) struct Why {
    /// Handle such as 123, S12, P34, N5, V678
    handle: Handle,
    /// Make the outcomes of this memory so far count no more for its rank
    #[arg(long, conflicts_with = "json")]
    reset: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(engine: &Engine, arguments: &Why) -> Result<ExitStatus> {
    let handle = arguments.handle;
    let Some(mut store) = open_store(engine)? else {
        return Err(unknown(handle));
    };
    let Some(memory) = store.memory(handle)? else {
        return Err(unknown(handle));
    };
    if arguments.reset {
        store.reset_feedback(Some(handle), engine.clock.timestamp())?;
        println!("Reset: earlier outcomes do not change the rank of {handle} any more.");
        return Ok(ExitStatus::Done);
    }
    let outcomes = store.outcomes_of(handle)?;
    let feedback = store.feedback(handle)?;
    let records = injection_log::of_memory(&engine.home, handle)?;
    if arguments.json {
        let list: Vec<Value> = records
            .iter()
            .map(|(session, record)| {
                let mut value = as_json(session, record);
                let outcome = outcome_of(&outcomes, session, record);
                value["outcome"] = json!(outcome.map(|one| one.outcome));
                value["evidence"] = json!(outcome.and_then(|one| one.evidence.as_deref()));
                value
            })
            .collect();
        let counts = json!({"used": feedback.used, "ignored": feedback.ignored,
            "contradicted": feedback.contradicted, "weight": f64::from(feedback.weight()) / 1000.0});
        print_json(json!({"id": handle, "given": list, "feedback": counts}));
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
    let times = Times::new(engine)?;
    for (session, record) in &records {
        let verdict = match record.told {
            true => format!("injected at {}", trigger_label(&record.moment)),
            false => format!("skipped at {}", trigger_label(&record.moment)),
        };
        println!(
            "  {:>10}  session {}  {verdict}: {}",
            times.ago(record.at),
            output::one_line(session, 12),
            record.reason
        );
        if let Some(one) = outcome_of(&outcomes, session, record) {
            let evidence = one.evidence.as_deref().map(|evidence| format!(": {evidence}"));
            println!(
                "            {DIM}{}{}{DIM:#}",
                one.outcome,
                evidence.unwrap_or_default()
            );
        }
        if let Some(file) = &record.file {
            println!("              {DIM}{file}{DIM:#}");
        }
    }
    if !feedback.is_empty() {
        println!(
            "Rank: {}.{:03} times what its text is worth (used {}, ignored {}, contradicted {}); --reset starts again",
            feedback.weight() / 1000,
            feedback.weight() % 1000,
            feedback.used,
            feedback.ignored,
            feedback.contradicted
        );
    }
    Ok(ExitStatus::Done)
}

/// Returns the judgement about an injection. The session is a file name, which is the id of nearly all sessions.
fn outcome_of<'o>(
    outcomes: &'o [(String, JudgedRecall)],
    session: &str,
    record: &InjectionRecord,
) -> Option<&'o JudgedRecall> {
    let found = outcomes
        .iter()
        .find(|(id, one)| id == session && one.at == record.at && record.told);
    found.map(|(_, one)| one)
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
