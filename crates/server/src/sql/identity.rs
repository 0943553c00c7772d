//! Accounts, devices, teams, memberships and invitations.

use backstory_protocol::{AccountId, DeviceId, DeviceKey, Epoch, Role, SharePolicy, TeamMember, TeamRole};
use deadpool_postgres::GenericClient;
use tokio_postgres::{Error, Row};
use uuid::Uuid;

use super::{device_id, epoch, policy, role, role_name, uuid};

/// An authenticated device and its account.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) account: AccountId,
    pub(crate) device: DeviceId,
    pub(crate) is_admin: bool,
    pub(crate) public_key: [u8; 32],
}

/// A shared project, as requests need it.
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub(crate) id: i32,
    pub(crate) key: String,
    pub(crate) aliases: Vec<String>,
    pub(crate) is_encrypted: bool,
    pub(crate) policy: SharePolicy,
    pub(crate) epoch: Epoch,
    pub(crate) head: i64,
    pub(crate) compacted: i64,
}

/// The relation of an account to the team of a project.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Membership {
    None,
    Former,
    Current(Role),
}

/// A caller, and the project that the request names, if it exists.
pub(crate) struct TokenOwner {
    pub(crate) caller: Caller,
    pub(crate) is_revoked: bool,
    pub(crate) is_removed: bool,
    pub(crate) project: Option<(Space, Membership)>,
}

/// Finds the device with a token and its role in a project.
pub(crate) async fn by_token(
    client: &impl GenericClient,
    token_hash: &[u8; 32],
    project: Option<i32>,
) -> Result<Option<TokenOwner>, Error> {
    const BY_TOKEN: &str = "
        select d.id as device_id, d.account_id, d.public_key, a.is_admin, d.revoked_at is not null as is_revoked,
            a.removed_at is not null as is_removed, p.id as project_id, p.key, p.is_encrypted, p.sharing_policy, p.epoch,
            p.head_seq, p.compacted_seq, m.role, m.removed_at is not null as has_left,
            array(select key from project_alias where project_id = p.id) as aliases
        from device d join account a on a.id = d.account_id
            left join project p on p.id = $2
            left join membership m on m.team_id = p.team_id and m.account_id = d.account_id
        where d.token_hash = $1";
    let statement = client.prepare_cached(BY_TOKEN).await?;
    let row = client
        .query_opt(&statement, &[&token_hash.as_slice(), &project])
        .await?;
    row.map(|row| token_owner(&row)).transpose()
}

fn token_owner(row: &Row) -> Result<TokenOwner, Error> {
    let public_key: &[u8] = row.try_get("public_key")?;
    Ok(TokenOwner {
        caller: Caller {
            account: AccountId(row.try_get("account_id")?),
            device: device_id(row.try_get("device_id")?),
            is_admin: row.try_get("is_admin")?,
            public_key: public_key.try_into().unwrap_or_default(),
        },
        is_revoked: row.try_get("is_revoked")?,
        is_removed: row.try_get("is_removed")?,
        project: row
            .try_get::<_, Option<i32>>("project_id")?
            .map(|id| space(row, id))
            .transpose()?,
    })
}

fn space(row: &Row, id: i32) -> Result<(Space, Membership), Error> {
    let space = Space {
        id,
        key: row.try_get("key")?,
        aliases: row.try_get("aliases")?,
        is_encrypted: row.try_get("is_encrypted")?,
        policy: policy(row.try_get("sharing_policy")?),
        epoch: epoch(row.try_get("epoch")?),
        head: row.try_get("head_seq")?,
        compacted: row.try_get("compacted_seq")?,
    };
    let membership = match row.try_get::<_, Option<&str>>("role")? {
        None => Membership::None,
        Some(_) if row.try_get("has_left")? => Membership::Former,
        Some(name) => Membership::Current(role(name)),
    };
    Ok((space, membership))
}

/// What an invitation grants.
pub(crate) enum Grant {
    /// A new account in a team.
    Team {
        /// The team.
        team: i64,
        /// The role in it.
        role: Role,
        /// The account manages the server.
        is_admin: bool,
    },
    /// A further device of an account.
    Device(AccountId),
}

