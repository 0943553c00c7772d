//! `/files?path=`: what is remembered of one file.

use std::sync::Arc;

use axum::extract::{Query, State};
use backstory_recall::is_stale;
use backstory_store::{Project, Store};
use maud::{Markup, html};

use super::{
    card::Item,
    link,
    text::said,
    view::{Here, Paged, Pairs, View, field, many},
};
use crate::{place, problem::Problem, server::Server};

/// So many memories of a file are shown.
const MOST: u32 = 60;

#[derive(Default)]
struct Page {
    path: String,
    project: Option<Project>,
    items: Vec<Item>,
    /// Other paths that end like it.
    similar: Vec<String>,
    /// Where nothing was asked: files that many memories speak of, by project.
    busy: Vec<(Project, Vec<(String, u64)>)>,
}

impl Page {
    fn read(store: &Store, server: &Server, pairs: &Pairs) -> Result<Self, Problem> {
        let Some(path) = field(pairs, "path") else {
            return Self::busy(store);
        };
        let path = path.trim_start_matches("./");
        let project = place::project(store, &server.outside, field(pairs, "project"), None)?;
        let mut items = Vec::new();
        for handle in store.file_history(project.as_ref(), path, MOST)? {
            if let (Some(card), false) = (store.card(handle)?, server.leaving.has(handle)) {
                items.push(Item {
                    is_stale: is_stale(store, &card)?,
                    ..Item::of_card(&card)
                });
            }
        }
        let mut similar = match items.is_empty() {
            true => store.paths_ending(path, 30)?,
            false => Vec::new(),
        };
        similar.retain(|one| one != path);
        Ok(Self {
            path: path.to_owned(),
            project,
            items,
            similar,
            busy: Vec::new(),
        })
    }

    fn busy(store: &Store) -> Result<Self, Problem> {
        const PROJECTS: usize = 4;
        let mut busy = Vec::new();
        for card in store.projects()?.into_iter().take(PROJECTS) {
            let files = store.busy_files(&card.project, 10)?;
            if !files.is_empty() {
                let files = files.into_iter().map(|file| (file.path, file.memories)).collect();
                busy.push((card.project, files));
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
                label.unseen for="path" { "Path of a file, or its end" }
                div.field {
                    input #path type="search" name="path" value=(self.path) placeholder="src/main.rs, or the end of a path"
                        autocomplete="off" data-search;
                    button { "Show its history" }
                }
            }
            @if self.path.is_empty() { (self.show_busy()) } @else {
                h2.path { (said(&self.path)) }
                p.meta {
                    @if let Some(project) = &self.project {
                        a href=(link::project(&project.id)) { (said(&project.name)) }
                        a href=(link::file(&self.path, None)) { "in all projects" }
                    }
                    @if !self.items.is_empty() { span { (many(self.items.len() as u64, "memory", "memories")) ", the latest first" } }
                }
                @if self.items.is_empty() { (self.nothing()) }
                ol.list { @for item in &self.items { (item.show(view, &html! {})) } }
            }
        }
    }

    fn nothing(&self) -> Markup {
        html! {
            div.empty {
                p.lead { "Nothing is remembered of this path." }
                @if self.similar.is_empty() {
                    p.muted { "Paths are counted from the root of the repository." }
                } @else {
                    p { "These end like it:" }
                    ul { @for path in &self.similar { li { a.path href=(link::file(path, None)) { (said(path)) } } } }
                }
            }
        }
    }

    fn show_busy(&self) -> Markup {
        html! {
            @if self.busy.is_empty() {
                div.empty { p.lead { "No memory names a file yet." } p.muted { "Files appear here as your agent works on them." } }
            }
            @for (project, files) in &self.busy {
                section {
                    h2 { a href=(link::project(&project.id)) { (said(&project.name)) } }
                    ol.ranks {
                        @for (path, memories) in files {
                            li data-item {
                                a.path href=(link::file(path, Some(&project.id))) { (said(path)) }
                                span.number { (many(*memories, "memory", "memories")) }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View, Query(pairs): Query<Pairs>) -> Paged {
    let at_hand = Arc::clone(&server);
    let page = server
        .stores
        .read(move |store| Page::read(store, &at_hand, &pairs))
        .await?;
    let title = match page.path.is_empty() {
        true => "Files",
        false => page.path.as_str(),
    };
    Ok(view.page(title, Here::Files, &page.show(&view)))
}
