//! What people and other tools hand in is cut like what hooks report: private spans go, secrets are replaced.

use backstory_capture::{
    secrets::{self, Context},
    tags::Cutter,
};

/// The longest text that is kept, in bytes.
const LONGEST: usize = 64 * 1024;

/// Washes texts that belong together: a private span that opens in one may end in the next.
#[derive(Debug)]
pub(crate) struct Wash {
    cutter: Cutter,
    redact: bool,
}

impl Wash {
    pub(crate) fn new(redact: bool) -> Self {
        Self {
            cutter: Cutter::default(),
            redact,
        }
    }

    /// Returns what may be kept of a text, `None` when nothing is left.
    pub(crate) fn text(&mut self, text: &str) -> Option<String> {
        let kept = self.cutter.cut(text);
        let mut clean = if self.redact {
            secrets::redact(&kept, Context::default()).into_owned()
        } else {
            kept.into_owned()
        };
        if clean.len() > LONGEST {
            clean.truncate(clean.floor_char_boundary(LONGEST));
        }
        (!clean.trim().is_empty()).then_some(clean)
    }

    /// Says whether a private span was cut.
    pub(crate) fn has_cut(&self) -> bool {
        self.cutter.has_cut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_private_or_secret_goes_and_the_rest_stays() {
        let mut wash = Wash::new(true);
        assert_eq!(wash.text("plain").as_deref(), Some("plain"));
        assert!(!wash.has_cut());
        let token = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let text = wash.text(&format!("a <private>b</private> {token}")).unwrap();
        assert!(text.starts_with("a  [redacted:") && wash.has_cut(), "{text}");
        assert_eq!(wash.text("<private>open"), None);
        assert_eq!(wash.text("still</private> kept").as_deref(), Some(" kept"));
        assert!(Wash::new(false).text(token).unwrap().contains(token));
    }

    #[test]
    fn a_text_is_cut_where_a_character_ends() {
        let long = "é".repeat(LONGEST);
        assert_eq!(Wash::new(true).text(&long).unwrap().len(), LONGEST);
        let odd = format!("x{long}");
        assert_eq!(Wash::new(true).text(&odd).unwrap().len(), LONGEST - 1);
    }
}
