//! What a later step took back: restored files, reversed edits, scratch files that were created and removed.

use super::edits::{Edit, Fate};
use super::paths;

/// A step that takes changes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Undo {
    /// Its position in the turn.
    pub(super) step: usize,
    /// What it does.
    pub(super) what: Undoing,
}

/// How changes are taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Undoing {
    /// Files or folders were removed.
    Removed(Vec<String>),
    /// Files were brought back to what git has; all when empty.
    Restored(Vec<String>),
    /// A stash was brought back: the restore before it does not count.
    Unstashed,
}

const MAX_EDITS: usize = 600;

/// Decides the fate of every edit.
pub(super) fn settle(edits: &mut [Edit], undos: &[Undo]) {
    for (index, undo) in undos.iter().enumerate() {
        match &undo.what {
            Undoing::Removed(arguments) => remove(edits, undo.step, arguments),
            Undoing::Restored(arguments) => {
                let taken_back = arguments.is_empty()
                    && undos[index + 1..]
                        .iter()
                        .any(|later| later.what == Undoing::Unstashed);
                if !taken_back {
                    restore(edits, undo.step, arguments);
                }
            }
            Undoing::Unstashed => {}
        }
    }
    let count = edits.len().min(MAX_EDITS);
    for later in 1..count {
        for earlier in (later.saturating_sub(60)..later).rev() {
            if edits[earlier].path != edits[later].path
                || edits[earlier].fate == Fate::Undone
                || edits[later].fate == Fate::Undone
            {
                continue;
            }
            if reverses(&edits[later], &edits[earlier]) {
                edits[earlier].fate = Fate::Undone;
                edits[later].fate = Fate::Undone;
                break;
            }
            if rewrites(&edits[later], &edits[earlier]) {
                edits[earlier].fate = Fate::Rewritten;
            }
        }
    }
}

/// A file that was created here and removed again never was.
fn remove(edits: &mut [Edit], step: usize, arguments: &[String]) {
    let created: Vec<String> = edits
        .iter()
        .filter(|edit| edit.created && edit.step < step)
        .map(|edit| edit.path.clone())
        .collect();
    for edit in edits.iter_mut().filter(|edit| edit.step < step) {
        if created.contains(&edit.path)
            && arguments
                .iter()
                .any(|argument| paths::means(argument, &edit.path))
        {
            edit.fate = Fate::Undone;
        }
    }
}

fn restore(edits: &mut [Edit], step: usize, arguments: &[String]) {
    for edit in edits.iter_mut().filter(|edit| edit.step < step && !edit.created) {
        if arguments.is_empty()
            || arguments
                .iter()
                .any(|argument| paths::means(argument, &edit.path))
        {
            edit.fate = Fate::Undone;
        }
    }
}

fn lines(of: &[String]) -> Vec<&str> {
    of.iter()
        .map(|line| line.trim())
        .filter(|line| !line.is_empty())
        .collect()
}

fn reverses(later: &Edit, earlier: &Edit) -> bool {
    let (came, went) = (lines(&earlier.added), lines(&earlier.removed));
    !(came.is_empty() && went.is_empty())
        && lines(&later.removed) == came
        && lines(&later.added) == went
        && !earlier.created
}

fn rewrites(later: &Edit, earlier: &Edit) -> bool {
    let (came, gone) = (lines(&earlier.added), lines(&later.removed));
    !came.is_empty() && came.iter().all(|line| gone.contains(line))
}

/// Whether a later edit worked on the place of a small one again: what that one made is not what came of it.
pub(super) fn is_reworked(edit: &Edit, edits: &[&Edit]) -> bool {
    let came = lines(&edit.added);
    edits
        .iter()
        .filter(|later| later.step > edit.step && later.path == edit.path)
        .any(|later| {
            let (gone, around) = (lines(&later.removed), lines(&later.around));
            came.iter()
                .all(|line| gone.contains(line) || around.contains(line))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(step: usize, path: &str, created: bool, removed: &[&str], added: &[&str]) -> Edit {
        let own = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect();
        Edit {
            step,
            path: path.into(),
            id: None,
            agent_id: None,
            created,
            removed: own(removed),
            added: own(added),
            around: Vec::new(),
            fate: Fate::Kept,
        }
    }

    fn fates(mut edits: Vec<Edit>, undos: &[Undo]) -> Vec<Fate> {
        settle(&mut edits, undos);
        edits.iter().map(|edit| edit.fate).collect()
    }

    #[test]
    fn created_and_removed_is_undone_but_an_old_file_in_a_removed_folder_is_not() {
        let edits = vec![
            edit(0, "w/repro.py", true, &[], &["x"]),
            edit(1, "w/src/a.py", false, &["a"], &["b"]),
        ];
        let undo = Undo {
            step: 2,
            what: Undoing::Removed(vec!["w".into()]),
        };
        assert_eq!(fates(edits, &[undo]), [Fate::Undone, Fate::Kept]);
    }

    #[test]
    fn what_git_restored_is_undone_and_later_edits_stand() {
        let edits = vec![
            edit(0, "a.py", false, &["a"], &["b"]),
            edit(2, "a.py", false, &["a"], &["c"]),
        ];
        let undo = Undo {
            step: 1,
            what: Undoing::Restored(vec!["a.py".into()]),
        };
        assert_eq!(fates(edits, &[undo]), [Fate::Undone, Fate::Kept]);
    }

    #[test]
    fn a_stash_that_comes_back_undoes_nothing() {
        let edits = vec![edit(0, "a.py", false, &["a"], &["b"])];
        let undos = [
            Undo {
                step: 1,
                what: Undoing::Restored(vec![]),
            },
            Undo {
                step: 2,
                what: Undoing::Unstashed,
            },
        ];
        assert_eq!(fates(edits, &undos), [Fate::Kept]);
    }

    #[test]
    fn reversed_and_rewritten_edits_are_told_apart() {
        let reversed = vec![
            edit(0, "a", false, &["x"], &["y"]),
            edit(1, "a", false, &["y"], &["x"]),
        ];
        assert_eq!(fates(reversed, &[]), [Fate::Undone, Fate::Undone]);
        let rewritten = vec![
            edit(0, "a", false, &["x"], &["y"]),
            edit(1, "a", false, &["y"], &["z"]),
        ];
        assert_eq!(fates(rewritten, &[]), [Fate::Rewritten, Fate::Kept]);
    }
}
