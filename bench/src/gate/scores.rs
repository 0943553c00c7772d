//! Search scores of related and unrelated prompts, to choose a threshold between them.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::memory::{GatePrompt, Memory};
use crate::{process, report::Section};

/// Search result of a prompt.
#[derive(Debug)]
struct Answer {
    is_related: bool,
    /// Rank of the first expected session, from 1.
    rank: Option<usize>,
    /// Score of the best hit.
    score: f64,
}

pub(super) fn measure(memory: &Memory) -> Result<Section> {
    let mut answers = Vec::new();
    println!("kind\texpected rank\tbest score\tprompt\tway");
    for prompt in memory.prompts()? {
        let results = search(memory, &prompt)?;
        let rank = results.iter().position(|hit| {
            let session = hit["session_id"].as_str().unwrap_or_default();
            prompt.expected.contains(&session)
        });
        let answer = Answer {
            is_related: prompt.is_related(),
            rank: rank.map(|rank| rank + 1),
            score: results
                .first()
                .and_then(|hit| hit["score"].as_f64())
                .unwrap_or(0.0),
        };
        print(memory, &prompt, &answer, &results);
        answers.push(answer);
    }
    Ok(thresholds(&answers))
}

fn search(memory: &Memory, prompt: &GatePrompt<'_>) -> Result<Vec<Value>> {
    let words = ["search", "--json", "--limit", "10", "--", &prompt.prompt.text];
    let mut command = memory.home.command(&words);
    let (_, answer) = process::run_with_output(command.current_dir(prompt.root), b"")?;
    let mut answer: Value = serde_json::from_slice(&answer).context("search printed no JSON")?;
    match answer["results"].take() {
        Value::Array(results) => Ok(results),
        _ => Ok(Vec::new()),
    }
}

fn print(memory: &Memory, prompt: &GatePrompt<'_>, answer: &Answer, results: &[Value]) {
    let kind = if answer.is_related { "related" } else { "unrelated" };
    let rank = answer.rank.map_or("-".to_owned(), |rank| rank.to_string());
    println!(
        "{kind}\t{rank}\t{:.3}\t{}: {}\t{}",
        answer.score,
        prompt.project,
        prompt.one_line(),
        prompt.way()
    );
    // The hit that ranks above the expected one, or a false positive.
    let first = results.first().filter(|_| answer.rank != Some(1));
    if let Some(first) = first {
        let session = memory.name(first["session_id"].as_str().unwrap_or_default());
        println!(
            "\t\t\t  first: {session}: {}",
            first["title"].as_str().unwrap_or_default()
        );
    }
}

/// Tabulates the effect of thresholds that let a given number of unrelated prompts pass.
fn thresholds(answers: &[Answer]) -> Section {
    let columns = &[
        "unrelated fired",
        "threshold",
        "related fired",
        "right at 1",
        "right in 3",
        "right in 10",
    ];
    let mut section = Section::new("Effect of a threshold on the best hit's score", columns);
    let mut unrelated: Vec<f64> = answers
        .iter()
        .filter(|answer| !answer.is_related)
        .map(|answer| answer.score)
        .collect();
    unrelated.sort_by(|one, other| other.total_cmp(one));
    for allowed in [0, 1, 2, 3, 5, 10, 20] {
        // Scores have three decimals: just above the first that must not pass.
        let threshold = unrelated.get(allowed).map_or(0.0, |score| score + 0.001);
        let fired = |answer: &&Answer| answer.score >= threshold - 1e-9;
        let count = |is: &dyn Fn(&Answer) -> bool| answers.iter().filter(fired).filter(|a| is(a)).count();
        let within = |max: usize| {
            json!(count(&|answer| {
                answer.is_related && answer.rank.is_some_and(|rank| rank <= max)
            }))
        };
        section.row(vec![
            json!(count(&|answer| !answer.is_related)),
            json!(format!("{threshold:.3}")),
            json!(count(&|answer| answer.is_related)),
            within(1),
            within(3),
            within(10),
        ]);
    }
    for (name, is_related) in [("related", true), ("unrelated", false)] {
        let mut scores: Vec<f64> = answers
            .iter()
            .filter(|answer| answer.is_related == is_related)
            .map(|answer| answer.score)
            .collect();
        scores.sort_by(f64::total_cmp);
        let at = |percent: usize| {
            let rank = (scores.len() * percent / 100).min(scores.len().saturating_sub(1));
            scores.get(rank).copied().unwrap_or_default()
        };
        section.note(format!(
            "best scores of {name} prompts: min {:.3}, p25 {:.3}, median {:.3}, p75 {:.3}, max {:.3}",
            at(0),
            at(25),
            at(50),
            at(75),
            at(100)
        ));
    }
    section
}
