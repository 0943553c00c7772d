//! The routes: one file for what belongs together.

pub(crate) mod change;
mod context;
mod events;
mod health;
pub(crate) mod list;
pub(crate) mod record;
pub(crate) mod search;
mod settings;

use std::{sync::Arc, time::Duration};

use axum::{
    Json, Router,
    body::{Body, Bytes, HttpBody, to_bytes},
    extract::{FromRequest, FromRequestParts, Request, State},
    http::{StatusCode, header::CONTENT_TYPE, request::Parts},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{access::wants_page, api::Api, login, problem::Problem, server::Server, viewer::problem_page};

pub(crate) use health::status;

/// The largest body that is read.
const MOST_BODY: usize = 8 << 20;

/// How long a body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(10);

/// Every route, and the document that describes those of the interface.
pub(crate) fn routes(version: &str) -> (Router<Arc<Server>>, Value) {
    let api = Api::new();
    let api = search::describe(health::describe(context::describe(api)));
    let api = settings::describe(events::describe(change::describe(list::describe(
        record::describe(api),
    ))));
    let api = api.route(
        "POST",
        "/api/login-link",
        |about| {
            about
                .says("Makes a link that logs a browser in, once")
                .body::<login::LinkWish>()
                .json::<login::Link>();
        },
        post(login::link),
    );
    let (router, description) = api.finish(version);
    let router = router
        .route("/login", get(login::login))
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so);
    (router, description)
}

async fn nowhere(State(server): State<Arc<Server>>, request: Request) -> Response {
    let problem = Problem::missing("there is nothing at this address");
    let (parts, _) = request.into_parts();
    match wants_page(&parts) {
        true => problem_page(&server, &parts, &problem).await,
        false => problem
            .hint("GET /api/openapi.json lists what there is")
            .into_response(),
    }
}

async fn not_so() -> Problem {
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this address does not know that method",
    )
    .hint("GET /api/openapi.json lists what there is")
}

/// A JSON body, read whole and checked.
pub(crate) struct Input<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Input<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        // A form of another page can send text, but no JSON by that name.
        let is_json = request.headers().get(CONTENT_TYPE).is_some_and(|kind| {
            let kind = kind.to_str().unwrap_or_default();
            kind.split(';')
                .next()
                .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
        });
        if !is_json {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                "the body must be JSON",
            )
            .hint("send `Content-Type: application/json`"));
        }
        let bytes = body(request.into_body()).await?;
        // A list would be read as fields in their order: nobody means that.
        if bytes.trim_ascii_start().first() != Some(&b'{') {
            return Err(Problem::bad("the body must be a JSON object"));
        }
        serde_json::from_slice(&bytes)
            .map(Self)
            .map_err(|error| Problem::bad(format!("the body is not what is expected: {error}")))
    }
}

/// Reads a body, if it is not too long and does not take too long.
pub(crate) async fn body(body: Body) -> Result<Bytes, Problem> {
    let too_large = || {
        Problem::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too_large",
            "the body is longer than 8 MB, or broke off",
        )
    };
    if body.size_hint().lower() > MOST_BODY as u64 {
        return Err(too_large());
    }
    match tokio::time::timeout(BODY_TIME, to_bytes(body, MOST_BODY)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "too_slow",
            "the body did not arrive within 10 seconds",
        )),
    }
}

/// What stands behind the question mark, checked.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(asked)| Self(asked))
            .map_err(|error| Problem::bad(error.body_text()))
    }
}

/// An answer in JSON.
type Answer<T> = Result<Json<T>, Problem>;
