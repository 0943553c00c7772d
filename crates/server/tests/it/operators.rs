//! Commands of operators.

use crate::{person::Person, team_server::TeamServer};

#[test]
fn operators_see_people_and_projects_but_no_content() {
    let server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let ben = Person::join(&server.url, &server.invite("core", "reader"), "Ben");
    let project = ana.project("example.org/app");
    ana.share(&project, "confidential");
    server.run(&["admin", "role", &ben.account.to_string(), "core", "maintainer"]);
    server.run(&["admin", "revoke", &ben.device.to_string()]);
    let id = |device: backstory_protocol::DeviceId| {
        let digits = device.to_string();
        format!(
            "{}-{}-{}-{}-{}",
            &digits[..8],
            &digits[8..12],
            &digits[12..16],
            &digits[16..20],
            &digits[20..]
        )
    };
    assert_eq!(
        server.run(&["admin", "list"]),
        format!(
            "Accounts
     1  Ana
        writer in core
        device {} Ana's laptop
     2  Ben
        maintainer in core
        device {} Ben's laptop, revoked
Projects
     1  example.org/app, team core, policy review, 1 records
",
            id(ana.device),
            id(ben.device)
        )
    );
}

#[test]
fn mistakes_are_explained() {
    let server = TeamServer::start();
    for (arguments, expected) in [
        (
            &["admin", "remove", "77"][..],
            "error: there is no account 77\nhint: `backstory-server admin list`",
        ),
        (
            &["admin", "project", "77", "--name", "x"],
            "error: there is no project 77\nhint:",
        ),
        (
            &["admin", "project", "77"],
            "error: nothing to change\nhint: pass",
        ),
        (&["admin", "revoke", "xyz"], "error: expected an id"),
        (
            &["invite"],
            "error: the following required arguments were not provided",
        ),
    ] {
        let output = server.command(arguments).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && error.starts_with(expected),
            "{arguments:?}: {error}"
        );
    }
    let mut typo = server.command(&["doctor"]);
    let output = typo
        .env("BACKSTORY_SERVER_LISTEM", "127.0.0.1:1")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        error.starts_with("error: unknown variable BACKSTORY_SERVER_LISTEM\nhint:"),
        "{error}"
    );
}

#[test]
fn doctor_names_what_is_wrong() {
    let server = TeamServer::start();
    Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let output = server.command(&["doctor"]).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    // The test's cluster runs without fsync.
    assert!(
        text.contains("FAIL  fsync: off\n      hint: without fsync"),
        "{text}"
    );
    assert!(!output.status.success());
    for line in [
        "ok    schema: 1, this program needs 1",
        "ok    purge: nothing to erase",
        "ok    accounts: 1",
    ] {
        assert!(text.contains(line), "{text}");
    }
}

#[test]
fn metrics_have_totals_and_no_names() {
    let address = "127.0.0.1:0";
    let server = TeamServer::start_with(&[("METRICS_LISTEN", address)]);
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    ana.share(&project, "one");
    // Not on the address for clients.
    assert_eq!(ana.get("/metrics").status, 404);
    let metrics = crate::person::anonymous("GET", &format!("{}/metrics", server.metrics_url()), b"");
    let text = String::from_utf8(metrics.body).unwrap();
    assert!(
        text.contains("backstory_pushed_records_total{result=\"stored\"} 1\n"),
        "{text}"
    );
    for name in [
        "Ana",
        "core",
        "example.org",
        &ana.account.to_string(),
        &ana.device.to_string(),
    ] {
        let is_listed = text.lines().any(|line| {
            line.split(['"', '{', '}', ' '])
                .any(|word| word == name && word.len() > 1)
        });
        assert!(!is_listed, "{name} in {text}");
    }
}
