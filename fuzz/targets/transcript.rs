//! Transcript reader: reads any bytes to the end and returns a position to continue from.
#![no_main]

use backstory_capture::filter::CaptureSettings;
use backstory_transcript::{Position, Reader, TranscriptOwner};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let settings = CaptureSettings {
        skip_tools: Vec::new(),
        redact: true,
        max_payload: 64 * 1024,
    };
    let read = |bytes: &[u8], from: Position| {
        let mut reader = Reader::new(bytes, from, TranscriptOwner::default(), &settings);
        let records: Vec<String> = reader.by_ref().map(|record| format!("{record:?}")).collect();
        (records, reader.position().cloned())
    };
    let (all, position) = read(bytes, Position::default());
    assert!(position.is_some(), "no position to continue from");
    assert!(all.len() <= 4 * bytes.len() + 4, "{} records", all.len());
});
