//! Splits a transcript into lines of any length, in bounded memory.
//!
//! A line without a line break yet is left for the next read, unless it is a whole JSON object: some transcripts end
//! without a line break. The longest lines contain images: the middle of long runs
//! of base64 is dropped while a long line is read, which keeps the JSON valid.

use std::io::{self, BufRead};

use memchr::memchr;

/// The length from which runs of base64 are shortened.
const SQUEEZE_FROM: usize = 1024 * 1024;

/// The length of a shortened run: still long enough to be recognized as base64.
const RUN_KEPT: usize = 4096;

/// The maximum length of a shortened line. Longer ones are skipped.
const MAX_LEN: usize = 48 * 1024 * 1024;

/// The capacity that is kept between lines.
const CAPACITY_KEPT: usize = 2 * 1024 * 1024;

/// A complete line.
#[derive(Debug)]
pub(crate) struct RawLine<'b> {
    /// Its bytes without the line break; `None` if it is too long.
    pub(crate) bytes: Option<&'b [u8]>,
    /// Its length in the file, with the line break.
    pub(crate) length: u64,
}

/// The lines of an input.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    input: R,
    line: Vec<u8>,
    too_long: bool,
    /// The number of base64 bytes at the end of the line so far.
    run: usize,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            line: Vec::new(),
            too_long: false,
            run: 0,
        }
    }

    /// Returns the next complete line. Must not be called again after `None`.
    pub(crate) fn next(&mut self) -> io::Result<Option<RawLine<'_>>> {
        self.line.clear();
        self.line.shrink_to(CAPACITY_KEPT);
        self.too_long = false;
        self.run = 0;
        let mut length = 0;
        loop {
            let chunk = match self.input.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if chunk.is_empty() {
                // Part of an object is never a whole object, so a line that is one was written completely.
                let is_whole = self.line.starts_with(b"{")
                    && serde_json::from_slice::<serde::de::IgnoredAny>(&self.line).is_ok();
                return Ok(is_whole.then_some(RawLine {
                    bytes: Some(&self.line),
                    // The line break is still to come.
                    length: length + 1,
                }));
            }
            let end = memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if self.too_long || self.line.len() + part.len() > MAX_LEN {
                self.too_long = true;
                self.line = Vec::new();
            } else if self.line.len() < SQUEEZE_FROM {
                self.line.extend_from_slice(part);
            } else {
                squeeze(part, &mut self.run, &mut self.line);
            }
            let used = part.len() + usize::from(end.is_some());
            length += used as u64;
            self.input.consume(used);
            if end.is_some() {
                let bytes = (!self.too_long).then_some(self.line.as_slice());
                return Ok(Some(RawLine { bytes, length }));
            }
        }
    }
}

fn squeeze(part: &[u8], run: &mut usize, line: &mut Vec<u8>) {
    for &byte in part {
        // Without the backslash: dropping half an escape would break the string.
        let is_base64 = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
        *run = if is_base64 { *run + 1 } else { 0 };
        if *run <= RUN_KEPT {
            line.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn read(input: &[u8], buffer: usize) -> Vec<(Option<Vec<u8>>, u64)> {
        let mut lines = Lines::new(BufReader::with_capacity(buffer, input));
        let mut all = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            all.push((line.bytes.map(<[u8]>::to_vec), line.length));
        }
        all
    }

    #[test]
    fn the_last_line_needs_no_line_break() {
        let whole = b"{\"a\": 1}\n{\"b\": [2]}";
        assert_eq!(read(whole, 4).len(), 2);
        for end in 10..whole.len() - 1 {
            assert_eq!(read(&whole[..end], 4).len(), 1, "{end}");
        }
    }

    #[test]
    fn only_complete_lines_are_read() {
        for buffer in [1, 2, 3, 100] {
            let expected = vec![
                (Some(b"ab".to_vec()), 3),
                (Some(vec![]), 1),
                (Some(b"c\r".to_vec()), 3),
            ];
            assert_eq!(read(b"ab\n\nc\r\nunfinished", buffer), expected);
        }
        assert_eq!(read(b"", 10), vec![]);
    }

    #[test]
    fn images_are_shortened_while_they_are_read() {
        let picture = "iVBORw0KGgo+/A".repeat(3_000_000);
        let text = format!("{{\"a\":\"{picture}\",\"b\":\"{picture}\",\"c\":\"d\"}}\nnext\n");
        let lines = read(text.as_bytes(), 64 * 1024);
        let long = lines[0].0.as_ref().unwrap();
        assert!(long.len() < 2 * SQUEEZE_FROM && long.ends_with(b"\",\"c\":\"d\"}"));
        assert_eq!(lines[0].1, text.len() as u64 - 5);
        assert_eq!(lines[1], (Some(b"next".to_vec()), 5));
    }

    #[test]
    fn an_overlong_line_is_skipped() {
        let text = format!("{}\nnext\n", "x ".repeat(MAX_LEN / 2 + 9));
        assert_eq!(
            read(text.as_bytes(), 64 * 1024),
            vec![(None, text.len() as u64 - 5), (Some(b"next".to_vec()), 5)]
        );
    }
}
