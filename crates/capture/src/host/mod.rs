//! The agent programs that are served: one row in a table and one small file each.
//!
//! A host's file says where it keeps its settings, which of its events are ours, how its payloads read in our words and
//! in which form it listens. All of it is data: `backstory install` writes the files, the hook translates and answers.

mod claude_code;
mod codex;
mod copilot_cli;
mod cursor;
mod gemini_cli;
mod object;
mod opencode;
mod vscode;
mod windsurf;

use std::fmt;

use backstory_model::EventKind;
use serde_json::Value;

use crate::payload::Payload;

/// Every host, the most used first.
pub static HOSTS: [&HostSpec; 8] = [
    &claude_code::SPEC,
    &codex::SPEC,
    &cursor::SPEC,
    &gemini_cli::SPEC,
    &opencode::SPEC,
    &windsurf::SPEC,
    &copilot_cli::SPEC,
    &vscode::SPEC,
];

/// Finds a host by its name.
pub fn find(name: &str) -> Option<&'static HostSpec> {
    HOSTS.into_iter().find(|host| host.name == name)
}

/// What is known about an agent program.
pub struct HostSpec {
    /// The name on the command line and in the store.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// Folders and files of its own: one that is there says that the host is used here.
    pub install_markers: &'static [ConfigPath],
    /// The hooks that it is asked to call.
    pub hooks: &'static [HookRow],
    /// What is written, and where.
    pub parts: &'static [InstallItem],
    /// Puts its payloads into our words; `None` when they are ours.
    pub normalize: Option<Normalize>,
    /// When it listens, and in which form.
    pub injection_points: &'static [(InjectionTrigger, OutputFormat)],
    /// What it is told when there is nothing to say.
    pub silence: DefaultOutput,
    /// The file in a project that it reads by itself, for one that does not listen well.
    pub rules: Option<RulesFile>,
    /// Whether it ignores a JSON file that has comments or commas too many.
    pub wants_plain_json: bool,
    /// What a person has to do after an installation.
    pub post_install_note: Option<&'static str>,
}

impl fmt::Debug for HostSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HostSpec").field(&self.name).finish()
    }
}

impl HostSpec {
    /// Returns the form in which it can be told something at a moment.
    pub fn form(&self, moment: InjectionTrigger) -> Option<OutputFormat> {
        let heard = self.injection_points.iter().find(|(heard, _)| *heard == moment);
        heard.map(|(_, form)| *form)
    }
}

/// A file or folder of a host's: in the folder that a variable names, else below the user's home.
#[derive(Clone, Copy, Debug)]
pub struct ConfigPath {
    /// The variable that moves the folder.
    pub variable: Option<&'static str>,
    /// The folder, below the user's home; empty for the home itself.
    pub folder: &'static str,
    /// What is meant inside the folder; empty for the folder itself.
    pub path: &'static str,
}

impl ConfigPath {
    /// A place that no variable moves.
    const fn home(folder: &'static str, path: &'static str) -> Self {
        Self {
            variable: None,
            folder,
            path,
        }
    }
}

/// One hook that a host is asked to call.
#[derive(Clone, Copy, Debug)]
pub struct HookRow {
    /// The host's name of the event.
    pub theirs: &'static str,
    /// Our name of it.
    pub ours: &'static str,
    /// The tools that it is wanted for; all when there is none.
    pub matcher: Option<&'static str>,
}

impl HookRow {
    const fn new(theirs: &'static str, ours: &'static str) -> Self {
        Self {
            theirs,
            ours,
            matcher: None,
        }
    }

    const fn matching(theirs: &'static str, ours: &'static str, matcher: &'static str) -> Self {
        Self {
            theirs,
            ours,
            matcher: Some(matcher),
        }
    }

    /// Returns the command line that a shell understands.
    fn shell(&self, program: &str, host: &str) -> String {
        format!("{} hook {} --host {host}", shell_word(program), self.ours)
    }
}

