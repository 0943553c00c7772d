//! Generated memories: each number yields the same memory in every run.

use std::{
    collections::HashSet,
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::Result;
use serde_json::json;

use crate::random::Random;

/// Memories per session.
const PER_SESSION: usize = 40;

/// Size of the vocabulary, including names and paths.
const VOCABULARY: usize = 30_000;

/// Number of cited files.
const FILES: usize = 2_000;

/// A word in 90 % of memories, like the name of a project.
pub(super) const UBIQUITOUS: &str = "acme";

/// Stop words.
pub(super) const STOP_WORDS: [&str; 48] = [
    "the", "of", "to", "and", "a", "in", "is", "it", "that", "for", "was", "on", "with", "as", "be", "this",
    "not", "by", "from", "when", "are", "or", "at", "an", "which", "only", "if", "before", "after", "no",
    "has", "have", "its", "all", "so", "there", "but", "does", "same", "because", "into", "than", "then",
    "each", "still", "without", "should", "while",
];

/// Frequent technical words.
const TECHNICAL: [&str; 64] = [
    "test",
    "file",
    "error",
    "value",
    "function",
    "query",
    "server",
    "client",
    "request",
    "response",
    "token",
    "session",
    "cache",
    "index",
    "buffer",
    "worker",
    "queue",
    "schema",
    "column",
    "record",
    "module",
    "config",
    "build",
    "branch",
    "commit",
    "merge",
    "parser",
    "router",
    "handler",
    "retry",
    "timeout",
    "thread",
    "lock",
    "stream",
    "batch",
    "cursor",
    "window",
    "report",
    "invoice",
    "account",
    "user",
    "role",
    "migration",
    "table",
    "field",
    "default",
    "option",
    "flag",
    "version",
    "release",
    "deploy",
    "log",
    "metric",
    "event",
    "message",
    "payload",
    "header",
    "path",
    "folder",
    "load",
    "store",
    "check",
    "update",
    "remove",
];

/// Parts of compound words.
const STEMS: [&str; 64] = [
    "ledger", "shard", "vault", "beacon", "anchor", "mirror", "bridge", "signal", "socket", "kernel",
    "tensor", "vector", "matrix", "graph", "node", "edge", "leaf", "root", "ring", "chain", "block", "frame",
    "page", "slot", "cell", "grid", "layer", "stack", "heap", "pool", "gate", "guard", "scope", "probe",
    "patch", "trace", "span", "pulse", "clock", "timer", "tick", "quota", "limit", "scale", "weight",
    "score", "rank", "label", "badge", "ticket", "order", "basket", "price", "coupon", "parcel", "driver",
    "engine", "motor", "wheel", "valve", "sensor", "camera", "screen", "button",
];

/// Words in no memory.
const UNKNOWN: [&str; 16] = [
    "pelican",
    "sonnet",
    "harvest",
    "marzipan",
    "glacier",
    "trombone",
    "saffron",
    "lighthouse",
    "pilgrim",
    "orchard",
    "velvet",
    "cathedral",
    "monsoon",
    "porcupine",
    "lullaby",
    "waltz",
];

/// Vocabulary, most frequent words first.
#[derive(Debug)]
pub(super) struct Past {
    words: Vec<String>,
    /// Cumulative frequencies of the words.
    cumulative: Vec<f64>,
}

/// One memory.
#[derive(Debug)]
pub(super) struct Memory {
    number: usize,
    pub(super) is_observation: bool,
    type_name: &'static str,
    /// Observation: title, subtitle, narrative and two facts. Passage: its text.
    parts: Vec<String>,
    /// Observation: the changed file.
    pub(super) file: String,
    /// Error passage: its error line.
    pub(super) error: Option<String>,
}

impl Past {
    pub(super) fn new() -> Self {
        let mut random = Random::new(11);
        let mut words: Vec<String> = STOP_WORDS
            .iter()
            .chain(&TECHNICAL)
            .map(ToString::to_string)
            .collect();
        let mut known: HashSet<String> = words.iter().cloned().collect();
        while words.len() < VOCABULARY {
            let one = part(&mut random);
            let other = loop {
                let word = &words[STOP_WORDS.len() + random.below(words.len() - STOP_WORDS.len())];
                if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
                    break word.clone();
                }
            };
            let word = match random.below(20) {
                0..12 => compound(&mut random),
                12..16 => format!("{one}_{other}"),
                16..18 => format!("{one}{}{}", other[..1].to_uppercase(), &other[1..]),
                18 => format!("{one}::{other}()"),
                _ => format!("src/{one}/{other}.rs"),
            };
            if known.insert(word.clone()) {
                words.push(word);
            }
        }
        let mut sum = 0.0;
        let cumulative = (0..words.len())
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 2.7);
                sum
            })
            .collect();
        Self { words, cumulative }
    }

    /// Generates a memory: a third are observations, the others passages. Memories of a session share words.
    pub(super) fn memory(&self, number: usize) -> Memory {
        let mut random = Random::new(number as u64 + 1_000);
        // Neighboring seeds start with similar numbers.
        for _ in 0..4 {
            random.below(2);
        }
        let mut topic = Random::new((number / PER_SESSION) as u64 + 77_000_000);
        let first = STOP_WORDS.len() + TECHNICAL.len();
        let topic: Vec<&str> = (0..24)
            .map(|_| self.words[first + topic.below(VOCABULARY - first)].as_str())
            .collect();
        let file = file(random.below(FILES));
        let mut memory = Memory {
            number,
            is_observation: number.is_multiple_of(3),
            type_name: "",
            parts: Vec::new(),
            file,
            error: None,
        };
        if memory.is_observation {
            const TYPES: [&str; 6] = ["bugfix", "feature", "refactor", "discovery", "decision", "change"];
            memory.type_name = random.pick(&TYPES);
            memory.parts = [5, 6, 19, 6, 7]
                .map(|length| self.sentences(length, &topic, &mut random))
                .to_vec();
        } else {
            const TYPES: [&str; 5] = ["prose", "prose", "edit", "command", "error"];
            memory.type_name = random.pick(&TYPES);
            let mut text = self.sentences(33 + random.below(22), &topic, &mut random);
            match memory.type_name {
                "error" => {
                    let (one, other) = (random.pick(&topic), self.word(&mut random));
                    let code = random.below(600);
                    let line = format!("error[E{code:04}]: cannot find `{one}` for {other} in this scope");
                    text = format!("{line}\n{text}");
                    memory.error = Some(line);
                }
                "command" => text = format!("cargo test -p {}\n{text}", random.pick(&topic)),
                _ => {}
            }
            memory.parts = vec![text];
        }
        if random.below(10) < 9 {
            let part = random.below(memory.parts.len());
            memory.parts[part].push_str(&format!(" in {UBIQUITOUS}"));
        }
        memory
    }

    /// Generates some sentences.
    fn sentences(&self, length: usize, topic: &[&str], random: &mut Random) -> String {
        let mut text = String::new();
        for at in 0..length {
            if at > 0 {
                text.push_str(if at.is_multiple_of(11) { ". " } else { " " });
            }
            match random.below(100) {
                0..12 => text.push_str(random.pick(topic)),
                12..47 => text.push_str(part(random)),
                _ => text.push_str(self.word(random)),
            }
        }
        text
    }

    fn word(&self, random: &mut Random) -> &str {
        const STEPS: usize = 1 << 30;
        let all = self.cumulative.last().copied().unwrap_or_default();
        let at = random.below(STEPS) as f64 / STEPS as f64 * all;
        let rank = self.cumulative.partition_point(|cumulative| *cumulative < at);
        &self.words[rank.min(self.words.len() - 1)]
    }

    /// Writes the first memories as JSON lines.
    pub(super) fn write(&self, path: &Path, count: usize) -> Result<()> {
        let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
        for number in 0..count {
            writeln!(out, "{}", self.memory(number).as_line())?;
        }
        out.flush()?;
        Ok(())
    }
}

