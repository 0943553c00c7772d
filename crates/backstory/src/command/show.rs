//! `backstory show`: prints a memory with its provenance and evidence.

use anyhow::Result;
use backstory_engine::engine::Engine;
use backstory_model::{BranchState, Handle, Handover, MemoryKind, NoteAuthor, Timestamp};
use backstory_serve::api_types::Detail;
use backstory_store::{MemoryDetail, MemoryRecord};

use super::{ExitStatus, open_store, unknown};
use crate::{
    json_output::print_json,
    output::{self, BOLD, DIM, Page, Times},
};

/// Show a memory with its provenance and evidence
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory show 12       an observation with its evidence
  backstory show S3 V40   a hand-over and a piece of evidence")]
pub(crate) struct ShowArguments {
    /// Handle: 123, S12, P34, N5 or V678
    #[arg(value_name = "HANDLE", required = true)]
    handles: Vec<Handle>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Maximum length of the prompt that a memory comes from.
const PROMPT_LENGTH: usize = 300;

pub(crate) fn run(engine: &Engine, arguments: &ShowArguments) -> Result<ExitStatus> {
    let store = open_store(engine)?;
    let mut shown = Vec::new();
    let mut missing = Vec::new();
    for &handle in &arguments.handles {
        let found = match &store {
            Some(store) => store.show(handle)?,
            None => None,
        };
        match found {
            Some(found) => shown.push(found),
            None => missing.push(handle),
        }
    }
    if arguments.json {
        let list: Vec<Detail> = shown.into_iter().map(Detail::from).collect();
        print_json(serde_json::to_value(&list)?);
    } else {
        let times = Times::new(engine)?;
        let mut page = Page::new(output::width());
        for (at, memory) in shown.iter().enumerate() {
            if at > 0 {
                page.line("");
            }
            write(&mut page, memory, &times);
        }
        page.print(&engine.environment);
    }
    // A missing memory does not prevent the others from being shown.
    for &handle in &missing {
        output::print_error(&unknown(handle));
    }
    Ok(match missing.is_empty() {
        true => ExitStatus::Done,
        false => ExitStatus::Failed,
    })
}

/// Writes a memory in full.
pub(crate) fn write(page: &mut Page, shown: &MemoryDetail, times: &Times) {
    let line = &shown.memory.record;
    write_headline(page, shown);
    if shown.memory.rejected {
        page.field("state", "tried, did not work");
    }
    match &shown.handover {
        Some(handover) => write_handover(page, handover),
        None => write_content(page, line),
    }
    write_origin(page, shown, times);
    if !shown.passages.is_empty() {
        page.line(format_args!("\n{BOLD}Evidence{BOLD:#}"));
        let room = page.width.saturating_sub(19);
        for passage in &shown.passages {
            page.line(format_args!(
                "  {DIM}{:<7} {:<8}{DIM:#} {}",
                passage.id.to_string(),
                passage.kind,
                output::one_line(&passage.first_line, room)
            ));
        }
    }
}

/// Writes the title in full, then its type and handle. A text without a title follows below.
fn write_headline(page: &mut Page, shown: &MemoryDetail) {
    let line = &shown.memory.record;
    let lines = match line.title {
        Some(_) => output::wrap(line.headline(), page.width),
        None => vec![output::one_line(line.headline(), cut(page))],
    };
    for line in &lines {
        page.line(format_args!("{BOLD}{line}{BOLD:#}"));
    }
    let (label, style) = output::label(line, shown.memory.rejected);
    // Notes and evidence may have a type, too.
    let kind = line
        .type_name
        .as_deref()
        .filter(|_| line.kind != MemoryKind::Observation);
    let kind = kind
        .map(|kind| format!(" · {}", output::one_line(kind, 40)))
        .unwrap_or_default();
    page.line(format_args!(
        "{style}{label}{style:#}{DIM}{kind} · #{}{DIM:#}",
        shown.memory.handle
    ));
}

/// Returns the maximum length of a first line that is repeated below in full.
fn cut(page: &Page) -> usize {
    page.width.saturating_sub(32).max(20)
}

fn write_content(page: &mut Page, line: &MemoryRecord) {
    let texts = [
        ("about", &line.subtitle),
        ("narrative", &line.narrative),
        ("text", &line.text),
        ("request", &line.request),
        ("examined", &line.investigated),
        ("learned", &line.learned),
        ("completed", &line.completed),
        ("next", &line.next_steps),
        ("notes", &line.notes),
    ];
    for (name, text) in texts {
        // The first line is not repeated.
        if let Some(text) = text.as_deref().filter(|text| !is_headline(page, line, text)) {
            page.field(name, text);
        }
    }
    let files = if line.kind == MemoryKind::Note {
        "files"
    } else {
        "read"
    };
    for (name, list) in [
        ("facts", &line.facts),
        ("changed", &line.files_modified),
        ("changed", &line.files_edited),
        (files, &line.files_read),
    ] {
        for (at, entry) in list.iter().enumerate() {
            page.field(if at == 0 { name } else { "" }, &format!("· {entry}"));
        }
    }
    if !line.concepts.is_empty() {
        page.field("concepts", &line.concepts.join(", "));
    }
}

/// Writes a hand-over in place of the summary that stands for it.
pub(super) fn write_handover(page: &mut Page, handover: &Handover) {
    for (label, lines) in handover.sections() {
        for (at, line) in lines.iter().enumerate() {
            page.field(if at == 0 { label } else { "" }, &format!("· {line}"));
        }
    }
}

fn is_headline(page: &Page, line: &MemoryRecord, text: &str) -> bool {
    let headline = line.headline();
    headline == text.trim() && (line.title.is_some() || headline.chars().count() <= cut(page))
}

fn write_origin(page: &mut Page, shown: &MemoryDetail, times: &Times) {
    let (line, origin) = (&shown.memory.record, &shown.provenance);
    page.line("");
    match (&origin.project_name, &line.project) {
        (Some(name), Some(id)) if name != id => page.field("project", &format!("{name} ({id})")),
        (_, Some(id)) => page.field("project", id),
        (_, None) => page.field("project", "everywhere"),
    }
    let turn = match (origin.turn, origin.prompt_id) {
        (Some(number), Some(prompt)) => Some(format!("{number} (#{prompt})")),
        (Some(number), None) => Some(number.to_string()),
        _ => None,
    };
    let tools: Vec<String> = origin
        .tools
        .iter()
        .map(|tool| match &tool.tool {
            Some(name) => format!("{name} {}", tool.tool_use_id),
            None => tool.tool_use_id.clone(),
        })
        .collect();
    let since = |at: Timestamp| {
        let time = output::local(at, &times.zone, "%Y-%m-%d %H:%M:%S %Z");
        match times.recent(at) {
            Some(age) => format!("{time} ({age})"),
            None => time,
        }
    };
    let author = match (origin.author, &origin.project_name) {
        (Some(NoteAuthor::Agent), Some(project)) => Some(format!("an agent in {project}")),
        (author, _) => author.map(|author| author.to_string()),
    };
    let supersedes: Vec<String> = origin.supersedes.iter().map(|old| format!("#{old}")).collect();
    let fields = [
        ("session", line.session_id.clone()),
        ("agent", origin.host.clone()),
        ("branch", branch_of(shown)),
        ("commit", commit_of(shown)),
        ("shared by", shown.memory.shared_by.clone()),
        ("opinions", shown.memory.opinions.label()),
        ("turn", turn),
        (
            "prompt",
            origin
                .prompt
                .as_deref()
                .map(|prompt| output::one_line(prompt, PROMPT_LENGTH)),
        ),
        ("distiller", origin.distiller.as_ref().map(ToString::to_string)),
        ("saved by", author),
        ("evidence", Some(tools.join(", "))),
        ("created", line.created_at.map(since)),
        (
            "last seen",
            origin
                .last_seen_at
                .filter(|seen| Some(*seen) != line.created_at)
                .map(since),
        ),
        (
            "seen",
            origin
                .seen
                .filter(|seen| *seen > 1)
                .map(|seen| format!("{seen} times")),
        ),
        (
            "replaced by",
            origin.superseded_by.map(|handle| format!("#{handle}")),
        ),
        ("replaces", Some(supersedes.join(", "))),
        ("pinned", line.pinned.then(|| "yes".to_owned())),
        ("edited", origin.edited_at.map(since)),
        ("external id", line.external_id.clone()),
    ];
    for (name, value) in fields {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            page.field(name, &value);
        }
    }
}

/// Returns the commit of a memory.
fn commit_of(shown: &MemoryDetail) -> Option<String> {
    let work = shown.memory.work.as_ref();
    work.and_then(|work| work.commit.clone())
        .or_else(|| shown.memory.shared_commit.clone())
}

/// Returns the branch of a memory with the state of its work.
fn branch_of(shown: &MemoryDetail) -> Option<String> {
    let branch = shown
        .memory
        .record
        .branch
        .clone()
        .or(shown.provenance.branch.clone())?;
    let work = shown.memory.work.as_ref();
    let state = match work.and_then(|work| Some((work.state?, work.reverted_by.as_deref()))) {
        Some((_, Some(commit))) => format!(", reverted by {}", commit.get(..12).unwrap_or(commit)),
        Some((BranchState::Merged, None)) => ", merged".to_owned(),
        Some((BranchState::Working, None)) => ", not merged".to_owned(),
        Some((BranchState::Abandoned, None)) => ", deleted without a merge".to_owned(),
        None => String::new(),
    };
    Some(format!("{branch}{state}"))
}
