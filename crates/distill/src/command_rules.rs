//! Commands that a sentence rules out: "never push to main", "don't use npm here", "use pnpm instead of npm".
//!
//! Only the user's own words may be passed in: prompts, answers, refusals and notes that the user wrote. A sentence that
//! holds for the moment ("don't push yet") or under a condition rules nothing out.

use backstory_model::{CommandKey, CommandRule, Timestamp};

use crate::english::{is_question, sentences, without_client_markup};
use crate::evidence::{flag_rule_key, rule_key};
use crate::{Action, TurnLog};

/// Longer messages are documents: plans, logs, reviews.
const MAX_MESSAGE: usize = 1_500;
/// The longest sentence that is quoted, in characters.
const MAX_SENTENCE: usize = 160;

/// A command that a text rules out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuledOut {
    /// The invocation.
    pub key: CommandKey,
    /// A word that the command must contain.
    pub target: Option<String>,
    /// The sentence.
    pub sentence: String,
}

/// Returns the commands that the user ruled out in a session.
pub(crate) fn command_rules(logs: &[TurnLog]) -> Vec<CommandRule> {
    let mut rules: Vec<CommandRule> = Vec::new();
    for log in logs {
        let mut read = |text: &str, at: Timestamp| {
            for rule in ruled_out(text) {
                let is_known = |known: &CommandRule| known.key == rule.key && known.target == rule.target;
                rules.retain(|known| !is_known(known));
                rules.push(CommandRule {
                    key: rule.key,
                    target: rule.target,
                    words: rule.sentence,
                    turn: log.number,
                    at,
                });
            }
        };
        if let Some(prompt) = log.prompt.as_deref().filter(|_| !log.machine_made) {
            read(prompt, log.started_at);
        }
        for entry in &log.entries {
            match &entry.action {
                Action::UserMessage(text) => read(text, entry.at),
                Action::UserAnswer { answer, .. } => read(answer, entry.at),
                Action::Refused {
                    words: Some(words), ..
                } => read(words, entry.at),
                _ => {}
            }
        }
    }
    rules
}

/// Returns the commands that a text of the user rules out.
pub fn ruled_out(text: &str) -> Vec<RuledOut> {
    let text = without_client_markup(text);
    if text.len() > MAX_MESSAGE || text.trim_start().starts_with(['<', '/']) {
        return Vec::new();
    }
    let own = text
        .lines()
        .filter(|line| !line.trim_start().starts_with(['>', '|', '#']));
    own.flat_map(sentences)
        .filter(|sentence| sentence.chars().count() <= MAX_SENTENCE && !is_question(sentence))
        .filter_map(rule_of)
        .collect()
}

/// Words that limit a sentence to a moment or a condition.
const LIMITS: [&str; 18] = [
    "yet",
    "now",
    "until",
    "till",
    "unless",
    "without",
    "before",
    "after",
    "except",
    "if",
    "when",
    "first",
    "today",
    "this time",
    "for the moment",
    "again",
    "while",
    "once",
];

fn rule_of(sentence: &str) -> Option<RuledOut> {
    let lower = sentence.to_lowercase().replace('’', "'");
    let words: Vec<&str> = lower
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| "`'\"“”*.,;:!()".contains(c)))
        .filter(|word| !word.is_empty())
        .collect();
    let spaced = format!(" {} ", words.join(" "));
    if LIMITS.iter().any(|limit| spaced.contains(&format!(" {limit} "))) {
        return None;
    }
    let (object, strength) = prohibited(&words)?;
    let (key, target) = invocation(object, strength)?;
    Some(RuledOut {
        key,
        target,
        sentence: sentence.trim().to_owned(),
    })
}

/// Tells a rule from a wish about one piece of work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Strength {
    /// "never", "don't ever", "we don't".
    Rule,
    /// "don't": a rule only with a named object.
    Wish,
    /// "instead of": the words are the name of a command.
    Name,
}

