//! Rules files: what a new session would be told, for hosts that read it from a file in the project.
//!
//! Written by the worker after it has distilled, which is at prompts, at the end of turns and of sessions; hooks are as
//! fast as they are for any host.

use std::{
    collections::BTreeSet,
    fs::{self, DirBuilder, OpenOptions},
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use backstory_capture::{
    host::{self, RulesFile},
    project,
};
use backstory_recall::{ContextRequest, context};
use backstory_store::Store;
use backstory_system as system;

use crate::{atomic_file, clock, environment, home::Home, settings::ContextSettings};

/// What every file of ours holds.
const OURS: &str = "<backstory-context>";

/// Brings the rules files of these sessions' projects up to date.
pub(super) fn refresh(
    home: &Home,
    store: &Store,
    sessions: &BTreeSet<String>,
    settings: &ContextSettings,
) -> Result<()> {
    for id in sessions {
        let Ok(session) = store.session(id) else { continue };
        let rules = host::find(&session.host).and_then(|host| host.rules);
        if let (Some(rules), Some(cwd)) = (rules, session.cwd) {
            refresh_one(home, store, rules, Path::new(&cwd), settings)?;
        }
    }
    Ok(())
}

/// Brings every rules file up to date that there is: something was forgotten.
pub fn refresh_all(home: &Home, store: &Store, settings: &ContextSettings) -> Result<()> {
    let all: Vec<RulesFile> = host::HOSTS.iter().filter_map(|host| host.rules).collect();
    for path in listed(home)?.lines().filter(|path| is_ours(Path::new(path))) {
        for rules in &all {
            if let Some(root) = path.strip_suffix(rules.path) {
                refresh_one(home, store, *rules, Path::new(root), settings)?;
            }
        }
    }
    Ok(())
}

/// Brings the rules file of a folder's project up to date.
fn refresh_one(
    home: &Home,
    store: &Store,
    rules: RulesFile,
    folder: &Path,
    settings: &ContextSettings,
) -> Result<()> {
    let facts = project::locate(folder).facts;
    let root = PathBuf::from(facts.worktree.unwrap_or(facts.root));
    if !is_project(&root) {
        return Ok(());
    }
    let told = match store.project_with_id(&facts.key)? {
        Some(project) if settings.on_start => {
            let situation = ContextRequest {
                project: &project,
                branch: facts.branch.as_deref(),
                compacted_session: None,
                now: clock::timestamp(),
            };
            context(store, &situation, &settings.limits())?
        }
        _ => None,
    };
    let path = root.join(rules.path);
    match told {
        // A project that cannot be written to is no reason for the worker to end.
        Some(told) => write(home, &root, &path, rules, &told.text).unwrap_or(()),
        None => remove(&path),
    }
    Ok(())
}

/// Returns the paths of all rules files that were ever written, one a line.
fn listed(home: &Home) -> Result<String> {
    let list = home.rules();
    match fs::read_to_string(&list) {
        Ok(paths) => Ok(paths),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).with_context(|| format!("could not read {}", list.display())),
    }
}

/// Removes all rules files of a host; returns how many there were.
pub fn remove_all(home: &Home, rules: RulesFile) -> Result<usize> {
    let paths = listed(home)?;
    if paths.is_empty() {
        return Ok(0);
    }
    let list = home.rules();
    let (gone, kept): (Vec<&str>, Vec<&str>) = paths.lines().partition(|path| path.ends_with(rules.path));
    let count = gone.iter().filter(|path| is_ours(Path::new(path))).count();
    gone.iter().for_each(|path| remove(Path::new(path)));
    let kept: String = kept.iter().map(|path| format!("{path}\n")).collect();
    atomic_file::write(&list, kept.as_bytes())
        .with_context(|| format!("could not write {}", list.display()))?;
    Ok(count)
}

/// A folder that a person opened by accident is no project.
fn is_project(root: &Path) -> bool {
    root.is_dir() && root.parent().is_some() && environment::user_home().is_none_or(|home| home != root)
}

fn is_ours(path: &Path) -> bool {
    fs::read_to_string(path).is_ok_and(|text| text.contains(OURS))
}

fn remove(path: &Path) {
    if is_ours(path) {
        // Not ours to remove, or gone: nothing to do about it.
        system::remove_file(path).ok();
    }
}

fn write(home: &Home, root: &Path, path: &Path, rules: RulesFile, told: &str) -> io::Result<()> {
    let text = format!("{}\n{told}\n", rules.head);
    match fs::read_to_string(path) {
        Ok(old) if old == text || !old.contains(OURS) => return Ok(()),
        Ok(_) => return atomic_file::write(path, text.as_bytes()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // Noted before it is there, so that `uninstall` finds it.
    append(&home.rules(), &path.to_string_lossy())?;
    exclude_from_git(root, rules.path)?;
    DirBuilder::new()
        .recursive(true)
        .create(atomic_file::folder_of(path))?;
    atomic_file::write(path, text.as_bytes())
}

/// Memories are one person's: git is told, in this clone only, not to look at the file.
fn exclude_from_git(root: &Path, path: &str) -> io::Result<()> {
    let Some(folder) = git_folder(root) else {
        return Ok(());
    };
    let info = folder.join("info");
    DirBuilder::new().recursive(true).create(&info)?;
    let line = format!("/{path}");
    let exclude = info.join("exclude");
    let is_told = fs::read_to_string(&exclude).is_ok_and(|text| text.lines().any(|known| known == line));
    if is_told { Ok(()) } else { append(&exclude, &line) }
}

/// Finds the git folder that all worktrees of a repository share.
fn git_folder(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    let own = fs::read_to_string(&git).ok()?;
    let own = root.join(own.strip_prefix("gitdir:")?.trim());
    match fs::read_to_string(own.join("commondir")) {
        Ok(shared) => Some(own.join(shared.trim())),
        Err(_) => Some(own),
    }
}

/// Adds a line to a file, on a line of its own.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let is_open = fs::read(path).is_ok_and(|text| text.last().is_some_and(|last| *last != b'\n'));
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let start = if is_open { "\n" } else { "" };
    file.write_all(format!("{start}{line}\n").as_bytes())
}
