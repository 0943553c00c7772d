//! Secret scanner: finds a token in any surrounding text, and returns valid ranges.
#![no_main]

use backstory_secrets::{ScanContext, find, redact};
use libfuzzer_sys::fuzz_target;

const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";

fuzz_target!(|text: &str| {
    if text.contains("0123456789abcdefghij") {
        return;
    }
    for secret in find(text, ScanContext::default()) {
        assert!(
            text.get(secret.range.clone())
                .is_some_and(|found| !found.is_empty()),
            "{secret:?}"
        );
    }
    let clean = redact(text, ScanContext::default());
    assert!(clean.len() <= 64 + 4 * text.len());
    let with_token = format!("{text}\n{TOKEN}\n{text}");
    assert!(!redact(&with_token, ScanContext::default()).contains(TOKEN));
});
