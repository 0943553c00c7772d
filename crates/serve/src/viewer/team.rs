//! `/team`: what is shared, what waits for the user, what failed a check, and what disagrees.
//!
//! Reads only; the form actions are in [`super::team_actions`]. Nothing here asks the server: the worker does.

use std::sync::Arc;

use axum::extract::State;
use backstory_engine::team::overview::{TeamConflict, TeamOverview};
use backstory_model::Handle;
use backstory_store::{QuarantinedRecord, Share, TeamDevice, TeamProject, TeamStatement};
use maud::{Markup, html};

use super::{
    card::shown_handle,
    link,
    text::{inline_text, single_line},
    view::{NavItem, Paged, View, plural},
};
use crate::{problem::ApiError, server::Server};

/// Maximum length of a title, in characters.
const MAX_TITLE: usize = 160;

pub(super) async fn page(State(server): State<Arc<Server>>, view: View) -> Paged {
    let engine = Arc::clone(&server.engine);
    let overview = server
        .stores
        .read(move |store| TeamOverview::read(&engine, store).map_err(|error| ApiError::unavailable(&error)))
        .await?;
    Ok(view.page("Team", NavItem::Team, &show(&view, &overview)))
}

fn show(view: &View, overview: &TeamOverview) -> Markup {
    html! {
        h1 { "Team" }
        @if overview.is_unused() {
            (invitation())
        } @else {
            (state(view, overview))
            (conflicts(view, &overview.conflicts))
            (pending(&overview.pending))
            (refused(&overview.refused))
            (devices(&overview.untrusted))
            (quarantine(overview.quarantine_count, &overview.quarantined))
            (projects(view, &overview.projects))
        }
    }
}

/// Explains team memory to a user who does not use it.
fn invitation() -> Markup {
    html! {
        div.empty {
            p.lead { "You share nothing, and nobody shares with you." }
            p { "With a server: " code { "backstory team join URL CODE" } ", with an invitation of its operator." }
            p { "Without one, by files in the repository: " code { "backstory share HANDLE" } ", then " code { "backstory team pack .team" } "." }
        }
    }
}

fn state(view: &View, overview: &TeamOverview) -> Markup {
    let errors = overview
        .projects
        .iter()
        .any(|project| project.last_error.is_some());
    html! {
        section.panel aria-label="State" data-well[!errors] {
            p.lead {
                @match (&overview.server, overview.synced_at()) {
                    (Some(url), Some(at)) => { "Joined " (inline_text(url)) ", last contact " (view.times.ago(at)) }
                    (Some(url), None) => { "Joined " (inline_text(url)) ", no contact yet" }
                    (None, _) => { "Not joined to a server. Packs in the repository work without one." }
                }
            }
            dl.numbers {
                (number("shared", overview.shared))
                (number("received", overview.received))
                (number("to send", if overview.server.is_some() { overview.unsent } else { 0 }))
                (number("waiting for you", overview.pending.len() as u64))
                (number("kept from agents", overview.quarantine_count))
                (number("conflicts", overview.conflicts.len() as u64))
            }
        }
    }
}

fn number(name: &str, value: u64) -> Markup {
    html! { div { dt { (name) } dd { (super::view::number(value)) } } }
}

fn conflicts(view: &View, conflicts: &[TeamConflict]) -> Markup {
    html! {
        @if !conflicts.is_empty() {
            section #conflicts aria-labelledby="conflicts-title" {
                h2 #conflicts-title { "Conflicts" }
                p.muted { "Memories that cannot all be right. Nothing is decided for you." }
                ul.list { @for conflict in conflicts { (show_conflict(view, conflict)) } }
            }
        }
    }
}

fn show_conflict(view: &View, conflict: &TeamConflict) -> Markup {
    let what = match conflict {
        TeamConflict::Contradiction(_) => "different statements".to_owned(),
        TeamConflict::Disputed(one) => one.opinions.label().unwrap_or_default(),
        TeamConflict::Replaced(_) => "the first replaces yours".to_owned(),
    };
    let statements = conflict.statements();
    html! {
        li.item data-item {
            p.meta { span.badge { (what) } }
            @for statement in statements { (show_statement(view, statement)) }
            div.actions {
                @match statements {
                    [one, other] => { (keep_button(one, other)) (keep_button(other, one)) }
                    [one] if one.author.is_some() => {
                        (action("rate", one.handle, &[("verdict", "useful")], "I find it useful"))
                        (action("rate", one.handle, &[("verdict", "wrong")], "I find it wrong"))
                    }
                    [one] => (action("unshare", one.handle, &[], "Take it back")),
                    _ => {}
                }
            }
        }
    }
}

