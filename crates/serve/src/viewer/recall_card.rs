//! Draws the numbers of recall as a picture to share: an SVG file without text from sessions.

use maud::{Markup, PreEscaped, html};

use super::view::number;

const WIDTH: usize = 640;
const HEIGHT: usize = 320;

/// The numbers on the card.
pub(super) struct RecallNumbers {
    pub(super) memories: u64,
    pub(super) sessions: u64,
    pub(super) tokens: u64,
    /// Tokens of the work that the recalled memories stand for.
    pub(super) work: u64,
    /// Memories per day, the oldest first.
    pub(super) days: Vec<u64>,
}

impl RecallNumbers {
    /// Returns how many tokens of work one recalled token stands for.
    pub(super) fn ratio(&self) -> Option<u64> {
        self.work.checked_div(self.tokens).filter(|ratio| *ratio > 1)
    }

    /// Draws the card. Colors are attributes: a shared file has no stylesheet.
    pub(super) fn draw(&self) -> Markup {
        const STEP: usize = 18;
        const BAR_HEIGHT: u64 = 56;
        let highest = self.days.iter().copied().max().unwrap_or(0).max(1);
        let numbers = [
            ("memories recalled", self.memories),
            ("sessions", self.sessions),
            ("tokens injected", self.tokens),
        ];
        html! {
            (PreEscaped(r#"<?xml version="1.0" encoding="UTF-8"?>"#))
            svg xmlns="http://www.w3.org/2000/svg" width=(WIDTH) height=(HEIGHT) viewBox={ "0 0 " (WIDTH) " " (HEIGHT) }
                role="img" font-family="system-ui, sans-serif" {
                title { "backstory: " (number(self.memories)) " memories recalled in the last " (self.days.len()) " days" }
                rect width=(WIDTH) height=(HEIGHT) rx="16" fill="#131518" {}
                rect x="32" y="36" width="14" height="14" rx="4" fill="#7fc6cd" {}
                text x="56" y="49" font-size="18" font-weight="600" fill="#e4e2dc" { "backstory" }
                text x=(WIDTH - 32) y="49" font-size="14" fill="#a3aab4" text-anchor="end" { "last " (self.days.len()) " days" }
                @for (at, (name, value)) in numbers.into_iter().enumerate() {
                    text x=(32 + at * 200) y="112" font-size="34" font-weight="600" fill="#e4e2dc" { (number(value)) }
                    text x=(32 + at * 200) y="136" font-size="14" fill="#a3aab4" { (name) }
                }
                text x="32" y="184" font-size="17" fill="#7fc6cd" {
                    "standing for " (number(self.work)) " tokens of work"
                    @if let Some(ratio) = self.ratio() { ", " (number(ratio)) " to 1" }
                }
                @for (at, value) in self.days.iter().enumerate() {
                    @let height = (value * BAR_HEIGHT).div_ceil(highest).max(2);
                    rect x=(32 + at * STEP) y=(280 - height) width=(STEP - 4) height=(height) rx="2"
                        fill=(if *value == 0 { "#2d323a" } else { "#7fc6cd" }) {}
                }
            }
        }
    }
}
