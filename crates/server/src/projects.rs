//! What an account may see, and new shared projects.

use backstory_protocol::{Me, ProjectRequest, Role, SharedProject};
use deadpool_postgres::Object;

use crate::{
    devices::checked_name,
    problem::Problem,
    sql::{self, identity::Caller, project::NewProject},
};

/// Describes the account, its projects and the people in them.
pub(crate) async fn me(client: &Object, caller: &Caller) -> Result<Me, Problem> {
    let account = caller.account;
    let (name, teams, projects, members) = tokio::try_join!(
        sql::identity::account_name(client, account),
        sql::identity::teams(client, account),
        sql::project::readable(client, account),
        sql::identity::members(client, account),
    )?;
    Ok(Me {
        account,
        name,
        teams: teams.into_iter().map(|(_, team)| team).collect(),
        projects,
        members,
    })
}

/// Creates a shared project, or returns the one that has the key. An encrypted one belongs to the caller alone.
pub(crate) async fn put(
    client: &mut Object,
    caller: &Caller,
    request: &ProjectRequest,
) -> Result<SharedProject, Problem> {
    let key = checked_name(&request.key, "a project's key")?;
    let name = checked_name(&request.name, "a project's name")?;
    let transaction = client.transaction().await?;
    let team = if request.encrypted {
        sql::identity::personal_team(&transaction, caller.account).await?
    } else {
        team_of(&transaction, caller, request.team.as_deref()).await?
    };
    let account = caller.account;
    if let Some(project) = sql::project::by_key(&transaction, account, team, key).await? {
        transaction.commit().await?;
        return Ok(project);
    }
    let new = NewProject {
        team,
        key,
        name,
        is_encrypted: request.encrypted,
        key_id: request.key_id.as_deref(),
    };
    if let Some(id) = sql::project::add(&transaction, &new).await? {
        sql::audit::record(&transaction, Some(caller), Some(id), "share project", None).await?;
    }
    // Created here, or a moment ago by another request.
    let project = sql::project::by_key(&transaction, account, team, key).await?;
    transaction.commit().await?;
    project.ok_or_else(Problem::unavailable)
}

/// Returns the team for a new project; the only one of the account if none is named.
async fn team_of(
    transaction: &deadpool_postgres::Transaction<'_>,
    caller: &Caller,
    name: Option<&str>,
) -> Result<i64, Problem> {
    let mut teams = sql::identity::teams(transaction, caller.account).await?;
    if let Some(name) = name {
        teams.retain(|(_, team)| team.team == name);
    }
    let (id, team) = match teams.as_slice() {
        [only] => only,
        [] => {
            return Err(Problem::forbidden(
                "there is no such team, or you are not a member of it",
            ));
        }
        _ => return Err(Problem::bad("name the team: you are a member of several")),
    };
    if team.role < Role::Writer {
        return Err(Problem::forbidden("sharing a project needs the role writer"));
    }
    Ok(*id)
}
