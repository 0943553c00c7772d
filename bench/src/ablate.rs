//! Shows what each source of memories contributes: composes sessions without it and compares with facts about them.
//!
//! `cargo run --release -p backstory-bench -- ablate FOLDER FACTS.jsonl`: FOLDER holds transcripts (`ID.jsonl`), FACTS one
//! object per line with `session`, `kind` and `text`. A memory holds a fact when it has 60 % of the fact's content words.
//! A source whose absence changes nothing earns nothing.

use std::{collections::HashMap, fs, path::Path};

use anyhow::{Context, Result, bail};
use backstory_distill::{MemorySource, SessionMemory, TurnLog, compose_without, record};
use backstory_text::{WordSet, tokens};
use serde::Deserialize;

use crate::worklog::read;

/// A statement about a session.
#[derive(Deserialize)]
struct Fact {
    session: String,
    kind: String,
    text: String,
}

/// The measures of one run over all sessions with facts.
#[derive(Clone, Copy, Default)]
struct Score {
    /// Share of facts that one memory holds.
    told: f64,
    /// Share of open items that the hand-over holds.
    leaves: f64,
    /// Memories per session.
    memories: f64,
    /// Tokens of memory per session.
    tokens: f64,
}

/// Prints the table.
pub(crate) fn print(mut words: impl Iterator<Item = String>) -> Result<()> {
    let (Some(folder), Some(facts), None) = (words.next(), words.next(), words.next()) else {
        bail!("name transcripts and facts: ablate FOLDER FACTS.jsonl");
    };
    let facts = fs::read_to_string(&facts).with_context(|| format!("could not read {facts}"))?;
    let mut by_session: HashMap<String, Vec<Fact>> = HashMap::new();
    for line in facts.lines() {
        let fact: Fact = serde_json::from_str(line)?;
        by_session.entry(fact.session.clone()).or_default().push(fact);
    }
    let mut sessions: Vec<(Vec<TurnLog>, Vec<Fact>)> = Vec::new();
    for (session, facts) in by_session {
        let turns = read(&Path::new(&folder).join(format!("{session}.jsonl")))?;
        let logs = turns.iter().map(|turn| record(turn).log).collect();
        sessions.push((logs, facts));
    }
    println!(
        "{:<12} {:>8} {:>8} {:>9} {:>8}",
        "without", "told", "leaves", "memories", "tokens"
    );
    let all = score(&sessions, None);
    row("nothing", all, Score::default());
    for source in MemorySource::ALL {
        row(
            &format!("{source:?}").to_lowercase(),
            score(&sessions, Some(source)),
            all,
        );
    }
    Ok(())
}

fn row(name: &str, score: Score, all: Score) {
    println!(
        "{name:<12} {:>+8.3} {:>+8.3} {:>+9.1} {:>+8.0}",
        score.told - all.told,
        score.leaves - all.leaves,
        score.memories - all.memories,
        score.tokens - all.tokens
    );
}

fn score(sessions: &[(Vec<TurnLog>, Vec<Fact>)], skipped: Option<MemorySource>) -> Score {
    let (mut facts, mut told, mut open, mut left) = (0.0, 0.0, 0.0, 0.0);
    let mut sum = Score::default();
    for (logs, statements) in sessions {
        let memory = compose_without(logs, skipped);
        let texts = texts(&memory);
        sum.memories += number(texts.len());
        sum.tokens += number(texts.iter().map(|text| tokens(text)).sum());
        let texts: Vec<WordSet> = texts.iter().map(|text| WordSet::of(text)).collect();
        let handover = WordSet::of(&handover_text(&memory));
        for fact in statements {
            let words = WordSet::of(&fact.text);
            facts += 1.0;
            told += f64::from(u8::from(texts.iter().any(|text| holds(text, &words))));
            if fact.kind == "open" {
                open += 1.0;
                left += f64::from(u8::from(holds(&handover, &words)));
            }
        }
    }
    let count = number(sessions.len());
    Score {
        told: told / facts,
        leaves: left / open,
        memories: sum.memories / count,
        tokens: sum.tokens / count,
    }
}

fn holds(text: &WordSet, fact: &WordSet) -> bool {
    const SHARE: f64 = 0.6;
    fact.containment(text) >= SHARE
}

fn texts(memory: &SessionMemory) -> Vec<String> {
    let observations = memory.observations.iter().map(|one| {
        let made = &one.observation;
        let mut lines = vec![made.title.as_str()];
        lines.extend(made.subtitle.as_deref());
        lines.extend(made.narrative.as_deref());
        lines.extend(made.facts.iter().map(String::as_str));
        lines.join("\n")
    });
    let summaries = memory.summaries.iter().map(|one| {
        let summary = &one.summary;
        let fields = [&summary.completed, &summary.next_steps, &summary.notes];
        let fields: Vec<&str> = fields.into_iter().flatten().map(String::as_str).collect();
        fields.join("\n")
    });
    observations
        .chain(summaries)
        .chain([handover_text(memory)])
        .filter(|text| !text.is_empty())
        .collect()
}

fn handover_text(memory: &SessionMemory) -> String {
    let lines: Vec<&str> = memory
        .handover
        .sections()
        .flat_map(|(_, lines)| lines.iter().map(String::as_str))
        .collect();
    lines.join("\n")
}

fn number(count: usize) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}
