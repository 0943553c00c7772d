//! What a search says to each prompt: two distributions, between which a threshold can be chosen.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::memory::{Asked, Memory};
use crate::{process, report::Section};

/// What was found for a prompt.
#[derive(Debug)]
struct Answer {
    is_related: bool,
    /// The first place at which an expected session stands, from 1.
    rank: Option<usize>,
    /// Of the best hit.
    score: f64,
}

pub(super) fn measure(memory: &Memory) -> Result<Section> {
    let mut answers = Vec::new();
    println!("kind\texpected rank\tbest score\tprompt\tway");
    for asked in memory.prompts()? {
        let results = search(memory, &asked)?;
        let rank = results.iter().position(|hit| {
            let session = hit["session_id"].as_str().unwrap_or_default();
            asked.expected.contains(&session)
        });
        let answer = Answer {
            is_related: asked.is_related(),
            rank: rank.map(|rank| rank + 1),
            score: results
                .first()
                .and_then(|hit| hit["score"].as_f64())
                .unwrap_or(0.0),
        };
        print(memory, &asked, &answer, &results);
        answers.push(answer);
    }
    Ok(thresholds(&answers))
}

fn search(memory: &Memory, asked: &Asked<'_>) -> Result<Vec<Value>> {
    let words = ["search", "--json", "--limit", "10", "--", &asked.prompt.text];
    let mut command = memory.home.command(&words);
    let (_, answer) = process::answer(command.current_dir(asked.root), b"")?;
    let mut answer: Value = serde_json::from_slice(&answer).context("search prints no JSON")?;
    match answer["results"].take() {
        Value::Array(results) => Ok(results),
        _ => Ok(Vec::new()),
    }
}

fn print(memory: &Memory, asked: &Asked<'_>, answer: &Answer, results: &[Value]) {
    let kind = if answer.is_related { "related" } else { "unrelated" };
    let rank = answer.rank.map_or("-".to_owned(), |rank| rank.to_string());
    println!(
        "{kind}\t{rank}\t{:.3}\t{}: {}\t{}",
        answer.score,
        asked.project,
        asked.one_line(),
        asked.way()
    );
    // What stands in the way of what was expected, or was found where nothing should be.
    let first = results.first().filter(|_| answer.rank != Some(1));
    if let Some(first) = first {
        let session = memory.name(first["session_id"].as_str().unwrap_or_default());
        println!(
            "\t\t\t  first: {session}: {}",
            first["title"].as_str().unwrap_or_default()
        );
    }
}

/// What each threshold would give, for some numbers of unrelated prompts that get past it.
fn thresholds(answers: &[Answer]) -> Section {
    let columns = &[
        "unrelated fired",
        "threshold",
        "related fired",
        "right at 1",
        "right in 3",
        "right in 10",
    ];
    let mut section = Section::new("What thresholds on the best hit's score would give", columns);
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
        let within = |most: usize| {
            json!(count(&|answer| {
                answer.is_related && answer.rank.is_some_and(|rank| rank <= most)
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
            "best scores of {name} prompts: least {:.3}, quarter {:.3}, median {:.3}, three quarters {:.3}, most {:.3}",
            at(0),
            at(25),
            at(50),
            at(75),
            at(100)
        ));
    }
    section
}
