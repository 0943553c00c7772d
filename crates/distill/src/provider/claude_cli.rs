//! The installed `claude` as a one-shot generator: no hooks, no tools, no session file, the user's own subscription.
//!
//! Owns what it is started with and what its output means; starting programs is left to whoever gives us a way to do it.

use std::{fmt, sync::atomic::AtomicBool, time::Duration};

use serde_json::Value;

use super::{CALL_TIMEOUT, MAX_ANSWER_TOKENS, Provider, Reply, Trouble, Usage, anthropic, trouble};
use crate::Prompt;

/// What `claude` is to be started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The arguments.
    pub arguments: Vec<String>,
    /// Variables besides those that it needs to find its own account.
    pub variables: Vec<(&'static str, String)>,
    /// What it reads.
    pub input: String,
    /// When it has taken too long.
    pub timeout: Duration,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaudeOutput {
    /// Whether it says that all went well.
    pub success: bool,
    /// What it printed.
    pub stdout: String,
    /// What it complained about.
    pub stderr: String,
}

/// Why it did not end by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// There is no such program.
    Missing,
    /// It took too long and was killed.
    TimedOut,
    /// It was killed because somebody asked us to stop.
    Stopped,
    /// The system did not want it.
    Failed(String),
}

/// Runs `claude` to its end.
pub type RunClaude = Box<dyn Fn(&Invocation, &AtomicBool) -> Result<ClaudeOutput, RunError> + Send + Sync>;

/// The `claude` program.
pub struct ClaudeCli {
    model: String,
    run: RunClaude,
}

impl ClaudeCli {
    /// Who is asked, unless the settings say otherwise.
    pub const MODEL: &'static str = "haiku";

    /// Prepares to ask through a way to run it.
    pub fn new(model: String, run: RunClaude) -> Self {
        Self { model, run }
    }

    fn invocation(&self, prompt: &Prompt) -> Invocation {
        let words = [
            "-p",
            "--output-format",
            "json",
            "--model",
            &self.model,
            "--tools",
            "",
            "--no-session-persistence",
            "--strict-mcp-config",
            "--setting-sources",
            "",
            "--settings",
            r#"{"disableAllHooks":true}"#,
            "--disable-slash-commands",
            "--effort",
            "low",
            "--system-prompt",
            &prompt.system,
        ];
        Invocation {
            arguments: words.map(str::to_owned).to_vec(),
            variables: vec![
                // Hooks that an administrator enforces still run: they must not record this.
                ("BACKSTORY_INTERNAL", "1".to_owned()),
                ("CLAUDE_CODE_DISABLE_THINKING", "1".to_owned()),
                // No looking for updates, no telemetry: this is no session of anybody's.
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", MAX_ANSWER_TOKENS.to_string()),
            ],
            // Arguments are seen by everyone on the machine, input is not.
            input: prompt.user.clone(),
            timeout: CALL_TIMEOUT,
        }
    }
}

