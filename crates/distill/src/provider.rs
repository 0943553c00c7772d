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
pub use http::is_protected;
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

    /// Removes the key and parts of it from a text: some servers repeat it, some only its start and its end.
    fn hide(&self, text: &str) -> String {
        let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.*…•+/=".contains(c);
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_part) {
            let word = &rest[start..];
            let word = &word[..word.find(|c| !is_part(c)).unwrap_or(word.len())];
            out.push_str(&rest[..start]);
            out.push_str(if self.is_in(word) { "[key]" } else { word });
            rest = &rest[start + word.len()..];
        }
        out + rest
    }

    /// Reports whether a word contains a part of the key that could be guessed from: eight characters anywhere, or fewer at
    /// the edges of a masked key.
    fn is_in(&self, word: &str) -> bool {
        const PART: usize = 8;
        let key = self.0.as_bytes();
        if key.len() <= PART {
            return word.contains(&self.0);
        }
        let is_shared = |part: &[u8]| key.windows(part.len()).any(|window| window == part);
        if word.as_bytes().windows(PART).any(is_shared) {
            return true;
        }
        let mut parts = word.split(['*', '…', '•']).flat_map(|part| part.split("..."));
        let is_masked = word.contains(['*', '…', '•']) || word.contains("...");
        let is_edge = |part: &str| {
            part.len() > 1 && (self.0.starts_with(part) || self.0.ends_with(part.trim_end_matches('.')))
        };
        is_masked && parts.any(is_edge)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_and_its_parts_are_hidden() {
        let key = ApiKey::new("sk-proj-0f8Hq2Lz7Vx1Pm5Rt9YwWXYZ").unwrap();
        for (text, hidden) in [
            (
                "Incorrect API key provided: sk-proj-0f8Hq2Lz7Vx1Pm5Rt9YwWXYZ.",
                "Incorrect API key provided: [key]",
            ),
            (
                "Incorrect API key provided: sk-pr***************WXYZ!",
                "Incorrect API key provided: [key]!",
            ),
            ("key sk-proj-0f8H... is unknown", "key [key] is unknown"),
            ("key …YwWXYZ is unknown", "key [key] is unknown"),
            ("token 2Lz7Vx1Pm5 refused", "token [key] refused"),
            (
                "the project is unknown, see https://x.dev/keys",
                "the project is unknown, see https://x.dev/keys",
            ),
        ] {
            assert_eq!(key.hide(text), hidden, "{text}");
        }
    }
}
