//! Searches and reads pages on a thread of its own, so that no key ever waits for the store.
//!
//! Requests are not queued: of several that wait, only the newest of each sort is answered. The thread has a read-only
//! connection, and reports when another process changed the store.

use std::{
    sync::mpsc::{Receiver, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use anyhow::Result;
use backstory_engine::{engine::Engine, time_arg::parse_time_arg};
use backstory_model::Timestamp;
use backstory_recall::{Query, Searcher};
use backstory_store::{Filter, Project, Scope, Session, SessionFilter, Store, terms};
use ratatui_core::text::Line;

use super::{
    choices::{KindChoice, ScopeChoice, TimeChoice},
    row::{Row, Target},
    styled,
};
use crate::{
    command::{session, show},
    output::{Page, Times},
};

/// The most rows of a list.
const MAX_ROWS: usize = 100;

/// The most sessions that are matched by their title.
const MAX_SESSIONS: u32 = 500;

/// The most sessions above the memories of a search for everything.
const SESSIONS_ON_TOP: usize = 3;

/// The best hits, of which memories come before prompts and evidence.
const MEMORIES_FIRST: usize = 30;

/// How often the store is checked for changes while nothing else is asked.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Where the picker was started.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub(super) project: Option<Project>,
    pub(super) branch: Option<String>,
}

/// A search. A later one has a higher number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SearchRequest {
    pub(super) number: u64,
    pub(super) text: String,
    pub(super) scope: ScopeChoice,
    pub(super) kind: KindChoice,
    pub(super) time: TimeChoice,
}

/// A page of a row: a memory with its evidence, or a session turn by turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PageRequest {
    pub(super) target: Target,
    pub(super) width: u16,
}

#[derive(Debug)]
pub(super) enum Ask {
    Search(SearchRequest),
    Page(PageRequest),
}

#[derive(Debug)]
pub(super) enum Answer {
    Rows {
        number: u64,
        rows: Vec<Row>,
        took: Duration,
    },
    Page {
        of: PageRequest,
        lines: Vec<Line<'static>>,
    },
    /// Another process changed the store.
    Changed,
    Failed(String),
}

/// Starts the thread. It ends when the sender of the requests is dropped.
pub(super) fn start(
    engine: Engine,
    store: Store,
    place: Place,
    asks: Receiver<Ask>,
    answers: Sender<Answer>,
) -> JoinHandle<()> {
    thread::spawn(move || {
        let served = serve(&engine, &store, &place, &asks, &answers);
        if let Err(error) = served {
            answers.send(Answer::Failed(format!("{error:#}"))).ok();
        }
    })
}

fn serve(
    engine: &Engine,
    store: &Store,
    place: &Place,
    asks: &Receiver<Ask>,
    answers: &Sender<Answer>,
) -> Result<()> {
    store.map_pages()?;
    let mut finder = Finder {
        times: Times::new(engine)?,
        searcher: Searcher::new(store, &engine.home.vectors())?,
        sessions: None,
        store,
        place,
    };
    let mut version = store.data_version()?;
    loop {
        let first = match asks.recv_timeout(CHECK_INTERVAL) {
            Ok(ask) => ask,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {
                let now = store.data_version()?;
                if now != version {
                    version = now;
                    finder.sessions = None;
                    answers.send(Answer::Changed).ok();
                }
                continue;
            }
        };
        finder.times.now = engine.clock.timestamp();
        let (mut search, mut page) = (None, None);
        for ask in [first].into_iter().chain(asks.try_iter()) {
            match ask {
                Ask::Search(request) => search = Some(request),
                Ask::Page(request) => page = Some(request),
            }
        }
        if let Some(request) = search {
            let start = Instant::now();
            let rows = finder.rows(&request)?;
            let (number, took) = (request.number, start.elapsed());
            answers.send(Answer::Rows { number, rows, took }).ok();
        }
        if let Some(of) = page {
            let lines = finder.page(&of)?;
            answers.send(Answer::Page { of, lines }).ok();
        }
    }
}

struct Finder<'s> {
    store: &'s Store,
    searcher: Searcher<'s>,
    times: Times,
    place: &'s Place,
    /// The latest sessions of a scope: listing them takes longer than a search.
    sessions: Option<(ScopeChoice, Vec<Session>)>,
}