impl fmt::Debug for ClaudeCli {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClaudeCli")
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl Provider for ClaudeCli {
    fn ask(&self, prompt: &Prompt, stop: &AtomicBool) -> Result<Reply, Trouble> {
        match (self.run)(&self.invocation(prompt), stop) {
            Ok(ran) => read(&ran),
            Err(RunError::Missing) => Err(Trouble::NotSetUp("there is no `claude` on the PATH".to_owned())),
            Err(RunError::TimedOut) => Err(Trouble::BrokenOff {
                usage: None,
                said: "`claude` took too long".to_owned(),
            }),
            Err(RunError::Stopped) => Err(Trouble::Stopped),
            Err(RunError::Failed(why)) => Err(Trouble::Unreachable {
                retry_after: None,
                said: format!("`claude` did not run: {}", trouble::short(&why)),
            }),
        }
    }
}

/// Reads the one JSON object that it prints. `subtype` says success even where the API failed; `is_error` does not.
fn read(ran: &ClaudeOutput) -> Result<Reply, Trouble> {
    let answer: Option<Value> = serde_json::from_str(ran.stdout.trim()).ok();
    let Some(answer) = answer.filter(Value::is_object) else {
        return Err(match ran.success {
            true => Trouble::Nonsense("`claude` did not answer with JSON".to_owned()),
            false => failed(0, &format!("{} {}", ran.stderr, ran.stdout), None),
        });
    };
    let text = answer["result"].as_str().unwrap_or_default();
    let usage = anthropic::usage(&answer["usage"]);
    if answer["is_error"] == true || !ran.success {
        let status = answer["api_error_status"].as_u64().unwrap_or_default();
        return Err(failed(u16::try_from(status).unwrap_or_default(), text, usage));
    }
    if answer["stop_reason"] == "refusal" {
        return Err(Trouble::Refused("the model does not want to answer".to_owned()));
    }
    Ok(Reply {
        text: text.to_owned(),
        usage,
    })
}

fn failed(status: u16, said: &str, usage: Option<Usage>) -> Trouble {
    let lower = said.to_lowercase();
    let is_logged_out = ["/login", "not logged in", "invalid api key", "oauth token"]
        .iter()
        .any(|words| lower.contains(words));
    let is_spent = ["usage limit", "hit your limit", "limit reached"]
        .iter()
        .any(|words| lower.contains(words));
    match status {
        _ if is_spent => Trouble::QuotaSpent {
            retry_after: None,
            said: trouble::short(said),
        },
        0 if is_logged_out => Trouble::BadKey(trouble::short(said)),
        // Killed, or given up half-way: it says what that took, or nobody knows.
        0 => Trouble::BrokenOff {
            usage,
            said: trouble::short(said),
        },
        status => match trouble::of_status(status, "", said, None) {
            Trouble::BrokenOff { said, .. } => Trouble::BrokenOff { usage, said },
            other => other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(success: bool, stdout: &str) -> Result<Reply, Trouble> {
        read(&ClaudeOutput {
            success,
            stdout: stdout.to_owned(),
            stderr: String::new(),
        })
    }

    #[test]
    fn an_answer_is_read_with_what_it_took() {
        let text = r#"{"type":"result","subtype":"success","is_error":false,"result":"<nothing/>","usage":{"input_tokens":3,
            "cache_read_input_tokens":900,"output_tokens":4}}"#;
        let reply = outcome(true, text).unwrap();
        assert_eq!(reply.text, "<nothing/>");
        assert_eq!(
            reply.usage,
            Some(Usage {
                tokens_in: 903,
                tokens_out: 4
            })
        );
    }

    #[test]
    fn its_failures_are_told_apart() {
        let error = |status: u16, said: &str| {
            format!(
                r#"{{"subtype":"success","is_error":true,"api_error_status":{status},"result":"{said}"}}"#
            )
        };
        for (stdout, name) in [
            (error(401, "Invalid API key · Please run /login"), "bad-key"),
            (error(429, "rate limit"), "rate-limited"),
            (error(429, "Claude usage limit reached"), "quota-spent"),
            (error(529, "Overloaded"), "unreachable"),
            (error(400, "bad request"), "refused"),
            (error(404, "no such model"), "not-set-up"),
            (error(0, "Not logged in · Please run /login"), "bad-key"),
            (error(500, "Internal server error"), "broken-off"),
            ("some crash".to_owned(), "broken-off"),
        ] {
            assert_eq!(outcome(false, &stdout).unwrap_err().name(), name, "{stdout}");
        }
        assert_eq!(outcome(true, "words").unwrap_err().name(), "nonsense");
        let text = r#"{"is_error":true,"subtype":"error_during_execution","usage":{"input_tokens":3,"output_tokens":4}}"#;
        let usage = Some(Usage {
            tokens_in: 3,
            tokens_out: 4,
        });
        let said = String::new();
        assert_eq!(outcome(true, text), Err(Trouble::BrokenOff { usage, said }));
    }
}
