//! Search on the team's server, for projects that this machine has no copies of.
//!
//! Only `backstory search --team` comes here, when a person asks: hooks, context and every other search read local copies.
//! The server finds candidates; they are verified and ranked here, by the same ranking as local memories.

use std::{collections::HashMap, time::Duration};

use anyhow::Result;
use backstory_model::ProjectIdentity;
use backstory_protocol::{Candidate, Embedding, Me, SearchRequest, SharedProject, SharedProjectId, limits};
use backstory_recall::{Corpus, ENCODER, Encoder, Query, SearchHit, Searcher, embed_query};
use backstory_store::{Filter, Scope, Store, TeamChange, TeamDevice};
use backstory_sync::{Inspection, inspect, received};
use backstory_text::search_terms;
use jiff::tz::TimeZone;

use super::exchange::Exchange;
use crate::engine::Engine;

/// Longest time for each of the two requests of a search: a person waits.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The answer of the team's server.
#[derive(Debug, Default)]
pub struct ServerHits {
    /// The best hits, with the names of their projects. Their handles mean nothing on this machine.
    pub hits: Vec<SearchHit>,
    /// Records that failed a check and are not shown.
    pub refused: usize,
    /// The projects that were searched, by name.
    pub projects: Vec<String>,
}

/// Describes a search on the server.
#[derive(Clone, Copy, Debug)]
pub struct ServerQuery<'q> {
    /// The question.
    pub text: &'q str,
    /// Conditions.
    pub filter: &'q Filter,
    /// The most hits.
    pub limit: usize,
    /// The time zone of the user.
    pub zone: &'q TimeZone,
}

/// Searches the projects of the account that are not on this machine. `store` is the local one, if there is one.
pub fn search(
    engine: &Engine,
    exchange: &Exchange<'_>,
    store: Option<&Store>,
    query: &ServerQuery<'_>,
) -> Result<ServerHits> {
    let server = exchange.server().within(TIMEOUT);
    let me = server.me()?;
    let projects = elsewhere(&me, store)?;
    if projects.is_empty() || query.text.trim().is_empty() {
        return Ok(ServerHits::default());
    }
    let mut terms = search_terms(query.text);
    terms.truncate(limits::MAX_SEARCH_TERMS);
    let vector = embed_query(&mut Encoder::new(), query.text);
    let answer = server.search(&SearchRequest {
        projects: projects.iter().map(|project| project.id).collect(),
        terms,
        embedding: Some(Embedding {
            scale: vector.scale,
            bytes: vector.bytes,
        }),
        encoder: Some(ENCODER.to_owned()),
    })?;
    let corpus = Corpus {
        documents: answer.documents,
        term_documents: answer.term_documents,
    };
    let mut found = ServerHits {
        projects: projects.iter().map(|project| project.name.clone()).collect(),
        ..ServerHits::default()
    };
    let mut candidates = Store::in_memory()?;
    let devices = devices(&me, store)?;
    for project in projects {
        let of_project = answer.candidates.iter().filter(|one| one.project == project.id);
        let changes: Vec<TeamChange> = of_project
            .filter_map(|candidate| {
                let change = verified(candidate, project, &devices);
                found.refused += usize::from(change.is_none());
                change
            })
            .collect();
        let identity = identity(project);
        candidates.apply_team_changes(&identity, &changes, None, engine.clock.timestamp())?;
    }
    found.hits = Searcher::of_candidates(&candidates, corpus)?.search(&Query {
        text: query.text,
        scope: Scope::Everywhere,
        filter: query.filter,
        limit: query.limit,
        now: engine.clock.timestamp(),
        zone: query.zone,
    })?;
    // Their files are in no working tree of this machine.
    found.hits.iter_mut().for_each(|hit| hit.is_stale = false);
    Ok(found)
}

/// Returns the projects that can be searched on the server and have no copies here.
fn elsewhere<'m>(me: &'m Me, store: Option<&Store>) -> Result<Vec<&'m SharedProject>> {
    let local: Vec<SharedProjectId> = match store {
        Some(store) => store
            .team_projects()?
            .into_iter()
            // A project that was never exchanged has no copies yet.
            .filter(|project| project.synced_at.is_some())
            .filter_map(|project| project.remote_id.map(SharedProjectId))
            .collect(),
        None => Vec::new(),
    };
    let is_elsewhere = |project: &&SharedProject| !project.encrypted && !local.contains(&project.id);
    Ok(me.projects.iter().filter(is_elsewhere).collect())
}

/// Returns the devices of all members. A key that is pinned here counts, whatever the server says.
fn devices(me: &Me, store: Option<&Store>) -> Result<HashMap<[u8; 16], TeamDevice>> {
    let mut devices = HashMap::new();
    for member in &me.members {
        for key in &member.devices {
            let pinned = match store {
                Some(store) => store.team_device(key.device.0)?,
                None => None,
            };
            let device = pinned.unwrap_or_else(|| TeamDevice {
                device_id: key.device.0,
                account_id: Some(member.account.0),
                name: backstory_text::one_line(&member.name, 80),
                public_key: key.public_key,
                is_trusted: true,
                pinned_at: backstory_model::Timestamp::EPOCH,
            });
            devices.insert(key.device.0, device);
        }
    }
    Ok(devices)
}

/// Returns a candidate in the form of the store; `None` if it fails a check.
fn verified(
    candidate: &Candidate,
    project: &SharedProject,
    devices: &HashMap<[u8; 16], TeamDevice>,
) -> Option<TeamChange> {
    let pulled = &candidate.record;
    let device = devices.get(&pulled.device.0)?;
    let keys: Vec<&str> = std::iter::once(&project.key)
        .chain(&project.aliases)
        .map(String::as_str)
        .collect();
    match inspect(&pulled.record, pulled.device, Some(device), &keys) {
        Inspection::Accepted(record) if device.account_id == Some(pulled.author.0) => {
            let record = received(&record, Some(device), None, None, ENCODER);
            Some(TeamChange::Put(Box::new(record)))
        }
        _ => None,
    }
}

fn identity(project: &SharedProject) -> ProjectIdentity {
    ProjectIdentity {
        key: project.key.clone(),
        name: project.name.clone(),
        root: String::new(),
        branch: None,
        worktree: None,
    }
}
