//! How much of an answer is said: what fits, and how to get the rest.

use backstory_recall::escape_for_frame;
use backstory_text::tokens;

/// How much may be said.
pub(super) struct AnswerBudget {
    tokens: usize,
}

impl AnswerBudget {
    pub(super) fn new(asked: Option<usize>, usual: usize) -> Self {
        Self {
            tokens: asked.unwrap_or(usual).clamp(100, 20_000),
        }
    }

    /// Says as many entries as fit, and how to get more.
    pub(super) fn fill(
        &self,
        frame: &str,
        entries: impl ExactSizeIterator<Item = String>,
        more: &str,
    ) -> String {
        let all = entries.len();
        let mut room = self.tokens.saturating_sub(tokens(frame) + tokens(more) + 16);
        let mut said: Vec<String> = vec![frame.to_owned()];
        for entry in entries {
            let entry = escape_for_frame(&entry);
            let needed = tokens(&entry) + 1;
            if needed > room {
                break;
            }
            room -= needed;
            said.push(entry.into_owned());
        }
        if said.len() <= all {
            said.push(format!(
                "{} more did not fit; raise `max_tokens`.",
                all + 1 - said.len()
            ));
        }
        said.push(more.to_owned());
        said.join("\n")
    }

    /// Says entries in full; the one that does not fit is cut, those behind it are only named.
    pub(super) fn fill_all(&self, frame: &str, entries: Vec<String>, more: &str) -> String {
        let mut room = self.tokens.saturating_sub(tokens(frame) + tokens(more) + 8);
        let mut said: Vec<String> = vec![frame.to_owned()];
        let mut fits = true;
        for entry in entries {
            let entry = escape_for_frame(&entry);
            let needed = tokens(&entry) + 1;
            if needed <= room {
                room -= needed;
                said.push(entry.into_owned());
            } else {
                fits = false;
                let bytes = room.saturating_sub(2) * 4;
                if bytes >= 80 {
                    let cut = entry.floor_char_boundary(bytes);
                    said.push(format!("{}…", &entry[..cut]));
                }
                room = 0;
            }
        }
        if !fits {
            said.push(more.to_owned());
        }
        said.join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::FRAME;

    #[test]
    fn an_answer_keeps_within_its_budget() {
        let entries = || (0..500).map(|at| format!("#{at} {}", "word ".repeat(at % 40)));
        for budget in [100, 500, 3_000, 20_000] {
            let list: Vec<String> = entries().collect();
            let text =
                AnswerBudget::new(Some(budget), 1).fill(FRAME, list.clone().into_iter(), "More by asking.");
            assert!(tokens(&text) <= budget, "{budget}: {}", tokens(&text));
            let text = AnswerBudget::new(Some(budget), 1).fill_all(FRAME, list, "More by asking.");
            assert!(tokens(&text) <= budget, "{budget}: {}", tokens(&text));
        }
    }
}