impl Memory {
    /// Returns the external id.
    pub(super) fn id(&self) -> String {
        format!("m-{}", self.number)
    }

    /// Returns the full text in the order in which it is embedded.
    pub(super) fn text(&self) -> String {
        match self.parts.as_slice() {
            [title, subtitle, narrative, facts @ ..] => {
                let facts = facts.join("\n");
                [title, subtitle, &facts, narrative]
                    .map(String::as_str)
                    .join("\n")
            }
            parts => parts.join("\n"),
        }
    }

    /// Returns its words in random order, content words first.
    pub(super) fn words(&self, random: &mut Random) -> Vec<String> {
        let text = self.parts.join(" ");
        let words = text.split_whitespace().map(|word| word.trim_matches(['.', '`']));
        let (mut stop_words, mut content): (Vec<&str>, Vec<&str>) = words
            // Command-line options are not search terms.
            .filter(|word| *word != UBIQUITOUS && !word.starts_with('-'))
            .partition(|word| STOP_WORDS.contains(word));
        random.shuffle(&mut content);
        random.shuffle(&mut stop_words);
        content
            .into_iter()
            .chain(stop_words)
            .map(ToOwned::to_owned)
            .collect()
    }

    fn as_line(&self) -> String {
        let mut line = json!({
            "kind": if self.is_observation { "observation" } else { "passage" },
            "type": self.type_name,
            "session_id": format!("past-{}", self.number / PER_SESSION),
            "external_id": self.id(),
            "created_at": minute(self.number),
        });
        if let [title, subtitle, narrative, facts @ ..] = self.parts.as_slice()
            && self.is_observation
        {
            line["title"] = json!(title);
            line["subtitle"] = json!(subtitle);
            line["narrative"] = json!(narrative);
            line["facts"] = json!(facts);
            line["files_modified"] = json!([self.file]);
        } else {
            line["text"] = json!(self.parts[0]);
        }
        line.to_string()
    }
}

