//! Purging, retention, operators' lists and checks.

use backstory_protocol::AccountId;
use deadpool_postgres::GenericClient;
use tokio_postgres::Error;

/// Key of the advisory lock of a purge; arbitrary, and different from that of `migrate`.
const PURGE_LOCK: i64 = 0x6261_636b_0002;

/// Days for which tombstones are kept.
const TOMBSTONE_DAYS: i32 = 400;

/// A partition with bytes of deleted records.
#[derive(Debug)]
pub(crate) struct QueuedPartition {
    pub(crate) name: String,
    pub(crate) bytes: i64,
    pub(crate) hours: f64,
}

/// Returns the partitions to be rewritten, the oldest first.
pub(crate) async fn purge_queue(client: &impl GenericClient) -> Result<Vec<QueuedPartition>, Error> {
    const QUEUE: &str = "
        select partition_name, pg_total_relation_size(partition_name::regclass) as bytes,
            extract(epoch from now() - queued_at)::float8 / 3600 as hours
        from purge_queue order by queued_at";
    let rows = client.query(QUEUE, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(QueuedPartition {
                name: row.try_get("partition_name")?,
                bytes: row.try_get("bytes")?,
                hours: row.try_get("hours")?,
            })
        })
        .collect()
}

/// Takes the lock that only one purge can hold, until the connection ends.
pub(crate) async fn try_purge_lock(client: &impl GenericClient) -> Result<bool, Error> {
    const LOCK: &str = "select pg_try_advisory_lock($1)";
    client.query_one(LOCK, &[&PURGE_LOCK]).await?.try_get(0)
}

/// Rewrites a partition, so that no byte of a deleted row is left in its files, and takes it off the queue.
///
/// A deletion during the rewrite waits for it and queues the partition again, at a later time.
pub(crate) async fn rewrite(client: &impl GenericClient, partition: &str) -> Result<(), Error> {
    const STARTED: &str = "select clock_timestamp()";
    const DONE: &str = "delete from purge_queue where partition_name = $1 and queued_at <= $2";
    let started: jiff::Timestamp = client.query_one(STARTED, &[]).await?.try_get(0)?;
    // The name comes from the catalog, not from a client.
    client
        .batch_execute(&format!("vacuum (full) {partition}"))
        .await?;
    client.execute(DONE, &[&partition, &started]).await?;
    Ok(())
}

/// Drops tombstones, entries of the audit log and invitations that are too old. Returns the number of tombstones.
pub(crate) async fn expire(client: &impl GenericClient) -> Result<i64, Error> {
    // Cursors below the dropped tombstones have expired: such a client has to start over.
    const TOMBSTONES: &str = "
        with old as (
            select project_id, id, seq from memory where kind = 0 and changed_at < now() - make_interval(days => $1)),
        locked as (
            select id from project where id in (select project_id from old) order by id for no key update),
        dropped as (
            delete from memory m using old, locked
            where m.project_id = old.project_id and m.id = old.id and m.seq = old.seq and locked.id = m.project_id
            returning m.project_id, m.seq),
        advanced as (
            update project p set compacted_seq = greatest(p.compacted_seq, d.seq)
            from (select project_id, max(seq) as seq from dropped group by project_id) d where d.project_id = p.id)
        select count(*) from dropped";
    const REST: &str = "
        delete from audit_log where occurred_at < now() - interval '1 year';
        delete from invitation where expires_at < now() - interval '7 days'";
    let dropped = client
        .query_one(TOMBSTONES, &[&TOMBSTONE_DAYS])
        .await?
        .try_get(0)?;
    client.batch_execute(REST).await?;
    Ok(dropped)
}

/// Returns the hour of the database's clock, UTC.
pub(crate) async fn hour(client: &impl GenericClient) -> Result<u8, Error> {
    const HOUR: &str = "select extract(hour from now() at time zone 'utc')::int";
    let hour: i32 = client.query_one(HOUR, &[]).await?.try_get(0)?;
    Ok(u8::try_from(hour).unwrap_or_default())
}

