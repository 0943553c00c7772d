//! Counters and histograms for `/metrics`. They start at zero with each worker.

use std::{
    collections::BTreeMap,
    fmt::Write,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// Upper bounds of the histogram buckets, in microseconds.
const BOUNDS: [u64; 9] = [500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 500_000];

/// Monotonic counters of one worker.
#[derive(Debug, Default)]
pub struct Counters {
    events: Mutex<BTreeMap<(String, &'static str), u64>>,
    distilled: AtomicU64,
    distilling: Histogram,
    searching: Histogram,
    requests: AtomicU64,
}

impl Counters {
    /// Counts events of a host by their outcome.
    pub fn events(&self, host: &str, outcome: &'static str, number: u64) {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        *events.entry((host.to_owned(), outcome)).or_default() += number;
    }

    /// Counts one round of distilling: its events and its duration.
    pub fn distilled(&self, events: u64, took: Duration) {
        self.distilled.fetch_add(events, Ordering::Relaxed);
        self.distilling.add(took);
    }

    /// Counts a search and its duration.
    pub fn searched(&self, took: Duration) {
        self.searching.add(took);
    }

    /// Counts a request.
    pub fn requested(&self) {
        self.requests.fetch_add(1, Ordering::Relaxed);
    }

    /// Writes all metrics in the Prometheus text format.
    pub fn write(&self, text: &mut String) {
        headline(
            text,
            "backstory_events_total",
            "counter",
            "Events by host and outcome.",
        );
        for ((host, outcome), number) in &*self.events.lock().unwrap_or_else(PoisonError::into_inner) {
            line(
                text,
                &format!("backstory_events_total{{host=\"{host}\",outcome=\"{outcome}\"}}"),
                number,
            );
        }
        headline(
            text,
            "backstory_distilled_events_total",
            "counter",
            "Distilled events.",
        );
        line(
            text,
            "backstory_distilled_events_total",
            self.distilled.load(Ordering::Relaxed),
        );
        headline(text, "backstory_http_requests_total", "counter", "HTTP requests.");
        line(
            text,
            "backstory_http_requests_total",
            self.requests.load(Ordering::Relaxed),
        );
        let about = "Duration of a round of distilling.";
        self.distilling.write(text, "backstory_distill_seconds", about);
        self.searching
            .write(text, "backstory_search_seconds", "Duration of a search.");
    }
}

/// Writes the HELP and TYPE lines of a metric.
pub fn headline(text: &mut String, name: &str, kind: &str, about: &str) {
    line(text, &format!("# HELP {name}"), about);
    line(text, &format!("# TYPE {name}"), kind);
}

/// Writes one sample.
pub fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing to a string cannot fail.
    writeln!(text, "{name} {value}").ok();
}

#[derive(Debug, Default)]
struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    microseconds: AtomicU64,
}

impl Histogram {
    fn add(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.microseconds.fetch_add(micros, Ordering::Relaxed);
    }

    fn write(&self, text: &mut String, name: &str, about: &str) {
        headline(text, name, "histogram", about);
        let mut below = 0;
        for (bound, bucket) in BOUNDS.iter().zip(&self.buckets) {
            below += bucket.load(Ordering::Relaxed);
            line(
                text,
                &format!("{name}_bucket{{le=\"{}\"}}", seconds(*bound)),
                below,
            );
        }
        let all = below + self.buckets[BOUNDS.len()].load(Ordering::Relaxed);
        line(text, &format!("{name}_bucket{{le=\"+Inf\"}}"), all);
        let sum = self.microseconds.load(Ordering::Relaxed);
        line(text, &format!("{name}_sum"), seconds(sum));
        line(text, &format!("{name}_count"), all);
    }
}

fn seconds(micros: u64) -> f64 {
    Duration::from_micros(micros).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histogram_buckets_are_cumulative() {
        let counters = Counters::default();
        for ms in [0, 3, 3, 2_000] {
            counters.searched(Duration::from_millis(ms));
        }
        let mut text = String::new();
        counters.write(&mut text);
        for expected in [
            "backstory_search_seconds_bucket{le=\"0.0005\"} 1",
            "backstory_search_seconds_bucket{le=\"0.005\"} 3",
            "backstory_search_seconds_bucket{le=\"0.5\"} 3",
            "backstory_search_seconds_bucket{le=\"+Inf\"} 4",
            "backstory_search_seconds_sum 2.006",
            "backstory_search_seconds_count 4",
        ] {
            assert!(text.lines().any(|line| line == expected), "{expected}\n{text}");
        }
    }
}
