//! Views of people about records.

use backstory_protocol::{AccountId, Feedback};
use deadpool_postgres::GenericClient;
use tokio_postgres::Error;
use uuid::Uuid;

use super::uuid;

/// Stores the views of an account that differ from what is there, under the sequence numbers after `head`. The project must be
/// locked, and each record must occur once. Returns the number of existing records among them, and of changes.
pub(crate) async fn store(
    client: &impl GenericClient,
    project: i32,
    head: i64,
    account: AccountId,
    views: &[Feedback],
) -> Result<(i64, i64), Error> {
    const STORE: &str = "
        with view as (
            select v.* from unnest($4::uuid[], $5::boolean[], $6::smallint[], $7::uuid[])
                as v (memory_id, is_pinned, verdict, superseded_by)
            where exists (select from memory m where m.project_id = $1 and m.id = v.memory_id and m.kind <> 0)),
        changed as (
            select v.*, row_number() over () as ordinal
            from view v left join feedback f
                on f.project_id = $1 and f.memory_id = v.memory_id and f.account_id = $3
            where (f.memory_id is null and (v.is_pinned or v.verdict <> 0 or v.superseded_by is not null))
                or (f.is_pinned, f.verdict) <> (v.is_pinned, v.verdict)
                or (f.memory_id is not null and f.superseded_by is distinct from v.superseded_by)),
        stored as (
            insert into feedback (project_id, memory_id, account_id, seq, is_pinned, verdict, superseded_by)
            select $1, memory_id, $3, $2 + ordinal, is_pinned, verdict, superseded_by from changed
            on conflict (project_id, memory_id, account_id) do update set seq = excluded.seq,
                is_pinned = excluded.is_pinned, verdict = excluded.verdict, superseded_by = excluded.superseded_by
            returning 1)
        select (select count(*) from view) as known, (select count(*) from stored) as stored";
    let statement = client.prepare_cached(STORE).await?;
    let ids: Vec<Uuid> = views.iter().map(|view| uuid(view.memory.0)).collect();
    let pins: Vec<bool> = views.iter().map(|view| view.pinned).collect();
    let verdicts: Vec<i16> = views
        .iter()
        .map(|view| i16::from(view.verdict.signum()))
        .collect();
    let successors: Vec<Option<Uuid>> = views
        .iter()
        .map(|view| view.superseded_by.map(|id| uuid(id.0)))
        .collect();
    let row = client
        .query_one(
            &statement,
            &[&project, &head, &account.0, &ids, &pins, &verdicts, &successors],
        )
        .await?;
    Ok((row.try_get("known")?, row.try_get("stored")?))
}
