//! Suggests the known name that is most similar to a mistyped one.

/// Returns the most similar of `names`, if any is similar enough.
pub(super) fn nearest<'a>(names: &[&'a str], typed: &str) -> Option<&'a str> {
    let near = names
        .iter()
        .filter_map(|name| edit_similarity(name, typed).map(|far| (far, *name)));
    near.min_by_key(|(far, _)| *far).map(|(_, name)| name)
}

/// Returns the distance between `typed` and `name`; `None` if they are too different.
///
/// Up to a third of the letters may be wrong; a part of the name (`idle` for `idle_minutes`) is the last resort.
pub(super) fn edit_similarity(name: &str, typed: &str) -> Option<usize> {
    let typed = typed.to_lowercase();
    let longest = name.chars().count().max(typed.chars().count());
    // The distance takes time proportional to both lengths; nothing this long is a typo.
    if longest > 64 {
        return None;
    }
    let far = distance(name, &typed);
    if far <= longest.div_ceil(3) {
        return Some(far);
    }
    let part = name.len().min(typed.len()) >= 4 && (name.contains(&typed) || typed.contains(name));
    part.then_some(longest)
}

/// Returns the number of letters to insert, delete or replace to turn one word into the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_single_letters() {
        let table = [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "", 3),
            ("", "abc", 3),
            ("skip_tools", "skip_tool", 1),
            ("skip_tools", "skip-tools", 1),
            ("kitten", "sitting", 3),
            ("größe", "grösse", 2),
        ];
        for (from, to, expected) in table {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn only_similar_names_are_suggested() {
        let names = ["observations", "sessions", "full", "full_field", "idle_minutes"];
        let table = [
            ("observation", Some("observations")),
            ("Sessions", Some("sessions")),
            ("ful", Some("full")),
            ("idle", Some("idle_minutes")),
            ("fullfield", Some("full_field")),
            ("shade", None),
            ("", None),
        ];
        for (typed, expected) in table {
            assert_eq!(nearest(&names, typed), expected, "{typed}");
        }
        assert_eq!(nearest(&names, &"x".repeat(1_000_000)), None);
    }
}
