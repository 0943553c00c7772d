//! Routes that record events, for agents without hooks.

use std::{path::Path as FilePath, sync::Arc};

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
    routing::{get, post},
};
use backstory_engine::{
    ingest::ingest,
    record::{self, RecordOutcome},
};
use backstory_model::{EventKind, Host, ProjectIdentity, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    api::Api,
    api_types,
    extract::{JsonBody, JsonResult},
    problem::ApiError,
    project_scope,
    server::Server,
    stores::run_blocking,
};

/// Pattern of session ids: not blank, no control characters.
const SESSION_ID: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";

/// A session and its first or next prompt.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct Init {
    #[serde(flatten)]
    origin: EventOrigin,
    /// Project if there is no folder: folder name, a path inside it, or id.
    #[schemars(regex(pattern = r"[^\s*]"))]
    project: Option<String>,
    /// Text of the prompt.
    #[serde(alias = "userPrompt", alias = "user_prompt")]
    prompt: Option<String>,
    /// Number of the prompt in the session. The server counts; a prompt that is sent again with its number counts once.
    #[serde(alias = "promptNumber")]
    #[schemars(range(min = 0, max = 1_000_000))]
    prompt_number: Option<u32>,
}

/// Session, folder and host of an event.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct EventOrigin {
    /// The agent's own id of the session.
    #[serde(alias = "claudeSessionId", alias = "sessionId", alias = "contentSessionId")]
    #[schemars(required, length(max = 128), regex(pattern = SESSION_ID))]
    session_id: Option<String>,
    /// Working directory of the agent.
    #[schemars(regex(pattern = "^/"))]
    cwd: Option<String>,
    /// Agent program, such as `codex`.
    #[schemars(regex(pattern = "^[a-z0-9-]{1,32}$"))]
    host: Option<String>,
}

/// A tool use.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct ToolEvent {
    #[serde(flatten)]
    origin: EventOrigin,
    /// Name of the tool.
    #[serde(alias = "toolName")]
    #[schemars(required, regex(pattern = r"[^\s]"))]
    tool_name: Option<String>,
    /// Input of the tool.
    #[serde(default, alias = "toolInput")]
    tool_input: Value,
    /// Output of the tool.
    #[serde(default, alias = "toolResponse")]
    tool_response: Value,
    /// Another name of `tool_response`.
    #[serde(default, alias = "toolOutput")]
    tool_output: Value,
    /// The agent's id of the tool use.
    #[serde(alias = "toolUseId")]
    tool_use_id: Option<String>,
    /// Error message of a failed tool use.
    error: Option<String>,
}

/// The end of a turn.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct TurnEndRequest {
    #[serde(flatten)]
    origin: EventOrigin,
    /// The user's prompt.
    #[serde(alias = "lastUserMessage")]
    last_user_message: Option<String>,
    /// The agent's final message.
    #[serde(alias = "lastAssistantMessage")]
    last_assistant_message: Option<String>,
}

/// The end of a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct SessionEnd {
    #[serde(flatten)]
    origin: EventOrigin,
    /// Reason why the session ended.
    reason: Option<String>,
}

/// The recorded session and prompt.
#[derive(Debug, Serialize, JsonSchema)]
struct InitAnswer {
    /// Id of the session in the database; absent if it is not recorded.
    session_db_id: Option<i64>,
    /// Number of the prompt in the session.
    prompt_number: Option<i64>,
    /// True if the prompt is not recorded.
    skipped: bool,
    /// Reason for skipping.
    reason: Option<String>,
}

/// Outcome of recording an event.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RecordStatus {
    /// `queued` or `skipped`.
    status: &'static str,
    /// Reason for skipping.
    reason: Option<String>,
}

/// Activity of the queue.
#[derive(Debug, Serialize, JsonSchema)]
struct Processing {
    /// True if events are pending or claimed.
    is_processing: bool,
    /// Number of pending and claimed events.
    queue_depth: u64,
}

/// Accepted for compatibility and ignored.
#[derive(Debug, Deserialize, JsonSchema)]
struct ProcessingHint {
    /// Ignored: the answer shows the state of the queue.
    #[serde(default, alias = "isProcessing")]
    #[expect(dead_code, reason = "accepted for compatibility; the queue is read instead")]
    is_processing: bool,
}

