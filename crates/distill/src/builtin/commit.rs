//! What the subject of a commit says.

use super::grammar::acts;
use super::text::{lower_first, sentence_case};
use super::title::{fit, statement};
use super::verbs;

/// "auth: reject empty tokens" -> "auth rejects empty tokens", when it says enough.
pub(super) fn title(subject: &str) -> Option<(i32, String)> {
    let (scope, words) = match subject.split_once(": ") {
        Some((prefix, rest)) if prefix.len() < 30 && !prefix.contains(' ') => (commit_scope(prefix), rest),
        _ => (None, subject),
    };
    let changes = words
        .split_whitespace()
        .next()
        .and_then(verbs::verb)
        .is_some_and(|(base, _)| verbs::is_change(base) && base != "write");
    let with_scope = scope
        .filter(|_| !changes)
        .and_then(|scope| acts(scope, &lower_first(words)));
    let (strength, made) = match with_scope {
        Some(made) => (80, sentence_case(&made)),
        None => statement(words, None).map(|made| (i32::from(made.strength), made.text))?,
    };
    let title = fit(&made)?;
    (title.split_whitespace().count() >= 3).then(|| (strength.max(60) + 4, title))
}

/// "fix(auth)" and "auth" are about auth, "fix" is about nothing.
fn commit_scope(prefix: &str) -> Option<&str> {
    let kind = |word: &str| {
        matches!(
            word,
            "fix"
                | "feat"
                | "chore"
                | "docs"
                | "test"
                | "tests"
                | "refactor"
                | "style"
                | "perf"
                | "ci"
                | "build"
                | "revert"
        )
    };
    match prefix.split_once('(') {
        Some((_, scope)) => Some(scope.trim_end_matches(['!', ')'])).filter(|scope| !scope.is_empty()),
        None => Some(prefix.trim_end_matches('!')).filter(|word| !kind(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_become_statements() {
        for (subject, wanted) in [
            ("auth: reject empty tokens", Some("Auth rejects empty tokens")),
            (
                "fix(auth): reject empty tokens",
                Some("Auth rejects empty tokens"),
            ),
            ("feat: add retries to `Client`", Some("`Client` has retries")),
            (
                "Fix the crash in `load()` when the file is empty",
                Some("`load()` no longer crashes when the file is empty"),
            ),
            ("wip", None),
        ] {
            assert_eq!(
                title(subject).map(|(_, title)| title).as_deref(),
                wanted,
                "{subject}"
            );
        }
    }
}
