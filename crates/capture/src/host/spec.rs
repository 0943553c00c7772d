//! The types that describe a host.
//!
//! All of it is data: `backstory install` writes the files, the hook normalizes payloads and formats its output.

use std::fmt;

use backstory_model::EventKind;
use serde_json::Value;

use crate::payload::Payload;

/// The description of a host.
pub struct HostSpec {
    /// The name on the command line and in the store.
    pub name: &'static str,
    /// The display name.
    pub title: &'static str,
    /// Folders and files of the host, any of which shows that it is installed.
    pub install_markers: &'static [ConfigPath],
    /// The hooks to register.
    pub hooks: &'static [HookRow],
    /// The entries and files to install.
    pub parts: &'static [InstallItem],
    /// Normalizes its payloads; `None` if they need no mapping.
    pub normalize: Option<Normalize>,
    /// The triggers at which it accepts an injection, each with its format.
    pub injection_points: &'static [(InjectionTrigger, OutputFormat)],
    /// True if a hook before a command can make it ask the user.
    pub can_ask: bool,
    /// The output when there is nothing to inject.
    pub silence: DefaultOutput,
    /// The file in a project that it reads itself, for a host that accepts no injection at session start.
    pub rules: Option<RulesFile>,
    /// True if it ignores JSON files with comments or trailing commas.
    pub wants_plain_json: bool,
    /// The step that is left to the user after installation.
    pub post_install_note: Option<&'static str>,
    /// The program and its arguments before the id of a session that is to be continued; `None` if it cannot be told from
    /// outside.
    pub resume: Option<&'static [&'static str]>,
}

impl fmt::Debug for HostSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostSpec").field(&self.name).finish()
    }
}

impl HostSpec {
    /// Returns the format for an injection, if the host accepts one at this trigger.
    pub fn form(&self, moment: InjectionTrigger) -> Option<OutputFormat> {
        let heard = self.injection_points.iter().find(|(heard, _)| *heard == moment);
        heard.map(|(_, form)| *form)
    }
}

/// A file or folder of a host: in the folder named by an environment variable, else below the user's home.
#[derive(Clone, Copy, Debug)]
pub struct ConfigPath {
    /// The environment variable that overrides the folder.
    pub variable: Option<&'static str>,
    /// The folder below the user's home; empty for the home itself.
    pub folder: &'static str,
    /// The path below the folder; empty for the folder itself.
    pub path: &'static str,
}

impl ConfigPath {
    /// Returns a path that no environment variable overrides.
    pub(super) const fn home(folder: &'static str, path: &'static str) -> Self {
        Self {
            variable: None,
            folder,
            path,
        }
    }
}

/// One hook to register.
#[derive(Clone, Copy, Debug)]
pub struct HookRow {
    /// The host's name for the event.
    pub theirs: &'static str,
    /// The name of our event.
    pub ours: &'static str,
    /// The tools to which it applies; `None` for all.
    pub matcher: Option<&'static str>,
}

impl HookRow {
    pub(super) const fn new(theirs: &'static str, ours: &'static str) -> Self {
        Self {
            theirs,
            ours,
            matcher: None,
        }
    }

    pub(super) const fn matching(theirs: &'static str, ours: &'static str, matcher: &'static str) -> Self {
        Self {
            theirs,
            ours,
            matcher: Some(matcher),
        }
    }

    /// Returns the command line for a shell.
    pub(super) fn shell(&self, program: &str, host: &str) -> String {
        format!("{} hook {} --host {host}", shell_word(program), self.ours)
    }
}

/// One thing to install for a host.
#[derive(Clone, Copy, Debug)]
pub enum InstallItem {
    /// Entries in the arrays below `hooks` of a JSON file.
    Hooks {
        /// The file.
        file: ConfigPath,
        /// The `version` that the file must declare.
        version: Option<u8>,
        /// Returns the entry of one hook, for a program path.
        entry: fn(&HookRow, &str) -> Value,
    },
    /// An entry named `backstory` in an object of a JSON file.
    Server {
        /// The file.
        file: ConfigPath,
        /// Used instead of the file if it exists.
        instead: Option<ConfigPath>,
        /// The name of the object.
        key: &'static str,
        /// Returns the entry, for a program path.
        entry: fn(&str) -> Value,
    },
    /// A table `[KEY.backstory]` in a TOML file.
    ServerToml {
        /// The file.
        file: ConfigPath,
        /// The name of the parent table.
        key: &'static str,
    },
    /// The `statusLine` of a JSON file; installed only if the user asks for it.
    StatusLine {
        /// The file.
        file: ConfigPath,
        /// Returns the entry, for a program path.
        entry: fn(&str) -> Value,
    },
    /// A file that belongs to backstory.
    File {
        /// The file.
        file: ConfigPath,
        /// The content; `{program}` is replaced by the program path as a JSON string.
        text: &'static str,
    },
}