/// One thing that is written for a host.
#[derive(Clone, Copy, Debug)]
pub enum InstallItem {
    /// Entries in the lists below `hooks` of a JSON file.
    Hooks {
        /// The file.
        file: ConfigPath,
        /// What the file must say beside its hooks.
        version: Option<u8>,
        /// Makes the entry of one hook, for a program.
        entry: fn(&HookRow, &str) -> Value,
    },
    /// An entry called `backstory` in an object of a JSON file.
    Server {
        /// The file.
        file: ConfigPath,
        /// Taken instead of the file when it is there.
        instead: Option<ConfigPath>,
        /// The name of the object.
        key: &'static str,
        /// Makes the entry, for a program.
        entry: fn(&str) -> Value,
    },
    /// A table `[KEY.backstory]` in a TOML file.
    ServerToml {
        /// The file.
        file: ConfigPath,
        /// The name of the table above it.
        key: &'static str,
    },
    /// A file that is ours alone.
    File {
        /// The file.
        file: ConfigPath,
        /// What it says; `{program}` stands for the program as a JSON string.
        text: &'static str,
    },
}

/// The first words of a file that is ours alone.
pub const OUR_MARK: &str = "Written by `backstory install`";

/// When a session can be told something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectionTrigger {
    /// It starts.
    Start,
    /// A person asks for something.
    Prompt,
    /// A tool is about to be used on a file.
    File,
    /// A tool failed.
    Failure,
}

/// What is printed for a host when there is nothing to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultOutput {
    /// Nothing at all.
    Nothing,
    /// This, after anything but the start of a session and a prompt, where text would go into the conversation.
    AfterWork(&'static str),
    /// This, always: the host wants an object.
    Always(&'static str),
}

/// How a text is given to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// As `additionalContext` of an event that the host calls so.
    Specific(&'static str),
    /// As a field of the answer.
    Field(&'static str),
}

impl OutputFormat {
    /// Returns the answer that says a text.
    pub fn answer(self, text: &str) -> Value {
        match self {
            Self::Specific(event) => {
                serde_json::json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
            }
            Self::Field(name) => serde_json::json!({ name: text }),
        }
    }
}

/// A file in a project that a host puts into each conversation.
#[derive(Clone, Copy, Debug)]
pub struct RulesFile {
    /// Where it is, below the root of the project.
    pub path: &'static str,
    /// What it begins with.
    pub head: &'static str,
}

/// Puts a payload into our words. `None` means that it says nothing.
pub type Normalize = fn(&HostPayload<'_>) -> Option<NormalizedPayload>;

/// A payload of another host's.
#[derive(Debug)]
pub struct HostPayload<'r> {
    /// Our name of the event that the host was asked to report.
    pub event: &'r str,
    /// What it sent.
    pub payload: &'r Payload<'r>,
    /// The folder that the hook runs in, for hosts that do not say where they are.
    pub folder: &'r str,
}

/// What a report says in our words.
#[derive(Debug, PartialEq, Eq)]
pub struct NormalizedPayload {
    /// Our name of the event.
    pub event: &'static str,
    /// The payload: one JSON object.
    pub json: String,
}

/// Returns our own name of an event, which lives for ever.
fn our_event(name: &str) -> Option<&'static str> {
    EventKind::from_name(name).map(EventKind::name)
}

/// The entry of an MCP server in the form that most hosts share.
fn plain_server(program: &str) -> Value {
    serde_json::json!({"command": program, "args": ["mcp"]})
}

/// Quotes a word for a shell, unless it needs none.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use backstory_model::Host;

    use super::*;

    #[test]
    fn every_row_is_whole() {
        for host in HOSTS {
            assert_eq!(Host::new(host.name).unwrap().as_str(), host.name);
            assert!(std::ptr::eq(find(host.name).unwrap(), host));
            assert!(
                !host.parts.is_empty() && !host.install_markers.is_empty(),
                "{host:?}"
            );
            let writes_hooks = host
                .parts
                .iter()
                .any(|part| matches!(part, InstallItem::Hooks { .. }));
            assert_eq!(writes_hooks, !host.hooks.is_empty(), "{host:?}");
            if let Some(rules) = host.rules {
                assert!(rules.head.starts_with("---\n") && rules.head.ends_with("---\n"));
            }
        }
        assert!(find("emacs").is_none());
    }

    #[test]
    fn a_program_with_a_blank_in_its_path_is_one_word() {
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
    fn a_text_is_given_in_the_form_that_is_honoured() {
        let specific = OutputFormat::Specific("SessionStart").answer("x").to_string();
        assert_eq!(
            specific,
            r#"{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":"x"}}"#
        );
        assert_eq!(
            OutputFormat::Field("additional_context").answer("x").to_string(),
            r#"{"additional_context":"x"}"#
        );
    }
}
