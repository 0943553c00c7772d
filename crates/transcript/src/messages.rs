//! Reads what persons, assistants and tools said in a line.
//!
//! Owns the blocks of a message's content and which turns are private.

use std::borrow::Cow;

use super::{
    RecordKind,
    blocks::{ContentBlock, blocks, inside, joined},
    position::{BlockDelta, Call, Treatment},
    prompts::{self, UserTextKind},
    reader::{Interpreter, LineHeader, id},
    sanitize::TranscriptSanitizer,
};
use backstory_capture::{
    filter::{ToolTarget, is_own_tool},
    payload::Payload,
    strip_tags::TagStripper,
};
use backstory_text::hash64;

/// Classifies a tool call by its input, which is raw JSON.
fn tool_target(input: &str) -> ToolTarget {
    Payload::read(input)
        .map(|input| ToolTarget::of(&input.as_tool_input()))
        .unwrap_or_default()
}

impl Interpreter {
    /// Reads what an assistant said and did.
    pub(super) fn assistant(&mut self, mut line: LineHeader<'_>) {
        let Some(message) = line.object("message") else {
            return;
        };
        line.model = message.raw("model");
        if line.is("isApiErrorMessage") || line.model == Some("\"<synthetic>\"") {
            self.skipped.api_errors += 1;
            return;
        }
        let message_id = id(&message, "id");
        let mut state = self.position.take(message_id.as_deref());
        for block in blocks(message.raw("content")) {
            match block {
                ContentBlock::Text(raw) => {
                    let text = match state.text(inside(raw)) {
                        BlockDelta::Nothing => continue,
                        BlockDelta::All => self.wash.text(raw, &mut state.cutter),
                        BlockDelta::From(length) => unread_suffix(self.wash, raw, length, &mut state.cutter),
                    };
                    if !text.trim().is_empty() && text.trim() != "(no content)" {
                        let message_id = message_id.clone();
                        self.push_record(&line, RecordKind::Prose { text, message_id });
                    }
                }
                ContentBlock::ToolUse(call) if id(&call, "id").is_some_and(|id| state.is_new_call(&id)) => {
                    self.tool_use(&line, &call, &mut state.cutter);
                }
                _ => {}
            }
        }
        self.position.put(state);
    }

