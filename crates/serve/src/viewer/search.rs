//! `/search`: hybrid search with filters, and the reason for each match.

use std::{sync::Arc, time::Instant};

use axum::extract::{Query, State};
use backstory_model::{EvidenceKind, MemoryKind, ObservationType};
use backstory_recall::{self as recall, SearchHit, Searcher, matches};
use backstory_store::{Filter, PageCursor, Scope, Store, terms};
use maud::{Markup, html};
use serde_json::{Map, Value};

use super::{
    card::MemoryCard,
    link, plot,
    search_facets::Facets,
    text::{diff, inline_text, marked},
    view::{NavItem, Paged, Pairs, View, field, plural, sentence},
};
use crate::{problem::ApiError, project_scope::ProjectScope, route::search::WireFilter, server::Server};

/// Number of results that the filter chips count.
const COUNTED: usize = 60;

/// Number of hits per page, and the last position that paging reaches.
const PAGE_SIZE: usize = 20;
const MAX_OFFSET: usize = 300;

const CONCEPTS: [&str; 7] = [
    "how-it-works",
    "why-it-exists",
    "what-changed",
    "problem-solution",
    "gotcha",
    "pattern",
    "trade-off",
];

const FILTERS: [&str; 8] = [
    "project", "kind", "type", "concept", "file", "session", "since", "until",
];

/// One page of search results.
#[derive(Default)]
struct SearchResults {
    items: Vec<(MemoryCard, Option<MatchReason>)>,
    /// URL of the next page.
    next: Option<String>,
    took_ms: f64,
    /// Words of the query's subject; none in a list by time or state.
    words: Vec<String>,
    /// Share of memories in the semantic index, from 0 to 1.
    coverage: f64,
    facets: Facets,
}

/// Evidence that a memory matches the query.
struct MatchReason {
    snippet: String,
    /// Matching lines of a change to a file, instead of a snippet: a diff in one line cannot be read.
    changed: Option<String>,
    /// Query words that the memory contains.
    words: Vec<String>,
    /// Names of the fields that contain them.
    fields: Vec<&'static str>,
    score: f64,
}

impl MatchReason {
    fn new(hit: &SearchHit, query: &[String]) -> Self {
        let fields = hit.memory.fields();
        let parts = [
            ("title", &fields.title),
            ("subtitle", &fields.subtitle),
            ("facts", &fields.facts),
            ("text", &fields.narrative),
            ("files", &fields.files),
        ];
        let has_word = |text: &str, word: &String| !matches(text, std::slice::from_ref(word)).is_empty();
        let all = fields.text();
        let words: Vec<String> = query
            .iter()
            .filter(|word| has_word(&all, word))
            .cloned()
            .collect();
        let matching = parts
            .into_iter()
            .filter(|(_, text)| words.iter().any(|word| has_word(text, word)));
        let is_change = hit.memory.record.type_name.as_deref() == Some(EvidenceKind::Edit.name());
        let text = hit.memory.record.text.as_deref().filter(|_| is_change);
        Self {
            snippet: hit.snippet.clone(),
            changed: text.map(|text| matching_lines(text, &words)),
            fields: matching.map(|(name, _)| name).collect(),
            words,
            score: hit.score,
        }
    }

    fn show(&self, query: &[String]) -> Markup {
        let percent = format!("{:.0} %", self.score * 100.0);
        html! {
            @if let Some(changed) = &self.changed { (diff(changed)) }
            @else if !self.snippet.is_empty() { p.more { (marked(&self.snippet, &matches(&self.snippet, query))) } }
            @if !query.is_empty() { p.why {
                (plot::share(self.score, &format!("relevance {percent}")))
                span { (percent) }
                @if self.words.is_empty() {
                    span { "semantic match only" }
                } @else {
                    span {
                        "matches " @for (at, word) in self.words.iter().enumerate() { @if at > 0 { ", " } b { (inline_text(word)) } }
                        " in " (self.fields.join(", "))
                        @if self.words.len() < query.len() { "; other words match semantically" }
                    }
                }
            } }
        }
    }
}

/// Returns the first lines of a change that have a word of the query, else its first changed lines.
fn matching_lines(text: &str, words: &[String]) -> String {
    const MAX_LINES: usize = 4;
    let body = || text.lines().skip(1).filter(|line| !line.trim().is_empty());
    let mut lines: Vec<&str> = body()
        .filter(|line| !matches(line, words).is_empty())
        .take(MAX_LINES)
        .collect();
    if lines.is_empty() {
        lines = body()
            .filter(|line| line.starts_with(['+', '-']))
            .take(MAX_LINES)
            .collect();
    }
    lines.join("\n")
}

