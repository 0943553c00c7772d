//! Search on the server, for machines without a replica: candidates by terms and by sign bits, which the client ranks.
//!
//! Rare terms are matched alone, common ones only in pairs, very common ones not at all: ranking every record with a common
//! word would cost most of the time and find nothing. There is no approximate index: an exact scan of the sign bits of one
//! project costs 0.2 µs per record, and an approximate index over all projects finds little in a small one.

use std::collections::BTreeMap;

use backstory_protocol::{Candidate, SearchAnswer, SearchRequest, SharedProjectId, limits};
use deadpool_postgres::Object;

use crate::{
    app::App,
    index,
    problem::Problem,
    sql::{
        self,
        identity::Caller,
        search::{Query, TermCounts, WeightedTerm},
    },
};

/// Share of records above which a term is common.
const COMMON: f64 = 0.02;

/// Share of records above which a term says nothing.
const VERY_COMMON: f64 = 0.25;

/// Records below which every term is rare enough.
const FEW: f64 = 500.0;

/// Common terms that are matched in pairs.
const PAIRED: usize = 5;

/// Searches the projects that the caller may read.
pub(crate) async fn search(
    app: &App,
    caller: &Caller,
    client: Object,
    request: SearchRequest,
) -> Result<SearchAnswer, Problem> {
    app.metrics.count_search();
    let mut projects = sql::project::readable(&client, caller.account).await?;
    projects.retain(|project| !project.encrypted);
    if !request.projects.is_empty() {
        if let Some(foreign) = request
            .projects
            .iter()
            .find(|wanted| projects.iter().all(|project| project.id != **wanted))
        {
            return Err(Problem::forbidden(format!(
                "project {foreign} does not exist, is encrypted, or you are not a member of its team"
            )));
        }
        projects.retain(|project| request.projects.contains(&project.id));
    }
    let mut terms = request.terms;
    terms.retain(|term| index::is_indexed(term));
    terms.sort_unstable();
    terms.dedup();
    if terms.len() > limits::MAX_SEARCH_TERMS {
        return Err(Problem::bad(format!(
            "at most {} terms can be searched",
            limits::MAX_SEARCH_TERMS
        )));
    }
    let is_known = request.encoder.as_deref() == Some(backstory_embed::MODEL);
    let sign_bits = request
        .embedding
        .filter(|_| is_known)
        .map(|embedding| index::signs(&embedding));
    let client = if app.databases.has_replica() {
        drop(client);
        app.databases.reader().await?
    } else {
        client
    };
    let mut answer = SearchAnswer {
        candidates: Vec::new(),
        documents: 0,
        term_documents: terms.iter().map(|term| (term.clone(), 0)).collect(),
    };
    for project in projects {
        search_project(&client, project.id, &terms, sign_bits.as_ref(), &mut answer).await?;
    }
    keep_best(&mut answer.candidates);
    Ok(answer)
}

/// Keeps as many candidates of all projects as one project may have, each project's ranks taken as equal to the others'.
fn keep_best(candidates: &mut Vec<Candidate>) {
    let rank = |one: &Candidate| one.lexical_rank.unwrap_or(f32::NEG_INFINITY);
    candidates.sort_by(|one, other| rank(other).total_cmp(&rank(one)));
    let mut by_distance: Vec<u32> = candidates.iter().filter_map(|one| one.sign_distance).collect();
    by_distance.sort_unstable();
    let farthest = by_distance.get(sql::search::BY_SIGN_BITS - 1).copied();
    let mut at = 0;
    candidates.retain(|one| {
        at += 1;
        let is_near = |distance| farthest.is_none_or(|farthest| distance <= farthest);
        (one.lexical_rank.is_some() && at <= sql::search::BY_TERMS) || one.sign_distance.is_some_and(is_near)
    });
}

async fn search_project(
    client: &Object,
    project: SharedProjectId,
    terms: &[String],
    sign_bits: Option<&[u8; 32]>,
    answer: &mut SearchAnswer,
) -> Result<(), Problem> {
    let counts = sql::search::term_counts(client, project.0, terms).await?;
    answer.documents += counts.documents.unsigned_abs();
    add_documents(terms, &counts, &mut answer.term_documents);
    let query = plan(terms, &counts, sign_bits);
    if query.matching.is_none() && sign_bits.is_none() {
        return Ok(());
    }
    let found = sql::search::find(client, project.0, &query).await?;
    answer.candidates.extend(found.into_iter().map(|found| Candidate {
        project,
        record: found.record.inflate(),
        lexical_rank: found.rank,
        sign_distance: found.distance.map(i32::unsigned_abs),
    }));
    Ok(())
}

/// Estimates the share of records with a term; a term outside the sample counts as half a record of it.
fn share(count: i64, sampled: i64) -> f64 {
    (count as f64).max(0.5) / (sampled as f64).max(1.0)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an estimate of a number of records"
)]
fn add_documents(terms: &[String], counts: &TermCounts, all: &mut BTreeMap<String, u64>) {
    for (term, count) in terms.iter().zip(&counts.counts) {
        let estimate = if counts.sampled >= counts.documents {
            *count as f64
        } else {
            share(*count, counts.sampled) * counts.documents as f64
        };
        if let Some(documents) = all.get_mut(term) {
            *documents += estimate.round() as u64;
        }
    }
}

