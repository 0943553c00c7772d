//! `backstory edit`: changes fields of a memory.

use anstream::println;
use anyhow::{Result, bail};
use backstory_capture::sanitize::TextSanitizer;
use backstory_engine::engine::Engine;
use backstory_engine::error::HintedError;
use backstory_model::{Handle, MemoryKind, ObservationType};
use backstory_store::MemoryEdit;

use super::{ExitStatus, observation_type, open_store_with};

/// Edit a memory
///
/// Observations have a title, subtitle, narrative, facts and a type; summaries request, investigated, learned, completed,
/// next steps and notes; notes a text and a type; prompts a text. Edited memories stay when their turn is distilled again.
#[derive(clap::Args)]
pub(crate) struct EditArguments {
    /// Handle: 123, S12, P34 or N5
    #[arg(value_name = "HANDLE")]
    handle: Handle,
    /// Title: what is true since
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Subtitle: the circumstances
    #[arg(long, value_name = "TEXT")]
    subtitle: Option<String>,
    /// Narrative: what happened and why
    #[arg(long, value_name = "TEXT")]
    narrative: Option<String>,
    /// Text of a note or a prompt
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// A fact; replaces all existing facts, may be repeated
    #[arg(long = "fact", value_name = "TEXT")]
    facts: Vec<String>,
    #[arg(
        long = "type",
        value_name = "T",
        value_parser = observation_type,
        help = format!("Type: {}", ObservationType::NAMES.join(", "))
    )]
    kind: Option<ObservationType>,
    /// Request: what the user asked for
    #[arg(long, value_name = "TEXT")]
    request: Option<String>,
    /// Investigated files and questions
    #[arg(long, value_name = "TEXT")]
    investigated: Option<String>,
    /// Learned facts
    #[arg(long, value_name = "TEXT")]
    learned: Option<String>,
    /// Completed work
    #[arg(long, value_name = "TEXT")]
    completed: Option<String>,
    /// Next steps
    #[arg(long, value_name = "TEXT")]
    next_steps: Option<String>,
    /// Open problems and other remarks
    #[arg(long, value_name = "TEXT")]
    notes: Option<String>,
}

pub(crate) fn run(engine: &Engine, arguments: &EditArguments) -> Result<ExitStatus> {
    let edit = read(arguments, engine.checked_settings()?.capture.redact)?;
    let handle = arguments.handle;
    let changed = edit.changed();
    let fields = MemoryEdit::fields(handle.kind);
    let kind = handle.kind.name();
    if fields.is_empty() {
        bail!(
            HintedError::new(format_args!("a {kind} is verbatim text and cannot be edited"))
                .hint(format_args!("`backstory forget {handle}` removes it"))
        );
    }
    let article = if handle.kind == MemoryKind::Observation {
        "an"
    } else {
        "a"
    };
    if let Some(wrong) = changed.iter().find(|name| !fields.contains(name)) {
        let error = HintedError::new(format_args!("{article} {kind} has no {wrong}"));
        bail!(error.hint(format_args!("it has {}", fields.join(", "))));
    }
    if changed.is_empty() {
        let error = HintedError::new("no field was given");
        bail!(error.hint(format_args!("{article} {kind} has {}", fields.join(", "))));
    }
    open_store_with(engine, &[handle])?.edit(handle, &edit, engine.clock.timestamp())?;
    println!("Changed {handle}: {}", changed.join(", "));
    Ok(ExitStatus::Done)
}

fn read(arguments: &EditArguments, redact: bool) -> Result<MemoryEdit> {
    let fields = [
        ("title", &arguments.title),
        ("subtitle", &arguments.subtitle),
        ("narrative", &arguments.narrative),
        ("text", &arguments.text),
        ("request", &arguments.request),
        ("investigated", &arguments.investigated),
        ("learned", &arguments.learned),
        ("completed", &arguments.completed),
        ("next_steps", &arguments.next_steps),
        ("notes", &arguments.notes),
    ];
    let mut texts = Vec::new();
    for (name, text) in fields {
        let Some(text) = text else { continue };
        let sanitized = TextSanitizer::new(redact).text(text.trim()).unwrap_or_default();
        if sanitized.is_empty() && (!text.trim().is_empty() || ["title", "text"].contains(&name)) {
            bail!(
                HintedError::new(format_args!("the {name} is empty without its private spans"))
                    .hint("nothing was changed")
            );
        }
        texts.push((name, sanitized));
    }
    let facts: Vec<String> = arguments
        .facts
        .iter()
        .filter_map(|fact| TextSanitizer::new(redact).text(fact.trim()))
        .collect();
    Ok(MemoryEdit {
        texts,
        facts: (!arguments.facts.is_empty()).then_some(facts),
        kind: arguments.kind,
    })
}
