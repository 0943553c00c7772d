//! The installed `claude` as a one-shot generator: no hooks, no tools, no session file, the user's own subscription.
//!
//! Defines the arguments and parses the output; the caller supplies the function that runs the program.

use std::{fmt, sync::atomic::AtomicBool, time::Duration};

use serde_json::Value;

use super::{CALL_TIMEOUT, MAX_ANSWER_TOKENS, Provider, Reply, Trouble, Usage, anthropic, trouble};
use crate::Prompt;

/// Arguments and input of a `claude` process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// Command-line arguments.
    pub arguments: Vec<String>,
    /// Variables besides those that it needs to find its own account.
    pub variables: Vec<(&'static str, String)>,
    /// Standard input.
    pub input: String,
    /// Time limit.
    pub timeout: Duration,
}

/// Result of a `claude` process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaudeOutput {
    /// True if it exited with status 0.
    pub success: bool,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Reason why a process did not run to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunError {
    /// The program was not found.
    Missing,
    /// It exceeded the time limit and was killed.
    TimedOut,
    /// It was killed because the worker stops.
    Stopped,
    /// It could not be started.
    Failed(String),
}

/// Runs `claude` to its end.
pub type RunClaude = Box<dyn Fn(&Invocation, &AtomicBool) -> Result<ClaudeOutput, RunError> + Send + Sync>;

/// Provider that runs the `claude` program.
pub struct ClaudeCli {
    model: String,
    run: RunClaude,
}

impl ClaudeCli {
    /// Default model.
    pub const MODEL: &'static str = "haiku";

    /// Creates a provider with a function that runs the program.
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
                // Hooks that an administrator enforces still run; they must not record this call.
                ("BACKSTORY_INTERNAL", "1".to_owned()),
                ("CLAUDE_CODE_DISABLE_THINKING", "1".to_owned()),
                // No update check and no telemetry: this is not a session of the user.
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                ("CLAUDE_CODE_MAX_OUTPUT_TOKENS", MAX_ANSWER_TOKENS.to_string()),
            ],
            // Arguments are visible to every user of the machine, input is not.
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
            Err(RunError::Missing) => Err(Trouble::NotSetUp("`claude` is not on the PATH".to_owned())),
            Err(RunError::TimedOut) => Err(Trouble::BrokenOff {
                usage: None,
                message: "`claude` took too long".to_owned(),
            }),
            Err(RunError::Stopped) => Err(Trouble::Stopped),
            Err(RunError::Failed(why)) => Err(Trouble::Unreachable {
                retry_after: None,
                message: format!("could not run `claude`: {}", trouble::short(&why)),
            }),
        }
    }
}

/// Parses the JSON object that it prints. `subtype` is `success` even if the API failed; `is_error` is reliable.
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
        return Err(Trouble::Refused("the model refused to answer".to_owned()));
    }
    Ok(Reply {
        text: text.to_owned(),
        usage,
    })
}

fn failed(status: u16, message: &str, usage: Option<Usage>) -> Trouble {
    let lower = message.to_lowercase();
    let is_logged_out = ["/login", "not logged in", "invalid api key", "oauth token"]
        .iter()
        .any(|words| lower.contains(words));
    let is_spent = ["usage limit", "hit your limit", "limit reached"]
        .iter()
        .any(|words| lower.contains(words));
    match status {
        _ if is_spent => Trouble::QuotaSpent {
            retry_after: None,
            message: trouble::short(message),
        },
        0 if is_logged_out => Trouble::BadKey(trouble::short(message)),
        // Killed or aborted: it reports its usage, or none is known.
        0 => Trouble::BrokenOff {
            usage,
            message: trouble::short(message),
        },
        status => match trouble::of_status(status, "", message, None) {
            Trouble::BrokenOff { message, .. } => Trouble::BrokenOff { usage, message },
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
    fn an_answer_is_parsed_with_its_usage() {
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
    fn failures_are_classified() {
        let error = |status: u16, message: &str| {
            format!(
                r#"{{"subtype":"success","is_error":true,"api_error_status":{status},"result":"{message}"}}"#
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
        let message = String::new();
        assert_eq!(outcome(true, text), Err(Trouble::BrokenOff { usage, message }));
    }
}
