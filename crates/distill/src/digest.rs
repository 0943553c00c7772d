//! The digest of a turn: what a model is shown of it. A few thousand tokens in place of all that tools were given and said.
//!
//! Owns what is told, in which order, and what goes when there is too much. Nothing here is trusted: `prompt` fences it.

use std::collections::BTreeSet;

use backstory_text::BYTES_PER_TOKEN;

use crate::{
    TurnEnd, TurnInput, TurnStep,
    builtin::{deeds, is_telling},
};

/// What a model is shown of a turn, and what its tools prove.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// The text, within its bounds.
    pub text: String,
    /// What the tools prove.
    pub evidence: ToolEvidence,
}

/// What tools prove about files, whatever anybody says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolEvidence {
    /// Files that are changed at the end of the turn.
    pub modified: Vec<String>,
    /// Files that were only read.
    pub read: Vec<String>,
    /// Which tool use changed which file: path, and id of the tool use.
    pub edits: Vec<(String, String)>,
}

/// A piece of the digest.
struct Piece {
    step: usize,
    rank: u8,
    text: String,
}

const MAX_PROMPT: usize = 3_000;
const MAX_LAST_MESSAGE: usize = 4_000;
const MAX_PROSE: usize = 700;
const MAX_REPORT: usize = 1_500;

/// Writes the digest of a turn in at most so many tokens. Every piece goes through `clean` before it is cut, so that half a
/// secret is never what is left of one.
pub fn digest(turn: &TurnInput, most_tokens: usize, clean: &dyn Fn(&str) -> String) -> Digest {
    let deeds = deeds(turn);
    let mut pieces = words(turn, clean);
    pieces.extend(deeds.deeds.into_iter().map(|deed| Piece {
        step: deed.step + 1,
        rank: deed.rank,
        text: clean(&deed.text),
    }));
    Digest {
        text: write(chosen(pieces, most_tokens)),
        evidence: ToolEvidence {
            modified: deeds.modified,
            read: deeds.read,
            edits: deeds.edits,
        },
    }
}

/// What was said in the turn.
fn words(turn: &TurnInput, clean: &dyn Fn(&str) -> String) -> Vec<Piece> {
    let end = turn.steps.len() + 2;
    let piece = |step: usize, rank: u8, name: &str, text: &str, most: usize| Piece {
        step,
        rank,
        text: format!("[{name}]\n{}", both_ends(clean(text).trim(), most)),
    };
    let mut pieces = Vec::new();
    if let Some(prompt) = &turn.prompt {
        let name = if turn.machine_made {
            "a program asked"
        } else {
            "the person asked"
        };
        pieces.push(piece(0, 0, name, prompt, MAX_PROMPT));
    }
    for (step, entry) in turn.steps.iter().enumerate() {
        let step = step + 1;
        pieces.extend(match entry {
            TurnStep::Prose(text) if is_filler(text) => None,
            TurnStep::Prose(text) => Some(piece(step, 3, "the agent said", text, MAX_PROSE)),
            TurnStep::SubAgent { report, .. } => {
                Some(piece(step, 2, "a sub-agent reported", report, MAX_REPORT))
            }
            TurnStep::Compaction(text) => Some(piece(step, 4, "the session so far", text, MAX_REPORT)),
            TurnStep::UserMessage(text) => Some(piece(step, 0, "the user added", text, MAX_PROMPT)),
            TurnStep::Tool(_) | TurnStep::Interrupted => None,
        });
    }
    if let Some(last) = &turn.last_message {
        pieces.push(piece(end, 0, "the agent's last words", last, MAX_LAST_MESSAGE));
    }
    let how = match turn.end {
        TurnEnd::Stopped => return pieces,
        TurnEnd::Background => "something that it started was still running",
        TurnEnd::Interrupted => "it was interrupted",
        TurnEnd::Open => "it was not over yet",
    };
    pieces.push(Piece {
        step: end + 1,
        rank: 0,
        text: format!("[how it ended]\n{how}"),
    });
    pieces
}

/// Whether a text says nothing, as far as the rules can tell: they read English.
fn is_filler(text: &str) -> bool {
    let letters = || text.chars().filter(|letter| letter.is_alphabetic());
    let is_latin = letters().filter(char::is_ascii).count() * 2 > letters().count();
    is_latin && !is_telling(text)
}

