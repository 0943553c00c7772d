//! What an agent said last, for a host whose hooks do not tell: Copilot CLI writes it into its record of the session.

use std::{
    io::{Read as _, Seek as _, SeekFrom},
    ops::RangeInclusive,
    path::Path,
    time::Duration,
};

use backstory_model::Timestamp;
use backstory_system::open_regular;
use serde_json::Value;

/// How much of the record is looked at.
const TAIL: u64 = 256 << 10;

/// The end of a turn is reported a moment before or after its last words are written.
const SLACK: Duration = Duration::from_secs(2);

/// Finds the last message of the turn with events in this period; a transcript of another format has none.
pub(super) fn find(path: &Path, times: RangeInclusive<Timestamp>) -> Option<String> {
    let (first, last) = times.into_inner();
    let tail = tail(path)?;
    let lines = tail
        .lines()
        .rev()
        .filter(|line| line.starts_with(r#"{"type":"assistant.message""#));
    let messages = lines.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let is_of_turn = |message: &Value| {
        let at = message["timestamp"]
            .as_str()
            .and_then(|at| at.parse::<jiff::Timestamp>().ok());
        at.is_some_and(|at| (first..=last + SLACK).contains(&Timestamp::from_millis(at.as_millisecond())))
    };
    let words = messages
        .filter(is_of_turn)
        .filter_map(|message| Some(message["data"]["content"].as_str()?.trim().to_owned()));
    words.into_iter().find(|words| !words.is_empty())
}

fn tail(path: &Path) -> Option<String> {
    let mut file = open_regular(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL))).ok()?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail).ok()?;
    Some(String::from_utf8_lossy(&tail).into_owned())
}
