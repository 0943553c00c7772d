//! Writes the digest of a turn: the text that a model gets in place of all tool payloads.
//!
//! The sources are those of the built-in rules, in the same order of authority: words of the user and reports first,
//! narration never. Nothing here is trusted; `prompt` fences it.

use std::collections::BTreeSet;

use backstory_model::{EvidenceItem, EvidenceKind};
use backstory_text::BYTES_PER_TOKEN;

use crate::{
    Action, LoadCall, TurnEnd, TurnInput, TurnLog,
    english::{is_narration, sentences},
    episodes::Timeline,
    evidence::record_each,
    memories::Ending,
};

/// Holds the digest of a turn and the facts that its tool calls prove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// The text, within its token limit.
    pub text: String,
    /// The files, by tool calls.
    pub evidence: ToolEvidence,
}

/// Holds the files of a turn as its tool calls prove them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolEvidence {
    /// Files that are changed at the end of the turn.
    pub modified: Vec<String>,
    /// Files that were only read.
    pub read: Vec<String>,
    /// Path and tool call of each change.
    pub edits: Vec<(String, String)>,
}

/// A piece of the digest.
struct Piece {
    /// The position in the turn.
    step: usize,
    rank: Rank,
    text: String,
}

/// The order in which pieces get room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Message,
    Record,
    Change,
    Prose,
    Background,
    Other,
}

const MAX_MESSAGE: usize = 3_000;
const MAX_REPORT: usize = 4_000;
const MAX_DOCUMENT: usize = 1_500;
const MAX_DIFF: usize = 1_400;
const MAX_FAILURE: usize = 900;
const MAX_PROSE: usize = 700;
const MAX_FILE: usize = 700;
const MAX_COMMAND: usize = 900;
const MAX_ANSWER: usize = 240;

/// Writes the digest of a turn in at most this many tokens. Every piece goes through `clean` before it is cut, so that no
/// half of a secret remains.
pub fn digest(
    turn: &TurnInput,
    load: LoadCall<'_>,
    max_tokens: usize,
    clean: &dyn Fn(&str) -> String,
) -> Digest {
    let mut pieces = Vec::new();
    let piece = |step: usize, rank: Rank, label: &str, text: &str, max: usize| Piece {
        step,
        rank,
        text: format!("[{label}]\n{}", both_ends(clean(text).trim(), max)),
    };
    if let Some(prompt) = &turn.prompt {
        let label = if turn.machine_made {
            "automatic prompt"
        } else {
            "user prompt"
        };
        pieces.push(piece(0, Rank::Message, label, prompt, MAX_MESSAGE));
    }
    let mut position = 0;
    let log = record_each(turn, load, &mut |item| {
        position += 1;
        if let Some((rank, label, max)) = rank_item(&item) {
            pieces.push(piece(position, rank, label, &item.text, max));
        }
    });
    let end = match turn.end {
        TurnEnd::Stopped => None,
        TurnEnd::Background => Some("background work was still running"),
        TurnEnd::Interrupted => Some("interrupted by the user"),
        TurnEnd::Open => Some("not ended yet"),
    };
    pieces.extend(end.map(|end| piece(position + 1, Rank::Message, "end of the turn", end, MAX_ANSWER)));
    Digest {
        text: write(chosen(pieces, max_tokens)),
        evidence: tool_evidence(&log),
    }
}

/// Returns rank, label and length of an item; `None` if it stays out.
fn rank_item(item: &EvidenceItem) -> Option<(Rank, &'static str, usize)> {
    Some(match item.kind {
        EvidenceKind::UserMessage => (Rank::Message, "user message", MAX_MESSAGE),
        EvidenceKind::UserAnswer => (Rank::Message, "user answer", MAX_MESSAGE),
        EvidenceKind::Refusal => (Rank::Message, "refused by the user", MAX_DOCUMENT),
        EvidenceKind::Report => (Rank::Message, "final report", MAX_REPORT),
        EvidenceKind::Commit => (Rank::Record, "commit", MAX_DOCUMENT),
        EvidenceKind::Publication => (Rank::Record, "pull request or issue", MAX_DOCUMENT),
        EvidenceKind::Plan => (Rank::Record, "plan", MAX_DOCUMENT),
        EvidenceKind::Error => (Rank::Change, "failed", MAX_FAILURE),
        EvidenceKind::Edit => (Rank::Change, "edit", MAX_DIFF),
        EvidenceKind::SubagentReport => (Rank::Change, "sub-agent report", MAX_DOCUMENT),
        EvidenceKind::Prose if !is_filler(&item.text) => (Rank::Prose, "agent", MAX_PROSE),
        EvidenceKind::File => (Rank::Prose, "file written", MAX_FILE),
        EvidenceKind::Compaction => (Rank::Background, "compaction summary", MAX_DOCUMENT),
        EvidenceKind::Command => (Rank::Background, "command", MAX_COMMAND),
        EvidenceKind::Tool => (Rank::Other, "tool", MAX_ANSWER),
        EvidenceKind::Prose | EvidenceKind::Lookup | EvidenceKind::Prompt => return None,
    })
}

