//! Stripper of private spans: the content of a span is never returned, after any preceding text.
#![no_main]

use backstory_capture::strip_tags::TagStripper;
use libfuzzer_sys::fuzz_target;

const HIDDEN: &str = "hidden-word";

fuzz_target!(|text: &str| {
    if text.contains(HIDDEN) {
        return;
    }
    let mut stripper = TagStripper::default();
    let kept = stripper.strip(text);
    assert!(kept.len() <= text.len());
    if !text.contains('<') {
        assert_eq!(kept, text);
    }
    // In the same text and in the next one.
    let spanned = format!("{text} <private>{HIDDEN}</private>");
    assert!(!TagStripper::default().strip(&spanned).contains(HIDDEN));
    let next = format!("<private>{HIDDEN}</private>");
    assert!(!stripper.strip(&next).contains(HIDDEN));
});
