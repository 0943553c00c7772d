//! Sections of a memory's page: cited files, evidence and provenance.

use backstory_model::{EvidenceKind, MemoryKind, NoteAuthor};
use backstory_recall::{CitedFileStatus, FileStatus};
use backstory_text::{clip, one_line};
use maud::{Markup, html};

use super::{
    link,
    memory_view::{MemoryPageView, is_stale},
    text::{block, clipped, diff, diff_size, inline_text, verbatim},
    view::{View, plural},
};

/// Maximum length of a passage here, in bytes; its own page has the whole text.
const MAX_PASSAGE: usize = 2_400;

/// Renders the cited files with their current status.
pub(super) fn files(page: &MemoryPageView, view: &View) -> Markup {
    let project = page.shown.memory.record.project.as_deref();
    html! {
        section aria-labelledby="files" {
            h2 #files { "Files" }
            ul.files {
                @for file in &page.files {
                    li data-stale[is_stale(file)] {
                        a.path href=(link::file(&file.path, project)) { (inline_text(&file.path)) }
                        p.meta {
                            span { @if file.is_modified { "modified" } @else { "read" } }
                            (file_status(file, view))
                        }
                    }
                }
            }
        }
    }
}

fn file_status(file: &CitedFileStatus, view: &View) -> Markup {
    let sizes = match (file.size_then, file.size_now) {
        (Some(then), Some(now)) if then != now => Some(format!("{then} → {now} bytes")),
        (Some(then), Some(_)) => Some(format!("still {then} bytes, different content")),
        _ => None,
    };
    html! {
        @match file.fate {
            FileStatus::Unchanged => { span { "unchanged since" } }
            FileStatus::Gone => { span.badge.stale { "deleted since" } }
            FileStatus::Unknown => {}
            FileStatus::Changed => {
                span.badge.stale { "changed since" }
                @if let Some(sizes) = sizes { span { (sizes) } }
                @if let Some(written) = file.written_at { span { "written " (view.times.ago(written)) } }
            }
        }
    }
}

