//! Reads file changes from shell commands: `mv`, `cp`, `rm`, `sed -i` and redirections.

use super::{purpose, shell::Simple};
use crate::ChangeKind;

/// A change that a simple command makes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ShellChange<'c> {
    /// The path as it is written.
    pub(super) path: String,
    /// The kind of change.
    pub(super) kind: ChangeKind,
    /// The text that was written, if the command shows it.
    pub(super) content: Option<&'c str>,
}

/// Returns the changes of a simple command.
pub(super) fn of<'c>(command: &Simple<'c>) -> Vec<ShellChange<'c>> {
    let mut out = Vec::new();
    let mut change = |path: &str, kind: ChangeKind, content: Option<&'c str>| {
        if is_plain(path) {
            out.push(ShellChange {
                path: path.to_owned(),
                kind,
                content,
            });
        }
    };
    let (program, sub) = (command.program(), super::git::subcommand(command));
    let (verb, arguments) = match program {
        "git" => (sub.0, sub.1),
        _ => (program, command.arguments()),
    };
    let named: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|word| !word.starts_with('-'))
        .collect();
    match (program, verb) {
        ("git", "mv") | ("mv", _) => moved(&named, &mut change),
        ("cp", _) => {
            if let [from, to] = named.as_slice()
                && is_plain(from)
            {
                change(&target(from, to), ChangeKind::MovedFrom((*from).to_owned()), None);
            }
        }
        ("git", "rm") if !arguments.iter().any(|word| word == "--cached") => {
            named
                .iter()
                .for_each(|path| change(path, ChangeKind::Deleted, None));
        }
        ("git", "restore" | "checkout" | "reset" | "stash") => {
            restored(verb, arguments)
                .iter()
                .for_each(|path| change(path, ChangeKind::Restored, None));
        }
        ("rm" | "unlink" | "trash", _) => named
            .iter()
            .for_each(|path| change(path, ChangeKind::Deleted, None)),
        ("sed" | "perl", _) if purpose::in_place(command) => {
            for path in edited_in_place(arguments) {
                change(path, ChangeKind::Modified, None);
            }
        }
        ("tee", _) => named
            .iter()
            .for_each(|path| change(path, ChangeKind::Modified, command.heredoc)),
        _ => {}
    }
    for write in &command.writes {
        // The output of a program in a file is no work on that file; a text that the command itself holds is.
        if let Some(content) = command.heredoc.filter(|_| matches!(program, "cat" | "tee" | "")) {
            let kind = if write.append {
                ChangeKind::Modified
            } else {
                ChangeKind::Created
            };
            change(&write.path, kind, Some(content));
        } else if matches!(program, "echo" | "printf") {
            change(
                &write.path,
                if write.append {
                    ChangeKind::Modified
                } else {
                    ChangeKind::Created
                },
                None,
            );
        }
    }
    out
}

/// Returns the files of `sed -i`: the words that are neither flags nor the script.
fn edited_in_place(arguments: &[String]) -> Vec<&str> {
    let mut has_script = false;
    let mut named = Vec::new();
    let mut words = arguments.iter().map(String::as_str);
    while let Some(word) = words.next() {
        match word {
            "-e" | "-f" | "--expression" | "--file" => {
                has_script = true;
                words.next();
            }
            _ if word.starts_with("--expression=") => has_script = true,
            // `-pie`, `-ne`: the script is the next word.
            _ if word.starts_with('-') && !word.starts_with("--") && word.ends_with('e') => {
                has_script = true;
                words.next();
            }
            _ if word.starts_with('-') || word.is_empty() => {}
            word => named.push(word),
        }
    }
    let is_path = |path: &&str| path.contains(['.', '/']) && !path.contains([' ', '|', '\\']);
    named
        .into_iter()
        .skip(usize::from(!has_script))
        .filter(is_path)
        .collect()
}

