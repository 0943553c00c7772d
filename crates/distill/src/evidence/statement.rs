//! Reads the user's answers, task lists and plans from tools that carry them.

use serde_json::Value;

use crate::{Action, AnswerChoice, TaskState, ToolOutcome, ToolUse};

/// Returns the answers that the user gave to questions of the agent.
pub(super) fn answers(tool: &ToolUse) -> Vec<Action> {
    let ToolOutcome::Answered(answer) = &tool.outcome else {
        return Vec::new();
    };
    let notes = |question: &str| {
        let note = answer.get("annotations")?.get(question)?;
        let note = note.get("notes").or_else(|| note.get("note")).unwrap_or(note);
        note.as_str()
            .map(str::trim)
            .filter(|note| !note.is_empty())
            .map(str::to_owned)
    };
    let given = answer.get("answers").and_then(Value::as_object);
    let pairs: Vec<(String, String)> = match (given, answer) {
        (Some(given), _) => given
            .iter()
            .filter_map(|(question, answer)| Some((question.clone(), text(answer)?)))
            .collect(),
        (None, Value::String(text)) => quoted_pairs(text),
        _ => Vec::new(),
    };
    pairs
        .into_iter()
        .map(|(question, answer)| {
            let choice = choice(&tool.input, &question, &answer);
            let answer = match notes(&question).filter(|note| *note != answer) {
                Some(note) => format!("{answer} ({note})"),
                None => answer,
            };
            Action::UserAnswer {
                question,
                answer,
                choice,
            }
        })
        .collect()
}

/// Returns the option that an answer names and those that it leaves.
fn choice(input: &Value, question: &str, answer: &str) -> Option<AnswerChoice> {
    let questions = input.get("questions")?.as_array()?;
    let asked = questions
        .iter()
        .find(|one| one.get("question").and_then(Value::as_str) == Some(question))?;
    let field = |option: &Value, name: &str| option.get(name).and_then(Value::as_str).map(str::to_owned);
    let options: Vec<(String, Option<String>)> = asked
        .get("options")?
        .as_array()?
        .iter()
        .filter_map(|option| Some((field(option, "label")?, field(option, "description"))))
        .collect();
    let is_chosen = |label: &str| answer.split(", ").any(|part| part == label) || answer == label;
    let details: Vec<String> = options
        .iter()
        .filter(|(label, _)| is_chosen(label))
        .filter_map(|(_, details)| details.clone())
        .collect();
    if !options.iter().any(|(label, _)| is_chosen(label)) {
        return None;
    }
    let others = options.into_iter().map(|(label, _)| label);
    Some(AnswerChoice {
        details: (!details.is_empty()).then(|| details.join("; ")),
        others: others.filter(|label| !is_chosen(label)).collect(),
    })
}

fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.trim().to_owned(),
        Value::Array(list) => list
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(", "),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

/// Reads `"question"="answer", "question"="answer"`.
fn quoted_pairs(text: &str) -> Vec<(String, String)> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\"=\"") {
        let question = before.rsplit_once('"').map_or(before, |(_, question)| question);
        let end = ["\", \"", "\". ", "\""]
            .iter()
            .filter_map(|end| after.find(end))
            .min()
            .unwrap_or(after.len());
        out.push((question.to_owned(), after[..end].to_owned()));
        rest = &after[end..];
    }
    out
}

/// Returns the entries of the task list that a call changes.
pub(super) fn tasks(tool: &ToolUse) -> Vec<Action> {
    if !matches!(tool.outcome, ToolOutcome::Answered(_) | ToolOutcome::Unknown) {
        return Vec::new();
    }
    let input = &tool.input;
    let text = |name: &str| {
        input
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .trim()
            .to_owned()
    };
    match tool.name.as_str() {
        "TodoWrite" => todos(tool),
        "TaskCreate" => {
            let id = match &tool.outcome {
                ToolOutcome::Answered(answer) => task_id(answer),
                _ => None,
            };
            vec![Action::Task {
                id,
                text: text("subject"),
                state: TaskState::Pending,
            }]
        }
        "TaskUpdate" => {
            let Some(state) = state(&text("status")) else {
                return Vec::new();
            };
            let id = Some(text("taskId")).filter(|id| !id.is_empty());
            vec![Action::Task {
                id,
                text: text("subject"),
                state,
            }]
        }
        _ => Vec::new(),
    }
}

fn task_id(answer: &Value) -> Option<String> {
    if let Some(id) = answer
        .get("task")
        .and_then(|task| task.get("id"))
        .and_then(Value::as_str)
    {
        return Some(id.to_owned());
    }
    // `Task #1 created successfully: …`
    let text = answer.as_str()?.split_once('#')?.1;
    let id: String = text.chars().take_while(char::is_ascii_digit).collect();
    (!id.is_empty()).then_some(id)
}

fn state(name: &str) -> Option<TaskState> {
    Some(match name {
        "pending" => TaskState::Pending,
        "in_progress" => TaskState::InProgress,
        "completed" => TaskState::Completed,
        "deleted" | "cancelled" => TaskState::Deleted,
        _ => return None,
    })
}

fn entries(list: Option<&Value>) -> Vec<(&str, TaskState)> {
    let list = list.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|entry| {
        let text = entry.get("content").and_then(Value::as_str)?.trim();
        Some((text, state(entry.get("status").and_then(Value::as_str)?)?))
    })
    .collect()
}

