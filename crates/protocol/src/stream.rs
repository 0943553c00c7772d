//! Record streams: frames of deflated JSON lines.
//!
//! A frame is a length of four bytes, big-endian, and as many bytes of raw deflate; inflated, it is whole lines, each with
//! its line feed. Frames bound the memory of a reader: a snapshot of any size is read frame by frame. The bytes on the wire
//! are binary, so a web application firewall sees no SQL in them.

use miniz_oxide::{deflate::compress_to_vec, inflate::decompress_to_vec_with_limit};

use crate::limits;

/// Bytes of lines after which a writer starts the next frame.
const FRAME_BYTES: usize = 1 << 20;

/// The most bytes of a frame, inflated.
const MAX_FRAME_BYTES: usize = limits::MAX_INFLATED_BYTES;

/// Level of compression: higher ones cost more than they save on short texts.
const LEVEL: u8 = 6;

/// Reports a stream that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StreamError {
    /// It is too large, deflated or inflated.
    #[error("the record stream is larger than allowed")]
    TooLarge,
    /// It is cut off, or no stream of records.
    #[error("the record stream is damaged")]
    Damaged,
}

/// Collects lines into frames.
#[derive(Debug, Default)]
pub struct StreamWriter {
    lines: Vec<u8>,
    frames: Vec<u8>,
}

impl StreamWriter {
    /// Appends a line.
    pub fn push(&mut self, line: &str) {
        debug_assert!(!line.contains('\n'), "JSON on one line has no line feed");
        if !self.lines.is_empty() && self.lines.len() + line.len() >= FRAME_BYTES {
            self.end_frame();
        }
        self.lines.extend(line.as_bytes());
        self.lines.push(b'\n');
    }

    /// Takes the frames that are complete, for a writer that sends while it collects.
    pub fn take_frames(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.frames)
    }

    /// Returns the remaining frames.
    pub fn finish(mut self) -> Vec<u8> {
        if !self.lines.is_empty() {
            self.end_frame();
        }
        self.frames
    }

    fn end_frame(&mut self) {
        let deflated = compress_to_vec(&self.lines, LEVEL);
        // Lines are at most a few megabytes.
        let length = u32::try_from(deflated.len()).unwrap_or(u32::MAX);
        self.frames.extend(length.to_be_bytes());
        self.frames.extend(deflated);
        self.lines.clear();
    }
}

/// Writes lines as one stream.
pub fn encode<'l>(lines: impl IntoIterator<Item = &'l str>) -> Vec<u8> {
    let mut writer = StreamWriter::default();
    lines.into_iter().for_each(|line| writer.push(line));
    writer.finish()
}

/// Returns the length of the frame behind these four bytes.
pub fn frame_length(header: [u8; 4]) -> Result<usize, StreamError> {
    let length = u32::from_be_bytes(header) as usize;
    // Deflate cannot make a frame much larger than its lines.
    if length > MAX_FRAME_BYTES + 1024 {
        return Err(StreamError::TooLarge);
    }
    Ok(length)
}

/// Inflates a frame, without its length, to whole lines of at most this size.
pub fn inflate(frame: &[u8], max: usize) -> Result<Vec<u8>, StreamError> {
    use miniz_oxide::inflate::TINFLStatus;
    decompress_to_vec_with_limit(frame, max.min(MAX_FRAME_BYTES)).map_err(|error| {
        if error.status == TINFLStatus::HasMoreOutput {
            StreamError::TooLarge
        } else {
            StreamError::Damaged
        }
    })
}

/// Inflates a whole stream within the limits of one request or page.
pub fn decode(stream: &[u8]) -> Result<Vec<u8>, StreamError> {
    let mut lines = Vec::new();
    let mut rest = stream;
    while !rest.is_empty() {
        let (header, after) = rest.split_first_chunk().ok_or(StreamError::Damaged)?;
        let (frame, after) = after
            .split_at_checked(frame_length(*header)?)
            .ok_or(StreamError::Damaged)?;
        lines.extend(inflate(frame, limits::MAX_INFLATED_BYTES - lines.len())?);
        rest = after;
    }
    Ok(lines)
}

/// Returns the lines of an inflated stream.
pub fn lines(inflated: &[u8]) -> impl Iterator<Item = &[u8]> {
    inflated
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_bomb_is_refused_before_it_is_inflated() {
        let zeros = vec![b'a'; limits::MAX_INFLATED_BYTES + 1];
        let deflated = compress_to_vec(&zeros, LEVEL);
        assert!(deflated.len() < 64 << 10);
        let mut stream = u32::try_from(deflated.len()).unwrap().to_be_bytes().to_vec();
        stream.extend(deflated);
        assert_eq!(decode(&stream), Err(StreamError::TooLarge));
        // The same in two frames, each of which is within the limit.
        let half = "a".repeat(limits::MAX_INFLATED_BYTES / 2 + 1);
        assert_eq!(
            decode(&encode([half.as_str(), half.as_str()])),
            Err(StreamError::TooLarge)
        );
        assert_eq!(decode(&[0xff; 40]), Err(StreamError::TooLarge));
        assert_eq!(decode(&[0, 0, 0]), Err(StreamError::Damaged));
        assert_eq!(decode(&[0, 0, 0, 9, 1]), Err(StreamError::Damaged));
    }

    #[test]
    fn long_streams_have_several_frames() {
        let line = "x".repeat(FRAME_BYTES / 2);
        let stream = encode([line.as_str(); 5]);
        let first = frame_length(*stream.first_chunk().unwrap()).unwrap();
        assert!(first + 4 < stream.len());
        let inflated = decode(&stream).unwrap();
        assert_eq!(lines(&inflated).count(), 5);
    }

    proptest! {
        #[test]
        fn lines_round_trip(all in prop::collection::vec("[^\n]{1,50}", 0..20)) {
            let stream = encode(all.iter().map(String::as_str));
            let inflated = decode(&stream).unwrap();
            let read: Vec<&[u8]> = lines(&inflated).collect();
            let written: Vec<&[u8]> = all.iter().map(String::as_bytes).collect();
            prop_assert_eq!(read, written);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            if let Ok(inflated) = decode(&bytes) {
                for line in lines(&inflated) {
                    let _parsed = crate::PushLine::parse(line);
                    let _parsed = crate::PullLine::parse(line);
                }
            }
        }

        #[test]
        fn a_cut_stream_is_damaged(at in 1..60usize) {
            let stream = encode(["{\"id\":1}", "{\"id\":2,\"text\":\"something longer than that\"}"]);
            let at = at.min(stream.len() - 1);
            prop_assert_eq!(decode(&stream[..at]), Err(StreamError::Damaged));
        }
    }
}
