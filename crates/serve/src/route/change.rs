//! Saving, correcting, pinning and forgetting memories.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    routing::{delete, patch, post},
};
use backstory_model::{MemoryKind, ObservationType};
use backstory_store::{Author, MemoryEdit, NewNote};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{JsonBody, JsonResult, list::handle};
use crate::{api::Api, api_types::Detail, problem::ApiError, project_scope, server::Server};

/// A note to save.
#[derive(Debug, Deserialize, JsonSchema)]
struct NewMemory {
    /// The words.
    #[schemars(regex(pattern = r"[^\s]"))]
    text: String,
    /// The folder whose project it is about.
    #[schemars(regex(pattern = "^/"))]
    cwd: Option<String>,
    /// Or the project: its folder name, a path inside it, or its id. Neither, or `*`: it holds everywhere.
    #[schemars(regex(pattern = r"[^\s]"))]
    project: Option<String>,
    /// decision, bugfix, feature, refactor, discovery or change.
    #[serde(rename = "type")]
    #[schemars(regex(pattern = "^(decision|bugfix|feature|refactor|discovery|change)$"))]
    type_name: Option<String>,
    /// Files it is about.
    #[serde(default)]
    files: Vec<String>,
    /// Whether every session of the project starts with it.
    #[serde(default)]
    pin: bool,
}

/// A note that was saved.
#[derive(Debug, Serialize, JsonSchema)]
struct SavedMemory {
    /// What names it.
    id: String,
    /// Whether it was not there before.
    new: bool,
    /// Whether it is pinned.
    pinned: bool,
}

/// What to change; what is left out stays.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct MemoryChange {
    /// Observations: what is true since.
    #[schemars(regex(pattern = r"[^\s]"))]
    title: Option<String>,
    /// Observations: the circumstances.
    subtitle: Option<String>,
    /// Observations: what happened and why.
    narrative: Option<String>,
    /// Notes and prompts: the words.
    #[schemars(regex(pattern = r"[^\s]"))]
    text: Option<String>,
    /// Observations: all facts.
    facts: Option<Vec<String>>,
    /// Observations and notes: the type.
    #[serde(rename = "type")]
    #[schemars(regex(pattern = "^(decision|bugfix|feature|refactor|discovery|change)$"))]
    type_name: Option<String>,
    /// Summaries: what was asked.
    request: Option<String>,
    /// Summaries: what was looked at.
    investigated: Option<String>,
    /// Summaries: what was found out.
    learned: Option<String>,
    /// Summaries: what was done.
    completed: Option<String>,
    /// Summaries: what is left to do.
    #[serde(alias = "nextSteps")]
    next_steps: Option<String>,
    /// Summaries: open problems and anything else.
    notes: Option<String>,
    /// Whether it is kept in sight.
    pinned: Option<bool>,
}

/// A memory that is gone.
#[derive(Debug, Serialize, JsonSchema)]
struct ForgetResult {
    /// What named it.
    forgotten: String,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    api.route(
        "POST",
        "/api/memories",
        |about| {
            about
                .says("Saves a note")
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
                .says("Corrects or pins a memory of any kind")
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
                .says("Forgets a memory of any kind; no byte of it stays")
                .json::<ForgetResult>();
        },
        delete(forget),
    )
}

fn type_named(name: &str) -> Result<ObservationType, ApiError> {
    ObservationType::from_name(name).ok_or_else(|| {
        let known = ObservationType::ALL.map(ObservationType::name).join(", ");
        ApiError::bad(format!("type `{name}`: expected one of {known}"))
    })
}

async fn remember(
    State(server): State<Arc<Server>>,
    JsonBody(new): JsonBody<NewMemory>,
) -> JsonResult<SavedMemory> {
    let type_name = new.type_name.as_deref().map(type_named).transpose()?;
    let state = Arc::clone(&server);
    server
        .stores
        .write(move |store| {
            let outside = &state.outside;
            let text = (outside.wash)(new.text.trim())
                .ok_or_else(|| ApiError::bad("nothing is left of the text once private spans are cut"))?;
            let named = new.project.as_deref().filter(|_| new.cwd.is_none());
            let facts = project_scope::facts(store, outside, named, new.cwd.as_deref())?;
            let saved = store.remember(
                &NewNote {
                    project: facts.as_ref(),
                    text: text.trim(),
                    type_name: type_name.map(ObservationType::name),
                    files: &new.files,
                    pinned: new.pin,
                    author: Author::Person,
                },
                state.now_ms(),
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
        wash: impl Fn(&str) -> Option<String>,
    ) -> Result<MemoryEdit, ApiError> {
        let given = [
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
        for (name, text) in given {
            let Some(text) = text else { continue };
            let washed = wash(text.trim()).unwrap_or_default();
            if washed.is_empty() && (!text.trim().is_empty() || ["title", "text"].contains(&name)) {
                return Err(ApiError::bad(format!("nothing is left of the {name}"))
                    .hint("say it without private spans; nothing was changed"));
            }
            texts.push((name, washed));
        }
        let facts = self
            .facts
            .map(|facts| facts.iter().filter_map(|fact| wash(fact.trim())).collect());
        let edit = MemoryEdit {
            texts,
            facts,
            kind: self.type_name.as_deref().map(type_named).transpose()?,
        };
        let fields = MemoryEdit::fields(kind);
        match edit.changed().iter().find(|name| !fields.contains(name)) {
            Some(wrong) => {
                let hint = match fields.is_empty() {
                    true => "it is what was said, word by word: it can only be forgotten".to_owned(),
                    false => format!("it has {}", fields.join(", ")),
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
            let edit = change.read(handle.kind, |text| (state.outside.wash)(text))?;
            if !store.exists(handle)? {
                return Err(project_scope::unknown(handle));
            }
            if !edit.changed().is_empty() {
                store.edit(handle, &edit, state.now_ms())?;
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
            (state.outside.forget)(store, &[handle]).map_err(ApiError::outside)?;
            Ok(Json(ForgetResult {
                forgotten: handle.to_string(),
            }))
        })
        .await
}
