//! Parser of hook payloads of every host: never panics, and a JSON object stays one.
#![no_main]

use backstory_capture::{
    filter::{CaptureDecision, CaptureSettings, filter_payload},
    hook_payload::HookPayload,
    host::{HOSTS, HostPayload},
    payload::{Payload, to_text},
    seen_secrets::SeenSecrets,
};
use backstory_model::EventKind;
use libfuzzer_sys::fuzz_target;

fn is_object(json: &str) -> bool {
    serde_json::from_str(json).is_ok_and(|value: serde_json::Value| value.is_object())
}

fn must_stay_an_object(kind: EventKind, json: &str) {
    let settings = CaptureSettings {
        skip_tools: vec!["TodoWrite".to_owned()],
        redact: true,
        max_payload: 16 * 1024,
    };
    let Ok(payload) = HookPayload::read(json) else {
        return;
    };
    if let CaptureDecision::Event(event) = filter_payload(kind, &payload, &settings, &mut SeenSecrets::default()) {
        // Invalid JSON may pass here, for speed; ingest counts it as unreadable.
        assert!(is_object(&event) || !is_object(json), "{event}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let text = to_text(bytes);
    let Ok(payload) = Payload::read(&text) else {
        return;
    };
    for kind in EventKind::ALL {
        must_stay_an_object(kind, &text);
    }
    for normalize in HOSTS.iter().filter_map(|host| host.normalize) {
        for kind in [
            EventKind::UserPromptSubmit,
            EventKind::PostToolUse,
            EventKind::Stop,
        ] {
            let report = HostPayload {
                event: kind.name(),
                payload: &payload,
                folder: "/work/acme",
            };
            if let Some(normalized) = normalize(&report) {
                assert!(Payload::read(&normalized.json).is_ok(), "{}", normalized.json);
                must_stay_an_object(kind, &normalized.json);
            }
        }
    }
});
