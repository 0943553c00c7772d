//! What a shell command is for, and how to show it. A command is evidence of what was run, never of what was changed.

use super::text::{clip, head};

/// What a command is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Runs tests.
    Test,
    /// Compiles, checks or lints.
    Build,
    /// Installs or updates packages.
    Install,
    /// Commits to git with this subject.
    Commit(String),
    /// Removes these files or folders.
    Remove(Vec<String>),
    /// Brings these files back to what git has; all of them when empty.
    Restore(Vec<String>),
    /// Brings stashed changes back.
    Unstash,
    /// Only looks: listing, reading, searching, git status.
    Look,
    /// Runs a script or program.
    Run,
}

const MAX_COMMAND: usize = 4 * 1024;
const MAX_SHOWN: usize = 100;

/// The purposes of the parts of a command line, in order.
pub(super) fn purposes(command: &str) -> Vec<Purpose> {
    parts(head(command, MAX_COMMAND))
        .iter()
        .filter_map(|part| purpose(part))
        .collect()
}

/// The command as it is shown: one line, without the change of folder and the pipes that only shorten its output.
pub(super) fn shown(command: &str) -> String {
    let line = head(command, MAX_COMMAND)
        .trim()
        .lines()
        .next()
        .unwrap_or_default()
        .trim();
    let mut line = line;
    while let Some(rest) = line.strip_prefix("cd ").and_then(|rest| rest.split_once("&&")) {
        line = rest.1.trim_start();
    }
    if let Some((before, _)) = line.split_once("<<") {
        line = before.trim_end();
    }
    let mut line = line.to_owned();
    if let Some(at) = line
        .find(" -c ")
        .filter(|_| line.starts_with("python") || line.starts_with("node"))
    {
        line.truncate(at + 3);
        line.push_str(" …");
    }
    loop {
        let before = line.len();
        for noise in ["2>&1", "2>/dev/null", "|"] {
            line = line.trim_end_matches(noise).trim_end().to_owned();
        }
        if let Some(at) = line.rfind(" | ").filter(|&at| is_shortener(&line[at + 3..])) {
            line.truncate(at);
        }
        if line.len() == before {
            break;
        }
    }
    clip(&line.replace('`', "'"), MAX_SHOWN)
}

fn is_shortener(part: &str) -> bool {
    matches!(
        part.split_whitespace().next(),
        Some("head" | "tail" | "grep" | "less" | "cat" | "sort" | "wc" | "tee" | "egrep" | "rg")
    )
}

/// Splits a line into its commands and words: enough of the shell for names and flags, quotes respected.
fn parts(command: &str) -> Vec<Vec<String>> {
    let mut out = vec![Vec::new()];
    let mut word = String::new();
    let mut quote = None;
    let mut piped = false;
    let mut chars = command.chars().peekable();
    let end_word = |out: &mut Vec<Vec<String>>, word: &mut String, piped: bool| {
        if !word.is_empty()
            && !piped
            && let Some(last) = out.last_mut()
        {
            last.push(std::mem::take(word));
        }
        word.clear();
    };
    while let Some(c) = chars.next() {
        match (c, quote) {
            (_, Some(open)) if c == open => quote = None,
            (_, Some(_)) => word.push(c),
            ('"' | '\'', None) => quote = Some(c),
            ('\\', None) => {
                if let Some(next) = chars.next().filter(|next| *next != '\n') {
                    word.push(next);
                }
            }
            ('|', None) if chars.peek() != Some(&'|') => {
                end_word(&mut out, &mut word, piped);
                piped = true;
            }
            ('&' | '|' | ';' | '\n', None) => {
                if c == '&' && (word.ends_with('>') || chars.peek().is_some_and(char::is_ascii_digit)) {
                    word.push(c);
                    continue;
                }
                end_word(&mut out, &mut word, piped);
                piped = false;
                out.push(Vec::new());
            }
            (c, None) if c.is_whitespace() => end_word(&mut out, &mut word, piped),
            (c, None) => {
                word.push(c);
                // A here-document is data, not commands.
                if word.ends_with("<<") {
                    break;
                }
            }
        }
    }
    end_word(&mut out, &mut word, piped);
    out.retain(|part| !part.is_empty());
    out.truncate(24);
    out
}

