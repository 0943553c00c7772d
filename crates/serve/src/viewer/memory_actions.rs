//! Form actions on a memory: edit, pin, forget, undo forgetting, supersede.

use std::sync::Arc;

use axum::{
    extract::{Form, Path, State},
    http::StatusCode,
    response::IntoResponse,
};
use backstory_model::{MemoryKind, ObservationId};
use backstory_store::{MemoryEdit, SupersedeOutcome};
use serde_json::{Map, Value};

use super::{
    link,
    memory::{Mode, show_page},
    memory_view::MemoryPageView,
    text::single_line,
    undo::schedule_forget,
    view::{Paged, Pairs, View, field, redirect_back},
};
use crate::{
    extract::handle, problem::ApiError, project_scope, route::change::MemoryChange, server::Server,
    stores::run_blocking,
};

pub(super) async fn edit(
    State(server): State<Arc<Server>>,
    view: View,
    Path(id): Path<String>,
    Form(pairs): Form<Pairs>,
) -> Paged {
    let handle = handle(&id)?;
    let (state, form) = (Arc::clone(&server), pairs.clone());
    let edit = run_blocking(move || read_edit(&state, handle.kind, &form)).await;
    let edit = match edit {
        Ok(edit) => edit,
        // Show the form again, with the error.
        Err(problem) => {
            let state = Arc::clone(&server);
            let page = server
                .stores
                .read(move |store| MemoryPageView::read(store, &state, handle))
                .await?;
            let mode = Mode::Edit(Some(&problem));
            return Ok((StatusCode::BAD_REQUEST, show_page(&view, &page, mode)).into_response());
        }
    };
    let now = server.now();
    server
        .stores
        .write(move |store| {
            if !store.exists(handle)? {
                return Err(project_scope::unknown(handle));
            }
            store.edit(handle, &edit, now)?;
            Ok(())
        })
        .await?;
    Ok(redirect_back(&pairs, &link::memory(handle)))
}

fn read_edit(server: &Server, kind: MemoryKind, pairs: &Pairs) -> Result<MemoryEdit, ApiError> {
    let mut change = Map::new();
    for (name, value) in pairs {
        if !MemoryEdit::fields(kind).contains(&name.as_str()) || name == "type" && value.is_empty() {
            continue;
        }
        // Browsers send line breaks as CRLF.
        let value = value.replace("\r\n", "\n");
        let value = match name.as_str() {
            "facts" => value.lines().filter(|fact| !fact.trim().is_empty()).collect(),
            _ => Value::String(value),
        };
        change.insert(name.clone(), value);
    }
    let change: MemoryChange = serde_json::from_value(Value::Object(change))
        .map_err(|error| ApiError::bad(format!("invalid form: {error}")))?;
    change.read(kind, |text| server.engine.sanitize(text))
}

pub(super) async fn pin(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    Form(pairs): Form<Pairs>,
) -> Paged {
    let handle = handle(&id)?;
    let requested = field(&pairs, "pinned").map(|text| text == "true");
    server
        .stores
        .write(move |store| {
            let memory = store
                .memory(handle)?
                .ok_or_else(|| project_scope::unknown(handle))?;
            // Without a value the state is toggled: the keyboard shortcut sends none.
            store.set_pinned(&[handle], requested.unwrap_or(!memory.record.pinned))?;
            Ok(())
        })
        .await?;
    Ok(redirect_back(&pairs, &link::memory(handle)))
}

pub(super) async fn forget(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    Form(pairs): Form<Pairs>,
) -> Paged {
    let handle = handle(&id)?;
    let title = server
        .stores
        .read(move |store| {
            let memory = store
                .memory(handle)?
                .ok_or_else(|| project_scope::unknown(handle))?;
            Ok(single_line(memory.record.headline(), 60))
        })
        .await?;
    schedule_forget(&server, handle, title);
    Ok(redirect_back(&pairs, &link::memory(handle)))
}

pub(super) async fn keep(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    Form(pairs): Form<Pairs>,
) -> Paged {
    let handle = handle(&id)?;
    if !server.pending_deletes.keep(handle) {
        return Err(ApiError::missing(format!("{handle} is already forgotten"))
            .hint("forgetting can be undone for ten seconds")
            .into());
    }
    Ok(redirect_back(&pairs, &link::memory(handle)))
}

pub(super) async fn supersede(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    Form(pairs): Form<Pairs>,
) -> Paged {
    let old = observation(&id)?;
    let by = field(&pairs, "by").map(observation).transpose()?;
    let now = server.now();
    let done = server
        .stores
        .write(move |store| Ok(store.supersede(old, by, now)?))
        .await?;
    let by = by.map_or_else(String::new, |by| format!("#{by}"));
    match done {
        SupersedeOutcome::Done => Ok(redirect_back(&pairs, &link::memory(old.into()))),
        SupersedeOutcome::Missing => Err(ApiError::missing(format!("no observation with id {by}")).into()),
        SupersedeOutcome::OtherProject => {
            Err(ApiError::bad(format!("{by} belongs to another project")).into())
        }
        SupersedeOutcome::Circle => Err(ApiError::bad(format!("{by} is itself superseded by #{old}")).into()),
    }
}

fn observation(text: &str) -> Result<ObservationId, ApiError> {
    let handle = handle(text)?;
    handle.observation().ok_or_else(|| {
        ApiError::bad(format!(
            "{handle} is a {}: only an observation can supersede another",
            handle.kind
        ))
    })
}
