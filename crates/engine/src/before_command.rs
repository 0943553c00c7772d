//! Recall before a command: a known failure with its remedy, or a rule of the user.
//!
//! Runs in a hook before every shell command, so it only looks up keys in an index: no search, no embedding. Silence is the
//! normal result. A rule comes from the user's own words or from a pinned note that the user wrote, never from text of an
//! agent or a tool: a rule can make the client ask before it runs the command.

use backstory_distill::{KeyedCommand, keyed_commands, ruled_out};
use backstory_model::{CommandKey, Handle, Timestamp};
use backstory_recall::{escape_for_frame, quoted};
use backstory_store::{KnownFailure, Project, Store, StoreError};
use backstory_text::{one_line, tokens};

/// Maximum size of a warning, in tokens.
const MAX_TOKENS: usize = 60;

/// A warning before a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandWarning {
    /// The invocation that the warning is about: each is warned about once per session.
    pub key: CommandKey,
    /// Text for the agent, with its frame.
    pub text: String,
    /// Sentence for the user.
    pub reason: String,
    /// The note that rules the command out.
    pub note: Option<Handle>,
    /// True if the user ruled the command out.
    pub is_rule: bool,
}

/// Returns the warning about a command line, if there is one: rules of the user first.
pub fn before_command(
    store: &Store,
    project: &Project,
    command: &str,
) -> Result<Option<CommandWarning>, StoreError> {
    /// Further simple commands of a script are not looked up.
    const MAX_COMMANDS: usize = 12;
    let mut commands = keyed_commands(command);
    commands.truncate(MAX_COMMANDS);
    if commands.is_empty() {
        return Ok(None);
    }
    if let Some(warning) = rule_of_note(store, project, &commands)? {
        return Ok(Some(warning));
    }
    for command in &commands {
        for key in command.rule_keys() {
            let rules = store.command_rules(project, key)?;
            let rule = rules
                .iter()
                .find(|rule| has_target(command, rule.target.as_deref()));
            if let Some(rule) = rule {
                let said = format!("on {}: “{}”", day(rule.at), one_line(&rule.words, 160));
                return Ok(
                    framed(&format!("The user said {said}")).map(|text| CommandWarning {
                        key,
                        text,
                        reason: format!("you said {said}"),
                        note: None,
                        is_rule: true,
                    }),
                );
            }
        }
    }
    for command in &commands {
        for key in command.keys() {
            if let Some(known) = store.known_failure(project, key)? {
                return Ok(describe(&known).map(|text| CommandWarning {
                    key,
                    text,
                    reason: format!(
                        "{} failed here before",
                        quoted(&one_line(&known.lesson.failed, 80))
                    ),
                    note: None,
                    is_rule: false,
                }));
            }
        }
    }
    Ok(None)
}

fn rule_of_note(
    store: &Store,
    project: &Project,
    commands: &[KeyedCommand],
) -> Result<Option<CommandWarning>, StoreError> {
    for (note, text) in store.notes_pinned_by_user(project)? {
        for rule in ruled_out(&text) {
            let is_broken = |command: &&KeyedCommand| {
                command.rule_keys().contains(&rule.key) && has_target(command, rule.target.as_deref())
            };
            if commands.iter().any(|command| is_broken(&command)) {
                let said = format!("#{note}: “{}”", one_line(&rule.sentence, 160));
                return Ok(
                    framed(&format!("Pinned note of the user {said}")).map(|text| CommandWarning {
                        key: rule.key,
                        text,
                        reason: format!("your pinned note {said}"),
                        note: Some(note),
                        is_rule: true,
                    }),
                );
            }
        }
    }
    Ok(None)
}

/// Reports whether a command contains the target of a rule: a branch (`main`, `HEAD:main`) or an option.
fn has_target(command: &KeyedCommand, target: Option<&str>) -> bool {
    let Some(target) = target else { return true };
    let is_force = |word: &str| matches!(word, "-f" | "--force" | "--force-with-lease");
    command.words.iter().skip(1).any(|word| {
        word == target
            || word.rsplit([':', '+']).next() == Some(target)
            || (target == "--force" && is_force(word.split('=').next().unwrap_or(word)))
    })
}

/// Describes a failure, the remedy first. `None` if even the remedy alone is too long: a truncated command is of no use.
fn describe(known: &KnownFailure) -> Option<String> {
    let lesson = &known.lesson;
    let remedy = format!("{} worked here", quoted(&one_line(&lesson.remedy, 240)));
    let failed = quoted(&one_line(&lesson.failed, 80));
    let day = day(known.at);
    let error = lesson.error.as_deref();
    let error = error.map(|error| {
        format!(
            "{remedy}; {failed} failed on {day}: {}",
            quoted(&one_line(error, 80))
        )
    });
    error
        .and_then(|text| framed(&text))
        .or_else(|| framed(&format!("{remedy}; {failed} failed on {day}")))
        .or_else(|| framed(&format!("{remedy}; this command failed")))
}

/// Returns the text with its frame, if it fits.
fn framed(text: &str) -> Option<String> {
    let text = format!(
        "<backstory-context>\n{}\n</backstory-context>",
        escape_for_frame(text)
    );
    (tokens(&text) <= MAX_TOKENS).then_some(text)
}

/// Formats the day in UTC.
fn day(at: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(at.as_millis())
        .map(|time| time.strftime("%Y-%m-%d").to_string())
        .unwrap_or_default()
}
