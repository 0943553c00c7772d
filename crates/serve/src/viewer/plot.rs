//! Draws charts as SVG on the server; no script needed.

use maud::{Markup, html};

/// A stacked bar, with its parts from bottom to top.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    /// Label of the bar, such as a day.
    pub(super) label: String,
    /// Color class and value of each part.
    pub(super) parts: Vec<(&'static str, u64)>,
}

impl Bar {
    fn total(&self) -> u64 {
        self.parts.iter().map(|(_, value)| value).sum()
    }

    /// Returns class, start and end of each part, from bottom to top.
    fn stacked(&self, highest: u64) -> Vec<(&'static str, u64, u64)> {
        let mut below = 0;
        let mut stacked = Vec::with_capacity(self.parts.len());
        for (class, value) in &self.parts {
            let (from, to) = (scaled(below, highest), scaled(below + value, highest));
            below += value;
            if to > from {
                stacked.push((*class, from, to));
            }
        }
        stacked
    }
}

const HEIGHT: u64 = 96;
const STEP: usize = 10;
const WIDTH: usize = 8;

/// Draws a bar chart. `limit` adds a horizontal line; `about` is the text alternative.
pub(super) fn bars(bars: &[Bar], limit: Option<u64>, about: &str) -> Markup {
    let highest = bars.iter().map(Bar::total).chain(limit).max().unwrap_or(0).max(1);
    let width = (bars.len() * STEP).max(STEP);
    html! {
        svg.plot viewBox={ "0 0 " (width) " " (HEIGHT + 2) } role="img" aria-label=(about) preserveAspectRatio="none" {
            line.base x1="0" x2=(width) y1=(HEIGHT + 1) y2=(HEIGHT + 1) {}
            @for (at, bar) in bars.iter().enumerate() {
                g {
                    title { (bar.label) ": " (bar.total()) }
                    @for (class, from, to) in bar.stacked(highest) {
                        rect data-kind=(class) x=(at * STEP + 1) y=(HEIGHT - to) width=(WIDTH) height=(to - from) {}
                    }
                }
            }
            @if let Some(limit) = limit {
                @let y = HEIGHT - scaled(limit, highest);
                line.limit x1="0" x2=(width) y1=(y) y2=(y) {}
            }
        }
    }
}

/// Draws a small progress bar for a value from 0 to 1.
pub(super) fn share(value: f64, about: &str) -> Markup {
    let percent = (value.clamp(0.0, 1.0) * 100.0).round();
    html! {
        svg.share viewBox="0 0 100 6" role="img" aria-label=(about) preserveAspectRatio="none" {
            rect.whole width="100" height="6" {}
            rect.part width=(percent) height="6" {}
        }
    }
}

/// Draws a series of values as small bars.
pub(super) fn sparkline(values: &[u64], about: &str) -> Markup {
    let highest = values.iter().copied().max().unwrap_or(0).max(1);
    html! {
        svg.pulse viewBox={ "0 0 " (values.len() * 5) " 22" } role="img" aria-label=(about) {
            @for (at, value) in values.iter().enumerate() {
                @let height = (value * 20).div_ceil(highest).max(1);
                rect.quiet[*value == 0] x=(at * 5) y=(21 - height) width="4" height=(height) {}
            }
        }
    }
}

/// A part of a whole. Its name selects the color.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) value: u64,
}

/// Draws a whole as a bar that is split into its parts.
pub(super) fn split(parts: &[Part], about: &str) -> Markup {
    const WIDTH: u64 = 1_000;
    let whole = parts.iter().map(|part| part.value).sum::<u64>().max(1);
    let ends = parts.iter().scan(0, |sum, part| {
        let from = *sum;
        *sum += part.value;
        Some((part.name, from * WIDTH / whole, *sum * WIDTH / whole))
    });
    html! {
        svg.split viewBox={ "0 0 " (WIDTH) " 12" } role="img" aria-label=(about) preserveAspectRatio="none" {
            @for (name, from, to) in ends.filter(|(_, from, to)| to > from) {
                rect data-part=(name) x=(from) width=(to - from) height="12" {}
            }
        }
    }
}

/// Draws a difference and its confidence interval on both sides of zero. Without a text alternative: the numbers must be next
/// to it.
pub(super) fn interval(difference: f64, (low, high): (f64, f64)) -> Markup {
    const HALF: f64 = 60.0;
    let farthest = low.abs().max(high.abs()).max(f64::MIN_POSITIVE);
    let x = |value: f64| format!("{:.1}", HALF + value / farthest * (HALF - 4.0));
    html! {
        svg.interval viewBox="0 0 120 16" width="120" height="16" aria-hidden="true" data-effect[low > 0.0 || high < 0.0] {
            line.zero x1=(HALF) x2=(HALF) y1="0" y2="16" {}
            line.range x1=(x(low)) x2=(x(high)) y1="8" y2="8" {}
            circle cx=(x(difference)) cy="8" r="3.5" {}
        }
    }
}

/// Width and height of a day in a heat map, with the gap to the next.
const CELL: i64 = 12;

/// A day of a heat map.
#[derive(Clone, Debug)]
pub(super) struct HeatDay {
    /// Days since the first Monday of the map.
    pub(super) at: i64,
    pub(super) label: String,
    pub(super) value: u64,
}

/// Draws a heat map: one column per week from Monday to Sunday, one cell per day. `months` labels columns; days without a
/// value are drawn as one pattern.
pub(super) fn heat_map(weeks: i64, days: &[HeatDay], months: &[(i64, String)], about: &str) -> Markup {
    const TOP: i64 = 14;
    let highest = days.iter().map(|day| day.value).max().unwrap_or(0).max(1);
    let (width, height) = (weeks * CELL, 7 * CELL);
    html! {
        svg.heat viewBox={ "0 0 " (width) " " (height + TOP) } role="img" aria-label=(about) {
            pattern #no-activity width=(CELL) height=(CELL) patternUnits="userSpaceOnUse" {
                rect.none width=(CELL - 2) height=(CELL - 2) rx="2" {}
            }
            @for (week, name) in months { text x=(week * CELL) y="9" { (name) } }
            g transform={ "translate(0 " (TOP) ")" } {
                rect fill="url(#no-activity)" width=(width) height=(height) {}
                @for day in days.iter().filter(|day| day.value > 0) {
                    // The root: one day with very many memories must not fade all others.
                    rect data-level=((day.value * 16).div_ceil(highest).isqrt()) x=(day.at / 7 * CELL) y=(day.at % 7 * CELL)
                        width=(CELL - 2) height=(CELL - 2) rx="2" { title { (day.label) } }
                }
            }
        }
    }
}

/// Scales a value to the chart's height. Rounds up, so that any nonzero value is visible.
fn scaled(value: u64, highest: u64) -> u64 {
    (value * HEIGHT).div_ceil(highest)
}
