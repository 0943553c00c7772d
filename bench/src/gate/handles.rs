//! Finds handles of memories in injected text.

/// Table and id of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Handle {
    pub(crate) table: &'static str,
    pub(crate) id: i64,
}

/// Returns the handles in a text: `#12` anywhere; `S3`, `P4`, `N5`, `V6` only at the start of a line or in brackets, because
/// sentences may mention S3 and P95.
pub(crate) fn handles(text: &str) -> Vec<Handle> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim_start_matches(|letter: char| letter.is_whitespace() || "-*•·".contains(letter));
        for (index, word) in line.split_whitespace().enumerate() {
            let word = word.trim_end_matches([',', '.', ':', ';']);
            let bare = word.trim_matches(['[', ']', '(', ')', '`', '*']);
            let is_marked = index == 0 || bare.len() + 2 <= word.len();
            let handle = match bare.strip_prefix('#') {
                Some(rest) => read(rest).or_else(|| numbered("observation", rest)),
                None if is_marked => read(bare),
                None => None,
            };
            found.extend(handle);
        }
    }
    found
}

/// Parses a handle that starts with a letter.
fn read(word: &str) -> Option<Handle> {
    let tables = [('S', "summary"), ('P', "turn"), ('N', "note"), ('V', "passage")];
    tables
        .into_iter()
        .find_map(|(letter, table)| numbered(table, word.strip_prefix(letter)?))
}

fn numbered(table: &'static str, digits: &str) -> Option<Handle> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let id = digits.parse().ok().filter(|_| is_number)?;
    Some(Handle { table, id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_words_are_not_handles() {
        let text = "#12 10:04 🔴 Uploads to S3 resume\n- S3 where it stopped, P95 45 s\n  see [V7], `N1` and (#4).\n2 of 3";
        let found: Vec<String> = handles(text)
            .iter()
            .map(|handle| format!("{} {}", handle.table, handle.id))
            .collect();
        assert_eq!(
            found,
            [
                "observation 12",
                "summary 3",
                "passage 7",
                "note 1",
                "observation 4"
            ]
        );
    }
}