    fn tool_use(&mut self, line: &LineHeader<'_>, call: &Payload<'_>, cutter: &mut TagStripper) {
        let (Some(id), Some(name)) = (id(call, "id"), id(call, "name")) else {
            return;
        };
        let raw = call.raw("input").unwrap_or("{}");
        let subject = tool_target(raw);
        let is_skipped = self.settings.skip_tools.contains(&name);
        if is_own_tool(&name) || is_skipped {
            self.skipped.echoes += u64::from(!is_skipped);
            self.expect(id, Treatment::Dropped, subject);
            return;
        }
        let wash = self.wash.of_secret_file(subject.secret_file);
        let input = wash.value(raw, cutter);
        // A span that the input leaves open goes on in the answer.
        let treatment = if subject.echo || cutter.is_open() {
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

    /// Reads what stands in a person's place: prompts, tools' results, what the client put there.
    pub(super) fn user(&mut self, line: &LineHeader<'_>) {
        let Some(message) = line.object("message") else {
            return;
        };
        let prompt_id = line.id("promptId");
        let is_late = prompt_id
            .as_ref()
            .is_some_and(|id| self.position.private.prompts.contains(id));
        let mut cutter = TagStripper::default();
        let mut result = line.fields.raw("toolUseResult");
        let mut said = Vec::new();
        for block in blocks(message.raw("content")) {
            match block {
                ContentBlock::ToolResult(answer) => {
                    let is_private = is_late || self.position.private.now;
                    self.tool_result(line, &answer, result.take(), is_private, &mut cutter);
                }
                other => said.push(other),
            }
        }
        if said.is_empty() {
            return;
        }
        if line.is("isCompactSummary") {
            self.compaction(line, &said);
        } else if ["isMeta", "isVisibleInTranscriptOnly", "isVirtual"]
            .iter()
            .any(|flag| line.is(flag))
        {
            self.position.local_commands |= said.iter().any(|block| match block {
                ContentBlock::Text(raw) => prompts::announces_local_commands(inside(raw)),
                _ => false,
            });
        } else {
            let origin = line.object("origin");
            self.said(line, &said, origin.as_ref(), prompt_id, cutter);
        }
    }

    fn tool_result(
        &mut self,
        line: &LineHeader<'_>,
        answer: &Payload<'_>,
        result: Option<&str>,
        is_private: bool,
        cutter: &mut TagStripper,
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
        let wash = self.wash.of_secret_file(call.secret_file);
        let text = result_text(wash, answer.raw("content"), cutter);
        let is_error = answer.raw("is_error") == Some("true");
        let (text, result) = match call.result {
            Treatment::Dropped => return,
            Treatment::Emptied => (None, None),
            Treatment::Kept => (
                (!text.is_empty()).then_some(text),
                result.map(|raw| wash.value(raw, &mut TagStripper::default())),
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

    /// Remembers what a private turn started: its end is reported in a later turn.
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

    fn compaction(&mut self, line: &LineHeader<'_>, said: &[ContentBlock<'_>]) {
        // It sums up private turns along with the others.
        if self.position.private.ever {
            self.skipped.private += 1;
            return;
        }
        let mut cutter = TagStripper::default();
        let summary = joined(said.iter().filter_map(|block| match block {
            ContentBlock::Text(raw) => Some(self.wash.text(raw, &mut cutter)),
            _ => None,
        }));
        let summary = prompts::without_inserted(&summary).trim().to_owned();
        if !summary.is_empty() {
            self.push_record(line, RecordKind::Compaction { summary });
        }
    }

    /// Reads a prompt that was typed while the assistant was at work, and counts what hooks said.
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
            let said = blocks(attachment.raw("prompt"));
            self.said(
                line,
                &said,
                origin.as_ref(),
                line.id("promptId"),
                TagStripper::default(),
            );
        }
    }

    /// Tells what the texts in a person's place say.
    fn said(
        &mut self,
        line: &LineHeader<'_>,
        said: &[ContentBlock<'_>],
        origin: Option<&Payload<'_>>,
        prompt_id: Option<String>,
        mut cutter: TagStripper,
    ) {
        let local_commands = std::mem::take(&mut self.position.local_commands);
        let mut prompt = Vec::new();
        let mut notice = false;
        let mut emptied = false;
        for block in said {
            let was_open = cutter.is_open();
            let text = match block {
                ContentBlock::Text(raw) => self.wash_said(raw, &mut cutter),
                ContentBlock::Picture(name) => name.clone(),
                _ => continue,
            };
            match prompts::read(&text, local_commands) {
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

    /// Says whether a text of which nothing is left was a private one, rather than an echo of the memory or nothing.
    fn is_private(&mut self, block: &ContentBlock<'_>, was_open: bool) -> bool {
        let ContentBlock::Text(raw) = block else {
            return false;
        };
        if was_open || raw.to_ascii_lowercase().contains("private") {
            return was_open || matches!(TagStripper::default().strip(raw), Cow::Owned(_));
        }
        self.skipped.echoes += u64::from(matches!(TagStripper::default().strip(raw), Cow::Owned(_)));
        false
    }

    /// Cleans a text in a person's place; what a typed command printed, as the command asks for.
    fn wash_said(&self, raw: &str, cutter: &mut TagStripper) -> String {
        let shows_secrets = self.position.typed.as_ref().is_some_and(|call| call.secret_file);
        let is_printed = prompts::is_printed(inside(raw).trim_start());
        self.wash
            .of_secret_file(shows_secrets && is_printed)
            .text(raw, cutter)
    }

    fn prompt(&mut self, line: &LineHeader<'_>, text: String, prompt_id: Option<String>, machine_made: bool) {
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
        self.push_record(
            line,
            RecordKind::Prompt {
                text,
                prompt_id,
                machine_made,
            },
        );
    }

    /// Tells a `!command` of the person as what it is: a use of the shell.
    fn typed(&mut self, line: &LineHeader<'_>, command: &str) {
        let command = self.wash.plain(command);
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
            result: if subject.echo {
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
        let text = self.wash.of_secret_file(call.secret_file).plain(output);
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

/// Returns what a block has that it did not have when it was read before.
fn unread_suffix(wash: TranscriptSanitizer, raw: &str, length: usize, cutter: &mut TagStripper) -> String {
    let inside = inside(raw);
    let mut from = length;
    if wash.redacts() {
        // A secret that was cut in two would not be recognised by its second half.
        let found = backstory_secrets::find(inside, backstory_secrets::ScanContext::default());
        let across = found
            .iter()
            .find(|secret| secret.range.start < from && secret.range.end > from);
        from = across.map_or(from, |secret| secret.range.end);
    }
    wash.text(&format!("\"{}\"", &inside[from..]), cutter)
}

/// Returns the text that a tool's answer shows to the model.
fn result_text(wash: TranscriptSanitizer, content: Option<&str>, cutter: &mut TagStripper) -> String {
    let texts = blocks(content).into_iter().filter_map(|block| match block {
        ContentBlock::Text(raw) => Some(wash.text(raw, cutter)),
        ContentBlock::Picture(name) => Some(name),
        _ => None,
    });
    prompts::without_inserted(&joined(texts)).trim_end().to_owned()
}
