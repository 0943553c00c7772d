//! Line diff with a few lines of context.

/// Lines of context.
const CONTEXT_LINES: usize = 2;

/// Maximum size of the comparison table; beyond it everything between the first and the last change is shown.
const MAX_COMPARED: usize = 4_000_000;

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
    let start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let end = old[start..]
        .iter()
        .rev()
        .zip(new[start..].iter().rev())
        .take_while(|(a, b)| a == b)
        .count();
    let mut lines: Vec<DiffLine<'t>> = old[..start].iter().map(|line| DiffLine::Same(line)).collect();
    middle(
        &old[start..old.len() - end],
        &new[start..new.len() - end],
        &mut lines,
    );
    lines.extend(old[old.len() - end..].iter().map(|line| DiffLine::Same(line)));
    shorten(&lines)
}

/// Computes the longest common subsequence of lines and emits the removed and added lines between.
fn middle<'t>(old: &[&'t str], new: &[&'t str], lines: &mut Vec<DiffLine<'t>>) {
    if old.len() * new.len() > MAX_COMPARED {
        lines.extend(old.iter().map(|line| DiffLine::Old(line)));
        lines.extend(new.iter().map(|line| DiffLine::New(line)));
        return;
    }
    let width = new.len() + 1;
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i * width + j] = match old[i] == new[j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            lines.push(DiffLine::Same(old[i]));
            (i, j) = (i + 1, j + 1);
        } else if j == new.len()
            || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
        {
            lines.push(DiffLine::Old(old[i]));
            i += 1;
        } else {
            lines.push(DiffLine::New(new[j]));
            j += 1;
        }
    }
}

/// Drops lines that are far from any change.
fn shorten<'t>(lines: &[DiffLine<'t>]) -> Vec<DiffLine<'t>> {
    let changed: Vec<usize> = (0..lines.len())
        .filter(|&at| !matches!(lines[at], DiffLine::Same(_)))
        .collect();
    let mut near = vec![false; lines.len()];
    for at in changed {
        let last = (at + CONTEXT_LINES + 1).min(lines.len());
        near[at.saturating_sub(CONTEXT_LINES)..last].fill(true);
    }
    let mut shown = Vec::new();
    for (line, is_near) in lines.iter().zip(near) {
        match is_near {
            true => shown.push(*line),
            false if shown.last() != Some(&DiffLine::Gap) => shown.push(DiffLine::Gap),
            false => {}
        }
    }
    shown
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
    fn a_large_file_is_not_compared_line_by_line() {
        let old: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
        let new = format!("first\n{}last\n", old.replace("line 10000\n", "other\n"));
        assert!(shown(&old, &new).starts_with("-line 0\n"));
        let few = shown(&old, &old.replace("line 10000\n", "other\n"));
        assert_eq!(few.lines().count(), 8, "{few}");
    }
}
