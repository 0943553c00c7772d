//! Joining with an invitation, and revoking devices.

use backstory_protocol::{DeviceId, ErrorCode, JoinAnswer, JoinRequest, limits};

use crate::{
    access::limit,
    app::App,
    problem::Problem,
    secret_code,
    sql::{
        self,
        identity::{Caller, Grant, NewDevice},
    },
};

/// Registers a device: as a new account of a team, or as a further device of an account.
pub(crate) async fn join(
    app: &App,
    peer: std::net::IpAddr,
    request: &JoinRequest,
) -> Result<JoinAnswer, Problem> {
    limit(app.address_limit.take(peer, std::time::Instant::now()))?;
    let name = checked_name(&request.name, "a person's name")?;
    let device_name = checked_name(&request.device_name, "a device's name")?;
    let code_hash = secret_code::hash(&request.code);
    let token = secret_code::new_token();
    let device = NewDevice {
        id: request.device,
        name: device_name,
        public_key: &request.public_key,
        token_hash: &secret_code::hash(&token),
        joined_with: &code_hash,
    };
    let mut client = app.databases.primary().await?;
    let transaction = client.transaction().await?;
    let account = match sql::identity::repeat_join(&transaction, &device).await? {
        Some(account) => account,
        None => add(&transaction, &device, name).await?,
    };
    let caller = Caller {
        account,
        device: request.device,
        is_admin: false,
        public_key: request.public_key,
    };
    sql::audit::record(&transaction, Some(&caller), None, "join", None).await?;
    let name = sql::identity::account_name(&transaction, account).await?;
    let teams = sql::identity::teams(&transaction, account).await?;
    transaction.commit().await?;
    Ok(JoinAnswer {
        account,
        name,
        token,
        teams: teams.into_iter().map(|(_, team)| team).collect(),
    })
}

async fn add(
    transaction: &deadpool_postgres::Transaction<'_>,
    device: &NewDevice<'_>,
    name: &str,
) -> Result<backstory_protocol::AccountId, Problem> {
    let Some(grant) = sql::identity::use_invitation(transaction, device.joined_with).await? else {
        return Err(Problem::new(
            ErrorCode::InvalidInvitation,
            "the invitation does not exist, has expired or was used",
        )
        .hint("ask for a new one: backstory-server invite"));
    };
    let account = match grant {
        Grant::Device(account) => account,
        Grant::Team { team, role, is_admin } => {
            let account = sql::identity::add_account(transaction, name, is_admin).await?;
            sql::identity::set_role(transaction, team, account, role).await?;
            account
        }
    };
    if !sql::identity::add_device(transaction, account, device).await? {
        return Err(Problem::bad("there is a device with this id"));
    }
    Ok(account)
}

/// Revokes a device of the caller, or any as an admin. Revoking twice is revoking once.
pub(crate) async fn revoke(
    client: &deadpool_postgres::Object,
    caller: &Caller,
    device: DeviceId,
) -> Result<(), Problem> {
    let of = (!caller.is_admin).then_some(caller.account);
    if sql::identity::revoke_device(client, device, of).await?.is_none() {
        return Err(Problem::new(
            ErrorCode::NotFound,
            "there is no such device of yours",
        ));
    }
    sql::audit::record(client, Some(caller), None, "revoke", Some(&device.to_string())).await?;
    Ok(())
}

/// Checks a name that others will see.
pub(crate) fn checked_name<'n>(name: &'n str, what: &str) -> Result<&'n str, Problem> {
    let name = name.trim();
    if name.is_empty() || name.len() > limits::MAX_NAME_BYTES || name.contains(char::is_control) {
        return Err(Problem::bad(format!(
            "{what} must have 1 to {} bytes and no control characters",
            limits::MAX_NAME_BYTES
        )));
    }
    Ok(name)
}