fn purpose(part: &[String]) -> Option<Purpose> {
    let mut words: Vec<&str> = part.iter().map(String::as_str).collect();
    while let Some(first) = words.first() {
        let prefix = matches!(
            *first,
            "sudo"
                | "time"
                | "env"
                | "nice"
                | "exec"
                | "command"
                | "xvfb-run"
                | "export"
                | "then"
                | "do"
                | "("
        ) || (first.contains('=') && !first.starts_with('-') && !first.contains('/'));
        if prefix {
            words.remove(0);
        } else if *first == "timeout" && words.len() > 2 {
            words.drain(..2);
        } else {
            break;
        }
    }
    let (&program, rest) = words.split_first()?;
    let program = program.rsplit('/').next().unwrap_or(program);
    let sub = rest
        .iter()
        .find(|word| !word.starts_with('-'))
        .copied()
        .unwrap_or_default();
    Some(match program {
        "rm" | "unlink" | "trash" => Purpose::Remove(paths(rest)),
        "git" => return git(rest),
        "cd" | "echo" | "true" | "set" | "source" | "." | "mkdir" | "sleep" | "touch" | "chmod"
        | "printf" | "for" | "done" | "fi" | "if" => return None,
        "ls" | "cat" | "head" | "tail" | "grep" | "rg" | "find" | "fd" | "pwd" | "wc" | "which" | "tree"
        | "stat" | "sed" | "awk" | "less" | "file" | "diff" | "ps" | "env" | "date" | "du" | "df" | "jq"
        | "type" | "man" => Purpose::Look,
        "pytest" | "py.test" | "tox" | "nox" | "jest" | "vitest" | "mocha" | "rspec" | "phpunit"
        | "ctest" | "nosetests" | "playwright" | "cypress" | "bats" => Purpose::Test,
        "cargo" => match sub {
            "test" | "nextest" | "t" => Purpose::Test,
            "build" | "check" | "clippy" | "fmt" | "doc" | "b" | "c" => Purpose::Build,
            "add" | "install" | "update" => Purpose::Install,
            _ => Purpose::Run,
        },
        "npm" | "yarn" | "pnpm" | "bun" | "deno" => {
            let script = rest
                .iter()
                .find(|word| !word.starts_with('-') && **word != "run" && **word != "exec")
                .copied()
                .unwrap_or_default();
            match script {
                "test" | "t" | "jest" | "vitest" => Purpose::Test,
                "install" | "i" | "add" | "ci" => Purpose::Install,
                _ if script.starts_with("test") => Purpose::Test,
                "build" | "lint" | "typecheck" | "tsc" | "check" => Purpose::Build,
                _ => Purpose::Run,
            }
        }
        "go" | "dotnet" | "mvn" | "gradle" | "gradlew" | "make" | "just" | "mix" | "rake" | "swift"
        | "bazel" | "zig" | "npx" | "uv" | "poetry" | "bundle" => runner(rest, sub),
        "tsc" | "eslint" | "ruff" | "mypy" | "flake8" | "black" | "prettier" | "cmake" | "gcc" | "clang"
        | "rustc" | "pyright" | "javac" | "ninja" => Purpose::Build,
        "pip" | "pip3" | "apt" | "apt-get" | "brew" | "conda" | "gem" | "composer" | "dnf" | "apk" => {
            Purpose::Install
        }
        _ if program.starts_with("python") => python(rest),
        _ => Purpose::Run,
    })
}

fn runner(rest: &[&str], sub: &str) -> Purpose {
    if rest.iter().any(|word| {
        word.starts_with("test")
            || matches!(
                *word,
                "pytest" | "jest" | "vitest" | "rspec" | "spec" | "verify" | "playwright"
            )
    }) {
        Purpose::Test
    } else if matches!(
        sub,
        "build" | "vet" | "compile" | "lint" | "check" | "tsc" | "eslint" | "fmt" | "package" | ""
    ) {
        Purpose::Build
    } else if matches!(sub, "get" | "install" | "add" | "sync" | "restore") {
        Purpose::Install
    } else {
        Purpose::Run
    }
}

fn python(rest: &[&str]) -> Purpose {
    if let [first, second, ..] = rest
        && *first == "-m"
    {
        return match *second {
            "pytest" | "unittest" | "tox" | "nose" | "doctest" => Purpose::Test,
            "pip" => Purpose::Install,
            "mypy" | "flake8" | "build" | "compileall" | "ruff" | "black" | "py_compile" => Purpose::Build,
            _ => Purpose::Run,
        };
    }
    let script = rest
        .iter()
        .find(|word| !word.starts_with('-'))
        .copied()
        .unwrap_or_default();
    if script.ends_with("runtests.py")
        || script.ends_with("/test")
        || (script.ends_with("manage.py") && rest.contains(&"test"))
    {
        Purpose::Test
    } else {
        Purpose::Run
    }
}

