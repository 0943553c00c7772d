//! One process that is asked again and again, as an agent's server is.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    Found, Promise,
    questions::{Question, questions},
};
use crate::{
    distil::status,
    report::{Samples, Section},
};

/// What came back.
#[derive(Debug, Default)]
struct Tally {
    took: Samples,
    /// Questions that have a memory behind them, and those whose ten hits it is among.
    with_source: usize,
    found: usize,
    /// Questions without any word in common that were answered all the same: by meaning.
    by_meaning: usize,
}

pub(super) fn measure(found: &Found<'_>, section: &mut Section) -> Result<()> {
    let asked = questions(&found.past, found.count);
    let project = found.bench.project.to_string_lossy();
    let mut child = found
        .home
        .command(&[
            "search",
            "--stdin",
            "--json",
            "--project",
            &project,
            "--limit",
            "10",
        ])
        .current_dir(&found.bench.project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to = child.stdin.take().context("search has no stdin")?;
    let mut from = BufReader::new(child.stdout.take().context("search has no stdout")?);
    let mut ask = |question: &Question| -> Result<Value> {
        writeln!(to, "{}", question.text())?;
        let mut line = String::new();
        from.read_line(&mut line)?;
        serde_json::from_str(&line).context("search printed no JSON")
    };
    let mut tally = Tally::default();
    for question in &asked {
        ask(question)?;
    }
    for question in &asked {
        tally.add(question, &ask(question)?)?;
    }
    let memory = ["VmRSS", "RssAnon"]
        .map(|name| status(child.id(), name).map(|bytes| bytes as f64 / f64::from(1 << 20)));
    drop(to);
    child.wait()?;

    let most = if found.count > 100_000 { 10.0 } else { 5.0 };
    found.times(section, "search, warm", &tally.took, None, Promise::AtMost(most));
    let [resident, own] = memory;
    found.number(section, "search, warm: resident", resident?, "MB", Promise::None);
    found.number(
        section,
        "search, warm: of that its own, not mapped",
        own?,
        "MB",
        Promise::None,
    );
    let share = tally.found as f64 / tally.with_source as f64 * 100.0;
    found.number(
        section,
        "search: the memory asked for is among ten",
        share,
        "% of questions",
        Promise::None,
    );
    let strangers = asked.len() - tally.with_source;
    section.check(
        format!(
            "{} memories: {} of {} questions bring the memory that they were taken from",
            found.count, tally.found, tally.with_source
        ),
        tally.found * 2 > tally.with_source,
    );
    section.check(
        format!(
            "{} memories: questions without a known word are answered by meaning",
            found.count
        ),
        tally.by_meaning == strangers,
    );
    Ok(())
}

impl Tally {
    fn add(&mut self, question: &Question, answer: &Value) -> Result<()> {
        let took = answer["took_ms"].as_f64().context("search tells no time")?;
        self.took.add(Duration::from_secs_f64(took / 1_000.0));
        let hits = answer["results"].as_array().context("search has no results")?;
        match &question.source {
            Some(id) => {
                self.with_source += 1;
                let is_it = |hit: &Value| hit["external_id"].as_str() == Some(id);
                self.found += usize::from(hits.iter().any(is_it));
            }
            None => self.by_meaning += usize::from(!hits.is_empty()),
        }
        Ok(())
    }
}
