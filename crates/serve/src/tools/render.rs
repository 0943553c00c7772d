//! Renders a memory as text for an agent.

use backstory_model::{Handover, MemoryKind, Timestamp};
use backstory_recall::BranchMark;
use backstory_store::{MemoryDetail, MemoryRecord};
use backstory_text::one_line;

use crate::api_types::rfc3339;

/// Renders a memory with all its fields and its provenance.
pub fn render_memory(detail: &MemoryDetail, is_stale: bool) -> String {
    let (id, line, origin) = (detail.memory.handle, &detail.memory.record, &detail.provenance);
    let icon = line.icon();
    let mut text = format!("#{id} {icon} {}", one_line(line.headline(), 300));
    let kind = line
        .type_name
        .as_deref()
        .filter(|_| line.kind == MemoryKind::Observation);
    let mut about = vec![kind.unwrap_or(line.kind.name()).to_owned()];
    about.extend(line.created_at.map(day));
    about.extend(origin.project_name.as_deref().map(name));
    about.extend(
        origin
            .branch
            .as_ref()
            .map(|branch| format!("branch {}", name(branch))),
    );
    about.extend(
        line.session_id
            .as_ref()
            .map(|session| format!("session {}", name(&session.chars().take(8).collect::<String>()))),
    );
    about.extend(origin.turn.map(|turn| format!("turn {turn}")));
    let author = || origin.author.as_ref().map(|author| format!("saved by {author}"));
    about.extend(detail.memory.author_label().or_else(author));
    about.extend(BranchMark::of(&detail.memory).map(|mark| mark.note()));
    about.extend(origin.superseded_by.map(|by| format!("superseded by {by}")));
    if is_stale {
        about.push("a cited file has changed since".to_owned());
    }
    text.push_str(&format!("\n  ({})", about.join(", ")));
    if detail.memory.rejected {
        text.push_str("\n  tried, did not work");
    }
    match &detail.handover {
        Some(handover) => text.push_str(&render_handover(handover)),
        None => {
            for (name, value) in render_fields(line) {
                text.push_str(&format!("\n  {name}: {value}"));
            }
        }
    }
    text
}

/// Renders a hand-over in place of the summary that stands for it.
fn render_handover(handover: &Handover) -> String {
    let mut text = String::new();
    for (label, lines) in handover.sections() {
        text.push_str(&format!("\n  {label}:"));
        for line in lines {
            text.push_str(&format!("\n    - {}", indented(line.trim(), 6)));
        }
    }
    text
}

/// Returns the fields of a memory by label. Texts that repeat the headline are skipped.
fn render_fields(line: &MemoryRecord) -> Vec<(&'static str, String)> {
    let texts = [
        ("about", &line.subtitle),
        ("narrative", &line.narrative),
        ("text", &line.text),
        ("request", &line.request),
        ("investigated", &line.investigated),
        ("learned", &line.learned),
        ("completed", &line.completed),
        ("next", &line.next_steps),
        ("notes", &line.notes),
    ];
    let lists = [
        ("changed", &line.files_modified),
        ("changed", &line.files_edited),
        ("read", &line.files_read),
        ("concepts", &line.concepts),
    ];
    let headline = line.headline();
    let texts = texts.into_iter().filter_map(|(name, text)| {
        let text = text.as_deref()?.trim();
        (!text.is_empty() && text != headline).then(|| (name, indented(text, 4)))
    });
    let facts = line
        .facts
        .iter()
        .map(|fact| format!("\n    - {}", indented(fact.trim(), 6)))
        .collect::<String>();
    let lists = lists
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(name, list)| {
            let items: Vec<String> = list.iter().map(|item| one_line(item, 300)).collect();
            (name, items.join(", "))
        });
    let facts = Some(("facts", facts)).filter(|(_, facts)| !facts.is_empty());
    texts.chain(facts).chain(lists).collect()
}

/// Indents continuation lines, so that no line of a text can look like an entry of its own.
fn indented(text: &str, blanks: usize) -> String {
    text.replace('\n', &format!("\n{}", " ".repeat(blanks)))
}

pub(super) fn day(at: Timestamp) -> String {
    rfc3339(at).get(..10).unwrap_or_default().to_owned()
}

/// Returns the name of a project or branch as one short line; imported names can be arbitrary text.
pub(super) fn name(text: &str) -> String {
    one_line(text, 100)
}
