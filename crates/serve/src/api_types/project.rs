//! A project as it is shown.

use backstory_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use super::rfc3339;

/// A code base.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProjectJson {
    /// Identifies it: the normalised remote or a path.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The main working tree when it was first seen.
    pub root: String,
    /// How many sessions worked on it.
    pub sessions: u64,
    /// How many observations there are of it.
    pub observations: u64,
    /// When it was last heard of.
    pub last_event_at: Option<String>,
}

impl From<store::ProjectCard> for ProjectJson {
    fn from(card: store::ProjectCard) -> Self {
        Self {
            id: card.project.id,
            name: card.project.name,
            root: card.project.root,
            sessions: card.sessions,
            observations: card.observations,
            last_event_at: card.last_event_ms.map(rfc3339),
        }
    }
}
