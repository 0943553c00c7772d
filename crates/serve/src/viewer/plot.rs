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

/// Scales a value to the chart's height. Rounds up, so that any nonzero value is visible.
fn scaled(value: u64, highest: u64) -> u64 {
    (value * HEIGHT).div_ceil(highest)
}
