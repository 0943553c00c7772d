//! `backstory edit`: changes fields of a memory.

use std::{
    fs,
    io::{self, IsTerminal as _},
};

use anstream::println;
use anyhow::{Context as _, Result, bail};
use backstory_capture::sanitize::TextSanitizer;
use backstory_engine::{
    atomic_file,
    engine::Engine,
    error::{HintContext as _, HintedError},
};
use backstory_model::{Handle, MemoryKind, ObservationType};
use backstory_store::{MemoryEdit, MemoryRecord};
use backstory_system::remove_file;

use super::{ExitStatus, observation_type, open_store_with, unknown};
use crate::process;

/// Edit a memory
///
/// Observations have a title, subtitle, narrative, facts and a type; summaries request, investigated, learned, completed,
/// next steps and notes; notes a text and a type; prompts a text. Edited memories stay when their turn is distilled again.
/// Without a field it opens the memory in `$EDITOR`.
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
    let fields = editable(handle)?;
    let kind = handle.kind.name();
    if changed.is_empty() && io::stdin().is_terminal() && io::stdout().is_terminal() {
        let changed = in_editor(engine, handle)?;
        match changed.is_empty() {
            true => println!("Nothing was changed."),
            false => println!("Changed {handle}: {}", changed.join(", ")),
        }
        return Ok(ExitStatus::Done);
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
    let given = fields
        .into_iter()
        .filter_map(|(name, text)| Some((name, text.as_deref()?)));
    let facts = (!arguments.facts.is_empty()).then_some(arguments.facts.as_slice());
    sanitized(given, facts, arguments.kind, redact)
}

/// Returns an edit without private spans and secrets.
fn sanitized<'t>(
    fields: impl IntoIterator<Item = (&'static str, &'t str)>,
    facts: Option<&[String]>,
    kind: Option<ObservationType>,
    redact: bool,
) -> Result<MemoryEdit> {
    let mut texts = Vec::new();
    for (name, text) in fields {
        let sanitized = TextSanitizer::new(redact).text(text.trim()).unwrap_or_default();
        if sanitized.is_empty() && (!text.trim().is_empty() || ["title", "text"].contains(&name)) {
            bail!(
                HintedError::new(format_args!("the {name} is empty without its private spans"))
                    .hint("nothing was changed")
            );
        }
        texts.push((name, sanitized));
    }
    let facts = facts.map(|facts| {
        let facts = facts.iter();
        facts
            .filter_map(|fact| TextSanitizer::new(redact).text(fact.trim()))
            .collect()
    });
    Ok(MemoryEdit { texts, facts, kind })
}

/// Returns the fields of a memory that can be edited. Fails if there are none.
fn editable(handle: Handle) -> Result<&'static [&'static str]> {
    let fields = MemoryEdit::fields(handle.kind);
    if fields.is_empty() {
        let kind = handle.kind.name();
        bail!(
            HintedError::new(format_args!("a {kind} is verbatim text and cannot be edited"))
                .hint(format_args!("`backstory forget {handle}` removes it"))
        );
    }
    Ok(fields)
}

/// Opens a memory in the user's editor, as a TOML file; returns the fields that were changed. A file that cannot be read
/// stays, so that no text is lost.
pub(crate) fn in_editor(engine: &Engine, handle: Handle) -> Result<Vec<&'static str>> {
    let fields = editable(handle)?;
    let mut store = open_store_with(engine, &[handle])?;
    let memory = store.memory(handle)?.ok_or_else(|| unknown(handle))?;
    let file = engine.home.root().join(format!("edit-{handle}.toml"));
    let before = as_table(&memory.record, fields);
    let head = format!("# Memory {handle}: save the file to change it.\n\n");
    atomic_file::write_atomically(&file, format!("{head}{before}").as_bytes())
        .with_context(|| format!("could not write {}", file.display()))?;
    process::run_editor(&engine.environment, &file)?;
    let text = fs::read_to_string(&file).with_context(|| format!("could not read {}", file.display()))?;
    let after: toml_edit::DocumentMut = text.parse().hint_context(
        "the edited file is not valid TOML",
        format_args!("nothing was changed; your text is in {}", file.display()),
    )?;
    let edit = difference(&before, &after, fields, engine.checked_settings()?.capture.redact)?;
    remove_file(&file).ok();
    let changed = edit.changed();
    if !changed.is_empty() {
        store.edit(handle, &edit, engine.clock.timestamp())?;
    }
    Ok(changed)
}

/// Returns the fields of a memory as a TOML document.
fn as_table(record: &MemoryRecord, fields: &[&str]) -> toml_edit::DocumentMut {
    let mut table = toml_edit::DocumentMut::new();
    for &field in fields {
        let text = match field {
            "title" => &record.title,
            "subtitle" => &record.subtitle,
            "narrative" => &record.narrative,
            "text" => &record.text,
            "type" => &record.type_name,
            "request" => &record.request,
            "investigated" => &record.investigated,
            "learned" => &record.learned,
            "completed" => &record.completed,
            "next_steps" => &record.next_steps,
            "notes" => &record.notes,
            _ => &None,
        };
        table[field] = if field == "facts" {
            let mut facts: toml_edit::Array = record.facts.iter().map(String::as_str).collect();
            for fact in facts.iter_mut() {
                fact.decor_mut().set_prefix("\n    ");
            }
            facts.set_trailing_comma(!record.facts.is_empty());
            facts.set_trailing(if record.facts.is_empty() { "" } else { "\n" });
            toml_edit::value(facts)
        } else {
            toml_edit::value(text.as_deref().unwrap_or_default())
        };
    }
    table
}

/// Returns the fields that differ.
fn difference(
    before: &toml_edit::DocumentMut,
    after: &toml_edit::DocumentMut,
    fields: &'static [&'static str],
    redact: bool,
) -> Result<MemoryEdit> {
    let text = |table: &toml_edit::DocumentMut, field: &str| -> String {
        let text = table.get(field).and_then(toml_edit::Item::as_str);
        text.unwrap_or_default().trim().to_owned()
    };
    let list = |table: &toml_edit::DocumentMut| -> Vec<String> {
        let facts = table.get("facts").and_then(toml_edit::Item::as_array);
        let facts = facts.into_iter().flatten();
        facts
            .filter_map(|fact| fact.as_str().map(ToOwned::to_owned))
            .collect()
    };
    let mut texts = Vec::new();
    let mut kind = None;
    for &field in fields.iter().filter(|field| **field != "facts") {
        let new = text(after, field);
        if new == text(before, field) {
            continue;
        }
        if field == "type" {
            kind = Some(
                observation_type(&new).map_err(|error| HintedError::new(format_args!("type: {error}")))?,
            );
        } else {
            texts.push((field, new));
        }
    }
    let facts = Some(list(after)).filter(|facts| *facts != list(before));
    let texts = texts.iter().map(|(name, text)| (*name, text.as_str()));
    sanitized(texts, facts.as_deref(), kind, redact)
}
