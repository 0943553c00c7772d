//! Open items with a box to tick each of them off, and the form behind it.
//!
//! Every box is a form of its own, so that it works without the script; the script only saves the reload. A ticked item stays
//! in the list for a day, where the same box opens it again.

use std::{sync::Arc, time::Duration};

use axum::{
    extract::{Form, State},
    response::{IntoResponse as _, Redirect},
};
use backstory_model::{Handle, Handover, OpenItemKey, Timestamp};
use backstory_recall::{ContextRequest, OpenItem, open_items};
use backstory_store::{Project, Store, open_item_key};
use maud::{Markup, html};

use super::{
    link,
    text::inline_text,
    view::{Paged, Pairs, View, field, plural},
};
use crate::{login::own_page, problem::ApiError, server::Server};

/// Ticked items stay in the list for this long.
const LINGER: Duration = Duration::from_hours(24);

/// An open item, or one that was ticked off.
pub(super) struct TickItem {
    key: OpenItemKey,
    text: String,
    is_done: bool,
    source: Option<ItemSource>,
}

/// The summary that states an item.
struct ItemSource {
    summary: Handle,
    branch: Option<String>,
    at: Timestamp,
}

impl TickItem {
    /// Makes an item of a line of a hand-over.
    pub(super) fn new(text: &str, is_done: bool) -> Self {
        Self {
            key: open_item_key(text),
            text: text.to_owned(),
            is_done,
            source: None,
        }
    }

    fn stated(item: OpenItem, is_done: bool) -> Self {
        Self {
            key: item.key,
            text: item.text,
            is_done,
            source: Some(ItemSource {
                summary: item.summary,
                branch: item.branch,
                at: item.created_at,
            }),
        }
    }

    /// Renders the item of a project as a list item.
    pub(super) fn show(&self, view: &View, project: &str) -> Markup {
        let id = format!("item-{}", self.key);
        html! {
            li.todo.done[self.is_done] data-key=(self.key) {
                form method="post" action="/open-items" data-in-place {
                    input type="hidden" name="project" value=(project);
                    input type="hidden" name="key" value=(self.key);
                    input type="hidden" name="done" value=(!self.is_done);
                    input type="hidden" name="to" value=(view.here);
                    button.box role="checkbox" aria-checked=(self.is_done) aria-labelledby=(id)
                        title=(if self.is_done { "Open it again" } else { "Tick it off" }) {}
                }
                div {
                    span #(id) { (inline_text(&self.text)) }
                    @if let Some(source) = &self.source {
                        p.meta {
                            a href=(link::memory(source.summary)) { (source.summary) }
                            @if let Some(branch) = &source.branch { span { (inline_text(branch)) } }
                            (view.times.ago(source.at))
                        }
                    }
                }
            }
        }
    }
}

/// The open items of a project and those that were ticked off.
pub(super) struct OpenItemList {
    project: String,
    items: Vec<TickItem>,
    /// Ticked off more than a day ago.
    earlier: Vec<TickItem>,
}

impl OpenItemList {
    /// Reads the items. Those of `handover`, the one that the page shows, come first.
    pub(super) fn read(
        store: &Store,
        project: &Project,
        handover: Option<&Handover>,
        now: Timestamp,
    ) -> Result<Self, ApiError> {
        let request = ContextRequest {
            project,
            branch: None,
            compacted_session: None,
            is_withheld: false,
            now,
        };
        let all = open_items(store, &request)?;
        let mut items: Vec<TickItem> = all
            .open
            .into_iter()
            .map(|item| TickItem::stated(item, false))
            .collect();
        // A hand-over also has questions, which the context of a new session leaves out.
        let lines = handover.map_or(&[][..], |handover| &handover.open);
        for (at, line) in lines.iter().enumerate() {
            let key = open_item_key(line);
            let known = items.iter().position(|item| item.key == key);
            let item = known.map_or_else(|| TickItem::new(line, false), |known| items.remove(known));
            items.insert(at.min(items.len()), item);
        }
        let lately = store.ticked_since(project, now - LINGER)?;
        let (lately, earlier) = all
            .done
            .into_iter()
            .map(|item| TickItem::stated(item, true))
            .partition(|item| lately.contains(&item.key));
        items.extend::<Vec<TickItem>>(lately);
        Ok(Self {
            project: project.id.clone(),
            items,
            earlier,
        })
    }

    pub(super) fn show(&self, view: &View) -> Markup {
        let open = self.items.iter().filter(|item| !item.is_done).count();
        html! {
            section.panel #open-items aria-labelledby="open-title" data-live="swap" {
                h2 #open-title { "Open items" @if open > 0 { " " span.number { (open) } } }
                @if open == 0 { p.muted { "Nothing is open." } }
                @if !self.items.is_empty() { ul.todos { @for item in &self.items { (item.show(view, &self.project)) } } }
                @if !self.earlier.is_empty() {
                    details {
                        summary { (plural(self.earlier.len() as u64, "item", "items")) " ticked off earlier" }
                        ul.todos { @for item in &self.earlier { (item.show(view, &self.project)) } }
                    }
                }
            }
        }
    }
}

/// Ticks an item off, or opens it again, and returns to its place on the page.
pub(super) async fn tick_off(State(server): State<Arc<Server>>, Form(pairs): Form<Pairs>) -> Paged {
    let key: OpenItemKey = field(&pairs, "key")
        .unwrap_or_default()
        .parse()
        .map_err(|error: backstory_model::ParseOpenItemKeyError| ApiError::bad(error.to_string()))?;
    let project = field(&pairs, "project").unwrap_or_default().to_owned();
    let is_done = field(&pairs, "done") == Some("true");
    let now = server.now();
    server
        .stores
        .write(move |store| {
            let project = store.project(&project)?;
            if is_done {
                store.tick_off(&project, &[key], now)?;
            } else {
                store.reopen(&project, &[key])?;
            }
            Ok(())
        })
        .await?;
    let page = own_page(field(&pairs, "to").unwrap_or_default());
    Ok(Redirect::to(&format!("{page}#item-{key}")).into_response())
}
