//! Who calls, and what the caller may do: the only place that decides it.
//!
//! The token names the device; the device's header must agree, so that a token copied to another machine is noticed. Access
//! is always checked against the primary database: a replica may not know yet that a token was revoked.

use std::{net::IpAddr, time::Instant};

use axum::http::{HeaderMap, header::AUTHORIZATION};
use backstory_protocol::{DEVICE_HEADER, DeviceId, ErrorCode, Role};
use deadpool_postgres::Object;

use crate::{
    app::App,
    problem::Problem,
    secret_code,
    sql::{
        self,
        identity::{Caller, Membership, Space, TokenOwner},
    },
};

/// A caller in a project.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) caller: Caller,
    pub(crate) space: Space,
    pub(crate) role: Role,
}

/// The headers of a request that say who calls.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    token_hash: Option<[u8; 32]>,
    device: Option<DeviceId>,
    peer: IpAddr,
}

impl Credentials {
    pub(crate) fn read(headers: &HeaderMap, peer: IpAddr) -> Self {
        let text = |value: &axum::http::HeaderValue| value.to_str().ok().map(ToOwned::to_owned);
        let token = headers
            .get(AUTHORIZATION)
            .and_then(text)
            .and_then(|value| value.strip_prefix("Bearer ").map(secret_code::hash));
        let device = headers.get(DEVICE_HEADER).and_then(text);
        Self {
            token_hash: token,
            device: device.and_then(|device| device.parse().ok()),
            peer,
        }
    }
}

/// Authenticates the caller.
pub(crate) async fn caller(app: &App, credentials: &Credentials) -> Result<(Caller, Object), Problem> {
    let (owner, client) = authenticate(app, credentials, None).await?;
    Ok((owner.caller, client))
}

/// Authenticates the caller and checks the role in a project. Returns the connection that was used, to be used further.
pub(crate) async fn project(
    app: &App,
    credentials: &Credentials,
    project: i32,
    needed: Role,
) -> Result<(Access, Object), Problem> {
    let (owner, client) = authenticate(app, credentials, Some(project)).await?;
    // A project of another team and one that does not exist look the same.
    let unknown = || Problem::forbidden("there is no such project, or you are not a member of its team");
    let (space, membership) = owner.project.ok_or_else(unknown)?;
    let role = match membership {
        Membership::None => return Err(unknown()),
        Membership::Former => return Err(removed()),
        Membership::Current(role) => role,
    };
    if role < needed {
        return Err(Problem::forbidden(format!(
            "this needs the role {}, and yours is {}",
            sql::role_name(needed),
            sql::role_name(role)
        ))
        .hint("ask a maintainer of the team"));
    }
    let access = Access {
        caller: owner.caller,
        space,
        role,
    };
    Ok((access, client))
}

async fn authenticate(
    app: &App,
    credentials: &Credentials,
    project: Option<i32>,
) -> Result<(TokenOwner, Object), Problem> {
    let Some(token_hash) = &credentials.token_hash else {
        return Err(unauthenticated("the request has no token"));
    };
    limit(app.device_limit.take(*token_hash, Instant::now()))?;
    let client = app.databases.primary().await?;
    let Some(owner) = sql::identity::by_token(&client, token_hash, project).await? else {
        // Guessing tokens is hopeless; asking the database about each guess is not free.
        limit(app.address_limit.take(credentials.peer, Instant::now()))?;
        return Err(unauthenticated("the token is unknown"));
    };
    if owner.is_removed {
        return Err(removed());
    }
    if owner.is_revoked {
        return Err(unauthenticated("the token was revoked"));
    }
    if credentials.device != Some(owner.caller.device) {
        return Err(unauthenticated("the token belongs to another device"));
    }
    Ok((owner, client))
}

/// Turns an exceeded limit into an error.
pub(crate) fn limit(taken: Result<(), std::time::Duration>) -> Result<(), Problem> {
    taken.map_err(|wait| {
        Problem::rate_limited(
            u32::try_from(wait.as_secs())
                .unwrap_or(u32::MAX)
                .saturating_add(1),
        )
    })
}

fn unauthenticated(message: &str) -> Problem {
    Problem::new(ErrorCode::TokenRevoked, message)
        .hint("join again with a new invitation: backstory team join")
}

fn removed() -> Problem {
    Problem::new(
        ErrorCode::Removed,
        "this account is no longer a member of the team",
    )
}
