//! Keys of a command: the parts that two runs of the same invocation share.
//!
//! The worker stores results by these keys and the hook that runs before a command looks them up, so a change here makes
//! stored keys useless until a reindex. Numbers, hashes and text in quotes differ between runs and are left out; folders
//! changed into, assignments and filters behind a pipe are no part of the command (see `shell`).

use backstory_model::CommandKey;
use backstory_text::hash_fields;

use super::{
    git, purpose,
    shell::{self, Joint, Simple},
};

/// A simple command of a command line with its keys.
#[derive(Debug, PartialEq, Eq)]
pub struct KeyedCommand {
    /// The words, without assignments and wrappers such as `sudo`.
    pub words: Vec<String>,
    /// True if the exit status of the command line does not show the status of this command.
    pub is_hidden: bool,
}

/// Programs whose sub-commands have sub-commands: `gh pr diff`.
const NESTED: [&str; 12] = [
    "gh", "glab", "docker", "podman", "aws", "gcloud", "az", "kubectl", "npm", "pnpm", "yarn", "mise",
];

/// Programs that run code given as an argument or on standard input.
const INTERPRETERS: [&str; 12] = [
    "python", "python3", "node", "deno", "bun", "ruby", "perl", "php", "bash", "sh", "zsh", "psql",
];

/// Splits a command line into its simple commands, without those that only prepare others, such as `cd`.
pub fn keyed_commands(command: &str) -> Vec<KeyedCommand> {
    let parts = shell::parse(command);
    let joints: Vec<Joint> = parts.iter().map(|part| part.joint).collect();
    let is_part = |part: &Simple<'_>| purpose::of(part).is_some();
    let parts = parts.into_iter().enumerate().filter(|(_, part)| is_part(part));
    parts
        .map(|(at, part)| KeyedCommand {
            is_hidden: joints
                .get(at + 1)
                .is_some_and(|next| matches!(next, Joint::Or | Joint::Sequence | Joint::Pipe)),
            words: part.words,
        })
        .collect()
}

impl KeyedCommand {
    /// Returns the program without its folder.
    pub fn program(&self) -> &str {
        let first = self.words.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }

    /// Returns the sub-command, such as `push` or `pr diff`; empty if there is none.
    pub fn subcommand(&self) -> String {
        let is_name = |word: &&str| {
            word.starts_with(|c: char| c.is_ascii_lowercase())
                && word
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b"-_:".contains(&b))
        };
        let after = self.after_global_options();
        let most = 1 + usize::from(NESTED.contains(&self.program()));
        let words = after.iter().map(String::as_str).take_while(is_name);
        words.take(most).collect::<Vec<_>>().join(" ")
    }

    /// Returns the words from the sub-command on: `git -C folder log` is a `git log`.
    fn after_global_options(&self) -> &[String] {
        let arguments = self.words.get(1..).unwrap_or_default();
        if self.program() == "git" {
            let (sub, rest) = git::subcommand_of(arguments);
            let length = rest.len() + usize::from(!sub.is_empty());
            return &arguments[arguments.len() - length..];
        }
        arguments
    }

    /// Returns the options without their values.
    pub fn flags(&self) -> impl Iterator<Item = &str> {
        let flags = self.words.iter().skip(1).map(String::as_str);
        flags
            .filter(|word| word.len() > 1 && word.starts_with('-') && !word.contains(char::is_whitespace))
            .map(|flag| flag.split('=').next().unwrap_or(flag))
    }

    /// Returns the arguments that choose what the command works on.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        let skipped = self.subcommand().split_whitespace().count();
        let words = self.after_global_options().iter().skip(skipped);
        words.map(String::as_str).filter(|word| !word.starts_with('-'))
    }

    /// Returns the key of the program, for one that does not exist.
    pub fn program_key(&self) -> CommandKey {
        key(&["program", self.program()])
    }

    /// Returns the key of an option, for one that the program rejects.
    pub fn flag_key(&self, flag: &str) -> CommandKey {
        key(&["flag", self.program(), &self.subcommand(), flag])
    }

    /// Returns the key of the whole invocation; `None` if the command is code rather than an invocation.
    pub fn invocation_key(&self) -> Option<CommandKey> {
        /// Longer words are code or prose.
        const MAX_WORD: usize = 160;
        let is_code = |word: &String| word.len() > MAX_WORD || word.contains('\n');
        let runs_code = INTERPRETERS.contains(&self.program())
            && (self.words.len() < 2
                || self
                    .words
                    .iter()
                    .any(|word| matches!(word.as_str(), "-c" | "-e" | "-")));
        if runs_code || self.words.iter().any(is_code) {
            return None;
        }
        let mut fields = vec!["run".to_owned(), self.program().to_owned()];
        fields.extend(self.after_global_options().iter().map(|word| stable(word)));
        Some(key(&fields.iter().map(String::as_str).collect::<Vec<_>>()))
    }

    /// Returns all keys under which a result of this command may be stored, the most specific first.
    pub fn keys(&self) -> Vec<CommandKey> {
        let mut keys: Vec<CommandKey> = self.invocation_key().into_iter().collect();
        keys.extend(self.flags().map(|flag| self.flag_key(flag)));
        keys.push(self.program_key());
        keys
    }

    /// Returns the keys under which a rule about this command may be stored.
    pub fn rule_keys(&self) -> Vec<CommandKey> {
        let sub = self.subcommand();
        let first = sub.split(' ').next().unwrap_or_default();
        let mut keys = vec![rule_key(&[self.program()]), rule_key(&[self.program(), first])];
        keys.extend(self.flags().map(flag_rule_key));
        keys
    }
}

