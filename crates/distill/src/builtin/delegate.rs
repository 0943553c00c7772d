//! Sub-agents: at most one memory per run, from its report.

use backstory_model::ObservationType;
use serde_json::Value;

use super::claim::Says;
use super::draft::Draft;
use super::evidence::Evidence;
use super::reading::{self, Claim, Reading};
use super::story;
use super::text::{count_names, head};
use super::title::{fit, force};
use super::type_of;
use crate::{ToolOutcome, ToolUse, TurnEnd, TurnInput, TurnStep};

/// What a sub-agent brought back.
struct Report<'a> {
    step: usize,
    agent_id: Option<String>,
    id: Option<String>,
    text: String,
    task: Option<&'a str>,
}

/// The memories of the sub-agents' runs.
pub(super) fn drafts(turn: &TurnInput, evidence: &Evidence) -> Vec<Draft> {
    reports(turn)
        .iter()
        .filter_map(|report| draft(report, evidence))
        .collect()
}

/// Every report once: the tool's answer and the stop of the sub-agent tell the same.
fn reports(turn: &TurnInput) -> Vec<Report<'_>> {
    let mut out: Vec<Report<'_>> = Vec::new();
    for (step, entry) in turn.steps.iter().enumerate() {
        let report = match entry {
            TurnStep::SubAgent { agent_id, report, .. } => Some(Report {
                step,
                agent_id: agent_id.clone(),
                id: None,
                text: head(report, 24 * 1024).to_owned(),
                task: None,
            }),
            TurnStep::Tool(tool) if matches!(tool.name.as_str(), "Task" | "Agent") => from_tool(tool, step),
            _ => None,
        };
        let Some(report) = report.filter(|report| !report.text.trim().is_empty()) else {
            continue;
        };
        let same = |known: &Report<'_>| {
            known.text.trim() == report.text.trim()
                || (known.agent_id.is_some() && known.agent_id == report.agent_id)
        };
        match out.iter_mut().find(|known| same(known)) {
            Some(known) => {
                known.task = known.task.or(report.task);
                known.id = known.id.take().or(report.id);
            }
            None => out.push(report),
        }
    }
    out
}

fn from_tool(tool: &ToolUse, step: usize) -> Option<Report<'_>> {
    let ToolOutcome::Answered(answer) = &tool.outcome else {
        return None;
    };
    let text = match answer.get("content") {
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter_map(|block| block.get("text").and_then(Value::as_str))
            .collect::<Vec<_>>()
            .join("\n"),
        Some(Value::String(text)) => text.clone(),
        _ => answer.as_str().unwrap_or_default().to_owned(),
    };
    Some(Report {
        step,
        agent_id: answer.get("agentId").and_then(Value::as_str).map(str::to_owned),
        id: tool.id.clone(),
        text: head(&text, 24 * 1024).to_owned(),
        task: tool.input.get("description").and_then(Value::as_str),
    })
}

fn draft(report: &Report<'_>, evidence: &Evidence) -> Option<Draft> {
    let read = as_reading(&report.text);
    let own = |agent: &Option<String>| agent.is_some() && *agent == report.agent_id;
    let edits: Vec<_> = evidence.kept().filter(|edit| own(&edit.agent_id)).collect();
    let best = read
        .claims
        .iter()
        .filter(|claim| {
            matches!(
                claim.says,
                Says::Found | Says::Cause | Says::Done | Says::Now | Says::Problem
            ) && !claim.hedged
        })
        .enumerate()
        .filter_map(|(at, claim)| {
            let made = claim.statement.as_ref()?;
            let names = i32::try_from(count_names(&made.text)).unwrap_or(0).min(3);
            let short = if made.text.split_whitespace().count() < 4 {
                25
            } else {
                0
            };
            let late = i32::try_from(at).unwrap_or(i32::MAX).min(20);
            let loose = if claim.bullet { 6 } else { 0 }
                + if made.text.starts_with("If ") || made.text.starts_with("When ") {
                    12
                } else {
                    0
                };
            Some((
                i32::from(made.strength) + names * 6 - short - late - loose,
                fit(&made.text)?,
            ))
        })
        .max_by(|a, b| a.0.cmp(&b.0));
    if edits.is_empty() && best.is_none() {
        return None;
    }
    let title = best.map_or_else(
        || {
            force(&format!(
                "Sub-agent changed files: {}",
                report.task.unwrap_or("no report")
            ))
        },
        |(_, title)| title,
    );
    let kind = if edits.is_empty() {
        ObservationType::Discovery
    } else {
        type_of::of_words(&title)
    };
    let mut draft = Draft::new(kind, title, report.step, 72);
    draft.subtitle = report.task.map(|task| format!("Sub-agent: {task}"));
    draft.narrative = story::tell(
        read.claims
            .iter()
            .filter(|claim| {
                !matches!(claim.says, Says::Asks | Says::Plan | Says::Next) && claim.statement.is_some()
            })
            .take(4),
    );
    draft.facts = read
        .claims
        .iter()
        .filter(|claim| !matches!(claim.says, Says::Asks | Says::Plan | Says::Next))
        .filter_map(Claim::as_fact)
        .filter(|fact| count_names(fact) > 0)
        .collect();
    draft.files_modified = edits.iter().map(|edit| edit.path.clone()).collect();
    draft.evidence = report
        .id
        .clone()
        .into_iter()
        .chain(edits.iter().filter_map(|edit| edit.id.clone()))
        .collect();
    Some(draft)
}

fn as_reading(text: &str) -> Reading {
    reading::read(&TurnInput {
        number: 0,
        started_ms: 0,
        prompt: None,
        machine_made: false,
        root: None,
        branch: None,
        steps: Vec::new(),
        last_message: Some(text.to_owned()),
        end: TurnEnd::Stopped,
    })
}
