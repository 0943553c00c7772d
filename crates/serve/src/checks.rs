//! Runs `backstory doctor` and holds its findings.
//!
//! The checks live in the program, above this crate, and some take seconds: they run as a process of their own.

use std::process::Stdio;

use anyhow::Context as _;
use backstory_capture::host::HOSTS;
use backstory_engine::process::this_program;
use backstory_model::Timestamp;
use serde::Deserialize;

/// One finding, as `doctor --json` prints it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct CheckFinding {
    pub(crate) group: String,
    /// Name of the check; of the agent, if it is about one.
    pub(crate) check: String,
    /// `ok`, `note`, `warning` or `broken`.
    pub(crate) level: String,
    pub(crate) message: String,
    pub(crate) remedy: Option<String>,
}

impl CheckFinding {
    /// Returns the name of the agent that it is about.
    pub(crate) fn agent(&self) -> Option<&'static str> {
        let host = HOSTS.into_iter().find(|host| host.name == self.check)?;
        (self.group == "hosts").then_some(host.name)
    }
}

/// All findings of a run.
#[derive(Clone, Debug)]
pub(crate) struct CheckReport {
    pub(crate) findings: Vec<CheckFinding>,
    pub(crate) at: Timestamp,
}

#[derive(Deserialize)]
struct DoctorOutput {
    findings: Vec<CheckFinding>,
}

impl CheckReport {
    /// Runs all checks. `now` is the time of the report.
    pub(crate) fn run(now: Timestamp) -> anyhow::Result<Self> {
        let output = this_program()?
            .args(["doctor", "--json"])
            .stdin(Stdio::null())
            .output()
            .context("could not run `backstory doctor`")?;
        // It exits 1 when something is broken, and reports all the same.
        let output: DoctorOutput =
            serde_json::from_slice(&output.stdout).context("`backstory doctor` gave no report")?;
        Ok(Self {
            findings: output.findings,
            at: now,
        })
    }
}
