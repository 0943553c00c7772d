//! How the worker is, for people and for machines.

use std::{fs, sync::Arc};

use axum::{
    Json,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
    routing::get,
};
use backstory_store::Spending;
use schemars::JsonSchema;
use serde::Serialize;

use super::JsonResult;
use crate::{
    api::Api,
    api_types,
    counters::{headline, line},
    problem::ApiError,
    server::Server,
};

/// The oldest event may be this old in a worker that is well.
const OLD_SECONDS: f64 = 60.0;

/// Says whether the worker is well: only if what came in is young.
pub(crate) fn status(queue: &api_types::QueueJson) -> &'static str {
    match queue.oldest_seconds > OLD_SECONDS {
        true => "late",
        false => "ok",
    }
}

/// Whether there is anyone.
#[derive(Debug, Serialize, JsonSchema)]
struct Liveness {
    /// ok.
    status: &'static str,
}

/// How the worker is.
#[derive(Debug, Serialize, JsonSchema)]
struct Health {
    /// ok, or late when the oldest event waits for more than a minute.
    status: &'static str,
    /// Events that wait.
    pending: u64,
    /// Events in work.
    processing: u64,
    /// Events that were given up.
    failed: u64,
    /// The age of the oldest event that is not processed.
    oldest_seconds: f64,
    /// Who writes the memories.
    provider: String,
    /// What is wrong with the model's provider; absent when all is well.
    provider_trouble: Option<String>,
    /// The version of the program.
    version: &'static str,
    /// How long the worker has lived.
    uptime_seconds: i64,
    /// How many listen to live events.
    listeners: usize,
}

pub(super) fn describe(api: Api<Arc<Server>>) -> Api<Arc<Server>> {
    api.route(
        "GET",
        "/health",
        |about| {
            about
                .says("Says that the server is there, and no more")
                .open()
                .json::<Liveness>();
        },
        get(async || Json(Liveness { status: "ok" })),
    )
    .route(
        "GET",
        "/api/health",
        |about| {
            about.says("Says how the worker is").json::<Health>();
        },
        get(health),
    )
    .route(
        "GET",
        "/metrics",
        |about| {
            about
                .says("Gives the state of the worker in Prometheus' text form")
                .text("text/plain");
        },
        get(metrics),
    )
    .route(
        "GET",
        "/api/openapi.json",
        |about| {
            about
                .says("Describes the interface")
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
            let spooled = (state.outside.spooled)();
            let queue = api_types::QueueJson::new(store.queue(0)?, spooled, state.now_ms());
            let pauses = store.provider_pauses()?;
            let trouble = pauses
                .first()
                .map(|pause| format!("{}: {}", pause.provider, pause.reason));
            Ok((queue, trouble))
        })
        .await?;
    let settings = server.settings().await?;
    Ok(Json(Health {
        status: status(&queue),
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
        uptime_seconds: (server.now_ms() - server.started_ms).max(0) / 1000,
        listeners: server.feed.listeners(),
    }))
}

async fn metrics(State(server): State<Arc<Server>>) -> Result<Response, ApiError> {
    let state = Arc::clone(&server);
    let (queue, spending) = server
        .stores
        .read(move |store| {
            let spooled = (state.outside.spooled)();
            let queue = api_types::QueueJson::new(store.queue(0)?, spooled, state.now_ms());
            Ok((queue, store.spending(0, i64::MAX)?))
        })
        .await?;
    let mut text = String::new();
    let mut gauge = |name: &str, about: &str, value: &dyn std::fmt::Display| {
        headline(&mut text, name, "gauge", about);
        line(&mut text, name, value);
    };
    gauge("backstory_queue_pending", "Events that wait.", &queue.pending);
    gauge("backstory_queue_processing", "Events in work.", &queue.processing);
    gauge(
        "backstory_queue_failed",
        "Events that were given up.",
        &queue.failed,
    );
    let about = "Age of the oldest event that is not processed.";
    gauge("backstory_queue_oldest_seconds", about, &queue.oldest_seconds);
    let about = "Size of the database and its log.";
    gauge("backstory_store_bytes", about, &store_bytes(&server));
    let about = "Memory that the worker holds.";
    gauge("backstory_resident_bytes", about, &resident_bytes().unwrap_or(0));
    let about = "Listeners to live events.";
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
    headline(
        text,
        "backstory_model_tokens_total",
        "counter",
        "Tokens that models took.",
    );
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

/// A value between quotes.
fn label(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', " ")
}

fn store_bytes(server: &Server) -> u64 {
    let database = server.stores.database();
    let mut log = database.as_os_str().to_owned();
    log.push("-wal");
    let size = |path: &std::path::Path| fs::metadata(path).map_or(0, |file| file.len());
    size(database) + size(log.as_ref())
}

/// Reads how much memory this process holds, where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}