impl Finder<'_> {
    fn rows(&mut self, request: &SearchRequest) -> Result<Vec<Row>> {
        let words: Vec<String> = terms(&request.text).into_iter().map(|term| term.word).collect();
        let since = self.since(request.time)?;
        match request.kind {
            KindChoice::Sessions => self.session_rows(request, since, &words),
            KindChoice::Everything if !request.text.trim().is_empty() => {
                let mut rows = self.titled_sessions(request, since, &words)?;
                rows.truncate(SESSIONS_ON_TOP);
                rows.extend(self.memories(request, since, &words)?);
                Ok(rows)
            }
            _ => self.memories(request, since, &words),
        }
    }

    fn since(&self, time: TimeChoice) -> Result<Option<Timestamp>> {
        let Some(Ok(since)) = time.since().map(parse_time_arg) else {
            return Ok(None);
        };
        Ok(Some(since.timestamp(self.times.now, &self.times.zone)?))
    }

    fn memories(
        &mut self,
        request: &SearchRequest,
        since: Option<Timestamp>,
        words: &[String],
    ) -> Result<Vec<Row>> {
        let mut filter = Filter {
            since,
            ..Filter::default()
        };
        match request.kind {
            KindChoice::Memories(kind) => filter.kind = Some(kind),
            KindChoice::Type(kind) => filter.observation_type = Some(kind),
            KindChoice::Everything | KindChoice::Sessions => {}
        }
        if request.scope == ScopeChoice::Branch {
            filter.branch.clone_from(&self.place.branch);
        }
        let scope = match (request.scope, &self.place.project) {
            (ScopeChoice::Project | ScopeChoice::Branch, Some(project)) => Scope::Project(project),
            _ => Scope::Everywhere,
        };
        let hits = self.searcher.search(&Query {
            text: &request.text,
            scope,
            filter: &filter,
            limit: MAX_ROWS,
            now: self.times.now,
            zone: &self.times.zone,
        })?;
        let mut rows: Vec<Row> = hits.iter().map(|hit| Row::of_hit(hit, words)).collect();
        // Verbatim text matches words best, but what was made of it says more.
        let best = rows.len().min(MEMORIES_FIRST);
        rows[..best].sort_by_key(Row::is_verbatim);
        Ok(rows)
    }

    /// Returns sessions whose title or id matches, then sessions with memories that match.
    fn session_rows(
        &mut self,
        request: &SearchRequest,
        since: Option<Timestamp>,
        words: &[String],
    ) -> Result<Vec<Row>> {
        let mut rows = self.titled_sessions(request, since, words)?;
        if !request.text.trim().is_empty() {
            for hit in self.memories(request, since, words)? {
                let Some(id) = hit.session else { continue };
                let target = Target::Session(id);
                if rows.iter().any(|row| row.target == target) {
                    continue;
                }
                if let Target::Session(id) = target
                    && let Ok(session) = self.store.session(&id)
                {
                    rows.push(Row::of_session(&session, words));
                }
            }
        }
        rows.truncate(MAX_ROWS);
        Ok(rows)
    }

    /// Returns the sessions whose title, first prompt, branch, agent or id contain every word as it was typed.
    fn titled_sessions(
        &mut self,
        request: &SearchRequest,
        since: Option<Timestamp>,
        words: &[String],
    ) -> Result<Vec<Row>> {
        let typed = request.text.to_lowercase();
        let branch = match request.scope {
            ScopeChoice::Branch => self.place.branch.clone(),
            ScopeChoice::Project | ScopeChoice::All => None,
        };
        let sessions = self.sessions(request.scope)?.iter();
        let found = sessions
            .filter(|session| since.is_none_or(|since| session.last_event_at >= since))
            .filter(|session| branch.is_none() || session.branch == branch)
            .filter(|session| is_named(session, &typed));
        Ok(found.map(|session| Row::of_session(session, words)).collect())
    }

    fn sessions(&mut self, scope: ScopeChoice) -> Result<&[Session]> {
        // A branch is a part of its project.
        let scope = match scope {
            ScopeChoice::Branch => ScopeChoice::Project,
            scope => scope,
        };
        if self.sessions.as_ref().is_none_or(|(known, _)| *known != scope) {
            let project = self.place.project.as_ref();
            let sessions = self.store.sessions(&SessionFilter {
                project: project.filter(|_| scope == ScopeChoice::Project),
                after: None,
                limit: MAX_SESSIONS,
            })?;
            self.sessions = Some((scope, sessions));
        }
        Ok(self.sessions.as_ref().map_or(&[], |(_, sessions)| sessions))
    }

    fn page(&self, request: &PageRequest) -> Result<Vec<Line<'static>>> {
        let mut page = Page::new(usize::from(request.width));
        match &request.target {
            Target::Memory(handle) => match self.store.show(*handle)? {
                Some(shown) => show::write(&mut page, &shown, &self.times),
                None => page.line("This memory was forgotten."),
            },
            Target::Session(id) => match self.store.session(id) {
                Ok(session) => {
                    let story = session::SessionView::read(self.store, session)?;
                    session::write(&mut page, &story, &self.times);
                }
                Err(_) => page.line("This session was forgotten."),
            },
        }
        Ok(styled::lines(&page.text))
    }
}

fn is_named(session: &Session, typed: &str) -> bool {
    let texts = [
        session.title.as_deref(),
        session.first_prompt.as_deref(),
        session.branch.as_deref(),
        Some(session.host.as_str()),
        Some(session.session_id.as_str()),
    ];
    let texts: Vec<String> = texts.into_iter().flatten().map(str::to_lowercase).collect();
    let mut words = typed.split_whitespace();
    words.all(|word| texts.iter().any(|text| text.contains(word)))
}
