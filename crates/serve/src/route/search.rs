//! Finding memories, and what happened around them.

use std::{sync::Arc, time::Instant};

use axum::{Json, extract::State, routing::get};
use backstory_model::{Handle, MemoryKind, ObservationType};
use backstory_recall::{self as recall, Query, Searcher, is_stale};
use backstory_store::{Filter, Project, Store};
use backstory_text::one_line;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{JsonResult, QueryParams};
use crate::{
    Backend,
    api::Api,
    api_types::{SearchHitJson, TimelineEntryJson},
    problem::ApiError,
    project_scope::{self, ProjectScope},
    server::Server,
};

/// Moments that are understood everywhere: how long ago, a date, a time.
const MOMENT: &str = "^([0-9]{1,4}[hdw]|(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]Z)?)$";

/// What to look for, and where.
#[derive(Debug, Deserialize, JsonSchema)]
struct SearchQuery {
    /// Any text; nothing finds the latest that pass the filters.
    #[serde(default, alias = "q", alias = "words")]
    query: String,
    #[serde(flatten)]
    filter: WireFilter,
    /// The most memories, from 1 to 100; 20 when it is left out.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u16>,
    /// Where the last page ended.
    #[schemars(regex(pattern = "^[0-9]{1,3}$"))]
    cursor: Option<String>,
}

/// Which memories count.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct WireFilter {
    /// Only this project: its folder name, a path inside it, or its id; `*` is all of them.
    #[schemars(regex(pattern = r"[^\s]"))]
    pub(crate) project: Option<String>,
    /// Only the project of this folder.
    #[schemars(regex(pattern = "^/"))]
    pub(super) cwd: Option<String>,
    /// Only this kind: observation, summary, prompt, note or passage.
    #[schemars(regex(pattern = "^(observation|summary|prompt|note|passage)$"))]
    kind: Option<String>,
    /// Only this type: decision, bugfix, feature, refactor, discovery or change.
    #[serde(rename = "type", alias = "obs_type", alias = "obsType")]
    #[schemars(regex(pattern = "^(decision|bugfix|feature|refactor|discovery|change)$"))]
    type_name: Option<String>,
    /// Only with this concept.
    concept: Option<String>,
    /// Only about this file: a path or its end.
    file: Option<String>,
    /// Only the session whose id begins like this.
    #[serde(alias = "session_id", alias = "sessionId", alias = "claudeSessionId")]
    session: Option<String>,
    /// Not older: an RFC 3339 time or a date.
    #[serde(alias = "date_start", alias = "dateStart")]
    #[schemars(regex(pattern = MOMENT))]
    since: Option<String>,
    /// Not younger.
    #[serde(alias = "date_end", alias = "dateEnd")]
    #[schemars(regex(pattern = MOMENT))]
    until: Option<String>,
}

impl WireFilter {
    /// Reads it, or says what is wrong.
    pub(crate) fn read(&self, outside: &Backend) -> Result<Filter, ApiError> {
        let wrong = |what: &str, value: &str, expected: &str| {
            ApiError::bad(format!("{what} `{value}`: expected {expected}"))
        };
        let kinds = || MemoryKind::ALL.map(MemoryKind::name).join(", ");
        let types = || ObservationType::ALL.map(ObservationType::name).join(", ");
        let moment = |what: &str, text: &Option<String>| {
            text.as_deref()
                .map(|text| {
                    (outside.moment)(text)
                        .ok_or_else(|| wrong(what, text, "2026-03-01, 2026-03-01T12:00:00Z or 7d"))
                })
                .transpose()
        };
        Ok(Filter {
            kind: self
                .kind
                .as_deref()
                .map(|name| MemoryKind::from_name(name).ok_or_else(|| wrong("kind", name, &kinds())))
                .transpose()?,
            observation_type: self
                .type_name
                .as_deref()
                .map(|name| ObservationType::from_name(name).ok_or_else(|| wrong("type", name, &types())))
                .transpose()?,
            concept: self.concept.clone(),
            file: self.file.clone(),
            session: self.session.clone(),
            since_ms: moment("since", &self.since)?,
            until_ms: moment("until", &self.until)?,
        })
    }
}

/// What was found.
#[derive(Debug, Serialize, JsonSchema)]
struct SearchAnswer {
    /// What was looked for.
    query: String,
    /// The best first.
    results: Vec<SearchHitJson>,
    /// How long it took.
    took_ms: f64,
    /// How much of the memory can be found by meaning, from 0 to 1.
    vectors: f64,
    /// Where the next page begins.
    next_cursor: Option<String>,
}

/// Around what, and how much.
#[derive(Debug, Deserialize, JsonSchema)]
struct TimelineQuery {
    /// A handle such as 123, S12, P34, N5.
    #[serde(alias = "id")]
    #[schemars(regex(pattern = "^[SPNV]?[0-9]{1,18}$"))]
    anchor: Option<String>,
    /// Or words, whose best hit is taken.
    query: Option<String>,
    /// Look for the words in this project.
    #[schemars(regex(pattern = r"[^\s]"))]
    project: Option<String>,
    /// Look for the words in the project of this folder.
    #[schemars(regex(pattern = "^/"))]
    cwd: Option<String>,
    /// How many before it, at most 100; 10 when it is left out.
    #[serde(alias = "depth_before", alias = "depthBefore")]
    #[schemars(range(min = 0, max = 100))]
    before: Option<u32>,
    /// How many after it.
    #[serde(alias = "depth_after", alias = "depthAfter")]
    #[schemars(range(min = 0, max = 100))]
    after: Option<u32>,
}

