//! A light English stemmer: enough to see that two words are forms of one.

/// Returns the stem of a lower-case word, which is always a prefix of it.
///
/// Covers plurals, `-ed`, `-ing`, `-ly` and a final `e` or `y`: "retry", "retries", "retried" and "retrying" have one stem.
/// Unlike Porter's algorithm it leaves derived words alone ("distiller", "reproducible"). Words in other scripts are
/// returned unchanged.
pub fn stem(word: &str) -> &str {
    if !word.is_ascii() || word.len() < 4 {
        return word;
    }
    without_final_vowel(without_verb_ending(without_plural(word)))
}

fn without_plural(word: &str) -> &str {
    let dropped = match word.as_bytes() {
        [.., b'i' | b's' | b'x' | b'z', b'e', b's'] | [.., b'c' | b's', b'h', b'e', b's'] => 2,
        // "class", "status" and "analysis" are no plurals.
        [.., b's' | b'u' | b'i', b's'] => 0,
        [_, _, _, .., b's'] => 1,
        _ => 0,
    };
    &word[..word.len() - dropped]
}

fn without_verb_ending(word: &str) -> &str {
    const MIN_ADVERB_ROOT: usize = 5;
    let (root, is_verb) = match word.as_bytes() {
        [root @ .., b'l', b'y'] if root.len() >= MIN_ADVERB_ROOT => (root, false),
        [root @ .., b'i', b'n', b'g'] | [root @ .., b'e', b'd'] => (root, true),
        _ => return word,
    };
    let mut length = root.len();
    if is_verb {
        // "string" and "bring" have no vowel before the ending, "speed" and "need" are no past tenses.
        if length < 3 || root.ends_with(b"e") || !root.iter().any(|letter| is_vowel(*letter)) {
            return word;
        }
        // "stopped" comes from "stop", but "passed" from "pass", "filled" from "fill" and "added" from "add".
        if let [_, .., before, last] = root
            && before == last
            && length > 3
            && !is_vowel(*last)
            && !matches!(last, b'l' | b's' | b'z')
        {
            length -= 1;
        }
    }
    &word[..length]
}

fn without_final_vowel(word: &str) -> &str {
    match word.as_bytes() {
        [_, _, _, .., b'e' | b'y' | b'i'] => &word[..word.len() - 1],
        _ => word,
    }
}

const fn is_vowel(letter: u8) -> bool {
    matches!(letter, b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_one_word_have_one_stem() {
        for forms in [
            "retry retries retried retrying",
            "cache caches cached caching",
            "stop stops stopped stopping",
            "add adds added adding",
            "file files filed",
            "type types typed typing",
            "class classes",
            "pass passes passed passing",
            "refresh refreshes refreshed refreshing",
            "box boxes",
            "index indexes indexed",
            "string strings",
            "silent silently",
            "apply applies applied applying",
            "play plays played playing",
            "need needs",
        ] {
            let mut stems: Vec<&str> = forms.split(' ').map(stem).collect();
            stems.dedup();
            assert_eq!(stems.len(), 1, "{forms}: {stems:?}");
        }
    }

    #[test]
    fn different_words_keep_different_stems() {
        for (one, other) in [
            ("status", "state"),
            ("bring", "bread"),
            ("speed", "spin"),
            ("app", "apply"),
            ("string", "strong"),
            ("this", "thing"),
        ] {
            assert_ne!(stem(one), stem(other));
        }
        assert_eq!(stem("größen"), "größen");
        assert_eq!(stem("as"), "as");
    }
}
