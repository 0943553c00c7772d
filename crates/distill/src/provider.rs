//! Providers: one small trait, three implementations, and their distinct errors.
//!
//! A provider makes one stateless call. The caller decides whether a call may be made, when it is retried and what is kept
//! of the answer.

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

/// Maximum number of tokens of an answer.
const MAX_ANSWER_TOKENS: u32 = 2_000;

/// Time limit of one call: a local model without a graphics card is slow.
const CALL_TIMEOUT: Duration = Duration::from_secs(300);

/// Back end that answers prompts.
pub trait Provider: Send + Sync + fmt::Debug {
    /// Makes one call. Returns soon after `stop` is set, even while waiting for the server.
    fn ask(&self, prompt: &Prompt, stop: &AtomicBool) -> Result<Reply, Trouble>;
}

/// Answer of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Text of the answer.
    pub text: String,
    /// Token counts, if the provider reports them.
    pub usage: Option<Usage>,
}

/// Token counts of a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens, cached ones included.
    pub tokens_in: u64,
    /// Output tokens.
    pub tokens_out: u64,
}

/// Address and credentials of a provider.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// Base address, without the path of the call.
    pub base_url: String,
    /// Name of the model.
    pub model: String,
    /// API key, if there is one.
    pub key: Option<ApiKey>,
    /// Proxy, if there is one.
    pub proxy: Option<String>,
}

/// API key. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Parses a key from the environment or a file; `None` if it is empty.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// Removes the key from a text: some servers repeat it.
    fn hide(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}
