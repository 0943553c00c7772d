//! Checks the worker and its queue.

use std::time::Duration;

use backstory_engine::worker_process;
use backstory_model::Timestamp;
use backstory_store::{BusyTimeout, Store};

use super::finding::{CheckContext, Finding};
use crate::{output::count, version};

/// Age at which a pending event counts as stuck: a worker needs about a second.
const STUCK: Duration = Duration::from_mins(15);

pub(super) fn check(context: &CheckContext<'_>) -> Vec<Finding> {
    let mut findings = vec![process(context)];
    findings.extend(queue(context));
    findings
}

fn process(context: &CheckContext<'_>) -> Finding {
    let Some(pid) = worker_process::holder(&context.engine.home) else {
        return Finding::ok("worker", "not running; the next event starts it");
    };
    match version::of_worker(&context.engine.home) {
        Some(mismatch) => {
            let message = mismatch.message(&format!("process {pid}"));
            Finding::warning("worker", message).remedy(mismatch.remedy)
        }
        None => Finding::ok("worker", format!("running as process {pid}")),
    }
}

fn queue(context: &CheckContext<'_>) -> Vec<Finding> {
    let spooled = context.engine.home.spool().pending().unwrap_or_default();
    // The name of a spooled file starts with its time in nanoseconds.
    let oldest_spooled = spooled
        .first()
        .and_then(|key| key.split('-').next()?.parse::<i64>().ok())
        .map(|at| Timestamp::from_millis(at / 1_000_000));
    let queue = Store::open_read_only(&context.engine.home.database(), BusyTimeout::Command)
        .and_then(|store| store.queue(0));
    // The check of the database reports its errors.
    let queue = queue.ok();
    let pending = spooled.len() as u64 + queue.as_ref().map_or(0, |queue| queue.pending + queue.processing);
    let failed = queue.as_ref().map_or(0, |queue| queue.failed);
    let oldest = [oldest_spooled, queue.and_then(|queue| queue.oldest_at)]
        .into_iter()
        .flatten()
        .min();
    let mut findings = Vec::new();
    if failed > 0 {
        findings.push(
            Finding::warning("failed", format!("{} failed", count(failed, "event")))
                .remedy("`backstory queue` shows why, `backstory queue retry` retries"),
        );
    }
    let stuck = oldest.filter(|oldest| pending > 0 && context.now.since(*oldest) > STUCK);
    findings.push(match (pending, stuck) {
        (0, _) => Finding::ok("queue", "nothing pending"),
        (_, None) => Finding::ok("queue", format!("{} pending", count(pending, "event"))),
        (_, Some(oldest)) => Finding::warning(
            "queue",
            format!(
                "{} pending, the oldest {}",
                count(pending, "event"),
                context.times().ago(oldest)
            ),
        )
        .remedy(format!(
            "backstory worker restart; see {}",
            context.engine.home.log("worker.log").display()
        )),
    });
    findings
}
