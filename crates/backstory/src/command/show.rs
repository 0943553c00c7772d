//! `backstory show`: prints a memory with its provenance and evidence.

use anstream::println;
use anyhow::Result;
use backstory_engine::{engine::Engine, models};
use backstory_model::{Handle, Handover, MemoryKind, NoteAuthor, Timestamp};
use backstory_serve::api_types::Detail;
use backstory_store::{MemoryDetail, MemoryRecord};
use jiff::tz::TimeZone;

use super::{ExitStatus, open_store, unknown};
use crate::output::{self, BOLD, DIM};

/// Show a memory with its provenance and evidence
#[derive(clap::Args)]
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
        println!("{}", serde_json::to_string(&list)?);
    } else {
        let zone = models::zone(&engine.checked_settings()?);
        for (at, memory) in shown.iter().enumerate() {
            if at > 0 {
                println!();
            }
            print(memory, engine.clock.timestamp(), &zone);
        }
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

fn print(shown: &MemoryDetail, now: Timestamp, zone: &TimeZone) {
    let line = &shown.memory.record;
    let kind = match (&line.type_name, line.kind) {
        (Some(name), MemoryKind::Observation) => name.clone(),
        (Some(name), kind) => format!("{} · {name}", kind.name()),
        (None, kind) => kind.name().to_owned(),
    };
    let icon = line.icon();
    let name = format!("#{} · {}", shown.memory.handle, output::one_line(&kind, 40));
    print_headline(line, icon, &name);
    if shown.memory.rejected {
        field("state", "tried, did not work");
    }
    match &shown.handover {
        Some(handover) => print_handover(handover),
        None => print_content(line),
    }
    print_origin(shown, now, zone);
    if !shown.passages.is_empty() {
        println!("\n{BOLD}Evidence{BOLD:#}");
        for passage in &shown.passages {
            println!(
                "  {DIM}{:<7} {:<8}{DIM:#} {}",
                passage.id.to_string(),
                passage.kind,
                output::one_line(&passage.first_line, output::width() - 19)
            );
        }
    }
}

/// Prints the first line. A title is shown in full, because it appears only there; other texts follow below.
fn print_headline(line: &MemoryRecord, icon: &str, name: &str) {
    /// Width of the icon and a space.
    const ICON: usize = 3;
    let width = output::width() - ICON;
    let mut lines = match line.title {
        Some(_) => output::wrap(line.headline(), width),
        None => vec![output::one_line(line.headline(), cut())],
    };
    let last = lines.pop().unwrap_or_default();
    for (at, line) in lines.iter().enumerate() {
        let icon = if at == 0 { icon } else { "  " };
        println!("{icon} {BOLD}{line}{BOLD:#}");
    }
    let icon = if lines.is_empty() { icon } else { "  " };
    let fits = last.chars().count() + 1 + name.chars().count() <= width;
    let gap = if fits { " " } else { "\n   " };
    println!("{icon} {BOLD}{last}{BOLD:#}{gap}{DIM}{name}{DIM:#}");
}

/// Returns the maximum length of a first line that is repeated below in full.
fn cut() -> usize {
    output::width().saturating_sub(32)
}

fn print_content(line: &MemoryRecord) {
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
        if let Some(text) = text.as_deref().filter(|text| !is_headline(line, text)) {
            field(name, text);
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
            field(if at == 0 { name } else { "" }, &format!("· {entry}"));
        }
    }
    if !line.concepts.is_empty() {
        field("concepts", &line.concepts.join(", "));
    }
}

/// Prints a hand-over in place of the summary that stands for it.
pub(super) fn print_handover(handover: &Handover) {
    for (label, lines) in handover.sections() {
        for (at, line) in lines.iter().enumerate() {
            field(if at == 0 { label } else { "" }, &format!("· {line}"));
        }
    }
}

fn is_headline(line: &MemoryRecord, text: &str) -> bool {
    let headline = line.headline();
    headline == text.trim() && (line.title.is_some() || headline.chars().count() <= cut())
}

fn print_origin(shown: &MemoryDetail, now: Timestamp, zone: &TimeZone) {
    let (line, origin) = (&shown.memory.record, &shown.provenance);
    println!();
    match (&origin.project_name, &line.project) {
        (Some(name), Some(id)) if name != id => field("project", &format!("{name} ({id})")),
        (_, Some(id)) => field("project", id),
        (_, None) => field("project", "everywhere"),
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
        let time = output::local(at, zone, "%Y-%m-%d %H:%M:%S %Z");
        format!("{time} ({})", output::ago(now, at))
    };
    let author = match (origin.author, &origin.project_name) {
        (Some(NoteAuthor::Agent), Some(project)) => Some(format!("an agent in {project}")),
        (author, _) => author.map(|author| author.to_string()),
    };
    let supersedes: Vec<String> = origin.supersedes.iter().map(|old| format!("#{old}")).collect();
    let fields = [
        ("session", line.session_id.clone()),
        ("agent", origin.host.clone()),
        ("branch", origin.branch.clone()),
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
            field(name, &value);
        }
    }
}

/// Prints a field with its text wrapped next to its name.
fn field(name: &str, text: &str) {
    const NAME: usize = 13;
    for (at, line) in output::wrap(text, output::width() - NAME).iter().enumerate() {
        let name = if at == 0 { name } else { "" };
        println!("{DIM}{name:<11}{DIM:#}  {line}");
    }
}
