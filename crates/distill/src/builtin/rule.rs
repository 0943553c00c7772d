//! Rules that the person gives in a prompt: "from now on", "always", "never", "we use x, not y".

use backstory_model::ObservationType;

use super::draft::Draft;
use super::opening;
use super::request;
use super::sentence::sentences;
use super::text::{clip, has_any, lower_first, plain, starts_with_any};
use super::title::MAX_TITLE;

/// A longer prompt is a text about something, in which such words mean something else.
const MAX_PROMPT: usize = 800;

/// The rules of a prompt, in the person's own words.
pub(super) fn drafts(prompt: &str) -> Vec<Draft> {
    if prompt.len() > MAX_PROMPT {
        return Vec::new();
    }
    let text = request::without_machine_parts(prompt);
    let mut out = Vec::new();
    for sentence in text.lines().map(plain).flat_map(|line| {
        sentences(&line)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    }) {
        // "And never touch src/legacy": what joins a rule to the one before is no part of it.
        let sentence = opening::trim_opening(&sentence).to_owned();
        let lower = sentence.to_lowercase();
        let words = sentence.split_whitespace().count();
        let lasting = starts_with_any(&lower, OPENINGS)
            || is_custom(&lower)
            || has_any(
                &lower,
                "from now on|in this project we|in this repo we|in future always",
            );
        if !lasting || sentence.ends_with('?') || !(3..=30).contains(&words) {
            continue;
        }
        let rule = sentence.trim_end_matches(['.', '!']);
        let title = clip(&format!("The person wants: {}", lower_first(rule)), MAX_TITLE);
        let mut draft = Draft::new(ObservationType::Decision, title, 0, 78);
        draft.narrative = Some(format!("Said in a prompt: “{}”", clip(&sentence, 400)));
        draft.concepts = vec!["pattern"];
        out.push(draft);
    }
    out.truncate(2);
    out
}

/// "We use Decimal everywhere, not cents": how things are done here, often said to put an agent right.
fn is_custom(lower: &str) -> bool {
    let contrast = [", not ", ", never ", " and not "];
    starts_with_any(lower, "we don't use |we do not use |we only use |we use only ")
        || lower.starts_with("we use ")
            && (has_any(lower, "everywhere") || contrast.iter().any(|contrast| lower.contains(contrast)))
}

const OPENINGS: &str = concat!(
    "always |never |from now on|please always |please never |don't ever |do not ever |remember that |remember to always |",
    "we always |we never |going forward,|as a rule,|make sure to always ",
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_of_a_prompt_counts() {
        let prompt = "From now on always run the tests with `make check`, never call pytest directly. And never touch src/legacy/.";
        let titles: Vec<String> = drafts(prompt).into_iter().map(|draft| draft.title).collect();
        assert_eq!(
            titles,
            [
                "The person wants: from now on always run the tests with `make check`, never call pytest directly",
                "The person wants: never touch src/legacy/",
            ]
        );
    }

    #[test]
    fn only_lasting_wishes_are_rules() {
        for (prompt, wanted) in [
            (
                "Never use npm here, we have pnpm.",
                Some("The person wants: never use npm here, we have pnpm"),
            ),
            (
                "Fix the tests. From now on run them with nextest!",
                Some("The person wants: from now on run them with nextest"),
            ),
            (
                "No, that is wrong. We use Decimal everywhere, not integer cents. Change src/cart.py",
                Some("The person wants: we use Decimal everywhere, not integer cents"),
            ),
            (
                "We use pytest here, not unittest.",
                Some("The person wants: we use pytest here, not unittest"),
            ),
            ("We use a cache that does not expire, fix it", None),
            ("Why does it never end?", None),
            ("Add a flag", None),
        ] {
            assert_eq!(
                drafts(prompt).first().map(|draft| draft.title.as_str()),
                wanted,
                "{prompt}"
            );
        }
    }
}
