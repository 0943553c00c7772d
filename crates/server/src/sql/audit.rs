//! The audit log: who did what, with ids and without content.

use backstory_protocol::{AccountId, AuditEntry};
use deadpool_postgres::GenericClient;
use tokio_postgres::{Error, Row};
use uuid::Uuid;

use super::{device_id, identity::Caller, uuid};

/// Records an action. Without a caller it was an operator at the command line.
pub(crate) async fn record(
    client: &impl GenericClient,
    caller: Option<&Caller>,
    project: Option<i32>,
    action: &str,
    subject: Option<&str>,
) -> Result<(), Error> {
    const RECORD: &str = "
        insert into audit_log (account_id, device_id, project_id, action, subject) values ($1, $2, $3, $4, $5)";
    let account = caller.map(|caller| caller.account.0);
    let device = caller.map(|caller| uuid(caller.device.0));
    client
        .execute(RECORD, &[&account, &device, &project, &action, &subject])
        .await?;
    Ok(())
}

/// Returns entries about a project, the newest first, from before this entry.
pub(crate) async fn entries(
    client: &impl GenericClient,
    project: i32,
    before: i64,
    limit: i64,
) -> Result<Vec<AuditEntry>, Error> {
    const ENTRIES: &str = "
        select id, occurred_at, account_id, device_id, action, subject from audit_log
        where project_id = $1 and id < $2 order by id desc limit $3";
    let rows = client.query(ENTRIES, &[&project, &before, &limit]).await?;
    let entry = |row: &Row| {
        Ok(AuditEntry {
            id: row.try_get("id")?,
            at: row.try_get("occurred_at")?,
            account: row.try_get::<_, Option<i64>>("account_id")?.map(AccountId),
            device: row.try_get::<_, Option<Uuid>>("device_id")?.map(device_id),
            action: row.try_get("action")?,
            subject: row.try_get("subject")?,
        })
    };
    rows.iter().map(entry).collect()
}
