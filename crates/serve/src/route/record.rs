//! Recording what happens in a session, for agents that have no hooks but can send requests.

use std::{path::Path as FilePath, sync::Arc};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post},
};
use backstory_model::{EventKind, Host, ProjectIdentity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{JsonBody, JsonResult};
use crate::{
    RecordOutcome, api::Api, api_types, problem::ApiError, project_scope, server::Server,
    stores::run_blocking,
};

/// Anything but blanks and controls.
const SESSION_ID: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";

/// A session, and what the person asked first or next.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct Init {
    #[serde(flatten)]
    who: EventSource,
    /// The project, where there is no folder: its folder name, a path inside it, or its id.
    #[schemars(regex(pattern = r"[^\s*]"))]
    project: Option<String>,
    /// What was asked.
    #[serde(alias = "userPrompt", alias = "user_prompt")]
    prompt: Option<String>,
    /// Which prompt of the session it is; counted here, so it need not be sent.
    #[serde(alias = "promptNumber")]
    #[schemars(range(min = 0, max = 1_000_000))]
    #[expect(dead_code, reason = "callers send it; turns are counted here")]
    prompt_number: Option<u32>,
}

/// Whose event it is.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct EventSource {
    /// The agent's own id of the session.
    #[serde(alias = "claudeSessionId", alias = "sessionId", alias = "contentSessionId")]
    #[schemars(required, length(max = 128), regex(pattern = SESSION_ID))]
    session_id: Option<String>,
    /// The folder that the agent works in.
    #[schemars(regex(pattern = "^/"))]
    cwd: Option<String>,
    /// The agent program, such as `codex`.
    #[schemars(regex(pattern = "^[a-z0-9-]{1,32}$"))]
    host: Option<String>,
}

/// A use of a tool.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct ToolEvent {
    #[serde(flatten)]
    who: EventSource,
    /// The tool.
    #[serde(alias = "toolName")]
    #[schemars(required, regex(pattern = r"[^\s]"))]
    tool_name: Option<String>,
    /// What it was given.
    #[serde(default, alias = "toolInput")]
    tool_input: Value,
    /// What it answered.
    #[serde(default, alias = "toolResponse")]
    tool_response: Value,
    /// The agent's id of the use.
    #[serde(alias = "toolUseId")]
    tool_use_id: Option<String>,
    /// What went wrong, when it failed.
    error: Option<String>,
}

/// The end of a turn.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct TurnEndRequest {
    #[serde(flatten)]
    who: EventSource,
    /// What the person asked.
    #[serde(alias = "lastUserMessage")]
    last_user_message: Option<String>,
    /// What the agent said last.
    #[serde(alias = "lastAssistantMessage")]
    last_assistant_message: Option<String>,
}

/// The end of a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct SessionEnd {
    #[serde(flatten)]
    who: EventSource,
    /// Why it ended.
    reason: Option<String>,
}

/// A session that is known.
#[derive(Debug, Serialize, JsonSchema)]
struct InitAnswer {
    /// The number of the session's row; absent when nothing of it is kept.
    session_db_id: Option<i64>,
    /// Which prompt of the session it is.
    prompt_number: Option<i64>,
    /// Whether the prompt is not kept.
    skipped: bool,
    /// Why not.
    reason: Option<String>,
}

/// What became of an event.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RecordStatus {
    /// queued, or skipped.
    status: &'static str,
    /// Why it is not kept.
    reason: Option<String>,
}

/// Whether anything is being distilled.
#[derive(Debug, Serialize, JsonSchema)]
struct Processing {
    /// Whether events wait or are in work.
    is_processing: bool,
    /// How many.
    queue_depth: u64,
}

/// What a caller believes; the answer says what is true.
#[derive(Debug, Deserialize, JsonSchema)]
struct ProcessingHint {
    #[serde(default, alias = "isProcessing")]
    #[expect(dead_code, reason = "callers send it; the queue knows better")]
    is_processing: bool,
}

