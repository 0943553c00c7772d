//! Recognizes git's repository layouts.
//!
//! Interprets `.git` folders and files, `commondir`, `HEAD` and bare repositories. The parent module derives the key of
//! the project.
//!
//! Files of a repository can come from strangers: a bare layout can be committed into a working tree, and an archive can hold a
//! `.git` file that points to another repository of the user. The first is not a repository ([`Repository::is_embedded`]); the
//! second does not make its folder a worktree, because the repository does not point back.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use backstory_system::path_from_bytes;

use super::config::GitConfig;
use super::files;

/// The number of digits of a commit that represent a detached head.
const COMMIT_DIGITS: usize = 12;

/// A git repository, as seen from a folder in it.
#[derive(Debug)]
pub(super) struct Repository {
    kind: Kind,
    /// The folder in which the repository was found, canonical.
    folder: PathBuf,
    /// Contains `HEAD`.
    git_dir: PathBuf,
    /// Contains `config` and everything else that worktrees share.
    common_dir: PathBuf,
    config: OnceCell<GitConfig>,
}

/// The traces that the creation of a repository left on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepositoryOrigin {
    /// The folder that git stores the repository in.
    pub git_dir: PathBuf,
    /// The creation of that folder, where the file system records it.
    pub created_at: Option<SystemTime>,
    /// The clone by which the repository began, if its log still has it.
    pub clone: Option<CloneTrace>,
}

/// The first entry of a repository's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloneTrace {
    /// The address that was cloned.
    pub from: String,
    /// The time in the entry, in seconds since 1970.
    pub at_seconds: u64,
    /// The creation of the log file.
    pub log_created_at: SystemTime,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// The folder contains a `.git` folder.
    Plain,
    /// The folder contains a `.git` file that points elsewhere: a submodule or `--separate-git-dir`.
    Separate,
    /// The folder is a linked worktree.
    Linked,
    /// The folder is the repository: a bare one, or the inside of a `.git` folder.
    Inside,
}

