//! Routes for search and timeline.

use std::{sync::Arc, time::Instant};

use axum::{Json, extract::State, routing::get};
use backstory_engine::engine::Engine;
use backstory_model::{Handle, MemoryKind, ObservationType, Timestamp};
use backstory_recall::{Query, Searcher};
use backstory_store::{Filter, Scope, TimelineSpan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    api::Api,
    api_types::{SearchHitJson, TimelineEntryJson},
    extract::{JsonResult, QueryParams, limit},
    problem::ApiError,
    project_scope::{self, ProjectScope},
    server::Server,
};

/// Pattern of times: an age, a date, an RFC 3339 time or words.
const TIME_PATTERN: &str = "^([0-9]{1,4}[hdw]|(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?|today|yesterday|(this|last) (week|month|year)|(last )?(mon|tues|wednes|thurs|fri|satur|sun)day|[1-9][0-9]? (day|week|month)s ago)$";

/// Query, filter and page of a search.
#[derive(Debug, Deserialize, JsonSchema)]
struct SearchQuery {
    /// Any text, also a question about a time or the state of work; empty for the newest memories that match the filter.
    #[serde(default, alias = "q", alias = "words")]
    query: String,
    #[serde(flatten)]
    filter: WireFilter,
    /// Maximum number, from 1 to 100; default 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u16>,
    /// `next_cursor` of the previous page.
    #[schemars(regex(pattern = "^[0-9]{1,3}$"))]
    cursor: Option<String>,
}

/// Filter of memories.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct WireFilter {
    /// Only this project: folder name, a path inside it, or id; `*` for all.
    #[schemars(regex(pattern = r"[^\s]"))]
    pub(crate) project: Option<String>,
    /// Only the project of this folder.
    #[schemars(regex(pattern = "^/"))]
    pub(super) cwd: Option<String>,
    /// Only this kind: observation, summary, prompt, note or passage.
    #[schemars(regex(pattern = "^(observation|summary|prompt|note|passage)$"))]
    kind: Option<String>,
    /// Only this type of observation or note.
    #[serde(rename = "type", alias = "obs_type", alias = "obsType")]
    #[schemars(regex(pattern = format!("^({})$", ObservationType::NAMES.join("|"))))]
    type_name: Option<String>,
    /// Only with this concept.
    concept: Option<String>,
    /// Only about this file: a path or the end of one.
    file: Option<String>,
    /// Only the session whose id starts with this.
    #[serde(alias = "session_id", alias = "sessionId", alias = "claudeSessionId")]
    session: Option<String>,
    /// Earliest time: an RFC 3339 time, a date, an age such as 7d, or words such as yesterday.
    #[serde(alias = "date_start", alias = "dateStart")]
    #[schemars(regex(pattern = TIME_PATTERN))]
    since: Option<String>,
    /// Latest time.
    #[serde(alias = "date_end", alias = "dateEnd")]
    #[schemars(regex(pattern = TIME_PATTERN))]
    until: Option<String>,
}

impl WireFilter {
    /// Parses the filter.
    pub(crate) fn read(&self, engine: &Engine) -> Result<Filter, ApiError> {
        let invalid = |field: &str, value: &str, expected: &str| {
            ApiError::bad(format!("{field} `{value}`: expected {expected}"))
        };
        let kinds = || MemoryKind::ALL.map(MemoryKind::name).join(", ");
        let types = || ObservationType::ALL.map(ObservationType::name).join(", ");
        let time = |field: &str, text: &Option<String>, parsed: Option<Timestamp>| match (text, parsed) {
            (Some(text), None) => Err(invalid(
                field,
                text,
                "2026-03-01, 2026-03-01T12:00:00Z, 7d or yesterday",
            )),
            (_, parsed) => Ok(parsed),
        };
        let since = self.since.as_deref().and_then(|text| engine.parse_since(text));
        let until = self.until.as_deref().and_then(|text| engine.parse_until(text));
        Ok(Filter {
            kind: self
                .kind
                .as_deref()
                .map(|name| MemoryKind::from_name(name).ok_or_else(|| invalid("kind", name, &kinds())))
                .transpose()?,
            observation_type: self
                .type_name
                .as_deref()
                .map(|name| ObservationType::from_name(name).ok_or_else(|| invalid("type", name, &types())))
                .transpose()?,
            concept: self.concept.clone(),
            file: self.file.clone(),
            session: self.session.clone(),
            branch: None,
            since: time("since", &self.since, since)?,
            until: time("until", &self.until, until)?,
        })
    }
}

/// One page of search results.
#[derive(Debug, Serialize, JsonSchema)]
struct SearchAnswer {
    /// The query.
    query: String,
    /// Results, best first.
    results: Vec<SearchHitJson>,
    /// Duration of the search.
    took_ms: f64,
    /// Share of memories in the semantic index, from 0 to 1.
    vectors: f64,
    /// Cursor of the next page; absent on the last.
    next_cursor: Option<String>,
}

