//! The fields of a hook payload, by name.
//!
//! Every host's payload has these names once it is normalized (see [`crate::host`]); no other module of the hook path
//! spells them, and `tool_output` counts as `tool_response`. Values are read on access: a payload may hold a megabyte of which a hook needs one id.

use std::borrow::Cow;

use backstory_model::ToolInput;
use serde_json::Value;

use crate::payload::{Payload, PayloadError};

/// A normalized hook payload whose object and tool input are split into raw fields.
#[derive(Debug)]
pub struct HookPayload<'t> {
    payload: Payload<'t>,
    tool_input: Option<Payload<'t>>,
}

impl<'t> HookPayload<'t> {
    /// Splits an object that [`crate::payload::to_text`] has prepared.
    pub fn read(text: &'t str) -> Result<Self, PayloadError> {
        let mut payload = Payload::read(text)?;
        payload.rename("tool_output", "tool_response");
        let tool_input = payload
            .raw("tool_input")
            .and_then(|input| Payload::read(input).ok());
        Ok(Self { payload, tool_input })
    }

    /// Returns all fields: name and raw JSON.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &'t str)> {
        self.payload.fields()
    }

    /// Returns the agent's id of the session.
    pub fn session_id(&self) -> Option<Cow<'t, str>> {
        self.payload.text("session_id")
    }

    /// Returns the working folder of the session.
    pub fn cwd(&self) -> Option<Cow<'t, str>> {
        self.payload.text("cwd")
    }

    /// Returns how the session started: `startup`, `resume`, `clear`, `compact` or `fork`.
    pub fn source(&self) -> Option<Cow<'t, str>> {
        self.payload.text("source")
    }

    /// Returns the prompt.
    pub fn prompt(&self) -> Option<Cow<'t, str>> {
        self.payload.text("prompt")
    }

    /// Reports whether there is a prompt.
    pub fn has_prompt(&self) -> bool {
        self.payload.raw("prompt").is_some()
    }

    /// Returns at least the first `length` bytes of the prompt, without unescaping all of it.
    pub fn prompt_start(&self, length: usize) -> Option<Cow<'t, str>> {
        self.payload.start("prompt", length)
    }

    /// Returns the agent's id of the turn.
    pub fn prompt_id(&self) -> Option<Cow<'t, str>> {
        self.payload.text("prompt_id")
    }

    /// Returns the id of the sub-agent that the event happened in.
    pub fn agent_id(&self) -> Option<Cow<'t, str>> {
        self.payload.text("agent_id")
    }

    /// Returns the kind of sub-agent that the event happened in.
    pub fn agent_type(&self) -> Option<Cow<'t, str>> {
        self.payload.text("agent_type")
    }

    /// Returns the name of the tool.
    pub fn tool_name(&self) -> Option<Cow<'t, str>> {
        self.payload.text("tool_name")
    }

    /// Returns the input of the tool call, if it is an object.
    pub fn tool_input(&self) -> Option<ToolInput<impl Fn(&str) -> Option<Cow<'t, str>>>> {
        self.tool_input.as_ref().map(Payload::as_tool_input)
    }

    /// Returns the error of a failed tool call.
    pub fn error(&self) -> Option<Cow<'t, str>> {
        self.payload.text("error")
    }

    /// Returns the texts of the answer of a tool call, one after the other.
    pub fn answer_text(&self) -> Option<String> {
        let answer: Value = serde_json::from_str(self.payload.raw("tool_response")?).ok()?;
        let mut texts = String::new();
        push_texts(&answer, &mut texts);
        Some(texts)
    }

    /// Returns the ids of the sub-agents and background commands that the tool call started.
    pub fn launched_tasks(&self) -> Vec<Cow<'t, str>> {
        const IDS: [&str; 4] = ["agentId", "backgroundTaskId", "taskId", "shellId"];
        let response = self.payload.raw("tool_response").map(Payload::read);
        let Some(Ok(response)) = response else {
            return Vec::new();
        };
        IDS.iter().filter_map(|name| response.text(name)).collect()
    }
}

fn push_texts(value: &Value, texts: &mut String) {
    match value {
        Value::String(text) => {
            texts.push_str(text);
            texts.push('\n');
        }
        Value::Array(items) => items.iter().for_each(|item| push_texts(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| push_texts(field, texts)),
        _ => {}
    }
}