/// Takes the most telling pieces until there is no more room; the last one that fits in part is cut. What was said before in
/// the same words is not said again.
fn chosen(mut pieces: Vec<Piece>, most_tokens: usize) -> Vec<Piece> {
    /// A rest shorter than this tells nothing.
    const WORTH_CUTTING: usize = 200;
    // Of two pieces that tell as much, the later one knows more.
    pieces.sort_by_key(|piece| (piece.rank, std::cmp::Reverse(piece.step)));
    let mut said = BTreeSet::new();
    pieces.retain(|piece| said.insert(body(&piece.text).to_owned()));
    // Code and program output have about 3.5 bytes per token: an eighth of the estimate is kept free.
    let most = most_tokens * BYTES_PER_TOKEN / 8 * 7;
    let mut used = 0;
    let mut kept = Vec::new();
    for mut piece in pieces {
        let room = most.saturating_sub(used + SEPARATOR.len());
        if piece.text.len() > room {
            if room < WORTH_CUTTING {
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

/// What a piece says, without its heading: the agent's last words are often the last prose of the transcript too.
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

/// Keeps the head and the tail of a text that is too long: what it is about stands first, how it ended last.
fn both_ends(text: &str, most: usize) -> String {
    const CUT: &str = "\n[…]\n";
    if text.len() <= most {
        return text.to_owned();
    }
    let room = most.saturating_sub(CUT.len());
    let head = &text[..text.floor_char_boundary(room * 2 / 3)];
    let tail = &text[text.ceil_char_boundary(text.len() - room / 3)..];
    format!("{head}{CUT}{tail}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ToolOutcome, ToolUse};
    use backstory_text::tokens;

    fn tool(id: &str, name: &str, input: serde_json::Value, outcome: ToolOutcome) -> TurnStep {
        TurnStep::Tool(ToolUse {
            id: Some(id.to_owned()),
            agent_id: None,
            name: name.to_owned(),
            input,
            outcome,
            at_ms: 0,
        })
    }

    fn turn(steps: Vec<TurnStep>) -> TurnInput {
        TurnInput {
            number: 0,
            started_ms: 0,
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
    fn a_digest_tells_what_was_asked_said_changed_and_run() {
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
        let digest = digest(&turn(steps), 6_000, &same);
        insta::assert_snapshot!(digest.text);
        assert_eq!(digest.evidence.modified, ["src/auth.rs"]);
        assert_eq!(digest.evidence.read, ["src/token.rs"]);
        assert_eq!(
            digest.evidence.edits,
            [("src/auth.rs".to_owned(), "t3".to_owned())]
        );
    }

    #[test]
    fn what_tells_most_stays_when_there_is_too_much() {
        let mut steps: Vec<TurnStep> = (0..400)
            .map(|n| {
                TurnStep::Prose(format!(
                    "Step {n}: {}",
                    "words about nothing in particular ".repeat(20)
                ))
            })
            .collect();
        steps.push(edit("t1", "/work/acme/src/auth.rs", "a()", "b()"));
        for most in [500, 1_000, 6_000] {
            let text = digest(&turn(steps.clone()), most, &same).text;
            assert!(tokens(&text) <= most, "{most}: {}", tokens(&text));
            for told in ["mend it", "retries once now", "+b()"] {
                assert!(text.contains(told), "{most}: {told}");
            }
        }
    }

    #[test]
    fn what_the_rules_cannot_read_is_no_filler() {
        let said = "刷新令牌在第一次401时就放弃了。";
        let steps = vec![
            TurnStep::Prose(said.to_owned()),
            TurnStep::Prose("Let me look.".to_owned()),
        ];
        let text = digest(&turn(steps), 6_000, &same).text;
        assert!(text.contains(said) && !text.contains("Let me look"), "{text}");
    }

    #[test]
    fn every_piece_is_cleaned_before_it_is_cut() {
        let secret = format!("start {} SECRET {}", "x".repeat(900), "y".repeat(900));
        let steps = vec![TurnStep::Prose(secret)];
        let text = digest(&turn(steps), 6_000, &|text| text.replace("SECRET", "[redacted]")).text;
        assert!(!text.contains("SECRET"));
    }
}
