//! Records which turns are private and which sessions are off the record, across hook processes.
//!
//! A fully private prompt is recorded in a small log per session; until the user's next prompt every hook of that
//! session drops its event. The log is append-only, because hooks of one session run concurrently, and contains ids,
//! never text. Work that started in a private turn stays private when it ends later: the log lists the prompts, sub-agents and
//! background commands of that turn, and the prompt that announces the end of one, so that the answer to it is private too.
//! A session that is off the record stays so: its log is never removed, because the session may be resumed at any time.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    path::PathBuf,
    time::{Duration, SystemTime},
};

use backstory_system::{self as system, OwnerOnly as _};
use backstory_text::hash64;

use crate::{hook_payload::HookPayload, spool::Spool};

/// The private turns of one session.
#[derive(Debug)]
pub struct PrivateTurns {
    path: PathBuf,
    log: Option<String>,
}

const PRIVATE: &str = "private";
const OPEN: &str = "open";
const OFF: &str = "off";
const PROMPT: &str = "prompt ";
const AGENT: &str = "agent ";

impl PrivateTurns {
    /// Reads the log of a session; almost all sessions have none.
    pub fn of(spool: &Spool, session_id: &str) -> io::Result<Self> {
        let path = spool.root().join("private").join(file_name(session_id));
        match fs::read_to_string(&path) {
            Ok(log) => Ok(Self { path, log: Some(log) }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self { path, log: None }),
            Err(error) => Err(error),
        }
    }

    /// Reports whether an event belongs to a private turn.
    pub fn covers(&self, payload: &HookPayload<'_>) -> bool {
        let Some(log) = &self.log else { return false };
        if is_off(log) {
            return true;
        }
        let is_open = log.lines().rev().find(|line| [PRIVATE, OPEN].contains(line)) == Some(OPEN);
        let noted = |prefix: &str, id: Option<&str>| {
            id.is_some_and(|id| log.lines().any(|line| line.strip_prefix(prefix) == Some(id)))
        };
        !is_open
            || noted(PROMPT, payload.prompt_id().as_deref())
            || noted(AGENT, payload.agent_id().as_deref())
            || payload.launched_tasks().iter().any(|id| noted(AGENT, Some(id)))
            || noted(
                AGENT,
                payload.prompt_start(512).as_deref().and_then(finished_task),
            )
    }

    /// Reports whether the session is off the record.
    pub fn is_off(&self) -> bool {
        self.log.as_deref().is_some_and(is_off)
    }

    /// Takes the session off the record, permanently.
    pub fn turn_off(&self) -> io::Result<()> {
        self.append(&[Some(OFF.to_owned())])
    }

    /// Starts a private turn.
    pub fn begin_private(&self, payload: &HookPayload<'_>) -> io::Result<()> {
        self.append(&[
            Some(PRIVATE.to_owned()),
            line(PROMPT, payload.prompt_id().as_deref()),
        ])
    }

    /// Ends the private turn, at a prompt that is not private.
    pub fn end_private(&self) -> io::Result<()> {
        match &self.log {
            None => Ok(()),
            Some(_) => self.append(&[Some(OPEN.to_owned())]),
        }
    }

    /// Records the tasks that a dropped event names, and the turn that a notification of such a task starts.
    pub fn note(&self, payload: &HookPayload<'_>) -> io::Result<()> {
        let launched = payload.launched_tasks();
        let mut lines: Vec<Option<String>> = launched.iter().map(|id| line(AGENT, Some(id))).collect();
        lines.push(line(AGENT, payload.agent_id().as_deref()));
        let prompt = payload.prompt_start(512);
        if prompt.as_deref().and_then(finished_task).is_some() {
            // Without an id the turn can only be recognized by its place: it extends to the user's next prompt.
            let turn = line(PROMPT, payload.prompt_id().as_deref());
            lines.push(turn.or_else(|| Some(PRIVATE.to_owned())));
        }
        if lines.iter().all(Option::is_none) {
            Ok(())
        } else {
            self.append(&lines)
        }
    }

    fn append(&self, lines: &[Option<String>]) -> io::Result<()> {
        let text: String = lines.iter().flatten().map(|line| format!("{line}\n")).collect();
        let mut options = OpenOptions::new();
        options.append(true).create(true).private();
        options.open(&self.path)?.write_all(text.as_bytes())
    }
}

fn is_off(log: &str) -> bool {
    log.lines().any(|line| line == OFF)
}

