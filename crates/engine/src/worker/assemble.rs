//! Reads a stored turn, and the part of the transcript that belongs to it, for the distiller.

use std::{ops::RangeInclusive, path::Path};

use backstory_capture::{filter, sanitize::TextSanitizer};
use backstory_model::{EventKind, Timestamp, is_machine_made};
use backstory_store::{StoredTurn, TurnEvent};
use backstory_transcript::{self as transcript, Position, RecordKind};

use super::final_message;
use crate::turns::{self, AssembledTurn, TurnHead, TurnRecords};

/// A turn with everything that is known of it.
#[derive(Debug)]
pub(super) struct Assembled<'e> {
    /// The turn.
    pub(super) turn: AssembledTurn<'e>,
    /// The position up to which the transcript was read for it.
    pub(super) position: Option<Position>,
}

/// Puts a turn together.
pub(super) fn assemble<'e>(stored: &'e mut StoredTurn, settings: &filter::CaptureSettings) -> Assembled<'e> {
    let TranscriptPart {
        records,
        position,
        prompt,
    } = read_transcript(stored, settings);
    if let Some(prompt) = prompt {
        stored.machine_made = is_machine_made(&prompt);
        stored.prompt = Some(prompt);
    }
    let head = TurnHead {
        number: stored.number,
        started_at: stored.started_at,
        prompt: stored.prompt.clone(),
        machine_made: stored.machine_made,
        root: Some(stored.root.clone()),
        branch: stored.branch.clone(),
        is_ended: stored.is_ended,
        goes_on: stored.goes_on,
    };
    let (path, times) = (stored.transcript_path.as_deref(), event_times(&stored.events));
    let mut assembled = turns::assemble(head, &mut stored.events, records.into_steps());
    let turn = &mut assembled.turn;
    if turn.last_message.is_none()
        && stored.is_ended
        && let (Some(path), Some(times)) = (path, times)
    {
        let message = final_message::find(Path::new(path), times);
        turn.last_message = message.and_then(|message| TextSanitizer::new(settings.redact).text(&message));
    }
    Assembled {
        turn: assembled,
        position,
    }
}

/// Returns the times of the first and the last event.
fn event_times(events: &[TurnEvent]) -> Option<RangeInclusive<Timestamp>> {
    Some(events.first()?.at..=events.last()?.at)
}

/// The part of a transcript that belongs to a turn.
#[derive(Debug, Default)]
struct TranscriptPart {
    records: TurnRecords,
    position: Option<Position>,
    /// The prompt, if no hook reported it.
    prompt: Option<String>,
}

/// Reads the part of the transcript that is new. Without a transcript, or with one that cannot be read, the events alone
/// must do.
fn read_transcript(turn: &StoredTurn, settings: &filter::CaptureSettings) -> TranscriptPart {
    let Some(path) = turn.transcript_path.as_deref() else {
        return TranscriptPart::default();
    };
    let from = turn
        .transcript_from
        .as_deref()
        .and_then(|read| serde_json::from_str(read).ok())
        .unwrap_or_default();
    let path = Path::new(path);
    let reader = transcript::open(path, from, settings)
        .or_else(|_| transcript::open(path, Position::default(), settings));
    let Ok(mut reader) = reader else {
        return TranscriptPart::default();
    };
    // The events have the calls, except for those whose payload retention dropped.
    let dropped = turn.events.iter().filter(|event| event.payload.is_dropped());
    let mut records =
        TurnRecords::with_calls(dropped.filter_map(|event| event.tool_use_id.clone()).collect());
    let mut begun = None;
    let mut is_over = false;
    let mut has_prompt = false;
    let lacks_prompt = lacks_prompt(turn);
    let mut unreported = None;
    for record in reader
        .by_ref()
        .filter(|record| !record.copied && record.agent_id.is_none())
    {
        if let RecordKind::Prompt { text, prompt_id, .. } = &record.kind {
            let fit = if lacks_prompt {
                fit_by_time(turn, record.at, prompt_id.as_deref())
            } else {
                fit(turn, text, prompt_id.as_deref())
            };
            // A later turn.
            if begun.is_some() && fit < begun {
                is_over = true;
                break;
            }
            // Records before the turn's own prompt belong to an earlier turn that ended before they were written.
            has_prompt = true;
            begun = begun.max(fit);
            if lacks_prompt && fit.is_some() {
                unreported = Some(text.clone());
            }
            records.take();
        } else {
            records.push(record.kind, record.at, record.offset);
        }
    }
    // The prompt is not written yet, or not in these words: the records belong to other turns, which look for their own
    // beginning from the same place.
    if turn.prompt.is_some() && has_prompt && begun.is_none() {
        return TranscriptPart::default();
    }
    // The later turn looks for its own beginning from the same place.
    let position = if is_over { None } else { reader.position().cloned() };
    TranscriptPart {
        records,
        position,
        prompt: unreported,
    }
}

