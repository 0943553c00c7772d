//! Recognises the ways git lays a repository out on disk.
//!
//! Owns the meaning of `.git` folders and files, `commondir`, `HEAD` and bare repositories. Which of the facts makes
//! the project's key is decided a level up.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use backstory_system::path_from_bytes;

use super::config::GitConfig;
use super::files;

/// How many digits of a commit stand for a detached head.
const COMMIT_DIGITS: usize = 12;

/// A git repository, as seen from a folder in it.
#[derive(Debug)]
pub(super) struct Repository {
    kind: Kind,
    /// Where the repository was found, canonical.
    folder: PathBuf,
    /// Holds `HEAD`.
    git_dir: PathBuf,
    /// Holds `config` and everything else that worktrees share.
    common_dir: PathBuf,
    config: OnceCell<GitConfig>,
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    /// The folder holds a `.git` folder.
    Plain,
    /// The folder holds a `.git` file that names a repository elsewhere: a submodule, or `--separate-git-dir`.
    Separate,
    /// The folder is a linked worktree.
    Linked,
    /// The folder is the repository: a bare one, or the inside of a `.git` folder.
    Inside,
}

impl Repository {
    /// Recognises a repository whose root is this folder.
    pub(super) fn at(folder: &Path) -> Option<Self> {
        // Asking for HEAD rather than `.git` tells three cases apart in one call; an empty `.git` folder is none of
        // them, and git looks further up as well.
        match folder.join(".git/HEAD").symlink_metadata() {
            Ok(head) if !head.is_dir() => Some(Self::plain(folder)),
            // Windows does not tell a file on the way from nothing at all.
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

    /// The main working tree's root, or the repository itself when it is bare or does not know.
    pub(super) fn main_root(&self) -> PathBuf {
        match self.kind {
            Kind::Plain => self.folder.clone(),
            Kind::Separate if self.config().bare == Some(true) => self.common_dir.clone(),
            Kind::Separate => self.folder.clone(),
            Kind::Linked | Kind::Inside => self.owner(&self.common_dir),
        }
    }

    /// A path that only this repository has, the same from all of its worktrees.
    pub(super) fn identity(&self) -> PathBuf {
        if self.kind != Kind::Plain {
            return self.owner(&self.common_dir);
        }
        // Worktrees of a repository whose `.git` is a symlink only know the link's target.
        match fs::read_link(&self.git_dir) {
            Ok(_) => self.owner(&files::canonical_or_lexical(&self.git_dir)),
            Err(_) => self.folder.clone(),
        }
    }

    /// The folder the user takes for the repository's, when the climb has not passed it.
    pub(super) fn elsewhere(&self) -> Option<PathBuf> {
        match self.kind {
            Kind::Plain | Kind::Separate => None,
            Kind::Linked | Kind::Inside if is_named(&self.common_dir, ".bare") => {
                self.common_dir.parent().map(Path::to_owned)
            }
            Kind::Linked | Kind::Inside => Some(self.main_root()),
        }
    }

    /// The linked worktree's root; `None` in the main working tree.
    pub(super) fn worktree(&self) -> Option<&Path> {
        (self.kind == Kind::Linked).then_some(self.folder.as_path())
    }

    /// The branch checked out here, or the first digits of the commit.
    pub(super) fn branch(&self) -> Option<String> {
        let head = self.git_dir.join("HEAD");
        match files::read_itself(&head) {
            Ok(text) => branch_in(&text),
            // The oldest repositories link HEAD to the branch's file.
            Err(_) => {
                let target = fs::read_link(&head).ok()?;
                branch_of(target.as_os_str().as_encoded_bytes())
                    .or_else(|| branch_in(&files::read(&head).ok()?))
            }
        }
    }

    /// The config that all worktrees share; empty when it cannot be read.
    pub(super) fn config(&self) -> &GitConfig {
        self.config.get_or_init(|| {
            let read = |name| {
                files::read(&self.common_dir.join(name))
                    .map(|text| GitConfig::parse(&text))
                    .unwrap_or_default()
            };
            let config: GitConfig = read("config");
            // It only moves keys that say where the working tree is, which a `.git` folder does by its place.
            if config.has_worktree_config && !is_named(&self.common_dir, ".git") {
                return config.overridden_by(read("config.worktree"));
            }
            config
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

    /// Follows a `.git` file; `None` when it is not one of git's.
    fn behind_file(folder: &Path) -> Option<Self> {
        let target = target_of_git_file(folder)?;
        if let Some(git_dir) = files::canonical(&target) {
            let common = first_line(&git_dir.join("commondir"));
            return Some(match common {
                Some(common) => {
                    let common_dir = files::canonical_or_lexical(&files::join(&git_dir, &common));
                    Self::new(Kind::Linked, folder, git_dir, common_dir)
                }
                None => Self::new(Kind::Separate, folder, git_dir.clone(), git_dir),
            });
        }
        // The repository has gone, was moved, or is not mounted here. A worktree's pointer still says which it was.
        let gone = files::lexical(&target);
        match gone.parent() {
            Some(worktrees) if is_named(worktrees, "worktrees") => {
                let common_dir = files::canonical_or_lexical(worktrees.parent()?);
                Some(Self::new(Kind::Linked, folder, gone, common_dir))
            }
            _ => Some(Self::plain(folder)),
        }
    }

    /// Recognises the repository's own folder by what git itself looks for.
    fn inside(folder: &Path) -> Option<Self> {
        let head = folder.join("HEAD").symlink_metadata().ok()?;
        let is_repository = !head.is_dir() && folder.join("objects").is_dir() && folder.join("refs").is_dir();
        is_repository.then(|| Self::new(Kind::Inside, folder, folder.to_owned(), folder.to_owned()))
    }

    /// The folder that a repository's folder belongs to, so that no two repositories share one.
    fn owner(&self, common_dir: &Path) -> PathBuf {
        if is_named(common_dir, ".git")
            && let Some(parent) = common_dir.parent()
        {
            return parent.to_owned();
        }
        // Anyone may write any `core.worktree`: it counts when that folder agrees, as a submodule's does.
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

fn target_of_git_file(folder: &Path) -> Option<PathBuf> {
    let text = files::read(&folder.join(".git")).ok()?;
    let target = line(text.strip_prefix(b"gitdir:")?)?;
    Some(files::join(folder, &target))
}

fn first_line(path: &Path) -> Option<PathBuf> {
    line(&files::read(path).ok()?)
}

/// The path that a file holds: git ends it with a line break, and so do editors on Windows.
fn line(text: &[u8]) -> Option<PathBuf> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let end = text.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r'))? + 1;
    let text = &text[..end];
    path_from_bytes(text).filter(|_| !text.contains(&0))
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
    // `.invalid` stands in for the head where it is kept in a reftable.
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
