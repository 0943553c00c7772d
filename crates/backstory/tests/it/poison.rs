//! Prompt injection: hostile content through every input, checked in all stored and injected text.
//!
//! Tool output is evidence: it is found as a passage. A title or a fact quotes it only as code behind a fixed label, and it never
//! becomes a note or a pin. Injected text is inside the frame, one record per line, and nothing in it can close the frame.

mod assertions;
mod cases;
mod inputs;

use std::fmt::Write as _;

use assertions::{Look, is_quoted, stored};
use cases::{CASES, Case, Way};
use inputs::feed;

use crate::home::settings;

/// Marker in hostile text.
const MARK: &str = "evilword";

/// Places where tool text may be stored.
const EVIDENCE: [&str; 4] = ["files", "passage: edit", "passage: command", "passage: error"];

#[test]
fn hostile_content_stays_evidence() {
    assert!(CASES.len() >= 30);
    // Half of the time is spent waiting for processes.
    let rows: Vec<Row> = std::thread::scope(|scope| {
        let threads: Vec<_> = CASES
            .chunks(CASES.len().div_ceil(4))
            .map(|cases| scope.spawn(move || cases.iter().map(Row::of).collect::<Vec<_>>()))
            .collect();
        threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
            .collect()
    });
    let wrong: Vec<&str> = rows
        .iter()
        .flat_map(|row| &row.wrong)
        .map(String::as_str)
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let mut table = format!("{:<42} {:<40} told\n", "case", "kept in");
    for row in rows {
        writeln!(table, "{:<42} {:<40} {}", row.case, row.kept, row.told).unwrap();
    }
    settings().bind(|| insta::assert_snapshot!("poison", table));
}

/// Result of a case.
struct Row {
    case: &'static str,
    kept: String,
    told: String,
    /// Violations.
    wrong: Vec<String>,
}

impl Row {
    fn of(case: &Case) -> Self {
        let home = feed(case);
        let mut wrong = Vec::new();
        let kept = stored(&home);
        let in_other_words = kept
            .iter()
            .filter(|place| !EVIDENCE.contains(place) && !is_quoted(&home, place));
        if case.way.is_of_a_tool() {
            wrong.extend(in_other_words.map(|place| format!("tool text became {place}")));
        }
        let pins =
            home.rows("select 'x' from note where pinned union all select 'x' from observation where pinned");
        if pins.is_empty() == case.way.pins() {
            wrong.push(format!("{} pins", pins.len()));
        }
        let authors = home.rows("select coalesce(author, 'nobody') from note");
        if authors != case.way.authors() {
            wrong.push(format!("notes by {authors:?}"));
        }
        let looks = Look::everywhere(&home, case);
        wrong.extend(looks.iter().filter_map(Look::fault));
        if case.way.is_of_a_tool() || case.way == Way::Branch {
            wrong.extend(looks.iter().filter_map(Look::unquoted));
        }
        let mut told: Vec<&str> = looks
            .iter()
            .filter(|look| look.text.contains(MARK))
            .map(|look| look.place)
            .collect();
        told.dedup();
        let list = |names: &[&str]| match names {
            [] => "-".to_owned(),
            names => names.join(", "),
        };
        Self {
            case: case.name,
            kept: list(&kept),
            told: list(&told),
            wrong: wrong
                .into_iter()
                .map(|wrong| format!("{}: {wrong}", case.name))
                .collect(),
        }
    }
}
