//! Sanitizes the texts of records by the rules of capture.

use backstory_capture::{
    filter::CaptureSettings,
    sanitize::{PayloadSanitizer, SanitizeOptions},
    strip_tags::TagStripper,
};

/// Sanitizes texts and values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TranscriptSanitizer {
    redact: bool,
    /// The approximate maximum length of a value, in bytes.
    budget: usize,
    /// True for the content of a file of secrets.
    secret_file: bool,
}

impl TranscriptSanitizer {
    pub(crate) fn new(settings: &CaptureSettings) -> Self {
        Self {
            redact: settings.redact,
            budget: settings.max_payload,
            secret_file: false,
        }
    }

    /// Returns a sanitizer for the content of a file of secrets.
    pub(crate) fn of_secret_file(self, secret_file: bool) -> Self {
        Self { secret_file, ..self }
    }

    pub(crate) fn redacts(self) -> bool {
        self.redact
    }

    /// Sanitizes a text in a JSON string. Returns an empty text for any other value.
    pub(crate) fn text(self, raw: &str, stripper: &mut TagStripper) -> String {
        if !raw.starts_with('"') {
            return String::new();
        }
        // Sanitizing keeps JSON valid. If it did not, an empty text would be safer than an unsanitized one.
        serde_json::from_str(&self.value(raw, stripper)).unwrap_or_default()
    }

    /// Sanitizes a plain text.
    pub(crate) fn plain(self, text: &str) -> String {
        let raw = serde_json::Value::from(text).to_string();
        self.text(&raw, &mut TagStripper::default())
    }

    /// Sanitizes a JSON value.
    pub(crate) fn value(self, raw: &str, stripper: &mut TagStripper) -> String {
        let rules = SanitizeOptions {
            redact: self.redact,
            budget: self.budget,
            secret_file: self.secret_file,
        };
        let mut whole = stripper.clone();
        let mut out = String::with_capacity(raw.len().min(self.budget));
        let mut sanitizer = PayloadSanitizer::resume(rules, std::mem::take(stripper));
        sanitizer.value(raw, &mut out);
        *stripper = if out.len() <= self.budget / 4 * 3 {
            sanitizer.into_stripper()
        } else {
            // The part that was dropped for its length may have opened or closed a private span.
            whole.strip(raw);
            whole
        };
        out
    }
}
