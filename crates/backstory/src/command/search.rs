//! `backstory search`: hybrid search on the command line.

use std::{
    io::{self, BufRead},
    time::Instant,
};

use anstream::println;
use anstyle::Style;
use anyhow::{Context, Result};
use backstory_engine::{
    engine::Engine,
    models,
    time_arg::{self, TimeArg},
};
use backstory_model::{MemoryKind, ObservationType, Timestamp};
use backstory_recall::{Query, Question, SearchHit, Searcher, matches};
use backstory_serve::api_types;
use backstory_store::{Filter, Project, Scope, Store, terms};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::{ExitStatus, current_project, observation_type, open_store, project};
use crate::output::{self, BOLD, BUSY, DIM, print_hint};

/// Search memories by words and by meaning
///
/// Searches the project of the current folder. Matches parts of identifiers, inflected words, and memories that say the
/// same in other words. Understands times and states: "what did we do last week", "retries since Monday", "what is open",
/// "where did we stop". With filters and no words it lists memories and hand-overs, newest first. Exits 1 when nothing
/// was found.
#[derive(clap::Args)]
pub(crate) struct Search {
    /// Query
    words: Vec<String>,
    /// Only this project: its folder name, a path inside it, or its id
    #[arg(long, value_name = "P")]
    project: Option<String>,
    /// Search all projects
    #[arg(long, conflicts_with = "project")]
    all: bool,
    #[arg(
        long = "type",
        value_name = "T",
        value_parser = observation_type,
        help = format!("Only memories of this type: {}", ObservationType::NAMES.join(", "))
    )]
    observation_type: Option<ObservationType>,
    /// Only memories with this concept, such as gotcha or how-it-works
    #[arg(long, value_name = "C")]
    concept: Option<String>,
    /// Only memories that cite this file: a path or its end
    #[arg(long, value_name = "F")]
    file: Option<String>,
    /// Only this session: its id or a prefix of it
    #[arg(long, value_name = "S")]
    session: Option<String>,
    /// Only newer than a date or a period: 2026-03-01, 7d, yesterday, "last week"
    #[arg(long, value_name = "D", value_parser = time_arg::parse_time_arg)]
    since: Option<TimeArg>,
    /// Only older than a date or a period
    #[arg(long, value_name = "D", value_parser = time_arg::parse_time_arg)]
    until: Option<TimeArg>,
    /// Only this kind: observation, summary, prompt, note, passage
    #[arg(long, value_name = "K", value_parser = memory_kind)]
    kind: Option<MemoryKind>,
    /// Maximum number of results
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
    limit: u16,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Read one query per line, and print one line of JSON for each
    #[arg(long, conflicts_with = "words")]
    stdin: bool,
}

fn memory_kind(name: &str) -> Result<MemoryKind, String> {
    let names = MemoryKind::ALL.map(MemoryKind::name).join(", ");
    MemoryKind::from_name(name).ok_or(format!("expected one of {names}"))
}

pub(crate) fn run(engine: &Engine, arguments: &Search) -> Result<ExitStatus> {
    let question = arguments.words.join(" ");
    let zone = models::zone(&engine.checked_settings()?);
    let filter = arguments.filter(engine.clock.timestamp(), &zone)?;
    if question.trim().is_empty() && filter.is_empty() && !arguments.stdin {
        anstream::eprintln!("Empty query.");
        print_hint("backstory search <words…>; `backstory search --help` shows the filters");
        return Ok(ExitStatus::Refused);
    }
    let store = open_store(engine)?;
    let scope = match &store {
        Some(store) => arguments.scope(engine, store)?,
        None => SearchScope::Nowhere,
    };
    if let Some(store) = &store {
        store.map_pages()?;
    }
    let mut session = match (&store, &scope) {
        (Some(store), SearchScope::Project(_) | SearchScope::Everywhere) => Some(SearchSession {
            engine,
            zone: zone.clone(),
            searcher: Searcher::new(store, &engine.home.vectors())?,
            vectors: store.coverage()?.share(),
        }),
        _ => None,
    };
    if arguments.stdin {
        let mut found = false;
        for line in io::stdin().lock().lines() {
            let line = line.context("could not read stdin")?;
            let (answer, some) = as_json(arguments, session.as_mut(), &scope, &filter, &line)?;
            println!("{answer}");
            found |= some;
        }
        return Ok(if found {
            ExitStatus::Done
        } else {
            ExitStatus::Failed
        });
    }
    if arguments.json {
        let (answer, found) = as_json(arguments, session.as_mut(), &scope, &filter, &question)?;
        println!("{answer:#}");
        return Ok(if found {
            ExitStatus::Done
        } else {
            ExitStatus::Failed
        });
    }
    let hits = ask(arguments, session.as_mut(), &scope, &filter, &question)?;
    if hits.is_empty() {
        scope.print_nothing();
        return Ok(ExitStatus::Failed);
    }
    let now = engine.clock.timestamp();
    let subject = Question::parse(&question, now, &zone).subject;
    let asked: Vec<String> = terms(&subject).into_iter().map(|term| term.word).collect();
    for hit in &hits {
        print(hit, &asked, matches!(scope, SearchScope::Everywhere), now);
    }
    Ok(ExitStatus::Done)
}

/// Projects that are searched.
enum SearchScope {
    Project(Project),
    Everywhere,
    /// The project of the folder has no memories.
    Nowhere,
}

