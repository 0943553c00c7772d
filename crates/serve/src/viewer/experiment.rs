//! The latest experiment, as a part of the recall page: sessions with recall against sessions without.

use backstory_engine::experiment::{
    Difference, ExperimentReport, MIN_SESSIONS, format_difference, format_mean,
};
use maud::{Markup, html};

use super::{
    plot,
    view::{View, plural},
};

/// Renders an experiment and its result so far.
pub(super) fn show(report: &ExperimentReport, view: &View) -> Markup {
    let experiment = &report.experiment;
    html! {
        section.panel #experiment aria-labelledby="experiment-title" data-live="swap" {
            h2 #experiment-title { "Experiment" }
            p.meta {
                @match experiment.stopped_at {
                    None => span.state data-status="active" { "running" },
                    Some(at) => span { "stopped " (view.times.ago(at)) },
                }
                span { "started " (view.times.exact(experiment.started_at)) }
                span { (format!("{:.0} %", experiment.share * 100.0)) " of sessions without recall" }
                span { (plural(report.with_recall as u64, "session", "sessions")) " with recall, " (report.without) " without" }
            }
            @if report.differences.is_empty() {
                p { "Too little data: a comparison needs " (MIN_SESSIONS) " sessions in each group that had something to recall." }
            } @else {
                (differences(&report.differences))
                p.muted.caption { "Means per session, and the 95 % interval of the difference. Bars left of the line: fewer with recall." }
            }
        }
    }
}

fn differences(differences: &[Difference]) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Result of the experiment" {
            table.differences {
                thead {
                    tr {
                        th scope="col" { "Per session" }
                        th scope="col" { "With recall" }
                        th scope="col" { "Without" }
                        th scope="col" { "Difference" }
                        th scope="col" { "95 % interval" }
                        th scope="col" { "Result" }
                    }
                }
                tbody { @for one in differences { (row(one)) } }
            }
        }
    }
}

fn row(one: &Difference) -> Markup {
    let (low, high) = one.interval;
    let about = format!("{} to {}", format_difference(low), format_difference(high));
    html! {
        tr {
            th scope="row" { (one.measure) }
            td { (format_mean(one.with_recall)) }
            td { (format_mean(one.without)) }
            td { (format_difference(one.difference())) }
            td { (plot::interval(one.difference(), one.interval)) span.number { (about) } }
            td { (one.verdict()) }
        }
    }
}
