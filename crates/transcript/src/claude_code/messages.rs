//! Interprets the messages of users, assistants and tools.
//!
//! Decides which turns are private: nothing of them becomes a record.

use std::borrow::Cow;

use backstory_capture::{
    filter::{ToolTarget, is_own_tool},
    payload::Payload,
    sanitize::SanitizeOptions,
    strip_tags::TagStripper,
};
use backstory_text::hash64;

use super::{
    blocks::{ContentBlock, blocks, inside, joined},
    interpreter::{Interpreter, LineHeader, id},
    position::{BlockDelta, Call, Treatment},
    prompts::{self, UserTextKind},
};
use crate::record::RecordKind;

/// Classifies a tool call by its input, which is raw JSON.
fn tool_target(input: &str) -> ToolTarget {
    Payload::read(input)
        .map(|input| ToolTarget::of(&input.as_tool_input()))
        .unwrap_or_default()
}

impl Interpreter {
    /// Interprets a message of the assistant.
    pub(super) fn assistant(&mut self, mut line: LineHeader<'_>) {
        let Some(message) = line.object("message") else {
            return;
        };
        line.model = message.raw("model");
        if line.is("isApiErrorMessage") || line.model == Some("\"<synthetic>\"") {
            self.skipped.api_errors += 1;
            return;
        }
        self.delivered_messages(&line);
        let message_id = id(&message, "id");
        let mut state = self.position.take(message_id.as_deref());
        for block in blocks(message.raw("content")) {
            match block {
                ContentBlock::Text(raw) => {
                    let text = match state.text(inside(raw)) {
                        BlockDelta::Nothing => continue,
                        BlockDelta::All => self.sanitizer.json_text(raw, &mut state.stripper),
                        BlockDelta::From(length) => {
                            unread_suffix(self.sanitizer, raw, length, &mut state.stripper)
                        }
                    };
                    if !text.trim().is_empty() && text.trim() != "(no content)" {
                        let message_id = message_id.clone();
                        self.push_record(&line, RecordKind::Prose { text, message_id });
                    }
                }
                ContentBlock::ToolUse(call) if id(&call, "id").is_some_and(|id| state.is_new_call(&id)) => {
                    self.tool_use(&line, &call, &mut state.stripper);
                }
                _ => {}
            }
        }
        self.position.put(state);
    }

    fn tool_use(&mut self, line: &LineHeader<'_>, call: &Payload<'_>, stripper: &mut TagStripper) {
        let (Some(id), Some(name)) = (id(call, "id"), id(call, "name")) else {
            return;
        };
        let raw = call.raw("input").unwrap_or("{}");
        let subject = tool_target(raw);
        // Questions to the user and task lists are no events of their own, but the user's answers must not be lost.
        let is_statement = matches!(name.as_str(), "AskUserQuestion" | "TodoWrite");
        let is_skipped = self.settings.skip_tools.contains(&name) && !is_statement;
        if is_own_tool(&name) || is_skipped {
            self.skipped.echoes += u64::from(!is_skipped);
            self.expect(id, Treatment::Dropped, subject);
            return;
        }
        let sanitizer = self.sanitizer.of_secret_file(subject.secret_file);
        let input = sanitizer.json_value(raw, stripper);
        // A span that the input leaves open continues in the result.
        let treatment = if subject.hidden_output || stripper.is_open() {
            Treatment::Emptied
        } else {
            Treatment::Kept
        };
        self.expect(id.clone(), treatment, subject);
        self.push_record(line, RecordKind::ToolUse { id, name, input });
    }

    fn expect(&mut self, id: String, result: Treatment, subject: ToolTarget) {
        self.position.expect(Call {
            id,
            result,
            secret_file: subject.secret_file,
        });
    }

    /// Interprets a message with the role of the user: prompts, tool results, and texts of the host.
    pub(super) fn user(&mut self, line: &LineHeader<'_>) {
        let Some(message) = line.object("message") else {
            return;
        };
        let prompt_id = line.id("promptId");
        let is_late = prompt_id
            .as_ref()
            .is_some_and(|id| self.position.private.prompts.contains(id));
        let mut stripper = TagStripper::of_user_text();
        let mut result = line.fields.raw("toolUseResult");
        let mut contents = Vec::new();
        for block in blocks(message.raw("content")) {
            match block {
                ContentBlock::ToolResult(answer) => {
                    let is_private = is_late || self.position.private.now;
                    self.tool_result(line, &answer, result.take(), is_private, &mut stripper);
                }
                other => contents.push(other),
            }
        }
        if contents.is_empty() {
            self.delivered_messages(line);
            return;
        }
        if line.is("isCompactSummary") {
            self.compaction(line, &contents);
        } else if ["isMeta", "isVisibleInTranscriptOnly", "isVirtual"]
            .iter()
            .any(|flag| line.is(flag))
        {
            self.position.local_commands |= contents.iter().any(|block| match block {
                ContentBlock::Text(raw) => prompts::announces_local_commands(inside(raw)),
                _ => false,
            });
        } else {
            let origin = line.object("origin");
            self.user_texts(line, &contents, origin.as_ref(), prompt_id, stripper);
        }
    }

