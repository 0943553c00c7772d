//! `backstory search`: hybrid search on the command line.

mod on_server;

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
    team::search::ServerQuery,
    time_arg::{self, TimeArg},
};
use backstory_model::{MemoryKind, ObservationType, Timestamp};
use backstory_recall::{BranchMark, Query, Question, SearchHit, Searcher, matches};
use backstory_serve::api_types;
use backstory_store::{Filter, Session, Store, terms};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use self::on_server::{ask_server, reported, server_json};
use super::{
    ExitStatus, observation_type, open_store,
    scope::{ProjectScope, ScopeArguments},
};
use crate::{
    json_output::{print_json, with_envelope},
    output::{self, BOLD, BUSY, DIM, LABEL_WIDTH, Page, Times, print_hint},
};

/// Search memories by words and by meaning
///
/// Searches the project of the current folder. Matches parts of identifiers, inflected words, and memories that say the
/// same in other words. Understands times and states: "what did we do last week", "retries since Monday", "what is open",
/// "where did we stop". With filters and no words it lists memories and hand-overs, newest first. Exits 1 when nothing
/// was found.
#[derive(clap::Args)]
#[command(after_help = "Examples:
  backstory search retry upload                      memories about it in this project
  backstory search -a refund                         in all projects
  backstory search -t decision --since \"last week\"   decisions, without words
  backstory search -f src/cart.rs timeout            memories that cite a file
  backstory search what is open                      questions about time and state")]
pub(crate) struct Search {
    /// Query
    words: Vec<String>,
    #[command(flatten)]
    scope: ScopeArguments,
    #[arg(
        long = "type",
        short,
        value_name = "T",
        value_parser = observation_type,
        help = format!("Only memories of this type: {}", ObservationType::NAMES.join(", "))
    )]
    observation_type: Option<ObservationType>,
    /// Only memories with this concept, such as gotcha or how-it-works
    #[arg(long, value_name = "C")]
    concept: Option<String>,
    /// Only memories that cite this file: a path or its end
    #[arg(long, short, value_name = "F")]
    file: Option<String>,
    /// Only this session: its id or a prefix of it
    #[arg(long, value_name = "S")]
    session: Option<String>,
    /// Only sessions on this branch
    #[arg(long, short, value_name = "B")]
    branch: Option<String>,
    /// Only newer than a date or a period: 2026-03-01, 7d, yesterday, "last week"
    #[arg(long, value_name = "D", value_parser = time_arg::parse_time_arg)]
    since: Option<TimeArg>,
    /// Only older than a date or a period
    #[arg(long, value_name = "D", value_parser = time_arg::parse_time_arg)]
    until: Option<TimeArg>,
    /// Only this kind: observation, summary, prompt, note, passage
    #[arg(long, short, value_name = "K", value_parser = memory_kind)]
    kind: Option<MemoryKind>,
    /// Also search the team's server, for projects that are not on this machine
    #[arg(long, conflicts_with_all = ["project", "session", "stdin"])]
    team: bool,
    /// Maximum number of results
    #[arg(long, short = 'n', default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=500))]
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
        Some(store) => arguments.scope.find(engine, store)?,
        None => ProjectScope::Nowhere,
    };
    if let Some(store) = &store {
        store.map_pages()?;
    }
    let mut session = match (&store, &scope) {
        (Some(store), ProjectScope::Project(_) | ProjectScope::Everywhere) => Some(SearchSession {
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
            println!("{}", with_envelope(answer));
            found |= some;
        }
        return Ok(exit_status(found));
    }
    let on_server = arguments.team.then(|| {
        let query = ServerQuery {
            text: &question,
            filter: &filter,
            limit: arguments.limit.into(),
            zone: &zone,
        };
        ask_server(engine, store.as_ref(), &query)
    });
    if arguments.json {
        let (mut answer, mut found) = as_json(arguments, session.as_mut(), &scope, &filter, &question)?;
        if let Some(on_server) = &on_server {
            found |= on_server.as_ref().is_ok_and(|server| !server.hits.is_empty());
            answer["team"] = server_json(on_server);
        }
        print_json(answer);
        return Ok(exit_status(found));
    }
    let hits = ask(arguments, session.as_mut(), &scope, &filter, &question)?;
    let on_server = on_server.map(reported).unwrap_or_default().hits;
    if hits.is_empty() && on_server.is_empty() {
        print_nothing(&scope);
        return Ok(ExitStatus::Failed);
    }
    let results = Results {
        hits: &hits,
        on_server: &on_server,
        with_project: matches!(scope, ProjectScope::Everywhere),
    };
    print_results(engine, store.as_ref(), &question, &results)?;
    Ok(ExitStatus::Done)
}

