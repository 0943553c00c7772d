//! Line diff with a few lines of context.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// Lines of context.
const CONTEXT_LINES: usize = 2;

/// Time after which the comparison is cut short: the diff is then longer than necessary.
const TIMEOUT: Duration = Duration::from_millis(500);

/// Line of a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiffLine<'t> {
    /// In both texts.
    Same(&'t str),
    /// Removed.
    Old(&'t str),
    /// Added.
    New(&'t str),
    /// Omitted lines.
    Gap,
}

/// Compares two texts.
pub(super) fn diff<'t>(old: &'t str, new: &'t str) -> Vec<DiffLine<'t>> {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let diff = TextDiff::configure().timeout(TIMEOUT).diff_slices(&old, &new);
    let mut lines = Vec::new();
    let mut shown = 0;
    for group in diff.grouped_ops(CONTEXT_LINES) {
        if group[0].old_range().start > shown {
            lines.push(DiffLine::Gap);
        }
        for op in &group {
            lines.extend(diff.iter_changes(op).map(|change| match change.tag() {
                ChangeTag::Equal => DiffLine::Same(change.value()),
                ChangeTag::Delete => DiffLine::Old(change.value()),
                ChangeTag::Insert => DiffLine::New(change.value()),
            }));
            shown = op.old_range().end;
        }
    }
    if shown < old.len() {
        lines.push(DiffLine::Gap);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(old: &str, new: &str) -> String {
        diff(old, new)
            .iter()
            .map(|line| match line {
                DiffLine::Same(text) => format!(" {text}\n"),
                DiffLine::Old(text) => format!("-{text}\n"),
                DiffLine::New(text) => format!("+{text}\n"),
                DiffLine::Gap => "…\n".to_owned(),
            })
            .collect()
    }

    #[test]
    fn a_change_is_shown_with_context() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\n";
        let new = "a\nb\nc\nd\nX\nf\ng\nh\nZ\n";
        assert_eq!(shown(old, new), "…\n c\n d\n-e\n+X\n f\n g\n h\n+Z\n");
        assert_eq!(shown("", "a\nb\n"), "+a\n+b\n");
        assert_eq!(shown("a\n", "a\n"), "…\n");
        assert_eq!(shown("x\ny\n", ""), "-x\n-y\n");
    }

    #[test]
    fn only_the_changes_of_a_large_file_are_shown() {
        let old: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let new = format!("first\n{}last\n", old.replace("line 10000\n", "other\n"));
        let few = shown(&old, &new);
        assert_eq!(few.lines().count(), 14, "{few}");
    }
}
