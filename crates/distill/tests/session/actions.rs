//! Work logs of made-up sessions.

use backstory_distill::{
    Action, ChangeKind, CommandRun, ErrorSignature, FileChange, GitCommit, Handover, LogEntry, Purpose,
    RunOutcome, SessionMemory, TaskState, TurnEnd, TurnLog, compose,
};
use backstory_model::Timestamp;

/// A turn with a prompt and these actions.
pub(crate) fn turn(number: u32, prompt: &str, actions: Vec<Action>) -> TurnLog {
    TurnLog {
        number,
        prompt: Some(prompt.to_owned()),
        started_at: Timestamp::from_millis(i64::from(number) * 60_000),
        end: TurnEnd::Stopped,
        entries: entries(number, actions),
        ..TurnLog::default()
    }
}

pub(crate) fn entries(number: u32, actions: Vec<Action>) -> Vec<LogEntry> {
    let mut intent: Option<String> = None;
    let mut out = Vec::new();
    for (item, action) in (0..).zip(actions) {
        let spoken = match &action {
            Action::Prose(text) => Some(text.clone()),
            _ => None,
        };
        out.push(LogEntry {
            at: Timestamp::from_millis(i64::from(number) * 60_000 + i64::from(item)),
            item: Some(item),
            tool_use_id: Some(format!("t{number}.{item}")),
            subagent: None,
            intent: intent.clone(),
            action,
        });
        intent = spoken.or(intent);
    }
    out
}

/// The last message of a turn.
pub(crate) fn report(text: &str) -> Action {
    Action::Report(text.to_owned())
}

/// A change to a file.
pub(crate) fn edit(path: &str) -> Action {
    Action::Change(file_change(path, ChangeKind::Modified))
}

/// A change of a kind to a file.
pub(crate) fn file_change(path: &str, kind: ChangeKind) -> FileChange {
    FileChange {
        path: path.to_owned(),
        kind,
        scratch: false,
        header: None,
        values: Vec::new(),
        defines: Vec::new(),
        removes: Vec::new(),
        comments: Vec::new(),
        replaced: None,
    }
}

/// A command that passed, or failed with an error line.
pub(crate) fn run(command: &str, purpose: Purpose, error: Option<&str>) -> Action {
    Action::Run(CommandRun {
        command: command.to_owned(),
        purpose,
        outcome: if error.is_some() {
            RunOutcome::Failed
        } else {
            RunOutcome::Passed
        },
        failed_part: error.map(|_| command.to_owned()),
        error: error.map(|line| ErrorSignature {
            key: line.to_lowercase(),
            line: line.to_owned(),
        }),
        result_line: None,
        changed_files: None,
    })
}

pub(crate) fn prose(text: &str) -> Action {
    Action::Prose(text.to_owned())
}

pub(crate) fn change(path: &str, kind: ChangeKind) -> Action {
    Action::Change(file_change(path, kind))
}

pub(crate) fn text_of(memory: &SessionMemory) -> String {
    let mut out = String::new();
    for one in &memory.observations {
        let made = &one.observation;
        out.push_str(&format!(
            "{}\n{}\n{}\n",
            made.title,
            made.narrative.as_deref().unwrap_or_default(),
            made.facts.join("\n")
        ));
    }
    out
}

pub(crate) fn titles(memory: &SessionMemory) -> Vec<&str> {
    memory
        .observations
        .iter()
        .map(|one| one.observation.title.as_str())
        .collect()
}

pub(crate) fn commit_as(hash: &str, subject: &str, body: Option<&str>, amend: bool) -> Action {
    Action::Commit(GitCommit {
        hash: Some(hash.to_owned()),
        subject: subject.to_owned(),
        body: body.map(str::to_owned),
        amend,
        files: None,
    })
}

/// Returns the hand-over of turns with a prompt and actions each.
pub(crate) fn handover(turns: Vec<(&str, Vec<Action>)>) -> Handover {
    compose(&logs(turns)).handover
}

pub(crate) fn logs(turns: Vec<(&str, Vec<Action>)>) -> Vec<TurnLog> {
    (1..)
        .zip(turns)
        .map(|(number, (prompt, actions))| TurnLog {
            branch: Some("main".to_owned()),
            ..turn(number, prompt, actions)
        })
        .collect()
}

pub(crate) fn commit(subject: &str, body: &str) -> Action {
    commit_as(
        "ab12cd3",
        subject,
        Some(body).filter(|body| !body.is_empty()),
        false,
    )
}

pub(crate) fn task(id: &str, text: &str, state: TaskState) -> Action {
    Action::Task {
        id: Some(id.to_owned()),
        text: text.to_owned(),
        state,
    }
}

pub(crate) fn push(tip: Option<&str>) -> Action {
    Action::Push {
        branch: None,
        tip: tip.map(str::to_owned),
    }
}
