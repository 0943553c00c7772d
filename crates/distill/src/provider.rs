//! Who can be asked: one small trait, three providers, and what can go wrong with each of them, told apart.
//!
//! A provider makes one stateless call. Whether a call may be made, when it is tried again and what is kept of it is left to
//! whoever calls.

mod anthropic;
mod claude_cli;
mod http;
mod openai;
mod trouble;

use std::{fmt, sync::atomic::AtomicBool, time::Duration};

pub use anthropic::Anthropic;
pub use claude_cli::{ClaudeCli, ClaudeOutput, Invocation, RunClaude, RunError};
pub use openai::OpenAi;
pub use trouble::Trouble;

use crate::Prompt;

/// The most tokens that an answer may have.
const MAX_ANSWER_TOKENS: u32 = 2_000;

/// How long one call may take: a local model without a graphics card is slow.
const CALL_TIMEOUT: Duration = Duration::from_secs(300);

/// Someone who answers.
pub trait Provider: Send + Sync + fmt::Debug {
    /// Asks once. Returns soon after `stop` became true, whatever the other side does.
    fn ask(&self, prompt: &Prompt, stop: &AtomicBool) -> Result<Reply, Trouble>;
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The answer.
    pub text: String,
    /// What it took, if the provider counts.
    pub usage: Option<Usage>,
}

/// Tokens, as a provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// What was sent, cached parts included.
    pub tokens_in: u64,
    /// What was answered.
    pub tokens_out: u64,
}

/// Where a provider is and how one gets in.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// The address, without the path of the call.
    pub base_url: String,
    /// The model.
    pub model: String,
    /// The key, if there is one.
    pub key: Option<ApiKey>,
    /// The proxy to go through, if any.
    pub proxy: Option<String>,
}

/// A key. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes a key as it stands in the environment or a file; `None` when there is nothing in it.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Returns a text without the key: some servers repeat what they were given.
    fn hide(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}
