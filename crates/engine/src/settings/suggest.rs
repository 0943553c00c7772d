//! Suggests the known name that is most similar to a mistyped one.

/// Returns the most similar of `names`, if any is similar enough.
pub fn nearest<'a>(names: &[&'a str], typed: &str) -> Option<&'a str> {
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
    let far = strsim::levenshtein(name, &typed);
    if far <= longest.div_ceil(3) {
        return Some(far);
    }
    let part = name.len().min(typed.len()) >= 4 && (name.contains(&typed) || typed.contains(name));
    part.then_some(longest)
}

#[cfg(test)]
mod tests {
    use super::*;

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
