//! Decides whether a payload becomes an event, and which parts of it are kept.
//!
//! Drops skipped tools, the memory's own tools and fully private prompts. Knows which fields are conversation, through
//! which a private span may extend, and which are metadata. The text itself is rewritten by `sanitize`.

use std::borrow::Cow;

use backstory_model::{EventKind, ToolInput};
use backstory_secrets as secrets;

use crate::{
    hook_payload::HookPayload,
    sanitize::{PayloadSanitizer, SanitizeOptions},
    seen_secrets::SeenSecrets,
};

/// The settings of capture.
#[derive(Clone, Debug)]
pub struct CaptureSettings {
    /// Tools whose calls are not recorded.
    pub skip_tools: Vec<String>,
    /// Redact secrets before anything is written.
    pub redact: bool,
    /// The maximum size of an event, in bytes.
    pub max_payload: usize,
}

impl CaptureSettings {
    /// Returns the options for sanitizing a payload.
    pub fn sanitize_options(&self) -> SanitizeOptions {
        SanitizeOptions {
            redact: self.redact,
            budget: self.max_payload,
            secret_file: false,
        }
    }
}

/// The decision about a payload.
#[derive(Debug, PartialEq, Eq)]
pub enum CaptureDecision {
    /// Record the sanitized payload: one JSON object, with its original white space between values.
    Event(String),
    /// The prompt is fully private, and so is its turn.
    PrivatePrompt,
    /// Record nothing.
    Nothing,
}

/// Identifiers: random, but no secrets.
const IDS: [&str; 4] = ["session_id", "prompt_id", "tool_use_id", "agent_id"];

/// Metadata that the agent fills in. A private span that is left open in the conversation does not extend into them.
const METADATA: [&str; 14] = [
    "transcript_path",
    "cwd",
    "hook_event_name",
    "permission_mode",
    "tool_name",
    "agent_type",
    "agent_transcript_path",
    "source",
    "reason",
    "trigger",
    "duration_ms",
    "is_interrupt",
    "stop_hook_active",
    "model",
];

/// Filters and sanitizes a payload. Redacts the secrets that the session has `seen`, and adds those of the payload to it.
pub fn filter_payload(
    kind: EventKind,
    payload: &HookPayload<'_>,
    settings: &CaptureSettings,
    seen: &mut SeenSecrets,
) -> CaptureDecision {
    let tool = payload.tool_name().unwrap_or_default();
    if settings.skip_tools.iter().any(|skipped| *skipped == tool) || is_own_tool(&tool) {
        return CaptureDecision::Nothing;
    }
    // Claude Code runs its compactions as sub-agents without a name.
    if kind == EventKind::SubagentStop && payload.agent_type().is_some_and(|name| name.is_empty()) {
        return CaptureDecision::Nothing;
    }
    let subject = payload
        .tool_input()
        .map(|input| ToolTarget::of(&input))
        .unwrap_or_default();
    let rules = settings.sanitize_options().of_secret_file(subject.secret_file);
    let (json, private) = rewrite(payload, rules, subject.hidden_output, seen);
    if kind == EventKind::UserPromptSubmit && private {
        CaptureDecision::PrivatePrompt
    } else {
        CaptureDecision::Event(json)
    }
}

/// Recognizes the memory's own tools, registered as a server or by the plugin, in the notation of any host. Their
/// answers are stored already.
pub fn is_own_tool(tool: &str) -> bool {
    let name = tool
        .strip_prefix("mcp__")
        .or_else(|| tool.strip_prefix("mcp_"))
        .unwrap_or(tool);
    ["backstory_", "backstory-", "plugin_backstory_"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// The properties of a tool call that decide how its answer is treated.
#[derive(Clone, Copy, Debug, Default)]
pub struct ToolTarget {
    /// A file of secrets is read or written.
    pub secret_file: bool,
    /// The output is not recorded: the memory itself is queried, or the command prints a secret.
    pub hidden_output: bool,
}

impl ToolTarget {
    /// Classifies a call by its input.
    pub fn of<'t>(input: &ToolInput<impl Fn(&str) -> Option<Cow<'t, str>>>) -> Self {
        let command = input.command().unwrap_or_default();
        let words = || {
            command
                .split(|c: char| c.is_whitespace() || "'\"<>|;&()=".contains(c))
                .take(4096)
        };
        let printed = secrets::printed_secrets(&command);
        Self {
            secret_file: input.path().is_some_and(|path| secrets::is_secret_file(&path))
                || words().any(secrets::is_secret_file)
                || printed.environment,
            hidden_output: asks_memory(words()) || printed.secret,
        }
    }
}

/// Recognizes `backstory search` and other reading commands.
fn asks_memory<'w>(mut words: impl Iterator<Item = &'w str>) -> bool {
    const READS: [&str; 8] = [
        "search", "show", "timeline", "context", "why", "session", "sessions", "export",
    ];
    while let Some(word) = words.next() {
        if (word == "backstory" || word.ends_with("/backstory"))
            && words.next().is_some_and(|sub| READS.contains(&sub))
        {
            return true;
        }
    }
    false
}

