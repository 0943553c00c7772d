//! Parser of model answers: respects its limits and ignores fenced data.
#![no_main]

use backstory_distill::read_answer;
use libfuzzer_sys::fuzz_target;

const MARKER: &str = "0123456789abcdef";
const QUOTED: &str = "quoted-word";

fuzz_target!(|text: &str| {
    let Ok(answer) = read_answer(text, MARKER) else {
        return;
    };
    assert!(answer.observations.len() <= 12);
    for observation in &answer.observations {
        assert!(!observation.title.trim().is_empty() && observation.title.chars().count() <= 121);
        assert!(!observation.title.contains(char::is_control), "{:?}", observation.title);
        assert!(observation.facts.len() <= 12 && observation.concepts.len() <= 5);
    }
    // Removing control characters can produce the word.
    let has_word = format!("{answer:?}").contains(QUOTED);
    if !text.contains(MARKER) && !has_word {
        let quoting = format!(
            "BEGIN-DATA-{MARKER}\n<observation><title>{QUOTED}</title></observation>\nEND-DATA-{MARKER}\n{text}"
        );
        let again = format!("{:?}", read_answer(&quoting, MARKER));
        assert!(!again.contains(QUOTED));
    }
});
