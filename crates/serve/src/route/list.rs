//! Routes that list or show memories, sessions and projects.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use backstory_engine::stats::StatsReport;
use backstory_model::{Handle, MemoryKind};
use backstory_store::{PageCursor, SessionCursor, SessionFilter, Store};
use backstory_text::sha256_hex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::search::WireFilter;
use crate::{
    api::Api,
    api_types::{Detail, HandoverJson, MemoryJson, ProjectJson, SessionJson, TurnJson},
    extract::{JsonBody, JsonResult, QueryParams, handle, limit},
    problem::ApiError,
    project_scope::{self, ProjectScope},
    server::Server,
};

/// Filter and page of a list of memories.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListQuery {
    #[serde(flatten)]
    filter: WireFilter,
    /// Maximum number, from 1 to 100; default 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u16>,
    /// `next_cursor` of the previous page.
    #[schemars(regex(pattern = "^[0-9]{1,15}-[0-4]-[0-9]{1,18}$"))]
    cursor: Option<String>,
}

/// One page of memories, newest first.
#[derive(Debug, Serialize, JsonSchema)]
struct MemoryPage {
    items: Vec<MemoryJson>,
    /// Cursor of the next page; absent on the last.
    next_cursor: Option<String>,
}

/// Filter and page of a list of sessions.
#[derive(Debug, Deserialize, JsonSchema)]
struct SessionQuery {
    /// Only this project: folder name, a path inside it, or id; `*` for all.
    #[schemars(regex(pattern = r"[^\s]"))]
    project: Option<String>,
    /// Only the project of this folder.
    #[schemars(regex(pattern = "^/"))]
    cwd: Option<String>,
    /// Maximum number, from 1 to 100; default 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u16>,
    /// `next_cursor` of the previous page.
    #[schemars(regex(pattern = "^[0-9]{1,15}-[0-9]{1,18}$"))]
    cursor: Option<String>,
}

/// One page of sessions, newest first.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionPage {
    items: Vec<SessionJson>,
    /// Cursor of the next page; absent on the last.
    next_cursor: Option<String>,
}

/// A session with its turns.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionDetail {
    #[serde(flatten)]
    session: SessionJson,
    /// Turns in order.
    turn_list: Vec<TurnJson>,
    /// State of the work at its end.
    handover: Option<HandoverJson>,
}

/// All projects, most recent first.
#[derive(Debug, Serialize, JsonSchema)]
struct ProjectPage {
    items: Vec<ProjectJson>,
}

/// Handles of several memories.
#[derive(Debug, Deserialize, JsonSchema)]
struct Batch {
    /// Handles such as 123 or S12; at most 200.
    #[schemars(length(max = 200))]
    ids: Vec<WireHandle>,
}

/// A handle; observation ids may be numbers.
#[derive(Debug)]
struct WireHandle(String);

impl JsonSchema for WireHandle {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Handle".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"anyOf": [
            {"type": "string", "pattern": "^[SPNV]?[0-9]{1,18}$"},
            {"type": "integer", "minimum": 0, "maximum": 999_999_999_999_999_999_i64},
        ]})
    }
}

impl<'de> Deserialize<'de> for WireHandle {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => Ok(Self(text)),
            Value::Number(number) => Ok(Self(number.to_string())),
            _ => Err(serde::de::Error::custom(
                "expected a handle such as 123 or \"S12\"",
            )),
        }
    }
}

/// The memories found, and the unknown handles.
#[derive(Debug, Serialize, JsonSchema)]
struct BatchAnswer {
    items: Vec<Detail>,
    /// Handles without a memory.
    missing: Vec<String>,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    let list = |kind: MemoryKind| {
        get(
            async move |State(server): State<Arc<Server>>, QueryParams(query): QueryParams<ListQuery>| {
                memories(&server, kind, query).await
            },
        )
    };
    let api = [
        ("/api/observations", MemoryKind::Observation, "List observations"),
        ("/api/summaries", MemoryKind::Summary, "List summaries"),
        ("/api/prompts", MemoryKind::Prompt, "List prompts"),
    ]
    .into_iter()
    .fold(api, |api, (path, kind, summary)| {
        let about = |about: &mut crate::api::RouteSpecBuilder<'_>| {
            about.summary(summary).query::<ListQuery>().json::<MemoryPage>();
        };
        api.route("GET", path, about, list(kind))
    });
    api.route(
        "GET",
        "/api/observations/{id}",
        |about| {
            about
                .summary("Show a memory of any kind with provenance and evidence")
                .json::<Detail>();
        },
        get(one),
    )
    .route(
        "POST",
        "/api/observations/batch",
        |about| {
            about
                .summary("Show several memories")
                .body::<Batch>()
                .json::<BatchAnswer>();
        },
        post(batch),
    )
    .route(
        "GET",
        "/api/sessions",
        |about| {
            about
                .summary("List sessions")
                .query::<SessionQuery>()
                .json::<SessionPage>();
        },
        get(sessions),
    )
    .route(
        "GET",
        "/api/sessions/{id}",
        |about| {
            about
                .summary("Show a session with its turns and memories")
                .json::<SessionDetail>();
        },
        get(session),
    )
    .route(
        "GET",
        "/api/projects",
        |about| {
            about.summary("List projects").json::<ProjectPage>();
        },
        get(projects),
    )
    .route(
        "GET",
        "/api/stats",
        |about| {
            about
                .summary("Memory counts, model usage and cost")
                .json::<Map<String, Value>>();
        },
        get(stats),
    )
}

