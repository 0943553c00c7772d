//! Fits the answers of tools into a token budget.

use backstory_recall::escape_for_frame;
use backstory_text::tokens;

/// Token budget of one answer.
pub(super) struct AnswerBudget {
    tokens: usize,
}

impl AnswerBudget {
    pub(super) fn new(requested: Option<usize>, default: usize) -> Self {
        Self {
            tokens: requested.unwrap_or(default).clamp(100, 20_000),
        }
    }

    /// Renders as many whole entries as fit, then `more`.
    pub(super) fn fill(
        &self,
        frame: &str,
        entries: impl ExactSizeIterator<Item = String>,
        more: &str,
    ) -> String {
        let all = entries.len();
        let mut remaining = self.tokens.saturating_sub(tokens(frame) + tokens(more) + 16);
        let mut parts: Vec<String> = vec![frame.to_owned()];
        for entry in entries {
            let entry = escape_for_frame(&entry);
            let needed = tokens(&entry) + 1;
            if needed > remaining {
                break;
            }
            remaining -= needed;
            parts.push(entry.into_owned());
        }
        if parts.len() <= all {
            parts.push(format!(
                "{} more did not fit; raise `max_tokens`.",
                all + 1 - parts.len()
            ));
        }
        parts.push(more.to_owned());
        parts.join("\n")
    }

    /// Renders entries in full. The first that does not fit is truncated, later ones are dropped, and `more` is added.
    pub(super) fn fill_all(&self, frame: &str, entries: Vec<String>, more: &str) -> String {
        let mut remaining = self.tokens.saturating_sub(tokens(frame) + tokens(more) + 8);
        let mut parts: Vec<String> = vec![frame.to_owned()];
        let mut fits = true;
        for entry in entries {
            let entry = escape_for_frame(&entry);
            let needed = tokens(&entry) + 1;
            if needed <= remaining {
                remaining -= needed;
                parts.push(entry.into_owned());
            } else {
                fits = false;
                let bytes = remaining.saturating_sub(2) * 4;
                if bytes >= 80 {
                    let cut = entry.floor_char_boundary(bytes);
                    parts.push(format!("{}…", &entry[..cut]));
                }
                remaining = 0;
            }
        }
        if !fits {
            parts.push(more.to_owned());
        }
        parts.join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::FRAME;

    #[test]
    fn an_answer_stays_within_its_budget() {
        let entries = || (0..500).map(|at| format!("#{at} {}", "word ".repeat(at % 40)));
        for budget in [100, 500, 3_000, 20_000] {
            let list: Vec<String> = entries().collect();
            let text = AnswerBudget::new(Some(budget), 1).fill(
                FRAME,
                list.clone().into_iter(),
                "Raise `max_tokens`.",
            );
            assert!(tokens(&text) <= budget, "{budget}: {}", tokens(&text));
            let text = AnswerBudget::new(Some(budget), 1).fill_all(FRAME, list, "Raise `max_tokens`.");
            assert!(tokens(&text) <= budget, "{budget}: {}", tokens(&text));
        }
    }
}