/// Replaces the epochs of all projects, so that clients start over and send their own records again.
pub(crate) async fn rotate_epochs(client: &impl GenericClient) -> Result<u64, Error> {
    client
        .execute("update project set epoch = gen_random_uuid()", &[])
        .await
}

/// Marks an account as removed: its tokens are refused from now on.
pub(crate) async fn remove_account(client: &impl GenericClient, account: AccountId) -> Result<(), Error> {
    const ACCOUNT: &str =
        "update account set removed_at = coalesce(removed_at, now()), is_admin = false where id = $1";
    const DEVICES: &str = "update device set revoked_at = coalesce(revoked_at, now()) where account_id = $1";
    const MEMBERSHIPS: &str =
        "update membership set removed_at = coalesce(removed_at, now()) where account_id = $1";
    for statement in [ACCOUNT, DEVICES, MEMBERSHIPS] {
        client.execute(statement, &[&account.0]).await?;
    }
    Ok(())
}

/// Returns the id of a team.
pub(crate) async fn team_id(client: &impl GenericClient, name: &str) -> Result<Option<i64>, Error> {
    let row = client
        .query_opt(
            "select id from team where name = $1 and owner_id is null",
            &[&name],
        )
        .await?;
    row.map(|row| row.try_get(0)).transpose()
}

/// Reports whether there is an account that was not removed.
pub(crate) async fn has_account(client: &impl GenericClient, account: AccountId) -> Result<bool, Error> {
    const EXISTS: &str = "select exists (select from account where id = $1 and removed_at is null)";
    client.query_one(EXISTS, &[&account.0]).await?.try_get(0)
}

/// An account in the list of operators.
pub(crate) struct AccountEntry {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) is_admin: bool,
    pub(crate) is_removed: bool,
    pub(crate) teams: Vec<String>,
    pub(crate) devices: Vec<String>,
}

/// Lists all accounts. Says nothing about what they have shared.
pub(crate) async fn accounts(client: &impl GenericClient) -> Result<Vec<AccountEntry>, Error> {
    const ACCOUNTS: &str = "
        select a.id, a.name, a.is_admin, a.removed_at is not null as is_removed,
            array(select m.role || ' in ' || t.name from membership m join team t on t.id = m.team_id
                where m.account_id = a.id and m.removed_at is null and t.owner_id is null order by t.name) as teams,
            array(select 'device ' || d.id || ' ' || d.name || case when d.revoked_at is null then '' else ', revoked' end
                from device d where d.account_id = a.id order by d.created_at) as devices
        from account a order by a.id";
    let rows = client.query(ACCOUNTS, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(AccountEntry {
                id: row.try_get("id")?,
                name: row.try_get("name")?,
                is_admin: row.try_get("is_admin")?,
                is_removed: row.try_get("is_removed")?,
                teams: row.try_get("teams")?,
                devices: row.try_get("devices")?,
            })
        })
        .collect()
}

/// A project in the list of operators.
pub(crate) struct ProjectEntry {
    pub(crate) id: i32,
    pub(crate) key: String,
    pub(crate) team: String,
    pub(crate) policy: String,
    pub(crate) records: i64,
}

/// Lists all projects.
pub(crate) async fn projects(client: &impl GenericClient) -> Result<Vec<ProjectEntry>, Error> {
    const PROJECTS: &str = "
        select p.id, p.key, t.name as team, p.sharing_policy, p.record_count
        from project p join team t on t.id = p.team_id order by p.id";
    let rows = client.query(PROJECTS, &[]).await?;
    rows.iter()
        .map(|row| {
            Ok(ProjectEntry {
                id: row.try_get("id")?,
                key: row.try_get("key")?,
                team: row.try_get("team")?,
                policy: row.try_get("sharing_policy")?,
                records: row.try_get("record_count")?,
            })
        })
        .collect()
}