/// Removes the logs of sessions without recent events, except of those that are off the record.
pub fn sweep(spool: &Spool, now: SystemTime, older_than: Duration) -> io::Result<()> {
    let folder = match fs::read_dir(spool.root().join("private")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in folder {
        let entry = entry?;
        if now
            .duration_since(entry.metadata()?.modified()?)
            .is_ok_and(|age| age > older_than)
            && !fs::read_to_string(entry.path()).is_ok_and(|log| is_off(&log))
        {
            system::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Returns the id of the background task, often a sub-agent, whose end a machine-made prompt announces.
fn finished_task(prompt: &str) -> Option<&str> {
    let notification = prompt.trim_start().strip_prefix("<task-notification")?;
    let (id, _) = notification.split_once("<task-id>")?.1.split_once("</task-id>")?;
    Some(id.trim())
}

/// Formats a line of the log; `None` for an id that is long or contains control characters.
fn line(prefix: &str, id: Option<&str>) -> Option<String> {
    let id = id?;
    let plain = (1..=128).contains(&id.len()) && !id.contains(char::is_control);
    plain.then(|| format!("{prefix}{id}"))
}

/// Encodes a session id, which is untrusted, as a unique file name.
pub fn file_name(session_id: &str) -> String {
    let mut name = String::with_capacity(session_id.len());
    for byte in session_id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            _ => name.push_str(&format!("%{byte:02x}")),
        }
    }
    if name.len() > MAX_NAME_LEN {
        // File systems reject longer names. A hash keeps shortened ids distinct.
        let number = hash64(session_id.as_bytes());
        name.truncate(MAX_NAME_LEN - 17);
        name.push_str(&format!("%{number:016x}"));
    }
    name
}

/// The maximum length of an encoded id.
const MAX_NAME_LEN: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_has_a_unique_file_name_of_limited_length() {
        assert_eq!(file_name("a-1_B"), "a-1_B");
        assert_eq!(file_name("a/b"), "a%2fb");
        let (one, other) = (
            file_name(&"é".repeat(256)),
            file_name(&format!("{}e", "é".repeat(255))),
        );
        assert!(one.len() <= 200 && other.len() <= 200 && one != other);
    }

    fn covers(spool: &Spool, json: &str) -> bool {
        PrivateTurns::of(spool, "s")
            .unwrap()
            .covers(&HookPayload::read(json).unwrap())
    }

    #[test]
    fn a_private_turn_ends_at_the_next_prompt_and_its_late_work_stays_private() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path().to_owned());
        spool.create().unwrap();
        assert!(!covers(&spool, "{}"));

        let prompt = HookPayload::read(r#"{"prompt_id":"p1"}"#).unwrap();
        PrivateTurns::of(&spool, "s")
            .unwrap()
            .begin_private(&prompt)
            .unwrap();
        assert!(covers(&spool, "{}"));
        assert!(!PrivateTurns::of(&spool, "t").unwrap().covers(&prompt));
        let launch = HookPayload::read(r#"{"agent_id":"a1","tool_response":{"agentId":"a2"}}"#).unwrap();
        PrivateTurns::of(&spool, "s").unwrap().note(&launch).unwrap();
        PrivateTurns::of(&spool, "s").unwrap().note(&prompt).unwrap();

        PrivateTurns::of(&spool, "s").unwrap().end_private().unwrap();
        assert!(!covers(&spool, "{}"));
        assert!(!covers(&spool, r#"{"prompt_id":"p2","agent_id":"a3"}"#));
        assert!(covers(&spool, r#"{"prompt_id":"p1"}"#));
        assert!(covers(&spool, r#"{"prompt_id":"p2","agent_id":"a1"}"#));
        assert!(covers(&spool, r#"{"agent_id":"a2"}"#));
        assert!(covers(
            &spool,
            r#"{"prompt":"<task-notification>\n<task-id>a2</task-id>"}"#
        ));
        assert!(!covers(
            &spool,
            r#"{"prompt":"what about <task-id>a2</task-id>?"}"#
        ));
    }

    #[test]
    fn a_session_id_cannot_name_another_file() {
        assert_eq!(file_name("../../etc/passwd"), "%2e%2e%2f%2e%2e%2fetc%2fpasswd");
        assert_ne!(file_name("%2e"), file_name("."));
        assert_eq!(file_name("00000000-0000-4000"), "00000000-0000-4000");
    }

    #[test]
    fn old_logs_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let spool = Spool::new(folder.path().to_owned());
        spool.create().unwrap();
        PrivateTurns::of(&spool, "s")
            .unwrap()
            .begin_private(&HookPayload::read("{}").unwrap())
            .unwrap();
        let now = fs::metadata(spool.root().join("private/s"))
            .unwrap()
            .modified()
            .unwrap();
        sweep(&spool, now, Duration::from_secs(60)).unwrap();
        assert!(covers(&spool, "{}"));
        sweep(&spool, now + Duration::from_secs(61), Duration::from_secs(60)).unwrap();
        assert!(!covers(&spool, "{}"));
        PrivateTurns::of(&spool, "s").unwrap().turn_off().unwrap();
        sweep(&spool, now + Duration::from_hours(24), Duration::from_secs(60)).unwrap();
        assert!(covers(&spool, "{}"), "a session stays off the record");
    }
}
