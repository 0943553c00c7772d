//! Measures the picker for `bench -- picker`: the first frame, and the time from a key to the frame with its results.
//!
//! Printed on stderr at the end with `BACKSTORY_DEBUG=1`.

use std::time::{Duration, Instant};

use backstory_model::Timestamp;
use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(super) struct Latency {
    first_frame: Option<Timestamp>,
    /// The first key whose results are not on the screen.
    typed: Option<Instant>,
    keys: Vec<Duration>,
}

impl Latency {
    /// Notes a key that changed the search.
    pub(super) fn typed(&mut self) {
        self.typed.get_or_insert_with(Instant::now);
    }

    /// Notes a frame.
    pub(super) fn drawn(&mut self, now: Timestamp, has_newest_rows: bool) {
        if !has_newest_rows {
            return;
        }
        // A frame without rows is no answer to the start of the program.
        self.first_frame.get_or_insert(now);
        if let Some(typed) = self.typed.take() {
            self.keys.push(typed.elapsed());
        }
    }

    pub(super) fn json(&self) -> Value {
        let millis: Vec<f64> = self.keys.iter().map(|key| key.as_secs_f64() * 1000.0).collect();
        json!({"first_frame_at_ms": self.first_frame.map(Timestamp::as_millis), "keys_ms": millis})
    }
}