/// Decides which records are matched, and what each term weighs.
#[expect(clippy::cast_possible_truncation, reason = "a weight needs no more precision")]
fn plan<'a>(terms: &[String], counts: &TermCounts, sign_bits: Option<&'a [u8; 32]>) -> Query<'a> {
    let mut known: Vec<(&String, f64)> = terms
        .iter()
        .zip(counts.counts.iter().map(|count| share(*count, counts.sampled)))
        .collect();
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let documents = counts.documents as f64;
    let is_rare = |share: f64| share <= COMMON || share * documents <= FEW;
    // Whatever the shares are, the rarest terms count.
    let useful = known
        .iter()
        .enumerate()
        .filter(|(at, (_, share))| *at < 2 || *share <= VERY_COMMON || is_rare(*share))
        .map(|(_, known)| *known);
    let (rare, common): (Vec<_>, Vec<_>) = useful.partition(|(_, share)| is_rare(*share));
    let mut alternatives: Vec<String> = rare.iter().map(|(term, _)| format!("'{term}'")).collect();
    let paired = &common[..common.len().min(PAIRED)];
    for (at, (one, _)) in paired.iter().enumerate() {
        for (other, _) in &paired[at + 1..] {
            alternatives.push(format!("('{one}' & '{other}')"));
        }
    }
    if alternatives.is_empty() {
        alternatives.extend(paired.first().map(|(term, _)| format!("'{term}'")));
    }
    Query {
        matching: (!alternatives.is_empty()).then(|| alternatives.join(" | ")),
        terms: rare
            .iter()
            .chain(paired)
            .map(|(term, share)| WeightedTerm {
                term: (*term).clone(),
                weight: (1.0 / share).ln_1p() as f32,
            })
            .collect(),
        sign_bits,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(counts: &[i64], documents: i64) -> (Option<String>, usize) {
        let names = ["a", "b", "c", "d"];
        let terms: Vec<String> = names[..counts.len()].iter().map(ToString::to_string).collect();
        let counts = TermCounts {
            documents,
            sampled: documents.min(400),
            counts: counts.to_vec(),
        };
        let query = plan(&terms, &counts, None);
        (query.matching, query.terms.len())
    }

    #[test]
    fn rare_terms_match_alone_and_common_ones_in_pairs() {
        let all = |text: &str, terms| (Some(text.to_owned()), terms);
        assert_eq!(planned(&[3, 60, 50], 100_000), all("'a' | ('c' & 'b')", 3));
        // Very common terms count only if there is nothing better.
        assert_eq!(planned(&[3, 50, 390], 100_000), all("'a'", 2));
        assert_eq!(planned(&[390, 399], 100_000), all("('a' & 'b')", 2));
        assert_eq!(planned(&[390], 100_000), all("'a'", 1));
        // In a small project everything is rare.
        assert_eq!(planned(&[300, 60], 400), all("'b' | 'a'", 2));
        assert_eq!(planned(&[], 400), (None, 0));
    }

    #[test]
    fn the_best_of_all_projects_are_kept() {
        let candidate = |number: u16, lexical_rank, sign_distance| Candidate {
            project: SharedProjectId(i32::from(number) % 3),
            record: backstory_protocol::PulledRecord {
                seq: i64::from(number),
                author: backstory_protocol::AccountId(1),
                device: backstory_protocol::DeviceId([0; 16]),
                record: backstory_protocol::SignedRecord {
                    id: backstory_protocol::RecordId([0; 16]),
                    version: 1,
                    kind: backstory_protocol::SharedKind::Note,
                    body: String::new(),
                    signature: [0; 64],
                },
            },
            lexical_rank,
            sign_distance,
        };
        let by_terms = (0..100).map(|number| candidate(number, Some(f32::from(number)), None));
        let by_meaning = (100..400).map(|number| candidate(number, None, Some(u32::from(number))));
        let mut candidates: Vec<Candidate> = by_terms.chain(by_meaning).collect();
        keep_best(&mut candidates);
        let kept: Vec<i64> = candidates.iter().map(|one| one.record.seq).collect();
        let expected: Vec<i64> = (40..100).rev().chain(100..220).collect();
        assert_eq!(kept, expected);
    }

    #[test]
    fn estimates_are_exact_for_small_projects() {
        let terms = ["a".to_owned(), "b".to_owned()];
        let mut all: BTreeMap<String, u64> = terms.iter().map(|term| (term.clone(), 0)).collect();
        let counts = |documents, counts: [i64; 2]| TermCounts {
            documents,
            sampled: documents.min(400),
            counts: counts.to_vec(),
        };
        add_documents(&terms, &counts(300, [7, 0]), &mut all);
        assert_eq!((all["a"], all["b"]), (7, 0));
        add_documents(&terms, &counts(4_000, [40, 0]), &mut all);
        assert_eq!((all["a"], all["b"]), (407, 5));
    }
}
