//! Which project or memory a request means.

use std::path::Path;

use backstory_model::{Handle, ProjectFacts};
use backstory_recall::{Query, Searcher};
use backstory_store::{Filter, Project, ProjectError, Scope, Store};

use crate::{Outside, problem::Problem};

/// Where is looked.
#[derive(Debug)]
pub(crate) enum Place {
    /// No project is named.
    Everywhere,
    /// In one project.
    Project(Project),
    /// Nothing is remembered of the folder's project: nothing is found, least of all elsewhere.
    Nowhere,
}

impl Place {
    /// Finds the project that a request names, by any of its names or by a folder.
    pub(crate) fn of(
        store: &Store,
        outside: &Outside,
        named: Option<&str>,
        cwd: Option<&str>,
    ) -> Result<Self, Problem> {
        let folder = match (named, cwd) {
            (Some(named), _) if Path::new(named).is_absolute() => named,
            (Some(named), _) => return Ok(Self::Project(store.project(named)?)),
            (None, None) => return Ok(Self::Everywhere),
            (None, Some(cwd)) if Path::new(cwd).is_absolute() => cwd,
            (None, Some(_)) => return Err(Problem::bad("cwd must be an absolute path")),
        };
        let key = (outside.locate)(Path::new(folder)).key;
        match store.project(&key).or_else(|_| store.project(folder)) {
            Ok(project) => Ok(Self::Project(project)),
            Err(ProjectError::Store(error)) => Err(error.into()),
            Err(_) => Ok(Self::Nowhere),
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

/// Says where something belongs that names its project, known or new.
pub(crate) fn facts(store: &Store, outside: &Outside, named: &str) -> Result<ProjectFacts, Problem> {
    if Path::new(named).is_absolute() {
        return Ok((outside.locate)(Path::new(named)));
    }
    let known = match store.project(named) {
        Ok(project) => project,
        // A program may only know a name: it is a project of its own then, as it is for imported lines.
        Err(ProjectError::Unknown(_)) => {
            return Ok(ProjectFacts {
                key: named.to_owned(),
                name: named.to_owned(),
                root: named.to_owned(),
                branch: None,
                worktree: None,
            });
        }
        Err(error) => return Err(error.into()),
    };
    Ok(ProjectFacts {
        key: known.id,
        name: known.name,
        root: known.root,
        branch: None,
        worktree: None,
    })
}

/// Finds the memory that fits some words best.
pub(crate) fn best(
    store: &Store,
    vectors: &Path,
    scope: Scope<'_>,
    words: &str,
    now_ms: i64,
) -> Result<Option<Handle>, Problem> {
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
pub(crate) fn unknown(handle: Handle) -> Problem {
    Problem::missing(format!("no {} goes by {handle}", handle.kind.name()))
        .hint("search finds memories and names them")
}
