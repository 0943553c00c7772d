//! Finds the projects of past sessions, also of those whose folder is gone.
//!
//! A folder that exists is located as a hook would do it. A deleted worktree joins the repository that its path names; any
//! other deleted folder joins the project of a session that ran above it, or on the same branch in a folder beside it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use backstory_capture::project;
use backstory_model::ProjectIdentity;
use backstory_transcript::SessionOrigin;

/// Branch names that many repositories have.
const COMMON_BRANCHES: [&str; 8] = ["", "main", "master", "develop", "dev", "trunk", "HEAD", "staging"];

/// Projects of the folders in which sessions ran.
#[derive(Debug, Default)]
pub struct FolderProjects {
    projects: BTreeMap<PathBuf, ProjectIdentity>,
}

impl FolderProjects {
    /// Locates the folders of sessions. A repository in the user's home folder itself, or above it, is not used as the
    /// project of a deleted folder.
    pub fn of(sessions: &[SessionOrigin], user_home: Option<&Path>) -> Self {
        let mut folders: BTreeMap<PathBuf, Vec<&str>> = BTreeMap::new();
        for session in sessions {
            let cwd = session
                .cwd
                .as_deref()
                .map(Path::new)
                .filter(|cwd| cwd.is_absolute());
            if let Some(cwd) = cwd {
                let branches = folders.entry(tidy(cwd)).or_default();
                branches.extend(session.git_branch.as_deref());
            }
        }
        let mut projects: BTreeMap<PathBuf, ProjectIdentity> = BTreeMap::new();
        let (there, gone): (Vec<_>, Vec<_>) = folders.iter().partition(|(folder, _)| folder.is_dir());
        for (folder, _) in &there {
            projects.insert((*folder).clone(), project::locate(folder).facts);
        }
        // Parents come before their children, so that a folder joins the nearest one above it.
        for (folder, branches) in gone {
            let found = worktree_base(folder)
                .map(|base| located(&base, user_home))
                .or_else(|| Some(located(folder, user_home)).filter(|found| Path::new(&found.root) != folder))
                .or_else(|| above(folder, &folders, &projects))
                .or_else(|| by_branch(folder, branches, &there, &projects))
                .unwrap_or_else(|| folder_identity(folder));
            projects.insert(folder.clone(), found);
        }
        Self { projects }
    }

    /// Returns the project of a folder; of the transcript's own folder if the session has none.
    pub(super) fn project(&self, cwd: Option<&Path>, transcript: &Path) -> ProjectIdentity {
        let folder = cwd.filter(|cwd| cwd.is_absolute()).unwrap_or(transcript);
        let known = self.projects.get(&tidy(folder)).cloned();
        known.unwrap_or_else(|| project::locate(folder).facts)
    }
}

/// Removes a trailing slash and doubled ones.
fn tidy(folder: &Path) -> PathBuf {
    folder.components().collect()
}

/// Locates a folder that may be deleted: the repository around it, unless that is in the user's home folder or above.
fn located(folder: &Path, user_home: Option<&Path>) -> ProjectIdentity {
    let found = project::locate(folder).facts;
    let is_around = Path::new(&found.root) != folder;
    let is_home = user_home.is_some_and(|home| home.starts_with(&found.root));
    if is_around && is_home && !folder.is_dir() {
        folder_identity(folder)
    } else {
        found
    }
}

/// Returns the identity of a folder that is a project of its own.
fn folder_identity(folder: &Path) -> ProjectIdentity {
    let path = folder.to_string_lossy().into_owned();
    ProjectIdentity {
        key: path.clone(),
        name: project::display_name(folder),
        root: path,
        branch: None,
        worktree: None,
    }
}

/// Returns the repository that a worktree's path names: `<repo>/.worktrees/x`, `<repo>/.claude/worktrees/x`,
/// `<repo>-worktrees/x`.
fn worktree_base(folder: &Path) -> Option<PathBuf> {
    let text = folder.to_str()?.replace('\\', "/");
    for inside in ["/.worktrees/", "/.claude/worktrees/"] {
        if let Some((base, rest)) = text.split_once(inside) {
            return (!base.is_empty() && !rest.is_empty()).then(|| PathBuf::from(base));
        }
    }
    let (base, rest) = text.split_once("-worktrees/")?;
    let is_name = base.rsplit('/').next().is_some_and(|name| !name.is_empty());
    (is_name && !rest.is_empty()).then(|| PathBuf::from(base))
}

