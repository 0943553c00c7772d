//! Properties that hold for any file.

use proptest::prelude::*;

use super::*;

/// Generates lines of all kinds, many of which depend on earlier ones.
fn any_line() -> impl Strategy<Value = String> {
    let said = prop::sample::select(vec![
        "Go.",
        "<private>SECRET</private>",
        "a <private>SECRET</private> b",
        "<private>SECRET",
        "<task-notification><task-id>a1</task-id>x</task-notification>",
        "[Request interrupted by user]",
        "<command-name>/deploy</command-name><command-args>x</command-args>",
        "<local-command-caveat>x</local-command-caveat>",
        "<bash-input>ls</bash-input>",
        "<bash-stdout>ghp_0123456789abcdefghijABCDEFGHIJ012345</bash-stdout>",
        "<system-reminder>x</system-reminder>",
        "plain words",
        "plain words and more",
    ]);
    let few = 0..3u8;
    (said, 0..9u8, few.clone(), few, any::<[bool; 4]>()).prop_map(|(said, kind, a, b, flags)| {
        let line = match kind {
            0..=2 => user(said),
            3 | 4 => assistant(&format!("m{a}"), &[text(said)]),
            5 => assistant(
                &format!("m{a}"),
                &[
                    text("plain"),
                    tool_use(&format!("t{b}"), "Bash", json!({"command": said})),
                ],
            ),
            6 => with(
                user(json!([tool_result(&format!("t{b}"), said), text(said)])),
                json!({"toolUseResult": {"agentId": format!("a{a}")}}),
            ),
            7 => json!({"type": "ai-title", "aiTitle": said}),
            _ => return format!("{{damaged {a}"),
        };
        let mut fields = json!({"uuid": format!("u{a}{b}"), "promptId": format!("p{b}")});
        if flags[0] {
            fields["timestamp"] = json!(format!("2026-11-15T10:00:0{a}Z"));
            fields["cwd"] = json!(format!("/w{b}"));
        }
        if flags[1] && flags[2] {
            fields["isSidechain"] = json!(true);
            fields["parentUuid"] = json!(format!("u{b}{a}"));
        }
        if flags[1] && flags[3] {
            fields["isMeta"] = json!(true);
        }
        with(line, fields).to_string()
    })
}

/// Reads a file that grows to each of these lengths.
fn read_growing(bytes: &[u8], mut lengths: Vec<usize>) -> Vec<Record> {
    lengths.sort_unstable();
    lengths.push(bytes.len());
    let mut position = Position::default();
    let mut records = Vec::new();
    for length in lengths {
        let from = usize::try_from(position.offset()).unwrap();
        let mut reader = Reader::new(
            &bytes[from..length.max(from)],
            position,
            TranscriptOwner::default(),
            &settings(),
        );
        records.extend(reader.by_ref());
        // Stored and loaded, as the worker does between runs.
        let kept = serde_json::to_string(reader.position().unwrap()).unwrap();
        position = serde_json::from_str(&kept).unwrap();
    }
    records
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn reading_a_growing_file_yields_the_same_records(lines in prop::collection::vec(any_line(), 0..30),
                                                   cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
        let bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
        let cuts = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        prop_assert_eq!(read_growing(&bytes, cuts), read(&bytes).0);
    }

    #[test]
    fn no_private_span_and_no_secret_is_recorded(lines in prop::collection::vec(any_line(), 0..30)) {
        let bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
        for record in read(&bytes).0 {
            let shown = format!("{record:?}");
            prop_assert!(!shown.contains("SECRET") && !shown.contains("ghp_"), "{}", shown);
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read(&bytes);
    }

    #[test]
    fn a_damaged_line_does_not_panic(line in any_line(), at in any::<prop::sample::Index>(), bytes in prop::collection::vec(any::<u8>(), 0..8)) {
        let mut damaged = format!("{line}\n").into_bytes();
        let at = at.index(damaged.len());
        let end = (at + bytes.len()).min(damaged.len());
        damaged.splice(at..end, bytes);
        read(&damaged);
    }

    #[test]
    fn ordinary_text_is_recorded_unchanged(said in "[a-zA-Zäß😀\"\\\\\n\t ]{0,80}") {
        let rendered = rendered(&[user(said.as_str())]);
        let said = said.trim();
        prop_assert_eq!(rendered, if said.is_empty() { String::new() } else { format!("prompt {}", said.replace('\n', "⏎")) });
    }
}