/// Returns the projects in which an account has live records.
pub(crate) async fn projects_of_author(
    client: &impl GenericClient,
    author: AccountId,
) -> Result<Vec<i32>, Error> {
    const PROJECTS: &str =
        "select distinct project_id from memory where author_id = $1 and kind <> 0 order by project_id";
    let rows = client.query(PROJECTS, &[&author.0]).await?;
    rows.iter().map(|row| row.try_get(0)).collect()
}

/// Changes the policy or the name of a project. Returns false if there is none.
pub(crate) async fn change_project(
    client: &impl GenericClient,
    project: i32,
    policy: Option<&str>,
    name: Option<&str>,
) -> Result<bool, Error> {
    const CHANGE: &str = "
        update project set sharing_policy = coalesce($2, sharing_policy), name = coalesce($3, name) where id = $1";
    Ok(client.execute(CHANGE, &[&project, &policy, &name]).await? == 1)
}

/// Adds a further key of a project.
pub(crate) async fn add_alias(client: &impl GenericClient, project: i32, key: &str) -> Result<(), Error> {
    const ADD: &str = "
        insert into project_alias (team_id, key, project_id) select team_id, $2, id from project where id = $1
        on conflict (team_id, key) do update set project_id = excluded.project_id";
    client.execute(ADD, &[&project, &key]).await?;
    Ok(())
}

/// A fact about the database that an operator should know, and whether it is as it should be.
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) value: String,
    pub(crate) is_good: bool,
    pub(crate) hint: &'static str,
}

/// Checks settings of the database.
pub(crate) async fn checks(client: &impl GenericClient) -> Result<Vec<Check>, Error> {
    const FACTS: &str = "
        select current_setting('server_version') as version, current_setting('server_version_num')::int as number,
            current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit,
            pg_size_pretty(pg_database_size(current_database())) as size, pg_is_in_recovery() as is_replica,
            (select count(*) from account where removed_at is null) as accounts";
    let row = client.query_one(FACTS, &[]).await?;
    let fsync: String = row.try_get("fsync")?;
    let commit: String = row.try_get("synchronous_commit")?;
    let is_replica: bool = row.try_get("is_replica")?;
    let accounts: i64 = row.try_get("accounts")?;
    Ok(vec![
        Check {
            name: "PostgreSQL",
            value: row.try_get("version")?,
            is_good: row.try_get::<_, i32>("number")? >= 140_000,
            hint: "PostgreSQL 14 or later is needed",
        },
        Check {
            name: "primary",
            value: if is_replica { "no, a replica" } else { "yes" }.to_owned(),
            is_good: !is_replica,
            hint: "BACKSTORY_SERVER_DATABASE_URL must name the primary",
        },
        Check {
            name: "fsync",
            is_good: fsync == "on",
            value: fsync,
            hint: "without fsync a power cut loses acknowledged records",
        },
        Check {
            name: "synchronous_commit",
            is_good: commit != "off",
            value: commit,
            hint: "without it a crash loses acknowledged records",
        },
        Check {
            name: "size",
            value: row.try_get("size")?,
            is_good: true,
            hint: "",
        },
        Check {
            name: "accounts",
            value: accounts.to_string(),
            is_good: accounts > 0,
            hint: "nobody has joined: `backstory-server invite --team NAME`",
        },
    ])
}

/// Returns by how many seconds a replica is behind; `None` if the database is no replica.
pub(crate) async fn replica_delay(client: &impl GenericClient) -> Result<Option<f64>, Error> {
    const DELAY: &str = "
        select case when pg_is_in_recovery() then
            case when pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() then 0
            else coalesce(extract(epoch from now() - pg_last_xact_replay_timestamp()), 0)::float8 end end";
    client.query_one(DELAY, &[]).await?.try_get(0)
}
