//! Reads commits and pushes from `git` commands and their output.

use super::{
    shell::{self, Simple},
    written::WrittenFiles,
};
use crate::GitCommit;

/// Returns the subcommand of `git` and the arguments after it.
pub(super) fn subcommand<'s>(command: &'s Simple<'_>) -> (&'s str, &'s [String]) {
    subcommand_of(command.arguments())
}

/// Returns the subcommand among the arguments of `git`, and the arguments after it.
pub(super) fn subcommand_of(arguments: &[String]) -> (&str, &[String]) {
    let mut rest = arguments;
    loop {
        match rest {
            [flag, _, tail @ ..] if matches!(flag.as_str(), "-C" | "-c" | "--git-dir" | "--work-tree") => {
                rest = tail;
            }
            [flag, tail @ ..] if flag.starts_with('-') => rest = tail,
            [sub, tail @ ..] => return (sub, tail),
            [] => return ("", &[]),
        }
    }
}

/// Returns the folder that `git -C` names.
pub(super) fn folder<'s>(command: &'s Simple<'_>) -> Option<&'s str> {
    let arguments = command.arguments();
    let at = arguments.iter().position(|word| word == "-C")?;
    arguments
        .get(at + 1)
        .map(String::as_str)
        .filter(|_| command.program() == "git")
}

/// Reads a commit from `git commit` and what it printed; none if it made no commit.
pub(super) fn commit(command: &Simple<'_>, output: &str, files: &WrittenFiles) -> Option<GitCommit> {
    let ("commit", arguments) = subcommand(command) else {
        return None;
    };
    if command.program() != "git"
        || arguments
            .iter()
            .any(|word| word == "--dry-run" || word == "--help")
    {
        return None;
    }
    let printed = printed(output);
    let message = message(command, arguments, files);
    let amend = arguments.iter().any(|word| word == "--amend");
    let message = message.or_else(|| printed.as_ref().map(|printed| printed.subject.to_owned()))?;
    let (subject, body) = split_message(&message);
    let hash = printed.as_ref().map(|printed| printed.hash);
    (!subject.is_empty()).then(|| GitCommit {
        hash: hash.or_else(|| logged(output, &subject)).map(ToOwned::to_owned),
        subject,
        body,
        amend,
        files: printed.and_then(|printed| printed.files),
    })
}

/// Returns the message that a command gives: several `-m`, `-F` with a file or a here document, a substituted one.
fn message(command: &Simple<'_>, arguments: &[String], files: &WrittenFiles) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let given = match word {
            "-m" | "--message" => words.next(),
            "-F" | "--file" => match words.next() {
                Some("-") => command.heredoc,
                Some(file) => files.get(file),
                None => None,
            },
            "-F-" | "--file=-" => command.heredoc,
            _ => word.strip_prefix("--message=").or_else(|| {
                joined_flag(word).and_then(|rest| if rest.is_empty() { words.next() } else { Some(rest) })
            }),
        };
        if let Some(text) = given {
            let text = shell::substituted_heredoc(text).unwrap_or(text).trim();
            if !text.is_empty() {
                parts.push(text.to_owned());
            }
        }
    }
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// Reads `-am`, `-sm` and `-mText`: what follows the `m`.
fn joined_flag(word: &str) -> Option<&str> {
    let flags = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?;
    let at = flags.find('m')?;
    let is_short = flags[..at].bytes().all(|b| b"asvqneS".contains(&b));
    is_short.then(|| &flags[at + 1..])
}

/// Splits a message into subject and body, without trailers.
fn split_message(message: &str) -> (String, Option<String>) {
    let (subject, body) = message.trim().split_once('\n').unwrap_or((message.trim(), ""));
    let lines: Vec<&str> = body.lines().filter(|line| !is_trailer(line)).collect();
    let body = lines.join("\n").trim().to_owned();
    (
        subject.trim().to_owned(),
        Some(body).filter(|body| !body.is_empty()),
    )
}

/// `Co-Authored-By: …` and lines that advertise a tool say nothing about the change.
pub(super) fn is_trailer(line: &str) -> bool {
    let line = line.trim();
    let is_key = line.split_once(": ").is_some_and(|(key, _)| {
        key.contains('-')
            && key.ends_with("-by")
                | key.ends_with("-By")
                | key.eq_ignore_ascii_case("change-id")
                | key.eq_ignore_ascii_case("claude-session")
    });
    is_key || line.contains("Generated with [") || line.starts_with("🤖 Generated")
}

/// What `git commit` prints: `[main 0a1b2c3] subject` and ` 3 files changed, …`.
struct Printed<'o> {
    hash: &'o str,
    subject: &'o str,
    files: Option<u32>,
}

fn printed(output: &str) -> Option<Printed<'_>> {
    let mut lines = output.lines();
    let (head, subject) = lines.by_ref().find_map(|line| {
        let (head, subject) = line.trim().strip_prefix('[')?.split_once("] ")?;
        let hash = head.rsplit(' ').next()?;
        is_hash(hash).then_some((hash, subject))
    })?;
    let files = lines.take(4).find_map(|line| {
        let (count, rest) = line.trim().split_once(' ')?;
        rest.starts_with("file").then(|| count.parse().ok())?
    });
    Some(Printed {
        hash: head,
        subject,
        files,
    })
}

/// Finds the hash of a quiet commit in the output of `git log --oneline` after it: `0a1b2c3 subject`.
fn logged<'o>(output: &'o str, subject: &str) -> Option<&'o str> {
    output.lines().find_map(|line| {
        let (hash, rest) = line.trim().split_once(' ')?;
        (is_hash(hash) && rest.ends_with(subject)).then_some(hash)
    })
}

