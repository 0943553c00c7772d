//! Live events as a stream.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    extract::State,
    http::HeaderMap,
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
    routing::get,
};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_stream::{StreamExt, wrappers::BroadcastStream};

use super::QueryParams;
use crate::{
    api::{Api, RouteSpecBuilder},
    feed::{MAX_BATCH, SseEvent, health_told, queue_told, to_sse_event},
    problem::ApiError,
    server::Server,
};

/// How often a silent stream shows that it lives.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Where to go on.
#[derive(Debug, Deserialize, JsonSchema)]
struct EventQuery {
    /// The last event that was received, where the header `Last-Event-ID` cannot be sent.
    #[serde(alias = "lastEventId")]
    last_event_id: Option<i64>,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    ["/api/events", "/stream"].into_iter().fold(api, |api, path| {
        let about = |about: &mut RouteSpecBuilder<'_>| {
            about
                .says(
                    "Tells what happens, as it happens: session_started, prompt, observation, summary, note, forgotten, \
                    session_completed, queue, health",
                )
                .query::<EventQuery>()
                .text("text/event-stream");
        };
        api.route("GET", path, about, get(events))
    })
}

async fn events(
    State(server): State<Arc<Server>>,
    headers: HeaderMap,
    QueryParams(query): QueryParams<EventQuery>,
) -> Result<Response, ApiError> {
    let header = headers
        .get("last-event-id")
        .and_then(|id| id.to_str().ok()?.parse().ok());
    let last: Option<i64> = header.or(query.last_event_id);
    // Listens before it reads: what is committed in between is told twice, and known by its number.
    let (live, listening) = server.feed.listen();
    let state = Arc::clone(&server);
    let (missed, known) = server
        .stores
        .read(move |store| {
            let newest = store.last_change()?;
            let mut missed = vec![
                queue_told(store.queue(0)?, &state.outside),
                health_told(store, &state.outside)?,
            ];
            let changes = store.changes_after(last.unwrap_or(newest), MAX_BATCH)?;
            for change in &changes {
                missed.extend(to_sse_event(store, change)?);
            }
            // What did not fit comes by the feed, which begins there.
            let known = changes.last().map_or(newest, |change| change.id);
            Ok((missed, known))
        })
        .await?;
    server.feed.begin(known);
    let mut known = known;
    let live = BroadcastStream::new(live)
        // One that does not keep up is let go, and all are when the server ends.
        .map_while(|told| told.ok().filter(|told| !told.is_end()))
        .filter(move |told| {
            let is_new = told.id.is_none_or(|id| id > known);
            known = told.id.unwrap_or(known).max(known);
            // Held as long as the stream: the listener counts until it is gone.
            let _counted = &listening;
            is_new
        });
    let stream = tokio_stream::iter(missed.into_iter().map(Arc::new)).chain(live);
    let stream = stream.map(|told| Ok::<Event, Infallible>(as_event(&told)));
    let sse = Sse::new(stream).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    Ok(([("x-accel-buffering", "no")], sse).into_response())
}

fn as_event(told: &SseEvent) -> Event {
    let event = Event::default().event(&told.name).data(&told.data);
    match told.id {
        Some(id) => event.id(id.to_string()),
        None => event,
    }
}
