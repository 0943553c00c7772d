//! What a new session would be told.

use std::{path::Path, sync::Arc};

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};
use backstory_recall::{ContextRequest, context};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use super::QueryParams;
use crate::{api::Api, problem::ApiError, project_scope::ProjectScope, server::Server};

/// Which project, and how much.
#[derive(Debug, Deserialize, JsonSchema)]
struct ContextQuery {
    /// The project: its folder name, a path inside it, or its id.
    #[schemars(regex(pattern = r"[^\s]"))]
    project: Option<String>,
    /// As if the session were started in this folder.
    cwd: Option<String>,
    /// The most tokens.
    #[schemars(range(min = 50, max = 9000))]
    budget: Option<u16>,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    api.route(
        "GET",
        "/api/context/inject",
        |about| {
            about
                .says("Gives what a new session would be told; nothing when nothing is remembered")
                .query::<ContextQuery>()
                .text("text/markdown");
        },
        get(inject),
    )
}

async fn inject(
    State(server): State<Arc<Server>>,
    QueryParams(query): QueryParams<ContextQuery>,
) -> Result<Response, ApiError> {
    let state = Arc::clone(&server);
    let text = server
        .stores
        .read(move |store| {
            let outside = &state.outside;
            let mut limits = (outside.limits)();
            if let Some(budget) = query.budget {
                if !(50..=9000).contains(&budget) {
                    return Err(ApiError::bad("budget must be from 50 to 9000"));
                }
                limits.tokens = budget.into();
            }
            let (named, cwd) = (query.project.as_deref(), query.cwd.as_deref());
            let project = match (ProjectScope::of(store, outside, named, cwd)?, named.or(cwd)) {
                (ProjectScope::Project(project), _) => project,
                (ProjectScope::Nowhere, Some(folder)) => {
                    store.project_of(&(outside.locate)(Path::new(folder)))?
                }
                _ => return Ok(String::new()),
            };
            let branch = (outside.locate)(Path::new(cwd.unwrap_or(&project.root))).branch;
            let situation = ContextRequest {
                project: &project,
                branch: branch.as_deref(),
                compacted_session: None,
                now: Timestamp::from_millisecond((outside.now_ms)()).unwrap_or(Timestamp::UNIX_EPOCH),
            };
            let told = context(store, &situation, &limits)?;
            Ok(told.map(|told| told.text).unwrap_or_default())
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text).into_response())
}
