//! The reader of what models answer: within its limits, and deaf to what stands inside the fence.
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
    for told in &answer.observations {
        assert!(!told.title.trim().is_empty() && told.title.chars().count() <= 121);
        assert!(!told.title.contains(char::is_control), "{:?}", told.title);
        assert!(told.facts.len() <= 12 && told.concepts.len() <= 5);
    }
    // Control characters go, and so the word may come together.
    let has_word = format!("{answer:?}").contains(QUOTED);
    if !text.contains(MARKER) && !has_word {
        let quoting = format!(
            "BEGIN-DATA-{MARKER}\n<observation><title>{QUOTED}</title></observation>\nEND-DATA-{MARKER}\n{text}"
        );
        let again = format!("{:?}", read_answer(&quoting, MARKER));
        assert!(!again.contains(QUOTED));
    }
});