    fn tool_result(
        &mut self,
        line: &LineHeader<'_>,
        answer: &Payload<'_>,
        result: Option<&str>,
        is_private: bool,
        stripper: &mut TagStripper,
    ) {
        let Some(id) = id(answer, "tool_use_id") else {
            return;
        };
        let call = self.position.answered(&id);
        if is_private {
            self.note_tasks(result);
            self.skipped.private += 1;
            return;
        }
        let sanitizer = self.sanitizer.of_secret_file(call.secret_file);
        let text = result_text(sanitizer, answer.raw("content"), stripper);
        let is_error = answer.raw("is_error") == Some("true");
        let (text, result) = match call.result {
            Treatment::Dropped => return,
            Treatment::Emptied => (None, None),
            Treatment::Kept => (
                (!text.is_empty()).then_some(text),
                result.map(|raw| sanitizer.json_value(raw, &mut TagStripper::default())),
            ),
        };
        self.push_record(
            line,
            RecordKind::ToolResult {
                id,
                is_error,
                text,
                result,
            },
        );
    }

    /// Records the tasks that a private turn started, whose end is reported in a later turn.
    fn note_tasks(&mut self, result: Option<&str>) {
        let Some(result) = result.and_then(|raw| Payload::read(raw).ok()) else {
            return;
        };
        for name in ["agentId", "backgroundTaskId", "taskId", "shellId"] {
            if let Some(task) = id(&result, name) {
                self.position.private.started(&task);
            }
        }
    }

