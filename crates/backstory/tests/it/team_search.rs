//! `backstory search --team`: projects that are only on the team's server, and a server that cannot be asked.

use serde_json::json;

use crate::{
    home::{Home, text},
    team_exchange::{MARKER, author, fixture::TeamServer, member_with},
};

/// Returns a member who works on another project.
fn elsewhere(server: &TeamServer<'_>, name: &str) -> Home {
    member_with(server, name, "reader", "git@example.org:acme/tools.git")
}

#[test]
fn a_project_that_is_not_here_is_searched_on_the_server() {
    let mut server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), elsewhere(&server, "Ben"));
    ana.ok(&[
        "remember",
        "--team",
        "--type",
        "decision",
        &format!("The {MARKER} gateway retries a login three times"),
    ]);
    ana.ok(&["remember", "--team", "The staging host has no clock"]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["remember", &format!("Ben keeps {MARKER} notes about tools")]);

    let found = ben.ok(&["search", "--team", MARKER]);
    let (local, remote) = found
        .split_once("On the team's server, not on this machine:")
        .unwrap();
    assert!(
        local.contains("notes about tools") && !local.contains("gateway"),
        "{found}"
    );
    assert!(
        remote.contains("retries a login") && remote.contains("shared by Ana") && remote.contains("app"),
        "{found}"
    );
    assert!(!remote.contains("no clock") && !remote.contains("T1"), "{found}");
    let found = ben.json(&["search", "--team", "--json", "how often is a login repeated"]);
    assert_eq!(found["team"]["projects"], json!(["app"]));
    let first = &found["team"]["results"][0];
    assert_eq!(
        (&first["shared_by"], &first["type"]),
        (&json!("Ana"), &json!("decision"))
    );
    assert!(first.get("id").is_none(), "{first}");
    // Nothing of it is stored, and a search without the option stays on this machine.
    assert!(!ben.ok(&["search", MARKER]).contains("gateway"));
    assert_eq!(ben.rows("select cast(count(*) as text) from team_memory"), ["0"]);

    // A filter holds for the server's records too.
    let none = ben.run(&["search", "--team", "--json", "--type", "bugfix", MARKER], b"");
    let none: serde_json::Value = serde_json::from_slice(&none.stdout).unwrap();
    assert_eq!(none["team"]["results"], json!([]));

    // What is here already is not searched there.
    let here = ana.json(&["search", "--team", "--json", MARKER]);
    assert_eq!(here["team"]["results"], json!([]));

    // An operator who changes a record is noticed.
    server.sql("update memory set signature = decode(repeat('ab', 64), 'hex')");
    let output = ben.run(&["search", "--team", MARKER], b"");
    assert!(!text(&output.stdout).contains("gateway"), "{output:?}");
    assert!(text(&output.stderr).contains("failed a check"), "{output:?}");

    // Without the server the local results are still there.
    server.kill();
    let output = ben.run(&["search", "--team", MARKER], b"");
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("notes about tools"), "{output:?}");
    assert!(
        text(&output.stderr).contains("Only this machine was searched"),
        "{output:?}"
    );
}

#[test]
fn a_machine_without_a_server_says_how_to_join_one() {
    let home = Home::new();
    home.ok(&["remember", &format!("a {MARKER} note")]);
    let output = home.run(&["search", "--team", MARKER], b"");
    assert!(output.status.success(), "{output:?}");
    assert!(text(&output.stderr).contains("has not joined"), "{output:?}");
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    // Accepts connections and never answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let home = Home::new()
        .with("BACKSTORY_TEAM_URL", &url)
        .with("BACKSTORY_TEAM_TOKEN", "t");
    home.ok(&["remember", &format!("a {MARKER} note")]);
    let start = std::time::Instant::now();
    let output = home.run(&["search", "--team", MARKER], b"");
    assert!(text(&output.stdout).contains("note"), "{output:?}");
    assert!(text(&output.stderr).contains("does not answer"), "{output:?}");
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}