/// Reports whether every sentence only tells the agent's own steps.
fn is_filler(text: &str) -> bool {
    text.lines().flat_map(sentences).all(is_narration)
}

fn tool_evidence(log: &TurnLog) -> ToolEvidence {
    let logs = std::slice::from_ref(log);
    let timeline = Timeline::new(logs);
    let ending = Ending::of(&timeline);
    let mut evidence = ToolEvidence::default();
    for (at, step) in timeline.steps.iter().enumerate() {
        let id = step.entry().and_then(|entry| entry.tool_use_id.clone());
        for path in ending.files(at..at + 1) {
            if let Some(id) = &id {
                evidence.edits.push((path.to_owned(), id.clone()));
            }
            push_new(&mut evidence.modified, path);
        }
        if let Some(Action::Lookup { path }) = step.action()
            && backstory_model::is_file_path(path)
        {
            push_new(&mut evidence.read, path);
        }
    }
    evidence.read.retain(|path| !evidence.modified.contains(path));
    evidence
}

fn push_new(list: &mut Vec<String>, path: &str) {
    if !list.iter().any(|known| known == path) {
        list.push(path.to_owned());
    }
}

/// Takes pieces by rank until there is no more room; the last one that fits in part is cut. Repeated text is dropped.
fn chosen(mut pieces: Vec<Piece>, max_tokens: usize) -> Vec<Piece> {
    /// A shorter rest is left out.
    const MIN_REST: usize = 200;
    // Of two pieces of the same rank, the later one describes the later state.
    pieces.sort_by_key(|piece| (piece.rank, std::cmp::Reverse(piece.step)));
    let mut said = BTreeSet::new();
    pieces.retain(|piece| said.insert(body(&piece.text).to_owned()));
    // Code and program output have about 3.5 bytes per token: an eighth of the estimate is kept free.
    let max = max_tokens * BYTES_PER_TOKEN / 8 * 7;
    let mut used = 0;
    let mut kept = Vec::new();
    for mut piece in pieces {
        let room = max.saturating_sub(used + SEPARATOR.len());
        if piece.text.len() > room {
            if room < MIN_REST {
                continue;
            }
            piece.text = both_ends(&piece.text, room);
        }
        used += piece.text.len() + SEPARATOR.len();
        kept.push(piece);
    }
    kept.sort_by_key(|piece| piece.step);
    kept
}

/// Returns a piece without its label: the final report is often the last prose of the transcript too.
fn body(text: &str) -> &str {
    match text.strip_prefix('[').and_then(|rest| rest.split_once("]\n")) {
        Some((_, body)) => body,
        None => text,
    }
}

const SEPARATOR: &str = "\n\n";

fn write(pieces: Vec<Piece>) -> String {
    let texts: Vec<String> = pieces.into_iter().map(|piece| piece.text).collect();
    texts.join(SEPARATOR)
}

/// Keeps the head and the tail of a text that is too long: the subject stands first, the outcome last.
fn both_ends(text: &str, max: usize) -> String {
    const CUT: &str = "\n[…]\n";
    if text.len() <= max {
        return text.to_owned();
    }
    let room = max.saturating_sub(CUT.len());
    let head = &text[..text.floor_char_boundary(room * 2 / 3)];
    let tail = &text[text.ceil_char_boundary(text.len() - room / 3)..];
    format!("{head}{CUT}{tail}")
}

#[cfg(test)]
mod tests {
    use backstory_model::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::{ToolOutcome, ToolUse, TurnStep};
    use backstory_text::tokens;