/// Uses an invitation once, if it is valid.
pub(crate) async fn use_invitation(
    client: &impl GenericClient,
    code_hash: &[u8; 32],
) -> Result<Option<Grant>, Error> {
    const USE: &str = "
        update invitation set remaining_uses = remaining_uses - 1
        where code_hash = $1 and remaining_uses > 0 and expires_at > now()
        returning team_id, role, account_id, is_admin";
    let row = client.query_opt(USE, &[&code_hash.as_slice()]).await?;
    row.map(|row| {
        if let Some(account) = row.try_get("account_id")? {
            return Ok(Grant::Device(AccountId(account)));
        }
        Ok(Grant::Team {
            team: row.try_get("team_id")?,
            role: role(row.try_get("role")?),
            is_admin: row.try_get("is_admin")?,
        })
    })
    .transpose()
}

/// An invitation to be stored.
pub(crate) struct NewInvitation<'a> {
    pub(crate) code_hash: &'a [u8; 32],
    pub(crate) grant: &'a Grant,
    pub(crate) uses: i32,
    pub(crate) days: i32,
}

/// Stores an invitation.
pub(crate) async fn add_invitation(
    client: &impl GenericClient,
    new: &NewInvitation<'_>,
) -> Result<(), Error> {
    const ADD: &str = "
        insert into invitation (code_hash, team_id, role, account_id, is_admin, remaining_uses, expires_at)
        values ($1, $2, $3, $4, $5, $6, now() + make_interval(days => $7))";
    let (team, role, account, is_admin) = match new.grant {
        Grant::Team { team, role, is_admin } => (Some(*team), Some(role_name(*role)), None, *is_admin),
        Grant::Device(account) => (None, None, Some(account.0), false),
    };
    client
        .execute(
            ADD,
            &[
                &new.code_hash.as_slice(),
                &team,
                &role,
                &account,
                &is_admin,
                &new.uses,
                &new.days,
            ],
        )
        .await?;
    Ok(())
}

/// Adds an account.
pub(crate) async fn add_account(
    client: &impl GenericClient,
    name: &str,
    is_admin: bool,
) -> Result<AccountId, Error> {
    const ADD: &str = "insert into account (name, is_admin) values ($1, $2) returning id";
    Ok(AccountId(
        client.query_one(ADD, &[&name, &is_admin]).await?.try_get(0)?,
    ))
}

/// Adds a member to a team, or changes a role.
pub(crate) async fn set_role(
    client: &impl GenericClient,
    team: i64,
    account: AccountId,
    role: Role,
) -> Result<(), Error> {
    const SET: &str = "
        insert into membership (team_id, account_id, role) values ($1, $2, $3)
        on conflict (team_id, account_id) do update set role = excluded.role, removed_at = null";
    client
        .execute(SET, &[&team, &account.0, &role_name(role)])
        .await?;
    Ok(())
}

/// A device to be registered.
pub(crate) struct NewDevice<'a> {
    pub(crate) id: DeviceId,
    pub(crate) name: &'a str,
    pub(crate) public_key: &'a [u8; 32],
    pub(crate) token_hash: &'a [u8; 32],
    pub(crate) joined_with: &'a [u8; 32],
}

/// Registers a device. Returns false if there is a device with this id.
pub(crate) async fn add_device(
    client: &impl GenericClient,
    account: AccountId,
    new: &NewDevice<'_>,
) -> Result<bool, Error> {
    const ADD: &str = "
        insert into device (id, account_id, name, public_key, token_hash, joined_with) values ($1, $2, $3, $4, $5, $6)
        on conflict (id) do nothing";
    let (key, token) = (new.public_key.as_slice(), new.token_hash.as_slice());
    let joined_with = new.joined_with.as_slice();
    let added = client
        .execute(
            ADD,
            &[&uuid(new.id.0), &account.0, &new.name, &key, &token, &joined_with],
        )
        .await?;
    Ok(added == 1)
}

/// Gives a new token to a device that repeats its join, and returns its account.
pub(crate) async fn repeat_join(
    client: &impl GenericClient,
    new: &NewDevice<'_>,
) -> Result<Option<AccountId>, Error> {
    const REPEAT: &str = "
        update device set token_hash = $4
        where id = $1 and public_key = $2 and joined_with = $3 and revoked_at is null
            and created_at > now() - interval '1 hour'
        returning account_id";
    let (key, code, token) = (
        new.public_key.as_slice(),
        new.joined_with.as_slice(),
        new.token_hash.as_slice(),
    );
    let row = client
        .query_opt(REPEAT, &[&uuid(new.id.0), &key, &code, &token])
        .await?;
    row.map(|row| row.try_get(0).map(AccountId)).transpose()
}

