//! Tests for sub-agents, forks, session facts, titles and times.

use std::path::Path;

use super::*;

const OWN: &str = "aaaaaaaa-0000-4000-8000-000000000000";
const OTHER: &str = "bbbbbbbb-0000-4000-8000-000000000000";

#[test]
fn the_owner_is_derived_from_the_path() {
    let cases = [
        (format!("/p/{OWN}.jsonl"), Some(OWN), None),
        (
            format!("/p/{OWN}/subagents/agent-a1.jsonl"),
            Some(OWN),
            Some("a1"),
        ),
        (
            format!("/p/{OWN}/subagents/workflows/w/agent-a1.jsonl"),
            Some(OWN),
            Some("a1"),
        ),
        ("/p/agent-a1.jsonl".to_owned(), None, Some("a1")),
        ("/p/transcript.jsonl".to_owned(), None, None),
    ];
    for (path, session_id, agent_id) in cases {
        let owner = TranscriptOwner::of(Path::new(&path));
        assert_eq!(
            (owner.session_id.as_deref(), owner.agent_id.as_deref()),
            (session_id, agent_id),
            "{path}"
        );
    }
}

#[test]
fn sub_agents_in_the_file_of_a_session_are_distinguished() {
    let side = |uuid: &str, parent: Option<&str>, line: Value| {
        with(
            line,
            json!({"isSidechain": true, "uuid": uuid, "parentUuid": parent, "cwd": "/elsewhere"}),
        )
    };
    let lines = [
        user("Go."),
        side("a1", None, user("Count.")),
        side("b1", None, user("Weigh.")),
        side("a2", Some("a1"), assistant("m1", &[text("Four.")])),
        side("b2", Some("b1"), assistant("m2", &[text("Nine.")])),
        with(
            assistant("m3", &[text("Named.")]),
            json!({"isSidechain": true, "agentId": "a7"}),
        ),
        assistant("m4", &[text("Done.")]),
    ];
    let expected = "prompt Go.\n\
                    (sidechain-a1) notice Count.\n\
                    (sidechain-b1) notice Weigh.\n\
                    (sidechain-a1) prose Four.\n\
                    (sidechain-b1) prose Nine.\n\
                    (a7) prose Named.\n\
                    prose Done.";
    assert_eq!(rendered(&lines), expected);
}

#[test]
fn all_records_of_a_sub_agents_file_belong_to_it() {
    let owner = TranscriptOwner {
        agent_id: Some("a1".into()),
        ..TranscriptOwner::default()
    };
    let lines = [
        with(user("Count."), json!({"cwd": "/w"})),
        with(assistant("m1", &[text("Four.")]), json!({"isSidechain": true})),
    ];
    let (records, _) = read_as(&file(&lines), &owner);
    assert_eq!(
        shown(&records),
        "(a1) facts - /w - - - -\n(a1) notice Count.\n(a1) prose Four."
    );
}

#[test]
fn copies_made_by_a_fork_are_marked() {
    let owner = TranscriptOwner {
        session_id: Some(OWN.into()),
        ..TranscriptOwner::default()
    };
    let of = |session: &str, at: &str, line: Value| {
        with(
            line,
            json!({"sessionId": session, "timestamp": format!("2026-11-15T10:00:{at}Z")}),
        )
    };
    let by_session = [of(OTHER, "01", user("Old.")), of(OWN, "30", user("New."))];
    let by_mark = [
        with(
            of(OWN, "01", user("Old.")),
            json!({"forkedFrom": {"sessionId": OTHER}}),
        ),
        of(OWN, "30", user("New.")),
    ];
    // Version 2.1.325 writes the new session's id into the copies; only their times differ.
    let by_time = [
        json!({"type": "queue-operation", "timestamp": "2026-11-15T10:00:29Z", "sessionId": OWN}),
        of(OWN, "01", user("Old.")),
        of(OWN, "30", user("New.")),
    ];
    for lines in [&by_session[..], &by_mark[..], &by_time[..]] {
        let (records, _) = read_as(&file(lines), &owner);
        let expected = format!("copied prompt Old.\nfacts {OWN} - - - - -\nprompt New.");
        assert_eq!(shown(&records), expected);
    }
    let resumed = [
        of(OWN, "01", user("First.")),
        json!({"type": "queue-operation", "timestamp": "2026-11-15T10:00:29Z", "sessionId": OWN}),
        of(OWN, "20", user("Late, but not copied.")),
    ];
    assert!(
        read_as(&file(&resumed), &owner)
            .0
            .iter()
            .all(|record| !record.copied)
    );
}

#[test]
fn session_facts_are_recorded_when_they_change() {
    let at = |cwd: &str, branch: &str, line: Value| {
        with(
            line,
            json!({"cwd": cwd, "gitBranch": branch, "version": "2.1.325"}),
        )
    };
    let mut answer = at("/w", "main", assistant("m1", &[text("One.")]));
    answer["message"]["model"] = json!("opus");
    let lines = [
        at("/w", "main", user("Go.")),
        answer.clone(),
        at("/w", "main", user("On.")),
        at("/w/src", "fix", user("There.")),
        with(user("Nothing known."), json!({"cwd": 5, "gitBranch": ""})),
        at("/w/src", "fix", user("Back.")),
    ];
    let expected = "facts - /w main 2.1.325 - -\nprompt Go.\n\
                    facts - /w main 2.1.325 opus -\nprose One.\n\
                    prompt On.\n\
                    facts - /w/src fix 2.1.325 opus -\nprompt There.\n\
                    prompt Nothing known.\nprompt Back.";
    assert_eq!(rendered(&lines), expected);
}

#[test]
fn a_title_by_the_user_wins_and_one_of_another_session_is_ignored() {
    let summary = |title: &str| json!({"type": "summary", "summary": title, "leafUuid": "u"});
    let lines = [
        summary("Another session"),
        user("Go."),
        summary("First"),
        json!({"type": "ai-title", "aiTitle": "Second", "sessionId": "s"}),
        json!({"type": "ai-title", "aiTitle": "Second", "sessionId": "s"}),
        json!({"type": "custom-title", "customTitle": "Mine", "sessionId": "s"}),
        json!({"type": "ai-title", "aiTitle": "Third", "sessionId": "s"}),
    ];
    let expected = "prompt Go.\nfacts - - - - - First\nfacts - - - - - Second\nfacts - - - - - Mine";
    assert_eq!(rendered(&lines), expected);
}

#[test]
fn a_record_has_the_time_of_its_line_or_the_last_one_known() {
    let lines = [
        user("Before all."),
        with(
            user("At a time."),
            json!({"timestamp": "2025-11-28T23:06:04.057Z", "uuid": "u1", "promptId": "p1"}),
        ),
        with(user("At none."), json!({"timestamp": "soon"})),
        with(user("Nor here."), json!({"timestamp": 5, "uuid": ["no"]})),
    ];
    let (records, _) = read(&file(&lines));
    let times: Vec<i64> = records.iter().map(|record| record.at.as_millis()).collect();
    assert_eq!(
        times,
        [0, 1_764_371_164_057, 1_764_371_164_057, 1_764_371_164_057]
    );
    assert_eq!(records[1].uuid.as_deref(), Some("u1"));
    assert!(matches!(&records[1].kind, RecordKind::Prompt { prompt_id: Some(id), .. } if id == "p1"));
    assert_eq!(records[3].uuid, None);
}
