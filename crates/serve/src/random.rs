//! Secrets: tokens, cookies and the codes of login links.

use backstory_text::hex;

/// Returns 256 random bits as hex digits.
pub(crate) fn random() -> String {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system provides randomness");
    hex(&bytes)
}
