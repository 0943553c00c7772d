//! What became of recalled memories, as a part of the recall page. `docs/impact.md` has the rules and their limits.

use backstory_engine::stats::IMPACT_DAYS;
use backstory_store::ImpactSums;
use maud::{Markup, html};

use super::{
    plot::{self, Part},
    view::{number, plural},
};

/// Renders the outcomes: of recalls, of known failures, and of reading.
pub(super) fn show(sums: &ImpactSums) -> Markup {
    let failures = sums.avoided + sums.repeated;
    html! {
        section.panel #impact aria-labelledby="impact-title" data-live="swap" {
            h2 #impact-title { "What became of them" }
            @if sums.recalls == 0 {
                p.muted { "No recall of the last " (IMPACT_DAYS) " days was judged yet. That happens when a session has gone on after it." }
            } @else {
                dl.splits {
                    dt { (plural(sums.recalls, "recall", "recalls")) " in " (plural(sums.sessions, "session", "sessions")) }
                    dd { (split(&[
                        Part { name: "used", value: sums.used },
                        Part { name: "ignored", value: sums.ignored },
                        Part { name: "contradicted", value: sums.contradicted },
                    ])) }
                    dt { (plural(failures, "known failure", "known failures")) }
                    dd {
                        @if failures == 0 { p.muted { "No session was told about a failure." } } @else {
                            (split(&[
                                Part { name: "avoided", value: sums.avoided },
                                Part { name: "repeated", value: sums.repeated },
                            ]))
                        }
                    }
                    dt { (plural(sums.reads, "file read", "files read")) }
                    dd {
                        @if sums.reads == 0 { p.muted { "No session read a file." } } @else {
                            (split(&[
                                Part { name: "known", value: sums.known_reads },
                                Part { name: "new", value: sums.reads.saturating_sub(sums.known_reads) },
                            ]))
                        }
                    }
                }
                (method())
            }
        }
    }
}

/// Draws the parts of a whole, with a legend that has the same numbers.
fn split(parts: &[Part]) -> Markup {
    let whole: u64 = parts.iter().map(|part| part.value).sum();
    let percent = |value: u64| (100 * value + whole / 2).checked_div(whole).unwrap_or(0);
    let words: Vec<String> = parts
        .iter()
        .map(|part| format!("{} {}", number(part.value), part.name))
        .collect();
    html! {
        (plot::split(parts, &words.join(", ")))
        ul.legend {
            @for part in parts {
                li { span.key data-part=(part.name) {} (part.name) " " span.number { (number(part.value)) " (" (percent(part.value)) " %)" } }
            }
        }
    }
}

fn method() -> Markup {
    html! {
        details {
            summary { "How this is measured" }
            ul.bullets {
                li { b { "Used" } ": a file, command or name of the memory appears in what the agent did or said afterwards, and neither the agent nor you had it before." }
                li { b { "Contradicted" } ": it was superseded during the session, or it was the remedy of an error that came back. " b { "Ignored" } " is everything else." }
                li { b { "Avoided" } ": the session was told about a failure, ran a command afterwards, and the failure did not come back. " b { "Repeated" } ": it did." }
                li { b { "Known" } " files were described in full by a recalled memory before they were read." }
                li { "It shows that the agent did what a memory says, not that it did so because of it. An experiment shows that: " code { "backstory experiment start" } "." }
            }
            p.muted.caption { "The last " (IMPACT_DAYS) " days, as in " code { "backstory stats --impact" } "." }
        }
    }
}