/// Outcome of a retry.
#[derive(Debug, Serialize, JsonSchema)]
struct RetryResult {
    /// Number of events that are retried.
    retried: usize,
    /// Number of pending events.
    pending: u64,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    let api = ["/api/sessions/init", "/sessions/init"]
        .into_iter()
        .fold(api, |api, path| {
            let about = |about: &mut crate::api::RouteSpecBuilder<'_>| {
                about
                    .summary("Start a session or a turn")
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
                    .summary("Start a turn of a known session")
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
                    .summary("Record a tool use")
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
                    .summary("Record the end of a turn")
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
                    .summary("Record the end of a session")
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
            about.summary("Activity of the queue").json::<Processing>();
        },
        get(processing),
    )
    .route(
        "POST",
        "/api/processing",
        |about| {
            about
                .summary("Activity of the queue; the body is ignored")
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
                .summary("Pending and failed events")
                .json::<api_types::QueueJson>();
        },
        get(async |State(server): State<Arc<Server>>| queue(&server, 100).await.map(Json)),
    )
    .route(
        "POST",
        "/api/pending-queue/process",
        |about| {
            about.summary("Retry failed events").json::<RetryResult>();
        },
        post(process),
    )
}

impl EventOrigin {
    /// Validates the origin and starts the JSON of the event.
    fn read(self) -> Result<(Host, Map<String, Value>), ApiError> {
        let id = self.session_id.unwrap_or_default();
        if id.trim().is_empty() || id.chars().count() > 128 || id.contains(char::is_control) {
            return Err(ApiError::bad(
                "session_id is required: the agent's own id, at most 128 characters",
            ));
        }
        let host = match self.host {
            None => Host::new("http"),
            Some(name) => Host::new(&name),
        };
        let host = host.ok_or_else(|| ApiError::bad("host must be lowercase letters, digits and dashes"))?;
        let mut event = Map::new();
        event.insert("session_id".to_owned(), id.into());
        if let Some(cwd) = self.cwd {
            project_scope::folder(&cwd)?;
            event.insert("cwd".to_owned(), cwd.into());
        }
        Ok((host, event))
    }
}

/// Records an event on a blocking thread: sanitizing a large one takes time, and the disk may be slow.
async fn record(
    server: &Arc<Server>,
    kind: EventKind,
    host: &Host,
    event: Map<String, Value>,
    project: Option<ProjectIdentity>,
) -> Result<RecordStatus, ApiError> {
    let (server, host) = (Arc::clone(server), host.clone());
    // The folder of the worker says nothing about the client.
    let project = project.or_else(|| (!event.contains_key("cwd")).then(ProjectIdentity::unknown));
    let recorded = run_blocking(move || {
        let event = Value::Object(event).to_string();
        Ok(record::record(
            &server.engine,
            kind,
            &host,
            event.as_bytes(),
            project,
        ))
    });
    match recorded.await? {
        RecordOutcome::Recorded(_) => Ok(RecordStatus {
            status: "queued",
            reason: None,
        }),
        RecordOutcome::Off(reason) | RecordOutcome::Nothing(reason) => Ok(RecordStatus {
            status: "skipped",
            reason: Some(reason.to_owned()),
        }),
        RecordOutcome::Failed(why) => Err(ApiError::new(StatusCode::INSUFFICIENT_STORAGE, "not_kept", why)
            .hint("the event was not recorded; check the disk space and send it again")),
    }
}

async fn init_known(
    State(server): State<Arc<Server>>,
    Path(number): Path<String>,
    JsonBody(mut body): JsonBody<Init>,
) -> JsonResult<InitAnswer> {
    let number: i64 = number
        .parse()
        .map_err(|_| ApiError::bad("db_id must be a number: /sessions/{db_id}/init"))?;
    let known = server
        .stores
        .read(move |store| Ok(store.session_by_number(SessionId::new(number))?))
        .await?
        .ok_or_else(|| ApiError::missing(format!("no session with db_id {number}")))?;
    body.origin.cwd = body.origin.cwd.or(known.cwd);
    body.origin.session_id = Some(known.session_id);
    init(&server, body).await
}

