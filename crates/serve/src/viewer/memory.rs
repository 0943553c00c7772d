//! `/memories/{handle}`: one memory with its provenance, files and evidence, and the edit form.
//!
//! Reads only; the form actions are in [`super::memory_actions`].

use std::sync::Arc;

use axum::{
    extract::{Path, Query, State},
    http::StatusCode,
};
use backstory_model::{Handle, MemoryKind, ObservationType};
use backstory_recall::BranchMark;
use backstory_store::{MemoryEdit, MemoryRecord};
use backstory_text::tokens;
use maud::{Markup, html};

use super::{
    card::{kind_class, kind_label, rejected_badge, shown_handle},
    link,
    memory_parts::{evidence, files, passage, provenance},
    memory_view::{MemoryPageView, is_stale},
    session_turn::summary_fields,
    text::{block, inline_text, opening, single_line},
    view::{NavItem, Paged, Pairs, View, plural},
};
use crate::{extract::handle, problem::ApiError, server::Server};

impl MemoryPageView {
    fn title(&self) -> String {
        opening(self.shown.memory.record.headline(), 200)
    }

    fn show(&self, view: &View, mode: Mode<'_>) -> Markup {
        let (handle, line) = (self.shown.memory.handle, &self.shown.memory.record);
        let kind = kind_class(handle.kind, line.type_name.as_deref());
        html! {
            article.memory data-kind=(kind) {
                header {
                    p.meta {
                        (kind_label(handle.kind, line.type_name.as_deref()))
                        span.handle { (shown_handle(handle)) }
                        @if let Some(created) = line.created_at { (view.times.ago(created)) }
                        @if line.pinned { span.badge.pin { "pinned" } }
                        @if self.shown.memory.rejected { (rejected_badge()) }
                        @if self.files.iter().any(is_stale) { span.badge.stale { "file changed since" } }
                        @if let Some(mark) = BranchMark::of(&self.shown.memory) { span.badge { (inline_text(&mark.plain_note())) } }
                        @if self.shown.provenance.superseded_by.is_some() { span.badge { "superseded" } }
                        span { "about " (plural(tokens(&full_text(line)) as u64, "token", "tokens")) }
                    }
                    h1 { (inline_text(&self.title())) }
                    @if let Some(subtitle) = &line.subtitle { p.lead { (inline_text(subtitle)) } }
                }
                @if mode == Mode::PendingDelete { (pending_delete(handle)) } @else { (actions(handle, line)) }
                div.columns {
                    div.wide {
                        @match mode {
                            Mode::Edit(problem) => (edit_form(handle, line, problem)),
                            _ => (fields(handle.kind, line)),
                        }
                        @if !self.files.is_empty() { (files(self, view)) }
                        (self.relations.show(view, &self.shown.memory))
                        @if !self.later.is_empty() {
                            section aria-labelledby="later" {
                                h2 #later { "Later memories about these files" }
                                ol.list { @for item in &self.later { (item.show(view, &html! {})) } }
                            }
                        }
                        @if !self.shown.passages.is_empty() { (evidence(self)) }
                    }
                    div.aside { (provenance(self, view)) (self.told.show(view)) }
                }
            }
        }
    }
}

/// State of the page: reading, editing, or about to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode<'m> {
    Read,
    /// With the error of the last attempt.
    Edit(Option<&'m ApiError>),
    PendingDelete,
}

fn full_text(line: &MemoryRecord) -> String {
    let texts = [
        &line.title,
        &line.subtitle,
        &line.narrative,
        &line.text,
        &line.request,
        &line.investigated,
        &line.learned,
        &line.completed,
        &line.next_steps,
        &line.notes,
    ];
    let texts = texts.into_iter().flatten().chain(&line.facts);
    texts.map(String::as_str).collect::<Vec<_>>().join("\n")
}

fn actions(handle: Handle, line: &MemoryRecord) -> Markup {
    let href = link::memory(handle);
    html! {
        div.actions {
            @if !MemoryEdit::fields(handle.kind).is_empty() {
                a.button href={ (href) "?edit" } data-shortcut="e" { "Edit " kbd aria-hidden="true" { "e" } }
            }
            form method="post" action={ (href) "/pin" } data-shortcut="p" {
                input type="hidden" name="pinned" value=(if line.pinned { "false" } else { "true" });
                button.quiet { @if line.pinned { "Unpin " } @else { "Pin " } kbd aria-hidden="true" { "p" } }
            }
            form method="post" action={ (href) "/forget" } { button.quiet.danger { "Forget" } }
            @if handle.kind == MemoryKind::Team {
                @for (verdict, label) in [("useful", "Useful"), ("wrong", "Wrong")] {
                    form method="post" action="/team/rate" {
                        input type="hidden" name="handle" value=(handle);
                        input type="hidden" name="to" value=(href);
                        button.quiet name="verdict" value=(verdict) { (label) }
                    }
                }
            }
            a.button.quiet href={ "/search?q=" (crate::login::encoded(&single_line(line.headline(), 80))) } { "Find similar" }
        }
    }
}

