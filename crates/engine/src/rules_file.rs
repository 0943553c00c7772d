//! Rules files: the context block of a project, for hosts that read it from a file in the project.
//!
//! Written by the worker after distillation, never by a hook. The project can come from strangers: a link below its root must not
//! lead the worker to files elsewhere, so a path with a link is neither written nor removed.

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

use crate::project_claims;
use crate::{atomic_file, engine::Engine, home::Home, settings::ContextSettings};

/// Text by which a rules file of ours is recognized.
const OURS: &str = "<backstory-context>";

/// Updates the rules files in the projects of these sessions.
pub fn refresh(
    engine: &Engine,
    store: &Store,
    sessions: &BTreeSet<String>,
    settings: &ContextSettings,
) -> Result<()> {
    for id in sessions {
        let Ok(session) = store.session(id) else { continue };
        let rules = host::find(&session.host).and_then(|host| host.rules);
        if let (Some(rules), Some(cwd)) = (rules, session.cwd) {
            refresh_one(engine, store, rules, Path::new(&cwd), settings)?;
        }
    }
    Ok(())
}

/// Updates all rules files, after memories were forgotten.
pub fn refresh_all(engine: &Engine, store: &Store, settings: &ContextSettings) -> Result<()> {
    let all: Vec<RulesFile> = host::HOSTS.iter().filter_map(|host| host.rules).collect();
    for path in listed(&engine.home)?.lines() {
        for rules in &all {
            if let Some(root) = path.strip_suffix(rules.path)
                && is_ours(Path::new(root), rules.path)
            {
                refresh_one(engine, store, *rules, Path::new(root), settings)?;
            }
        }
    }
    Ok(())
}

/// Updates the rules file in the project of a folder.
fn refresh_one(
    engine: &Engine,
    store: &Store,
    rules: RulesFile,
    folder: &Path,
    settings: &ContextSettings,
) -> Result<()> {
    let facts = project_claims::locate(engine, folder).facts;
    let is_linked = facts.worktree.is_some();
    let root = PathBuf::from(facts.worktree.unwrap_or(facts.root));
    // A `.git` file can point to any folder, whose exclude list is then not this project's.
    let has_own_git = is_linked || !root.join(".git").exists() || project::origin(&root).is_some();
    if !is_project(engine, &root) || !has_own_git || !is_without_links(&root, rules.path) {
        return Ok(());
    }
    let block = match store.project_with_id(&facts.key)? {
        Some(project) if settings.on_start => {
            let request = ContextRequest {
                project: &project,
                branch: facts.branch.as_deref(),
                compacted_session: None,
                is_withheld: false,
                now: engine.clock.timestamp(),
            };
            context(store, &request, &settings.limits())?
        }
        _ => None,
    };
    match block {
        // A read-only project is no reason for the worker to end.
        Some(block) => write(&engine.home, &root, rules, &block.text).unwrap_or(()),
        None => remove(&root, rules.path),
    }
    Ok(())
}

/// Returns the paths of all rules files that were written, one per line.
fn listed(home: &Home) -> Result<String> {
    let list = home.rules();
    match fs::read_to_string(&list) {
        Ok(paths) => Ok(paths),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error).with_context(|| format!("could not read {}", list.display())),
    }
}

/// Removes all rules files of a host. Returns their number.
pub fn remove_all(home: &Home, rules: RulesFile) -> Result<usize> {
    let paths = listed(home)?;
    if paths.is_empty() {
        return Ok(0);
    }
    let list = home.rules();
    let (gone, kept): (Vec<&str>, Vec<&str>) = paths.lines().partition(|path| path.ends_with(rules.path));
    let roots = gone.iter().filter_map(|path| path.strip_suffix(rules.path));
    let ours: Vec<&Path> = roots
        .map(Path::new)
        .filter(|root| is_ours(root, rules.path))
        .collect();
    let count = ours.len();
    ours.into_iter().for_each(|root| remove(root, rules.path));
    let kept: String = kept.iter().map(|path| format!("{path}\n")).collect();
    atomic_file::write(&list, kept.as_bytes())
        .with_context(|| format!("could not write {}", list.display()))?;
    Ok(count)
}

/// Returns `false` for the user's home folder and the root of the file system, which are not projects.
fn is_project(engine: &Engine, root: &Path) -> bool {
    let user_home = engine.environment.user_home();
    root.is_dir() && root.parent().is_some() && user_home.is_none_or(|home| home != root)
}

/// Returns true if no part of a path below a folder is a link. Parts that do not exist are no links.
fn is_without_links(root: &Path, below: impl AsRef<Path>) -> bool {
    let mut path = root.to_owned();
    below.as_ref().components().all(|part| {
        path.push(part);
        !path.is_symlink()
    })
}

fn is_ours(root: &Path, below: &str) -> bool {
    is_without_links(root, below)
        && fs::read_to_string(root.join(below)).is_ok_and(|text| text.contains(OURS))
}

fn remove(root: &Path, below: &str) {
    if is_ours(root, below) {
        // Read-only or already gone.
        system::remove_file(root.join(below)).ok();
    }
}

fn write(home: &Home, root: &Path, rules: RulesFile, block: &str) -> io::Result<()> {
    let path = &root.join(rules.path);
    let text = format!("{}\n{block}\n", rules.head);
    match fs::read_to_string(path) {
        Ok(old) if old == text || !old.contains(OURS) => return Ok(()),
        Ok(_) => return atomic_file::write_atomically(path, text.as_bytes()),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    // Listed before it is written, so that `uninstall` finds it even after a crash.
    append(&home.rules(), &path.to_string_lossy())?;
    exclude_from_git(root, rules.path)?;
    DirBuilder::new()
        .recursive(true)
        .create(atomic_file::folder_of(path))?;
    atomic_file::write_atomically(path, text.as_bytes())
}

/// Adds the file to the exclude list of this clone: memories are personal and must not be committed.
fn exclude_from_git(root: &Path, path: &str) -> io::Result<()> {
    let Some(folder) = git_folder(root) else {
        return Ok(());
    };
    if !is_without_links(&folder, "info/exclude") {
        return Err(ErrorKind::InvalidInput.into());
    }
    let info = folder.join("info");
    DirBuilder::new().recursive(true).create(&info)?;
    let line = format!("/{path}");
    let exclude = info.join("exclude");
    let is_excluded = fs::read_to_string(&exclude).is_ok_and(|text| text.lines().any(|known| known == line));
    if is_excluded {
        Ok(())
    } else {
        append(&exclude, &line)
    }
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

/// Appends a line to a file, after completing its last line.
fn append(path: &Path, line: &str) -> io::Result<()> {
    let is_open = fs::read(path).is_ok_and(|text| text.last().is_some_and(|last| *last != b'\n'));
    let mut file = OpenOptions::new().create(true).append(true).open(path)?;
    let start = if is_open { "\n" } else { "" };
    file.write_all(format!("{start}{line}\n").as_bytes())
}
