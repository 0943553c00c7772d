//! `backstory remember`: saves a note.

use std::{
    io::{self, Read},
    path::{Component, Path, PathBuf},
};

use anstream::println;
use anyhow::{Context, Result, bail};
use backstory_capture::sanitize::TextSanitizer;
use backstory_engine::engine::Engine;
use backstory_engine::error::HintedError;
use backstory_model::{NoteAuthor, ObservationType, ProjectIdentity, relative_path};
use backstory_store::NewNote;
use serde_json::json;

use super::{ExitStatus, locate_here, open_for_writing, team};
use crate::{
    json_output::print_json,
    output::{self, DIM},
};

/// Save a note for this project
///
/// Private spans and secrets are removed before it is stored. The same text is saved once.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory remember the staging database is read only   a note for this project
  backstory remember --pin never log tokens              every session starts with it
  git log -1 --format=%B | backstory remember -          from standard input")]
pub(crate) struct Remember {
    /// Text of the note, quotes are not needed; `-` reads it from standard input
    #[arg(value_name = "TEXT", required = true)]
    text: Vec<String>,
    /// Pin the note: every session of the project starts with it
    #[arg(long)]
    pin: bool,
    /// Share it with the project's team
    #[arg(long, conflicts_with = "global")]
    team: bool,
    /// Save it for all projects, not only for that of the current folder
    #[arg(long)]
    global: bool,
    #[arg(
        long = "type",
        value_name = "T",
        value_parser = super::observation_type,
        help = format!("Type: {}", ObservationType::NAMES.join(", "))
    )]
    kind: Option<ObservationType>,
    /// A file it is about; may be repeated
    #[arg(long = "file", value_name = "F")]
    files: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Maximum input; the stored note is shorter still.
const MAX_INPUT_BYTES: u64 = 1 << 20;

pub(crate) fn run(engine: &Engine, arguments: &Remember) -> Result<ExitStatus> {
    let redact = engine.checked_settings()?.capture.redact;
    let mut input = arguments.text.join(" ");
    if input == "-" {
        let mut bytes = Vec::new();
        let read = io::stdin().take(MAX_INPUT_BYTES).read_to_end(&mut bytes);
        read.context("could not read the note from standard input")?;
        input = String::from_utf8_lossy(&bytes).into_owned();
    }
    let mut sanitizer = TextSanitizer::new(redact);
    let Some(text) = sanitizer.text(input.trim()) else {
        if sanitizer.has_removed() {
            bail!(HintedError::new("the note is empty without its private spans").hint("nothing was saved"));
        }
        bail!(HintedError::new("the note is empty").hint("pass a text: backstory remember \"…\""));
    };
    let cwd = std::env::current_dir().context("could not find the current folder")?;
    let facts = locate_here(engine, &cwd);
    let files: Vec<String> = arguments
        .files
        .iter()
        .map(|file| in_project(&facts, &cwd, file))
        .collect();
    engine.home.create()?;
    let mut store = open_for_writing(engine)?;
    let saved = store.remember(
        &NewNote {
            project: (!arguments.global).then_some(&facts),
            text: text.trim(),
            kind: arguments.kind,
            files: &files,
            pinned: arguments.pin,
            author: NoteAuthor::User,
        },
        engine.clock.timestamp(),
    )?;
    let handle = saved.handle;
    if arguments.team {
        team::share_saved(engine, &mut store, handle)?;
    }
    if arguments.json {
        print_json(
            json!({"id": handle, "new": saved.is_new, "pinned": arguments.pin, "shared": arguments.team}),
        );
        return Ok(ExitStatus::Done);
    }
    let place = match arguments.global {
        true => "everywhere".to_owned(),
        false => format!("in {}", output::one_line(&facts.name, 60)),
    };
    match (saved.is_new, arguments.pin) {
        (true, false) => println!("Saved {handle} {DIM}{place}{DIM:#}"),
        (true, true) => println!("Saved {handle} {DIM}{place}, pinned{DIM:#}"),
        (false, false) => println!("Already saved as {handle} {DIM}{place}{DIM:#}"),
        (false, true) => println!("Already saved as {handle}, now pinned {DIM}{place}{DIM:#}"),
    }
    if arguments.team {
        println!("Shared with the team {DIM}(`backstory unshare {handle}` takes it back){DIM:#}");
    }
    if text.trim() != input.trim() {
        anstream::eprintln!("{DIM}Private spans and secrets were removed.{DIM:#}");
    }
    Ok(ExitStatus::Done)
}

/// Returns the path of a file relative to its working tree, as memories cite it.
fn in_project(facts: &ProjectIdentity, cwd: &Path, file: &Path) -> String {
    let mut path = PathBuf::new();
    for part in cwd.join(file).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    let roots = [facts.worktree.as_deref(), Some(facts.root.as_str())];
    relative_path(&path.to_string_lossy(), roots.into_iter().flatten())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_paths_are_relative_to_the_root() {
        let facts = ProjectIdentity {
            key: "k".to_owned(),
            name: "n".to_owned(),
            root: "/w/acme".to_owned(),
            branch: None,
            worktree: None,
        };
        for (file, expected) in [
            ("lib.rs", "src/lib.rs"),
            ("./lib.rs", "src/lib.rs"),
            ("../README.md", "README.md"),
            ("/w/acme/src/a.rs", "src/a.rs"),
            ("/etc/hosts", "/etc/hosts"),
        ] {
            let named = in_project(&facts, Path::new("/w/acme/src"), Path::new(file));
            assert_eq!(named, expected);
        }
    }
}
