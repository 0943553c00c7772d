//! Connects local projects with those of the server.

use anyhow::Result;
use backstory_model::Timestamp;
use backstory_protocol::{Me, ProjectRequest, Role, SharePolicy, SharedProject};
use backstory_store::{Store, TeamProject};

use super::{TeamServer, TeamServerError};

/// Connects local projects with those of the server: enrolled ones are created there, known ones are received. Returns true
/// if one was created, which needs an account that may.
pub(super) fn attach_projects(
    store: &mut Store,
    me: &Me,
    server: &TeamServer,
    may_create: bool,
    now: Timestamp,
) -> Result<bool> {
    let mut has_created = false;
    for shared in &me.projects {
        let keys = std::iter::once(&shared.key).chain(&shared.aliases);
        for key in keys {
            if store.team_project(key)?.is_none() && store.project_with_id(key)?.is_some() {
                store.put_team_project(&TeamProject {
                    project_key: key.clone(),
                    shared_key: shared.key.clone(),
                    share_mode: SharePolicy::Off.name().to_owned(),
                    enrolled_at: now,
                    remote_id: None,
                    epoch: None,
                    cursor: 0,
                    policy: None,
                    role: None,
                    synced_at: None,
                    last_error: None,
                })?;
            }
        }
    }
    for project in store.team_projects()? {
        let is_same = |shared: &&SharedProject| has_key(shared, &project.shared_key);
        let created;
        let shared = match me.projects.iter().find(is_same) {
            Some(shared) => shared,
            None if project.share_mode != SharePolicy::Off.name() && may_create => {
                match create_project(server, me, &project) {
                    Some(Ok(shared)) => {
                        has_created = true;
                        created = shared;
                        &created
                    }
                    Some(Err(error)) => {
                        store.set_team_error(&project.project_key, Some(&error.to_string()))?;
                        continue;
                    }
                    None => continue,
                }
            }
            None => continue,
        };
        let attached = TeamProject {
            remote_id: Some(shared.id.0),
            shared_key: shared.key.clone(),
            policy: Some(shared.policy.name().to_owned()),
            role: Some(role_name(shared.role).to_owned()),
            ..project.clone()
        };
        if attached != project {
            store.put_team_project(&attached)?;
        }
    }
    Ok(has_created)
}

/// Creates a project in the only team of this account that lets it; `None` if there is no such team.
fn create_project(
    server: &TeamServer,
    me: &Me,
    project: &TeamProject,
) -> Option<Result<SharedProject, TeamServerError>> {
    let mut teams = me.teams.iter().filter(|team| team.role >= Role::Writer);
    let team = teams.next()?;
    if teams.next().is_some() {
        return None;
    }
    let name = project
        .shared_key
        .rsplit('/')
        .next()
        .unwrap_or(&project.shared_key);
    Some(server.put_project(&ProjectRequest {
        team: Some(team.team.clone()),
        key: project.shared_key.clone(),
        name: name.to_owned(),
        encrypted: false,
        key_id: None,
    }))
}

/// Reports whether a shared project is known by this key.
pub(super) fn has_key(shared: &SharedProject, key: &str) -> bool {
    shared.key == key || shared.aliases.iter().any(|alias| alias == key)
}

/// Returns the name of a role.
fn role_name(role: Role) -> &'static str {
    match role {
        Role::Reader => "reader",
        Role::Writer => "writer",
        Role::Maintainer => "maintainer",
    }
}