fn git(rest: &[&str]) -> Option<Purpose> {
    let mut rest = rest.to_vec();
    while rest.len() > 1 && matches!(rest[0], "-C" | "-c") {
        rest.drain(..2);
    }
    let (&sub, rest) = rest.split_first()?;
    let all = |names: &[&str]| names.iter().any(|name| rest.contains(name));
    Some(match sub {
        "commit" => Purpose::Commit(subject(rest)?),
        "rm" => Purpose::Remove(paths(rest)),
        "restore" if !all(&["--staged"]) || all(&["--worktree"]) => Purpose::Restore(restored(rest)),
        "checkout" if all(&["--", "."]) => Purpose::Restore(restored(rest)),
        "checkout"
            if rest.len() == 1
                && (rest[0].contains('.') || rest[0].contains('/'))
                && !rest[0].starts_with('-') =>
        {
            Purpose::Restore(restored(rest))
        }
        "reset" if all(&["--hard"]) => Purpose::Restore(Vec::new()),
        "stash" if all(&["pop", "apply"]) => Purpose::Unstash,
        "stash" if !all(&["list", "show", "drop", "clear"]) => Purpose::Restore(Vec::new()),
        _ => Purpose::Look,
    })
}

fn paths(words: &[&str]) -> Vec<String> {
    words
        .iter()
        .filter(|word| !word.starts_with('-') && !word.contains('>'))
        .map(|word| (*word).to_owned())
        .collect()
}

/// What is restored: all for `.`, else what follows `--` or every path.
fn restored(rest: &[&str]) -> Vec<String> {
    let after = rest
        .iter()
        .position(|word| *word == "--")
        .map_or(rest, |at| &rest[at + 1..]);
    let named = paths(after);
    if named.iter().any(|path| path == "." || path == "*") {
        Vec::new()
    } else {
        named
    }
}

/// The first line of the message of `git commit -m`.
fn subject(rest: &[&str]) -> Option<String> {
    let at = rest.iter().position(|word| {
        *word == "--message" || (word.starts_with('-') && !word.starts_with("--") && word.ends_with('m'))
    })?;
    let message = rest.get(at + 1)?.trim();
    // The usual form for long messages: "$(cat <<'EOF' …": the subject is the first line of the document.
    let skipped = usize::from(message.starts_with("$(cat"));
    let line = message
        .lines()
        .skip(skipped)
        .map(str::trim)
        .find(|line| !line.is_empty())?;
    Some(line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_by_their_purpose() {
        for (command, wanted) in [
            ("cd x && pytest -q tests/a.py 2>&1 | tail -5", vec![Purpose::Test]),
            ("python3 -m pytest a", vec![Purpose::Test]),
            (
                "cargo test -p store && cargo clippy",
                vec![Purpose::Test, Purpose::Build],
            ),
            ("npm run test:unit", vec![Purpose::Test]),
            ("PYTHONPATH=. timeout 10 go test ./...", vec![Purpose::Test]),
            (
                "rm -f a.py 'b c.py'",
                vec![Purpose::Remove(vec!["a.py".into(), "b c.py".into()])],
            ),
            (
                "git checkout -- src/a.rs",
                vec![Purpose::Restore(vec!["src/a.rs".into()])],
            ),
            ("git -C x reset --hard", vec![Purpose::Restore(vec![])]),
            ("git checkout 0a1b2c3", vec![Purpose::Look]),
            (
                "git commit -am 'store: keep order'",
                vec![Purpose::Commit("store: keep order".into())],
            ),
            (
                "git add -A && git commit -m \"$(cat <<'EOF'\nstore: keep order\n\nWhy.\nEOF\n)\"",
                vec![Purpose::Look, Purpose::Commit("store: keep order".into())],
            ),
            ("cat > a.py << 'EOF'\nrm -rf /\nEOF", vec![Purpose::Look]),
            ("ls && grep -n x y", vec![Purpose::Look, Purpose::Look]),
        ] {
            assert_eq!(purposes(command), wanted, "{command}");
        }
    }

    #[test]
    fn commands_are_shown_without_their_noise() {
        for (command, wanted) in [
            ("cd a && pytest -q 2>&1 | tail -20", "pytest -q"),
            ("python3 -c \"print(1)\"", "python3 -c …"),
            ("python3 << 'EOF'\nprint(1)\nEOF", "python3"),
        ] {
            assert_eq!(shown(command), wanted);
        }
    }
}
