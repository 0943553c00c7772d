//! Past sessions and prompts, as they stand in `data/gate`, and what Claude Code's hooks say of such a session.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// One code base: what was done in it, and what is asked in it later.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Project {
    #[serde(rename = "project")]
    pub(super) name: String,
    pub(super) remote: String,
    pub(super) sessions: Vec<Session>,
    /// Prompts at which memories of certain sessions should come back.
    pub(super) related: Vec<Prompt>,
    /// Prompts at which nothing should.
    pub(super) unrelated: Vec<Prompt>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Session {
    pub(super) name: String,
    pub(super) days_ago: u32,
    turns: Vec<Turn>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Turn {
    prompt: String,
    steps: Vec<Step>,
    /// The agent's last message.
    end: String,
}

/// One thing that the agent did or said.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum Step {
    Say { say: String },
    Read { read: String, text: String },
    Edit { edit: String, old: String, new: String },
    Write { write: String, text: String },
    Run { run: String, out: String },
    Fail { run: String, error: String },
}

/// What a person types in a new session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prompt {
    #[serde(rename = "prompt")]
    pub(super) text: String,
    /// The sessions of which one should come back.
    #[serde(default)]
    pub(super) expect: Vec<String>,
    /// In what way it resembles past work, or does not.
    pub(super) way: String,
    /// Has few words in common with what it should bring.
    #[serde(default)]
    pub(super) far: bool,
    /// Has common words with memories, though it should bring nothing.
    #[serde(default)]
    pub(super) shares: bool,
}

