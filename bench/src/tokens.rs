//! Model tokens: one call per turn on its digest, compared with one call per tool use on its full input and output.

use std::{fs, path::Path};

use anyhow::{Context, Result, ensure};
use backstory_text::tokens;
use serde_json::{Value, json};

use crate::{
    Bench,
    distill::{files, memory_counts, run_import},
    home::Home,
    report::{Section, rounded},
};

/// Assumed instruction tokens per call of the alternatives: as many as in the product's calls.
const INSTRUCTIONS: u64 = 800;

/// Assumed tokens of a memory of one tool use: a lower bound.
const ANSWER: u64 = 150;

/// Tools that are never recorded.
const SKIPPED: [&str; 5] = [
    "ListMcpResourcesTool",
    "SlashCommand",
    "Skill",
    "TodoWrite",
    "AskUserQuestion",
];

/// Maximum tokens per memory, and minimum factor to the alternatives.
const MAX_PER_MEMORY: f64 = 3_000.0;
const MIN_FACTOR: f64 = 15.0;

/// Number of calls and their tokens.
#[derive(Clone, Copy, Debug, Default)]
struct Calls {
    calls: u64,
    tokens_in: u64,
    tokens_out: u64,
}

impl Calls {
    fn tokens(self) -> u64 {
        self.tokens_in + self.tokens_out
    }
}

/// Measures the tokens per turn and per memory of past sessions.
pub(crate) fn measure(bench: &Bench) -> Result<Section> {
    let columns = &[
        "what",
        "calls",
        "tokens in",
        "tokens out",
        "per turn",
        "per memory",
        "factor",
    ];
    let mut section = Section::new("Model tokens", columns);
    let Some(folder) = &bench.transcripts else {
        section.note("not measured: pass --transcripts DIR");
        return Ok(section);
    };
    let home = Home::create(bench.folder("tokens"), &bench.programs.product, None)?;
    run_import(&home, folder)?;
    let (observations, summaries) = memory_counts(&home)?;
    let memories = observations + summaries;
    let (ours, sizes) = digests(&home)?;
    ensure!(ours.calls > 0 && memories > 0, "no turn in {}", folder.display());
    let (alone, growing) = others(folder)?;
    for (what, calls) in [
        ("one call per turn, on its digest", ours),
        ("one call per tool use, independent", alone),
        ("one call per tool use, in a growing conversation", growing),
    ] {
        section.row(vec![
            json!(what),
            json!(calls.calls),
            json!(calls.tokens_in),
            json!(calls.tokens_out),
            ratio(calls.tokens(), ours.calls),
            ratio(calls.tokens(), memories),
            ratio(calls.tokens(), ours.tokens()),
        ]);
    }
    section.check(
        "at most 3,000 tokens per memory",
        ours.tokens() as f64 / memories as f64 <= MAX_PER_MEMORY,
    );
    for (what, calls) in [("independent", alone), ("in a growing conversation", growing)] {
        section.check(
            format!("at least 15 times fewer than one call per tool use, {what}"),
            calls.tokens() as f64 / ours.tokens() as f64 >= MIN_FACTOR,
        );
    }
    section.note(format!(
        "{} turns: the smallest request has {} tokens, the median {}, the largest {}",
        sizes.len(),
        sizes[0],
        sizes[sizes.len() / 2],
        sizes[sizes.len() - 1]
    ));
    section.note(format!(
        "{observations} observations and {summaries} summaries by the built-in rules; a model writes about as many"
    ));
    section.note("estimated at 3.5 bytes per token for all; payloads are tool inputs and the parts of outputs that the agent saw");
    Ok(section)
}

/// Returns the calls that the product itself plans.
fn digests(home: &Home) -> Result<(Calls, Vec<u64>)> {
    let arguments = [
        "distill",
        "--since",
        "1990-01-01",
        "--provider",
        "anthropic",
        "--dry-run",
        "--json",
    ];
    let output = home.command(&arguments).output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let plan: Value = serde_json::from_slice(&output.stdout)?;
    let number = |name: &str| plan[name].as_u64().with_context(|| format!("no {name}"));
    let items = plan["items"].as_array().context("no items")?;
    let mut sizes: Vec<u64> = items
        .iter()
        .filter_map(|item| item["tokens_in"].as_u64())
        .collect();
    sizes.sort_unstable();
    let calls = Calls {
        calls: number("turns")?,
        tokens_in: number("tokens_in")?,
        tokens_out: number("tokens_out")?,
    };
    Ok((calls, sizes))
}

/// Returns the calls of the alternatives: each tool use independently, and each after all earlier ones of its session.
fn others(folder: &Path) -> Result<(Calls, Calls)> {
    let (mut alone, mut growing) = (Calls::default(), Calls::default());
    for file in files(folder)? {
        let mut before = INSTRUCTIONS;
        for payload in payloads(&fs::read_to_string(file)?) {
            before += payload;
            for (calls, sent) in [(&mut alone, INSTRUCTIONS + payload), (&mut growing, before)] {
                calls.calls += 1;
                calls.tokens_in += sent;
                calls.tokens_out += ANSWER;
            }
            before += ANSWER;
        }
    }
    Ok((alone, growing))
}

/// Returns the input and output tokens of each tool use of a transcript.
fn payloads(transcript: &str) -> Vec<u64> {
    let mut uses: Vec<(String, u64)> = Vec::new();
    for line in transcript.lines() {
        let record: Value = serde_json::from_str(line).unwrap_or_default();
        for block in record["message"]["content"].as_array().into_iter().flatten() {
            let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
            match block["type"].as_str() {
                Some("tool_use") if SKIPPED.contains(&text("name").as_str()) => {}
                Some("tool_use") => {
                    let input = tokens(&format!("{}{}", text("name"), block["input"]));
                    uses.push((text("id"), input as u64));
                }
                Some("tool_result") => {
                    let id = text("tool_use_id");
                    if let Some(one) = uses.iter_mut().find(|one| one.0 == id) {
                        one.1 += tokens(&block["content"].to_string()) as u64;
                    }
                }
                _ => {}
            }
        }
    }
    uses.into_iter().map(|(_, tokens)| tokens).collect()
}

fn ratio(tokens: u64, count: u64) -> Value {
    rounded(tokens as f64 / count as f64)
}