/// Reads the filters of a form; unset filters are empty strings.
fn read_filter(server: &Server, pairs: &Pairs) -> Result<(Filter, Option<String>), ApiError> {
    let filters: Map<String, Value> = FILTERS
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), field(pairs, name)?.into())))
        .collect();
    let wire: WireFilter =
        serde_json::from_value(Value::Object(filters)).map_err(|error| ApiError::bad(error.to_string()))?;
    Ok((wire.read(&server.engine)?, wire.project))
}

fn find(store: &Store, server: &Server, pairs: &Pairs) -> Result<SearchResults, ApiError> {
    let (filter, named) = read_filter(server, pairs)?;
    let scope = ProjectScope::of(&server.engine, store, named.as_deref(), None)?;
    let (scope, project) = match &scope {
        ProjectScope::Everywhere => (Scope::Everywhere, None),
        ProjectScope::Project(project) => (Scope::Project(project), Some(project)),
        ProjectScope::Nowhere => return Ok(SearchResults::default()),
    };
    let start = Instant::now();
    let mut found = match field(pairs, "q") {
        Some(text) => by_question(store, server, pairs, text, scope, &filter)?,
        None => {
            let kinds: &[MemoryKind] = match filter.kind {
                Some(MemoryKind::Passage) => &[MemoryKind::Passage],
                Some(MemoryKind::Prompt) => &[MemoryKind::Prompt],
                // Summaries begin with the prompt.
                _ => &[MemoryKind::Observation, MemoryKind::Summary, MemoryKind::Note],
            };
            let after: Option<PageCursor> = field(pairs, "after").and_then(|text| text.parse().ok());
            let page = store.page(kinds, project, &filter, after, PAGE_SIZE)?;
            let items = page.memories.iter();
            let counted = store.page(kinds, project, &filter, None, COUNTED)?;
            SearchResults {
                facets: Facets::count(counted.memories.iter()),
                items: items.map(|memory| (MemoryCard::new(memory), None)).collect(),
                next: page.next.map(|next| next_page(pairs, &next.to_string())),
                ..SearchResults::default()
            }
        }
    };
    found
        .items
        .retain(|(item, _)| !server.pending_deletes.has(item.handle));
    found.took_ms = start.elapsed().as_secs_f64() * 1000.0;
    Ok(found)
}

fn by_question(
    store: &Store,
    server: &Server,
    pairs: &Pairs,
    text: &str,
    scope: Scope<'_>,
    filter: &Filter,
) -> Result<SearchResults, ApiError> {
    let skip: usize = field(pairs, "after")
        .and_then(|text| text.parse().ok())
        .unwrap_or(0)
        .min(MAX_OFFSET);
    let question = recall::Query {
        text,
        scope,
        filter,
        limit: (skip + PAGE_SIZE + 1).max(COUNTED),
        now: server.now(),
        zone: &server.engine.zone(),
    };
    let hits = Searcher::new(store, &server.stores.vectors())?.search(&question)?;
    let query = words(server, text);
    let items = hits.iter().skip(skip).take(PAGE_SIZE).map(|hit| {
        let item = MemoryCard {
            is_stale: hit.is_stale,
            more: None,
            words: query.clone(),
            ..MemoryCard::new(&hit.memory)
        };
        (item, Some(MatchReason::new(hit, &query)))
    });
    let more = hits.len() > skip + PAGE_SIZE && skip + PAGE_SIZE <= MAX_OFFSET;
    Ok(SearchResults {
        items: items.collect(),
        next: more.then(|| next_page(pairs, &(skip + PAGE_SIZE).to_string())),
        coverage: store.coverage()?.share(),
        words: query.clone(),
        facets: Facets::count(hits.iter().take(COUNTED).map(|hit| &hit.memory)),
        ..SearchResults::default()
    })
}

/// Returns the words of the subject of a query.
fn words(server: &Server, text: &str) -> Vec<String> {
    let subject = recall::Question::parse(text, server.now(), &server.engine.zone()).subject;
    terms(&subject).into_iter().map(|term| term.word).collect()
}

fn next_page(pairs: &Pairs, after: &str) -> String {
    let mut all: Vec<(&str, &str)> = pairs
        .iter()
        .filter(|(name, _)| name != "after")
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    all.push(("after", after));
    link::with_query("/search", &all)
}

