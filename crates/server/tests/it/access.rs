//! Every endpoint refuses those who may not use it.

use backstory_protocol::{DeviceId, ErrorCode, SharedProject, stream};

use crate::{
    person::{Person, anonymous, unique},
    team_server::TeamServer,
};

/// A request that needs a role in a project.
struct Endpoint {
    method: &'static str,
    path: String,
    body: Vec<u8>,
    /// The lowest role that may use it.
    role: &'static str,
}

/// Returns all endpoints that need a token, for a project of a person.
fn endpoints(person: &Person, project: &SharedProject) -> Vec<Endpoint> {
    let id = project.id;
    let endpoint = |method, path: String, body: Vec<u8>, role| Endpoint {
        method,
        path,
        body,
        role,
    };
    let record = person.sign(project, &person.record("mine")).to_line().unwrap();
    vec![
        endpoint(
            "GET",
            format!("/v1/projects/{id}/records?after=0"),
            vec![],
            "reader",
        ),
        endpoint("GET", format!("/v1/projects/{id}/snapshot"), vec![], "reader"),
        endpoint(
            "POST",
            "/v1/search".into(),
            format!(r#"{{"projects":[{id}],"terms":["x"]}}"#).into(),
            "reader",
        ),
        endpoint(
            "POST",
            format!("/v1/projects/{id}/records"),
            stream::encode([record.as_str()]),
            "writer",
        ),
        endpoint(
            "POST",
            format!("/v1/projects/{id}/feedback"),
            br#"{"feedback":[]}"#.to_vec(),
            "writer",
        ),
        endpoint(
            "POST",
            format!("/v1/projects/{id}/forget"),
            br#"{"author":1,"dry_run":true}"#.to_vec(),
            "maintainer",
        ),
        endpoint("GET", format!("/v1/projects/{id}/audit"), vec![], "maintainer"),
    ]
}

/// Endpoints that need a token but no project.
fn personal_endpoints() -> Vec<Endpoint> {
    let endpoint = |method, path: &str, body: &str| Endpoint {
        method,
        path: path.to_owned(),
        body: body.as_bytes().to_vec(),
        role: "reader",
    };
    vec![
        endpoint("GET", "/v1/me", ""),
        endpoint("PUT", "/v1/projects", r#"{"key":"example.org/new","name":"new"}"#),
        endpoint("DELETE", "/v1/devices/00000000000000000000000000000009", ""),
    ]
}

#[test]
fn endpoints_need_the_token_of_this_device() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "maintainer"), "Ana");
    let project = ana.project("example.org/app");
    let revoked = Person::join(&server.url, &server.invite("core", "maintainer"), "Revoked");
    server.run(&["admin", "revoke", &revoked.device.to_string()]);
    let ben = Person::join(&server.url, &server.invite("core", "maintainer"), "Ben");
    let wrong_token = ana.with("00", ana.device);
    let wrong_device = ana.with(&ana.token, DeviceId(unique()));
    let device_of_another = ana.with(&ana.token, ben.device);
    for endpoint in endpoints(&ana, &project).into_iter().chain(personal_endpoints()) {
        let Endpoint {
            method, path, body, ..
        } = &endpoint;
        let none = anonymous(method, &format!("{}{path}", server.url), body);
        assert_eq!(none.error(), ErrorCode::TokenRevoked, "{method} {path}");
        for stranger in [&revoked, &wrong_token, &wrong_device, &device_of_another] {
            let answer = stranger.request(method, path, body);
            assert_eq!(answer.error(), ErrorCode::TokenRevoked, "{method} {path}");
        }
    }
}

#[test]
fn roles_and_teams_limit_what_can_be_done() {
    let server = TeamServer::start();
    let join = |team: &str, role: &str| Person::join(&server.url, &server.invite(team, role), role);
    let core = ["reader", "writer", "maintainer"].map(|role| join("core", role));
    let project = core[1].project("example.org/app");
    for (rank, person) in core.iter().enumerate() {
        for endpoint in endpoints(person, &project) {
            let needed = ["reader", "writer", "maintainer"]
                .iter()
                .position(|role| *role == endpoint.role);
            let answer = person.request(endpoint.method, &endpoint.path, &endpoint.body);
            let what = format!(
                "{} {} as {rank}: {}",
                endpoint.method,
                endpoint.path,
                answer.text()
            );
            if Some(rank) < needed {
                assert_eq!(answer.error(), ErrorCode::Forbidden, "{what}");
            } else {
                assert_eq!(answer.status, 200, "{what}");
            }
        }
    }
    // Another team, a project that does not exist, and an admin, who has no access to content by that role.
    let other = join("other", "maintainer");
    let admin_code = server.run(&["invite", "--team", "other", "--role", "maintainer", "--admin"]);
    let admin = Person::join(
        &server.url,
        admin_code.trim().rsplit(' ').next().unwrap(),
        "admin",
    );
    let mut missing = project.clone();
    missing.id.0 = 4_711;
    for stranger in [&other, &admin] {
        for project in [&project, &missing] {
            for endpoint in endpoints(stranger, project) {
                let answer = stranger.request(endpoint.method, &endpoint.path, &endpoint.body);
                assert_eq!(
                    answer.error(),
                    ErrorCode::Forbidden,
                    "{} {}",
                    endpoint.method,
                    endpoint.path
                );
            }
        }
        let me: backstory_protocol::Me = stranger.get("/v1/me").json();
        assert!(me.projects.is_empty());
        assert!(me.members.iter().all(|member| member.account != core[0].account));
    }
    // Everything that was refused has left nothing behind: one record each of the writer and the maintainer.
    assert_eq!(server.sql("select count(*) from memory"), "2");
}

