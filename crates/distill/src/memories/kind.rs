//! The type of a memory and its concepts.

use backstory_model::ObservationType;

use crate::english::{Intent, Phrases, has_cause, verb};

/// Returns the type of a change by the prefix of its commit, the verb of its subject and its files.
pub(crate) fn of_change(prefix: Option<&str>, subject: &str, files: &[&str]) -> ObservationType {
    let is_supporting = !files.is_empty() && files.iter().all(|file| is_test_or_text(file));
    match prefix {
        Some("fix" | "hotfix" | "bugfix") => return ObservationType::Bugfix,
        Some("feat" | "feature") => return ObservationType::Feature,
        Some("refactor" | "perf") => return ObservationType::Refactor,
        _ if is_known_prefix(prefix) => return ObservationType::Change,
        _ => {}
    }
    let first = subject
        .split_whitespace()
        .find(|word| !matches!(word.to_lowercase().as_str(), "successfully" | "also"));
    let first = first.map(|word| word.trim_end_matches(':'));
    match first.and_then(verb).map(|(base, _)| base) {
        _ if is_supporting => ObservationType::Change,
        Some("fix" | "resolve" | "correct" | "prevent" | "repair" | "guard") => ObservationType::Bugfix,
        Some("add" | "implement" | "introduce" | "support" | "create" | "enable" | "allow") => {
            ObservationType::Feature
        }
        Some(
            "refactor" | "rename" | "move" | "extract" | "simplify" | "consolidate" | "split" | "unify"
            | "inline" | "deduplicate" | "restructure",
        ) => ObservationType::Refactor,
        _ => ObservationType::Change,
    }
}

/// Reports whether the prefix of a commit names a kind of change.
pub(crate) fn is_known_prefix(prefix: Option<&str>) -> bool {
    matches!(
        prefix,
        Some("docs" | "doc" | "test" | "tests" | "chore" | "build" | "ci" | "style" | "revert")
    )
}

/// Reports whether a text tells the cause of a bug and its fix.
pub(crate) fn tells_fix(text: &str) -> bool {
    let lower = text.to_lowercase();
    BUGS.within(&lower) && FIXES.within(&lower)
}

static BUGS: Phrases =
    Phrases::new("bug|bugs|root cause|regression|crash|crashed|the issue was|the problem was");
static FIXES: Phrases = Phrases::new("fix|fixed|fixes|the fix|resolved");

/// Returns the type of a change by the request it answers.
pub(crate) const fn of_intent(intent: Intent) -> ObservationType {
    match intent {
        Intent::Fix => ObservationType::Bugfix,
        Intent::Add => ObservationType::Feature,
        Intent::Refactor => ObservationType::Refactor,
        Intent::Question | Intent::Other => ObservationType::Change,
    }
}

pub(crate) fn is_test_or_text(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or(file);
    let is_test_folder = file
        .split('/')
        .any(|part| matches!(part, "test" | "tests" | "spec" | "__tests__"));
    // "LoaderTest.java", "test_loader.py", "testutil.go", but not "latest.rs" or "inspect.rs".
    let lower = name.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let is_test = name.contains("Test")
        || words.any(|word| word.starts_with("test") || matches!(word, "spec" | "specs" | "conftest"));
    is_test_folder || is_test || is_text(&lower)
}

fn is_text(name: &str) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, extension)| matches!(extension, "md" | "txt" | "rst" | "adoc"))
}

/// Returns the concepts of a memory.
pub(crate) fn concepts(kind: ObservationType, text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut out = vec![kind.concept()];
    if has_cause(text) {
        out.push("why-it-exists");
    }
    if GOTCHAS.within(&lower) {
        out.push("gotcha");
    }
    if PATTERNS.within(&lower) {
        out.push("pattern");
    }
    out.into_iter().map(str::to_owned).collect()
}

static GOTCHAS: Phrases = Phrases::new(concat!(
    "gotcha|beware|careful|must not|must never|do not|don't|silently|unexpectedly|trap|only when|must be|",
    "pre-existing|flaky|stale",
));
static PATTERNS: Phrases = Phrases::new("same pattern|pattern|convention|consistent with|follows the");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_follows_the_work() {
        for (prefix, subject, files, wanted) in [
            (
                Some("fix"),
                "handle empty input",
                vec!["a.rs"],
                ObservationType::Bugfix,
            ),
            (
                None,
                "Add a `--json` flag",
                vec!["a.rs"],
                ObservationType::Feature,
            ),
            (
                None,
                "Add regression tests",
                vec!["tests/a.rs"],
                ObservationType::Change,
            ),
            (
                None,
                "Add a `--latest` flag",
                vec!["src/latest.rs", "src/inspect.rs"],
                ObservationType::Feature,
            ),
            (
                None,
                "Add a `--json` flag",
                vec!["LoaderTest.java", "loader_test.go", "a.spec.ts"],
                ObservationType::Change,
            ),
            (
                None,
                "Rename Store to Shelf",
                vec!["a.rs"],
                ObservationType::Refactor,
            ),
            (
                None,
                "Bump the version",
                vec!["Cargo.toml"],
                ObservationType::Change,
            ),
        ] {
            assert_eq!(of_change(prefix, subject, &files), wanted, "{subject}");
        }
    }
}
