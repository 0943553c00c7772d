//! `/context`: previews the exact context block of the next session, with the reason for each entry.
//!
//! The controls change the preview only; nothing is stored until they are saved as settings.

use std::{path::Path, sync::Arc};

use axum::{
    extract::{Form, Query, State},
    response::{IntoResponse, Redirect},
};
use backstory_capture::project;
use backstory_model::ObservationType;
use backstory_recall::{ContextBlock, ContextEntry, ContextRequest, FullField, Limits, context};
use backstory_store::{Project, Store};
use backstory_text::tokens;
use maud::{Markup, html};
use serde_json::{Map, Value, json};

use super::{
    card::{shown_handle, type_label},
    link, plot,
    text::{inline_text, verbatim},
    view::{NavItem, Paged, Pairs, View, distinct_names, field, plural},
};
use crate::{problem::ApiError, server::Server, stores::run_blocking};

/// Numeric controls: name, label, minimum, maximum.
const NUMBERS: [(&str, &str, usize, usize); 4] = [
    ("budget_tokens", "Token budget", 200, 9_000),
    ("observations", "Maximum memories", 1, 200),
    ("sessions", "Maximum sessions", 1, 50),
    ("full", "Shown in full", 0, 20),
];

struct ContextPage {
    projects: Vec<(String, String)>,
    project: Option<Project>,
    branch: Option<String>,
    limits: Limits,
    block: Option<ContextBlock>,
}

impl ContextPage {
    fn read(store: &Store, server: &Server, pairs: &Pairs) -> Result<Self, ApiError> {
        let mut limits = server.engine.settings().context.limits();
        apply_controls(&mut limits, pairs);
        let cards = store.projects()?;
        let project = match field(pairs, "project") {
            Some(named) => Some(store.project(named)?),
            // The most recently active project.
            None => cards.first().map(|card| card.project.clone()),
        };
        let branch = project
            .as_ref()
            .and_then(|project| project::locate(Path::new(&project.root)).facts.branch);
        let block = match &project {
            None => None,
            Some(project) => {
                let request = ContextRequest {
                    project,
                    branch: branch.as_deref(),
                    compacted_session: None,
                    is_withheld: false,
                    now: server.now(),
                };
                context(store, &request, &limits)?
            }
        };
        Ok(Self {
            projects: {
                let all = cards.iter().map(|card| &card.project);
                let names = distinct_names(
                    all.clone()
                        .map(|project| (project.id.as_str(), project.name.as_str())),
                );
                all.map(|project| project.id.clone()).zip(names).collect()
            },
            project,
            branch,
            limits,
            block,
        })
    }

    fn show(&self, view: &View, is_saved: bool) -> Markup {
        html! {
            h1 { "Context" }
            p.lead { "The exact context of a new session in this project." }
            @if is_saved { div.notice role="status" { p { "Saved. New sessions use these settings." } } }
            @if self.projects.is_empty() {
                div.empty {
                    p { "No memories yet, so new sessions start without context." }
                    p { "Import past sessions with " code { "backstory import claude-code" } "." }
                }
            } @else {
                div.columns.controls {
                    // The answer comes first, also on a narrow screen.
                    div.wide #preview aria-live="polite" { (self.preview(view)) }
                    (self.controls())
                }
            }
        }
    }

    fn controls(&self) -> Markup {
        let id = self.project.as_ref().map_or("", |project| project.id.as_str());
        html! {
            form.aside.panel action="/context" data-auto="preview" aria-label="Context settings" {
                label for="project" { "Project" }
                select #project name="project" {
                    @for (known, name) in &self.projects { option value=(known) selected[known == id] { (name) } }
                }
                @for (name, label, min, max) in NUMBERS {
                    label for=(name) { (label) }
                    input #(name) type="number" name=(name) min=(min) max=(max) value=(self.number(name));
                }
                label for="full_field" { "Full entries show" }
                select #full_field name="full_field" {
                    option value="narrative" selected[self.limits.full_field == FullField::Narrative] { "the narrative" }
                    option value="facts" selected[self.limits.full_field == FullField::Facts] { "the facts" }
                }
                fieldset {
                    legend { "Types" }
                    // Browsers send nothing for unchecked boxes; this field marks "none selected".
                    input type="hidden" name="types" value="";
                    @for one in ObservationType::ALL {
                        label.check {
                            input type="checkbox" name="types" value=(one.name()) checked[self.limits.types.contains(&one)];
                            (type_label(one.name()))
                        }
                    }
                }
                label for="concepts" { "Concepts (empty for all)" }
                input #concepts name="concepts" value=(self.limits.concepts.join(", ")) placeholder="gotcha, trade-off";
                div.actions {
                    button.quiet data-auto-hide { "Preview" }
                    button formmethod="post" { "Save settings" }
                    a.button.quiet href=(link::with_query("/context", &[("project", id)])) { "Reset" }
                }
            }
        }
    }

    fn number(&self, name: &str) -> usize {
        match name {
            "budget_tokens" => self.limits.tokens,
            "observations" => self.limits.observations,
            "sessions" => self.limits.sessions,
            _ => self.limits.full,
        }
    }

    fn preview(&self, _: &View) -> Markup {
        let Some(block) = &self.block else {
            return html! { div.empty { p { "No context: this project has no relevant memories, or the settings exclude all of them." } } };
        };
        let used = tokens(&block.text);
        let (included, skipped): (Vec<&ContextEntry>, Vec<&ContextEntry>) =
            block.entries.iter().partition(|entry| entry.is_included);
        html! {
            p.meta {
                strong { (plural(used as u64, "token", "tokens")) }
                span { "of " (self.limits.tokens) }
                (plot::share(share(used, self.limits.tokens), &format!("{used} of {} tokens", self.limits.tokens)))
                span { (included.len()) " included" }
                span { (skipped.len()) " skipped" }
                @if let Some(branch) = &self.branch { span { "on branch " (inline_text(branch)) } }
            }
            (verbatim(&block.text))
            section aria-labelledby="included" {
                h2 #included { "Selection reasons" }
                (entries(&included))
            }
            @if !skipped.is_empty() {
                section aria-labelledby="skipped" {
                    h2 #skipped { "Skipped" }
                    details { summary { (plural(skipped.len() as u64, "memory", "memories")) ", with reasons" } (entries(&skipped)) }
                }
            }
        }
    }
}

