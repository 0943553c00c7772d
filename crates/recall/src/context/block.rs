//! Builds the text of a context block line by line, within its limits; no line can close the frame.

use backstory_text::BYTES_PER_TOKEN;

use crate::frame::escape_for_frame;

/// Maximum number of UTF-16 units: Claude Code hides a hook's answer of more than 10,000 from the model.
const MAX_UNITS: usize = 9_500;

const BEGIN: &str = "<backstory-context>\n";
const END: &str = "</backstory-context>";

/// Result of an attempt to append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fits {
    Yes,
    No,
}

/// The block under construction.
#[derive(Debug)]
pub(super) struct BlockBuilder {
    text: String,
    units: usize,
    most_tokens: usize,
    /// Bytes and units that are reserved and not written yet.
    reserved: (usize, usize),
}

impl BlockBuilder {
    pub(super) fn new(most_tokens: usize) -> Self {
        let mut text = String::with_capacity((most_tokens * BYTES_PER_TOKEN).min(MAX_UNITS));
        text.push_str(BEGIN);
        Self {
            text,
            units: BEGIN.len(),
            most_tokens,
            reserved: (0, 0),
        }
    }

    /// Appends a line if it fits, with room left for the end.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let line = escape_for_frame(line);
        let units = units(&line);
        let fits = self.fits(line.len(), units);
        if fits {
            self.units += units + 1;
            self.text.push_str(&line);
            self.text.push('\n');
        }
        fits
    }

    /// Reserves room for a line and a heading, if they fit.
    pub(super) fn would_fit(&mut self, line: &str) -> Fits {
        const HEADING: usize = "\n## 2026-01-01\n".len();
        let line = escape_for_frame(line);
        let units = units(&line);
        if !self.fits(line.len(), units) {
            return Fits::No;
        }
        // Most lines share a heading with others.
        let share = HEADING / 3;
        self.reserved.0 += line.len() + 1 + share;
        self.reserved.1 += units + 1 + share;
        Fits::Yes
    }

    /// Releases the reserved room.
    pub(super) fn release_reserved(&mut self) {
        self.reserved = (0, 0);
    }

    pub(super) fn finish(self) -> String {
        self.text + END
    }

    /// Reports whether a line of this many bytes and units fits.
    fn fits(&self, bytes: usize, units: usize) -> bool {
        let bytes = self.text.len() + self.reserved.0 + bytes + 1 + END.len();
        let units = self.units + self.reserved.1 + units + 1 + END.len();
        bytes.div_ceil(BYTES_PER_TOKEN) <= self.most_tokens && units < MAX_UNITS
    }
}

/// Counts UTF-16 units by bytes: one for each first byte of a character, and another where it takes four.
fn units(text: &str) -> usize {
    let firsts = text.bytes().filter(|byte| byte & 0xc0 != 0x80);
    let fours = text.bytes().filter(|byte| *byte >= 0xf0);
    firsts.count() + fours.count()
}
