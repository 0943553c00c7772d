//! Counters in the text format of Prometheus. Totals only: nothing here is per person, device or project.

use std::{
    fmt::Write as _,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use backstory_protocol::PushStatus;

use crate::{database::Databases, heads::Heads};

/// Counters since the start of the process.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Answers by the first digit of their status.
    answers: [AtomicU64; 6],
    stored: AtomicU64,
    unchanged: AtomicU64,
    stale: AtomicU64,
    rejected: AtomicU64,
    sent: AtomicU64,
    searches: AtomicU64,
}

impl Metrics {
    pub(crate) fn count_answer(&self, status: u16) {
        if let Some(counter) = self.answers.get(usize::from(status / 100)) {
            counter.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn count_result(&self, status: PushStatus) {
        let counter = match status {
            PushStatus::Stored { .. } => &self.stored,
            PushStatus::Unchanged => &self.unchanged,
            PushStatus::Stale => &self.stale,
            PushStatus::Rejected { .. } => &self.rejected,
        };
        counter.fetch_add(1, Relaxed);
    }

    pub(crate) fn count_sent(&self, lines: usize) {
        self.sent.fetch_add(lines as u64, Relaxed);
    }

    pub(crate) fn count_search(&self) {
        self.searches.fetch_add(1, Relaxed);
    }
}

/// Renders all counters.
pub(crate) fn render(metrics: &Metrics, databases: &Databases, heads: &Heads) -> String {
    let mut text = String::new();
    let mut counter = |name: &str, rows: &[(&str, &AtomicU64)]| {
        writeln!(text, "# TYPE backstory_{name} counter").ok();
        for (label, value) in rows {
            writeln!(text, "backstory_{name}{label} {}", value.load(Relaxed)).ok();
        }
    };
    counter(
        "requests_total",
        &[
            ("{status=\"2xx\"}", &metrics.answers[2]),
            ("{status=\"3xx\"}", &metrics.answers[3]),
            ("{status=\"4xx\"}", &metrics.answers[4]),
            ("{status=\"5xx\"}", &metrics.answers[5]),
        ],
    );
    counter(
        "pushed_records_total",
        &[
            ("{result=\"stored\"}", &metrics.stored),
            ("{result=\"unchanged\"}", &metrics.unchanged),
            ("{result=\"stale\"}", &metrics.stale),
            ("{result=\"rejected\"}", &metrics.rejected),
        ],
    );
    counter("pulled_changes_total", &[("", &metrics.sent)]);
    counter("searches_total", &[("", &metrics.searches)]);
    let (open, idle) = databases.connections();
    for (name, value) in [
        ("waiting_requests", heads.waiting()),
        ("database_connections", open),
        ("database_connections_idle", idle),
    ] {
        writeln!(text, "# TYPE backstory_{name} gauge\nbackstory_{name} {value}").ok();
    }
    text
}
