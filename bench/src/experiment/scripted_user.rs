//! A scripted user who runs the sessions of a month through the hooks of a program.
//!
//! Each session meets an error that the project has resolved before. How often it comes back depends on whether the hook told
//! the remedy: by the share that the month plants.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};
use backstory_engine::experiment::Difference;
use serde_json::{Value, json};

use super::{FAILURES, poisson};
use crate::{home::Home, home::create_project, process, random::Random};

/// Sessions of a month. Fewer than in months without hooks, each of which takes a process.
pub(super) const SESSIONS: u32 = 80;

/// Share of sessions without recall.
const SHARE: &str = "40%";

#[derive(Debug)]
pub(super) struct ScriptedUser {
    root: PathBuf,
    product: PathBuf,
    project: PathBuf,
}

impl Drop for ScriptedUser {
    fn drop(&mut self) {
        // Left to the system's cleanup if it fails.
        fs::remove_dir_all(&self.root).ok();
    }
}

impl ScriptedUser {
    /// Creates the past: a session that met the error and resolved it.
    pub(super) fn create(product: &Path) -> Result<Self> {
        let root = std::env::temp_dir().join(format!("backstory-user-{}", std::process::id()));
        let user = Self {
            project: root.join("project"),
            product: product.to_owned(),
            root,
        };
        create_project(&user.project)?;
        let home = Home::create(user.root.join("past"), product, None)?;
        let file = user.project.join("auth.rs");
        let told = |event: &str, fields: Value| user.hook(&home, "past", event, fields).map(drop);
        told(
            "user-prompt-submit",
            json!({"prompt": "Token refresh fails with 401 after the laptop slept, mend it"}),
        )?;
        told("post-tool-use-failure", failure(0))?;
        told(
            "post-tool-use",
            json!({"tool_name": "Edit", "tool_use_id": "t2",
                "tool_input": {"file_path": file, "old_string": "refresh(token)", "new_string": "retry_once(token)"},
                "tool_response": {"filePath": file, "structuredPatch": [{"oldStart": 1, "oldLines": 1, "newStart": 1,
                    "newLines": 1, "lines": ["-refresh(token)", "+retry_once(token)"]}]}}),
        )?;
        told(
            "post-tool-use",
            json!({"tool_name": "Bash", "tool_use_id": "t3", "tool_input": {"command": "cargo test auth"},
                "tool_response": {"stdout": "test result: ok. 4 passed", "stderr": ""}}),
        )?;
        told(
            "stop",
            json!({"last_assistant_message": "Fixed: the token refresh now retries once on a 401 before it gives up, \
                because the clock is wrong for a moment after the laptop slept."}),
        )?;
        home.ingest()?;
        Ok(user)
    }

    /// Runs a month in which repeated failures drop by a share where the agent is told; returns the reported difference.
    pub(super) fn month(&self, seed: u64, avoided: f64) -> Result<Difference> {
        let root = self.root.join("month");
        let home = Home::create(
            root.clone(),
            &self.product,
            Some(&self.root.join("past/backstory.db")),
        )?;
        command(&home, &["experiment", "start", "--share", SHARE])?;
        let mut random = Random::new(seed);
        for number in 0..SESSIONS {
            let session = format!("{seed:08x}-{number:04x}-4000-8000-000000000000");
            self.session(&home, &session, avoided, &mut random)?;
        }
        home.ingest()?;
        let report: Value = serde_json::from_slice(&command(&home, &["experiment", "report", "--json"])?)?;
        fs::remove_dir_all(&root)?;
        let one = &report["differences"][0];
        let number = |value: &Value| value.as_f64().context("too little data");
        Ok(Difference {
            measure: "repeated failures",
            with_recall: number(&one["with_recall"])?,
            without: number(&one["without_recall"])?,
            interval: (number(&one["interval_95"][0])?, number(&one["interval_95"][1])?),
        })
    }

    /// Runs a session: a failure, and as many more as chance and the told remedy bring.
    fn session(&self, home: &Home, session: &str, avoided: f64, random: &mut Random) -> Result<()> {
        let prompt = json!({"prompt": "Run the tests of the login page"});
        self.hook(home, session, "user-prompt-submit", prompt)?;
        let printed = self.hook(home, session, "post-tool-use-failure", failure(1))?;
        let is_told = String::from_utf8_lossy(&printed).contains("retries once on a 401");
        let mean = if is_told {
            FAILURES * (1.0 - avoided)
        } else {
            FAILURES
        };
        let length = 0.25 + 1.5 * random.unit();
        for number in 0..poisson(random, mean * length) {
            self.hook(home, session, "post-tool-use-failure", failure(number + 2))?;
        }
        let last = json!({"last_assistant_message": "The tests were run."});
        self.hook(home, session, "stop", last).map(drop)
    }

    fn hook(&self, home: &Home, session: &str, event: &str, mut fields: Value) -> Result<Vec<u8>> {
        fields["session_id"] = session.into();
        fields["cwd"] = self.project.display().to_string().into();
        let mut command = home.command(&["hook", event]);
        let (finished, printed) = process::run_with_output(&mut command, fields.to_string().as_bytes())?;
        ensure!(finished.status.success(), "the hook failed");
        Ok(printed)
    }
}

/// Returns the payload of the failure; numbers in it differ and do not count.
fn failure(number: u64) -> Value {
    json!({"tool_name": "Bash", "tool_use_id": format!("f{number}"), "tool_input": {"command": "cargo test auth"},
        "error": format!("Exit code 101\nRefreshError: clock skew of {} s is not allowed", 40 + number)})
}

fn command(home: &Home, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = home.command(arguments).output()?;
    ensure!(
        output.status.success(),
        "{arguments:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(output.stdout)
}
