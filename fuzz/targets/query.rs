//! Query parser: any text becomes a few words, and no word is an operator.
#![no_main]

use backstory_store::terms;
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
    // A query may drop words that recall at a prompt keeps, but the rest is split alike and stays in order.
    let content = content_words(text);
    let queried = terms
        .iter()
        .map(|term| &term.word)
        .filter(|word| content.contains(word));
    let prompted = content
        .iter()
        .filter(|word| terms.iter().any(|term| term.word == **word));
    assert!(queried.eq(prompted), "{content:?} {terms:?}");
});
