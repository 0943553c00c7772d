//! Shows what the built-in rules read from a Claude Code transcript: evidence items, work log, memories.
//!
//! `cargo run -p backstory-bench -- worklog FILE.jsonl [--items|--log|--memories|--json|--time]`. A tool for people who change
//! the rules: nothing is stored, and no binary is built or started.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use backstory_capture::filter::CaptureSettings;
use backstory_distill::{Action, SessionMemory, TurnEvidence, TurnInput, compose, record};
use backstory_engine::{
    import::{self, FolderProjects, ImportedEvent},
    turns::turns_of_session,
};
use backstory_model::Timestamp;
use serde_json::Value;

/// The part that is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum View {
    Items,
    Log,
    Memories,
    /// One line of JSON per transcript, for scripts.
    Json,
    /// Only the time that `record` and `compose` took.
    Time,
}

/// Prints a view of a transcript.
pub(crate) fn print(words: impl Iterator<Item = String>) -> Result<()> {
    let (mut files, mut view) = (Vec::new(), View::Log);
    for word in words {
        match word.as_str() {
            "--items" => view = View::Items,
            "--log" => view = View::Log,
            "--memories" => view = View::Memories,
            "--json" => view = View::Json,
            "--time" => view = View::Time,
            flag if flag.starts_with("--") => bail!("unknown argument {flag}"),
            file => files.push(PathBuf::from(file)),
        }
    }
    if files.is_empty() {
        bail!("name a transcript: worklog FILE.jsonl [--items|--log|--memories|--json|--time]");
    }
    let (mut recording, mut composing) = (0.0, 0.0);
    let (mut entries, mut items) = (0, 0);
    for file in &files {
        let turns = read(file)?;
        let start = Instant::now();
        let evidence: Vec<TurnEvidence> = turns.iter().map(record).collect();
        recording += start.elapsed().as_secs_f64();
        let logs: Vec<_> = evidence.iter().map(|turn| turn.log.clone()).collect();
        let start = Instant::now();
        let memory = compose(&logs);
        composing += start.elapsed().as_secs_f64();
        entries += logs.iter().map(|log| log.entries.len()).sum::<usize>();
        items += evidence.iter().map(|turn| turn.items.len()).sum::<usize>();
        match view {
            View::Items => print_items(&evidence),
            View::Log => print_log(&evidence)?,
            View::Memories => print_memories(&memory)?,
            View::Json => println!("{}", json(file, &memory)),
            View::Time => {}
        }
    }
    if view == View::Time {
        println!("{items} items, {entries} entries: record {recording:.3} s, compose {composing:.3} s");
    }
    Ok(())
}

fn print_items(evidence: &[TurnEvidence]) {
    for turn in evidence {
        print_prompt(turn);
        for (index, item) in turn.items.iter().enumerate() {
            let path = item.path.as_deref().unwrap_or_default();
            println!("--- {}.{index} {:?} {path}", turn.log.number, item.kind);
            if let Some(intent) = &item.intent {
                println!("    intent: {intent}");
            }
            println!("{}", item.text);
        }
    }
}

fn print_prompt(turn: &TurnEvidence) {
    let log = &turn.log;
    let by = if log.machine_made { "machine" } else { "user" };
    let prompt = log.prompt.as_deref().unwrap_or("(none)");
    println!("=== turn {} {:?} by {by}: {prompt}", log.number, log.end);
}

fn print_log(evidence: &[TurnEvidence]) -> Result<()> {
    for turn in evidence {
        print_prompt(turn);
        for entry in &turn.log.entries {
            let item = entry.item.map_or_else(|| "-".to_owned(), |item| item.to_string());
            let agent = if entry.subagent.is_some() {
                " (sub-agent)"
            } else {
                ""
            };
            let action = match &entry.action {
                Action::Prose(text) => format!("prose: {text}"),
                Action::Report(text) => format!("REPORT: {text}"),
                Action::UserMessage(text) => format!("USER: {text}"),
                Action::Lookup { path } => format!("lookup {path}"),
                other => serde_json::to_string(other)?,
            };
            println!("{item:>4}{agent} {action}");
        }
    }
    Ok(())
}