/// Anchor and size of a timeline.
#[derive(Debug, Deserialize, JsonSchema)]
struct TimelineQuery {
    /// Handle, such as 123, S12, P34 or N5.
    #[serde(alias = "id")]
    #[schemars(regex(pattern = "^[SPNV]?[0-9]{1,18}$"))]
    anchor: Option<String>,
    /// Or a query, whose best hit is the anchor.
    query: Option<String>,
    /// Search in this project.
    #[schemars(regex(pattern = r"[^\s]"))]
    project: Option<String>,
    /// Search in the project of this folder.
    #[schemars(regex(pattern = "^/"))]
    cwd: Option<String>,
    /// Number of entries before the anchor, at most 100; default 10.
    #[serde(alias = "depth_before", alias = "depthBefore")]
    #[schemars(range(min = 0, max = 100))]
    before: Option<u32>,
    /// Number of entries after the anchor, at most 100; default 10.
    #[serde(alias = "depth_after", alias = "depthAfter")]
    #[schemars(range(min = 0, max = 100))]
    after: Option<u32>,
}

/// The history around a memory.
#[derive(Debug, Serialize, JsonSchema)]
struct TimelineAnswer {
    /// Handle of the anchor; absent if the query has no hit.
    anchor: Option<String>,
    /// Entries, oldest first.
    timeline: Vec<TimelineEntryJson>,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    api.route(
        "GET",
        "/api/search",
        |about| {
            about
                .summary("Search memories, lexically and semantically")
                .query::<SearchQuery>()
                .json::<SearchAnswer>();
        },
        get(search),
    )
    .route(
        "GET",
        "/api/timeline",
        |about| {
            about
                .summary("History around a memory")
                .query::<TimelineQuery>()
                .json::<TimelineAnswer>();
        },
        get(timeline),
    )
}

/// The last position that paging reaches.
const MAX_OFFSET: usize = 500;

async fn search(
    State(server): State<Arc<Server>>,
    QueryParams(request): QueryParams<SearchQuery>,
) -> JsonResult<SearchAnswer> {
    let limit = limit(request.limit.map(u32::from))?;
    let skip: usize = match request.cursor.as_deref().unwrap_or("0").parse() {
        Ok(skip) if skip <= MAX_OFFSET => skip,
        _ => return Err(ApiError::bad("invalid cursor")),
    };
    let filter = request.filter.read(&server.engine)?;
    let state = Arc::clone(&server);
    server
        .stores
        .read(move |store| {
            let start = Instant::now();
            let scope = ProjectScope::of(
                &state.engine,
                store,
                request.filter.project.as_deref(),
                request.filter.cwd.as_deref(),
            )?;
            let max = (skip + limit + 1).min(MAX_OFFSET + 1);
            let has_criteria = !request.query.trim().is_empty() || !filter.is_empty();
            let hits = match scope.scope() {
                Some(scope) if has_criteria || matches!(scope, Scope::Project(_)) => {
                    Searcher::new(store, &state.stores.vectors())?.search(&Query {
                        text: &request.query,
                        scope,
                        filter: &filter,
                        limit: max,
                        now: state.now(),
                        zone: &state.engine.zone(),
                    })?
                }
                _ => Vec::new(),
            };
            let next = (hits.len() > skip + limit).then(|| (skip + limit).to_string());
            let took = start.elapsed();
            state.counters.searched(took);
            Ok(Json(SearchAnswer {
                query: request.query,
                results: hits
                    .iter()
                    .skip(skip)
                    .take(limit)
                    .map(SearchHitJson::from)
                    .collect(),
                took_ms: (took.as_secs_f64() * 1_000_000.0).round() / 1000.0,
                vectors: store.coverage()?.share(),
                next_cursor: next,
            }))
        })
        .await
}

async fn timeline(
    State(server): State<Arc<Server>>,
    QueryParams(request): QueryParams<TimelineQuery>,
) -> JsonResult<TimelineAnswer> {
    let (before, after) = (request.before.unwrap_or(10), request.after.unwrap_or(10));
    if before > 100 || after > 100 {
        return Err(ApiError::bad("before and after must be at most 100"));
    }
    let state = Arc::clone(&server);
    server
        .stores
        .read(move |store| {
            let named = request.anchor.as_deref().map(str::parse::<Handle>).transpose();
            let anchor = match (
                named.map_err(|error| ApiError::bad(error.to_string()))?,
                &request.query,
            ) {
                (Some(handle), _) => Some(handle),
                (None, Some(words)) => {
                    let scope = ProjectScope::of(
                        &state.engine,
                        store,
                        request.project.as_deref(),
                        request.cwd.as_deref(),
                    )?;
                    match scope.scope() {
                        Some(scope) => project_scope::best(&state.engine, store, scope, words)?,
                        None => None,
                    }
                }
                (None, None) => return Err(ApiError::bad("anchor or query is required")),
            };
            let Some(anchor) = anchor else {
                return Ok(Json(TimelineAnswer {
                    anchor: None,
                    timeline: Vec::new(),
                }));
            };
            let entries = store
                .timeline(anchor, TimelineSpan { before, after })?
                .ok_or_else(|| project_scope::unknown(anchor))?;
            Ok(Json(TimelineAnswer {
                anchor: Some(anchor.to_string()),
                timeline: entries.into_iter().map(TimelineEntryJson::from).collect(),
            }))
        })
        .await
}
