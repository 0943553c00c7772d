//! Cleans what leaves the reader, by the rules of capture.

use backstory_capture::{
    filter::CaptureSettings,
    sanitize::{PayloadSanitizer, SanitizeOptions},
    strip_tags::TagStripper,
};

/// How texts and values are cleaned.
#[derive(Clone, Copy, Debug)]
pub(super) struct TranscriptSanitizer {
    redact: bool,
    /// About how long a value may be, in bytes.
    budget: usize,
    /// What is washed shows a file that holds secrets by its nature.
    secret_file: bool,
}

impl TranscriptSanitizer {
    pub(super) fn new(settings: &CaptureSettings) -> Self {
        Self {
            redact: settings.redact,
            budget: settings.max_payload,
            secret_file: false,
        }
    }

    /// Returns the rules for a file of secrets.
    pub(super) fn of_secret_file(self, secret_file: bool) -> Self {
        Self { secret_file, ..self }
    }

    pub(super) fn redacts(self) -> bool {
        self.redact
    }

    /// Returns what may be kept of a text that stands as a JSON string; nothing of any other value.
    pub(super) fn text(self, raw: &str, cutter: &mut TagStripper) -> String {
        if !raw.starts_with('"') {
            return String::new();
        }
        // Cleaning leaves valid JSON; were it otherwise, no text is better than one that was not cleaned.
        serde_json::from_str(&self.value(raw, cutter)).unwrap_or_default()
    }

    /// Returns what may be kept of a text that stands on its own.
    pub(super) fn plain(self, text: &str) -> String {
        let raw = serde_json::Value::from(text).to_string();
        self.text(&raw, &mut TagStripper::default())
    }

    /// Returns what may be kept of a JSON value.
    pub(super) fn value(self, raw: &str, cutter: &mut TagStripper) -> String {
        let rules = SanitizeOptions {
            redact: self.redact,
            budget: self.budget,
            secret_file: self.secret_file,
        };
        let mut all = cutter.clone();
        let mut out = String::with_capacity(raw.len().min(self.budget));
        let mut cleaner = PayloadSanitizer::resume(rules, std::mem::take(cutter));
        cleaner.value(raw, &mut out);
        *cutter = if out.len() <= self.budget / 4 * 3 {
            cleaner.into_stripper()
        } else {
            // What was dropped for its length may have opened or closed a private span.
            all.strip(raw);
            all
        };
        out
    }
}
