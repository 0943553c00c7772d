//! Lists memories for a query without a subject: by filter, by time, or by the state of the work.
//!
//! A list has memories, notes and one hand-over per session; raw evidence only if the filter asks for it.

use std::collections::HashSet;

use backstory_model::{EvidenceKind, Handle, MemoryKind, ObservationType, Timestamp};
use backstory_store::{Filter, Memory, Project, Scope, Store, StoreError, Summary};

use crate::{
    context::{ContextRequest, MAX_SUMMARIES, open_work},
    hit::{Query, SearchHit},
    question::{Question, WorkState},
    snippet::{matches, snippet},
    staleness::is_stale,
};

/// Lists what a question without a subject asks for.
pub(crate) fn list(
    store: &Store,
    query: &Query<'_>,
    question: &Question,
    filter: &Filter,
) -> Result<Vec<SearchHit>, StoreError> {
    match question.state {
        Some(WorkState::Open) => open_steps(store, query, filter, &[]),
        Some(WorkState::Stopped) => by_kind(store, query, filter, &[MemoryKind::Summary]),
        Some(WorkState::Decided) => {
            let decisions = Filter {
                observation_type: filter.observation_type.or(Some(ObservationType::Decision)),
                ..filter.clone()
            };
            by_kind(store, query, &decisions, MEMORIES)
        }
        // A question about a time is about sessions: their hand-overs come before single memories.
        None if !query.text.trim().is_empty() => {
            let mut hits = by_kind(store, query, filter, &[MemoryKind::Summary])?;
            let rest = Query {
                limit: query.limit.saturating_sub(hits.len()),
                ..*query
            };
            hits.extend(by_kind(
                store,
                &rest,
                filter,
                &[MemoryKind::Observation, MemoryKind::Note],
            )?);
            Ok(hits)
        }
        None => by_kind(store, query, filter, MEMORIES),
    }
}

const MEMORIES: &[MemoryKind] = &[MemoryKind::Observation, MemoryKind::Summary, MemoryKind::Note];

/// Lists the newest memories of some kinds, or of the kind that the filter names.
fn by_kind(
    store: &Store,
    query: &Query<'_>,
    filter: &Filter,
    kinds: &[MemoryKind],
) -> Result<Vec<SearchHit>, StoreError> {
    const PAGE: usize = 100;
    let named = filter.kind.map(|kind| [kind]);
    let kinds = named.as_ref().map_or(kinds, |kind| kind.as_slice());
    let project = match query.scope {
        Scope::Project(project) => Some(project),
        Scope::Everywhere => None,
    };
    let mut sessions = HashSet::new();
    let mut hits = Vec::new();
    let mut after = None;
    while hits.len() < query.limit {
        let page = store.page(kinds, project, filter, after, PAGE)?;
        for memory in page.memories {
            // Every pause of a session has a summary; the last one is its hand-over.
            let is_handover = memory.handle.kind != MemoryKind::Summary
                || memory
                    .record
                    .session_id
                    .as_ref()
                    .is_none_or(|session| sessions.insert(session.clone()));
            if is_handover && hits.len() < query.limit {
                hits.push(listed(store, memory, None)?);
            }
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    Ok(hits)
}

/// Lists open work, the latest first; with words of a subject only steps that have one of them.
pub(crate) fn open_steps(
    store: &Store,
    query: &Query<'_>,
    filter: &Filter,
    words: &[String],
) -> Result<Vec<SearchHit>, StoreError> {
    let projects: Vec<Project> = match query.scope {
        Scope::Project(project) => vec![project.clone()],
        Scope::Everywhere => store.projects()?.into_iter().map(|card| card.project).collect(),
    };
    let mut hits = Vec::new();
    for project in &projects {
        let summaries: Vec<Summary> = store.latest_summaries(project, MAX_SUMMARIES)?;
        let request = ContextRequest {
            project,
            branch: None,
            compacted_session: None,
            is_withheld: false,
            now: query.now,
        };
        for open in open_work(&summaries, None, &request, query.limit) {
            let at = open.summary.created_at;
            let steps = open.text();
            let is_within =
                filter.since.is_none_or(|since| at >= since) && filter.until.is_none_or(|until| at <= until);
            let request = open.summary.request.as_deref().unwrap_or_default();
            let is_about =
                words.is_empty() || !matches(&steps, words).is_empty() || !matches(request, words).is_empty();
            let handle = Handle {
                kind: MemoryKind::Summary,
                id: open.summary.id,
            };
            if is_within
                && is_about
                && let Some(memory) = store.memory(handle)?
            {
                hits.push(listed(store, memory, Some(format!("Open: {steps}")))?);
            }
        }
    }
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.memory.created_at));
    hits.truncate(query.limit);
    Ok(hits)
}

