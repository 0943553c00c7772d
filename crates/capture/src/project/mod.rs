//! Says which project a folder belongs to, and whether capture is turned off there.
//!
//! Owns the identity rules: the normalised git remote, else the main working tree's root, else the folder itself; every
//! worktree and sub-folder of a repository is the same project. Reads a few files and starts no program: both
//! questions are asked by hooks. Globs from the settings are left to [`crate::exclude`].

mod config;
mod files;
mod remote;
mod repository;

use std::path::{Path, PathBuf};

use backstory_model::ProjectIdentity;

pub use remote::normalise_remote;
use repository::Repository;

/// Turns capture off for the folder it stands in and everything below, up to the next repository.
const IGNORE_MARK: &str = ".backstory-ignore";

/// How far up a repository is looked for; a bound for hostile paths, far above any real tree.
const MAX_LEVELS: usize = 128;

/// What the file system says about a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The project the folder belongs to.
    pub facts: ProjectIdentity,
    /// Whether a `.backstory-ignore` turns capture off, as [`is_ignored`] answers.
    pub ignored: bool,
}

/// Finds the project a folder belongs to. Never fails: the worst answer is the folder itself.
pub fn locate(cwd: &Path) -> Location {
    let start = files::start(cwd);
    let walk = find_repository(&start.existing);
    let facts = match &walk.repository {
        Some(repository) => repository_facts(repository),
        None => folder_facts(&start.folder),
    };
    Location {
        facts,
        ignored: walk.ignored,
    }
}

/// Says whether a `.backstory-ignore` stands in the folder or above it, up to the repository's root, or in the main
/// working tree's root.
///
/// Without a repository the whole way up counts. A repository inside another one, such as a submodule, is a project of
/// its own: marks outside of it do not reach in.
pub fn is_ignored(cwd: &Path) -> bool {
    find_repository(&files::start(cwd).existing).ignored
}

/// Names a project for people: its folder's name, without the `.git` of a bare repository.
///
/// A repository kept in a `.bare` or `.git` folder beside its worktrees is called after the folder around it.
pub fn display_name(root: &Path) -> String {
    let hidden = root
        .file_name()
        .is_some_and(|name| name == ".git" || name == ".bare");
    let root = if hidden {
        root.parent().unwrap_or(root)
    } else {
        root
    };
    let Some(name) = root.file_name() else {
        return files::text(root);
    };
    let name = files::text(Path::new(name));
    match name.strip_suffix(".git") {
        Some(stem) if !stem.is_empty() => stem.to_owned(),
        _ => name,
    }
}

struct Walk {
    repository: Option<Repository>,
    ignored: bool,
}

/// Climbs from an existing, canonical folder to the repository around it.
fn find_repository(existing: &Path) -> Walk {
    let mut ignored = false;
    for folder in existing.ancestors().take(MAX_LEVELS) {
        ignored = ignored || has_ignore_file(folder);
        if let Some(repository) = Repository::at(folder) {
            ignored = ignored || repository.elsewhere().is_some_and(|main| has_ignore_file(&main));
            return Walk {
                repository: Some(repository),
                ignored,
            };
        }
    }
    Walk {
        repository: None,
        ignored,
    }
}

/// Any entry of that name counts, a folder or a dangling link as well: who put it there wants silence.
fn has_ignore_file(folder: &Path) -> bool {
    folder.join(IGNORE_MARK).symlink_metadata().is_ok()
}

fn repository_facts(repository: &Repository) -> ProjectIdentity {
    let root: PathBuf = repository.main_root();
    let remote = repository
        .config()
        .remotes()
        .find_map(|url| normalise_remote(url, &root));
    ProjectIdentity {
        key: remote.unwrap_or_else(|| files::text(&repository.identity())),
        name: display_name(&root),
        branch: repository.branch(),
        worktree: repository.worktree().map(files::text),
        root: files::text(&root),
    }
}

fn folder_facts(folder: &Path) -> ProjectIdentity {
    let root = files::text(folder);
    ProjectIdentity {
        key: root.clone(),
        name: display_name(folder),
        root,
        branch: None,
        worktree: None,
    }
}

#[cfg(test)]
mod anywhere_tests;
#[cfg(test)]
#[cfg(unix)]
mod folder_tests;
#[cfg(test)]
#[cfg(unix)]
mod layout_tests;
#[cfg(test)]
#[cfg(unix)]
mod real_git_tests;