impl Repository {
    /// Recognizes a repository whose root is this folder.
    pub(super) fn at(folder: &Path) -> Option<Self> {
        // A lookup of HEAD rather than `.git` distinguishes three cases in one system call. An empty `.git` folder is
        // none of them; git continues with the parent as well.
        match folder.join(".git/HEAD").symlink_metadata() {
            Ok(head) if !head.is_dir() => Some(Self::plain(folder)),
            // Windows reports a file in the path like a missing one.
            Err(error)
                if error.kind() == ErrorKind::NotADirectory
                    || cfg!(windows) && folder.join(".git").is_file() =>
            {
                Self::behind_file(folder).or_else(|| Self::inside(folder))
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied && folder.join(".git").is_dir() => {
                Some(Self::plain(folder))
            }
            _ => Self::inside(folder),
        }
    }

    /// Returns the root of the main working tree, or the repository itself if it is bare or does not record one.
    pub(super) fn main_root(&self) -> PathBuf {
        match self.kind {
            Kind::Plain => self.folder.clone(),
            Kind::Separate
                if self.common_dir.starts_with(&self.folder) && self.config().bare == Some(true) =>
            {
                self.common_dir.clone()
            }
            Kind::Separate => self.folder.clone(),
            Kind::Linked | Kind::Inside => self.owner(&self.common_dir),
        }
    }

    /// Returns a path that is unique to this repository and equal for all of its worktrees.
    pub(super) fn identity(&self) -> PathBuf {
        if self.kind != Kind::Plain {
            return self.owner(&self.common_dir);
        }
        // Worktrees of a repository whose `.git` is a symlink record only the target of the link.
        match fs::read_link(&self.git_dir) {
            Ok(_) => self.owner(&files::canonical_or_lexical(&self.git_dir)),
            Err(_) => self.folder.clone(),
        }
    }

    /// Returns the folder that users regard as the repository, unless the search has visited it already.
    pub(super) fn elsewhere(&self) -> Option<PathBuf> {
        match self.kind {
            Kind::Plain => None,
            // Also for a worktree that was moved without git: what the user turned off stays off.
            Kind::Separate => Some(self.owner(&self.common_dir)),
            Kind::Linked | Kind::Inside if is_named(&self.common_dir, ".bare") => {
                self.common_dir.parent().map(Path::to_owned)
            }
            Kind::Linked | Kind::Inside => Some(self.main_root()),
        }
    }

    /// Returns true if the folder has a bare layout and could be committed content of a working tree around it. Git treats it
    /// the same way with `safe.bareRepository=explicit`; a path below `.git` cannot be committed.
    pub(super) fn is_embedded(&self) -> bool {
        self.kind == Kind::Inside
            && !self
                .folder
                .components()
                .any(|part| part.as_os_str() == OsStr::new(".git"))
    }

    /// Returns true if a folder is part of what git stores for this repository.
    pub(super) fn stores(&self, folder: &Path) -> bool {
        folder.starts_with(&self.git_dir) || folder.starts_with(&self.common_dir)
    }

    /// Returns the root of the linked worktree; `None` in the main working tree.
    pub(super) fn worktree(&self) -> Option<&Path> {
        (self.kind == Kind::Linked).then_some(self.folder.as_path())
    }

    /// Returns the branch that is checked out, or the first digits of the commit.
    pub(super) fn branch(&self) -> Option<String> {
        let head = self.git_dir.join("HEAD");
        match files::read_itself(&head) {
            Ok(text) => branch_in(&text),
            // In the oldest repositories HEAD is a symlink to the branch file.
            Err(_) => {
                let target = fs::read_link(&head).ok()?;
                branch_of(target.as_os_str().as_encoded_bytes())
                    .or_else(|| branch_in(&files::read(&head).ok()?))
            }
        }
    }

    /// Returns the config that all worktrees share; empty if it cannot be read.
    pub(super) fn config(&self) -> &GitConfig {
        self.config.get_or_init(|| {
            let read = |name| {
                files::read(&self.common_dir.join(name))
                    .map(|text| GitConfig::parse(&text))
                    .unwrap_or_default()
            };
            let config: GitConfig = read("config");
            // It only overrides keys about the location of the working tree, which a `.git` folder defines by its own
            // location.
            if config.has_worktree_config && !is_named(&self.common_dir, ".git") {
                return config.overridden_by(read("config.worktree"));
            }
            config
        })
    }

    /// Reads how the repository came to be. Returns `None` if it is stored elsewhere and does not belong to the folder: then its
    /// traces say nothing about the folder.
    pub(super) fn origin(&self) -> Option<RepositoryOrigin> {
        let stored = files::canonical(&self.common_dir)?;
        if !stored.starts_with(&self.folder) && self.owner(&stored) != self.folder {
            return None;
        }
        let created = |path: &Path| path.symlink_metadata().and_then(|entry| entry.created()).ok();
        let log = self.common_dir.join("logs/HEAD");
        let clone = files::read(&log).ok().and_then(|text| {
            let (from, at_seconds) = clone_in(&text)?;
            let log_created_at = created(&log)?;
            Some(CloneTrace {
                from,
                at_seconds,
                log_created_at,
            })
        });
        Some(RepositoryOrigin {
            created_at: created(&self.common_dir),
            git_dir: self.common_dir.clone(),
            clone,
        })
    }

    fn plain(folder: &Path) -> Self {
        let git_dir = folder.join(".git");
        Self::new(Kind::Plain, folder, git_dir.clone(), git_dir)
    }

    fn new(kind: Kind, folder: &Path, git_dir: PathBuf, common_dir: PathBuf) -> Self {
        Self {
            kind,
            folder: folder.to_owned(),
            git_dir,
            common_dir,
            config: OnceCell::new(),
        }
    }

    /// Follows a `.git` file; `None` if it was not written by git.
    fn behind_file(folder: &Path) -> Option<Self> {
        let target = target_of_git_file(folder)?;
        if let Some(git_dir) = files::canonical(&target) {
            let common = first_line(&git_dir.join("commondir"));
            return Some(match common {
                Some(common) => {
                    let common_dir = files::canonical_or_lexical(&files::join(&git_dir, &common));
                    let kind = if points_back(&git_dir, folder) {
                        Kind::Linked
                    } else {
                        Kind::Separate
                    };
                    Self::new(kind, folder, git_dir, common_dir)
                }
                None => Self::new(Kind::Separate, folder, git_dir.clone(), git_dir),
            });
        }
        // The repository was deleted or moved, or is not mounted. The pointer of a worktree still identifies it.
        let gone = files::lexical(&target);
        match gone.parent() {
            Some(worktrees) if is_named(worktrees, "worktrees") => {
                let common_dir = files::canonical_or_lexical(worktrees.parent()?);
                Some(Self::new(Kind::Separate, folder, gone, common_dir))
            }
            _ => Some(Self::plain(folder)),
        }
    }

    /// Recognizes the folder of a repository by the entries that git itself requires.
    fn inside(folder: &Path) -> Option<Self> {
        let head = folder.join("HEAD").symlink_metadata().ok()?;
        let is_repository = !head.is_dir() && folder.join("objects").is_dir() && folder.join("refs").is_dir();
        is_repository.then(|| Self::new(Kind::Inside, folder, folder.to_owned(), folder.to_owned()))
    }

    /// Returns the folder that owns a git folder. No two repositories share one.
    fn owner(&self, common_dir: &Path) -> PathBuf {
        if is_named(common_dir, ".git")
            && let Some(parent) = common_dir.parent()
        {
            return parent.to_owned();
        }
        // `core.worktree` may contain anything: it counts only if that folder points back, as a submodule does.
        let worktree = self
            .config()
            .worktree
            .as_ref()
            .and_then(|path| files::canonical(&files::join(common_dir, path)));
        match worktree {
            Some(worktree) if belongs_to(&worktree, common_dir) => worktree,
            _ => common_dir.to_owned(),
        }
    }
}

fn is_named(path: &Path, name: &str) -> bool {
    path.file_name() == Some(OsStr::new(name))
}

fn belongs_to(worktree: &Path, common_dir: &Path) -> bool {
    target_of_git_file(worktree)
        .and_then(|path| files::canonical(&path))
        .is_some_and(|path| path == common_dir)
}

/// Returns true if the git folder of a worktree names the `.git` file in a folder.
fn points_back(git_dir: &Path, folder: &Path) -> bool {
    let Some(back) = first_line(&git_dir.join("gitdir")) else {
        return false;
    };
    let back = files::join(git_dir, &back);
    back.parent()
        .and_then(files::canonical)
        .is_some_and(|back| back == folder)
}

fn target_of_git_file(folder: &Path) -> Option<PathBuf> {
    let text = files::read(&folder.join(".git")).ok()?;
    let target = line(text.strip_prefix(b"gitdir:")?)?;
    Some(files::join(folder, &target))
}

fn first_line(path: &Path) -> Option<PathBuf> {
    line(&files::read(path).ok()?)
}

/// Parses the path in a pointer file, which ends with a line break, on Windows possibly CRLF.
fn line(text: &[u8]) -> Option<PathBuf> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))? + 1;
    let text = &text[..end];
    path_from_bytes(text).filter(|_| !text.contains(&0))
}

