//! Routes that save, edit, pin and forget memories.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    routing::{delete, patch, post},
};
use backstory_model::{MemoryKind, NoteAuthor, ObservationType};
use backstory_store::{MemoryEdit, NewNote};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    api::Api,
    api_types::Detail,
    extract::{JsonBody, JsonResult, handle},
    forget::forget_memories,
    problem::ApiError,
    project_scope,
    server::Server,
};

/// A note to save.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewMemory {
    /// Text of the note.
    #[schemars(regex(pattern = r"[^\s]"))]
    text: String,
    /// Absolute path of a folder in the project.
    #[schemars(regex(pattern = "^/"))]
    cwd: Option<String>,
    /// Or the project: folder name, a path inside it, or id. `*` or neither: all projects.
    #[schemars(regex(pattern = r"[^\s]"))]
    project: Option<String>,
    /// Type of the note.
    #[serde(rename = "type")]
    #[schemars(regex(pattern = format!("^({})$", ObservationType::NAMES.join("|"))))]
    type_name: Option<String>,
    /// Related files.
    #[serde(default)]
    files: Vec<String>,
    /// Show the note at the start of every session.
    #[serde(default)]
    pin: bool,
}

/// The saved note.
#[derive(Debug, Serialize, JsonSchema)]
struct SavedMemory {
    /// Handle of the note.
    id: String,
    /// False if the same note already existed.
    new: bool,
    /// True if pinned.
    pinned: bool,
}

/// Fields to change; absent fields stay as they are.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct MemoryChange {
    /// Observations: title.
    #[schemars(regex(pattern = r"[^\s]"))]
    title: Option<String>,
    /// Observations: subtitle.
    subtitle: Option<String>,
    /// Observations: what happened and why.
    narrative: Option<String>,
    /// Notes and prompts: full text.
    #[schemars(regex(pattern = r"[^\s]"))]
    text: Option<String>,
    /// Observations: all facts.
    facts: Option<Vec<String>>,
    /// Observations and notes: the type.
    #[serde(rename = "type")]
    #[schemars(regex(pattern = format!("^({})$", ObservationType::NAMES.join("|"))))]
    type_name: Option<String>,
    /// Summaries: request of the user.
    request: Option<String>,
    /// Summaries: what was investigated.
    investigated: Option<String>,
    /// Summaries: what was learned.
    learned: Option<String>,
    /// Summaries: what was completed.
    completed: Option<String>,
    /// Summaries: open work.
    #[serde(alias = "nextSteps")]
    next_steps: Option<String>,
    /// Summaries: open problems and other notes.
    notes: Option<String>,
    /// Pin or unpin.
    pinned: Option<bool>,
}

/// The forgotten memory.
#[derive(Debug, Serialize, JsonSchema)]
struct ForgetResult {
    /// Handle of the memory.
    forgotten: String,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    api.route(
        "POST",
        "/api/memories",
        |about| {
            about
                .summary("Save a note")
                .body::<NewMemory>()
                .json::<SavedMemory>();
        },
        post(remember),
    )
    .route(
        "PATCH",
        "/api/observations/{id}",
        |about| {
            about
                .summary("Edit or pin a memory of any kind")
                .body::<MemoryChange>()
                .json::<Detail>();
        },
        patch(change),
    )
    .route(
        "DELETE",
        "/api/observations/{id}",
        |about| {
            about
                .summary("Permanently delete a memory of any kind")
                .json::<ForgetResult>();
        },
        delete(forget),
    )
}

fn parse_type(name: &str) -> Result<ObservationType, ApiError> {
    ObservationType::from_name(name).ok_or_else(|| {
        let known = ObservationType::ALL.map(ObservationType::name).join(", ");
        ApiError::bad(format!("type `{name}`: expected one of {known}"))
    })
}