/// Returns the memory in the form of `session ID --json`.
fn json(file: &Path, memory: &SessionMemory) -> Value {
    let observations: Vec<Value> = memory
        .observations
        .iter()
        .map(|one| {
            let made = &one.observation;
            serde_json::json!({
                "key": one.key, "turn": one.turn, "episode": one.episode, "rejected": one.rejected,
                "type": format!("{:?}", made.kind), "title": made.title, "subtitle": made.subtitle,
                "narrative": made.narrative, "facts": made.facts, "concepts": made.concepts,
                "files_read": made.files_read, "files_modified": made.files_modified,
            })
        })
        .collect();
    let summaries: Vec<Value> = memory
        .summaries
        .iter()
        .map(|one| {
            let made = &one.summary;
            serde_json::json!({
                "turn": one.turn, "request": made.request, "investigated": made.investigated, "learned": made.learned,
                "completed": made.completed, "next_steps": made.next_steps, "notes": made.notes,
                "files_read": made.files_read, "files_edited": made.files_edited,
            })
        })
        .collect();
    serde_json::json!({
        "file": file, "title": memory.title, "subtitle": memory.subtitle,
        "episodes": memory.episodes.iter().map(|one| serde_json::json!({"number": one.number, "title": one.title, "request": one.request})).collect::<Vec<_>>(),
        "observations": observations, "summaries": summaries, "handover": memory.handover,
    })
}

fn print_memories(memory: &SessionMemory) -> Result<()> {
    println!("# {}", memory.title.as_deref().unwrap_or("(no title)"));
    println!("  {}", memory.subtitle.as_deref().unwrap_or_default());
    for episode in &memory.episodes {
        println!(
            "\n## {} {} [{}.{} to {}.{}]",
            episode.number,
            episode.title,
            episode.first.turn,
            episode.first.item,
            episode.last.turn,
            episode.last.item
        );
        println!("   request: {}", episode.request.as_deref().unwrap_or_default());
        for one in memory
            .observations
            .iter()
            .filter(|one| one.episode == episode.number)
        {
            let memory = &one.observation;
            let state = if one.rejected { " (rejected)" } else { "" };
            println!("\n   [{:?}]{state} {}", memory.kind, memory.title);
            if let Some(subtitle) = &memory.subtitle {
                println!("     ({subtitle})");
            }
            if let Some(narrative) = &memory.narrative {
                println!("     {narrative}");
            }
            for fact in &memory.facts {
                println!("     - {fact}");
            }
            println!("     files {:?} key {}", memory.files_modified, one.key);
        }
    }
    println!(
        "\n# Hand-over\n{}",
        serde_json::to_string_pretty(&memory.handover)?
    );
    Ok(())
}

/// Reads the turns of a transcript.
pub(crate) fn read(file: &Path) -> Result<Vec<TurnInput>> {
    let settings = CaptureSettings {
        skip_tools: Vec::new(),
        redact: true,
        max_payload: 256 * 1024,
    };
    let found = backstory_transcript::sessions(backstory_transcript::TranscriptHost::ClaudeCode, file)
        .with_context(|| format!("could not read {}", file.display()))?;
    let mut turns = Vec::new();
    for transcript in &found.transcripts {
        let folders = FolderProjects::of(&[backstory_transcript::peek(transcript)?], None);
        let read = import::read(transcript, &folders, &settings, Timestamp::from_millis(0))?;
        let root = read.project.as_ref().map(|project| project.root.as_str());
        let events: Vec<_> = read.events.iter().map(ImportedEvent::to_event).collect();
        turns.extend(turns_of_session(&events, root));
    }
    Ok(turns)
}
