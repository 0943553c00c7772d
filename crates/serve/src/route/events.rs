//! Live events as a server-sent event stream.

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
use backstory_model::ChangeId;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio_stream::{StreamExt, wrappers::BroadcastStream};

use crate::{
    api::{Api, RouteSpecBuilder},
    extract::QueryParams,
    feed::{MAX_BATCH, SseEvent, health_event, queue_event, to_sse_event},
    problem::ApiError,
    server::Server,
};

/// Interval of keep-alive comments on an idle stream.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Position in the event stream.
#[derive(Debug, Deserialize, JsonSchema)]
struct EventQuery {
    /// Id of the last received event, for clients that cannot send the header `Last-Event-ID`.
    #[serde(alias = "lastEventId")]
    last_event_id: Option<i64>,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    ["/api/events", "/stream"].into_iter().fold(api, |api, path| {
        let about = |about: &mut RouteSpecBuilder<'_>| {
            about
                .summary(
                    "Stream live events: session_started, prompt, observation, summary, note, forgotten, \
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
    let last = header.or(query.last_event_id).map(ChangeId::new);
    // Subscribes before reading: changes committed in between arrive twice and are filtered by id.
    let (live, guard) = server.feed.listen();
    let state = Arc::clone(&server);
    let (missed, known) = server
        .stores
        .read(move |store| {
            let newest = store.last_change()?;
            let mut missed = vec![
                queue_event(store.queue(0)?, &state.engine),
                health_event(store, &state.engine)?,
            ];
            let changes = store.changes_after(last.unwrap_or(newest), MAX_BATCH)?;
            for change in &changes {
                missed.extend(to_sse_event(store, change)?);
            }
            // Further changes arrive through the feed, which starts here.
            let known = changes.last().map_or(newest, |change| change.id);
            Ok((missed, known))
        })
        .await?;
    server.feed.broadcast_after(known);
    let mut known = known;
    let live = BroadcastStream::new(live)
        // Ends when the subscriber falls behind, and at shutdown.
        .map_while(|event| event.ok().filter(|event| !event.is_end()))
        .filter(move |event| {
            let is_new = event.id.is_none_or(|id| id > known);
            known = event.id.unwrap_or(known).max(known);
            // Moved into the stream, so that the listener counts until the stream is dropped.
            let _counted = &guard;
            is_new
        });
    let stream = tokio_stream::iter(missed.into_iter().map(Arc::new)).chain(live);
    let stream = stream.map(|event| Ok::<Event, Infallible>(as_event(&event)));
    let sse = Sse::new(stream).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    Ok(([("x-accel-buffering", "no")], sse).into_response())
}

fn as_event(event: &SseEvent) -> Event {
    let sse = Event::default().event(&event.name).data(&event.data);
    match event.id {
        Some(id) => sse.id(id.to_string()),
        None => sse,
    }
}