async fn init(server: &Arc<Server>, body: Init) -> JsonResult<InitAnswer> {
    let has_folder = body.origin.cwd.is_some();
    let (host, mut event) = body.origin.read()?;
    let id = event["session_id"].as_str().unwrap_or_default().to_owned();
    let project = match body.project.filter(|_| !has_folder) {
        Some(named) => {
            let state = Arc::clone(server);
            let identity = server
                .stores
                .read(move |store| project_scope::identity(&state.engine, store, Some(&named), None));
            let identity = identity.await?;
            Some(
                identity
                    .ok_or_else(|| ApiError::bad("a session belongs to one project; `*` is not allowed"))?,
            )
        }
        None => None,
    };
    if let Some(identity) = project
        .as_ref()
        .filter(|identity| FilePath::new(&identity.root).is_absolute())
    {
        event.insert("cwd".to_owned(), identity.root.clone().into());
    }
    if let (Some(prompt), Some(number)) = (&body.prompt, body.prompt_number)
        && let Some(known) = known_prompt(server, &id, prompt, number).await?
    {
        return Ok(Json(known));
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
            // On failure the events stay in the spool, and the worker logs why.
            ingest(&state.engine, store).ok();
            let number = store.session_db_id(&id)?;
            let turns = number.map(|number| store.last_turn_number(number)).transpose()?;
            Ok((number, turns.flatten()))
        })
        .await?;
    Ok(Json(InitAnswer {
        session_db_id: session_db_id.map(SessionId::get),
        prompt_number: turns,
        skipped: status.status == "skipped",
        reason: status.reason,
    }))
}

/// Finds a prompt that is sent again: the session has a turn of this number, with the same text.
async fn known_prompt(
    server: &Arc<Server>,
    session_id: &str,
    prompt: &str,
    number: u32,
) -> Result<Option<InitAnswer>, ApiError> {
    let state = Arc::clone(server);
    let (id, prompt) = (session_id.to_owned(), prompt.to_owned());
    server
        .stores
        .read(move |store| {
            let Some(session) = store.session_db_id(&id)? else {
                return Ok(None);
            };
            // Compared as it was stored, without private spans and secrets.
            let prompt = state.engine.sanitize(&prompt).unwrap_or_default();
            let stored = store.prompt_of_turn(session, number)?;
            Ok(stored
                .filter(|stored| stored.trim() == prompt.trim())
                .map(|_| InitAnswer {
                    session_db_id: Some(session.get()),
                    prompt_number: Some(number.into()),
                    skipped: false,
                    reason: None,
                }))
        })
        .await
}

/// Records a tool use.
pub(crate) async fn tool(server: &Arc<Server>, body: ToolEvent) -> Result<RecordStatus, ApiError> {
    let name = body.tool_name.filter(|name| !name.trim().is_empty());
    let name = name.ok_or_else(|| ApiError::bad("tool_name is required"))?;
    let (host, mut event) = body.origin.read()?;
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
            let answer = if body.tool_response.is_null() {
                body.tool_output
            } else {
                body.tool_response
            };
            event.insert("tool_response".to_owned(), parsed(answer));
            EventKind::PostToolUse
        }
    };
    record(server, kind, &host, event, None).await
}

/// Parses JSON that a caller sent as text.
fn parsed(value: Value) -> Value {
    match &value {
        Value::String(text) if text.starts_with(['{', '[']) => serde_json::from_str(text).unwrap_or(value),
        _ => value,
    }
}

/// Records the end of a turn. For an unknown session, the prompt is recorded first.
pub(crate) async fn turn_end(server: &Arc<Server>, body: TurnEndRequest) -> Result<RecordStatus, ApiError> {
    let (host, mut event) = body.origin.read()?;
    let id = event["session_id"].as_str().unwrap_or_default().to_owned();
    let is_known = server
        .stores
        .read(move |store| Ok(store.session_db_id(&id)?.is_some()))
        .await?;
    if let (false, Some(text)) = (is_known, body.last_user_message) {
        let mut prompt = event.clone();
        prompt.insert("prompt".to_owned(), text.into());
        record(server, EventKind::UserPromptSubmit, &host, prompt, None).await?;
    }
    if let Some(text) = body.last_assistant_message {
        event.insert("last_assistant_message".to_owned(), text.into());
    }
    record(server, EventKind::Stop, &host, event, None).await
}

/// Records the end of a session.
pub(crate) async fn session_end(server: &Arc<Server>, body: SessionEnd) -> Result<RecordStatus, ApiError> {
    let (host, mut event) = body.origin.read()?;
    event.insert(
        "reason".to_owned(),
        body.reason.unwrap_or_else(|| "other".to_owned()).into(),
    );
    record(server, EventKind::SessionEnd, &host, event, None).await
}

async fn queue(server: &Arc<Server>, max: u32) -> Result<api_types::QueueJson, ApiError> {
    let state = Arc::clone(server);
    server
        .stores
        .read(move |store| {
            let spooled = state.engine.spooled();
            Ok(api_types::QueueJson::new(store.queue(max)?, spooled, state.now()))
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