/// What was begun anew.
#[derive(Debug, Serialize, JsonSchema)]
struct RetryResult {
    /// How many failed events get another round.
    retried: usize,
    /// How many events wait now.
    pending: u64,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    let api = ["/api/sessions/init", "/sessions/init"]
        .into_iter()
        .fold(api, |api, path| {
            let about = |about: &mut crate::api::RouteSpecBuilder<'_>| {
                about
                    .says("Opens a session or a turn of it")
                    .body::<Init>()
                    .json::<InitAnswer>();
            };
            let handler = post(
                async |State(server): State<Arc<Server>>, JsonBody(body): JsonBody<Init>| {
                    init(&server, body).await
                },
            );
            api.route("POST", path, about, handler)
        });
    let api = api
        .route(
            "POST",
            "/sessions/{db_id}/init",
            |about| {
                about
                    .says("Opens a turn of a known session")
                    .body::<Init>()
                    .json::<InitAnswer>();
            },
            post(init_known),
        )
        .route(
            "POST",
            "/api/sessions/observations",
            |about| {
                about
                    .says("Records a use of a tool")
                    .body::<ToolEvent>()
                    .json::<RecordStatus>();
            },
            post(
                async |State(server): State<Arc<Server>>, JsonBody(body): JsonBody<ToolEvent>| {
                    tool(&server, body).await.map(Json)
                },
            ),
        )
        .route(
            "POST",
            "/api/sessions/summarize",
            |about| {
                about
                    .says("Records the end of a turn")
                    .body::<TurnEndRequest>()
                    .json::<RecordStatus>();
            },
            post(
                async |State(server): State<Arc<Server>>, JsonBody(body): JsonBody<TurnEndRequest>| {
                    turn_end(&server, body).await.map(Json)
                },
            ),
        )
        .route(
            "POST",
            "/api/sessions/complete",
            |about| {
                about
                    .says("Records the end of a session")
                    .body::<SessionEnd>()
                    .json::<RecordStatus>();
            },
            post(
                async |State(server): State<Arc<Server>>, JsonBody(body): JsonBody<SessionEnd>| {
                    session_end(&server, body).await.map(Json)
                },
            ),
        );
    describe_queue(api)
}

fn describe_queue(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    api.route(
        "GET",
        "/api/processing",
        |about| {
            about
                .says("Says whether anything is being distilled")
                .json::<Processing>();
        },
        get(processing),
    )
    .route(
        "POST",
        "/api/processing",
        |about| {
            about
                .says("Says whether anything is being distilled, whatever the caller believes")
                .body::<ProcessingHint>()
                .json::<Processing>();
        },
        post(
            async |state: State<Arc<Server>>, JsonBody(_): JsonBody<ProcessingHint>| processing(state).await,
        ),
    )
    .route(
        "GET",
        "/api/pending-queue",
        |about| {
            about
                .says("Shows what waits to be distilled, and what failed")
                .json::<api_types::QueueJson>();
        },
        get(async |State(server): State<Arc<Server>>| queue(&server, 100).await.map(Json)),
    )
    .route(
        "POST",
        "/api/pending-queue/process",
        |about| {
            about
                .says("Gives failed events another round")
                .json::<RetryResult>();
        },
        post(process),
    )
}

impl EventSource {
    /// Reads whose event it is, and begins the event's JSON.
    fn read(self) -> Result<(Host, Map<String, Value>), ApiError> {
        let id = self.session_id.unwrap_or_default();
        if id.trim().is_empty() || id.chars().count() > 128 || id.contains(char::is_control) {
            return Err(ApiError::bad(
                "session_id is needed: the agent's own id, at most 128 characters",
            ));
        }
        let host = match self.host {
            None => Host::new("http"),
            Some(name) => Host::new(&name),
        };
        let host = host.ok_or_else(|| ApiError::bad("host must be lower-case letters, digits and dashes"))?;
        let mut event = Map::new();
        event.insert("session_id".to_owned(), id.into());
        if let Some(cwd) = self.cwd {
            project_scope::folder(&cwd)?;
            event.insert("cwd".to_owned(), cwd.into());
        }
        Ok((host, event))
    }
}

/// Records an event where that holds nobody up: a large one takes a while to wash, and the disk may be slow.
async fn record(
    server: &Arc<Server>,
    kind: EventKind,
    host: &Host,
    event: Map<String, Value>,
    project: Option<ProjectIdentity>,
) -> Result<RecordStatus, ApiError> {
    let (server, host) = (Arc::clone(server), host.clone());
    let recorded = run_blocking(move || {
        let event = Value::Object(event).to_string();
        Ok((server.outside.record)(kind, &host, &event, project))
    });
    match recorded.await? {
        RecordOutcome::Queued => Ok(RecordStatus {
            status: "queued",
            reason: None,
        }),
        RecordOutcome::Skipped(reason) => Ok(RecordStatus {
            status: "skipped",
            reason: Some(reason),
        }),
        RecordOutcome::Failed(why) => Err(ApiError::new(StatusCode::INSUFFICIENT_STORAGE, "not_kept", why)
            .hint("is the disk full? the event was not kept, send it again")),
    }
}

async fn init_known(
    State(server): State<Arc<Server>>,
    Path(number): Path<String>,
    JsonBody(mut body): JsonBody<Init>,
) -> JsonResult<InitAnswer> {
    let number: i64 = number
        .parse()
        .map_err(|_| ApiError::bad("the session's number is needed: /sessions/{db_id}/init"))?;
    let known = server
        .stores
        .read(move |store| Ok(store.session_by_number(number)?))
        .await?
        .ok_or_else(|| ApiError::missing(format!("no session has the number {number}")))?;
    body.who.cwd = body.who.cwd.or(known.cwd);
    body.who.session_id = Some(known.session_id);
    init(&server, body).await
}