/// Finds the project of a session that ran in a repository above a folder.
fn above(
    folder: &Path,
    folders: &BTreeMap<PathBuf, Vec<&str>>,
    projects: &BTreeMap<PathBuf, ProjectIdentity>,
) -> Option<ProjectIdentity> {
    let mut parents = folder.ancestors().skip(1);
    parents.find_map(|parent| {
        let branches = folders.get(parent)?;
        // Without a branch it is a folder of projects, not a repository.
        let is_repository = branches.iter().any(|branch| !branch.is_empty());
        projects.get(parent).filter(|_| is_repository).cloned()
    })
}

/// Finds the project of a session on the same branch in a folder beside: worktrees are often named after their repository.
fn by_branch(
    folder: &Path,
    branches: &[&str],
    there: &[(&PathBuf, &Vec<&str>)],
    projects: &BTreeMap<PathBuf, ProjectIdentity>,
) -> Option<ProjectIdentity> {
    let name = folder.file_name()?.to_str()?;
    let is_telling = |branch: &&&str| !COMMON_BRANCHES.contains(*branch);
    let mut found: Option<&ProjectIdentity> = None;
    for (other, their_branches) in there {
        let shares = branches
            .iter()
            .filter(is_telling)
            .any(|branch| their_branches.contains(branch));
        let project = projects.get(*other).filter(|_| shares);
        let is_beside = project.is_some_and(|project| {
            let beside = Path::new(&project.root).parent() == folder.parent();
            beside || name.starts_with(&format!("{}-", project.name))
        });
        if let Some(project) = project.filter(|_| is_beside) {
            // Two projects have such a branch: the choice would be arbitrary.
            if found.is_some_and(|known| known.key != project.key) {
                return None;
            }
            found = Some(project);
        }
    }
    found.cloned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn session(cwd: &Path, branch: &str) -> SessionOrigin {
        SessionOrigin {
            cwd: Some(cwd.to_string_lossy().into_owned()),
            git_branch: Some(branch.to_owned()),
            last_at: None,
        }
    }

    fn repository(path: &Path) {
        fs::create_dir_all(path.join(".git/refs")).unwrap();
        fs::create_dir_all(path.join(".git/objects")).unwrap();
        fs::File::create(path.join(".git/HEAD")).unwrap();
    }

    #[test]
    fn deleted_worktrees_join_the_repository_that_their_path_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let app = root.join("app");
        repository(&app);
        let wanted = project::locate(&app).facts.key;
        for gone in [
            "app/.worktrees/x",
            "app/.worktrees/alex/y",
            "app/.claude/worktrees/z",
            "app-worktrees/q",
            "app/sub/deep",
        ] {
            let gone = root.join(gone);
            let folders = FolderProjects::of(&[session(&gone, "feat/x")], None);
            assert_eq!(
                folders.project(Some(&gone), &root).key,
                wanted,
                "{}",
                gone.display()
            );
        }
    }

    #[test]
    fn sessions_of_a_deleted_repository_stay_together() {
        let root = Path::new("/nowhere/work/app");
        let folders = ["", ".worktrees/1", ".claude/worktrees/a/src", "cmd/tool"].map(|sub| root.join(sub));
        let sessions: Vec<_> = folders.iter().map(|folder| session(folder, "main")).collect();
        let projects = FolderProjects::of(&sessions, None);
        let keys: Vec<_> = folders
            .iter()
            .map(|folder| projects.project(Some(folder), root).key)
            .collect();
        assert!(keys.iter().all(|key| key == "/nowhere/work/app"), "{keys:?}");
        let beside = Path::new("/nowhere/work/other");
        assert_eq!(projects.project(Some(beside), root).key, "/nowhere/work/other");
    }

    #[test]
    fn a_sibling_folder_joins_the_only_project_with_its_branch() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (app, gone) = (root.join("app"), root.join("app-login"));
        repository(&app);
        let key = |branch: &str, other: &str| {
            let folders = FolderProjects::of(&[session(&app, other), session(&gone, branch)], None);
            folders.project(Some(&gone), &root).key
        };
        let wanted = project::locate(&app).facts.key;
        assert_eq!(key("feat/login", "feat/login"), wanted);
        assert_ne!(key("feat/login", "feat/other"), wanted);
        assert_ne!(key("main", "main"), wanted);
    }

    #[test]
    fn deleted_folders_do_not_join_a_repository_in_the_home_folder() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().canonicalize().unwrap();
        repository(&home);
        let gone = home.join("old-project");
        let key = |user_home| {
            FolderProjects::of(&[session(&gone, "main")], user_home)
                .project(Some(&gone), &home)
                .key
        };
        assert_eq!(key(Some(home.as_path())), gone.to_string_lossy());
        assert_eq!(key(None), project::locate(&home).facts.key);
    }
}
