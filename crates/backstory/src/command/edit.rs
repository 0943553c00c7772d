//! `backstory edit`: put a memory right.

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
/// next steps and notes; notes a text and a type; prompts a text. What is edited stays when its turn is distilled again.
#[derive(clap::Args)]
pub(crate) struct EditArguments {
    /// What names it: 123, S12, P34, N5
    #[arg(value_name = "HANDLE")]
    handle: Handle,
    /// What is true since
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The circumstances
    #[arg(long, value_name = "TEXT")]
    subtitle: Option<String>,
    /// What happened and why
    #[arg(long, value_name = "TEXT")]
    narrative: Option<String>,
    /// The words of a note or a prompt
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// A fact; those given replace all that were there
    #[arg(long = "fact", value_name = "TEXT")]
    facts: Vec<String>,
    /// What it is: decision, bugfix, feature, refactor, discovery, change
    #[arg(long = "type", value_name = "T", value_parser = observation_type)]
    kind: Option<ObservationType>,
    /// What was asked
    #[arg(long, value_name = "TEXT")]
    request: Option<String>,
    /// What was looked at
    #[arg(long, value_name = "TEXT")]
    investigated: Option<String>,
    /// What was found out
    #[arg(long, value_name = "TEXT")]
    learned: Option<String>,
    /// What was done
    #[arg(long, value_name = "TEXT")]
    completed: Option<String>,
    /// What is left to do
    #[arg(long, value_name = "TEXT")]
    next_steps: Option<String>,
    /// Open problems and anything else
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
            HintedError::new(format_args!(
                "a {kind} is what was said, word by word: it cannot be edited"
            ))
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
        let error = HintedError::new("nothing to change was given");
        bail!(error.hint(format_args!("{article} {kind} has {}", fields.join(", "))));
    }
    open_store_with(engine, &[handle])?.edit(handle, &edit, engine.clock.timestamp())?;
    println!("Changed {handle}: {}", changed.join(", "));
    Ok(ExitStatus::Done)
}

fn read(arguments: &EditArguments, redact: bool) -> Result<MemoryEdit> {
    let given = [
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
    for (name, text) in given {
        let Some(text) = text else { continue };
        let washed = TextSanitizer::new(redact).text(text.trim()).unwrap_or_default();
        if washed.is_empty() && (!text.trim().is_empty() || ["title", "text"].contains(&name)) {
            bail!(
                HintedError::new(format_args!("nothing is left of the {name}"))
                    .hint("say it without private spans; nothing was changed")
            );
        }
        texts.push((name, washed));
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