fn share(used: usize, of: usize) -> f64 {
    let number = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    number(used) / number(of.max(1))
}

fn entries(entries: &[&ContextEntry]) -> Markup {
    html! {
        ul.entries {
            @for entry in entries {
                li data-item {
                    a href=(link::memory(entry.handle)) {
                        span.handle { (shown_handle(entry.handle)) } " " (inline_text(&entry.title))
                    }
                    p.meta {
                        span { (inline_text(&entry.reason)) }
                        @if entry.tokens > 0 { span { "~" (entry.tokens) " tokens" } }
                        @if entry.is_included && !entry.is_title_only { span { "in full" } }
                    }
                }
            }
        }
    }
}

fn list(text: &str) -> Vec<String> {
    let words = text.split(',').map(str::trim).filter(|word| !word.is_empty());
    words.map(ToOwned::to_owned).collect()
}

/// Applies the form's controls to the limits. Values out of range are clamped.
fn apply_controls(limits: &mut Limits, pairs: &Pairs) {
    for (name, _, min, max) in NUMBERS {
        let Some(number) = field(pairs, name).and_then(|text| text.parse::<usize>().ok()) else {
            continue;
        };
        let number = number.clamp(min, max);
        match name {
            "budget_tokens" => limits.tokens = number,
            "observations" => limits.observations = number,
            "sessions" => limits.sessions = number,
            _ => limits.full = number,
        }
    }
    match field(pairs, "full_field") {
        Some("narrative") => limits.full_field = FullField::Narrative,
        Some("facts") => limits.full_field = FullField::Facts,
        _ => {}
    }
    if pairs.iter().any(|(name, _)| name == "types") {
        let chosen = pairs.iter().filter(|(name, _)| name == "types");
        limits.types = chosen
            .filter_map(|(_, value)| ObservationType::from_name(value))
            .collect();
    }
    if let Some((_, concepts)) = pairs.iter().find(|(name, _)| name == "concepts") {
        limits.concepts = list(concepts);
    }
}

pub(super) async fn page(State(server): State<Arc<Server>>, view: View, Query(pairs): Query<Pairs>) -> Paged {
    let state = Arc::clone(&server);
    let is_saved = field(&pairs, "saved").is_some();
    let page = server
        .stores
        .read(move |store| ContextPage::read(store, &state, &pairs))
        .await?;
    Ok(view.page("Context", NavItem::Context, &page.show(&view, is_saved)))
}

/// Saves the controls as settings.
pub(super) async fn save(State(server): State<Arc<Server>>, view: View, Form(pairs): Form<Pairs>) -> Paged {
    let state = Arc::clone(&server);
    let mut limits = run_blocking(move || Ok(state.engine.settings().context.limits())).await?;
    apply_controls(&mut limits, &pairs);
    let full_field = match limits.full_field {
        FullField::Narrative => "narrative",
        FullField::Facts => "facts",
    };
    let types: Vec<&str> = limits.types.iter().map(|one| one.name()).collect();
    let requested = json!({
        "context.budget_tokens": limits.tokens,
        "context.observations": limits.observations,
        "context.sessions": limits.sessions,
        "context.full": limits.full,
        "context.full_field": full_field,
        "context.types": types,
        "context.concepts": limits.concepts,
    });
    let current = server.settings().await?;
    // Only what differs, so that an untouched setting keeps following its default.
    let changed: Map<String, Value> = requested
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| current[name.as_str()]["value"] != **value)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if !changed.is_empty() {
        server.change_settings(changed, view.credential).await?;
    }
    let project = field(&pairs, "project").unwrap_or_default();
    let to = link::with_query("/context", &[("project", project), ("saved", "1")]);
    Ok(Redirect::to(&to).into_response())
}
