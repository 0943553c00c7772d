//! The worker and its queue: does what comes in become memories?

use std::{fs, time::Duration};

use backstory_engine::worker_process;
use backstory_model::Timestamp;
use backstory_store::{BusyTimeout, Store};
use serde_json::Value;

use super::finding::{CheckContext, Finding};
use crate::output::{self, count};

/// An event that waits longer than this is stuck: a worker needs a second.
const STUCK: Duration = Duration::from_mins(15);

pub(super) fn check(patient: &CheckContext<'_>) -> Vec<Finding> {
    let mut findings = vec![process(patient)];
    findings.extend(queue(patient));
    findings
}

fn process(patient: &CheckContext<'_>) -> Finding {
    let Some(pid) = worker_process::holder(&patient.engine.home) else {
        return Finding::ok("worker", "not running; the next event starts it");
    };
    let facts: Value = fs::read(patient.engine.home.worker_json())
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    match facts["version"].as_str() {
        Some(version) if version != env!("CARGO_PKG_VERSION") => Finding::warning(
            "worker",
            format!(
                "process {pid} is version {version}, this is {}",
                env!("CARGO_PKG_VERSION")
            ),
        )
        .remedy("backstory worker restart"),
        _ => Finding::ok("worker", format!("runs as process {pid}")),
    }
}

fn queue(patient: &CheckContext<'_>) -> Vec<Finding> {
    let spooled = patient.engine.home.spool().waiting().unwrap_or_default();
    // A file's name begins with its time in nanoseconds.
    let oldest_spooled = spooled
        .first()
        .and_then(|key| key.split('-').next()?.parse::<i64>().ok())
        .map(|at| Timestamp::from_millis(at / 1_000_000));
    let queue = Store::open_read_only(&patient.engine.home.database(), BusyTimeout::Command)
        .and_then(|store| store.queue(0));
    // What is wrong with the database is said elsewhere.
    let queue = queue.ok();
    let waiting = spooled.len() as u64 + queue.as_ref().map_or(0, |queue| queue.pending + queue.processing);
    let failed = queue.as_ref().map_or(0, |queue| queue.failed);
    let oldest = [oldest_spooled, queue.and_then(|queue| queue.oldest_at)]
        .into_iter()
        .flatten()
        .min();
    let mut findings = Vec::new();
    if failed > 0 {
        findings.push(
            Finding::warning("failed", format!("{} failed", count(failed, "event")))
                .remedy("`backstory queue` says why, `backstory queue retry` tries again"),
        );
    }
    let stuck = oldest.filter(|oldest| waiting > 0 && patient.now.since(*oldest) > STUCK);
    findings.push(match (waiting, stuck) {
        (0, _) => Finding::ok("queue", "nothing waits"),
        (_, None) => Finding::ok("queue", format!("{} on the way", count(waiting, "event"))),
        (_, Some(oldest)) => Finding::warning(
            "queue",
            format!(
                "{} waiting, the oldest since {}",
                count(waiting, "event"),
                output::ago(patient.now, oldest)
            ),
        )
        .remedy(format!(
            "backstory worker restart; {} says why one ended",
            patient.engine.home.log("worker.log").display()
        )),
    });
    findings
}