/// Returns words that are in no memory.
pub(super) fn unknown_words(count: usize, random: &mut Random) -> String {
    let words: Vec<&str> = (0..count).map(|_| random.pick(&UNKNOWN)).collect();
    words.join(" ")
}

fn file(number: usize) -> String {
    let (one, other) = (
        TECHNICAL[number % TECHNICAL.len()],
        TECHNICAL[number / TECHNICAL.len()],
    );
    format!("src/{one}/{other}.rs")
}

/// Generates a compound word of two parts, sometimes with a prefix.
fn compound(random: &mut Random) -> String {
    const PREFIXES: [&str; 6] = ["", "", "", "pre", "sub", "auto"];
    let (prefix, one, other) = (random.pick(&PREFIXES), part(random), part(random));
    [prefix, one, other].concat()
}

fn part(random: &mut Random) -> &'static str {
    match random.below(2) {
        0 => random.pick(&TECHNICAL),
        _ => random.pick(&STEMS),
    }
}

/// Returns the time of a memory: one minute apart, from 2024 on, in months of 28 days.
fn minute(number: usize) -> String {
    let (day, minute) = (number / 1_440, number % 1_440);
    format!(
        "{}-{:02}-{:02}T{:02}:{:02}:00Z",
        2024 + day / 336,
        1 + day / 28 % 12,
        1 + day % 28,
        minute / 60,
        minute % 60
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_are_deterministic_and_neighbors_differ() {
        let (one, other) = (Past::new(), Past::new());
        assert_eq!(one.memory(41).as_line(), other.memory(41).as_line());
        assert_ne!(one.memory(41).parts, one.memory(44).parts);
    }

    #[test]
    fn a_third_are_observations_and_most_have_the_ubiquitous_word() {
        let past = Past::new();
        let memories: Vec<Memory> = (0..1_000).map(|number| past.memory(number)).collect();
        let count =
            |predicate: &dyn Fn(&Memory) -> bool| memories.iter().filter(|one| predicate(one)).count();
        assert_eq!(count(&|one| one.is_observation), 334);
        assert!((850..950).contains(&count(&|one| one.parts.concat().contains(UBIQUITOUS))));
        assert!(count(&|one| one.error.is_some()) > 50);
        assert_eq!(
            count(&|one| UNKNOWN.iter().any(|word| one.parts.concat().contains(word))),
            0
        );
    }

    #[test]
    fn times_increase_by_a_minute() {
        assert_eq!(minute(0), "2024-01-01T00:00:00Z");
        assert_eq!(minute(1_440 * 336 + 61), "2025-01-01T01:01:00Z");
    }
}