async fn memories(server: &Arc<Server>, kind: MemoryKind, query: ListQuery) -> JsonResult<MemoryPage> {
    let limit = limit(query.limit.map(u32::from))?;
    let filter = query.filter.read(&server.engine)?;
    let after: Option<PageCursor> = query
        .cursor
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|_| ApiError::bad("invalid cursor"))?;
    let engine = Arc::clone(&server.engine);
    server
        .stores
        .read(move |store| {
            let (named, cwd) = (query.filter.project.as_deref(), query.filter.cwd.as_deref());
            let scope = ProjectScope::of(&engine, store, named, cwd)?;
            let project = match &scope {
                ProjectScope::Everywhere => None,
                ProjectScope::Project(project) => Some(project),
                ProjectScope::Nowhere => {
                    return Ok(Json(MemoryPage {
                        items: Vec::new(),
                        next_cursor: None,
                    }));
                }
            };
            let page = store.page(&[kind], project, &filter, after, limit)?;
            Ok(Json(MemoryPage {
                items: page.memories.into_iter().map(MemoryJson::from).collect(),
                next_cursor: page.next.map(|at| at.to_string()),
            }))
        })
        .await
}

fn detail(store: &Store, handle: Handle) -> Result<Detail, ApiError> {
    let shown = store
        .show(handle)?
        .ok_or_else(|| project_scope::unknown(handle))?;
    Ok(Detail::from(shown))
}

async fn one(
    State(server): State<Arc<Server>>,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let handle = handle(&id)?;
    let detail = server.stores.read(move |store| detail(store, handle)).await?;
    let text = serde_json::to_string(&detail).unwrap_or_default();
    // A hash of the body, so that the tag changes with the content.
    let tag = format!("\"{}\"", &sha256_hex(&text)[..24]);
    let known = headers
        .get(header::IF_NONE_MATCH)
        .is_some_and(|known| known == tag.as_str());
    let etag = (header::ETAG, tag);
    Ok(match known {
        true => (StatusCode::NOT_MODIFIED, [etag]).into_response(),
        false => (
            [etag, (header::CONTENT_TYPE, "application/json".to_owned())],
            text,
        )
            .into_response(),
    })
}

async fn batch(
    State(server): State<Arc<Server>>,
    JsonBody(batch): JsonBody<Batch>,
) -> JsonResult<BatchAnswer> {
    const MAX_IDS: usize = 200;
    if batch.ids.len() > MAX_IDS {
        return Err(ApiError::bad("at most 200 ids at once"));
    }
    let handles: Vec<Handle> = batch
        .ids
        .iter()
        .map(|id| handle(&id.0))
        .collect::<Result<_, _>>()?;
    server
        .stores
        .read(move |store| {
            let mut answer = BatchAnswer {
                items: Vec::new(),
                missing: Vec::new(),
            };
            for handle in handles {
                match store.show(handle)? {
                    Some(shown) => answer.items.push(Detail::from(shown)),
                    None => answer.missing.push(handle.to_string()),
                }
            }
            Ok(Json(answer))
        })
        .await
}

async fn sessions(
    State(server): State<Arc<Server>>,
    QueryParams(query): QueryParams<SessionQuery>,
) -> JsonResult<SessionPage> {
    let limit = limit(query.limit.map(u32::from))?;
    let after = match &query.cursor {
        None => None,
        Some(cursor) => {
            let cursor = cursor.parse::<SessionCursor>();
            Some(cursor.map_err(|_| ApiError::bad("invalid cursor"))?)
        }
    };
    let engine = Arc::clone(&server.engine);
    server
        .stores
        .read(move |store| {
            let (named, cwd) = (query.project.as_deref(), query.cwd.as_deref());
            let sessions = |project| {
                store.sessions(&SessionFilter {
                    project,
                    after,
                    limit: u32::try_from(limit + 1).unwrap_or(u32::MAX),
                })
            };
            let mut found = match &ProjectScope::of(&engine, store, named, cwd)? {
                ProjectScope::Everywhere => sessions(None)?,
                ProjectScope::Project(project) => sessions(Some(project))?,
                ProjectScope::Nowhere => Vec::new(),
            };
            let more = found.len() > limit;
            found.truncate(limit);
            let last = found.last().filter(|_| more);
            let next_cursor = last.map(|last| last.cursor().to_string());
            Ok(Json(SessionPage {
                items: found.into_iter().map(SessionJson::from).collect(),
                next_cursor,
            }))
        })
        .await
}

async fn session(State(server): State<Arc<Server>>, Path(id): Path<String>) -> JsonResult<SessionDetail> {
    server
        .stores
        .read(move |store| {
            let session = store.session(&id)?;
            let mut by_turn = store.memories_by_turn(&session)?;
            let mut turn_list = Vec::new();
            for turn in store.turns(&session)? {
                let mut memories = Vec::new();
                for handle in by_turn.remove(&turn.id).unwrap_or_default() {
                    memories.extend(store.memory(handle)?.map(MemoryJson::from));
                }
                turn_list.push(TurnJson::new(turn, memories));
            }
            let handover = store.handover(session.db_id)?;
            Ok(Json(SessionDetail {
                session: SessionJson::from(session),
                turn_list,
                handover: handover.map(HandoverJson::from),
            }))
        })
        .await
}

async fn projects(State(server): State<Arc<Server>>) -> JsonResult<ProjectPage> {
    server
        .stores
        .read(|store| {
            let cards = store.projects()?;
            Ok(Json(ProjectPage {
                items: cards.into_iter().map(ProjectJson::from).collect(),
            }))
        })
        .await
}

async fn stats(State(server): State<Arc<Server>>) -> JsonResult<Value> {
    let state = Arc::clone(&server);
    server
        .stores
        .read(move |store| {
            let settings = state.engine.settings();
            Ok(Json(
                StatsReport::collect(&state.engine, &settings, store)?.to_json(),
            ))
        })
        .await
}
