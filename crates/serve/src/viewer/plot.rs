//! Plots: drawn by the server, without a script.

use maud::{Markup, html};

/// A bar and what it is made of, from below.
#[derive(Clone, Debug)]
pub(super) struct Bar {
    /// What the bar stands for, such as a day.
    pub(super) label: String,
    /// The class that says the colour, and how much.
    pub(super) parts: Vec<(&'static str, u64)>,
}

impl Bar {
    fn total(&self) -> u64 {
        self.parts.iter().map(|(_, value)| value).sum()
    }

    /// Where each part begins and ends, from below.
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

/// Draws bars side by side. `limit` is a line that they should stay under; `about` says in words what is seen.
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

/// Draws a small bar that says how much of a whole there is.
pub(super) fn share(value: f64, about: &str) -> Markup {
    let percent = (value.clamp(0.0, 1.0) * 100.0).round();
    html! {
        svg.share viewBox="0 0 100 6" role="img" aria-label=(about) preserveAspectRatio="none" {
            rect.whole width="100" height="6" {}
            rect.part width=(percent) height="6" {}
        }
    }
}

/// Draws the ups and downs of a number as small bars.
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

/// A bar that stands for anything is seen.
fn scaled(value: u64, highest: u64) -> u64 {
    (value * HEIGHT).div_ceil(highest)
}