/// Finds the words after a prohibition.
fn prohibited<'w>(words: &'w [&'w str]) -> Option<(&'w [&'w str], Strength)> {
    let lasts = ["here", "project", "repo", "repository", "ever"];
    let strength = |rest: &[&str]| {
        if rest.iter().any(|word| lasts.contains(word)) {
            Strength::Rule
        } else {
            Strength::Wish
        }
    };
    for (at, word) in words.iter().enumerate() {
        let rest = &words[at + 1..];
        match (*word, rest.first().copied()) {
            ("never", _) => return Some((rest, Strength::Rule)),
            ("don't" | "dont", _) => return Some((rest, strength(rest))),
            ("do" | "must" | "should", Some("not")) => return Some((&rest[1..], strength(rest))),
            // "use pnpm instead of npm", "pnpm rather than npm".
            ("instead", Some("of")) | ("rather", Some("than")) if words[..at].contains(&"use") => {
                return Some((&rest[1..], Strength::Name)).filter(|(object, _)| object.len() <= 2);
            }
            // "use pnpm, not npm".
            ("not", Some(_)) if words[..at].contains(&"use") && rest.len() <= 2 => {
                return Some((rest, Strength::Name));
            }
            _ => {}
        }
    }
    None
}

/// Programs whose first argument is a sub-command.
const WITH_SUBCOMMANDS: [&str; 15] = [
    "git", "npm", "pnpm", "yarn", "cargo", "go", "docker", "kubectl", "gh", "pip", "uv", "mix", "make",
    "poetry", "brew",
];

/// Reads the command that is ruled out.
fn invocation(object: &[&str], strength: Strength) -> Option<(CommandKey, Option<String>)> {
    let object = match object {
        [first, rest @ ..] if matches!(*first, "ever" | "directly") => rest,
        _ => object,
    };
    let target = |words: &[&str]| {
        let at = words
            .iter()
            .position(|word| matches!(*word, "to" | "on" | "onto" | "into"))?;
        let names = words[at + 1..].iter();
        let skipped = ["the", "a", "our", "branch", "remote", "origin"];
        let name = names.copied().find(|word| !skipped.contains(word))?;
        name.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_/.".contains(c))
            .then(|| name.to_owned())
    };
    let flag = object
        .iter()
        .copied()
        .find(|word| word.len() > 2 && word.starts_with("--"));
    if strength == Strength::Name {
        return named_command(object);
    }
    match *object {
        ["force", "push", ..] | ["force-push", ..] | ["push", "--force" | "-f", ..] => {
            Some((rule_key(&["git", "push"]), Some("--force".to_owned())))
        }
        ["push", ref rest @ ..] => {
            let target = target(rest);
            (target.is_some() || strength == Strength::Rule).then(|| (rule_key(&["git", "push"]), target))
        }
        ["amend", ..] if strength == Strength::Rule => {
            Some((rule_key(&["git", "commit"]), Some("--amend".to_owned())))
        }
        [verb @ ("rebase" | "stash" | "commit" | "merge"), ref rest @ ..] if strength == Strength::Rule => {
            // The branch of a commit is not part of its command.
            let is_plain = rest
                .iter()
                .all(|word| matches!(*word, "here" | "ever" | "commits" | "anything"));
            is_plain.then(|| (rule_key(&["git", verb]), None))
        }
        ["use" | "run" | "call" | "invoke" | "pass" | "add", ref rest @ ..] => {
            if let Some(flag) = flag {
                return Some((flag_rule_key(flag), None));
            }
            named_command(rest)
        }
        _ => None,
    }
}

/// Reads the name of a program, possibly with a sub-command.
fn named_command(words: &[&str]) -> Option<(CommandKey, Option<String>)> {
    let is_name = |word: &&str| {
        word.len() > 1
            && word.starts_with(|c: char| c.is_ascii_lowercase())
            && word
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.+".contains(&b))
    };
    let skipped = ["the", "a", "an", "any", "plain", "bare", "raw"];
    let mut words = words.iter().copied().filter(|word| !skipped.contains(word));
    let program = words.next().filter(|word| is_name(word))?;
    let stops = [
        "here", "in", "for", "on", "at", "to", "because", "with", "and", "or", "as", "directly", "this",
        "anywhere",
    ];
    let is_sub = |word: &&str| WITH_SUBCOMMANDS.contains(&program) && is_name(word) && !stops.contains(word);
    let key = match words.next().filter(is_sub) {
        Some(sub) => rule_key(&[program, sub]),
        None => rule_key(&[program]),
    };
    Some((key, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_rules_a_command_out() {
        for (sentence, key, target) in [
            ("Never push to main.", rule_key(&["git", "push"]), Some("main")),
            (
                "Please don't push to the main branch!",
                rule_key(&["git", "push"]),
                Some("main"),
            ),
            ("don't use npm here", rule_key(&["npm"]), None),
            ("Use pnpm instead of npm.", rule_key(&["npm"]), None),
            ("We use `pnpm`, not `npm`.", rule_key(&["npm"]), None),
            (
                "Never run `git stash` in this repo",
                rule_key(&["git", "stash"]),
                None,
            ),
            ("Never use --no-verify.", flag_rule_key("--no-verify"), None),
            ("never force-push", rule_key(&["git", "push"]), Some("--force")),
        ] {
            let found = ruled_out(sentence);
            assert_eq!(found.len(), 1, "{sentence}");
            assert_eq!(
                (found[0].key, found[0].target.as_deref()),
                (key, target),
                "{sentence}"
            );
        }
    }

    #[test]
    fn a_wish_for_the_moment_rules_nothing_out() {
        for sentence in [
            "Don't push yet.",
            "Don't push.",
            "Fix the test, don't commit.",
            "Never push without running the tests.",
            "Why don't we use npm?",
            "> never push to main",
            "Use the new parser and do not change the old one.",
            "npm is not used here",
        ] {
            assert_eq!(ruled_out(sentence), [], "{sentence}");
        }
    }
}
