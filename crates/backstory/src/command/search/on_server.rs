//! The part of a search that asks the team's server, and what it says when the server cannot answer.

use anyhow::{Context as _, Result};
use backstory_engine::{
    engine::Engine,
    team::{
        self,
        exchange::Exchange,
        identity,
        search::{ServerHits, ServerQuery},
    },
};
use backstory_recall::SearchHit;
use backstory_serve::api_types;
use backstory_store::Store;
use serde_json::{Value, json};

/// Searches the team's server.
pub(super) fn ask_server(
    engine: &Engine,
    store: Option<&Store>,
    query: &ServerQuery<'_>,
) -> Result<ServerHits> {
    identity::require_membership(engine)?;
    let exchange = Exchange::open(engine)?.context("this machine has not joined a server")?;
    team::search::search(engine, &exchange, store, query)
}

/// Tells the user what is missing from the server's answer, and returns the rest.
pub(super) fn reported(answer: Result<ServerHits>) -> ServerHits {
    let answer = answer.unwrap_or_else(|error| {
        anstream::eprintln!("Only this machine was searched: {error:#}");
        ServerHits::default()
    });
    if answer.refused > 0 {
        anstream::eprintln!(
            "{} of the server failed a check and are not shown",
            answer.refused
        );
    }
    answer
}

/// Returns the server's answer as JSON.
pub(super) fn server_json(answer: &Result<ServerHits>) -> Value {
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return json!({ "results": [], "error": format!("{error:#}") }),
    };
    let without_handle = |hit: &SearchHit| {
        let mut hit = json!(api_types::SearchHitJson::from(hit));
        // Handles are those of this machine, which does not have the memory.
        if let Some(fields) = hit.as_object_mut() {
            fields.remove("id");
        }
        hit
    };
    let results: Vec<Value> = answer.hits.iter().map(without_handle).collect();
    json!({ "results": results, "projects": answer.projects, "refused": answer.refused })
}