fn listed(store: &Store, memory: Memory, shown: Option<String>) -> Result<SearchHit, StoreError> {
    Ok(SearchHit {
        score: 1.0,
        snippet: shown.unwrap_or_else(|| snippet(&body(&memory), &[])),
        is_stale: is_stale(store, &memory)?,
        memory,
    })
}

/// Returns the text of a memory from which a snippet is taken: all that its title does not say.
pub(crate) fn body(memory: &Memory) -> String {
    let fields = memory.fields();
    let text = match memory.handle.kind {
        MemoryKind::Summary => [fields.facts, fields.narrative],
        _ => [fields.narrative, fields.facts],
    };
    let text = text.join("\n");
    [text, fields.subtitle, fields.title]
        .into_iter()
        .find(|text| !text.trim().is_empty())
        .unwrap_or_default()
}

/// Returns the time of the latest release in a scope, as far as commits and commands show it.
pub(crate) fn last_release(store: &Store, scope: Scope<'_>) -> Result<Option<Timestamp>, StoreError> {
    const MAX_READ: usize = 300;
    let words = store.match_terms(scope, "release publish tag version")?;
    let mut documents: Vec<_> = words
        .iter()
        .flat_map(|word| word.documents.iter().map(|(document, _)| *document))
        .collect();
    documents.sort_unstable();
    documents.dedup();
    let mut latest = None;
    // The highest numbers are the newest of a project.
    for document in documents.into_iter().rev().take(MAX_READ) {
        if let Some(memory) = store.memory_of_document(document)?
            && is_release(&memory)
        {
            latest = latest.max(Some(memory.created_at));
        }
    }
    Ok(latest)
}

/// Reports whether a memory shows that a version was released: a command that publishes, or a commit or title that names a
/// version and the release of it.
fn is_release(memory: &Memory) -> bool {
    const COMMANDS: &[&str] = &[
        "git tag v",
        "git tag -a",
        "git tag -s",
        "gh release create",
        "cargo publish",
        "npm publish",
        "pnpm publish",
        "yarn publish",
        "poetry publish",
        "uv publish",
        "twine upload",
        "goreleaser release",
    ];
    let fields = memory.fields();
    let evidence = memory
        .record
        .type_name
        .as_deref()
        .and_then(EvidenceKind::from_name);
    let first_line = |text: &str| text.trim().lines().next().unwrap_or_default().to_lowercase();
    match (memory.handle.kind, evidence) {
        (MemoryKind::Passage, Some(EvidenceKind::Command)) => {
            let line = first_line(&fields.narrative);
            COMMANDS.iter().any(|command| line.contains(command)) && !line.contains("--dry-run")
        }
        (MemoryKind::Passage, Some(EvidenceKind::Commit)) => names_release(&first_line(&fields.narrative)),
        (MemoryKind::Observation, _) => names_release(&first_line(&fields.title)),
        _ => false,
    }
}

/// Reports whether a line in lower case names a version and its release.
fn names_release(line: &str) -> bool {
    let is_version = |word: &str| {
        let word = word.trim_matches(|letter: char| !letter.is_alphanumeric());
        let number = word.strip_prefix('v').unwrap_or(word);
        number.split('.').count() >= 2
            && number
                .split('.')
                .all(|part| part.starts_with(|digit: char| digit.is_ascii_digit()))
    };
    let has = |names: &[&str]| backstory_text::words(line).any(|word| names.contains(&word));
    line.split_whitespace().any(is_version)
        && has(&[
            "release",
            "released",
            "releases",
            "publish",
            "published",
            "bump",
            "tag",
        ])
        || line
            .split_whitespace()
            .next()
            .is_some_and(|word| word.starts_with('v') && is_version(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_names_its_version() {
        for line in [
            "release 1.4.0",
            "chore(release): v2.0.1",
            "v0.3.0",
            "bump version to 1.2",
            "released v1.0.0 on the registry",
        ] {
            assert!(names_release(line), "{line}");
        }
        for line in [
            "fix the release notes",
            "update to tokio 1.38",
            "release the lock earlier",
            "version the cache",
        ] {
            assert!(!names_release(line), "{line}");
        }
    }
}
