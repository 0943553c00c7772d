//! Which project or memory a request means.

use std::path::Path;

use backstory_model::{Handle, ProjectIdentity};
use backstory_recall::{Query, Searcher};
use backstory_store::{Filter, Project, ProjectError, Scope, Store};

use crate::{Backend, problem::ApiError};

/// Where is looked.
#[derive(Debug)]
pub(crate) enum ProjectScope {
    /// No project is named.
    Everywhere,
    /// In one project.
    Project(Project),
    /// Nothing is remembered of the folder's project: nothing is found, least of all elsewhere.
    Nowhere,
}

impl ProjectScope {
    /// Finds the project that a request names, by any of its names or by a folder.
    pub(crate) fn of(
        store: &Store,
        outside: &Backend,
        named: Option<&str>,
        cwd: Option<&str>,
    ) -> Result<Self, ApiError> {
        let folder = match ProjectRef::read(named, cwd)? {
            ProjectRef::Everywhere => return Ok(Self::Everywhere),
            ProjectRef::Project(name) => return Ok(Self::Project(store.project(name)?)),
            ProjectRef::Folder(folder) => folder,
        };
        let key = (outside.locate)(folder).key;
        match (store.project_with_id(&key)?, named) {
            (Some(project), _) => Ok(Self::Project(project)),
            // Named by where it once was. Whoever only works there does not mean that.
            (None, Some(root)) => match store.project(root) {
                Ok(project) => Ok(Self::Project(project)),
                Err(ProjectError::Store(error)) => Err(error.into()),
                Err(_) => Ok(Self::Nowhere),
            },
            (None, None) => Ok(Self::Nowhere),
        }
    }

    /// Says where to search; `None` where nothing can be found.
    pub(crate) fn scope(&self) -> Option<Scope<'_>> {
        match self {
            Self::Everywhere => Some(Scope::Everywhere),
            Self::Project(project) => Some(Scope::Project(project)),
            Self::Nowhere => None,
        }
    }
}

/// What a request names.
enum ProjectRef<'r> {
    Everywhere,
    Project(&'r str),
    Folder(&'r Path),
}

impl<'r> ProjectRef<'r> {
    /// Reads it, or says why that cannot be meant.
    fn read(named: Option<&'r str>, cwd: Option<&'r str>) -> Result<Self, ApiError> {
        match (named, cwd) {
            (Some("*"), _) | (None, None) => Ok(Self::Everywhere),
            (Some(named), _) if named.trim().is_empty() => {
                Err(ApiError::bad("project is empty").hint("name one, or `*` for all"))
            }
            (Some(named), _) if Path::new(named).is_absolute() => Ok(Self::Folder(Path::new(named))),
            (Some(named), _) => Ok(Self::Project(named)),
            (None, Some(cwd)) => folder(cwd).map(Self::Folder),
        }
    }
}

/// Reads a folder. The server is nowhere: a path must say where it begins.
pub(crate) fn folder(cwd: &str) -> Result<&Path, ApiError> {
    let folder = Path::new(cwd);
    match folder.is_absolute() {
        true => Ok(folder),
        false => Err(ApiError::bad("cwd must be an absolute path")),
    }
}

/// Says to which project something belongs, known or new; to none when it holds everywhere.
pub(crate) fn facts(
    store: &Store,
    outside: &Backend,
    named: Option<&str>,
    cwd: Option<&str>,
) -> Result<Option<ProjectIdentity>, ApiError> {
    let name = match ProjectRef::read(named, cwd)? {
        ProjectRef::Everywhere => return Ok(None),
        ProjectRef::Folder(folder) => return Ok(Some((outside.locate)(folder))),
        ProjectRef::Project(name) => name,
    };
    let (key, name, root) = match store.project(name) {
        Ok(known) => (known.id, known.name, known.root),
        // A program may only know a name: it is a project of its own then, as it is for imported lines.
        Err(ProjectError::Unknown(_)) => (name.to_owned(), name.to_owned(), name.to_owned()),
        Err(error) => return Err(error.into()),
    };
    Ok(Some(ProjectIdentity {
        key,
        name,
        root,
        branch: None,
        worktree: None,
    }))
}

/// Finds the memory that fits some words best.
pub(crate) fn best(
    store: &Store,
    vectors: &Path,
    scope: Scope<'_>,
    words: &str,
    now_ms: i64,
) -> Result<Option<Handle>, ApiError> {
    let query = Query {
        text: words,
        scope,
        filter: &Filter::default(),
        limit: 1,
        now_ms,
    };
    let hits = Searcher::new(store, vectors)?.search(&query)?;
    Ok(hits.first().map(|hit| hit.card.handle))
}

/// Says that nothing goes by a handle.
pub(crate) fn unknown(handle: Handle) -> ApiError {
    ApiError::missing(format!("no {} goes by {handle}", handle.kind.name()))
        .hint("search finds memories and names them")
}
