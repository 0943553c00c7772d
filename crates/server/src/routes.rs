//! The HTTP API: reads requests within their limits and writes answers.

use std::{net::IpAddr, sync::Arc, time::Duration};

use axum::{
    Extension, Json, Router,
    body::{Body, to_bytes},
    extract::{Path, Query, Request, State},
    http::{
        HeaderMap, HeaderValue, StatusCode,
        header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH},
    },
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{delete, get, post, put},
};
use backstory_protocol::{
    AuditAnswer, Epoch, FeedbackRequest, ForgetRequest, JoinRequest, ProjectRequest, Role, STREAM_TYPE,
    SearchRequest, ServerInfo, limits,
};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::{
    access::{self, Credentials},
    app::App,
    devices, feedback, forget, metrics,
    problem::Problem,
    projects,
    pull::{self, Cursor},
    push, search, sql,
};

/// Time for a request's body to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

type Answer = Result<Response, Problem>;
type Shared = State<Arc<App>>;

/// Returns the routes for clients.
pub(crate) fn routes(app: &Arc<App>) -> Router {
    Router::new()
        .route("/health", get(async || "ok"))
        .route("/v1/info", get(info))
        .route("/v1/devices", post(join))
        .route("/v1/devices/{device}", delete(revoke))
        .route("/v1/me", get(me))
        .route("/v1/projects", put(put_project))
        .route(
            "/v1/projects/{project}/records",
            get(pull_records).post(push_records),
        )
        .route("/v1/projects/{project}/snapshot", get(snapshot))
        .route("/v1/projects/{project}/feedback", post(give_feedback))
        .route("/v1/projects/{project}/forget", post(forget_records))
        .route("/v1/projects/{project}/audit", get(audit))
        .route("/v1/search", post(search_records))
        .fallback(async || {
            Problem::new(
                backstory_protocol::ErrorCode::NotFound,
                "there is no such endpoint",
            )
        })
        .layer(middleware::from_fn_with_state(Arc::clone(app), guard))
        .with_state(Arc::clone(app))
}

/// Returns the routes of the metrics' own address.
pub(crate) fn metrics_routes(app: &Arc<App>) -> Router {
    Router::new()
        .route("/metrics", get(render_metrics))
        .with_state(Arc::clone(app))
}

async fn render_metrics(State(app): Shared) -> String {
    metrics::render(&app.metrics, &app.databases, &app.heads)
}

/// Counts answers, and finds the address of the client.
async fn guard(
    State(app): Shared,
    Extension(Peer(peer)): Extension<Peer>,
    mut request: Request,
    next: Next,
) -> Response {
    let response = match peer_of(&app, peer, &request) {
        Ok(peer) => {
            let credentials = Credentials::read(request.headers(), peer);
            request.extensions_mut().insert(Peer(peer));
            request.extensions_mut().insert(credentials);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    };
    app.metrics.count_answer(response.status().as_u16());
    response
}

/// Returns the address of the client. Behind a proxy that is the last one it has seen, and plain http is refused.
fn peer_of(app: &App, peer: IpAddr, request: &Request) -> Result<IpAddr, Problem> {
    if !app.behind_proxy || request.uri().path() == "/health" {
        return Ok(peer);
    }
    let header = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok());
    if header("x-forwarded-proto") != Some("https") {
        return Err(Problem::forbidden("plain http is refused")
            .hint("use https; the proxy must set X-Forwarded-Proto: https"));
    }
    let forwarded = header("x-forwarded-for").and_then(|all| all.rsplit(',').next()?.trim().parse().ok());
    Ok(forwarded.unwrap_or(peer))
}

/// The address of the client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

async fn info() -> Json<ServerInfo> {
    Json(ServerInfo {
        protocols: vec![backstory_protocol::VERSION],
        operator: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        encoders: vec![backstory_embed::MODEL.to_owned()],
        join: vec!["invitation".to_owned()],
    })
}