fn pending_delete(handle: Handle) -> Markup {
    html! {
        div.notice.warn {
            p { "This memory will be deleted permanently in a few seconds." }
            form method="post" action={ (link::memory(handle)) "/keep" } { button { "Undo" } }
        }
    }
}

fn fields(kind: MemoryKind, line: &MemoryRecord) -> Markup {
    html! {
        @if let Some(text) = &line.text {
            @if kind == MemoryKind::Passage { (passage(text, line.type_name.as_deref())) } @else { (block(text)) }
        }
        @if let Some(narrative) = &line.narrative { (block(narrative)) }
        @if !line.facts.is_empty() {
            section aria-labelledby="facts" {
                h2 #facts { "Facts" }
                ul.facts { @for fact in &line.facts { li { (inline_text(fact)) } } }
            }
        }
        @if kind == MemoryKind::Summary { (summary_fields(line)) }
        @if !line.concepts.is_empty() {
            p.meta {
                @for concept in &line.concepts {
                    a.chip href=(link::with_query("/search", &[("concept", concept)])) { (inline_text(concept)) }
                }
            }
        }
    }
}

fn edit_form(handle: Handle, line: &MemoryRecord, problem: Option<&ApiError>) -> Markup {
    html! {
        form.edit method="post" action={ (link::memory(handle)) "/edit" } {
            @if let Some(problem) = problem {
                div.notice.warn role="alert" { p { (inline_text(&super::view::sentence(&problem.message))) } }
            }
            @for name in MemoryEdit::fields(handle.kind) { (input(name, line)) }
            p.muted { "Your edits are kept when the turn is distilled again." }
            p.actions {
                button { "Save" }
                a.button.quiet href=(link::memory(handle)) { "Cancel" }
            }
        }
    }
}

fn input(name: &str, line: &MemoryRecord) -> Markup {
    let label = name.replace('_', " ");
    let text = match name {
        "title" => &line.title,
        "subtitle" => &line.subtitle,
        "narrative" => &line.narrative,
        "text" => &line.text,
        "request" => &line.request,
        "investigated" => &line.investigated,
        "learned" => &line.learned,
        "completed" => &line.completed,
        "next_steps" => &line.next_steps,
        "notes" => &line.notes,
        _ => &None,
    };
    let text = text.as_deref().unwrap_or_default();
    html! {
        label for={ "field-" (name) } { (label) @if name == "facts" { span.muted { " (one per line)" } } }
        @match name {
            "title" | "subtitle" => { input #{ "field-" (name) } name=(name) value=(text) autofocus[name == "title"]; }
            "type" => {
                select #{ "field-" (name) } name=(name) {
                    @if line.type_name.is_none() { option value="" { "none" } }
                    @for one in ObservationType::ALL {
                        option value=(one.name()) selected[line.type_name.as_deref() == Some(one.name())] { (one.name()) }
                    }
                }
            }
            "facts" => { textarea #{ "field-" (name) } name=(name) rows=(line.facts.len().clamp(3, 12)) { (line.facts.join("\n")) } }
            _ => { textarea #{ "field-" (name) } name=(name) rows=(rows(text)) { (text) } }
        }
    }
}

fn rows(text: &str) -> usize {
    (text.len() / 80 + text.lines().count() + 1).clamp(3, 20)
}

pub(super) async fn page(
    State(server): State<Arc<Server>>,
    view: View,
    Path(id): Path<String>,
    Query(pairs): Query<Pairs>,
) -> Paged {
    let handle = handle(&id).map_err(|problem| ApiError {
        status: StatusCode::NOT_FOUND,
        ..problem
    })?;
    let state = Arc::clone(&server);
    let page = server
        .stores
        .read(move |store| MemoryPageView::read(store, &state, handle))
        .await
        .map_err(|problem| match problem.status {
            StatusCode::NOT_FOUND => problem.hint("it was forgotten or never existed; search for it instead"),
            _ => problem,
        })?;
    let is_edit = pairs.iter().any(|(name, _)| name == "edit");
    let mode = match (server.pending_deletes.has(handle), is_edit) {
        (true, _) => Mode::PendingDelete,
        (false, true) => Mode::Edit(None),
        (false, false) => Mode::Read,
    };
    Ok(show_page(&view, &page, mode))
}

/// Renders the page of a memory.
pub(super) fn show_page(view: &View, page: &MemoryPageView, mode: Mode<'_>) -> axum::response::Response {
    view.page(&page.title(), NavItem::None, &page.show(view, mode))
}
