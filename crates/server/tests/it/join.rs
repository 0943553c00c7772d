//! Joining a server.

use backstory_protocol::{DeviceId, ErrorCode, JoinAnswer, JoinRequest, Me, Role, ServerInfo};

use crate::{
    person::{Person, anonymous},
    team_server::TeamServer,
};

fn request(code: &str, device: DeviceId, key: u8) -> Vec<u8> {
    let request = JoinRequest {
        code: code.to_owned(),
        name: "Ana".to_owned(),
        device,
        device_name: "laptop".to_owned(),
        public_key: [key; 32],
    };
    serde_json::to_vec(&request).unwrap()
}

#[test]
fn a_server_describes_itself() {
    let server = TeamServer::start();
    assert_eq!(
        anonymous("GET", &format!("{}/health", server.url), b"").body,
        b"ok"
    );
    let info: ServerInfo = anonymous("GET", &format!("{}/v1/info", server.url), b"").json();
    assert_eq!(
        (info.protocols, info.join),
        (vec![1], vec!["invitation".to_owned()])
    );
    assert_eq!(
        anonymous("GET", &format!("{}/v2/info", server.url), b"").error(),
        ErrorCode::NotFound
    );
}

#[test]
fn an_invitation_works_once() {
    let server = TeamServer::start();
    let code = server.invite("core", "writer");
    let url = format!("{}/v1/devices", server.url);
    // Typed in capitals and without hyphens.
    let typed = code.to_uppercase().replace('-', " ").replace(' ', "");
    let first: JoinAnswer = anonymous("POST", &url, &request(&typed, DeviceId([1; 16]), 1)).json();
    assert_eq!((first.teams.len(), first.teams[0].role), (1, Role::Writer));
    let second = anonymous("POST", &url, &request(&code, DeviceId([2; 16]), 2));
    assert_eq!(second.error(), ErrorCode::InvalidInvitation);
    // The same device with another key is another device.
    let other_key = anonymous("POST", &url, &request(&code, DeviceId([1; 16]), 2));
    assert_eq!(other_key.error(), ErrorCode::InvalidInvitation);
    // A repeated request, because its answer was lost, is the same join with a new token.
    let again: JoinAnswer = anonymous("POST", &url, &request(&code, DeviceId([1; 16]), 1)).json();
    assert_eq!(again.account, first.account);
    assert_ne!(again.token, first.token);
    assert_eq!(server.sql("select count(*) from account"), "1");
    // Neither codes nor tokens are stored.
    let dump = server.sql("select device::text from device")
        + &server.sql("select invitation::text from invitation");
    assert!(
        !dump.contains(&again.token) && !dump.contains(&code.replace('-', "")),
        "{dump}"
    );
}

#[test]
fn an_expired_invitation_is_refused() {
    let server = TeamServer::start();
    let code = server.invite("core", "writer");
    server.sql("update invitation set expires_at = now() - interval '1 second'");
    let answer = anonymous(
        "POST",
        &format!("{}/v1/devices", server.url),
        &request(&code, DeviceId([1; 16]), 1),
    );
    assert_eq!(answer.error(), ErrorCode::InvalidInvitation);
}

#[test]
fn several_people_may_share_a_code() {
    let server = TeamServer::start();
    let text = server.run(&["invite", "--team", "core", "--uses", "2"]);
    let code = text.trim().rsplit(' ').next().unwrap();
    assert!(text.contains("works 2 times"), "{text}");
    let ana = Person::join(&server.url, code, "Ana");
    let ben = Person::join(&server.url, code, "Ben");
    assert_ne!(ana.account, ben.account);
}

#[test]
fn a_second_device_joins_the_same_account() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    let text = server.run(&["invite", "--account", &ana.account.to_string()]);
    let desktop = Person::join(&server.url, text.trim().rsplit(' ').next().unwrap(), "ignored");
    assert_eq!(desktop.account, ana.account);
    let me: Me = desktop.get("/v1/me").json();
    assert_eq!(
        (me.name.as_str(), me.projects.len(), me.members[0].devices.len()),
        ("Ana", 1, 2)
    );
    // Both devices write the same person's record; the higher version wins.
    let mut record = ana.share(&project, "from the laptop");
    record.version = 2;
    record.device = desktop.device;
    "from the desktop".clone_into(&mut record.title);
    desktop.push(&project, &[desktop.sign(&project, &record)]);
    assert_eq!(
        crate::person::summary(&ana.pull(&project, 0, "").changes),
        ["from the desktop"]
    );
}

#[test]
fn me_is_sent_once() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let first = ana.get("/v1/me");
    let tag = first.headers["etag"].to_str().unwrap();
    assert_eq!(
        ana.request_with("GET", "/v1/me", b"", &[("if-none-match", tag)])
            .status,
        304
    );
    ana.project("example.org/app");
    assert_eq!(
        ana.request_with("GET", "/v1/me", b"", &[("if-none-match", tag)])
            .status,
        200
    );
}

#[test]
fn an_encrypted_space_belongs_to_one_person() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let ben = Person::join(&server.url, &server.invite("core", "maintainer"), "Ben");
    let body = br#"{"key":"f00d","name":"mine","encrypted":true,"key_id":"k1"}"#;
    let space: backstory_protocol::SharedProject = ana.request("PUT", "/v1/projects", body).json();
    assert!(space.encrypted && space.key_id.as_deref() == Some("k1"));
    let record = ana.record("a title that nobody else reads");
    let ciphertext = "b64:8f3a".to_owned();
    let line = backstory_protocol::PushLine::Put(backstory_protocol::SignedRecord {
        id: record.id,
        version: 1,
        kind: record.kind,
        signature: ana.signer.sign(&space.key, record.id, 1, &ciphertext),
        body: ciphertext,
    });
    ana.push(&space, &[line]);
    assert_eq!(
        server.sql("select search_terms is null and sign_bits is null from memory"),
        "t"
    );
    assert_eq!(ana.pull(&space, 0, "").changes.len(), 1);
    let path = format!("/v1/projects/{}/records?after=0", space.id);
    assert_eq!(ben.get(&path).error(), ErrorCode::Forbidden);
    let search = ana.post(
        "/v1/search",
        &serde_json::json!({"projects": [space.id], "terms": ["x"]}),
    );
    assert_eq!(search.error(), ErrorCode::Forbidden);
}
