//! TLS with the server's own certificate, and the read replica.

use std::{path::Path, process::Command};

use backstory_protocol::SearchAnswer;
use ureq::{
    Agent,
    tls::{Certificate, RootCerts, TlsConfig},
};

use crate::{
    person::{Person, summary},
    team_server::{Cluster, TeamServer},
};

/// Makes a certificate for 127.0.0.1 with `openssl`, which PostgreSQL's packages depend on.
fn make_certificate(folder: &Path) -> (String, String) {
    let path = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let (certificate, key) = (path("certificate.pem"), path("key.pem"));
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test -addext \
        subjectAltName=IP:127.0.0.1 -addext basicConstraints=critical,CA:false";
    #[expect(clippy::disallowed_methods, reason = "a test needs a certificate")]
    let output = Command::new("openssl")
        .args(arguments.split_whitespace())
        .args(["-keyout", &key, "-out", &certificate])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (certificate, key)
}

#[test]
fn the_server_speaks_tls_with_its_own_certificate() {
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = make_certificate(folder.path());
    let server = TeamServer::start_with(&[("TLS_CERTIFICATE", &certificate), ("TLS_KEY", &key)]);
    assert!(server.url.starts_with("https://127.0.0.1:"), "{}", server.url);
    let pem = std::fs::read(&certificate).unwrap();
    let roots = RootCerts::new_with_certs(&[Certificate::from_pem(&pem).unwrap()]);
    let trusting = Agent::config_builder()
        .tls_config(TlsConfig::builder().root_certs(roots).build())
        .build()
        .new_agent();
    let health = trusting.get(format!("{}/health", server.url)).call();
    assert_eq!(health.unwrap().body_mut().read_to_string().unwrap(), "ok");
    // Neither somebody who does not trust the certificate nor plain http gets an answer.
    assert!(ureq::get(format!("{}/health", server.url)).call().is_err());
    assert!(
        ureq::get(format!("{}/health", server.url.replace("https", "http")))
            .call()
            .is_err()
    );
}

#[test]
fn a_replica_that_is_behind_is_not_used() {
    // An empty database is a replica that has not received anything yet.
    let cluster = Cluster::shared();
    let behind = cluster.database();
    let server = TeamServer::start_with(&[("READ_DATABASE_URL", &cluster.database_url(&behind))]);
    let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
    let project = ana.project("example.org/app");
    ana.share(&project, "news");
    assert_eq!(summary(&ana.pull(&project, 0, "").changes), ["news"]);
    // A search may miss the latest records, but works.
    let answer: SearchAnswer = ana
        .post("/v1/search", &serde_json::json!({"terms": ["new"]}))
        .json();
    assert_eq!((answer.documents, answer.candidates.len()), (0, 0));
}

#[test]
fn a_replica_answers_and_may_be_down() {
    let cluster = Cluster::shared();
    let server = TeamServer::start();
    let same = cluster.database_url(&server.database);
    for replica in [same.as_str(), "postgresql://postgres@/x?host=/nowhere"] {
        let server = TeamServer::second_with(&server, &[("READ_DATABASE_URL", replica)]);
        let ana = Person::join(&server.url, &server.invite("core", "writer"), "Ana");
        let project = ana.project(&format!("example.org/{}", replica.len()));
        ana.share(&project, "news");
        assert_eq!(summary(&ana.pull(&project, 0, "").changes), ["news"]);
        let search =
            serde_json::json!({"projects": [project.id], "terms": backstory_text::search_terms("news")});
        assert_eq!(
            ana.post("/v1/search", &search)
                .json::<SearchAnswer>()
                .candidates
                .len(),
            1
        );
    }
}