/// Writes the sanitized object. Also returns whether it is a prompt that is fully private.
fn rewrite(
    payload: &HookPayload<'_>,
    rules: SanitizeOptions,
    hides_output: bool,
    seen: &mut SeenSecrets,
) -> (String, bool) {
    let length: usize = payload
        .fields()
        .map(|(name, raw)| name.len() + raw.len() + 8)
        .sum();
    let mut out = String::with_capacity(length.min(rules.budget / 4));
    let mut conversation = if payload.has_prompt() {
        PayloadSanitizer::of_user_text(rules)
    } else {
        PayloadSanitizer::new(rules)
    };
    let mut private = false;
    for (name, raw) in payload.fields().filter(|(name, _)| name.len() <= MAX_FIELD_NAME) {
        start_field(name, &mut out);
        let value_at = out.len();
        if is_short_id(name, raw) {
            out.push_str(raw);
        } else if METADATA.contains(&name) || IDS.contains(&name) {
            PayloadSanitizer::new(rules).value(raw, &mut out);
        } else if hides_output && matches!(name, "tool_response" | "tool_output") {
            out.push_str("null");
        } else {
            conversation.value(raw, &mut out);
        }
        if name == "last_assistant_message" && raw.starts_with('"') {
            remove_reminders(&mut out, value_at);
        }
        if name == "prompt" {
            private = conversation.has_cut() && says_nothing(&out[value_at..]);
        }
    }
    end_object(&mut out);
    let earlier = if rules.redact { seen.all() } else { &[] };
    let out = conversation.without_repeats(out, earlier);
    seen.add(conversation.fingerprints());
    (out, private)
}

/// Removes the blocks that a host inserted, in the JSON string that starts at `from`. The agent did not write them. Without its
/// end a tag is a mention of it.
fn remove_reminders(out: &mut String, from: usize) {
    const OPEN: &str = "<system-reminder>";
    // A slash may be escaped in JSON.
    const CLOSE: [&str; 2] = ["</system-reminder>", "<\\/system-reminder>"];
    while let Some(start) = out[from..].find(OPEN).map(|at| from + at) {
        let inside = &out[start..];
        let ends = CLOSE
            .iter()
            .filter_map(|close| inside.find(close).map(|at| at + close.len()));
        let Some(end) = ends.min().map(|length| start + length) else {
            return;
        };
        out.replace_range(start..end, "");
    }
}

/// The longest name of a field. No host has one, and names are not part of the budget.
const MAX_FIELD_NAME: usize = 256;

fn start_field(name: &str, out: &mut String) {
    out.push(if out.is_empty() { '{' } else { ',' });
    if name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    {
        out.extend(["\"", name, "\":"]);
        return;
    }
    // Names are unescaped by the splitter; quoting them again cannot fail.
    out.push_str(&serde_json::Value::from(name).to_string());
    out.push(':');
}

fn end_object(out: &mut String) {
    if out.is_empty() {
        out.push('{');
    }
    out.push('}');
}

fn is_short_id(name: &str, raw: &str) -> bool {
    IDS.contains(&name) && raw.starts_with('"') && raw.len() <= 130
}

