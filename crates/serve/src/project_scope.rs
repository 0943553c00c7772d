//! Resolves the project or memory that a request refers to.

use std::path::Path;

use backstory_engine::{engine::Engine, project_claims};
use backstory_model::{Handle, ProjectIdentity};
use backstory_recall::{Query, Searcher};
use backstory_store::{Filter, Project, ProjectError, Scope, Store};

use crate::problem::ApiError;

/// The projects that a request covers.
#[derive(Debug)]
pub(crate) enum ProjectScope {
    /// All projects.
    Everywhere,
    /// One project.
    Project(Project),
    /// A project without memories: the result is empty, never that of other projects.
    Nowhere,
}

impl ProjectScope {
    /// Resolves a project by name, path, id or folder.
    pub(crate) fn of(
        engine: &Engine,
        store: &Store,
        project: Option<&str>,
        cwd: Option<&str>,
    ) -> Result<Self, ApiError> {
        let folder = match ProjectRef::read(project, cwd)? {
            ProjectRef::Everywhere => return Ok(Self::Everywhere),
            ProjectRef::Project(name) => return Ok(Self::Project(store.project(name)?)),
            ProjectRef::Folder(folder) => folder,
        };
        let key = project_claims::locate(engine, folder).facts.key;
        match (store.project_with_id(&key)?, project) {
            (Some(project), _) => Ok(Self::Project(project)),
            // An explicit path may be a former root of a project; `cwd` alone never is.
            (None, Some(root)) => match store.project(root) {
                Ok(project) => Ok(Self::Project(project)),
                Err(ProjectError::Store(error)) => Err(error.into()),
                Err(_) => Ok(Self::Nowhere),
            },
            (None, None) => Ok(Self::Nowhere),
        }
    }

    /// Returns the search scope, or `None` if there is nothing to search.
    pub(crate) fn scope(&self) -> Option<Scope<'_>> {
        match self {
            Self::Everywhere => Some(Scope::Everywhere),
            Self::Project(project) => Some(Scope::Project(project)),
            Self::Nowhere => None,
        }
    }
}

/// The unresolved project reference of a request.
enum ProjectRef<'r> {
    Everywhere,
    Project(&'r str),
    Folder(&'r Path),
}

impl<'r> ProjectRef<'r> {
    /// Parses a project reference.
    fn read(project: Option<&'r str>, cwd: Option<&'r str>) -> Result<Self, ApiError> {
        match (project, cwd) {
            (Some("*"), _) | (None, None) => Ok(Self::Everywhere),
            (Some(project), _) if project.trim().is_empty() => {
                Err(ApiError::bad("project is empty").hint("use a name, or `*` for all projects"))
            }
            (Some(project), _) if Path::new(project).is_absolute() => Ok(Self::Folder(Path::new(project))),
            (Some(project), _) => Ok(Self::Project(project)),
            (None, Some(cwd)) => folder(cwd).map(Self::Folder),
        }
    }
}

/// Parses a folder. It must be absolute: the server has no working directory of its own.
pub(crate) fn folder(cwd: &str) -> Result<&Path, ApiError> {
    let folder = Path::new(cwd);
    match folder.is_absolute() {
        true => Ok(folder),
        false => Err(ApiError::bad("cwd must be an absolute path")),
    }
}

/// Returns the identity of a known or new project, or `None` for all projects.
pub(crate) fn identity(
    engine: &Engine,
    store: &Store,
    project: Option<&str>,
    cwd: Option<&str>,
) -> Result<Option<ProjectIdentity>, ApiError> {
    let name = match ProjectRef::read(project, cwd)? {
        ProjectRef::Everywhere => return Ok(None),
        ProjectRef::Folder(folder) => return Ok(Some(project_claims::locate(engine, folder).facts)),
        ProjectRef::Project(name) => name,
    };
    let (key, name, root) = match store.project(name) {
        Ok(known) => (known.id, known.name, known.root),
        // An unknown name creates a project of that name, as for imported lines.
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

/// Returns the best match for a query.
pub(crate) fn best(
    engine: &Engine,
    store: &Store,
    scope: Scope<'_>,
    words: &str,
) -> Result<Option<Handle>, ApiError> {
    let query = Query {
        text: words,
        scope,
        filter: &Filter::default(),
        limit: 1,
        now: engine.clock.timestamp(),
        zone: &engine.zone(),
    };
    let hits = Searcher::new(store, &engine.home.vectors())?.search(&query)?;
    Ok(hits.first().map(|hit| hit.memory.handle))
}

/// Returns the error for an unknown handle.
pub(crate) fn unknown(handle: Handle) -> ApiError {
    ApiError::missing(format!("no {} with id {handle}", handle.kind.name())).hint("use search to find ids")
}
