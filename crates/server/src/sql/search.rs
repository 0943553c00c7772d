//! Search within one project: by terms and by sign bits.

use deadpool_postgres::GenericClient;
use tokio_postgres::{Error, types::ToSql};

use super::memory::DeflatedRecord;

/// Records in the sample that tells rare terms from common ones. The estimate is exact for smaller projects.
const SAMPLE: i64 = 400;

/// Best records by terms.
pub(crate) const BY_TERMS: usize = 60;

/// Best records by sign bits.
pub(crate) const BY_SIGN_BITS: usize = 120;

/// The number of live records, and how many of a sample of the newest ones have each term.
pub(crate) struct TermCounts {
    pub(crate) documents: i64,
    pub(crate) sampled: i64,
    pub(crate) counts: Vec<i64>,
}

/// Counts terms in a sample of a project.
pub(crate) async fn term_counts(
    client: &impl GenericClient,
    project: i32,
    terms: &[String],
) -> Result<TermCounts, Error> {
    const COUNTS: &str = "
        with sample as materialized (
            select search_terms from memory where project_id = $1 and search_terms is not null order by seq desc limit $2)
        select coalesce((select record_count from project where id = $1), 0) as documents, (select count(*) from sample) as sampled,
            array(select (select count(*) from sample where search_terms @@ t.query)
                from unnest($3::text[]) with ordinality as given (term, ordinal)
                    cross join lateral (select ('''' || given.term || '''')::tsquery as query) t
                order by given.ordinal) as counts";
    let statement = client.prepare_cached(COUNTS).await?;
    let row = client.query_one(&statement, &[&project, &SAMPLE, &terms]).await?;
    Ok(TermCounts {
        documents: row.try_get("documents")?,
        sampled: row.try_get("sampled")?,
        counts: row.try_get("counts")?,
    })
}

/// A term and its weight in the ranking.
pub(crate) struct WeightedTerm {
    pub(crate) term: String,
    pub(crate) weight: f32,
}

/// A query within one project.
pub(crate) struct Query<'a> {
    /// Selects records by terms, in the syntax of `tsquery`; none: by sign bits only.
    pub(crate) matching: Option<String>,
    /// Terms that count in the ranking by terms.
    pub(crate) terms: Vec<WeightedTerm>,
    pub(crate) sign_bits: Option<&'a [u8; 32]>,
}

/// A record that was found.
pub(crate) struct Found {
    pub(crate) record: DeflatedRecord,
    pub(crate) rank: Option<f32>,
    pub(crate) distance: Option<i32>,
}

/// Finds the best records by terms and the best by sign bits.
pub(crate) async fn find(
    client: &impl GenericClient,
    project: i32,
    query: &Query<'_>,
) -> Result<Vec<Found>, Error> {
    let statement = client.prepare_cached(&statement(query.terms.len())).await?;
    let bits = query.sign_bits.map(|bits| bits.as_slice());
    let literals: Vec<String> = query
        .terms
        .iter()
        .map(|term| format!("'{}'", term.term))
        .collect();
    let (by_terms, by_sign_bits) = (BY_TERMS as i64, BY_SIGN_BITS as i64);
    let mut values: Vec<&(dyn ToSql + Sync)> =
        vec![&project, &query.matching, &bits, &by_terms, &by_sign_bits];
    for (literal, term) in literals.iter().zip(&query.terms) {
        values.push(literal);
        values.push(&term.weight);
    }
    let rows = client.query(&statement, &values).await?;
    rows.iter()
        .map(|row| {
            Ok(Found {
                record: DeflatedRecord::read(row)?,
                rank: row.try_get("rank")?,
                distance: row.try_get("distance")?,
            })
        })
        .collect()
}

/// Returns the statement for a number of terms. The semantic part selects `seq` and no other column: the covering index has
/// it, and anything else would read the table.
fn statement(terms: usize) -> String {
    let weights: Vec<String> = (0..terms)
        .map(|at| {
            let (term, weight) = (6 + 2 * at, 7 + 2 * at);
            format!("case when search_terms @@ ${term}::text::tsquery then ${weight}::real else 0 end")
        })
        .collect();
    let rank = if weights.is_empty() {
        "0".to_owned()
    } else {
        weights.join(" + ")
    };
    format!(
        "with lexical as (
            select seq, ({rank})::real as rank from memory
            where project_id = $1 and search_terms is not null and search_terms @@ $2::text::tsquery
            order by rank desc, seq desc limit $4),
        semantic as (
            select seq, bit_count(sign_bits # ('x' || encode($3::bytea, 'hex'))::bit(256))::int as distance from memory
            where project_id = $1 and sign_bits is not null and $3::bytea is not null
            order by distance, seq desc limit $5),
        found as (
            select seq, max(rank) as rank, min(distance) as distance
            from (select seq, rank, null::int as distance from lexical
                union all select seq, null, distance from semantic) both_ways
            group by seq)
        select m.seq, m.id, m.version, m.kind, m.author_id, m.device_id, m.body, m.signature, f.rank, f.distance
        from found f join memory m on m.project_id = $1 and m.seq = f.seq
        order by f.rank desc nulls last, f.distance"
    )
}
