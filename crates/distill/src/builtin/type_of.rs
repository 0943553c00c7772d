//! Which type a memory has, by the wording of the request, the agent's words and the files.

use backstory_model::ObservationType;

use super::paths;
use super::request::{self, Intent, Request};
use super::text::has_any;

/// The type of what a turn changed as a whole.
pub(super) fn of_turn(
    request: Option<&Request>,
    said: &str,
    files: &[String],
    trouble: bool,
) -> ObservationType {
    let by_words = of_words(said);
    let only_text = !files.is_empty() && files.iter().all(|file| paths::is_prose_or_settings(file));
    match request.map(|request| request.intent) {
        Some(Intent::Fix) => ObservationType::Bugfix,
        Some(Intent::Other | Intent::Question)
            if request.is_some_and(|request| {
                request::complains(&request.line) || (trouble && !request::is_order(&request.line))
            }) =>
        {
            ObservationType::Bugfix
        }
        _ if only_text => ObservationType::Change,
        Some(Intent::Refactor) => ObservationType::Refactor,
        Some(Intent::Add) => ObservationType::Feature,
        _ => by_words,
    }
}

/// The type of a single change, by the words that report it.
pub(super) fn of_words(said: &str) -> ObservationType {
    let lower = said.to_lowercase();
    if has_any(
        &lower,
        "fix|fixed|fixes|bug|no longer fails|no longer crashes|no longer raises|regression",
    ) {
        ObservationType::Bugfix
    } else if has_any(
        &lower,
        "refactored|refactor|renamed|extracted|moved|simplified|restructured|inlined|split into|\
            is renamed",
    ) {
        ObservationType::Refactor
    } else if has_any(
        &lower,
        "test|tests|docs|documentation|readme|changelog|bumped|version",
    ) {
        ObservationType::Change
    } else if is_addition(&lower) {
        ObservationType::Feature
    } else {
        ObservationType::Change
    }
}

/// Whether words report something that was not there before.
fn is_addition(lower: &str) -> bool {
    has_any(
        lower,
        "added|adds|implemented|implements|introduced|introduces|supports|supported|new|created|\
            has a|can now",
    ) || (lower.starts_with('`') && lower.contains("` has a"))
}

/// The concepts of a memory, from the known list, by its type and words.
pub(super) fn concepts(kind: ObservationType, text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let mut out = Vec::new();
    let mut add = |concept: &str| {
        if !out.iter().any(|known| known == concept) {
            out.push(concept.to_owned());
        }
    };
    match kind {
        ObservationType::Bugfix => add("problem-solution"),
        ObservationType::Feature | ObservationType::Refactor | ObservationType::Change => add("what-changed"),
        ObservationType::Decision => add("trade-off"),
        ObservationType::Discovery => add("how-it-works"),
    }
    if kind == ObservationType::Bugfix {
        add("what-changed");
    }
    if has_any(
        &lower,
        "because|so that|in order to|to avoid|the reason|to keep|since",
    ) {
        add("why-it-exists");
    }
    if has_any(
        &lower,
        "gotcha|beware|careful|please do not|must not|must never|do not|silently|unexpectedly|trap|only when|must be|pre-existing|flaky",
    ) {
        add("gotcha");
    }
    if has_any(
        &lower,
        "same pattern|pattern|convention|consistent with|follows the",
    ) {
        add("pattern");
    }
    if has_any(&lower, "instead of|rather than|trade-off|at the cost") {
        add("trade-off");
    }
    out.truncate(4);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_has_the_type_of_its_words() {
        for (said, wanted) in [
            ("Fixed the crash", ObservationType::Bugfix),
            ("`Store` is renamed to `Shelf`", ObservationType::Refactor),
            ("Added a flag", ObservationType::Feature),
            ("Bumped the version", ObservationType::Change),
        ] {
            assert_eq!(of_words(said), wanted, "{said}");
        }
    }

    #[test]
    fn text_and_settings_alone_are_a_change_unless_they_fix() {
        let files = ["README.md".to_owned()];
        let request = |intent| Request {
            line: String::new(),
            subject: None,
            intent,
        };
        assert_eq!(
            of_turn(Some(&request(Intent::Add)), "Added docs", &files, false),
            ObservationType::Change
        );
        assert_eq!(
            of_turn(Some(&request(Intent::Fix)), "", &files, false),
            ObservationType::Bugfix
        );
        assert_eq!(
            of_turn(Some(&request(Intent::Other)), "", &files, true),
            ObservationType::Bugfix
        );
    }
}
