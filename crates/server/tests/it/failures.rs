//! A database that is down, a server that stops, a schema that does not fit.

use std::{process::Output, thread, time::Instant};

use backstory_protocol::ErrorCode;

use crate::{
    person::{Person, summary},
    team_server::{Cluster, TeamServer},
};

fn error(output: &Output) -> String {
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn without_its_database_the_server_says_so_and_recovers() {
    let cluster = Cluster::start(&[]);
    let mut server = TeamServer::start_in(&cluster, &[]);
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    ana.share(&project, "before");
    cluster.control("crash");
    let answer = ana.get("/v1/me");
    assert_eq!(answer.error(), ErrorCode::Unavailable);
    assert!(
        answer.headers["retry-after"]
            .to_str()
            .unwrap()
            .parse::<u32>()
            .unwrap()
            > 0
    );
    assert_eq!(
        crate::person::anonymous("GET", &format!("{}/health", server.url), b"").body,
        b"ok"
    );
    // It also starts without its database.
    server.kill();
    server.resume();
    assert_eq!(ana.get("/v1/me").error(), ErrorCode::Unavailable);
    cluster.control("start");
    ana.share(&project, "after");
    assert_eq!(summary(&ana.pull(&project, 0, "").changes), ["before", "after"]);
}

#[test]
fn a_stopping_server_answers_those_who_wait() {
    let mut server = TeamServer::start();
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    thread::scope(|scope| {
        let start = Instant::now();
        let waiting = scope.spawn(|| ana.pull(&project, 0, "&wait=25"));
        while server.sql("select count(*) from pg_stat_activity where query like '%head_seq from project where id = any%' and application_name = 'backstory-server'") == "0" {
            thread::yield_now();
        }
        assert!(server.terminate());
        assert_eq!(waiting.join().unwrap().changes.len(), 0);
        assert!(start.elapsed().as_secs() < 20);
    });
}

#[test]
fn a_schema_that_does_not_fit_is_refused() {
    let server = TeamServer::start();
    assert_eq!(server.run(&["migrate"]), "Schema 1 is up to date.\n");
    server.sql("insert into schema_version values (99)");
    for command in [["serve"], ["migrate"], ["purge"]] {
        let error = error(&server.command(&command).output().unwrap());
        assert!(
            error.contains("schema 99") && error.contains("hint: install"),
            "{error}"
        );
    }
    server.sql("delete from schema_version");
    let error = error(&server.command(&["serve"]).output().unwrap());
    assert!(error.contains("hint: run `backstory-server migrate`"), "{error}");
}

#[test]
fn plain_http_is_refused_off_loopback() {
    let server = TeamServer::start();
    let mut command = server.command(&["serve"]);
    let error = error(
        &command
            .env("BACKSTORY_SERVER_LISTEN", "0.0.0.0:0")
            .output()
            .unwrap(),
    );
    assert!(
        error.starts_with("error: refusing to serve plain http on 0.0.0.0:0"),
        "{error}"
    );
}