/// What happened around a memory.
#[derive(Debug, Serialize, JsonSchema)]
struct TimelineAnswer {
    /// The memory; absent when nothing fits the words.
    anchor: Option<String>,
    /// The oldest first.
    timeline: Vec<TimelineEntryJson>,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    api.route(
        "GET",
        "/api/search",
        |about| {
            about
                .says("Finds memories by words and by meaning")
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
                .says("Tells what happened around a memory")
                .query::<TimelineQuery>()
                .json::<TimelineAnswer>();
        },
        get(timeline),
    )
}

/// So far a search goes, page by page.
const DEEPEST: usize = 500;

async fn search(
    State(server): State<Arc<Server>>,
    QueryParams(asked): QueryParams<SearchQuery>,
) -> JsonResult<SearchAnswer> {
    let limit = super::list::limit(asked.limit.map(u32::from))?;
    let skip: usize = match asked.cursor.as_deref().unwrap_or("0").parse() {
        Ok(skip) if skip <= DEEPEST => skip,
        _ => return Err(ApiError::bad("this cursor does not come from here")),
    };
    let filter = asked.filter.read(&server.outside)?;
    let state = Arc::clone(&server);
    server
        .stores
        .read(move |store| {
            let start = Instant::now();
            let place = ProjectScope::of(
                store,
                &state.outside,
                asked.filter.project.as_deref(),
                asked.filter.cwd.as_deref(),
            )?;
            let most = (skip + limit + 1).min(DEEPEST + 1);
            let has_wishes = !asked.query.trim().is_empty() || !filter.is_empty();
            let hits = match (&place, place.scope()) {
                (_, Some(scope)) if has_wishes => {
                    Searcher::new(store, state.stores.vectors())?.search(&Query {
                        text: &asked.query,
                        scope,
                        filter: &filter,
                        limit: most,
                        now_ms: state.now_ms(),
                    })?
                }
                (ProjectScope::Project(project), _) => latest(store, project, most)?,
                _ => Vec::new(),
            };
            let next = (hits.len() > skip + limit).then(|| (skip + limit).to_string());
            let took = start.elapsed();
            state.counters.searched(took);
            Ok(Json(SearchAnswer {
                query: asked.query,
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

/// The latest memories of a project, read as a list: a search would look at every one of them.
fn latest(store: &Store, project: &Project, most: usize) -> Result<Vec<recall::SearchHit>, ApiError> {
    const KINDS: [MemoryKind; 4] = [
        MemoryKind::Observation,
        MemoryKind::Summary,
        MemoryKind::Note,
        MemoryKind::Prompt,
    ];
    let page = store.page(&KINDS, Some(project), &Filter::default(), None, most)?;
    let mut hits = Vec::with_capacity(page.memories.len());
    for (handle, line) in page.memories {
        if let Some(card) = store.card(handle)? {
            hits.push(recall::SearchHit {
                score: 1.0,
                snippet: one_line(line.narrative.as_deref().unwrap_or(line.headline()), 200),
                is_stale: is_stale(store, &card)?,
                card,
            });
        }
    }
    Ok(hits)
}

async fn timeline(
    State(server): State<Arc<Server>>,
    QueryParams(asked): QueryParams<TimelineQuery>,
) -> JsonResult<TimelineAnswer> {
    let (before, after) = (asked.before.unwrap_or(10), asked.after.unwrap_or(10));
    if before > 100 || after > 100 {
        return Err(ApiError::bad("before and after are at most 100"));
    }
    let state = Arc::clone(&server);
    server
        .stores
        .read(move |store| {
            let named = asked.anchor.as_deref().map(str::parse::<Handle>).transpose();
            let anchor = match (
                named.map_err(|error| ApiError::bad(error.to_string()))?,
                &asked.query,
            ) {
                (Some(handle), _) => Some(handle),
                (None, Some(words)) => {
                    let place = ProjectScope::of(
                        store,
                        &state.outside,
                        asked.project.as_deref(),
                        asked.cwd.as_deref(),
                    )?;
                    match place.scope() {
                        Some(scope) => {
                            project_scope::best(store, state.stores.vectors(), scope, words, state.now_ms())?
                        }
                        None => None,
                    }
                }
                (None, None) => return Err(ApiError::bad("anchor or query is needed")),
            };
            let Some(anchor) = anchor else {
                return Ok(Json(TimelineAnswer {
                    anchor: None,
                    timeline: Vec::new(),
                }));
            };
            let moments = store
                .timeline(anchor, before, after)?
                .ok_or_else(|| project_scope::unknown(anchor))?;
            Ok(Json(TimelineAnswer {
                anchor: Some(anchor.to_string()),
                timeline: moments.into_iter().map(TimelineEntryJson::from).collect(),
            }))
        })
        .await
}