/// Reads all projects, in the order of their files' names.
pub(super) fn projects() -> Result<Vec<Project>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/gate");
    let entries = fs::read_dir(&folder).with_context(|| format!("could not read {}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.sort();
    let read = |file: &PathBuf| {
        let text = fs::read_to_string(file)?;
        serde_json::from_str(&text).with_context(|| format!("could not read {}", file.display()))
    };
    files.iter().map(read).collect()
}

/// What a client would have told hooks and written down.
#[derive(Debug)]
pub(super) struct Told {
    /// The names of hooks with their payloads.
    pub(super) hooks: Vec<(&'static str, Value)>,
    /// The lines of the transcript.
    pub(super) transcript: String,
}

impl Session {
    /// Tells the session as Claude Code would; `id` must be a UUID.
    pub(super) fn tell(&self, id: &str, root: &Path, transcript: &Path) -> Told {
        let mut teller = Teller {
            id,
            root,
            transcript,
            prompt_id: None,
            told: Told {
                hooks: Vec::new(),
                transcript: String::new(),
            },
        };
        teller.hook("session-start", "SessionStart", json!({"source": "startup"}));
        for (number, turn) in self.turns.iter().enumerate() {
            teller.turn(number, turn);
        }
        teller.hook(
            "session-end",
            "SessionEnd",
            json!({"reason": "prompt_input_exit"}),
        );
        teller.told
    }
}

struct Teller<'s> {
    id: &'s str,
    root: &'s Path,
    transcript: &'s Path,
    prompt_id: Option<String>,
    told: Told,
}

impl Teller<'_> {
    fn turn(&mut self, number: usize, turn: &Turn) {
        let (session, _) = self.id.split_at(24);
        self.prompt_id = Some(format!("{session}{number:012x}"));
        self.hook(
            "user-prompt-submit",
            "UserPromptSubmit",
            json!({"prompt": turn.prompt}),
        );
        self.line(
            "user",
            json!({"message": {"role": "user", "content": turn.prompt}}),
        );
        for (step_number, step) in turn.steps.iter().enumerate() {
            let tool_use = format!("toolu_{}_{number}_{step_number}", &self.id[..8]);
            self.step(step, &tool_use);
        }
        self.said(&json!({"type": "text", "text": turn.end}));
        let end = json!({"stop_hook_active": false, "last_assistant_message": turn.end});
        self.hook("stop", "Stop", end);
    }

    fn step(&mut self, step: &Step, tool_use: &str) {
        let path = |name: &String| self.root.join(name);
        let (tool, input, outcome) = match step {
            Step::Say { say } => {
                self.said(&json!({"type": "text", "text": say}));
                return;
            }
            Step::Read { read, text } => {
                let lines = text.lines().count();
                (
                    "Read",
                    json!({"file_path": path(read)}),
                    Ok(
                        json!({"type": "text", "file": {"filePath": path(read), "content": text, "numLines": lines,
                        "startLine": 1, "totalLines": lines}}),
                    ),
                )
            }
            Step::Edit { edit, old, new } => (
                "Edit",
                json!({"file_path": path(edit), "old_string": old, "new_string": new, "replace_all": false}),
                Ok(
                    json!({"filePath": path(edit), "oldString": old, "newString": new, "originalFile": old,
                    "structuredPatch": [patch(old, new)], "userModified": false, "replaceAll": false}),
                ),
            ),
            Step::Write { write, text } => (
                "Write",
                json!({"file_path": path(write), "content": text}),
                Ok(
                    json!({"type": "create", "filePath": path(write), "content": text, "structuredPatch": [],
                    "originalFile": null, "userModified": false}),
                ),
            ),
            Step::Run { run, out } => (
                "Bash",
                json!({"command": run}),
                Ok(json!({"stdout": out, "stderr": "", "interrupted": false, "isImage": false})),
            ),
            Step::Fail { run, error } => ("Bash", json!({"command": run}), Err(error)),
        };
        self.said(&json!({"type": "tool_use", "id": tool_use, "name": tool, "input": input}));
        let mut fields = json!({"tool_name": tool, "tool_input": input, "tool_use_id": tool_use,
            "duration_ms": 40, "effort": {"level": "medium"}});
        let shown = match &outcome {
            Ok(response) => response.to_string(),
            Err(error) => (*error).clone(),
        };
        match outcome {
            Ok(response) => {
                fields["tool_response"] = response;
                self.hook("post-tool-use", "PostToolUse", fields);
            }
            Err(error) => {
                fields["error"] = json!(error);
                fields["is_interrupt"] = json!(false);
                self.hook("post-tool-use-failure", "PostToolUseFailure", fields);
            }
        }
        let result = json!({"type": "tool_result", "tool_use_id": tool_use, "content": shown});
        self.line("user", json!({"message": {"role": "user", "content": [result]}}));
    }

    /// The agent says or does something.
    fn said(&mut self, block: &Value) {
        let message = json!({"id": format!("msg_{:024}", self.told.transcript.len()), "type": "message",
            "role": "assistant", "model": "claude-opus-5-5", "content": [block]});
        self.line("assistant", json!({"message": message}));
    }

    fn hook(&mut self, hook: &'static str, event: &str, fields: Value) {
        let mut payload = json!({"session_id": self.id, "transcript_path": self.transcript, "cwd": self.root,
            "hook_event_name": event});
        if let Some(prompt_id) = &self.prompt_id {
            payload["prompt_id"] = json!(prompt_id);
            payload["permission_mode"] = json!("default");
        }
        extend(&mut payload, fields);
        self.told.hooks.push((hook, payload));
    }

    fn line(&mut self, kind: &str, fields: Value) {
        let number = self.told.transcript.len();
        let mut line = json!({"type": kind, "isSidechain": false, "uuid": format!("{}{number:012x}", &self.id[..24]),
            "promptId": self.prompt_id, "cwd": self.root, "sessionId": self.id, "version": "2.1.325",
            "gitBranch": "main", "userType": "external", "timestamp": "2026-03-02T09:00:00.000Z"});
        extend(&mut line, fields);
        self.told.transcript.push_str(&line.to_string());
        self.told.transcript.push('\n');
    }
}

fn patch(old: &str, new: &str) -> Value {
    let signed = |sign: char, text: &str| -> Vec<String> {
        text.lines().map(|line| format!("{sign}{line}")).collect()
    };
    let lines = [signed('-', old), signed('+', new)].concat();
    json!({"oldStart": 1, "oldLines": old.lines().count(), "newStart": 1, "newLines": new.lines().count(),
        "lines": lines})
}

fn extend(object: &mut Value, fields: Value) {
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
        object.extend(fields);
    }
}
