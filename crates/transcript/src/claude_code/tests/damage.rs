//! Tests for damaged, foreign and growing files.

use std::fs;

use super::*;
use crate::{TranscriptError, open};

const LINE: &str = r#"{"type":"user","message":{"content":"One."}}"#;

#[test]
fn lines_that_are_not_json_are_counted_and_skipped() {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(b"\xef\xbb\xbf");
    bytes.extend_from_slice(format!("{LINE}\r\n").as_bytes());
    bytes.extend_from_slice(b"\0\0\0\0\n\r\n \n");
    bytes.extend_from_slice(b"\0\0\0");
    bytes.extend_from_slice(format!("{LINE}\0\n").as_bytes());
    bytes.extend_from_slice(b"sistant\",\"uuid\":\"5328\"}\n[1]\n\"x\"\nnull\n{\"type\":\"us\n\xff\xfe\n");
    bytes.extend_from_slice(b"{\"type\":\"user\",\"message\":{\"content\":\"a\0b\"}}\n");
    bytes.extend_from_slice(b"{\"type\":\"user\",\"message\":{\"content\":\"caf\xe9 \\ud83d\"}}\n");
    let (records, skipped) = read(&bytes);
    assert_eq!(
        shown(&records),
        "prompt One.\nprompt One.\nprompt caf\u{fffd} \u{fffd}"
    );
    assert_eq!(skipped.damaged, 7);
    assert_eq!(skipped.damaged_lines, [6, 7, 8, 9, 10, 11, 12]);
}

#[test]
fn unknown_types_are_counted_by_name() {
    let lines = [
        json!({"type": "quantum"}),
        json!({"type": "quantum"}),
        json!({"type": "a secret <private>"}),
        json!({"type": 5}),
        json!({}),
    ];
    let (records, skipped) = read(&file(&lines));
    assert_eq!(records, []);
    let counts: Vec<(&str, u64)> = skipped
        .unknown
        .iter()
        .map(|(name, &count)| (name.as_str(), count))
        .collect();
    assert_eq!(counts, [("", 3), ("quantum", 2)]);
}

#[test]
fn fields_of_wrong_types_are_ignored() {
    let wrong = [
        json!(null),
        json!(5),
        json!("x"),
        json!([]),
        json!({}),
        json!([[1]]),
        json!([{"type": "text", "text": 5}]),
    ];
    let names = [
        "message",
        "uuid",
        "timestamp",
        "sessionId",
        "cwd",
        "toolUseResult",
        "origin",
        "isMeta",
        "agentId",
        "attachment",
    ];
    for kind in ["user", "assistant", "attachment", "summary", "custom-title"] {
        for value in &wrong {
            for name in names {
                rendered(&[with(
                    json!({"type": kind, "message": {"content": "x"}}),
                    json!({ name: value }),
                )]);
            }
            let lines = [
                json!({"type": kind, "message": {"content": value, "id": value, "model": value}}),
                json!({"type": kind, "message": {"content": [{"type": "tool_use", "id": value, "name": value, "input": value}]}}),
                json!({"type": kind, "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": value}]}}),
                json!({"type": kind, "attachment": {"type": "queued_command", "prompt": value}, "summary": value}),
            ];
            rendered(&lines);
        }
    }
}

#[test]
fn an_incomplete_line_is_left_for_the_next_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("aaaaaaaa-0000-4000-8000-000000000000.jsonl");
    let write = |text: &str| {
        fs::File::create(&path).and_then(|mut file| std::io::Write::write_all(&mut file, text.as_bytes()))
    };
    write(&format!("{LINE}\n{}", &LINE[..LINE.len() - 1])).unwrap();
    let mut reader = open(&path, Position::default(), &settings()).unwrap();
    let first = reader.next().unwrap();
    assert_eq!((reader.next(), reader.next()), (None, None));
    let position = reader.position().unwrap().clone();
    assert_eq!(
        (first.offset, position.offset()),
        (LINE.len() as u64 + 1, LINE.len() as u64 + 1)
    );

    write(&format!("{LINE}\n{LINE}\n")).unwrap();
    let rest: Vec<Record> = open(&path, position.clone(), &settings()).unwrap().collect();
    assert_eq!(shown(&rest), "prompt One.");

    write("").unwrap();
    let error = open(&path, position, &settings()).unwrap_err();
    assert!(
        matches!(error, TranscriptError::Shorter { length: 0, .. }),
        "{error}"
    );
    let missing = open(&folder.path().join("missing"), Position::default(), &settings());
    assert!(matches!(missing, Err(TranscriptError::Open { .. })));
}

#[test]
fn a_position_is_returned_only_between_lines() {
    let lines = file(&[assistant("m1", &[text("One."), text("Two.")]), user("Go.")]);
    let mut reader = Reader::new(
        &lines[..],
        Position::default(),
        TranscriptOwner::default(),
        &settings(),
    );
    let places: Vec<Option<u64>> =
        std::iter::from_fn(|| reader.next().map(|_| reader.position().map(Position::offset))).collect();
    let first = lines.iter().position(|&byte| byte == b'\n').unwrap() as u64 + 1;
    assert_eq!(places, [None, Some(first), Some(lines.len() as u64)]);
}

#[test]
fn a_read_error_ends_the_iteration_and_is_reported() {
    struct Failing(bool);
    impl std::io::Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if std::mem::replace(&mut self.0, true) {
                return Err(std::io::ErrorKind::BrokenPipe.into());
            }
            let line = format!("{LINE}\n");
            buffer[..line.len()].copy_from_slice(line.as_bytes());
            Ok(line.len())
        }
    }
    let input = std::io::BufReader::new(Failing(false));
    let mut reader = Reader::new(
        input,
        Position::default(),
        TranscriptOwner::default(),
        &settings(),
    );
    assert_eq!(reader.by_ref().count(), 1);
    assert_eq!(
        reader.error().map(std::io::Error::kind),
        Some(std::io::ErrorKind::BrokenPipe)
    );
}