/// Returns the key of a rule about a program, or about a program and its sub-command.
pub(crate) fn rule_key(words: &[&str]) -> CommandKey {
    key(&["rule", &words.join(" ")])
}

/// Returns the key of a rule about an option of any program.
pub(crate) fn flag_rule_key(flag: &str) -> CommandKey {
    key(&["rule", flag])
}

fn key(fields: &[&str]) -> CommandKey {
    CommandKey::new(hash_fields(fields).cast_signed())
}

/// Replaces the parts of a word that change from run to run: numbers, hashes, temporary folders, text in quotes.
fn stable(word: &str) -> String {
    if word.contains(char::is_whitespace) && !word.starts_with('-') {
        return "…".to_owned();
    }
    let is_hash = |part: &str| {
        part.len() >= 7
            && part.bytes().all(|b| b.is_ascii_hexdigit())
            && part.bytes().any(|b| b.is_ascii_digit())
    };
    let mut out = String::with_capacity(word.len());
    for part in word.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let text = part.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        out.push_str(if is_number || is_hash(text) { "#" } else { text });
        out.push_str(&part[text.len()..]);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(command: &str) -> KeyedCommand {
        let mut commands = keyed_commands(command);
        assert_eq!(commands.len(), 1, "{command}");
        commands.remove(0)
    }

    #[test]
    fn runs_of_one_invocation_share_their_key() {
        for (command, other) in [
            (
                "gh pr diff 104 --stat",
                "cd x && GH_PAGER= gh pr diff 88 --stat 2>&1",
            ),
            ("git -C /w show 8312232", "git show 0a93878f"),
            (
                "git commit -m 'fix: one thing'",
                "git commit -m \"docs: another thing\"",
            ),
            ("sudo make install", "make install"),
        ] {
            assert_eq!(
                one(command).invocation_key(),
                one(other).invocation_key(),
                "{command}"
            );
            assert!(one(command).invocation_key().is_some());
        }
        for (command, other) in [
            ("npm test", "npm run test"),
            ("go test ./a", "go test ./b"),
            ("pytest a.py", "pytest a.py -x"),
        ] {
            assert_ne!(
                one(command).invocation_key(),
                one(other).invocation_key(),
                "{command}"
            );
        }
    }

    #[test]
    fn code_has_no_key() {
        for command in [
            "python3 -c 'print(1)'",
            "python3 - <<'E'\nprint(1)\nE",
            "node",
            "psql -c 'select 1'",
        ] {
            assert_eq!(one(command).invocation_key(), None, "{command}");
        }
    }

    #[test]
    fn a_rejected_option_is_known_by_its_subcommand() {
        let (one, other) = (
            one("gh pr diff 104 --stat"),
            one("gh pr diff --color never --stat 7"),
        );
        assert_eq!(one.flag_key("--stat"), other.flag_key("--stat"));
        assert!(other.keys().contains(&one.flag_key("--stat")));
        assert_eq!(one.subcommand(), "pr diff");
    }
}
