//! OpenAI's chat completions API, which many servers offer: OpenRouter, Gemini, Ollama, LM Studio, vLLM.

use std::sync::atomic::AtomicBool;

use serde_json::{Value, json};

use super::{Endpoint, MAX_ANSWER_TOKENS, Provider, Reply, Trouble, Usage, http};
use crate::Prompt;

/// Client of a chat completions API.
#[derive(Debug)]
pub struct OpenAi {
    endpoint: Endpoint,
}

impl OpenAi {
    /// Default address.
    pub const ADDRESS: &'static str = "https://api.openai.com/v1";
    /// Default model at that address. Other servers have no default.
    pub const MODEL: &'static str = "gpt-4.1-mini";

    /// Creates a client.
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint }
    }
}

impl Provider for OpenAi {
    fn ask(&self, prompt: &Prompt, stop: &AtomicBool) -> Result<Reply, Trouble> {
        if self.endpoint.model.is_empty() {
            return Err(Trouble::NotSetUp("`distill.model` is not set".to_owned()));
        }
        let is_openai = self.endpoint.base_url == Self::ADDRESS;
        if is_openai && self.endpoint.key.is_none() {
            return Err(Trouble::NotSetUp("there is no API key".to_owned()));
        }
        // Local servers need no key.
        let key = self.endpoint.key.as_ref();
        let headers = key.map(|key| ("authorization", format!("Bearer {}", key.0)));
        let mut body = json!({
            "model": self.endpoint.model,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.user},
            ],
        });
        // OpenAI's newer models reject the old name; most compatible servers accept only that.
        let most = if is_openai {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        body[most] = json!(MAX_ANSWER_TOKENS);
        read(&http::post(
            &self.endpoint,
            "/chat/completions",
            headers.into_iter().collect(),
            &body,
            stop,
        )?)
    }
}

fn read(answer: &Value) -> Result<Reply, Trouble> {
    let choice = &answer["choices"][0];
    let message = &choice["message"];
    if choice["finish_reason"] == "content_filter" || message["refusal"].is_string() {
        return Err(Trouble::Refused("the model refused to answer".to_owned()));
    }
    let Some(text) = message["content"].as_str() else {
        return Err(Trouble::Nonsense("the answer has no content".to_owned()));
    };
    let usage = &answer["usage"];
    let count = |name: &str| usage[name].as_u64();
    Ok(Reply {
        text: text.to_owned(),
        usage: count("prompt_tokens")
            .zip(count("completion_tokens"))
            .map(|(tokens_in, tokens_out)| Usage {
                tokens_in,
                tokens_out,
            }),
    })
}
