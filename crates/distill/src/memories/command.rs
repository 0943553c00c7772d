//! Reads recorded command lines: their parts, and what makes two runs the same command.
//!
//! Works on the text that the work log keeps, without folders changed into, redirected errors and here documents. Parsing of
//! the original command line is the business of `evidence`.

/// Returns the simple commands of a compound command: the first of each pipeline, split outside of quotes.
pub(crate) fn simple_commands(command: &str) -> impl Iterator<Item = &str> {
    let mut parts = Vec::new();
    let mut quote = None;
    let (mut start, mut in_pipe) = (0, false);
    for (at, c) in command.char_indices() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '|' | '&' | ';' | '\n') => {
                // `2>&1` is no separator.
                if c == '&'
                    && (command[..at].ends_with('>')
                        || command[at + 1..].starts_with(|c: char| c.is_ascii_digit() || c == '>'))
                {
                    continue;
                }
                if !in_pipe {
                    parts.push(command[start..at].trim());
                }
                let is_double = command[at + 1..].starts_with(c) || command[..at].ends_with(c);
                in_pipe = c == '|' && !is_double;
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    if !in_pipe {
        parts.push(command[start..].trim());
    }
    parts.into_iter().filter(|part| !part.is_empty())
}

/// Returns the part of a command that stays when it is run again: program, sub-commands and script, without options and
/// folders.
pub(crate) fn command_key(command: &str) -> String {
    const MAX_WORDS: usize = 3;
    let mut out = String::new();
    let words = command
        .split_whitespace()
        .filter(|word| !word.contains('=') || word.starts_with('-'));
    for word in words.take(MAX_WORDS) {
        let file = script_name(word);
        if file.is_none() && word.starts_with(['-', '.', '/', '"', '\'', '>', '2', '$']) {
            break;
        }
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(file.unwrap_or(word));
    }
    out
}

/// Returns the name of a script without its folder: `./tools/check.sh`.
fn script_name(word: &str) -> Option<&str> {
    const EXTENSIONS: [&str; 11] = [
        "py", "sh", "js", "ts", "mjs", "rb", "exs", "pl", "php", "lua", "bash",
    ];
    let name = word.rsplit('/').next()?;
    let (stem, extension) = name.rsplit_once('.')?;
    (!stem.is_empty() && !word.starts_with(['-', '"', '\'', '$', '>']) && EXTENSIONS.contains(&extension))
        .then_some(name)
}

/// Returns the script that a simple command runs directly: `python3 a/check.py`, `./check.sh`; not `pytest a.py`.
pub(crate) fn run_script(command: &str) -> Option<&str> {
    const INTERPRETERS: [&str; 13] = [
        "python", "python3", "node", "deno", "bun", "ruby", "elixir", "perl", "php", "lua", "bash", "sh",
        "tsx",
    ];
    let mut words = command.split_whitespace();
    let program = words.next()?;
    if let Some(name) = script_name(program) {
        return Some(name);
    }
    let program = program.rsplit('/').next().unwrap_or(program);
    if !INTERPRETERS.contains(&program) {
        return None;
    }
    // `-m` and `-c` are followed by a module or code, and what comes after that is an argument.
    let first = words.find(|word| !word.starts_with('-') || matches!(*word, "-m" | "-c"))?;
    let first = if first == "run" { words.next()? } else { first };
    script_name(first)
}

/// Reports whether a command has more than one simple command.
pub(crate) fn is_compound(command: &str) -> bool {
    simple_commands(command).nth(1).is_some()
}

/// Returns the arguments that choose what a command works on.
pub(crate) fn targets(command: &str) -> Vec<&str> {
    let skipped = command_key(command).split_whitespace().count();
    command
        .split_whitespace()
        .filter(|word| !word.contains('=') || word.starts_with('-'))
        .skip(skipped)
        .filter(|word| !word.starts_with('-') && !word.contains('>'))
        .collect()
}

/// `python x.py` and `python3 x.py`: another program with the same arguments.
pub(crate) fn is_variant(failed: &str, passed: &str) -> bool {
    match (failed.split_once(' '), passed.split_once(' ')) {
        (Some((one, rest)), Some((other, same))) => one != other && rest == same,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_known_by_program_and_sub_commands() {
        for (command, wanted) in [
            ("mise run lint 2>&1", "mise run lint"),
            ("go test ./cmd/... -run X", "go test"),
            ("gh pr create --draft --base main", "gh pr create"),
            ("FOO=1 cargo test -p x", "cargo test"),
            ("python3 ./tools/check.py -v", "python3 check.py"),
            ("python3 check.py", "python3 check.py"),
        ] {
            assert_eq!(command_key(command), wanted);
        }
        assert_eq!(run_script("python3 -u a/repro.py x"), Some("repro.py"));
        assert_eq!(run_script("./repro.sh"), Some("repro.sh"));
        assert_eq!(run_script("python3 -m pytest a.py"), None);
        assert_eq!(run_script("pytest a.py"), None);
        let parts = |command| simple_commands(command).collect::<Vec<_>>();
        assert_eq!(
            parts("go test -run \"A|B\" ./... 2>&1 | tail && make lint"),
            ["go test -run \"A|B\" ./... 2>&1", "make lint"]
        );
        assert_eq!(parts("a || b; c"), ["a", "b", "c"]);
        assert!(is_variant("python a.py", "python3 a.py"));
        assert!(!is_variant("cargo test", "cargo build"));
    }
}
