//! Generates distinct turns: files, commands and words depend on the number of the session.

use std::path::Path;

use serde_json::{Value, json};

use crate::{
    payload::Shape,
    random::Random,
    text::{Style, subject, text},
};

/// Number of files changed in a session.
const FILES: usize = 3;

/// A session of one turn: a prompt, tool uses, a stop.
#[derive(Debug)]
pub(crate) struct Turn {
    session: String,
    project: String,
    random: Random,
    /// Subject: a noun, a verb and another noun.
    about: (&'static str, &'static str, &'static str),
    number: usize,
    files: [String; FILES],
}

impl Turn {
    pub(crate) fn new(number: usize, session: String, project: &Path) -> Self {
        let mut random = Random::new(number as u64 + 1);
        let ((thing, verb), (other, _)) = (subject(&mut random), subject(&mut random));
        let mut file = || {
            let ((folder, _), (name, _)) = (subject(&mut random), subject(&mut random));
            format!("{}/src/{folder}/{name}_{number}.rs", project.display())
        };
        Self {
            files: [file(), file(), file()],
            session,
            project: project.display().to_string(),
            random,
            about: (thing, verb, other),
            number,
        }
    }

    /// Returns the payload of the next hook; `id` becomes the id of a tool use.
    pub(crate) fn event(&mut self, shape: Shape, id: &str) -> String {
        let mut payload = match shape {
            Shape::Prompt => self.prompt(),
            Shape::Stop => self.stop(),
            Shape::Edit => self.edit(),
            _ => self.command(),
        };
        payload["session_id"] = json!(self.session);
        payload["cwd"] = json!(self.project);
        payload["prompt_id"] = json!(format!("prompt-{}", self.number));
        if shape.hook() == "post-tool-use" {
            payload["hook_event_name"] = json!("PostToolUse");
            payload["tool_use_id"] = json!(id);
        }
        payload.to_string()
    }

    fn prompt(&mut self) -> Value {
        let (thing, verb, other) = self.about;
        let more = text(Style::Prose, 600, &mut self.random);
        json!({
            "hook_event_name": "UserPromptSubmit",
            "prompt": format!("Make the {thing} {verb} at most {} of the {other}. {more}", self.number),
        })
    }

    fn stop(&mut self) -> Value {
        let (thing, verb, other) = self.about;
        let number = self.number;
        let file = self.files[0].rsplit('/').next().unwrap_or_default();
        let more = text(Style::Prose, 400, &mut self.random);
        json!({
            "hook_event_name": "Stop",
            "stop_hook_active": false,
            "last_assistant_message": format!(
                "The {thing} in `{file}` can {verb} at most {number} of the {other} now, because more than {number} \
                made it wait for the {other}. {more}\n\nNext: {verb} the {other} {number} in the same way."
            ),
        })
    }

    fn edit(&mut self) -> Value {
        let file = self.files[self.random.below(FILES)].clone();
        let (old, new) = (
            text(Style::Code, 120, &mut self.random),
            text(Style::Code, 160, &mut self.random),
        );
        json!({
            "tool_name": "Edit",
            "tool_input": {"file_path": file, "old_string": old, "new_string": new, "replace_all": false},
            "tool_response": {"filePath": file, "oldString": old, "newString": new, "userModified": false, "replaceAll": false},
        })
    }

    fn command(&mut self) -> Value {
        let (thing, verb) = subject(&mut self.random);
        let command = match self.random.below(4) {
            0 => format!("cargo test -p {thing} {verb}"),
            1 => format!("rg -n '{verb}_{thing}' src"),
            2 => format!("git log --oneline -5 -- src/{thing}"),
            _ => format!("cargo run -- {verb} --{thing} {}", self.random.below(100)),
        };
        json!({
            "tool_name": "Bash",
            "tool_input": {"command": command, "description": format!("Look how the {thing} is {verb}")},
            "tool_response": {"stdout": text(Style::Log, 500, &mut self.random), "stderr": "", "interrupted": false, "isImage": false},
        })
    }
}
