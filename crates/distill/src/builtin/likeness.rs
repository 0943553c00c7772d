//! How much two pieces of text say the same.

/// The meaningful words of a text: lower case, without endings, sorted, once each.
pub(super) fn stems(text: &str) -> Vec<String> {
    let mut words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 1)
        .map(|word| stem(&word.to_lowercase()))
        .filter(|word| !STOP_WORDS.split('|').any(|known| known == word))
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}

fn stem(word: &str) -> String {
    for ending in ["ing", "ied", "ies", "ed", "es", "s", "ly"] {
        if let Some(root) = word.strip_suffix(ending)
            && root.len() >= 4
        {
            return root.trim_end_matches(['e', 'i', 'y']).to_owned();
        }
    }
    if word.len() > 4 {
        word.trim_end_matches(['e', 'y']).to_owned()
    } else {
        word.to_owned()
    }
}

const STOP_WORDS: &str = concat!(
    "the|an|and|or|of|to|in|on|for|with|is|are|was|were|be|been|being|it|its|this|that|these|",
    "those|now|when|which|where|so|as|by|from|at|has|have|had|not|no|longer|also|instead|than|",
    "then|if|they|their|there|can|will|would|should|could|but|into|only|both|each|all|any|due|do|",
    "does|did|py|rs|ts|js|caus|because|becaus|thu|correct|proper",
);

/// How much of the smaller of two word lists is in the other, from 0 to 1.
pub(super) fn likeness(a: &[String], b: &[String]) -> f32 {
    let (small, large) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if small.is_empty() {
        return 0.0;
    }
    let shared = u16::try_from(
        small
            .iter()
            .filter(|word| large.binary_search(word).is_ok())
            .count(),
    )
    .unwrap_or(u16::MAX);
    f32::from(shared) / f32::from(u16::try_from(small.len()).unwrap_or(u16::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn likeness_ignores_endings_and_small_words() {
        let a = stems("The parser rejects empty inputs");
        let b = stems("parsers now reject an empty input");
        assert!(likeness(&a, &b) > 0.7);
        assert!(likeness(&a, &stems("the cache is warm")) < 0.1);
    }
}