async fn join(State(app): Shared, Extension(Peer(peer)): Extension<Peer>, body: Body) -> Answer {
    let request: JoinRequest = json(body).await?;
    Ok(Json(devices::join(&app, peer, &request).await?).into_response())
}

async fn revoke(
    State(app): Shared,
    Extension(credentials): Extension<Credentials>,
    Path(device): Path<String>,
) -> Answer {
    let (caller, client) = access::caller(&app, &credentials).await?;
    let device = device
        .parse()
        .map_err(|_| Problem::bad("this is no id of a device"))?;
    devices::revoke(&client, &caller, device).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn me(
    State(app): Shared,
    Extension(credentials): Extension<Credentials>,
    headers: HeaderMap,
) -> Answer {
    let (caller, client) = access::caller(&app, &credentials).await?;
    let me = projects::me(&client, &caller).await?;
    let text = serde_json::to_string(&me).map_err(|error| Problem::internal(&error))?;
    let tag = format!("\"{}\"", &backstory_text::sha256_hex(&text)[..32]);
    Ok(tagged(&headers, &tag, || {
        ([(CONTENT_TYPE, "application/json")], text).into_response()
    }))
}

async fn put_project(
    State(app): Shared,
    Extension(credentials): Extension<Credentials>,
    body: Body,
) -> Answer {
    let (caller, client) = access::caller(&app, &credentials).await?;
    // No connection is held while a slow client sends; the same below.
    drop(client);
    let request: ProjectRequest = json(body).await?;
    let mut client = app.databases.primary().await?;
    Ok(Json(projects::put(&mut client, &caller, &request).await?).into_response())
}

async fn push_records(
    State(app): Shared,
    Extension(credentials): Extension<Credentials>,
    Path(project): Path<i32>,
    body: Body,
) -> Answer {
    let (access, client) = access::project(&app, &credentials, project, Role::Writer).await?;
    drop(client);
    let body = read(body, limits::MAX_STREAM_BYTES)
        .await?
        .ok_or_else(push::too_large)?;
    let client = app.databases.primary().await?;
    Ok(stream(push::push(&app, access, client, body).await?))
}

/// The query of a pull.
#[derive(Debug, Deserialize)]
struct PullQuery {
    epoch: Option<Epoch>,
    #[serde(default)]
    after: i64,
    #[serde(default)]
    limit: Option<usize>,
    #[serde(default)]
    wait: u64,
}

async fn pull_records(
    State(app): Shared,
    Extension(credentials): Extension<Credentials>,
    Path(project): Path<i32>,
    query: Result<Query<PullQuery>, axum::extract::rejection::QueryRejection>,
) -> Answer {
    let Query(query) = query.map_err(|error| Problem::bad(error.body_text()))?;
    let cursor = Cursor {
        epoch: query.epoch,
        after: query.after,
        limit: query.limit.unwrap_or(limits::MAX_PULL_RECORDS),
    };
    let longest = Duration::from_secs(query.wait.min(limits::MAX_WAIT_SECONDS));
    let (mut access, client) = access::project(&app, &credentials, project, Role::Reader).await?;
    drop(client);
    cursor.check(&access.space)?;
    if access.space.head <= cursor.after
        && !longest.is_zero()
        && pull::wait(&app, &access.space, cursor.after, longest).await
    {
        // The wait may have been long: the caller may have lost access, or the server may have been restored.
        (access, _) = access::project(&app, &credentials, project, Role::Reader).await?;
        cursor.check(&access.space)?;
    }
    let known_head = access.space.head;
    Ok(stream(pull::page(&app, &access, cursor, known_head).await?))
}

async fn snapshot(
    State(app): Shared,
    Extension(credentials): Extension<Credentials>,
    Path(project): Path<i32>,
    headers: HeaderMap,
) -> Answer {
    let (access, client) = access::project(&app, &credentials, project, Role::Reader).await?;
    let tag = format!("\"{}-{}\"", access.space.epoch, access.space.head);
    Ok(tagged(&headers, &tag, || {
        let (sender, receiver) = mpsc::channel(2);
        tokio::spawn(pull::send_snapshot(app, access.space, client, sender));
        let body = Body::from_stream(ReceiverStream::new(receiver));
        ([(CONTENT_TYPE, STREAM_TYPE)], body).into_response()
    }))
}

async fn give_feedback(
    State(app): Shared,
    Extension(credentials): Extension<Credentials>,
    Path(project): Path<i32>,
    body: Body,
) -> Answer {
    let (access, client) = access::project(&app, &credentials, project, Role::Writer).await?;
    drop(client);
    let request: FeedbackRequest = json(body).await?;
    let mut client = app.databases.primary().await?;
    Ok(Json(feedback::store(&app, &access, &mut client, request).await?).into_response())
}

async fn forget_records(
    State(app): Shared,
    Extension(credentials): Extension<Credentials>,
    Path(project): Path<i32>,
    body: Body,
) -> Answer {
    let (access, client) = access::project(&app, &credentials, project, Role::Maintainer).await?;
    drop(client);
    let request: ForgetRequest = json(body).await?;
    let mut client = app.databases.primary().await?;
    Ok(Json(forget::forget(&app, &access, &mut client, &request).await?).into_response())
}

/// The query of the audit log.
#[derive(Debug, Deserialize)]
struct AuditQuery {
    before: Option<i64>,
}

async fn audit(
    State(app): Shared,
    Extension(credentials): Extension<Credentials>,
    Path(project): Path<i32>,
    query: Result<Query<AuditQuery>, axum::extract::rejection::QueryRejection>,
) -> Answer {
    const ENTRIES: i64 = 200;
    let Query(query) = query.map_err(|error| Problem::bad(error.body_text()))?;
    let (access, client) = access::project(&app, &credentials, project, Role::Maintainer).await?;
    let before = query.before.unwrap_or(i64::MAX);
    let entries = sql::audit::entries(&client, access.space.id, before, ENTRIES).await?;
    Ok(Json(AuditAnswer { entries }).into_response())
}

async fn search_records(
    State(app): Shared,
    Extension(credentials): Extension<Credentials>,
    body: Body,
) -> Answer {
    let (caller, client) = access::caller(&app, &credentials).await?;
    drop(client);
    let request: SearchRequest = json(body).await?;
    let client = app.databases.primary().await?;
    Ok(Json(search::search(&app, &caller, client, request).await?).into_response())
}

/// Answers 304 if the client has this version.
fn tagged(headers: &HeaderMap, tag: &str, answer: impl FnOnce() -> Response) -> Response {
    let is_known = headers
        .get(IF_NONE_MATCH)
        .is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        answer()
    };
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(ETAG, tag);
    }
    response
}

fn stream(bytes: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, STREAM_TYPE)], bytes).into_response()
}

/// Reads a body of at most this size; `None` if it is larger.
async fn read(body: Body, most: usize) -> Result<Option<Vec<u8>>, Problem> {
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, most)).await {
        Err(_) => Err(Problem::bad("the body did not arrive in time")),
        Ok(Ok(bytes)) => Ok(Some(bytes.into())),
        Ok(Err(error)) if is_too_long(&error) => Ok(None),
        Ok(Err(_)) => Err(Problem::bad("the body could not be read")),
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(|cause| cause.to_string().contains("length limit"))
}

async fn json<T: DeserializeOwned>(body: Body) -> Result<T, Problem> {
    let bytes = read(body, limits::MAX_JSON_BYTES).await?.ok_or_else(|| {
        Problem::new(
            backstory_protocol::ErrorCode::TooLarge,
            format!("a request has at most {} bytes", limits::MAX_JSON_BYTES),
        )
    })?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Problem::bad(format!("the request cannot be read: {error}")))
}