    fn tool(id: &str, name: &str, input: serde_json::Value, outcome: ToolOutcome) -> TurnStep {
        TurnStep::Tool(ToolUse {
            id: Some(id.to_owned()),
            agent_id: None,
            name: name.to_owned(),
            input,
            outcome,
            at: Timestamp::EPOCH,
        })
    }

    fn turn(steps: Vec<TurnStep>) -> TurnInput {
        TurnInput {
            number: 0,
            started_at: Timestamp::EPOCH,
            prompt: Some("Token refresh fails with 401, mend it".to_owned()),
            machine_made: false,
            root: Some("/work/acme".to_owned()),
            branch: None,
            steps,
            last_message: Some("Token refresh retries once now.".to_owned()),
            end: TurnEnd::Stopped,
        }
    }

    fn edit(id: &str, path: &str, old: &str, new: &str) -> TurnStep {
        tool(
            id,
            "Edit",
            json!({"file_path": path, "old_string": old, "new_string": new}),
            ToolOutcome::Answered(
                json!({"filePath": path, "structuredPatch": [{"oldStart": 3, "oldLines": 1, "newStart": 3,
                "newLines": 1, "lines": [format!("-{old}"), format!("+{new}")]}]}),
            ),
        )
    }

    fn same(text: &str) -> String {
        text.to_owned()
    }

    #[test]
    fn a_digest_has_prompt_prose_changes_and_results() {
        let steps = vec![
            TurnStep::Prose(
                "The refresh gives up on the first 401 because `refresh()` never retries.".to_owned(),
            ),
            TurnStep::Prose("Let me look at the tests.".to_owned()),
            tool(
                "t1",
                "Read",
                json!({"file_path": "/work/acme/src/token.rs"}),
                ToolOutcome::Answered(json!({"file": {"content": "the whole file"}})),
            ),
            tool(
                "t2",
                "Bash",
                json!({"command": "cargo test refresh"}),
                ToolOutcome::Failed("Exit code 101\nerror: assertion failed: 401".to_owned()),
            ),
            edit(
                "t3",
                "/work/acme/src/auth.rs",
                "refresh(token)",
                "retry_once(|| refresh(token))",
            ),
            tool(
                "t4",
                "Bash",
                json!({"command": "cargo test refresh"}),
                ToolOutcome::Answered(json!({"stdout": "test result: ok. 3 passed; 0 failed", "stderr": ""})),
            ),
            TurnStep::Prose("Token refresh retries once now.".to_owned()),
        ];
        let digest = digest(&turn(steps), &mut |_| None, 6_000, &same);
        insta::assert_snapshot!(digest.text);
        assert_eq!(digest.evidence.modified, ["src/auth.rs"]);
        assert_eq!(digest.evidence.read, ["src/token.rs"]);
        assert_eq!(
            digest.evidence.edits,
            [("src/auth.rs".to_owned(), "t3".to_owned())]
        );
    }

    #[test]
    fn pieces_of_the_highest_rank_stay() {
        let mut steps: Vec<TurnStep> = (0..400)
            .map(|n| {
                TurnStep::Prose(format!(
                    "Step {n}: {}",
                    "words about nothing in particular ".repeat(20)
                ))
            })
            .collect();
        steps.push(edit("t1", "/work/acme/src/auth.rs", "a()", "b()"));
        for max in [500, 1_000, 6_000] {
            let text = digest(&turn(steps.clone()), &mut |_| None, max, &same).text;
            assert!(tokens(&text) <= max, "{max}: {}", tokens(&text));
            for told in ["mend it", "retries once now", "+b()"] {
                assert!(text.contains(told), "{max}: {told}");
            }
        }
    }

    #[test]
    fn other_languages_are_no_filler() {
        let said = "刷新令牌在第一次401时就放弃了。";
        let steps = vec![
            TurnStep::Prose(said.to_owned()),
            TurnStep::Prose("Let me look.".to_owned()),
        ];
        let text = digest(&turn(steps), &mut |_| None, 6_000, &same).text;
        assert!(text.contains(said) && !text.contains("Let me look"), "{text}");
    }

    #[test]
    fn every_piece_is_cleaned_before_it_is_cut() {
        let secret = format!("start {} SECRET {}", "x".repeat(900), "y".repeat(900));
        let steps = vec![TurnStep::Prose(secret)];
        let text = digest(&turn(steps), &mut |_| None, 6_000, &|text| {
            text.replace("SECRET", "[redacted]")
        })
        .text;
        assert!(!text.contains("SECRET"));
    }
}