impl SearchScope {
    fn print_nothing(&self) {
        let hint = match self {
            Self::Project(project) => format!(
                "No results in {}. Use `--all` to search all projects.",
                project.name
            ),
            Self::Everywhere => "No results.".to_owned(),
            Self::Nowhere => {
                "This project has no memories yet. Use `--all` to search all projects.".to_owned()
            }
        };
        anstream::eprintln!("{hint}");
    }
}

struct SearchSession<'s> {
    engine: &'s Engine,
    zone: TimeZone,
    searcher: Searcher<'s>,
    vectors: f64,
}

impl Search {
    fn filter(&self, now: Timestamp, zone: &TimeZone) -> Result<Filter> {
        Ok(Filter {
            kind: self.kind,
            observation_type: self.observation_type,
            concept: self.concept.clone(),
            file: self.file.clone(),
            session: self.session.clone(),
            since: self.since.map(|when| when.timestamp(now, zone)).transpose()?,
            until: self.until.map(|when| when.end(now, zone)).transpose()?,
        })
    }

    fn scope(&self, engine: &Engine, store: &Store) -> Result<SearchScope> {
        if self.all {
            return Ok(SearchScope::Everywhere);
        }
        if let Some(named) = &self.project {
            return Ok(SearchScope::Project(project(engine, store, named)?));
        }
        Ok(current_project(engine, store)?.map_or(SearchScope::Nowhere, SearchScope::Project))
    }
}

fn ask(
    arguments: &Search,
    session: Option<&mut SearchSession<'_>>,
    searched: &SearchScope,
    filter: &Filter,
    question: &str,
) -> Result<Vec<SearchHit>> {
    let scope = match searched {
        SearchScope::Project(project) => Scope::Project(project),
        SearchScope::Everywhere => Scope::Everywhere,
        SearchScope::Nowhere => return Ok(Vec::new()),
    };
    let Some(session) = session.filter(|_| !question.trim().is_empty() || !filter.is_empty()) else {
        return Ok(Vec::new());
    };
    let query = Query {
        text: question,
        scope,
        filter,
        limit: arguments.limit.into(),
        now: session.engine.clock.timestamp(),
        zone: &session.zone,
    };
    Ok(session.searcher.search(&query)?)
}

fn as_json(
    arguments: &Search,
    mut session: Option<&mut SearchSession<'_>>,
    searched: &SearchScope,
    filter: &Filter,
    question: &str,
) -> Result<(Value, bool)> {
    let start = Instant::now();
    let hits = ask(arguments, session.as_deref_mut(), searched, filter, question)?;
    let took_ms = start.elapsed().as_secs_f64() * 1000.0;
    let results: Vec<api_types::SearchHitJson> = hits.iter().map(api_types::SearchHitJson::from).collect();
    let answer = json!({
        "query": question,
        "results": results,
        "took_ms": (took_ms * 1000.0).round() / 1000.0,
        "vectors": session.map_or(1.0, |session| session.vectors),
    });
    Ok((answer, !hits.is_empty()))
}

fn print(hit: &SearchHit, asked: &[String], with_project: bool, now: Timestamp) {
    let card = &hit.memory;
    let width = output::width();
    let icon = card.record.icon();
    let mut marks: Vec<String> = Vec::new();
    if with_project && let Some(project) = &card.project_name {
        marks.push(project.clone());
    }
    marks.push(output::ago(now, card.created_at));
    marks.extend(card.agent_label());
    let mut warnings = String::new();
    if hit.is_stale {
        warnings.push_str(" · file changed since");
    }
    if let Some(by) = card.superseded_by {
        warnings.push_str(&format!(" · superseded by {by}"));
    }
    let right = format!("{} · {:.2}", marks.join(" · "), hit.score);
    let handle = card.handle.to_string();
    let room = width.saturating_sub(handle.len().max(6) + 5).max(20);
    let title = output::one_line(&hit.title(), room);
    println!(
        "{BOLD}{handle:>6}{BOLD:#} {icon} {}",
        marked(&title, asked, Style::new())
    );
    let below = hit.snippet_below(&title);
    for line in answering_lines(&below, asked) {
        let shown = output::one_line(line, width.saturating_sub(10).max(20));
        println!("          {}", marked(&shown, asked, DIM));
    }
    println!("          {DIM}{right}{DIM:#}{BUSY}{warnings}{BUSY:#}");
}

/// Returns the lines of a snippet that have the most words of the query, in their order.
fn answering_lines<'l>(lines: &'l [String], asked: &[String]) -> impl Iterator<Item = &'l String> {
    const MOST: usize = 3;
    let mut best: Vec<usize> = (0..lines.len()).collect();
    best.sort_by_key(|at| std::cmp::Reverse(matches(&lines[*at], asked).len()));
    best.truncate(MOST);
    best.sort_unstable();
    best.into_iter().map(|at| &lines[at])
}

/// Prints the words of the query in bold and the rest in a style.
fn marked(text: &str, asked: &[String], rest: Style) -> String {
    let mut out = String::new();
    let mut at = 0;
    for found in matches(text, asked) {
        let (before, word) = (&text[at..found.start], &text[found.clone()]);
        out.push_str(&format!("{rest}{before}{rest:#}{BOLD}{word}{BOLD:#}"));
        at = found.end;
    }
    out.push_str(&format!("{rest}{}{rest:#}", &text[at..]));
    out
}