fn show_statement(view: &View, statement: &TeamStatement) -> Markup {
    html! {
        div.head {
            a.title href=(link::memory(statement.handle)) { (inline_text(&single_line(&statement.title, MAX_TITLE))) }
            span.handle { (shown_handle(statement.handle)) }
        }
        p.meta {
            span { (inline_text(statement.author.as_deref().unwrap_or("you"))) }
            (view.times.ago(statement.created_at))
            @if let Some(commit) = &statement.commit { span { "at " code { (inline_text(&single_line(commit, 12))) } } }
        }
    }
}

/// Renders the button that ends a conflict in favor of one statement. The user's own memory is taken back if it loses.
fn keep_button(kept: &TeamStatement, other: &TeamStatement) -> Markup {
    let label = format!("Keep {}", shown_handle(kept.handle));
    if other.author.is_none() {
        return action("unshare", other.handle, &[], &label);
    }
    let by = kept.handle.to_string();
    action("replace", other.handle, &[("by", &by)], &label)
}

/// Renders a button that posts an action on a memory.
fn action(name: &str, handle: Handle, fields: &[(&str, &str)], label: &str) -> Markup {
    html! {
        form method="post" action={ "/team/" (name) } {
            input type="hidden" name="handle" value=(handle);
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button.quiet { (label) }
        }
    }
}

fn pending(shares: &[Share]) -> Markup {
    html! {
        section #pending aria-labelledby="pending-title" {
            h2 #pending-title { "Waiting for your approval" }
            @if shares.is_empty() {
                p.muted { "Nothing waits." }
            } @else {
                ul.list {
                    @for share in shares {
                        li.item data-item {
                            (head(share.handle, share.title.as_deref()))
                            div.actions {
                                (action("share", share.handle, &[], "Share"))
                                (action("keep", share.handle, &[], "Keep local"))
                            }
                        }
                    }
                }
            }
            form.actions method="post" action="/team/propose" { button.quiet { "Look for more" } }
        }
    }
}

fn head(handle: Handle, title: Option<&str>) -> Markup {
    html! {
        div.head {
            a.title href=(link::memory(handle)) { (inline_text(&single_line(title.unwrap_or("untitled"), MAX_TITLE))) }
            span.handle { (shown_handle(handle)) }
        }
    }
}

fn refused(shares: &[Share]) -> Markup {
    html! {
        @if !shares.is_empty() {
            section #refused aria-labelledby="refused-title" {
                h2 #refused-title { "Not shared" }
                ul.list {
                    @for share in shares {
                        li.item data-item {
                            (head(share.handle, share.title.as_deref()))
                            p.more { (inline_text(share.reason.as_deref().unwrap_or_default())) }
                            div.actions {
                                (action("share", share.handle, &[], "Try again"))
                                (action("keep", share.handle, &[], "Keep local"))
                            }
                        }
                    }
                }
            }
        }
    }
}

fn devices(devices: &[TeamDevice]) -> Markup {
    html! {
        @if !devices.is_empty() {
            section #devices aria-labelledby="devices-title" {
                h2 #devices-title { "New devices" }
                p.muted { "Ask the person whether the device is theirs. Until then its memories are kept from agents." }
                ul.list {
                    @for device in devices {
                        li.item data-item {
                            p { (inline_text(&device.name)) " " code { (&backstory_text::hex(&device.public_key)[..16]) } }
                            form.actions method="post" action="/team/trust" {
                                input type="hidden" name="name" value=(device.name);
                                button.quiet { "Trust" }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn quarantine(count: u64, records: &[QuarantinedRecord]) -> Markup {
    html! {
        @if !records.is_empty() {
            section #quarantine aria-labelledby="quarantine-title" {
                h2 #quarantine-title { "Kept from agents" }
                p.muted {
                    "These failed a check: people see them, agents do not."
                    @if count > records.len() as u64 { " The latest " (records.len()) " of " (plural(count, "record", "records")) ":" }
                }
                ul.list {
                    @for record in records {
                        li.item data-item {
                            div.head { span { (inline_text(&single_line(&record.title, MAX_TITLE))) } span.handle { (record.handle) } }
                            p.more { (inline_text(&record.reason)) }
                            p.meta { span { "shared by " (inline_text(&record.author)) } }
                            div.actions { (action("forget", record.handle, &[], "Forget")) }
                        }
                    }
                }
            }
        }
    }
}

fn projects(view: &View, projects: &[TeamProject]) -> Markup {
    html! {
        @if !projects.is_empty() {
            section #projects aria-labelledby="projects-title" {
                h2 #projects-title { "Projects" }
                ul.list {
                    @for project in projects {
                        li.item data-item {
                            div.head { a.title href=(link::project(&project.project_key)) { (inline_text(&project.shared_key)) } }
                            p.meta {
                                span { "mode " (project.share_mode) }
                                @if let Some(role) = &project.role { span { (inline_text(role)) } }
                                @match project.synced_at {
                                    Some(at) => { span { "last contact " (view.times.ago(at)) } }
                                    None => { span { "not exchanged with a server yet" } }
                                }
                            }
                            @if let Some(error) = &project.last_error {
                                div.notice.warn { p { (inline_text(error)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
