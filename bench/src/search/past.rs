//! Memories to look for, made up: every number stands for one, the same in every run.

use std::{
    collections::HashSet,
    fs::File,
    io::{BufWriter, Write},
    path::Path,
};

use anyhow::Result;
use serde_json::json;

use crate::random::Random;

/// How many memories a session has.
const SESSION: usize = 40;

/// How many words there are, names and paths among them.
const WORDS: usize = 30_000;

/// How many files memories speak of.
const FILES: usize = 2_000;

/// Stands in nine of ten memories, as the name of a project does.
pub(super) const EVERYWHERE: &str = "acme";

/// What everybody writes; words that tell nothing.
pub(super) const SMALL: [&str; 48] = [
    "the", "of", "to", "and", "a", "in", "is", "it", "that", "for", "was", "on", "with", "as", "be", "this",
    "not", "by", "from", "when", "are", "or", "at", "an", "which", "only", "if", "before", "after", "no",
    "has", "have", "its", "all", "so", "there", "but", "does", "same", "because", "into", "than", "then",
    "each", "still", "without", "should", "while",
];

/// Frequent words of the trade.
const TRADE: [&str; 64] = [
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

/// Words that others are made of.
const STEMS: [&str; 64] = [
    "ledger", "shard", "vault", "beacon", "anchor", "mirror", "bridge", "signal", "socket", "kernel",
    "tensor", "vector", "matrix", "graph", "node", "edge", "leaf", "root", "ring", "chain", "block", "frame",
    "page", "slot", "cell", "grid", "layer", "stack", "heap", "pool", "gate", "guard", "scope", "probe",
    "patch", "trace", "span", "pulse", "clock", "timer", "tick", "quota", "limit", "scale", "weight",
    "score", "rank", "label", "badge", "ticket", "order", "basket", "price", "coupon", "parcel", "driver",
    "engine", "motor", "wheel", "valve", "sensor", "camera", "screen", "button",
];

/// Words that no memory has.
const FOREIGN: [&str; 16] = [
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

/// All words in the order of how often they are used.
#[derive(Debug)]
pub(super) struct Past {
    words: Vec<String>,
    /// For each word, how often it or one before it comes, of all.
    up_to: Vec<f64>,
}

/// One memory.
#[derive(Debug)]
pub(super) struct Memory {
    number: usize,
    pub(super) is_observation: bool,
    type_name: &'static str,
    /// Of an observation: title, subtitle, narrative and two facts. Of a passage: its text.
    parts: Vec<String>,
    /// Of an observation: the file it changed.
    pub(super) file: String,
    /// Of a failure: the line that tells it.
    pub(super) error: Option<String>,
}

impl Past {
    pub(super) fn new() -> Self {
        let mut random = Random::new(11);
        let mut words: Vec<String> = SMALL.iter().chain(&TRADE).map(ToString::to_string).collect();
        let mut known: HashSet<String> = words.iter().cloned().collect();
        while words.len() < WORDS {
            let one = part(&mut random);
            let other = loop {
                let word = &words[SMALL.len() + random.below(words.len() - SMALL.len())];
                if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
                    break word.clone();
                }
            };
            let word = match random.below(20) {
                0..12 => coined(&mut random),
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
        let up_to = (0..words.len())
            .map(|rank| {
                sum += 1.0 / (rank as f64 + 2.7);
                sum
            })
            .collect();
        Self { words, up_to }
    }

    /// Makes a memory: a third are observations, the others passages. Those of a session have words in common.
    pub(super) fn memory(&self, number: usize) -> Memory {
        let mut random = Random::new(number as u64 + 1_000);
        // The first numbers of neighbouring seeds are alike.
        for _ in 0..4 {
            random.below(2);
        }
        let mut topic = Random::new((number / SESSION) as u64 + 77_000_000);
        let first = SMALL.len() + TRADE.len();
        let topic: Vec<&str> = (0..24)
            .map(|_| self.words[first + topic.below(WORDS - first)].as_str())
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
                .map(|length| self.say(length, &topic, &mut random))
                .to_vec();
        } else {
            const TYPES: [&str; 5] = ["prose", "prose", "edit", "command", "error"];
            memory.type_name = random.pick(&TYPES);
            let mut text = self.say(33 + random.below(22), &topic, &mut random);
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
            memory.parts[part].push_str(&format!(" in {EVERYWHERE}"));
        }
        memory
    }

    /// Makes up some sentences.
    fn say(&self, length: usize, topic: &[&str], random: &mut Random) -> String {
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
        let all = self.up_to.last().copied().unwrap_or_default();
        let at = random.below(STEPS) as f64 / STEPS as f64 * all;
        let rank = self.up_to.partition_point(|up_to| *up_to < at);
        &self.words[rank.min(self.words.len() - 1)]
    }

    /// Writes the first memories as lines of JSON.
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
    /// Returns what tells it from all others.
    pub(super) fn id(&self) -> String {
        format!("m-{}", self.number)
    }

    /// Returns all that it says, in the order in which it is embedded.
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

    /// Returns its words, those that tell something first, in no order.
    pub(super) fn words(&self, random: &mut Random) -> Vec<String> {
        let text = self.parts.join(" ");
        let words = text.split_whitespace().map(|word| word.trim_matches(['.', '`']));
        let (mut small, mut telling): (Vec<&str>, Vec<&str>) = words
            // An option is no word that a person would look for.
            .filter(|word| *word != EVERYWHERE && !word.starts_with('-'))
            .partition(|word| SMALL.contains(word));
        random.shuffle(&mut telling);
        random.shuffle(&mut small);
        telling.into_iter().chain(small).map(ToOwned::to_owned).collect()
    }

    fn as_line(&self) -> String {
        let mut line = json!({
            "kind": if self.is_observation { "observation" } else { "passage" },
            "type": self.type_name,
            "session_id": format!("past-{}", self.number / SESSION),
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

/// Returns words that stand in no memory.
pub(super) fn foreign(count: usize, random: &mut Random) -> String {
    let words: Vec<&str> = (0..count).map(|_| random.pick(&FOREIGN)).collect();
    words.join(" ")
}

fn file(number: usize) -> String {
    let (one, other) = (TRADE[number % TRADE.len()], TRADE[number / TRADE.len()]);
    format!("src/{one}/{other}.rs")
}

/// A word that could be one: two that are, put together, and sometimes another before them.
fn coined(random: &mut Random) -> String {
    const BEFORE: [&str; 6] = ["", "", "", "pre", "sub", "auto"];
    let (before, one, other) = (random.pick(&BEFORE), part(random), part(random));
    [before, one, other].concat()
}

fn part(random: &mut Random) -> &'static str {
    match random.below(2) {
        0 => random.pick(&TRADE),
        _ => random.pick(&STEMS),
    }
}

/// A time in the past: a minute after the one before, from 2024 on, in months of 28 days.
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
    fn a_number_stands_for_the_same_memory_always_and_neighbours_differ() {
        let (one, other) = (Past::new(), Past::new());
        assert_eq!(one.memory(41).as_line(), other.memory(41).as_line());
        assert_ne!(one.memory(41).parts, one.memory(44).parts);
    }

    #[test]
    fn a_third_are_observations_and_nine_of_ten_have_the_common_word() {
        let past = Past::new();
        let memories: Vec<Memory> = (0..1_000).map(|number| past.memory(number)).collect();
        let share = |is_so: &dyn Fn(&Memory) -> bool| memories.iter().filter(|one| is_so(one)).count();
        assert_eq!(share(&|one| one.is_observation), 334);
        assert!((850..950).contains(&share(&|one| one.parts.concat().contains(EVERYWHERE))));
        assert!(share(&|one| one.error.is_some()) > 50);
        assert_eq!(
            share(&|one| FOREIGN.iter().any(|word| one.parts.concat().contains(word))),
            0
        );
    }

    #[test]
    fn times_go_on() {
        assert_eq!(minute(0), "2024-01-01T00:00:00Z");
        assert_eq!(minute(1_440 * 336 + 61), "2025-01-01T01:01:00Z");
    }
}
