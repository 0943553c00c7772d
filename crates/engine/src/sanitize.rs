//! What people and other tools hand in is cut like what hooks report: private spans go, secrets are replaced.

use backstory_capture::strip_tags::TagStripper;
use backstory_secrets::{self as secrets, ScanContext};

/// The longest text that is kept, in bytes.
const MAX_LEN: usize = 64 * 1024;

/// Washes texts that belong together: a private span that opens in one may end in the next.
#[derive(Debug)]
pub struct Sanitizer {
    cutter: TagStripper,
    redact: bool,
}

impl Sanitizer {
    /// Returns a sanitizer that redacts secrets if `redact` is set.
    pub fn new(redact: bool) -> Self {
        Self {
            cutter: TagStripper::default(),
            redact,
        }
    }

    /// Returns what may be kept of a text, `None` when nothing is left.
    pub fn text(&mut self, text: &str) -> Option<String> {
        let kept = self.cutter.strip(text);
        let mut clean = if self.redact {
            secrets::redact(&kept, ScanContext::default()).into_owned()
        } else {
            kept.into_owned()
        };
        if clean.len() > MAX_LEN {
            clean.truncate(clean.floor_char_boundary(MAX_LEN));
        }
        (!clean.trim().is_empty()).then_some(clean)
    }

    /// Says whether a private span was cut.
    pub fn has_removed(&self) -> bool {
        self.cutter.has_stripped()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_or_secret_goes_and_the_rest_stays() {
        let mut wash = Sanitizer::new(true);
        assert_eq!(wash.text("plain").as_deref(), Some("plain"));
        assert!(!wash.has_removed());
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let text = wash.text(&format!("a <private>b</private> {token}")).unwrap();
        assert!(text.starts_with("a  [redacted:") && wash.has_removed(), "{text}");
        assert_eq!(wash.text("<private>open"), None);
        assert_eq!(wash.text("still</private> kept").as_deref(), Some(" kept"));
        assert!(Sanitizer::new(false).text(token).unwrap().contains(token));
    }

    #[test]
    fn a_text_is_cut_where_a_character_ends() {
        let long = "é".repeat(MAX_LEN);
        assert_eq!(Sanitizer::new(true).text(&long).unwrap().len(), MAX_LEN);
        let odd = format!("x{long}");
        assert_eq!(Sanitizer::new(true).text(&odd).unwrap().len(), MAX_LEN - 1);
    }
}