/// Reports whether no hook reported the prompt of a turn. A prompt that was forgotten has an event.
fn lacks_prompt(turn: &StoredTurn) -> bool {
    let has_event = |event: &TurnEvent| event.kind == EventKind::UserPromptSubmit;
    turn.prompt.is_none() && !turn.events.iter().any(has_event)
}

/// Matches a prompt of the transcript with a turn that lacks its own: by its id, else the last one before the turn's end.
fn fit_by_time(turn: &StoredTurn, at: Timestamp, prompt_id: Option<&str>) -> Option<PromptMatch> {
    let is_own = match (prompt_id, turn.prompt_id.as_deref()) {
        (Some(id), Some(own)) => id == own,
        _ => turn.events.last().is_some_and(|event| at <= event.at),
    };
    is_own.then_some(PromptMatch::Id)
}

/// How well a prompt of the transcript fits a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PromptMatch {
    /// The same id, other words. A fork gives all turns that it copies the id of its first own turn, and what a person adds
    /// while the agent works has the id of what was asked first.
    Id,
    /// The turn's own.
    Whole,
}

fn fit(turn: &StoredTurn, text: &str, prompt_id: Option<&str>) -> Option<PromptMatch> {
    // The transcript leaves out white space at both ends.
    let same_words = turn.prompt.as_deref().map(str::trim) == Some(text.trim());
    match (prompt_id, turn.prompt_id.as_deref()) {
        (Some(id), Some(own)) if id != own => None,
        _ if same_words => Some(PromptMatch::Whole),
        (Some(_), Some(_)) => Some(PromptMatch::Id),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write, path::PathBuf};

    use backstory_distill::{ToolOutcome, ToolUse, TurnEnd, TurnInput, TurnStep};
    use backstory_model::{ProjectId, SessionId, TurnId};
    use serde_json::{Value, json};

    use super::*;
    use crate::{import, turns::turns_of_session};

    const SESSION: &str = "aaaaaaaa-0000-4000-8000-000000000001";

    fn settings() -> filter::CaptureSettings {
        filter::CaptureSettings {
            skip_tools: vec!["TodoWrite".into(), "AskUserQuestion".into(), "Skill".into()],
            redact: true,
            max_payload: 256 * 1024,
        }
    }

    /// A transcript in the making.
    #[derive(Default)]
    struct Lines {
        lines: Vec<Value>,
    }

    impl Lines {
        fn add(mut self, mut line: Value) -> Self {
            let second = self.lines.len();
            line["timestamp"] = format!("2026-02-07T04:{:02}:{:02}.000Z", second / 60, second % 60).into();
            line["sessionId"] = SESSION.into();
            line["cwd"] = "/w/app".into();
            line["uuid"] = format!("u{second}").into();
            self.lines.push(line);
            self
        }

        fn user(self, text: &str) -> Self {
            let id = format!("p-{text}");
            self.add(json!({"type": "user", "promptId": id, "message": {"role": "user", "content": text}}))
        }

        fn prose(self, text: &str) -> Self {
            let id = format!("m{}", self.lines.len());
            self.add(json!({"type": "assistant", "message": {"id": id, "content": [{"type": "text", "text": text}]}}))
        }

        fn call(self, id: &str, name: &str, input: &Value) -> Self {
            let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
            self.add(json!({"type": "assistant", "message": {"id": format!("m-{id}"), "content": [block]}}))
        }

        fn result(self, id: &str, answer: &Value) -> Self {
            let block = json!({"type": "tool_result", "tool_use_id": id, "content": "text"});
            self.add(json!({"type": "user", "message": {"content": [block]}, "toolUseResult": answer}))
        }

        fn error(self, id: &str, text: &str) -> Self {
            let block = json!({"type": "tool_result", "tool_use_id": id, "is_error": true, "content": text});
            self.add(json!({"type": "user", "message": {"content": [block]}, "toolUseResult": format!("Error: {text}")}))
        }

        fn queue(self, operation: &str, content: Option<&str>) -> Self {
            self.add(json!({"type": "queue-operation", "operation": operation, "content": content}))
        }

        fn write(&self, folder: &Path) -> PathBuf {
            let path = folder.join(format!("{SESSION}.jsonl"));
            let text: String = self.lines.iter().map(|line| format!("{line}\n")).collect();
            fs::File::create(&path)
                .unwrap()
                .write_all(text.as_bytes())
                .unwrap();
            path
        }
    }

    fn imported(path: &Path) -> Vec<TurnInput> {
        let found = transcript::sessions(transcript::TranscriptHost::ClaudeCode, path).unwrap();
        let read = import::read(
            &found.transcripts[0],
            &import::FolderProjects::default(),
            &settings(),
            Timestamp::from_millis(0),
        )
        .unwrap();
        let events: Vec<_> = read.events.iter().map(import::ImportedEvent::to_event).collect();
        turns_of_session(&events, Some("/w/app"))
    }

    /// The events that hooks report of a turn, with the transcript next to them.
    fn live(
        path: &Path,
        turn: &TurnInput,
        tools: &[(&str, &str, Value, Value)],
        stop: Option<&str>,
    ) -> TurnInput {
        let mut events: Vec<TurnEvent> = Vec::new();
        for (id, name, input, answer) in tools {
            let at = turn.steps.iter().find_map(|step| match step {
                TurnStep::Tool(tool) if tool.id.as_deref() == Some(id) => Some(tool.at),
                _ => None,
            });
            let payload =
                json!({"tool_use_id": id, "tool_name": name, "tool_input": input, "tool_response": answer});
            events.push(event(EventKind::PostToolUse, at.unwrap(), &payload));
        }
        if let Some(message) = stop {
            events.push(event(
                EventKind::Stop,
                Timestamp::MAX,
                &json!({"last_assistant_message": message}),
            ));
        }
        let mut stored = StoredTurn {
            prompt: turn.prompt.clone(),
            prompt_id: turn.prompt.as_ref().map(|text| format!("p-{text}")),
            root: "/w/app".into(),
            is_ended: true,
            transcript_path: Some(path.to_string_lossy().into_owned()),
            events,
            ..stored_turn()
        };
        TurnInput {
            number: turn.number,
            started_at: turn.started_at,
            ..assemble(&mut stored, &settings()).turn.into_whole()
        }
    }

    fn stored_turn() -> StoredTurn {
        StoredTurn {
            number: 1,
            started_at: Timestamp::EPOCH,
            id: TurnId::new(1),
            session_db_id: SessionId::new(1),
            project_db_id: ProjectId::new(1),
            prompt: None,
            prompt_id: None,
            machine_made: false,
            branch: None,
            root: String::new(),
            is_ended: false,
            goes_on: false,
            transcript_path: None,
            transcript_from: None,
            events: Vec::new(),
        }
    }

    fn event(kind: EventKind, at: Timestamp, payload: &Value) -> TurnEvent {
        TurnEvent {
            kind,
            at,
            tool_use_id: None,
            payload: payload.to_string().into(),
        }
    }

    #[test]
    fn a_turn_is_the_same_live_and_imported() {
        let folder = tempfile::tempdir().unwrap();
        let (ls, pwd) = (json!({"command": "ls"}), json!({"command": "pwd"}));
        let question = json!({"questions": [{"question": "Which?"}]});
        let path = Lines::default()
            .user("Fix it")
            .prose("I look at two things.")
            .call("t1", "Bash", &ls)
            .call("t2", "Bash", &pwd)
            .call("t3", "TodoWrite", &json!({"todos": []}))
            .result("t2", &json!({"stdout": "/w/app"}))
            .queue("enqueue", Some("Use the CLI."))
            .queue("remove", None)
            .result("t1", &json!({"stdout": "a"}))
            .result("t3", &json!({"oldTodos": []}))
            .call("t4", "AskUserQuestion", &question)
            .result("t4", &json!({"answers": {"Which?": "This"}}))
            .call("t5", "Edit", &json!({"file_path": "/w/app/a"}))
            .error("t5", "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nnot here")
            .call("t6", "Write", &json!({"file_path": "/w/app/b"}))
            .error("t6", "<tool_use_error>File has not been read yet.</tool_use_error>")
            .prose("Done.")
            .user("Thanks")
            .prose("You are welcome.")
            .write(folder.path());
        let turns = imported(&path);
        assert_eq!(turns.len(), 2);
        let tools = [
            ("t2", "Bash", pwd, json!({"stdout": "/w/app"})),
            ("t1", "Bash", ls, json!({"stdout": "a"})),
        ];
        assert_eq!(live(&path, &turns[0], &tools, Some("Done.")), turns[0]);
        assert_eq!(live(&path, &turns[1], &[], Some("You are welcome.")), turns[1]);
        let steps: Vec<String> = turns[0].steps.iter().map(shown).collect();
        let expected = [
            "prose I look at two things.",
            "t1",
            "t2",
            "t3",
            "user Use the CLI.",
            "t4",
            "t5 refused Some(\"not here\")",
            "t6",
            "prose Done.",
        ];
        assert_eq!(steps, expected);
        assert_eq!(
            (turns[0].end, turns[0].last_message.as_deref()),
            (TurnEnd::Stopped, Some("Done."))
        );
    }

    #[test]
    fn an_interruption_ends_a_turn_live_and_imported() {
        let folder = tempfile::tempdir().unwrap();
        let path = Lines::default()
            .user("Fix it")
            .prose("I begin.")
            .user("[Request interrupted by user]")
            .user("Only the tests")
            .prose("Sure.")
            .write(folder.path());
        let turns = imported(&path);
        assert_eq!(turns[0].end, TurnEnd::Interrupted);
        assert_eq!(
            turns[0].steps,
            [TurnStep::Prose("I begin.".into()), TurnStep::Interrupted]
        );
        assert_eq!(live(&path, &turns[0], &[], None), turns[0]);
        assert_eq!(turns[1].prompt.as_deref(), Some("Only the tests"));
    }

    #[test]
    fn a_notice_is_the_report_of_its_sub_agent_and_never_the_users_words() {
        let folder = tempfile::tempdir().unwrap();
        let notice =
            "<task-notification>\n<task-id>a1</task-id>\n<result>Found it.</result>\n</task-notification>";
        let path = Lines::default()
            .user("Search")
            .prose("Searching.")
            .user(notice)
            .prose("It was found.")
            .write(folder.path());
        let turns = imported(&path);
        assert!(turns[1].machine_made);
        let report = TurnStep::SubAgent {
            agent_id: Some("a1".into()),
            agent_type: Some("sub-agent".into()),
            report: "Found it.".into(),
        };
        assert!(turns[0].steps.contains(&report), "{:?}", turns[0].steps);
    }

    /// A transcript of older clients, whose prompts have no ids, with a later turn in it already.
    fn late(prompt: &str) -> (Vec<String>, bool) {
        let folder = tempfile::tempdir().unwrap();
        let prompt_line = |text: &str| json!({"type": "user", "message": {"role": "user", "content": text}});
        let path = Lines::default()
            .add(prompt_line("Fix it "))
            .prose("I fix it.")
            .add(prompt_line("Test it"))
            .prose("I test it.")
            .write(folder.path());
        let mut stored = StoredTurn {
            prompt: Some(prompt.to_owned()),
            transcript_path: Some(path.to_string_lossy().into_owned()),
            is_ended: true,
            ..stored_turn()
        };
        let assembled = assemble(&mut stored, &settings());
        let is_read_to_the_end = assembled.position.is_some();
        let steps = assembled.turn.into_whole().steps;
        (steps.iter().map(shown).collect(), is_read_to_the_end)
    }

    #[test]
    fn a_turn_that_is_distilled_late_takes_no_words_of_the_next_one() {
        assert_eq!(late("Fix it "), (vec!["prose I fix it.".to_owned()], false));
        assert_eq!(late("Test it"), (vec!["prose I test it.".to_owned()], true));
        assert_eq!(late("In other words"), (Vec::new(), false));
    }

    #[test]
    fn events_alone_make_a_turn_when_there_is_no_transcript() {
        let payload = json!({"tool_use_id": "t1", "tool_name": "Bash", "tool_response": {"stdout": ""}});
        let mut stored = StoredTurn {
            prompt: Some("Fix it".into()),
            transcript_path: Some("/nowhere/x.jsonl".into()),
            events: vec![event(EventKind::PostToolUse, Timestamp::from_millis(5), &payload)],
            ..stored_turn()
        };
        let turn = assemble(&mut stored, &settings()).turn.into_whole();
        assert_eq!((turn.steps.len(), turn.end), (1, TurnEnd::Open));
    }

    fn shown(step: &TurnStep) -> String {
        match step {
            TurnStep::Prose(text) => format!("prose {text}"),
            TurnStep::UserMessage(text) => format!("user {text}"),
            TurnStep::Tool(tool) => {
                let id = tool.id.clone().unwrap_or_default();
                match &tool.outcome {
                    ToolOutcome::Refused(words) => format!("{id} refused {words:?}"),
                    _ => id,
                }
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn calls_whose_payload_was_dropped_are_read_from_the_transcript() {
        let folder = tempfile::tempdir().unwrap();
        let ls = json!({"command": "ls"});
        let path = Lines::default()
            .user("Look")
            .prose("I look.")
            .call("t1", "Bash", &ls)
            .result("t1", &json!({"stdout": "a"}))
            .call("t2", "Bash", &ls)
            .result("t2", &json!({"stdout": "from the transcript"}))
            .prose("Done.")
            .write(folder.path());
        let dropped = |id: &str| TurnEvent {
            tool_use_id: Some(id.to_owned()),
            ..event(EventKind::PostToolUse, Timestamp::from_millis(5), &json!({}))
        };
        let kept =
            json!({"tool_use_id": "t1", "tool_name": "Bash", "tool_input": ls, "tool_response": "hook"});
        let mut stored = StoredTurn {
            prompt: Some("Look".into()),
            is_ended: true,
            transcript_path: Some(path.to_string_lossy().into_owned()),
            events: vec![
                event(EventKind::PostToolUse, Timestamp::from_millis(5), &kept),
                dropped("t2"),
                dropped("unknown"),
            ],
            ..stored_turn()
        };
        let turn = assemble(&mut stored, &settings()).turn.into_whole();
        let results: Vec<String> = turn
            .steps
            .iter()
            .map(|step| match step {
                TurnStep::Tool(ToolUse {
                    outcome: ToolOutcome::Answered(answer),
                    ..
                }) => answer.to_string(),
                TurnStep::Prose(text) => text.clone(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            results,
            [
                "I look.",
                r#""hook""#,
                r#"{"stdout":"from the transcript"}"#,
                "Done."
            ]
        );
    }
}