fn exit_status(is_found: bool) -> ExitStatus {
    if is_found {
        ExitStatus::Done
    } else {
        ExitStatus::Failed
    }
}

/// What a search found.
struct Results<'r> {
    hits: &'r [SearchHit],
    /// What is not on this machine.
    on_server: &'r [SearchHit],
    with_project: bool,
}

fn print_results(
    engine: &Engine,
    store: Option<&Store>,
    question: &str,
    results: &Results<'_>,
) -> Result<()> {
    let now = engine.clock.timestamp();
    let subject = Question::parse(question, now, &engine.zone()).subject;
    let asked: Vec<String> = terms(&subject).into_iter().map(|term| term.word).collect();
    let times = Times::new(engine)?;
    let mut page = Page::new(output::width());
    let place = |session: &str| store.and_then(|store| store.session(session).ok());
    for (at, group) in group_by_session(results.hits).iter().enumerate() {
        if at > 0 {
            page.line("");
        }
        let session = group
            .first()
            .and_then(|hit| hit.memory.record.session_id.as_deref());
        let session = session.and_then(place);
        if let Some(session) = &session {
            write_session(&mut page, session, results.with_project, &times);
        }
        for hit in group {
            let handle = hit.memory.handle.to_string();
            write(
                &mut page,
                hit,
                &handle,
                &asked,
                session.is_none().then_some(&times),
            );
        }
    }
    if !results.on_server.is_empty() {
        page.line(format_args!(
            "{DIM}On the team's server, not on this machine:{DIM:#}"
        ));
    }
    for hit in results.on_server {
        // Its handle is that of another machine.
        write(&mut page, hit, "", &asked, Some(&times));
    }
    page.print(&engine.environment);
    Ok(())
}

fn print_nothing(scope: &ProjectScope) {
    match scope {
        ProjectScope::Project(project) => anstream::eprintln!(
            "No results in {}. Use `--all` to search all projects.",
            project.name
        ),
        ProjectScope::Everywhere => anstream::eprintln!("No results."),
        ProjectScope::Nowhere => {
            anstream::eprintln!("This project has no memories yet. Use `--all` to search all projects.");
        }
    }
}

struct SearchSession<'s> {
    engine: &'s Engine,
    zone: TimeZone,
    searcher: Searcher<'s>,
    vectors: f64,
}

impl Search {
    /// Returns true if neither words nor options were given.
    pub(crate) fn is_bare(&self) -> bool {
        let has_filter = self.observation_type.is_some()
            || self.concept.is_some()
            || self.file.is_some()
            || self.session.is_some()
            || self.branch.is_some()
            || self.since.is_some()
            || self.until.is_some()
            || self.kind.is_some();
        self.words.is_empty()
            && !has_filter
            && self.scope.is_default()
            && !self.json
            && !self.stdin
            && !self.team
    }

    fn filter(&self, now: Timestamp, zone: &TimeZone) -> Result<Filter> {
        Ok(Filter {
            kind: self.kind,
            observation_type: self.observation_type,
            concept: self.concept.clone(),
            file: self.file.clone(),
            session: self.session.clone(),
            branch: self.branch.clone(),
            since: self.since.map(|when| when.timestamp(now, zone)).transpose()?,
            until: self.until.map(|when| when.end(now, zone)).transpose()?,
        })
    }
}

