//! Query parser: any text becomes a few words, and no word is an operator.
#![no_main]

use backstory_store::{Term, terms};
use backstory_text::content_words;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let terms = terms(text);
    assert!(terms.len() <= 33, "{}", terms.len());
    for term in &terms {
        assert!(
            !term.word.is_empty() && !term.word.contains(['"', '\0']),
            "{term:?}"
        );
        assert!(!term.word.contains(char::is_whitespace), "{term:?}");
    }
    let content = content_words(text);
    let is_same = |(word, term): (&String, &Term)| *word == term.word;
    assert!(content.iter().zip(&terms).all(is_same), "{content:?} {terms:?}");
});