/// Compares the list with the one before, which the answer holds: only entries that changed count.
fn todos(tool: &ToolUse) -> Vec<Action> {
    let old = match &tool.outcome {
        ToolOutcome::Answered(answer) => entries(answer.get("oldTodos")),
        _ => Vec::new(),
    };
    let new = entries(tool.input.get("todos"));
    let mut out: Vec<Action> = Vec::new();
    let mut push = |text: &str, state: TaskState| {
        out.push(Action::Task {
            id: None,
            text: text.to_owned(),
            state,
        });
    };
    for (text, state) in &new {
        if !old.contains(&(text, *state)) {
            push(text, *state);
        }
    }
    for (text, state) in &old {
        let is_gone = !new.iter().any(|(kept, _)| kept == text);
        if is_gone && *state != TaskState::Completed && !new.is_empty() {
            push(text, TaskState::Deleted);
        }
    }
    out
}

/// Returns the plan that the agent showed to the user, with the user's decision.
pub(super) fn plan(tool: &ToolUse) -> Option<(String, Option<bool>)> {
    let text = |value: &Value| value.get("plan").and_then(Value::as_str).map(str::to_owned);
    let (given, approved) = match &tool.outcome {
        ToolOutcome::Answered(answer) => (text(answer), Some(true)),
        ToolOutcome::Refused(_) | ToolOutcome::Failed(_) => (None, Some(false)),
        ToolOutcome::Unknown => (None, None),
    };
    Some((text(&tool.input).or(given)?, approved))
}

/// Returns the first question that a call asks.
pub(super) fn first_question(tool: &ToolUse) -> Option<String> {
    let question = tool.input.get("questions")?.get(0)?.get("question")?;
    question.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use backstory_model::Timestamp;
    use serde_json::json;

    fn tool(name: &str, input: Value, outcome: ToolOutcome) -> ToolUse {
        ToolUse {
            id: None,
            agent_id: None,
            name: name.into(),
            input,
            outcome,
            at: Timestamp::EPOCH,
        }
    }

    #[test]
    fn answers_keep_question_choice_and_notes() {
        let answer = json!({"answers": {"Inline or embedded?": "Inline"}, "annotations": {"Inline or embedded?": {"notes": "easier to read"}}});
        let read = answers(&tool("AskUserQuestion", json!({}), ToolOutcome::Answered(answer)));
        assert_eq!(
            read,
            [Action::UserAnswer {
                question: "Inline or embedded?".into(),
                answer: "Inline (easier to read)".into(),
                choice: None,
            }]
        );
        let text = "User has answered your questions: \"A?\"=\"b\", \"C?\"=\"d e\". You can now continue";
        let read = answers(&tool(
            "AskUserQuestion",
            json!({}),
            ToolOutcome::Answered(json!(text)),
        ));
        assert_eq!(read.len(), 2);
        assert_eq!(
            read[1],
            Action::UserAnswer {
                question: "C?".into(),
                answer: "d e".into(),
                choice: None,
            }
        );
    }

    #[test]
    fn only_changed_entries_of_a_list_count() {
        let todo = |text: &str, status: &str| json!({"content": text, "status": status});
        let input = json!({"todos": [todo("a", "completed"), todo("b", "in_progress")]});
        let answer =
            json!({"oldTodos": [todo("a", "in_progress"), todo("b", "in_progress"), todo("c", "pending")]});
        let read = tasks(&tool("TodoWrite", input, ToolOutcome::Answered(answer)));
        let states: Vec<_> = read
            .iter()
            .map(|action| match action {
                Action::Task { text, state, .. } => (text.as_str(), *state),
                _ => unreachable!(),
            })
            .collect();
        assert_eq!(states, [("a", TaskState::Completed), ("c", TaskState::Deleted)]);
    }

    #[test]
    fn tasks_have_their_id() {
        let created = tasks(&tool(
            "TaskCreate",
            json!({"subject": "x"}),
            ToolOutcome::Answered(json!("Task #7 created successfully: x")),
        ));
        assert_eq!(
            created,
            [Action::Task {
                id: Some("7".into()),
                text: "x".into(),
                state: TaskState::Pending
            }]
        );
        let updated = tasks(&tool(
            "TaskUpdate",
            json!({"taskId": "7", "status": "completed"}),
            ToolOutcome::Answered(json!({})),
        ));
        assert_eq!(
            updated,
            [Action::Task {
                id: Some("7".into()),
                text: String::new(),
                state: TaskState::Completed
            }]
        );
    }

    #[test]
    fn an_answer_knows_the_options_behind_it() {
        let input = json!({"questions": [{"question": "Where?", "options": [
            {"label": "File", "description": "One file per user"},
            {"label": "Table", "description": "One row per user"},
        ]}]});
        let given = |answer: &str| {
            let outcome = ToolOutcome::Answered(json!({"answers": {"Where?": answer}}));
            match answers(&tool("AskUserQuestion", input.clone(), outcome)).remove(0) {
                Action::UserAnswer { choice, .. } => choice,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            given("Table"),
            Some(AnswerChoice {
                details: Some("One row per user".into()),
                others: vec!["File".into()],
            })
        );
        assert_eq!(given("Neither, ask again later"), None);
    }
}
