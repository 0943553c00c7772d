//! `/files?path=`: the memories that cite one file, or the most-cited files of each project.

use std::{cmp::Reverse, sync::Arc};

use axum::extract::{Query, State};
use backstory_recall::is_stale;
use backstory_store::{Project, Store};
use maud::{Markup, html};

use super::{
    card::MemoryCard,
    link,
    text::inline_text,
    view::{NavItem, Paged, Pairs, View, field, plural},
};
use crate::{problem::ApiError, project_scope::ProjectScope, server::Server};

/// Maximum number of memories shown for one file.
const MAX_MEMORIES: u32 = 60;

#[derive(Default)]
struct FilePage {
    path: String,
    project: Option<Project>,
    items: Vec<MemoryCard>,
    /// Other paths with the requested path as their suffix.
    similar: Vec<String>,
    /// Most-cited files by project; filled when no path was requested.
    busy: Vec<(Project, Vec<(String, u64)>)>,
}

impl FilePage {
    fn read(store: &Store, server: &Server, pairs: &Pairs) -> Result<Self, ApiError> {
        let Some(path) = field(pairs, "path") else {
            return Self::busy(store);
        };
        let path = path.trim_start_matches("./");
        let project = match ProjectScope::of(&server.engine, store, field(pairs, "project"), None)? {
            ProjectScope::Everywhere => None,
            ProjectScope::Project(project) => Some(project),
            ProjectScope::Nowhere => {
                return Ok(Self {
                    path: path.to_owned(),
                    ..Self::default()
                });
            }
        };
        let mut page = Self {
            items: history(store, server, project.as_ref(), path)?,
            path: path.to_owned(),
            project,
            ..Self::default()
        };
        if page.items.is_empty() {
            let mut similar = store.paths_ending(path, 30)?;
            similar.retain(|one| one != path);
            if let Some(matched) = unique_match(&similar, path) {
                page.items = history(store, server, page.project.as_ref(), matched)?;
                matched.clone_into(&mut page.path);
            }
            // The match may have no memories in this project.
            if page.items.is_empty() {
                path.clone_into(&mut page.path);
                page.similar = similar;
            }
        }
        Ok(page)
    }

    fn busy(store: &Store) -> Result<Self, ApiError> {
        const PROJECTS: usize = 8;
        let mut cards = store.projects()?;
        // The sort is stable: among equal counts the most recent project stays first.
        cards.sort_by_key(|card| Reverse(card.observations));
        let mut busy = Vec::new();
        for card in cards.into_iter().filter(|card| card.observations > 0) {
            let files = store.busy_files(&card.project, 10)?;
            if !files.is_empty() {
                let files = files.into_iter().map(|file| (file.path, file.memories)).collect();
                busy.push((card.project, files));
            }
            if busy.len() == PROJECTS {
                break;
            }
        }
        Ok(Self {
            busy,
            ..Self::default()
        })
    }

    fn show(&self, view: &View) -> Markup {
        html! {
            h1 { "Files" }
            form.search action="/files" {
                label.unseen for="path" { "Path or end of a path" }
                div.field {
                    input #path type="search" name="path" value=(self.path) placeholder="src/main.rs or main.rs"
                        autocomplete="off" data-search;
                    button { "Show history" }
                }
            }
            @if self.path.is_empty() { (self.show_busy()) } @else {
                h2.path { (inline_text(&self.path)) }
                p.meta {
                    @if let Some(project) = &self.project {
                        a href=(link::project(&project.id)) { (inline_text(&project.name)) }
                        a href=(link::file(&self.path, None)) { "in all projects" }
                    }
                    @if !self.items.is_empty() { span { (plural(self.items.len() as u64, "memory", "memories")) ", newest first" } }
                }
                @if self.items.is_empty() { (self.no_memories()) }
                ol.list { @for item in &self.items { (item.show(view, &html! {})) } }
            }
        }
    }

    fn no_memories(&self) -> Markup {
        html! {
            div.empty {
                @if self.similar.is_empty() {
                    p.lead { "No memories about this path." }
                    p.muted { "Paths are relative to the root of the repository." }
                } @else {
                    p.lead { "Several files match" }
                    ul { @for path in &self.similar { li { a.path href=(link::file(path, None)) { (inline_text(path)) } } } }
                }
            }
        }
    }

    fn show_busy(&self) -> Markup {
        html! {
            @if self.busy.is_empty() {
                div.empty { p.lead { "No memories about files yet." } p.muted { "Files appear here as your agent works on them." } }
            }
            @for (project, files) in &self.busy {
                section {
                    h2 { a href=(link::project(&project.id)) { (inline_text(&project.name)) } }
                    ol.ranks {
                        @for (path, memories) in files {
                            li data-item {
                                a.path href=(link::file(path, Some(&project.id))) { (inline_text(path)) }
                                span.number { (plural(*memories, "memory", "memories")) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Reads the memories that cite a path.
fn history(
    store: &Store,
    server: &Server,
    project: Option<&Project>,
    path: &str,
) -> Result<Vec<MemoryCard>, ApiError> {
    let mut items = Vec::new();
    for handle in store.file_history(project, path, MAX_MEMORIES)? {
        if let (Some(memory), false) = (store.memory(handle)?, server.pending_deletes.has(handle)) {
            items.push(MemoryCard {
                is_stale: is_stale(store, &memory)?,
                ..MemoryCard::new(&memory)
            });
        }
    }
    Ok(items)
}

/// Returns the one path that `end` identifies. A match on whole path components takes precedence over a partial name.
fn unique_match<'p>(paths: &'p [String], end: &str) -> Option<&'p str> {
    let is_whole_component =
        |path: &&String| path.strip_suffix(end).is_some_and(|start| start.ends_with('/'));
    let mut whole = paths.iter().filter(is_whole_component);
    match (whole.next(), whole.next(), paths) {
        (Some(only), None, _) | (None, None, [only]) => Some(only),
        _ => None,
    }
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View, Query(pairs): Query<Pairs>) -> Paged {
    let state = Arc::clone(&server);
    let page = server
        .stores
        .read(move |store| FilePage::read(store, &state, &pairs))
        .await?;
    let title = match page.path.is_empty() {
        true => "Files",
        false => page.path.as_str(),
    };
    Ok(view.page(title, NavItem::Files, &page.show(&view)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suffix_selects_a_file_only_if_it_is_unambiguous() {
        let matched = |paths: &[&str], end: &str| {
            let paths: Vec<String> = paths.iter().map(|&path| path.to_owned()).collect();
            unique_match(&paths, end).map(ToOwned::to_owned)
        };
        let found = Some("src/power.py".to_owned());
        assert_eq!(matched(&["src/power.py"], "power.py"), found);
        assert_eq!(matched(&["src/power.py", "src/superpower.py"], "power.py"), found);
        assert_eq!(matched(&["src/power.py"], "wer.py"), found);
        assert_eq!(matched(&["a/power.py", "b/power.py"], "power.py"), None);
        assert_eq!(matched(&["a/1power.py", "b/2power.py"], "power.py"), None);
        assert_eq!(matched(&[], "power.py"), None);
    }
}