/// The first words of a file that belongs to backstory.
pub const OUR_MARK: &str = "Written by `backstory install`";

/// The trigger of an injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectionTrigger {
    /// A session starts.
    Start,
    /// The user submits a prompt.
    Prompt,
    /// A tool is about to be used on a file.
    File,
    /// A shell command is about to run.
    Command,
    /// A tool failed.
    Failure,
    /// A tool answered, and the answer shows an error: many commands and hosts report no failure.
    Answer,
}

/// The output when there is nothing to inject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultOutput {
    /// No output.
    Nothing,
    /// This text, except at a session start and at a prompt, where it would enter the conversation.
    AfterWork(&'static str),
    /// Always this text: the host requires an object.
    Always(&'static str),
}

/// The format of an injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// As `additionalContext` of the event with this name.
    Specific(&'static str),
    /// As a field of the output object.
    Field(&'static str),
}

impl OutputFormat {
    /// Returns the output object that injects a text and shows a notice to the user; `None` if there is nothing to print. Hosts
    /// with an object per event show a `systemMessage`; others show no notice.
    pub fn answer(self, text: &str, notice: Option<&str>) -> Option<Value> {
        let mut output = serde_json::Map::new();
        match self {
            Self::Specific(event) => {
                if !text.is_empty() {
                    let specific = serde_json::json!({"hookEventName": event, "additionalContext": text});
                    output.insert("hookSpecificOutput".to_owned(), specific);
                }
                output.extend(notice.map(|notice| ("systemMessage".to_owned(), notice.into())));
            }
            Self::Field(name) if !text.is_empty() => {
                output.insert(name.to_owned(), text.into());
            }
            Self::Field(_) => {}
        }
        (!output.is_empty()).then_some(Value::Object(output))
    }
}

impl OutputFormat {
    /// Returns the output object that makes the host ask the user before a tool call.
    pub fn ask(self, text: &str, reason: &str) -> Value {
        let mut decision =
            serde_json::json!({"permissionDecision": "ask", "permissionDecisionReason": reason});
        match self {
            Self::Specific(event) => {
                decision["hookEventName"] = event.into();
                decision["additionalContext"] = text.into();
                serde_json::json!({"hookSpecificOutput": decision})
            }
            Self::Field(name) => {
                decision[name] = text.into();
                decision
            }
        }
    }
}

/// A file in a project that a host includes in each conversation.
#[derive(Clone, Copy, Debug)]
pub struct RulesFile {
    /// The path below the root of the project.
    pub path: &'static str,
    /// The front matter.
    pub head: &'static str,
}

/// Maps a host's payload to our names. Returns `None` for a payload that carries no event.
pub type Normalize = fn(&HostPayload<'_>) -> Option<NormalizedPayload>;

/// A payload as a host sends it.
#[derive(Debug)]
pub struct HostPayload<'r> {
    /// The event name on the command line of the hook.
    pub event: &'r str,
    /// The payload.
    pub payload: &'r Payload<'r>,
    /// The working folder of the hook process, for hosts that do not report one.
    pub folder: &'r str,
}

/// A payload with our names.
#[derive(Debug, PartialEq, Eq)]
pub struct NormalizedPayload {
    /// The name of our event.
    pub event: &'static str,
    /// The payload: one JSON object.
    pub json: String,
}

/// The name of the hook before a tool call, which records no event.
pub(super) const BEFORE_TOOL: &str = "pre-tool-use";

/// Returns the static name of an event or of [`BEFORE_TOOL`].
pub(super) fn our_event(name: &str) -> Option<&'static str> {
    if name == BEFORE_TOOL {
        return Some(BEFORE_TOOL);
    }
    EventKind::from_name(name).map(EventKind::name)
}

/// Returns the MCP server entry that most hosts share.
pub(super) fn plain_server(program: &str) -> Value {
    serde_json::json!({"command": program, "args": ["mcp"]})
}

/// Quotes a word for a shell if necessary.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_path_with_a_blank_is_quoted() {
        let row = HookRow::new("Stop", "stop");
        assert_eq!(
            row.shell("/usr/bin/backstory", "x"),
            "/usr/bin/backstory hook stop --host x"
        );
        assert_eq!(
            row.shell("/a b/it's/backstory", "x"),
            r"'/a b/it'\''s/backstory' hook stop --host x"
        );
    }

    #[test]
    fn output_has_the_format_of_the_host() {
        let specific = OutputFormat::Specific("SessionStart")
            .answer("x", None)
            .unwrap()
            .to_string();
        assert_eq!(
            specific,
            r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"x"}}"#
        );
        assert_eq!(
            OutputFormat::Field("additional_context")
                .answer("x", None)
                .unwrap()
                .to_string(),
            r#"{"additional_context":"x"}"#
        );
    }
}