fn is_hash(word: &str) -> bool {
    (7..=40).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_hexdigit())
}

/// Reads a push: the branch, if command or output show it.
pub(super) fn push(command: &Simple<'_>, output: &str) -> Option<Push> {
    let ("push", arguments) = subcommand(command) else {
        return None;
    };
    if command.program() != "git" || arguments.iter().any(|word| word == "--dry-run" || word == "-n") {
        return None;
    }
    let named = arguments.iter().filter(|word| !word.starts_with('-')).nth(1);
    let named = named
        .map(|name| name.rsplit(':').next().unwrap_or(name).trim_start_matches('+'))
        .filter(|name| *name != "HEAD" && !name.is_empty() && !name.contains('$'));
    // `   1a2b3c4..5d6e7f8  main -> main`, ` * [new branch]      x -> x`.
    let line = output.lines().find(|line| line.contains(" -> "));
    let printed = || {
        let line = line?;
        let branch = line.rsplit(" -> ").next()?.split_whitespace().next()?;
        (!branch.contains("://")).then_some(branch)
    };
    // A forced update prints `+ 1a2b3c4...5d6e7f8`.
    let tip = line
        .and_then(|line| line.split_whitespace().find_map(|word| word.split_once("..")))
        .map(|(_, tip)| tip.trim_start_matches('.'))
        .filter(|tip| is_hash(tip));
    Some(Push {
        branch: named.or_else(printed).map(ToOwned::to_owned),
        tip: tip.map(ToOwned::to_owned),
    })
}

/// A push: its branch and the last commit, as far as the output shows them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Push {
    /// The branch.
    pub(super) branch: Option<String>,
    /// The abbreviated hash of the last commit.
    pub(super) tip: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::super::shell::parse;
    use super::*;

    fn read(command: &str, output: &str) -> GitCommit {
        parse(command)
            .iter()
            .find_map(|part| commit(part, output, &WrittenFiles::default()))
            .unwrap()
    }

    #[test]
    fn a_commit_has_the_whole_message_and_what_git_printed() {
        let made = read(
            "cd x && git add -A && git commit -m \"$(cat <<'EOF'\nstore: keep the order of events\n\nImports sorted by time, which is not unique.\n\nCo-Authored-By: A <a@b.c>\nEOF\n)\"",
            "[main 0a1b2c3] store: keep the order of events\n 3 files changed, 10 insertions(+)\n",
        );
        assert_eq!(made.hash.as_deref(), Some("0a1b2c3"));
        assert_eq!(made.subject, "store: keep the order of events");
        assert_eq!(
            made.body.as_deref(),
            Some("Imports sorted by time, which is not unique.")
        );
        assert_eq!((made.amend, made.files), (false, Some(3)));
    }

    #[test]
    fn every_way_to_give_a_message_is_read() {
        for (command, subject, body) in [
            ("git commit -m one -m 'two three'", "one", Some("two three")),
            ("git commit -am 'one'", "one", None),
            ("git -c user.name=x commit --message='one'", "one", None),
            ("git commit -q -F - <<EOF\none\n\ntwo\nEOF", "one", Some("two")),
            ("git commit --amend --no-edit", "printed", None),
            ("git commit --amend -m \"new\n\nbody\"", "new", Some("body")),
        ] {
            let made = read(command, "[feat/x 1234abcd] printed\n 1 file changed");
            assert_eq!(
                (made.subject.as_str(), made.body.as_deref()),
                (subject, body),
                "{command}"
            );
            assert_eq!(made.amend, command.contains("--amend"));
            assert_eq!(made.files, Some(1));
        }
        assert!(
            parse("git commit").iter().all(|part| commit(
                part,
                "nothing to commit",
                &WrittenFiles::default()
            )
            .is_none())
        );
    }

    #[test]
    fn a_message_file_and_a_logged_hash_are_found() {
        let mut files = WrittenFiles::default();
        files.note("/tmp/msg", "one\n\ntwo\n");
        let parts = parse("git commit -q -F /tmp/msg && git log --oneline -1");
        let made = commit(&parts[0], "0a1b2c3 (HEAD -> x) one\n", &files).unwrap();
        assert_eq!(
            (made.hash.as_deref(), made.body.as_deref()),
            (Some("0a1b2c3"), Some("two"))
        );
    }

    #[test]
    fn a_push_names_its_branch_and_its_last_commit() {
        for (command, output, branch, tip) in [
            ("git push -u origin feat/x", "", Some("feat/x"), None),
            ("git push origin HEAD:main", "", Some("main"), None),
            (
                "git push",
                "To github.com:a/b\n   1a2b3c4..5d6e7f8  dev -> dev\n",
                Some("dev"),
                Some("5d6e7f8"),
            ),
            (
                "git push --force-with-lease",
                "To github.com:a/b\n + 1a2b3c4...5d6e7f8 dev -> dev (forced update)\n",
                Some("dev"),
                Some("5d6e7f8"),
            ),
            (
                "git push -u origin x",
                "To github.com:a/b\n * [new branch]      x -> x\n",
                Some("x"),
                None,
            ),
            ("git push", "Everything up-to-date", None, None),
        ] {
            let parts = parse(command);
            let wanted = Push {
                branch: branch.map(str::to_owned),
                tip: tip.map(str::to_owned),
            };
            assert_eq!(push(&parts[0], output), Some(wanted), "{command}");
        }
        assert_eq!(push(&parse("git pull")[0], ""), None);
    }
}
