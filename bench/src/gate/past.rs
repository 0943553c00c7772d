//! Reads the sessions and prompts of `data/gate`, and renders a session as hook payloads and a transcript of Claude Code.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// One project with its past sessions and later prompts.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Project {
    #[serde(rename = "project")]
    pub(super) name: String,
    pub(super) remote: String,
    pub(super) sessions: Vec<Session>,
    /// Prompts that should recall certain sessions.
    pub(super) related: Vec<Prompt>,
    /// Prompts that should recall nothing.
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

/// One action or message of the agent.
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

/// A prompt for a new session.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Prompt {
    #[serde(rename = "prompt")]
    pub(super) text: String,
    /// Sessions of which one should be recalled.
    #[serde(default)]
    pub(super) expect: Vec<String>,
    /// Way in which the prompt resembles past work.
    pub(super) way: String,
    /// Shares few words with the expected session.
    #[serde(default)]
    pub(super) far: bool,
    /// Shares words with memories, although it should recall nothing.
    #[serde(default)]
    pub(super) shares: bool,
}

/// Reads all projects, ordered by file name.
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

/// Hook payloads and transcript of a session.
#[derive(Debug)]
pub(super) struct Recording {
    /// Hook names with their payloads.
    pub(super) hooks: Vec<(&'static str, Value)>,
    /// Lines of the transcript.
    pub(super) transcript: String,
}

impl Session {
    /// Renders the session as Claude Code would report it; `id` must be a UUID.
    pub(super) fn record(&self, id: &str, root: &Path, transcript: &Path) -> Recording {
        let mut recorder = Recorder {
            id,
            root,
            transcript,
            prompt_id: None,
            recording: Recording {
                hooks: Vec::new(),
                transcript: String::new(),
            },
        };
        recorder.hook("session-start", "SessionStart", json!({"source": "startup"}));
        for (number, turn) in self.turns.iter().enumerate() {
            recorder.turn(number, turn);
        }
        recorder.hook(
            "session-end",
            "SessionEnd",
            json!({"reason": "prompt_input_exit"}),
        );
        recorder.recording
    }
}

struct Recorder<'s> {
    id: &'s str,
    root: &'s Path,
    transcript: &'s Path,
    prompt_id: Option<String>,
    recording: Recording,
}

impl Recorder<'_> {
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
        self.assistant(&json!({"type": "text", "text": turn.end}));
        let end = json!({"stop_hook_active": false, "last_assistant_message": turn.end});
        self.hook("stop", "Stop", end);
    }

    fn step(&mut self, step: &Step, tool_use: &str) {
        let path = |name: &String| self.root.join(name);
        let (tool, input, outcome) = match step {
            Step::Say { say } => {
                self.assistant(&json!({"type": "text", "text": say}));
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
        self.assistant(&json!({"type": "tool_use", "id": tool_use, "name": tool, "input": input}));
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

    /// Adds a message of the agent to the transcript.
    fn assistant(&mut self, block: &Value) {
        let message = json!({"id": format!("msg_{:024}", self.recording.transcript.len()), "type": "message",
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
        self.recording.hooks.push((hook, payload));
    }

    fn line(&mut self, kind: &str, fields: Value) {
        let number = self.recording.transcript.len();
        let mut line = json!({"type": kind, "isSidechain": false, "uuid": format!("{}{number:012x}", &self.id[..24]),
            "promptId": self.prompt_id, "cwd": self.root, "sessionId": self.id, "version": "2.1.325",
            "gitBranch": "main", "userType": "external", "timestamp": "2026-03-02T09:00:00.000Z"});
        extend(&mut line, fields);
        self.recording.transcript.push_str(&line.to_string());
        self.recording.transcript.push('\n');
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
