//! Signs by which the use of a memory shows: files, commands and names that it brings.

use backstory_store::Memory;
use backstory_text::has_word;

/// A sign of a memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Sign {
    /// A path.
    File(String),
    /// A command, as it is typed.
    Command(String),
    /// A name in code.
    Name(String),
}

impl Sign {
    /// Returns the text of the sign.
    pub(super) fn text(&self) -> &str {
        match self {
            Self::File(text) | Self::Command(text) | Self::Name(text) => text,
        }
    }

    /// Returns how much the sign says: a command with several words is typed by chance far less often than a name.
    pub(super) fn strength(&self) -> usize {
        const WORDS: usize = 3;
        match self {
            Self::Command(command) if command.split_whitespace().count() >= WORDS => 2,
            Self::File(_) | Self::Command(_) | Self::Name(_) => 1,
        }
    }

    /// Reports whether a text has the sign.
    pub(super) fn is_in(&self, text: &str) -> bool {
        match self {
            Self::File(path) => has_path(text, path),
            Self::Command(command) => text.contains(command.as_str()),
            Self::Name(name) => has_word(text, name),
        }
    }
}

/// The most signs of one memory.
const MAX_SIGNS: usize = 40;

/// Returns the signs of a memory.
pub(super) fn signs(memory: &Memory) -> Vec<Sign> {
    let record = &memory.record;
    let files = record
        .files_modified
        .iter()
        .chain(&record.files_edited)
        .chain(&record.files_read);
    let mut found: Vec<Sign> = files.map(|path| Sign::File(path.clone())).collect();
    let fields = memory.fields();
    for text in [&fields.title, &fields.facts, &fields.narrative] {
        for code in text.split('`').skip(1).step_by(2) {
            let code = code.trim();
            if code.contains(' ') && !code.contains('\n') && looks_like_command(code) {
                found.push(Sign::Command(code.to_owned()));
            } else if is_path(code) {
                // A bare name is that of a cited file, or of any file: it says nothing more.
                if code.contains('/') {
                    found.push(Sign::File(code.to_owned()));
                }
            } else {
                found.extend(names(code).map(|name| Sign::Name(name.to_owned())));
            }
        }
    }
    let mut distinct: Vec<Sign> = Vec::new();
    for sign in found {
        if !distinct.contains(&sign) && distinct.len() < MAX_SIGNS {
            distinct.push(sign);
        }
    }
    distinct
}

/// Reports whether code is a command line: a program in lower case and its arguments.
fn looks_like_command(code: &str) -> bool {
    let program = code.split_whitespace().next().unwrap_or_default();
    let is_program = program.bytes().all(|byte| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.' | b'/')
    });
    let is_code = code.contains(['{', '}', ';', '=']) && !code.contains("--") || code.contains(" = ");
    is_program && program.len() > 1 && !is_code
}

fn is_path(code: &str) -> bool {
    let name = code.rsplit('/').next().unwrap_or(code);
    let has_extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        !stem.is_empty() && (1..=5).contains(&extension.len()) && extension.starts_with(char::is_alphabetic)
    });
    !code.contains(char::is_whitespace)
        && has_extension
        && name.chars().all(|c| c.is_alphanumeric() || "._-".contains(c))
}

/// Returns names that hardly any other text has: long ones, with an underscore, a digit or capitals inside.
fn names(code: &str) -> impl Iterator<Item = &str> {
    const MIN_LEN: usize = 5;
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|name| {
            let has_capital =
                name.chars().skip(1).any(char::is_uppercase) && name.contains(char::is_lowercase);
            name.len() >= MIN_LEN
                && name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && (has_capital || name.contains('_') || name.contains(|c: char| c.is_ascii_digit()))
        })
}

/// Reports whether a text names a file: by its path, or by a longer path that ends with it.
fn has_path(text: &str, path: &str) -> bool {
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + path.len()..].chars().next();
        let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '-');
        !is_part(before) && !is_part(after)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_apart() {
        assert!(looks_like_command("cargo test -p store"));
        assert!(looks_like_command("npm run build"));
        assert!(!looks_like_command("let x = 3"));
        assert!(!looks_like_command("Some text here"));
        assert!(is_path("src/auth.rs") && is_path("go.mod"));
        assert!(!is_path("retry_limit") && !is_path("1.5"), "{}", is_path("1.5"));
        assert_eq!(
            names("RetryPolicy::with_limit(x)").collect::<Vec<_>>(),
            ["RetryPolicy", "with_limit"]
        );
        assert_eq!(names("cache").count(), 0);
    }

    #[test]
    fn a_sign_is_a_whole_word_or_path() {
        let name = Sign::Name("with_limit".to_owned());
        assert!(name.is_in("call with_limit(3)"));
        assert!(!name.is_in("call with_limits(3)"));
        let file = Sign::File("src/auth.rs".to_owned());
        assert!(file.is_in("/w/src/auth.rs"));
        assert!(!file.is_in("src/auth.rsx"));
    }
}