fn ask(
    arguments: &Search,
    session: Option<&mut SearchSession<'_>>,
    searched: &ProjectScope,
    filter: &Filter,
    question: &str,
) -> Result<Vec<SearchHit>> {
    let Some(scope) = searched.to_search() else {
        return Ok(Vec::new());
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
    searched: &ProjectScope,
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

/// Puts hits of one session together, in the order of the best of each. A hit without a session stays alone.
fn group_by_session(hits: &[SearchHit]) -> Vec<Vec<&SearchHit>> {
    let mut groups: Vec<Vec<&SearchHit>> = Vec::new();
    for hit in hits {
        let session = &hit.memory.record.session_id;
        let is_same = |group: &&mut Vec<&SearchHit>| {
            session.is_some()
                && group
                    .iter()
                    .all(|other| other.memory.record.session_id == *session)
        };
        match groups.iter_mut().find(is_same) {
            Some(group) => group.push(hit),
            None => groups.push(vec![hit]),
        }
    }
    groups
}

/// Writes the session of the hits below: its title, and where and when it was.
fn write_session(page: &mut Page, session: &Session, with_project: bool, times: &Times) {
    let mut place: Vec<String> = Vec::new();
    if with_project {
        place.push(output::one_line(&session.project, 30));
    }
    place.extend(
        session
            .branch
            .as_deref()
            .map(|branch| output::one_line(branch, 30)),
    );
    place.push(times.ago(session.last_event_at));
    place.push(output::one_line(&session.session_id, 8).replace('…', ""));
    let place = place.join(" · ");
    let title = session.title.as_deref().or(session.first_prompt.as_deref());
    let room = page.width.saturating_sub(place.chars().count() + 2).max(20);
    let title = output::one_line(title.unwrap_or("session without a prompt"), room);
    page.line(format_args!("{BOLD}{title}{BOLD:#}  {DIM}{place}{DIM:#}"));
}

/// Writes a hit; one that stands alone with its project and age.
fn write(page: &mut Page, hit: &SearchHit, handle: &str, asked: &[String], alone: Option<&Times>) {
    /// Indent of the lines below a title, and the room for the score beside it.
    const INDENT: usize = 17;
    const SCORE: usize = 6;
    let card = &hit.memory;
    let (label, style) = output::label(&card.record, card.rejected);
    let room = page
        .width
        .saturating_sub(handle.len().max(6) + LABEL_WIDTH + 2 + SCORE);
    let title = output::one_line(&hit.title(), room.max(20));
    page.line(format_args!(
        "{BOLD}{handle:>6}{BOLD:#} {style}{label:<LABEL_WIDTH$}{style:#} {}  {DIM}{:.2}{DIM:#}",
        marked(&title, asked, Style::new()),
        hit.score
    ));
    let below = hit.snippet_below(&title);
    for line in answering_lines(&below, asked) {
        let bullet = if is_fact(hit, line) { "· " } else { "" };
        let shown = output::one_line(line, page.width.saturating_sub(INDENT + bullet.len()).max(20));
        page.line(format_args!(
            "{:INDENT$}{DIM}{bullet}{DIM:#}{}",
            "",
            marked(&shown, asked, DIM)
        ));
    }
    let mut marks: Vec<String> = Vec::new();
    if let Some(times) = alone {
        marks.extend(card.project_name.clone());
        marks.push(times.ago(card.created_at));
    }
    marks.extend(card.author_label());
    let mut warnings: Vec<String> = Vec::new();
    if hit.is_stale {
        warnings.push("file changed since".to_owned());
    }
    warnings.extend(BranchMark::of(card).map(|mark| mark.plain_note()));
    warnings.extend(card.superseded_by.map(|by| format!("superseded by {by}")));
    if !marks.is_empty() || !warnings.is_empty() {
        let gap = if marks.is_empty() || warnings.is_empty() {
            ""
        } else {
            " · "
        };
        page.line(format_args!(
            "{:INDENT$}{DIM}{}{gap}{DIM:#}{BUSY}{}{BUSY:#}",
            "",
            marks.join(" · "),
            warnings.join(" · ")
        ));
    }
}

/// Reports whether a line of a snippet is one of the facts of a memory.
fn is_fact(hit: &SearchHit, line: &str) -> bool {
    let line = line.trim_end_matches('…');
    let starts = |fact: &String| {
        fact.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .starts_with(line)
    };
    !line.is_empty() && hit.memory.record.facts.iter().any(starts)
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
