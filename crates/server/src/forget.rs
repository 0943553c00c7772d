//! Deletion of other people's records by a maintainer: final, and recorded in the audit log.

use backstory_protocol::{AccountId, DeletionReason, ForgetAnswer, ForgetRequest, limits};
use deadpool_postgres::Object;
use uuid::Uuid;

use crate::{
    access::Access,
    app::App,
    problem::Problem,
    sql::{self, memory::Selection},
};

/// Records that one transaction deletes: others wait for its lock.
const BATCH: i64 = 2_000;

/// Deletes the selected records, or counts them.
pub(crate) async fn forget(
    app: &App,
    access: &Access,
    client: &mut Object,
    request: &ForgetRequest,
) -> Result<ForgetAnswer, Problem> {
    if request.ids.is_empty() && request.author.is_none() && request.before.is_none() {
        return Err(Problem::bad("say which records: by ids, author or time"));
    }
    if request.ids.len() > limits::MAX_FORGET_IDS {
        return Err(Problem::bad(format!(
            "at most {} ids can be sent at once",
            limits::MAX_FORGET_IDS
        )));
    }
    let ids: Vec<Uuid> = request.ids.iter().map(|id| sql::uuid(id.0)).collect();
    let selection = Selection {
        ids: (!ids.is_empty()).then_some(&ids),
        author: request.author,
        before: request.before,
    };
    let project = access.space.id;
    if request.dry_run {
        let records = sql::memory::count(client, project, &selection).await?;
        return Ok(ForgetAnswer {
            records: records.unsigned_abs(),
            head: access.space.head,
        });
    }
    let (records, head) = bury_all(client, project, &selection, DeletionReason::Maintainer).await?;
    let subject = format!("{records} records");
    sql::audit::record(
        client,
        Some(&access.caller),
        Some(project),
        "forget",
        Some(&subject),
    )
    .await?;
    app.heads.advance(project, head);
    Ok(ForgetAnswer {
        records: records.unsigned_abs(),
        head,
    })
}

/// Deletes all records of an account in all projects, when the account leaves.
pub(crate) async fn forget_author(
    client: &mut Object,
    projects: &[i32],
    author: AccountId,
) -> Result<i64, Problem> {
    let selection = Selection {
        ids: None,
        author: Some(author),
        before: None,
    };
    let mut total = 0;
    for project in projects {
        total += bury_all(client, *project, &selection, DeletionReason::Left)
            .await?
            .0;
    }
    Ok(total)
}

/// Deletes in batches. Returns the number of records and the new head.
async fn bury_all(
    client: &mut Object,
    project: i32,
    selection: &Selection<'_>,
    reason: DeletionReason,
) -> Result<(i64, i64), Problem> {
    let mut total = 0;
    loop {
        let transaction = client.transaction().await?;
        let locked = sql::project::lock(&transaction, project).await?;
        let buried = sql::memory::bury(&transaction, project, locked.head, selection, reason, BATCH).await?;
        let head = locked.head + buried;
        if buried > 0 {
            sql::project::advance(&transaction, project, head, -buried).await?;
        }
        transaction.commit().await?;
        total += buried;
        if buried < BATCH {
            return Ok((total, head));
        }
    }
}
