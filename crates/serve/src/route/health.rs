//! Health, metrics and the OpenAPI document.

use std::{fs, sync::Arc};

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};
use backstory_engine::counters::{headline, line};
use backstory_model::Timestamp;
use backstory_store::Spending;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{api::Api, api_types, extract::JsonResult, problem::ApiError, server::Server};

/// Liveness of the server.
#[derive(Debug, Serialize, JsonSchema)]
struct Liveness {
    /// Always `ok`.
    status: &'static str,
}

/// Health of the worker.
#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    /// `ok`, or `late` if the oldest event is more than 60 seconds old.
    status: &'static str,
    /// Pending events.
    pending: u64,
    /// Claimed events.
    processing: u64,
    /// Failed events.
    failed: u64,
    /// Age of the oldest unprocessed event.
    oldest_seconds: f64,
    /// Provider that distills.
    provider: String,
    /// Error of the provider; absent if there is none.
    provider_trouble: Option<String>,
    /// Version of the binary.
    version: &'static str,
    /// Uptime of the worker.
    uptime_seconds: u64,
    /// Number of live event subscribers.
    listeners: usize,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    api.route(
        "GET",
        "/health",
        |about| {
            about.summary("Liveness check").public().json::<Liveness>();
        },
        get(async || Json(Liveness { status: "ok" })),
    )
    .route(
        "GET",
        "/api/health",
        |about| {
            about.summary("Worker health").json::<Health>();
        },
        get(health),
    )
    .route(
        "GET",
        "/metrics",
        |about| {
            about
                .summary("Metrics in the Prometheus text format")
                .text("text/plain");
        },
        get(metrics),
    )
    .route(
        "GET",
        "/api/openapi.json",
        |about| {
            about
                .summary("This OpenAPI document")
                .json::<serde_json::Map<String, serde_json::Value>>();
        },
        get(async |State(server): State<Arc<Server>>| Json(server.description.clone())),
    )
}

async fn health(State(server): State<Arc<Server>>) -> JsonResult<Health> {
    let state = Arc::clone(&server);
    let (queue, trouble) = server
        .stores
        .read(move |store| {
            let spooled = state.engine.spooled();
            let queue = api_types::QueueJson::new(store.queue(0)?, spooled, state.now());
            let backoffs = store.provider_backoffs()?;
            let trouble = backoffs
                .first()
                .map(|backoff| format!("{}: {}", backoff.provider, backoff.reason));
            Ok((queue, trouble))
        })
        .await?;
    let settings = server.settings().await?;
    Ok(Json(Health {
        status: queue.status(),
        pending: queue.pending,
        processing: queue.processing,
        failed: queue.failed,
        oldest_seconds: queue.oldest_seconds,
        provider: settings["distill.provider"]["value"]
            .as_str()
            .unwrap_or("builtin")
            .to_owned(),
        provider_trouble: trouble,
        version: server.version,
        uptime_seconds: server.now().since(server.started_at).as_secs(),
        listeners: server.feed.listeners(),
    }))
}

async fn metrics(State(server): State<Arc<Server>>) -> Result<Response, ApiError> {
    let state = Arc::clone(&server);
    let (queue, spending) = server
        .stores
        .read(move |store| {
            let spooled = state.engine.spooled();
            let queue = api_types::QueueJson::new(store.queue(0)?, spooled, state.now());
            Ok((queue, store.spending(Timestamp::EPOCH, Timestamp::MAX)?))
        })
        .await?;
    let mut text = String::new();
    let mut gauge = |name: &str, about: &str, value: &dyn std::fmt::Display| {
        headline(&mut text, name, "gauge", about);
        line(&mut text, name, value);
    };
    gauge("backstory_queue_pending", "Pending events.", &queue.pending);
    gauge("backstory_queue_processing", "Claimed events.", &queue.processing);
    gauge("backstory_queue_failed", "Failed events.", &queue.failed);
    let about = "Age of the oldest unprocessed event.";
    gauge("backstory_queue_oldest_seconds", about, &queue.oldest_seconds);
    let about = "Size of the database and its WAL.";
    gauge("backstory_store_bytes", about, &store_bytes(&server));
    let about = "Resident memory of the worker.";
    gauge("backstory_resident_bytes", about, &resident_bytes().unwrap_or(0));
    let about = "Live event subscribers.";
    gauge("backstory_listeners", about, &server.feed.listeners());
    server.counters.write(&mut text);
    write_spending(&mut text, &spending);
    Ok((
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")],
        text,
    )
        .into_response())
}

fn write_spending(text: &mut String, spending: &[Spending]) {
    headline(text, "backstory_model_tokens_total", "counter", "Model tokens.");
    for one in spending {
        for (direction, tokens) in [("in", one.tokens_in), ("out", one.tokens_out)] {
            let (provider, model) = (label(&one.provider), label(&one.model));
            let name = "backstory_model_tokens_total";
            line(
                text,
                &format!("{name}{{provider=\"{provider}\",model=\"{model}\",direction=\"{direction}\"}}"),
                tokens,
            );
        }
    }
}

/// Escapes a label value.
fn label(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', " ")
}

fn store_bytes(server: &Server) -> u64 {
    let database = server.stores.database();
    let mut wal = database.as_os_str().to_owned();
    wal.push("-wal");
    let size = |path: &std::path::Path| fs::metadata(path).map_or(0, |file| file.len());
    size(&database) + size(wal.as_ref())
}

/// Returns the resident memory of this process, on systems with `/proc`.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
