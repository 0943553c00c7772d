//! Checks a full round trip in a temporary home: runs hooks, the worker and a search with this binary.

use std::{fs, time::Instant};

use anyhow::{Context, Result, ensure};
use backstory_engine::error::error_chain;
use serde_json::{Value, json};

use super::finding::{CheckContext, Finding};
use crate::{process, scratch::Scratch};

pub(super) fn check(_context: &CheckContext<'_>) -> Vec<Finding> {
    let start = Instant::now();
    vec![match run() {
        Ok(()) => Finding::ok(
            "round-trip",
            format!(
                "hook, worker and search in a scratch home: {} ms",
                start.elapsed().as_millis()
            ),
        ),
        Err(error) => Finding::broken("round-trip", error_chain(&error))
            .remedy("run `backstory demo` to see the failing step, and please report it"),
    }]
}

fn run() -> Result<()> {
    let scratch = Scratch::new("doctor")?;
    let (home, project) = (scratch.path().join("home"), scratch.path().join("orchard"));
    fs::create_dir_all(project.join(".git")).context("could not create a sample project")?;
    let events = [
        (
            "user-prompt-submit",
            json!({"prompt": "graft the pear tree onto quince"}),
        ),
        (
            "post-tool-use",
            json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "make graft"},
                "tool_response": {"stdout": "grafted"}}),
        ),
        (
            "stop",
            json!({"last_assistant_message": "The pear is grafted onto a quince rootstock."}),
        ),
    ];
    for (event, mut payload) in events {
        payload["session_id"] = json!("doctor");
        payload["cwd"] = json!(project);
        let output = process::run_self(&["hook", event], &home, payload.to_string().as_bytes())?;
        ensure!(
            output.status.success(),
            "the hook {event} exited with {}",
            output.status
        );
    }
    let output = process::run_self(&["worker", "run", "--once"], &home, b"")?;
    ensure!(
        output.status.success(),
        "the worker: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    let output = process::run_self(&["search", "quince", "--all", "--json"], &home, b"")?;
    let found: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    ensure!(
        found["results"]
            .as_array()
            .is_some_and(|results| !results.is_empty()),
        "search did not find the recorded events: {}",
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}