async fn init(server: &Arc<Server>, body: Init) -> JsonResult<InitAnswer> {
    let has_folder = body.who.cwd.is_some();
    let (host, mut event) = body.who.read()?;
    let id = event["session_id"].as_str().unwrap_or_default().to_owned();
    let state = Arc::clone(server);
    let project = match body.project.filter(|_| !has_folder) {
        Some(named) => {
            let facts = server
                .stores
                .read(move |store| project_scope::facts(store, &state.outside, Some(&named), None));
            let one = facts.await?;
            Some(one.ok_or_else(|| ApiError::bad("a session belongs to one project, not to all"))?)
        }
        None => None,
    };
    if let Some(facts) = project
        .as_ref()
        .filter(|facts| FilePath::new(&facts.root).is_absolute())
    {
        event.insert("cwd".to_owned(), facts.root.clone().into());
    }
    let kind = match body.prompt {
        Some(prompt) => {
            event.insert("prompt".to_owned(), prompt.into());
            EventKind::UserPromptSubmit
        }
        None => EventKind::SessionStart,
    };
    let status = record(server, kind, &host, event, project).await?;
    let state = Arc::clone(server);
    let (session_db_id, turns) = server
        .stores
        .write(move |store| {
            (state.outside.take_in)(store);
            let number = store.session_db_id(&id)?;
            let turns = number.map(|number| store.last_turn_number(number)).transpose()?;
            Ok((number, turns.flatten()))
        })
        .await?;
    Ok(Json(InitAnswer {
        session_db_id,
        prompt_number: turns,
        skipped: status.status == "skipped",
        reason: status.reason,
    }))
}

/// Records a use of a tool.
pub(crate) async fn tool(server: &Arc<Server>, body: ToolEvent) -> Result<RecordStatus, ApiError> {
    let name = body.tool_name.filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| ApiError::bad("tool_name is needed"))?;
    let (host, mut event) = body.who.read()?;
    event.insert("tool_name".to_owned(), name.into());
    event.insert("tool_input".to_owned(), parsed(body.tool_input));
    if let Some(id) = body.tool_use_id {
        event.insert("tool_use_id".to_owned(), id.into());
    }
    let kind = match body.error {
        Some(error) => {
            event.insert("error".to_owned(), error.into());
            EventKind::PostToolUseFailure
        }
        None => {
            event.insert("tool_response".to_owned(), parsed(body.tool_response));
            EventKind::PostToolUse
        }
    };
    record(server, kind, &host, event, None).await
}

/// Some callers send JSON as text.
fn parsed(value: Value) -> Value {
    match &value {
        Value::String(text) if text.starts_with(['{', '[']) => serde_json::from_str(text).unwrap_or(value),
        _ => value,
    }
}

/// Records the end of a turn; of a session that nobody opened, also what was asked.
pub(crate) async fn turn_end(server: &Arc<Server>, body: TurnEndRequest) -> Result<RecordStatus, ApiError> {
    let (host, mut event) = body.who.read()?;
    let id = event["session_id"].as_str().unwrap_or_default().to_owned();
    let is_known = server
        .stores
        .read(move |store| Ok(store.session_db_id(&id)?.is_some()))
        .await?;
    if let (false, Some(asked)) = (is_known, body.last_user_message) {
        let mut prompt = event.clone();
        prompt.insert("prompt".to_owned(), asked.into());
        record(server, EventKind::UserPromptSubmit, &host, prompt, None).await?;
    }
    if let Some(said) = body.last_assistant_message {
        event.insert("last_assistant_message".to_owned(), said.into());
    }
    record(server, EventKind::Stop, &host, event, None).await
}

/// Records the end of a session.
pub(crate) async fn session_end(server: &Arc<Server>, body: SessionEnd) -> Result<RecordStatus, ApiError> {
    let (host, mut event) = body.who.read()?;
    event.insert(
        "reason".to_owned(),
        body.reason.unwrap_or_else(|| "other".to_owned()).into(),
    );
    record(server, EventKind::SessionEnd, &host, event, None).await
}

async fn queue(server: &Arc<Server>, most: u32) -> Result<api_types::QueueJson, ApiError> {
    let state = Arc::clone(server);
    server
        .stores
        .read(move |store| {
            let spooled = (state.outside.spooled)();
            Ok(api_types::QueueJson::new(
                store.queue(most)?,
                spooled,
                state.now_ms(),
            ))
        })
        .await
}

async fn processing(State(server): State<Arc<Server>>) -> JsonResult<Processing> {
    let queue = queue(&server, 0).await?;
    let queue_depth = queue.pending + queue.processing;
    Ok(Json(Processing {
        is_processing: queue_depth > 0,
        queue_depth,
    }))
}

async fn process(State(server): State<Arc<Server>>) -> JsonResult<RetryResult> {
    let retried = server.stores.write(|store| Ok(store.retry(&[])?)).await?;
    let pending = queue(&server, 0).await?.pending;
    Ok(Json(RetryResult { retried, pending }))
}
