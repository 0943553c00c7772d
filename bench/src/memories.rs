//! Fills a large store with observations, summaries and their index entries.

use anyhow::Result;
use rusqlite::{Statement, Transaction, params};

use crate::{
    random::Random,
    store::{Amount, EVENTS_PER_SESSION, EVENTS_PER_TURN, Texts, at, number, piece, project_of},
};

const EVENTS_PER_SUMMARY: usize = 50;

pub(crate) fn observations(transaction: &Transaction<'_>, amount: Amount, texts: &Texts) -> Result<()> {
    const INSERT: &str =
        "insert into observation (id, project_id, session_db_id, turn_id, type, title, subtitle, narrative,
        facts, concepts, files_read, files_modified, distiller, created_at, last_seen_at)
        values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, '[\"how-it-works\"]', '[]', ?10, 'rules', ?11, ?11)";
    const FILE: &str = "insert into observation_file (observation_id, path, modified) values (?1, ?2, 1)";
    const TYPES: [&str; 5] = ["bugfix", "feature", "refactor", "discovery", "decision"];
    let mut insert = transaction.prepare(INSERT)?;
    let mut insert_file = transaction.prepare(FILE)?;
    let mut search = Search::new(transaction)?;
    let mut random = Random::new(4);
    let events_each = amount.events / amount.observations;
    for observation in 0..amount.observations {
        let event = observation * events_each;
        let session = event / EVENTS_PER_SESSION;
        let (id, project) = (number(observation + 1), project_of(session));
        let title = piece(&texts.prose, 50, &mut random).trim();
        let subtitle = piece(&texts.prose, 90, &mut random).trim();
        let narrative = piece(&texts.prose, 400, &mut random);
        let facts = serde_json::json!([
            piece(&texts.prose, 80, &mut random),
            piece(&texts.prose, 80, &mut random)
        ])
        .to_string();
        let path = format!("src/{}.rs", random.below(2000));
        let files = format!("[\"{path}\"]");
        let place = (number(session + 1), number(event / EVENTS_PER_TURN + 1));
        let kind = random.pick(&TYPES);
        insert.execute(params![
            id,
            project,
            place.0,
            place.1,
            kind,
            title,
            subtitle,
            narrative,
            facts,
            files,
            at(event)
        ])?;
        insert_file.execute(params![id, path])?;
        search.add(
            "observation",
            observation + 1,
            project,
            at(event),
            [title, subtitle, &facts, narrative, &path],
        )?;
    }
    Ok(())
}

pub(crate) fn summaries(transaction: &Transaction<'_>, amount: Amount, texts: &Texts) -> Result<()> {
    const INSERT: &str = "insert into summary (id, project_id, session_db_id, turn_id, request, learned, completed, next_steps,
        distiller, created_at) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 'rules', ?9)";
    let mut insert = transaction.prepare(INSERT)?;
    let mut search = Search::new(transaction)?;
    let mut random = Random::new(5);
    for summary in 0..amount.events / EVENTS_PER_SUMMARY {
        let event = summary * EVENTS_PER_SUMMARY;
        let session = event / EVENTS_PER_SESSION;
        let (id, project, turn) = (
            number(summary + 1),
            project_of(session),
            number(event / EVENTS_PER_TURN + 1),
        );
        let [request, learned, completed, next] =
            [80, 300, 200, 120].map(|length| piece(&texts.prose, length, &mut random));
        insert.execute(params![
            id,
            project,
            number(session + 1),
            turn,
            request,
            learned,
            completed,
            next,
            at(event)
        ])?;
        search.add(
            "summary",
            summary + 1,
            project,
            at(event),
            [request, next, learned, completed, ""],
        )?;
    }
    Ok(())
}

/// Adds memories to the lexical index.
#[derive(Debug)]
pub(crate) struct Search<'t> {
    next: Statement<'t>,
    document: Statement<'t>,
    words: Statement<'t>,
}

impl<'t> Search<'t> {
    pub(crate) fn new(transaction: &'t Transaction<'_>) -> rusqlite::Result<Self> {
        // The upper bits of a document id are the project id.
        const NEXT: &str = "insert into document_count (project_id, documents, last) values (?1, 1, 1)
            on conflict do update set documents = documents + 1, last = last + 1 returning (?1 << 40) + last";
        const DOCUMENT: &str =
            "insert into document (id, kind, memory_id, created_at) values (?1, ?2, ?3, ?4)";
        const WORDS: &str = "insert into words (rowid, title, subtitle, facts, narrative, files)
            values (?1, ?2, ?3, ?4, ?5, ?6)";
        Ok(Self {
            next: transaction.prepare(NEXT)?,
            document: transaction.prepare(DOCUMENT)?,
            words: transaction.prepare(WORDS)?,
        })
    }

    pub(crate) fn add(
        &mut self,
        kind: &str,
        memory: usize,
        project: i64,
        at: i64,
        columns: [&str; 5],
    ) -> rusqlite::Result<()> {
        let id: i64 = self.next.query_row([project], |row| row.get(0))?;
        self.document.execute(params![id, kind, number(memory), at])?;
        let [title, subtitle, facts, narrative, files] = columns;
        self.words
            .execute(params![id, title, subtitle, facts, narrative, files])
            .map(drop)
    }
}
