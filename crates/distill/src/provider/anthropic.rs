//! Anthropic's Messages API.

use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::{Endpoint, MAX_ANSWER_TOKENS, Provider, Reply, Trouble, Usage, http};
use crate::Prompt;

/// Version of the API.
const VERSION: &str = "2023-06-01";

/// Client of the Messages API, of Anthropic or a compatible server.
#[derive(Debug)]
pub struct Anthropic {
    endpoint: Endpoint,
}

impl Anthropic {
    /// Default address.
    pub const ADDRESS: &'static str = "https://api.anthropic.com";
    /// Default model.
    pub const MODEL: &'static str = "claude-haiku-5-5";

    /// Creates a client.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }
}

impl Provider for Anthropic {
    fn ask(&self, prompt: &Prompt, stop: &AtomicBool) -> Result<Reply, Trouble> {
        let Some(key) = &self.endpoint.key else {
            return Err(Trouble::NotSetUp("there is no API key".to_owned()));
        };
        let headers = vec![
            ("x-api-key", key.0.clone()),
            ("anthropic-version", VERSION.to_owned()),
        ];
        let body = json!({
            "model": self.endpoint.model,
            "max_tokens": MAX_ANSWER_TOKENS,
            "system": prompt.system,
            "messages": [{"role": "user", "content": prompt.user}],
        });
        read(&http::post(&self.endpoint, "/v1/messages", headers, &body, stop)?)
    }
}

fn read(answer: &Value) -> Result<Reply, Trouble> {
    if answer["stop_reason"] == "refusal" {
        return Err(Trouble::Refused("the model refused to answer".to_owned()));
    }
    let Some(blocks) = answer["content"].as_array() else {
        return Err(Trouble::Nonsense("the answer has no content".to_owned()));
    };
    let text = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    Ok(Reply {
        text,
        usage: usage(&answer["usage"]),
    })
}

/// Reads the token counts; cached tokens count as input.
pub(super) fn usage(usage: &Value) -> Option<Usage> {
    let count = |name: &str| usage[name].as_u64();
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    Some(Usage {
        tokens_in: cached.iter().filter_map(|name| count(name)).sum::<u64>() + count("input_tokens")?,
        tokens_out: count("output_tokens")?,
    })
}
