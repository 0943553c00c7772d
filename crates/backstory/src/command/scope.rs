//! The scope of a command: the project of the current folder, another one, or all.

use anyhow::Result;
use backstory_engine::engine::Engine;
use backstory_store::{Project, Scope, Store};

use super::{current_project, project};

/// The options that choose projects, equal in all commands that read several.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct ScopeArguments {
    /// Another project: its folder name, a path inside it, or its id
    #[arg(long, short, value_name = "P")]
    project: Option<String>,
    /// All projects
    #[arg(long, short, conflicts_with = "project")]
    all: bool,
}

/// The projects that a command reads.
#[derive(Debug)]
pub(crate) enum ProjectScope {
    Project(Project),
    Everywhere,
    /// The project of the folder has no memories.
    Nowhere,
}

impl ScopeArguments {
    /// Returns true if neither option was given.
    pub(crate) const fn is_default(&self) -> bool {
        self.project.is_none() && !self.all
    }

    /// Finds the projects; without an option that of the current folder.
    pub(crate) fn find(&self, engine: &Engine, store: &Store) -> Result<ProjectScope> {
        if self.is_default() {
            let here = current_project(engine, store)?;
            return Ok(here.map_or(ProjectScope::Nowhere, ProjectScope::Project));
        }
        let named = self.find_or_all(engine, store)?;
        Ok(named.map_or(ProjectScope::Everywhere, ProjectScope::Project))
    }

    /// Finds the project; `None` for all projects, which is the default of commands that list or export.
    pub(crate) fn find_or_all(&self, engine: &Engine, store: &Store) -> Result<Option<Project>> {
        let named = self.project.as_deref();
        named.map(|named| project(engine, store, named)).transpose()
    }
}

impl ProjectScope {
    /// Returns the scope of a search; `None` if there is nothing to search.
    pub(crate) const fn to_search(&self) -> Option<Scope<'_>> {
        match self {
            Self::Project(project) => Some(Scope::Project(project)),
            Self::Everywhere => Some(Scope::Everywhere),
            Self::Nowhere => None,
        }
    }
}