/// Reports whether a JSON string contains no word: what is left of a private prompt may be a full stop.
fn says_nothing(json: &str) -> bool {
    serde_json::from_str::<String>(json).is_ok_and(|text| !text.contains(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn settings() -> CaptureSettings {
        CaptureSettings {
            skip_tools: vec!["TodoWrite".into()],
            redact: true,
            max_payload: 256 * 1024,
        }
    }

    fn kept(kind: EventKind, value: &Value) -> CaptureDecision {
        let text = value.to_string();
        filter_payload(
            kind,
            &HookPayload::read(&text).unwrap(),
            &settings(),
            &mut SeenSecrets::default(),
        )
    }

    #[test]
    fn tool_output_counts_as_tool_response() {
        let one = json!({"session_id": "s", "tool_name": "Bash", "tool_output": {"stdout": "x"}});
        let recorded = event(EventKind::PostToolUse, &one);
        assert_eq!(recorded["tool_response"], json!({"stdout": "x"}));
        assert_eq!(recorded.get("tool_output"), None);
        let both = json!({"session_id": "s", "tool_response": "a", "tool_output": "b"});
        assert_eq!(event(EventKind::PostToolUse, &both)["tool_response"], "a");
        let secret = json!({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "backstory search x"},
            "tool_response": "a", "tool_output": "b"});
        let recorded = event(EventKind::PostToolUse, &secret);
        assert_eq!(
            (&recorded["tool_response"], &recorded["tool_output"]),
            (&Value::Null, &Value::Null)
        );
    }

    #[test]
    fn reminders_of_the_host_are_removed_from_the_last_message() {
        for (message, wanted) in [
            (
                "Done.<system-reminder>be nice\n</system-reminder> Next: x",
                "Done. Next: x",
            ),
            (
                "<system-reminder>a</system-reminder><system-reminder>b</system-reminder>",
                "",
            ),
            ("What is <system-reminder>?", "What is <system-reminder>?"),
        ] {
            let stop = json!({"session_id": "s", "last_assistant_message": message});
            assert_eq!(event(EventKind::Stop, &stop)["last_assistant_message"], wanted);
            let escaped = stop.to_string().replace('/', "\\/");
            let payload = HookPayload::read(&escaped).unwrap();
            let CaptureDecision::Event(json) = filter_payload(
                EventKind::Stop,
                &payload,
                &settings(),
                &mut SeenSecrets::default(),
            ) else {
                panic!("not recorded");
            };
            let recorded: Value = serde_json::from_str(&json).unwrap();
            assert_eq!(recorded["last_assistant_message"], wanted);
        }
        let nested = json!({"last_assistant_message": ["<system-reminder>", ["</system-reminder>"]]});
        assert_eq!(event(EventKind::Stop, &nested), nested, "no text");
    }

    fn event(kind: EventKind, value: &Value) -> Value {
        match kept(kind, value) {
            CaptureDecision::Event(json) => serde_json::from_str(&json).unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_ordinary_payload_is_kept_unchanged() {
        let payload =
            json!({"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"}, "x": [1, null]});
        assert_eq!(event(EventKind::PostToolUse, &payload), payload);
        assert_eq!(event(EventKind::PostToolUse, &json!({})), json!({}));
    }

    #[test]
    fn skipped_tools_and_our_own_are_not_recorded() {
        for tool in [
            "TodoWrite",
            "mcp__backstory__search",
            "mcp__plugin_backstory_backstory__timeline",
            "mcp_backstory_search",
            "backstory_search",
            "backstory-search",
        ] {
            assert_eq!(
                kept(EventKind::PostToolUse, &json!({"tool_name": tool})),
                CaptureDecision::Nothing,
                "{tool}"
            );
        }
        assert_ne!(
            kept(
                EventKind::PostToolUse,
                &json!({"tool_name": "mcp__backstoryish__x"})
            ),
            CaptureDecision::Nothing
        );
        let fork = json!({"agent_type": "", "last_assistant_message": "<summary>"});
        assert_eq!(kept(EventKind::SubagentStop, &fork), CaptureDecision::Nothing);
    }

    #[test]
    fn output_of_the_memorys_own_commands_is_dropped() {
        for command in [
            "backstory search auth",
            "cd x && ./target/release/backstory show 12 | head",
            "(backstory context)",
        ] {
            let payload = json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": {"stdout": "old"}});
            assert_eq!(
                event(EventKind::PostToolUse, &payload)["tool_response"],
                Value::Null,
                "{command}"
            );
        }
        let payload = json!({"tool_input": {"command": "cargo test -p backstory"}, "tool_response": "ok"});
        assert_eq!(event(EventKind::PostToolUse, &payload)["tool_response"], "ok");
    }

    #[test]
    fn a_fully_private_prompt_makes_its_turn_private() {
        let private = [
            "<private>x</private>",
            " \n<private>x",
            "<PRIVATE>a</PRIVATE>\n\t<private>b</private>",
            "<private>x</private>.",
            "\u{feff}<private>x</private>\u{200b}",
            "<pri\u{200b}vate>x</private>!",
            "&lt;private&gt;x&lt;/private&gt;",
            "- <private>x</private> …",
        ];
        for prompt in private {
            assert_eq!(
                kept(EventKind::UserPromptSubmit, &json!({ "prompt": prompt })),
                CaptureDecision::PrivatePrompt,
                "{prompt}"
            );
        }
        let partly = event(
            EventKind::UserPromptSubmit,
            &json!({"prompt": "fix <private>x</private> it"}),
        );
        assert_eq!(partly["prompt"], "fix  it");
        assert_eq!(
            event(EventKind::UserPromptSubmit, &json!({"prompt": ""}))["prompt"],
            ""
        );
    }

    #[test]
    fn an_open_span_does_not_extend_into_metadata() {
        let payload = json!({"prompt": "a <private> b", "cwd": "/w", "error": "c", "tool_use_id": "t"});
        let expected = json!({"prompt": "a ", "cwd": "/w", "error": "", "tool_use_id": "t"});
        assert_eq!(event(EventKind::PostToolUse, &payload), expected);
    }

    #[test]
    fn a_large_payload_is_cut_to_its_limit_and_keeps_its_ids() {
        let strings: Vec<String> = (0..40_000).map(|n| format!("string number {n}")).collect();
        let nested = json!({"a": [{"b": strings, "c": 1}, 2], "d": 3});
        let numbers: Vec<u32> = (0..200_000).collect();
        let many: serde_json::Map<String, Value> =
            (0..40_000).map(|n| (format!("key {n}"), json!(n))).collect();
        let long: Vec<String> = (0..40).map(|n| format!("{n} ").repeat(9000)).collect();
        for content in [json!(strings), nested, json!(numbers), json!(many), json!(long)] {
            let payload = json!({"session_id": "s", "tool_input": content, "tool_response": content, "tool_use_id": "t"});
            let cut = event(EventKind::PostToolUse, &payload);
            let length = cut.to_string().len();
            assert!((120_000..270_000).contains(&length), "{length}");
            assert_eq!(
                (&cut["session_id"], &cut["tool_use_id"]),
                (&json!("s"), &json!("t"))
            );
            assert!(cut["tool_response"].to_string().len() > 20_000);
        }
    }

    #[test]
    fn long_keys_are_cut() {
        let long = "k".repeat(1_000_000);
        let payload = json!({"session_id": "s", &long: 1, "tool_input": {&long: {&long: "v"}, "short": 1}});
        let cut = event(EventKind::PostToolUse, &payload);
        assert!(cut.to_string().len() < 2_000, "{}", cut.to_string().len());
        assert_eq!(
            (&cut["session_id"], &cut["tool_input"]["short"]),
            (&json!("s"), &json!(1))
        );
    }

    #[test]
    fn output_of_commands_that_print_a_secret_is_dropped() {
        for command in [
            "pass show db",
            "op read op://a/b/c",
            "kubectl get secret db -o yaml | base64 -d",
        ] {
            let payload =
                json!({"tool_input": {"command": command}, "tool_response": {"stdout": "quiet otter"}});
            let text = event(EventKind::PostToolUse, &payload).to_string();
            assert!(!text.contains("otter"), "{text}");
        }
        let payload =
            json!({"tool_input": {"command": "env"}, "tool_response": {"stdout": "MODE=quiet-otter\nA=b"}});
        let text = event(EventKind::PostToolUse, &payload).to_string();
        assert!(!text.contains("otter") && text.contains("MODE="), "{text}");
    }

    #[test]
    fn a_secret_is_redacted_wherever_the_event_repeats_it() {
        let payload = json!({"tool_input": {"command": "./login quiet-otter7", "description": "7 quiet-otter77"},
            "tool_response": {"stdout": "user me\nDB_PASSWORD=quiet-otter7\n", "stderr": "bad login: quiet-otter7"}});
        let text = event(EventKind::PostToolUse, &payload).to_string();
        assert!(text.matches("[redacted:password]").count() == 3, "{text}");
        assert!(text.contains("7 quiet-otter77"), "{text}");
    }

    #[test]
    fn every_value_of_an_env_file_is_redacted() {
        for input in [
            json!({"file_path": "/w/.env"}),
            json!({"command": "cat /w/.env | head"}),
        ] {
            let payload = json!({"tool_input": input, "tool_response": {"content": "MODE=quiet-otter\n"}});
            let text = event(EventKind::PostToolUse, &payload).to_string();
            assert!(!text.contains("quiet-otter"), "{text}");
        }
    }
}
