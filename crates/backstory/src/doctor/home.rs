//! The home: is it there, can it be written, and is it private?

use std::{
    fs,
    path::{Path, PathBuf},
};

use backstory_system::{TAKE_OVER, can_write, is_open_to_others};

use super::finding::{CheckContext, Finding};

pub(super) fn check(patient: &CheckContext<'_>) -> Vec<Finding> {
    let root = patient.engine.home.root();
    if !root.exists() {
        let message = format!("{} is not there yet: nothing was ever recorded", root.display());
        return vec![
            Finding::note("home", message)
                .remedy("the first hook makes it; `backstory install` sets hooks up"),
        ];
    }
    vec![writable(root), private(root)]
}

fn writable(root: &Path) -> Finding {
    match can_write(root) {
        Ok(()) => Finding::ok("home", root.display().to_string()),
        Err(error) => Finding::broken("home", format!("{} cannot be written: {error}", root.display()))
            .remedy(format!("{TAKE_OVER} {}", root.display())),
    }
}

fn private(root: &Path) -> Finding {
    if is_open_to_others(root).is_none() {
        return Finding::note(
            "modes",
            "as private as the folder that it is in: modes do not tell here",
        );
    }
    let open = open_to_others(root);
    let Some(first) = open.first() else {
        return Finding::ok("modes", "only you can read it");
    };
    let message = match open.len() {
        1 => format!("others can read {}", first.display()),
        many => format!("others can read {} and {} more", first.display(), many - 1),
    };
    Finding::warning("modes", message).remedy(format!("chmod -R go= {}", root.display()))
}

fn is_open(path: &Path) -> bool {
    is_open_to_others(path) == Some(true)
}

/// Finds what others may read. The folder's own mode keeps everybody out of what is inside, so that comes first.
fn open_to_others(root: &Path) -> Vec<PathBuf> {
    let folders = [
        root.to_owned(),
        root.join("spool"),
        root.join("backups"),
        root.join("logs"),
    ];
    let mut open = Vec::new();
    for folder in folders {
        if is_open(&folder) {
            open.push(folder.clone());
        }
        let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
        let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
        open.extend(files.filter(|path| is_open(path)));
    }
    open
}
