//! A project.

use backstory_store as store;
use schemars::JsonSchema;
use serde::Serialize;

use super::rfc3339;

/// A code base.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Project")]
pub struct ProjectJson {
    /// Identity: normalized remote or path.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Main working tree when the project was first seen.
    pub root: String,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of observations.
    pub observations: u64,
    /// Time of the last event.
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
            last_event_at: card.last_event_at.map(rfc3339),
        }
    }
}