async fn remember(
    State(server): State<Arc<Server>>,
    JsonBody(new): JsonBody<NewMemory>,
) -> JsonResult<SavedMemory> {
    let type_name = new.type_name.as_deref().map(parse_type).transpose()?;
    let state = Arc::clone(&server);
    server
        .stores
        .write(move |store| {
            let engine = &state.engine;
            let text = engine
                .sanitize(new.text.trim())
                .ok_or_else(|| ApiError::bad("the text is empty after removing private spans"))?;
            let named = new.project.as_deref().filter(|_| new.cwd.is_none());
            let identity = project_scope::identity(engine, store, named, new.cwd.as_deref())?;
            let saved = store.remember(
                &NewNote {
                    project: identity.as_ref(),
                    text: text.trim(),
                    kind: type_name,
                    files: &new.files,
                    pinned: new.pin,
                    author: NoteAuthor::User,
                },
                state.now(),
            )?;
            Ok(Json(SavedMemory {
                id: saved.handle.to_string(),
                new: saved.is_new,
                pinned: new.pin,
            }))
        })
        .await
}

impl MemoryChange {
    pub(crate) fn read(
        self,
        kind: MemoryKind,
        sanitize: impl Fn(&str) -> Option<String>,
    ) -> Result<MemoryEdit, ApiError> {
        let values = [
            ("title", self.title),
            ("subtitle", self.subtitle),
            ("narrative", self.narrative),
            ("text", self.text),
            ("request", self.request),
            ("investigated", self.investigated),
            ("learned", self.learned),
            ("completed", self.completed),
            ("next_steps", self.next_steps),
            ("notes", self.notes),
        ];
        let mut texts = Vec::new();
        for (name, text) in values {
            let Some(text) = text else { continue };
            let sanitized = sanitize(text.trim()).unwrap_or_default();
            if sanitized.is_empty() && (!text.trim().is_empty() || ["title", "text"].contains(&name)) {
                return Err(
                    ApiError::bad(format!("the {name} is empty after removing private spans"))
                        .hint("nothing was changed"),
                );
            }
            texts.push((name, sanitized));
        }
        let facts = self
            .facts
            .map(|facts| facts.iter().filter_map(|fact| sanitize(fact.trim())).collect());
        let edit = MemoryEdit {
            texts,
            facts,
            kind: self.type_name.as_deref().map(parse_type).transpose()?,
        };
        let fields = MemoryEdit::fields(kind);
        match edit.changed().iter().find(|name| !fields.contains(name)) {
            Some(wrong) => {
                let hint = match fields.is_empty() {
                    true => "it is verbatim text: it can only be forgotten".to_owned(),
                    false => format!("it has the fields {}", fields.join(", ")),
                };
                Err(ApiError::new(
                    StatusCode::CONFLICT,
                    "no_such_field",
                    format!("a {} has no {wrong}", kind.name()),
                )
                .hint(hint))
            }
            None => Ok(edit),
        }
    }
}

async fn change(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    JsonBody(change): JsonBody<MemoryChange>,
) -> JsonResult<Detail> {
    let handle = handle(&id)?;
    let pinned = change.pinned;
    let state = Arc::clone(&server);
    server
        .stores
        .write(move |store| {
            let edit = change.read(handle.kind, |text| state.engine.sanitize(text))?;
            if !store.exists(handle)? {
                return Err(project_scope::unknown(handle));
            }
            if !edit.changed().is_empty() {
                store.edit(handle, &edit, state.now())?;
            }
            if let Some(pinned) = pinned {
                store.set_pinned(&[handle], pinned)?;
            }
            let shown = store
                .show(handle)?
                .ok_or_else(|| project_scope::unknown(handle))?;
            Ok(Json(Detail::from(shown)))
        })
        .await
}

async fn forget(State(server): State<Arc<Server>>, Path(id): Path<String>) -> JsonResult<ForgetResult> {
    let handle = handle(&id)?;
    let state = Arc::clone(&server);
    server
        .stores
        .write(move |store| {
            if !store.exists(handle)? {
                return Err(project_scope::unknown(handle));
            }
            forget_memories(&state.engine, store, &[handle])?;
            Ok(Json(ForgetResult {
                forgotten: handle.to_string(),
            }))
        })
        .await
}
