//! Finds the handles of memories in a text that an agent is shown.

/// Where a memory stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Handle {
    pub(super) table: &'static str,
    pub(super) id: i64,
}

/// Returns the handles in a text: `#12` anywhere; `S3`, `P4`, `N5`, `V6` at the start of a line or in brackets, because
/// sentences speak of S3 and P95 too.
pub(super) fn handles(text: &str) -> Vec<Handle> {
    let mut found = Vec::new();
    for line in text.lines() {
        let line = line.trim_start_matches(|letter: char| letter.is_whitespace() || "-*•·".contains(letter));
        for (place, word) in line.split_whitespace().enumerate() {
            let word = word.trim_end_matches([',', '.', ':', ';']);
            let bare = word.trim_matches(['[', ']', '(', ')', '`', '*']);
            let is_marked = place == 0 || bare.len() + 2 <= word.len();
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

/// Reads a handle that begins with a letter.
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
    fn handles_are_told_from_words_that_look_alike() {
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