/// Returns the files that a git command puts back to their committed state; `.` stands for all.
fn restored<'a>(verb: &str, arguments: &'a [String]) -> Vec<&'a str> {
    let has = |flag: &str| arguments.iter().any(|word| word == flag);
    let named = |words: &'a [String]| -> Vec<&'a str> {
        let words = words.iter().map(String::as_str);
        words.filter(|word| !word.starts_with('-')).collect()
    };
    match verb {
        "reset" if has("--hard") => vec!["."],
        "stash" if arguments.is_empty() || has("push") || has("save") || has("-u") => vec!["."],
        "restore" if !has("--staged") || has("--worktree") => named(arguments),
        "checkout" => {
            let from = arguments.iter().position(|word| word == "--");
            match (from, arguments) {
                (Some(from), _) => named(&arguments[from + 1..]),
                // One word is a branch, unless it looks like a file.
                (None, [only]) if only == "." || only.contains('.') && !only.starts_with('-') => {
                    named(arguments)
                }
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

fn moved<'c>(named: &[&str], change: &mut impl FnMut(&str, ChangeKind, Option<&'c str>)) {
    let Some((to, from)) = named.split_last() else {
        return;
    };
    for from in from.iter().filter(|from| is_plain(from)) {
        change(&target(from, to), ChangeKind::MovedFrom((*from).to_owned()), None);
    }
}

/// Returns the new path: below a folder that is written with a slash at its end, the name stays.
fn target(from: &str, to: &str) -> String {
    if to.ends_with('/') || to == "." {
        let name = from.trim_end_matches('/').rsplit('/').next().unwrap_or(from);
        format!("{}/{name}", to.trim_end_matches('/'))
    } else {
        to.to_owned()
    }
}

/// Says whether a word is a path as it is, without a pattern or a variable.
fn is_plain(path: &str) -> bool {
    !path.is_empty() && !path.contains(['*', '?', '$', '`', '{', '\n', '(']) && path != ".."
}

#[cfg(test)]
mod tests {
    use super::super::shell::parse;
    use super::*;

    fn changes(command: &str) -> Vec<(String, ChangeKind)> {
        let parts = parse(command);
        parts
            .iter()
            .flat_map(of)
            .map(|change| (change.path, change.kind))
            .collect()
    }

    #[test]
    fn commands_that_change_files_are_read() {
        let from = |path: &str| ChangeKind::MovedFrom(path.into());
        for (command, wanted) in [
            ("git mv a.rs src/b.rs", vec![("src/b.rs", from("a.rs"))]),
            ("mv a b lib/", vec![("lib/a", from("a")), ("lib/b", from("b"))]),
            ("cp a.txt b.txt", vec![("b.txt", from("a.txt"))]),
            (
                "rm -rf old 'x y.txt'",
                vec![("old", ChangeKind::Deleted), ("x y.txt", ChangeKind::Deleted)],
            ),
            ("git rm --cached a", vec![]),
            ("sed -i '' -e 's/a/b/' x.go", vec![("x.go", ChangeKind::Modified)]),
            (
                "sed -i 's/a.b/c/' x.go y.go",
                vec![("x.go", ChangeKind::Modified), ("y.go", ChangeKind::Modified)],
            ),
            ("cat > a.py <<'EOF'\nx\nEOF", vec![("a.py", ChangeKind::Created)]),
            (
                "cat >> a.py <<'EOF'\nx\nEOF",
                vec![("a.py", ChangeKind::Modified)],
            ),
            ("go test ./... > out.txt", vec![]),
            ("git checkout -- a.rs", vec![("a.rs", ChangeKind::Restored)]),
            ("git checkout main", vec![]),
            ("git reset --hard HEAD~1", vec![(".", ChangeKind::Restored)]),
            ("git restore --staged a.rs", vec![]),
            ("git stash", vec![(".", ChangeKind::Restored)]),
            ("git stash pop", vec![]),
            ("rm *.tmp $X", vec![]),
        ] {
            let wanted: Vec<(String, ChangeKind)> = wanted
                .into_iter()
                .map(|(path, kind)| (path.to_owned(), kind))
                .collect();
            assert_eq!(changes(command), wanted, "{command}");
        }
    }
}
