//! Route that returns the context block of a new session.

use std::{path::Path, sync::Arc};

use axum::{
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use backstory_capture::project;
use backstory_engine::project_claims;
use backstory_recall::{ContextRequest, context};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{api::Api, extract::QueryParams, problem::ApiError, project_scope::ProjectScope, server::Server};

/// Project and token budget of a context block.
#[derive(Debug, Deserialize, JsonSchema)]
struct ContextQuery {
    /// Project: folder name, a path inside it, or id.
    #[schemars(regex(pattern = r"[^\s]"))]
    project: Option<String>,
    /// Working directory of the session.
    cwd: Option<String>,
    /// Maximum tokens.
    #[schemars(range(min = 50, max = 9000))]
    budget: Option<u16>,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    api.route(
        "GET",
        "/api/context/inject",
        |about| {
            about
                .summary("Context block of a new session; empty if there are no memories")
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
            let engine = &state.engine;
            let mut limits = engine.settings().context.limits();
            if let Some(budget) = query.budget {
                if !(50..=9000).contains(&budget) {
                    return Err(ApiError::bad("budget must be from 50 to 9000"));
                }
                limits.tokens = budget.into();
            }
            let (named, cwd) = (query.project.as_deref(), query.cwd.as_deref());
            let scope = match ProjectScope::of(engine, store, named, cwd) {
                // A project without memories: the client asks before the first session.
                Err(problem) if problem.status == StatusCode::NOT_FOUND => return Ok(String::new()),
                scope => scope?,
            };
            let project = match (scope, named.or(cwd)) {
                (ProjectScope::Project(project), _) => project,
                (ProjectScope::Nowhere, Some(folder)) => {
                    store.project_of(&project_claims::locate(engine, Path::new(folder)).facts)?
                }
                _ => return Ok(String::new()),
            };
            let branch = project::locate(Path::new(cwd.unwrap_or(&project.root)))
                .facts
                .branch;
            let request = ContextRequest {
                project: &project,
                branch: branch.as_deref(),
                compacted_session: None,
                is_withheld: false,
                now: engine.clock.timestamp(),
            };
            let block = context(store, &request, &limits)?;
            Ok(block.map(|block| block.text).unwrap_or_default())
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, "text/markdown; charset=utf-8")], text).into_response())
}