/// Renders the passages that support a memory. Those without their text at hand are folded.
pub(super) fn evidence(page: &MemoryPageView) -> Markup {
    let passages = &page.shown.passages;
    let (with_text, others) = passages.split_at(page.texts.len().min(passages.len()));
    html! {
        section aria-labelledby="evidence" {
            h2 #evidence { "Evidence" }
            ul.evidence {
                @for (passage, text) in with_text.iter().zip(&page.texts) {
                    li {
                        details {
                            summary {
                                span.badge { (kind_name(passage.kind)) } " "
                                span.first { (inline_text(&one_line(&passage.first_line, 140))) }
                                @if passage.kind == EvidenceKind::Edit { " " (change_size(text)) }
                            }
                            (self::passage(&clip(text, MAX_PASSAGE), Some(passage.kind.name())))
                            p.meta { a href=(link::memory(passage.id)) { "Full text of " (passage.id) } }
                        }
                    }
                }
            }
            @if !others.is_empty() {
                details {
                    summary { (others.len()) " more" }
                    ul.evidence {
                        @for passage in others {
                            li {
                                span.badge { (kind_name(passage.kind)) } " "
                                a href=(link::memory(passage.id)) { (inline_text(&one_line(&passage.first_line, 140))) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the text of a passage: a change as a diff, everything else as it is.
pub(super) fn passage(text: &str, kind: Option<&str>) -> Markup {
    if kind == Some(EvidenceKind::Edit.name()) {
        diff(text)
    } else {
        verbatim(text)
    }
}

/// Returns the name of a kind of evidence in words.
fn kind_name(kind: EvidenceKind) -> String {
    kind.name().replace('_', " ")
}

fn change_size(text: &str) -> Markup {
    let (added, removed) = diff_size(text);
    html! {
        span.added-count { "+" (added) } " " span.removed-count { "−" (removed) }
    }
}

/// Renders the provenance of a memory and, for an observation, the supersede form.
pub(super) fn provenance(page: &MemoryPageView, view: &View) -> Markup {
    let (line, origin) = (&page.shown.memory.record, &page.shown.provenance);
    let tools: std::collections::BTreeSet<&str> = origin
        .tools
        .iter()
        .filter_map(|tool_use| tool_use.tool.as_deref())
        .collect();
    html! {
        section aria-labelledby="origin" {
            h2 #origin { "Provenance" }
            dl.facts {
                @if let (Some(name), Some(id)) = (&origin.project_name, &line.project) {
                    dt { "Project" } dd { a href=(link::project(id)) { (inline_text(name)) } }
                } @else { dt { "Project" } dd { "all projects" } }
                @if let Some(session) = &line.session_id {
                    dt { "Session" }
                    dd {
                        a.path href={ (link::session(session)) @if let Some(turn) = origin.turn { "?turn=" (turn) } } {
                            (inline_text(&one_line(session, 13)))
                            @if let Some(turn) = origin.turn { ", turn " (turn) }
                        }
                    }
                }
                @if let Some(created) = line.created_at { dt { "Created" } dd { (view.times.exact(created)) } }
                @if let Some(edited) = origin.edited_at { dt { "Edited" } dd { (view.times.exact(edited)) } }
                @if let Some(host) = &origin.host { dt { "Agent" } dd { (inline_text(host)) } }
                @if let Some(branch) = page.shown.memory.record.branch.as_ref().or(origin.branch.as_ref()) {
                    dt { "Branch" }
                    dd { (inline_text(branch)) }
                }
                @if let Some(name) = &page.shown.memory.shared_by { dt { "Shared by" } dd { (inline_text(name)) } }
                @if let Some(opinions) = page.shown.memory.opinions.label() { dt { "Opinions" } dd { (opinions) } }
                @if let Some(commit) = page.shown.memory.work.as_ref().and_then(|work| work.commit.as_deref())
                    .or(page.shown.memory.shared_commit.as_deref()) {
                    dt { "Commit" }
                    dd { code { (inline_text(&one_line(commit, 13))) } }
                }
                @if let Some(distiller) = &origin.distiller { dt { "Distilled by" } dd { (inline_text(distiller.name())) } }
                @if let Some(author) = &origin.author {
                    dt { "Saved by" }
                    dd {
                        @match (author, &origin.project_name) {
                            (NoteAuthor::Agent, Some(project)) => { "an agent in " (inline_text(project)) }
                            _ => (inline_text(author.name())),
                        }
                    }
                }
                @if !tools.is_empty() {
                    dt { "Based on" } dd { (plural(origin.tools.len() as u64, "tool use", "tool uses")) ": " (inline_text(&tools.into_iter().collect::<Vec<_>>().join(", "))) }
                }
                @if let Some(seen) = origin.seen.filter(|seen| *seen > 1) {
                    dt { "Seen" } dd { (seen) " times" @if let Some(last) = origin.last_seen_at { ", last " (view.times.ago(last)) } }
                }
                @if let Some(external) = &line.external_id { dt { "External id" } dd.path { (inline_text(external)) } }
            }
            @if let Some(prompt) = &origin.prompt {
                h3 { "Prompt" }
                div.prompt { (block(&clipped(prompt, 320))) }
            }
        }
        @if page.shown.memory.handle.kind == MemoryKind::Observation { (supersede(page)) }
    }
}

fn supersede(page: &MemoryPageView) -> Markup {
    let origin = &page.shown.provenance;
    let href = link::memory(page.shown.memory.handle);
    html! {
        section aria-labelledby="valid" {
            h2 #valid { "Still valid?" }
            form.inline method="post" action={ (href) "/supersede" } {
                @if origin.superseded_by.is_some() {
                    button.quiet { "Mark as valid" }
                } @else {
                    label for="by" { "Superseded by" }
                    input #by name="by" placeholder="#123" required size="7" autocomplete="off";
                    button.quiet { "Mark" }
                }
            }
        }
    }
}