fn form(pairs: &Pairs, projects: &[(String, String)]) -> Markup {
    let value = |name: &str| field(pairs, name).unwrap_or_default().to_owned();
    // The chips show the others.
    let has_field_filter = ["concept", "file", "session"]
        .iter()
        .any(|name| field(pairs, name).is_some());
    let kinds = MemoryKind::ALL.map(MemoryKind::name);
    let types = ObservationType::ALL.map(ObservationType::name);
    let choice = |name: &str, label: &str, options: &[&str]| {
        html! {
            label { span { (label) }
                select name=(name) {
                    option value="" { "any" }
                    @for option in options { option value=(option) selected[value(name) == *option] { (option) } }
                }
            }
        }
    };
    html! {
        form.search role="search" aria-label="Search with filters" action="/search" data-auto="results" {
            label.unseen for="q" { "Search query" }
            div.field {
                input #q type="search" name="q" value=(value("q")) placeholder="Words, a question, an error message, a file…"
                    autocomplete="off" data-search autofocus;
                button { "Search" }
            }
            details.filters open[has_field_filter] {
                summary { "More filters" }
                div.grid {
                    label { span { "Project" }
                        select name="project" {
                            option value="" { "all" }
                            @for (id, name) in projects { option value=(id) selected[value("project") == *id] { (name) } }
                        }
                    }
                    (choice("kind", "Kind", &kinds))
                    (choice("type", "Type", &types))
                    (choice("concept", "Concept", &CONCEPTS))
                    label { span { "File" } input name="file" value=(value("file")) placeholder="src/main.rs"; }
                    label { span { "Session" } input name="session" value=(value("session")) placeholder="start of its id"; }
                }
                p { a href="/search" { "Clear all" } }
            }
            div.dates { (date("since", "From", &value("since"))) (date("until", "to", &value("until"))) }
        }
    }
}

/// Renders a date picker. A value that is not a date, such as `7d`, stays editable as text.
fn date(name: &str, label: &str, value: &str) -> Markup {
    let is_date = value.is_empty() || value.parse::<jiff::civil::Date>().is_ok();
    html! {
        label { span { (label) } input type=(if is_date { "date" } else { "text" }) name=(name) value=(value); }
    }
}

fn results(view: &View, pairs: &Pairs, projects: &[(String, String)], found: &SearchResults) -> Markup {
    let question = field(pairs, "q").filter(|_| !found.words.is_empty());
    html! {
        (found.facets.show(pairs, projects))
        @if found.items.is_empty() { (no_results(pairs)) } @else {
            p.meta role="status" {
                @if question.is_some() {
                    span { (plural(found.items.len() as u64, "memory", "memories")) @if found.next.is_some() { " and more" } }
                    span { "best first" }
                    span { (format!("{:.1} ms", found.took_ms)) }
                    @if found.coverage < 0.999 { span { (format!("semantic index {:.0} % complete", found.coverage * 100.0)) } }
                } @else { span { "newest first" } }
            }
        }
        ol.list {
            @for (item, why) in &found.items {
                @let below = why.as_ref().map(|why| why.show(&found.words)).unwrap_or_default();
                (item.show(view, &below))
            }
        }
        @if let Some(next) = &found.next { p { a.button.quiet href=(next) { "More" } } }
    }
}

fn no_results(pairs: &Pairs) -> Markup {
    let is_filtered = FILTERS.iter().any(|name| field(pairs, name).is_some());
    let without: Vec<(&str, &str)> = field(pairs, "q").map(|q| ("q", q)).into_iter().collect();
    html! {
        div.empty {
            p.lead { "No results." }
            @if is_filtered {
                p { a href=(link::with_query("/search", &without)) { "Search without filters" } }
            } @else {
                p.muted { "Try other words. Search matches meaning and prefixes." }
            }
        }
    }
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View, Query(pairs): Query<Pairs>) -> Paged {
    let (state, fields) = (Arc::clone(&server), pairs.clone());
    let (projects, found) = server
        .stores
        .read(move |store| {
            let mut projects: Vec<(String, String)> = store.project_names()?.into_iter().collect();
            projects.sort_by(|one, other| one.1.cmp(&other.1).then(one.0.cmp(&other.0)));
            let found = find(store, &state, &fields);
            if let Ok(found) = &found
                && field(&fields, "q").is_some()
            {
                state
                    .counters
                    .searched(std::time::Duration::from_secs_f64(found.took_ms / 1000.0));
            }
            Ok((projects, found))
        })
        .await?;
    let title = field(&pairs, "q").map_or_else(|| "Search".to_owned(), |q| format!("{q} · Search"));
    let main = html! {
        h1 { "Search" }
        (form(&pairs, &projects))
        div #results aria-live="polite" {
            @match &found {
                Ok(found) => (results(&view, &pairs, &projects, found)),
                // An invalid filter is reported next to the form, where it can be corrected.
                Err(problem) => { div.notice.warn { p { (inline_text(&sentence(&problem.message))) } } }
            }
        }
    };
    Ok(view.page(&title, NavItem::Search, &main))
}
