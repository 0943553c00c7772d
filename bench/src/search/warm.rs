//! Repeated queries to one process, as an MCP server gets them.

use std::{
    io::{BufRead, BufReader, Write},
    process::Stdio,
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::Value;

use super::{
    Limit, SearchSetup,
    queries::{TestQuery, queries},
};
use crate::{
    distill::status,
    report::{Samples, Section},
};

/// Results of all queries.
#[derive(Debug, Default)]
struct Tally {
    took: Samples,
    /// Queries with a source memory, and those with it among ten hits.
    with_source: usize,
    found: usize,
    /// Queries without a common word that still have hits.
    semantic_only: usize,
}

pub(super) fn measure(setup: &SearchSetup<'_>, section: &mut Section) -> Result<()> {
    let queries = queries(&setup.past, setup.count);
    let project = setup.bench.project.to_string_lossy();
    let mut child = setup
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
        .current_dir(&setup.bench.project)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut to = child.stdin.take().context("search has no stdin")?;
    let mut from = BufReader::new(child.stdout.take().context("search has no stdout")?);
    let mut search = |query: &TestQuery| -> Result<Value> {
        writeln!(to, "{}", query.text())?;
        let mut line = String::new();
        from.read_line(&mut line)?;
        serde_json::from_str(&line).context("search printed no JSON")
    };
    let mut tally = Tally::default();
    for query in &queries {
        search(query)?;
    }
    for query in &queries {
        tally.add(query, &search(query)?)?;
    }
    let memory = ["VmRSS", "RssAnon"]
        .map(|name| status(child.id(), name).map(|bytes| bytes as f64 / f64::from(1 << 20)));
    drop(to);
    child.wait()?;

    let max = if setup.count > 100_000 { 10.0 } else { 5.0 };
    setup.times(section, "search, warm", &tally.took, None, Limit::AtMost(max));
    let [resident, own] = memory;
    setup.number(section, "search, warm: resident", resident?, "MB", Limit::None);
    setup.number(
        section,
        "search, warm: of that anonymous, not mapped",
        own?,
        "MB",
        Limit::None,
    );
    let share = tally.found as f64 / tally.with_source as f64 * 100.0;
    setup.number(
        section,
        "search: source memory in the top ten",
        share,
        "% of queries",
        Limit::None,
    );
    let without_source = queries.len() - tally.with_source;
    section.check(
        format!(
            "{} memories: {} of {} queries find the memory that they were taken from",
            setup.count, tally.found, tally.with_source
        ),
        tally.found * 2 > tally.with_source,
    );
    section.check(
        format!(
            "{} memories: queries without a known word have semantic hits",
            setup.count
        ),
        tally.semantic_only == without_source,
    );
    Ok(())
}

impl Tally {
    fn add(&mut self, query: &TestQuery, answer: &Value) -> Result<()> {
        let took = answer["took_ms"].as_f64().context("no took_ms in the answer")?;
        self.took.add(Duration::from_secs_f64(took / 1_000.0));
        let hits = answer["results"].as_array().context("no results in the answer")?;
        match &query.source {
            Some(id) => {
                self.with_source += 1;
                let is_source = |hit: &Value| hit["external_id"].as_str() == Some(id);
                self.found += usize::from(hits.iter().any(is_source));
            }
            None => self.semantic_only += usize::from(!hits.is_empty()),
        }
        Ok(())
    }
}
