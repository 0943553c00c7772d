//! Checks the home folder: that it exists, is writable and is private.

use std::{
    fs,
    path::{Path, PathBuf},
};

use backstory_system::{CHOWN_COMMAND, can_write, folder_risk, is_open_to_others};

use super::finding::{CheckContext, Finding};

pub(super) fn check(context: &CheckContext<'_>) -> Vec<Finding> {
    let root = context.engine.home.root();
    if !root.exists() {
        let message = format!("{} does not exist yet: nothing was recorded", root.display());
        return vec![
            Finding::note("home", message)
                .remedy("the first hook creates it; `backstory install` sets up the hooks"),
        ];
    }
    if let Some(risk) = folder_risk(root) {
        let message = format!("{} is not used: {risk}", root.display());
        let remedy = format!("chmod go-w {}, or set BACKSTORY_HOME", root.display());
        return vec![Finding::broken("home", message).remedy(remedy)];
    }
    vec![writable(root), private(root)]
}

fn writable(root: &Path) -> Finding {
    match can_write(root) {
        Ok(()) => Finding::ok("home", root.display().to_string()),
        Err(error) => Finding::broken("home", format!("{} is not writable: {error}", root.display()))
            .remedy(format!("{CHOWN_COMMAND} {}", root.display())),
    }
}

fn private(root: &Path) -> Finding {
    if is_open_to_others(root).is_none() {
        return Finding::note(
            "modes",
            "as private as its parent folder; this system has no file modes",
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

/// Lists files that other users may read. The mode of the folder protects everything inside, so it comes first.
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
