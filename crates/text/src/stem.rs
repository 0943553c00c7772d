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
    let Some(root) = word.strip_suffix('s') else {
        return word;
    };
    match root.strip_suffix('e') {
        Some(root) if ends_with_any(root, &["i", "s", "x", "z", "ch", "sh"]) => root,
        // "class", "status" and "analysis" are no plurals.
        _ if ends_with_any(root, &["s", "u", "i"]) || root.len() < 3 => word,
        _ => root,
    }
}

fn without_verb_ending(word: &str) -> &str {
    const MIN_ADVERB_ROOT: usize = 5;
    if let Some(root) = word
        .strip_suffix("ly")
        .filter(|root| root.len() >= MIN_ADVERB_ROOT)
    {
        return root;
    }
    let root = word.strip_suffix("ing").or_else(|| word.strip_suffix("ed"));
    // "string" and "bring" have no vowel before the ending, "speed" and "need" are no past tenses.
    let is_root = |root: &&str| root.len() >= 3 && !root.ends_with('e') && root.contains(is_vowel);
    let Some(root) = root.filter(is_root) else {
        return word;
    };
    let bytes = root.as_bytes();
    let last = bytes[bytes.len() - 1];
    let is_doubled = bytes[bytes.len() - 2] == last && !is_vowel(char::from(last));
    // "stopped" comes from "stop", but "passed" from "pass" and "filled" from "fill".
    if is_doubled && root.len() > 3 && !matches!(last, b'l' | b's' | b'z') {
        &root[..root.len() - 1]
    } else {
        root
    }
}

fn without_final_vowel(word: &str) -> &str {
    let root = word.strip_suffix(['e', 'y', 'i']);
    root.filter(|root| root.len() >= 3).unwrap_or(word)
}

fn ends_with_any(word: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| word.ends_with(ending))
}

const fn is_vowel(letter: char) -> bool {
    matches!(letter, 'a' | 'e' | 'i' | 'o' | 'u' | 'y')
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
