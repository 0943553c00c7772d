//! Identifies the project of a folder and finds `.backstory-ignore` files.
//!
//! The key of a project is its normalized git remote, else the root of the main working tree, else the folder itself;
//! all worktrees and sub-folders of a repository belong to one project. Runs in hooks, so it reads a few files and
//! starts no program. `capture.exclude` is handled in [`crate::exclude`].

mod config;
mod files;
mod remote;
mod repository;

use std::path::{Path, PathBuf};

use backstory_model::ProjectIdentity;

pub use remote::normalize_remote;
use repository::Repository;
pub use repository::{CloneTrace, RepositoryOrigin};

/// The file that turns capture off for its folder and everything below, up to the next repository.
const IGNORE_MARK: &str = ".backstory-ignore";

/// The maximum number of parent folders to search: a bound for hostile paths, far above any real tree.
const MAX_LEVELS: usize = 128;

/// The project of a folder, and whether capture is off there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The project that the folder belongs to.
    pub facts: ProjectIdentity,
    /// True if a `.backstory-ignore` turns capture off, see [`is_ignored`].
    pub ignored: bool,
}

/// Finds the project of a folder. Never fails: the fallback is the folder itself.
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

/// Reads how a repository came to be; `None` if the folder is not the root of one, or only points to one elsewhere.
pub fn origin(root: &Path) -> Option<RepositoryOrigin> {
    Repository::at(root)?.origin()
}

/// Returns the path to which links and `..` lead. The part that does not exist stays as it is.
pub fn real_path(path: &Path) -> PathBuf {
    let mut existing = path;
    loop {
        if let Some(real) = files::canonical(existing) {
            let missing = path.strip_prefix(existing).unwrap_or(Path::new(""));
            return real.join(missing);
        }
        let Some(parent) = existing.parent() else {
            return path.to_owned();
        };
        existing = parent;
    }
}

/// Reports whether there is a `.backstory-ignore` in the folder or above it, up to the root of the repository, or in
/// the root of the main working tree.
///
/// Without a repository all parent folders count. A repository inside another one, such as a submodule, is a separate
/// project: files outside of it do not apply.
pub fn is_ignored(cwd: &Path) -> bool {
    find_repository(&files::start(cwd).existing).ignored
}

/// Returns the display name of a project: the name of its folder, without the `.git` of a bare repository.
///
/// A repository in a `.bare` or `.git` folder next to its worktrees is named after the parent folder.
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

/// Searches an existing, canonical folder and its parents for a repository. A bare layout counts only if no working tree
/// contains it.
fn find_repository(existing: &Path) -> Walk {
    let mut ignored = false;
    let mut embedded: Option<(Repository, bool)> = None;
    for folder in existing.ancestors().take(MAX_LEVELS) {
        ignored = ignored || has_ignore_file(folder);
        match Repository::at(folder) {
            Some(repository) if repository.is_embedded() => {
                embedded.get_or_insert((repository, ignored));
            }
            // The bare layout is the store of this repository, such as `.bare` beside a `.git` file.
            Some(repository) if embedded.is_some() && repository.stores(existing) => break,
            Some(repository) => {
                ignored = ignored || repository.elsewhere().is_some_and(|main| has_ignore_file(&main));
                return Walk {
                    repository: Some(repository),
                    ignored,
                };
            }
            None => {}
        }
    }
    match embedded {
        Some((repository, below)) => Walk {
            ignored: below || repository.elsewhere().is_some_and(|main| has_ignore_file(&main)),
            repository: Some(repository),
        },
        None => Walk {
            repository: None,
            ignored,
        },
    }
}

/// Reports whether there is any entry of that name, including a folder or a dangling link: the intent is clear.
fn has_ignore_file(folder: &Path) -> bool {
    folder.join(IGNORE_MARK).symlink_metadata().is_ok()
}

fn repository_facts(repository: &Repository) -> ProjectIdentity {
    let root: PathBuf = repository.main_root();
    let remote = repository
        .config()
        .remotes()
        .find_map(|url| normalize_remote(url, &root));
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
