//! Commands of operators: invitations, accounts, devices and projects. They work on the database and need no server.

use anyhow::{Result, bail};
use backstory_protocol::AccountId;
use deadpool_postgres::Object;

use crate::{
    cli::{Admin, Invite, PolicyName},
    config::Config,
    forget, secret_code,
    sql::{
        self,
        identity::{Grant, NewInvitation},
    },
};

/// Stores an invitation and returns what to print.
pub(crate) async fn invite(client: &Object, config: &Config, invite: &Invite) -> Result<String> {
    let mut text = String::new();
    let grant = match (&invite.team, invite.account) {
        (Some(name), _) => {
            let (team, is_new) = sql::identity::team(client, name).await?;
            if is_new {
                text.push_str(&format!("Created team {name}.\n"));
            }
            Grant::Team {
                team,
                role: invite.role.into(),
                is_admin: invite.admin,
            }
        }
        (None, Some(account)) => {
            known_account(client, account).await?;
            Grant::Device(AccountId(account))
        }
        (None, None) => bail!("name a team or an account"),
    };
    let code = secret_code::new_code();
    let new = NewInvitation {
        code_hash: &secret_code::hash(&code),
        grant: &grant,
        uses: invite.uses,
        days: invite.days,
    };
    sql::identity::add_invitation(client, &new).await?;
    sql::audit::record(client, None, None, "invite", invite.team.as_deref()).await?;
    let uses = match invite.uses {
        1 => "once".to_owned(),
        uses => format!("{uses} times"),
    };
    text.push_str(&format!(
        "This code works {uses}, for {} days. Only its hash is stored.\n\n  backstory team join {} {code}\n",
        invite.days,
        config.url()
    ));
    Ok(text)
}

/// Runs a command of `admin` and returns what to print.
pub(crate) async fn run(client: &mut Object, command: Admin) -> Result<String> {
    match command {
        Admin::List => list(client).await,
        Admin::Role { account, team, role } => {
            known_account(client, account).await?;
            let Some(id) = sql::maintenance::team_id(client, &team).await? else {
                bail!("there is no team {team}\nhint: `backstory-server invite --team {team}` creates it");
            };
            let role = role.into();
            sql::identity::set_role(client, id, AccountId(account), role).await?;
            let subject = format!("account {account} {} in {team}", sql::role_name(role));
            sql::audit::record(client, None, None, "role", Some(&subject)).await?;
            Ok(format!(
                "Account {account} is now {} in {team}.\n",
                sql::role_name(role)
            ))
        }
        Admin::Remove { account, forget } => remove(client, account, forget).await,
        Admin::Revoke { device } => {
            let id = device.parse()?;
            if sql::identity::revoke_device(client, id, None).await?.is_none() {
                bail!("there is no device {device}\nhint: `backstory-server admin list` shows all devices");
            }
            sql::audit::record(client, None, None, "revoke", Some(&device)).await?;
            Ok(format!("Revoked device {device}.\n"))
        }
        Admin::Project {
            project,
            policy,
            name,
            alias,
        } => change_project(client, project, policy, name.as_deref(), alias.as_deref()).await,
    }
}

async fn list(client: &Object) -> Result<String> {
    let mut text = String::from("Accounts\n");
    for account in sql::maintenance::accounts(client).await? {
        text.push_str(&format!("  {:>4}  {}", account.id, account.name));
        if account.is_admin {
            text.push_str(", admin");
        }
        if account.is_removed {
            text.push_str(", removed");
        }
        text.push('\n');
        for line in account.teams.iter().chain(&account.devices) {
            text.push_str(&format!("        {line}\n"));
        }
    }
    text.push_str("Projects\n");
    for project in sql::maintenance::projects(client).await? {
        text.push_str(&format!(
            "  {:>4}  {}, team {}, policy {}, {} records\n",
            project.id, project.key, project.team, project.policy, project.records
        ));
    }
    Ok(text)
}

async fn remove(client: &mut Object, account: i64, forget: bool) -> Result<String> {
    known_account(client, account).await?;
    sql::maintenance::remove_account(client, AccountId(account)).await?;
    let subject = format!("account {account}");
    sql::audit::record(client, None, None, "remove", Some(&subject)).await?;
    if !forget {
        return Ok(format!(
            "Removed account {account}. What it has shared stays, under \"former member\".\n"
        ));
    }
    let projects = sql::maintenance::projects_of_author(client, AccountId(account)).await?;
    let Ok(records) = forget::forget_author(client, &projects, AccountId(account)).await else {
        bail!("could not delete the records of account {account}\nhint: run the command again");
    };
    Ok(format!(
        "Removed account {account} and deleted {records} records. Their bytes are erased tonight, or by `backstory-server purge`.\n"
    ))
}

async fn change_project(
    client: &Object,
    project: i32,
    policy: Option<PolicyName>,
    name: Option<&str>,
    alias: Option<&str>,
) -> Result<String> {
    let policy = policy.map(|policy| match policy {
        PolicyName::Off => "off",
        PolicyName::Manual => "manual",
        PolicyName::Review => "review",
        PolicyName::Auto => "auto",
    });
    if policy.is_none() && name.is_none() && alias.is_none() {
        bail!("nothing to change\nhint: pass --policy, --name or --alias");
    }
    if !sql::maintenance::change_project(client, project, policy, name).await? {
        bail!("there is no project {project}\nhint: `backstory-server admin list` shows all projects");
    }
    if let Some(alias) = alias {
        sql::maintenance::add_alias(client, project, alias).await?;
    }
    sql::audit::record(client, None, Some(project), "change project", policy).await?;
    Ok(format!("Changed project {project}.\n"))
}

async fn known_account(client: &Object, account: i64) -> Result<()> {
    if !sql::maintenance::has_account(client, AccountId(account)).await? {
        bail!("there is no account {account}\nhint: `backstory-server admin list` shows all accounts");
    }
    Ok(())
}