#[test]
fn a_reader_cannot_share_a_project_and_a_member_cannot_revoke_others() {
    let server = TeamServer::start();
    let reader = Person::join(&server.url, &server.invite("core", "reader"), "reader");
    let writer = Person::join(&server.url, &server.invite("core", "writer"), "writer");
    let body = br#"{"key":"example.org/app","name":"app"}"#;
    assert_eq!(
        reader.request("PUT", "/v1/projects", body).error(),
        ErrorCode::Forbidden
    );
    let foreign = br#"{"key":"example.org/app","name":"app","team":"other"}"#;
    assert_eq!(
        writer.request("PUT", "/v1/projects", foreign).error(),
        ErrorCode::Forbidden
    );
    let path = format!("/v1/devices/{}", writer.device);
    assert_eq!(reader.request("DELETE", &path, b"").error(), ErrorCode::NotFound);
    assert_eq!(writer.get("/v1/me").status, 200);
    // One's own device can be revoked, and that is the end of it.
    assert_eq!(writer.request("DELETE", &path, b"").status, 204);
    assert_eq!(writer.get("/v1/me").error(), ErrorCode::TokenRevoked);
    let admin_code = server.run(&["invite", "--team", "core", "--admin"]);
    let admin = Person::join(
        &server.url,
        admin_code.trim().rsplit(' ').next().unwrap(),
        "admin",
    );
    let reader_path = format!("/v1/devices/{}", reader.device);
    assert_eq!(admin.request("DELETE", &reader_path, b"").status, 204);
    assert_eq!(reader.get("/v1/me").error(), ErrorCode::TokenRevoked);
}

#[test]
fn a_removed_account_is_told_so() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let ben = Person::join(&server.url, &server.invite("core", "writer"), "Ben");
    let project = ana.project("example.org/app");
    ben.share(&project, "Ben's");
    server.run(&["admin", "remove", &ben.account.to_string()]);
    for path in [
        "/v1/me".to_owned(),
        format!("/v1/projects/{}/records?after=0", project.id),
    ] {
        assert_eq!(ben.get(&path).error(), ErrorCode::Removed, "{path}");
    }
    // The record stays, its author is shown as a former member, and the key still verifies it.
    let me: backstory_protocol::Me = ana.get("/v1/me").json();
    let former = me
        .members
        .iter()
        .find(|member| member.account == ben.account)
        .unwrap();
    assert_eq!((former.name.as_str(), former.former), ("former member", true));
    assert_eq!(former.devices[0].public_key, ben.signer.public_key());
    assert_eq!(ana.pull(&project, 0, "").changes.len(), 1);
}

#[test]
fn a_device_that_loops_is_slowed_down() {
    let server = TeamServer::start_with(&[("REQUESTS_PER_SECOND", "1")]);
    let ana = Person::join(&server.url, &server.invite("core", "reader"), "Ana");
    let limited = std::iter::repeat_with(|| ana.get("/v1/me"))
        .take(40)
        .find(|answer| answer.status != 200)
        .unwrap();
    assert_eq!(limited.error(), ErrorCode::RateLimited);
    assert_eq!(limited.headers["retry-after"], "1");
    // Others are not.
    let ben = Person::join(&server.url, &server.invite("core", "reader"), "Ben");
    assert_eq!(ben.get("/v1/me").status, 200);
}

#[test]
fn codes_cannot_be_guessed_at_leisure() {
    let server = TeamServer::start();
    let body = br#"{"code":"wrong","name":"x","device":"00000000000000000000000000000001","device_name":"x",
        "public_key":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}"#;
    let guess = || anonymous("POST", &format!("{}/v1/devices", server.url), body).error();
    assert_eq!(guess(), ErrorCode::InvalidInvitation);
    assert!(
        std::iter::repeat_with(guess)
            .take(40)
            .any(|code| code == ErrorCode::RateLimited)
    );
}

#[test]
fn a_proxy_must_say_that_it_terminates_tls() {
    let server = TeamServer::start_with(&[("BEHIND_PROXY", "1")]);
    assert_eq!(
        anonymous("GET", &format!("{}/health", server.url), b"").body,
        b"ok"
    );
    assert_eq!(
        anonymous("GET", &format!("{}/v1/info", server.url), b"").error(),
        ErrorCode::Forbidden
    );
}