    fn compaction(&mut self, line: &LineHeader<'_>, contents: &[ContentBlock<'_>]) {
        // The summary covers private turns too.
        if self.position.private.ever {
            self.skipped.private += 1;
            return;
        }
        let mut stripper = TagStripper::default();
        let summary = joined(contents.iter().filter_map(|block| match block {
            ContentBlock::Text(raw) => Some(self.sanitizer.json_text(raw, &mut stripper)),
            _ => None,
        }));
        let summary = prompts::without_inserted(&summary).trim().to_owned();
        if !summary.is_empty() {
            self.push_record(line, RecordKind::Compaction { summary });
        }
    }

    /// Reads a prompt that was queued while the assistant was working, and counts the output of hooks.
    pub(super) fn attachment(&mut self, line: &LineHeader<'_>) {
        let Some(attachment) = line.object("attachment") else {
            return;
        };
        let kind = attachment.text("type").unwrap_or_default();
        if kind.starts_with("hook_") {
            self.skipped.echoes += 1;
        } else if kind == "queued_command"
            && attachment.raw("isMeta") != Some("true")
            && attachment.text("commandMode").as_deref() != Some("bash")
        {
            let origin = attachment.raw("origin").and_then(|raw| Payload::read(raw).ok());
            let contents = blocks(attachment.raw("prompt"));
            self.user_texts(
                line,
                &contents,
                origin.as_ref(),
                line.id("promptId"),
                TagStripper::of_user_text(),
            );
        }
    }

    /// Adds records for texts with the role of the user.
    fn user_texts(
        &mut self,
        line: &LineHeader<'_>,
        contents: &[ContentBlock<'_>],
        origin: Option<&Payload<'_>>,
        prompt_id: Option<String>,
        mut stripper: TagStripper,
    ) {
        let local_commands = std::mem::take(&mut self.position.local_commands);
        let mut prompt = Vec::new();
        let mut notice = false;
        let mut emptied = false;
        for block in contents {
            let was_open = stripper.is_open();
            let text = match block {
                ContentBlock::Text(raw) => self.sanitize_user_text(raw, &mut stripper),
                ContentBlock::Picture(name) => name.clone(),
                _ => continue,
            };
            match prompts::read(&text, local_commands) {
                // What is left of a private prompt may be a full stop.
                UserTextKind::Prompt(text)
                    if !text.contains(char::is_alphanumeric) && self.is_private(block, was_open) =>
                {
                    emptied = true;
                }
                UserTextKind::Prompt(text) => prompt.push(text),
                UserTextKind::Notice(text) => {
                    notice = true;
                    prompt.push(text);
                }
                UserTextKind::Typed(command) => self.typed(line, &command),
                UserTextKind::Printed(output) => self.printed(line, &output),
                UserTextKind::Interrupted => self.push_record(line, RecordKind::Interrupted),
                UserTextKind::Local => {}
                UserTextKind::Nothing => emptied |= self.is_private(block, was_open),
            }
        }
        let is_picture = |text: &String| matches!(text.as_str(), "[image]" | "[document]");
        if emptied && prompt.iter().all(is_picture) {
            self.skipped.private += 1;
            self.position.private.begin(prompt_id.as_deref());
        } else if !prompt.is_empty() {
            let kind = origin.and_then(|origin| origin.text("kind"));
            let machine_made = notice || line.agent_id.is_some() || kind.is_some_and(|kind| kind != "human");
            self.prompt(line, joined(prompt.into_iter()), prompt_id, machine_made);
        }
    }

    /// Reports whether a text that sanitizing left empty was private, rather than injected memory or blank.
    fn is_private(&mut self, block: &ContentBlock<'_>, was_open: bool) -> bool {
        let ContentBlock::Text(raw) = block else {
            return false;
        };
        let mut stripper = TagStripper::of_user_text();
        let is_stripped = matches!(stripper.strip(raw), Cow::Owned(_));
        if was_open || stripper.has_stripped_private() {
            return true;
        }
        self.skipped.echoes += u64::from(is_stripped);
        false
    }

    /// Sanitizes a text with the role of the user. The output of a typed command is treated as its target requires.
    fn sanitize_user_text(&self, raw: &str, stripper: &mut TagStripper) -> String {
        let shows_secrets = self.position.typed.as_ref().is_some_and(|call| call.secret_file);
        let is_printed = prompts::is_printed(inside(raw).trim_start());
        self.sanitizer
            .of_secret_file(shows_secrets && is_printed)
            .json_text(raw, stripper)
    }

    fn prompt(&mut self, line: &LineHeader<'_>, text: String, prompt_id: Option<String>, machine_made: bool) {
        self.position.queue.forget(&text);
        self.delivered_messages(line);
        let of_private =
            |id: Option<&str>, known: &[String]| id.is_some_and(|id| known.iter().any(|one| one == id));
        let private = &mut self.position.private;
        if !machine_made {
            private.end(prompt_id.as_deref());
        } else if of_private(prompts::task(&text), &private.tasks)
            || of_private(prompt_id.as_deref(), &private.prompts)
        {
            private.begin(prompt_id.as_deref());
        }
        // A notice that comes as an attachment reaches the assistant at work: the turn goes on.
        if machine_made && line.fields.text("type").as_deref() == Some("attachment") {
            return;
        }
        self.push_record(
            line,
            RecordKind::Prompt {
                text,
                prompt_id,
                machine_made,
            },
        );
    }

    /// Adds a record for a `!command` of the user: a call of the shell.
    fn typed(&mut self, line: &LineHeader<'_>, command: &str) {
        let command = self.sanitizer.plain_text(command);
        let input = serde_json::json!({ "command": command }).to_string();
        let subject = tool_target(&input);
        let id = match &line.uuid {
            Some(uuid) => format!("typed-{uuid}"),
            None => format!(
                "typed-{:x}-{:x}",
                self.position.offset,
                hash64(command.as_bytes())
            ),
        };
        self.position.typed = Some(Call {
            id: id.clone(),
            result: if subject.hidden_output {
                Treatment::Emptied
            } else {
                Treatment::Kept
            },
            secret_file: subject.secret_file,
        });
        let name = "Bash".to_owned();
        self.push_record(line, RecordKind::ToolUse { id, name, input });
    }

    fn printed(&mut self, line: &LineHeader<'_>, output: &str) {
        let Some(call) = self.position.typed.take() else {
            return;
        };
        let text = self.sanitizer.of_secret_file(call.secret_file).plain_text(output);
        let is_shown = call.result == Treatment::Kept && !text.is_empty();
        self.push_record(
            line,
            RecordKind::ToolResult {
                id: call.id,
                is_error: false,
                text: is_shown.then_some(text),
                result: None,
            },
        );
    }
}

/// Returns the part of a grown block that was not read before.
fn unread_suffix(sanitizer: SanitizeOptions, raw: &str, length: usize, stripper: &mut TagStripper) -> String {
    let inside = inside(raw);
    let mut from = length;
    if sanitizer.redact {
        // A secret would not be recognized by its second half.
        let found = backstory_secrets::find(inside, backstory_secrets::ScanContext::default());
        let across = found
            .iter()
            .find(|secret| secret.range.start < from && secret.range.end > from);
        from = across.map_or(from, |secret| secret.range.end);
    }
    sanitizer.json_text(&format!("\"{}\"", &inside[from..]), stripper)
}

/// Returns the text of a tool result that the model received. Its blocks are sanitized as one text: a private key may extend
/// over several.
fn result_text(sanitizer: SanitizeOptions, content: Option<&str>, stripper: &mut TagStripper) -> String {
    let blocks = blocks(content);
    let raw = blocks.iter().filter_map(|block| match block {
        ContentBlock::Text(raw) => Some(*raw),
        _ => None,
    });
    let mut texts = sanitizer.json_texts(raw, stripper).into_iter();
    let parts = blocks.iter().filter_map(|block| match block {
        ContentBlock::Text(_) => texts.next(),
        ContentBlock::Picture(name) => Some(name.clone()),
        _ => None,
    });
    prompts::without_inserted(&joined(parts)).trim_end().to_owned()
}