/// Parses the first line of a log: two commits, a name, seconds since 1970, a time zone, and after a tab `clone: from ADDRESS`.
fn clone_in(log: &[u8]) -> Option<(String, u64)> {
    let line = log.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let (head, message) = line.split_once('\t')?;
    let from = message.strip_prefix("clone: from ")?;
    let seconds = head.rsplit(' ').nth(1)?.parse().ok()?;
    Some((from.to_owned(), seconds))
}

fn branch_in(head: &[u8]) -> Option<String> {
    let head = head.trim_ascii();
    if let Some(reference) = head.strip_prefix(b"ref:") {
        return branch_of(reference.trim_ascii_start());
    }
    let is_commit = matches!(head.len(), 40 | 64) && head.iter().all(u8::is_ascii_hexdigit);
    let digits = std::str::from_utf8(&head[..COMMIT_DIGITS.min(head.len())]).ok()?;
    is_commit.then(|| digits.to_ascii_lowercase())
}

fn branch_of(reference: &[u8]) -> Option<String> {
    let name = reference.strip_prefix(b"refs/heads/")?;
    // `.invalid` is a placeholder for a head that is stored in a reftable.
    let is_name = !name.is_empty()
        && name != b".invalid"
        && name.len() < 1024
        && !name.iter().any(u8::is_ascii_control);
    is_name.then(|| String::from_utf8_lossy(name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_names_a_branch_or_a_commit() {
        let commit = "0123456789abcdefABCDEF0123456789abcdef01";
        for (head, wanted) in [
            ("ref: refs/heads/main\n", Some("main")),
            ("ref: refs/heads/x/y\r\n", Some("x/y")),
            ("ref:\trefs/heads/é", Some("é")),
            ("ref: refs/heads/.invalid\n", None),
            ("ref: refs/heads/\n", None),
            ("ref: refs/tags/v1\n", None),
            ("ref: refs/heads/a\nb\n", None),
            (commit, Some("0123456789ab")),
            (&format!("{commit}{}\n", &commit[..24]), Some("0123456789ab")),
            (&commit[1..], None),
            ("", None),
            ("garbage", None),
            ("ABCDEF", None),
        ] {
            assert_eq!(branch_in(head.as_bytes()).as_deref(), wanted, "{head:?}");
        }
        assert_eq!(branch_in(&[0xff; 40]), None);
    }
}