/// Returns the name of an account.
pub(crate) async fn account_name(client: &impl GenericClient, account: AccountId) -> Result<String, Error> {
    const NAME: &str = "select name from account where id = $1";
    client.query_one(NAME, &[&account.0]).await?.try_get(0)
}

/// Revokes a device, of this account or of any. Returns the owner if there is such a device.
pub(crate) async fn revoke_device(
    client: &impl GenericClient,
    device: DeviceId,
    of: Option<AccountId>,
) -> Result<Option<AccountId>, Error> {
    const REVOKE: &str = "
        update device set revoked_at = coalesce(revoked_at, now())
        where id = $1 and ($2::bigint is null or account_id = $2) returning account_id";
    let of = of.map(|account| account.0);
    let row = client.query_opt(REVOKE, &[&uuid(device.0), &of]).await?;
    row.map(|row| row.try_get(0).map(AccountId)).transpose()
}

/// Returns the id of a team, which is created if there is none with this name.
pub(crate) async fn team(client: &impl GenericClient, name: &str) -> Result<(i64, bool), Error> {
    const ADD: &str = "insert into team (name) values ($1) on conflict (name) do nothing returning id";
    const FIND: &str = "select id from team where name = $1 and owner_id is null";
    if let Some(row) = client.query_opt(ADD, &[&name]).await? {
        return Ok((row.try_get(0)?, true));
    }
    Ok((client.query_one(FIND, &[&name]).await?.try_get(0)?, false))
}

/// Returns the id of the team that holds the encrypted spaces of an account; it has one member.
pub(crate) async fn personal_team(client: &impl GenericClient, account: AccountId) -> Result<i64, Error> {
    const ADD: &str = "
        insert into team (name, owner_id) values ('account ' || $1::bigint, $1)
        on conflict (owner_id) do update set owner_id = excluded.owner_id returning id";
    let team = client.query_one(ADD, &[&account.0]).await?.try_get(0)?;
    set_role(client, team, account, Role::Maintainer).await?;
    Ok(team)
}

/// Returns the teams of an account with their ids, without the one of its encrypted spaces.
pub(crate) async fn teams(
    client: &impl GenericClient,
    account: AccountId,
) -> Result<Vec<(i64, TeamRole)>, Error> {
    const TEAMS: &str = "
        select t.id, t.name, m.role from membership m join team t on t.id = m.team_id
        where m.account_id = $1 and m.removed_at is null and t.owner_id is null order by t.name";
    let statement = client.prepare_cached(TEAMS).await?;
    let rows = client.query(&statement, &[&account.0]).await?;
    let team = |row: &Row| {
        let team = TeamRole {
            team: row.try_get("name")?,
            role: role(row.try_get("role")?),
        };
        Ok((row.try_get("id")?, team))
    };
    rows.iter().map(team).collect()
}

/// Returns the people in the teams of an account, former ones included, each with the keys of all devices.
pub(crate) async fn members(
    client: &impl GenericClient,
    account: AccountId,
) -> Result<Vec<TeamMember>, Error> {
    const MEMBERS: &str = "
        select a.id, a.name, a.removed_at is not null or bool_and(m.removed_at is not null) as is_former,
            array(select d.id from device d where d.account_id = a.id order by d.created_at, d.id) as devices,
            array(select d.public_key from device d where d.account_id = a.id order by d.created_at, d.id) as keys
        from membership own join membership m on m.team_id = own.team_id join account a on a.id = m.account_id
        where own.account_id = $1 and own.removed_at is null
        group by a.id order by a.id";
    let statement = client.prepare_cached(MEMBERS).await?;
    let rows = client.query(&statement, &[&account.0]).await?;
    rows.iter().map(member).collect()
}

fn member(row: &Row) -> Result<TeamMember, Error> {
    let former = row.try_get("is_former")?;
    let devices: Vec<Uuid> = row.try_get("devices")?;
    let keys: Vec<Vec<u8>> = row.try_get("keys")?;
    let key = |(device, key): (Uuid, Vec<u8>)| DeviceKey {
        device: device_id(device),
        public_key: key.try_into().unwrap_or_default(),
    };
    Ok(TeamMember {
        account: AccountId(row.try_get("id")?),
        name: if former {
            "former member".to_owned()
        } else {
            row.try_get("name")?
        },
        former,
        devices: devices.into_iter().zip(keys).map(key).collect(),
    })
}
