//! Shared projects.

use backstory_protocol::{AccountId, Epoch, SharedProject, SharedProjectId};
use deadpool_postgres::GenericClient;
use tokio_postgres::{Error, Row};

use super::{epoch, policy, role};

const COLUMNS: &str = "
    select p.id, t.name as team, p.key, p.name, p.is_encrypted, p.key_id, p.sharing_policy, p.epoch, p.head_seq,
        p.compacted_seq, m.role, array(select key from project_alias where project_id = p.id order by key) as aliases
    from project p join team t on t.id = p.team_id
        join membership m on m.team_id = t.id and m.account_id = $1 and m.removed_at is null";

/// Returns the projects that an account may read.
pub(crate) async fn readable(
    client: &impl GenericClient,
    account: AccountId,
) -> Result<Vec<SharedProject>, Error> {
    let statement = client.prepare_cached(&format!("{COLUMNS} order by p.id")).await?;
    let rows = client.query(&statement, &[&account.0]).await?;
    rows.iter().map(shared_project).collect()
}

/// Returns the project of a team with this key or alias.
pub(crate) async fn by_key(
    client: &impl GenericClient,
    account: AccountId,
    team: i64,
    key: &str,
) -> Result<Option<SharedProject>, Error> {
    let sql = format!(
        "{COLUMNS} where p.team_id = $2 and (p.key = $3
            or p.id = (select project_id from project_alias where team_id = $2 and key = $3))"
    );
    let row = client.query_opt(&sql, &[&account.0, &team, &key]).await?;
    row.map(|row| shared_project(&row)).transpose()
}

fn shared_project(row: &Row) -> Result<SharedProject, Error> {
    Ok(SharedProject {
        id: SharedProjectId(row.try_get("id")?),
        team: row.try_get("team")?,
        key: row.try_get("key")?,
        aliases: row.try_get("aliases")?,
        name: row.try_get("name")?,
        role: role(row.try_get("role")?),
        policy: policy(row.try_get("sharing_policy")?),
        epoch: epoch(row.try_get("epoch")?),
        head: row.try_get("head_seq")?,
        compacted: row.try_get("compacted_seq")?,
        encrypted: row.try_get("is_encrypted")?,
        key_id: row.try_get("key_id")?,
    })
}

/// A project to be created.
pub(crate) struct NewProject<'a> {
    pub(crate) team: i64,
    pub(crate) key: &'a str,
    pub(crate) name: &'a str,
    pub(crate) is_encrypted: bool,
    pub(crate) key_id: Option<&'a str>,
}

/// Creates a project, unless there is one with this key. Returns its id if it was created.
pub(crate) async fn add(client: &impl GenericClient, new: &NewProject<'_>) -> Result<Option<i32>, Error> {
    const ADD: &str = "
        insert into project (team_id, key, name, is_encrypted, key_id) values ($1, $2, $3, $4, $5)
        on conflict (team_id, key) do nothing returning id";
    let row = client
        .query_opt(
            ADD,
            &[&new.team, &new.key, &new.name, &new.is_encrypted, &new.key_id],
        )
        .await?;
    row.map(|row| row.try_get(0)).transpose()
}

/// The state of a project whose row is locked.
pub(crate) struct Locked {
    pub(crate) head: i64,
    pub(crate) epoch: Epoch,
}

/// Locks a project until the transaction ends: until then nobody else allocates sequence numbers.
pub(crate) async fn lock(client: &impl GenericClient, project: i32) -> Result<Locked, Error> {
    // Not `for update`: that would also wait for rows that refer to the project.
    const LOCK: &str = "select head_seq, epoch from project where id = $1 for no key update";
    let statement = client.prepare_cached(LOCK).await?;
    let row = client.query_one(&statement, &[&project]).await?;
    Ok(Locked {
        head: row.try_get("head_seq")?,
        epoch: epoch(row.try_get("epoch")?),
    })
}

/// Records the last sequence number that a transaction has allocated, and by how many the live records have grown.
pub(crate) async fn advance(
    client: &impl GenericClient,
    project: i32,
    head: i64,
    growth: i64,
) -> Result<(), Error> {
    const ADVANCE: &str = "update project set head_seq = $2, record_count = record_count + $3 where id = $1";
    let statement = client.prepare_cached(ADVANCE).await?;
    client.execute(&statement, &[&project, &head, &growth]).await?;
    Ok(())
}

/// Returns the last sequence numbers of projects.
pub(crate) async fn heads(client: &impl GenericClient, projects: &[i32]) -> Result<Vec<(i32, i64)>, Error> {
    const HEADS: &str = "select id, head_seq from project where id = any($1)";
    let statement = client.prepare_cached(HEADS).await?;
    let rows = client.query(&statement, &[&projects]).await?;
    rows.iter()
        .map(|row| Ok((row.try_get(0)?, row.try_get(1)?)))
        .collect()
}
