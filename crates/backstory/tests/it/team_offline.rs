//! People who were away: a week of changes on both sides, an old backup, and a damaged database.

use std::{collections::BTreeSet, fs};

use crate::{
    faults::{database, flip, settle},
    home::{Home, text},
    team_exchange::{MARKER, author, fixture::TeamServer, member, start_of_session},
};

/// Returns the texts that a person shares.
fn shared(home: &Home) -> BTreeSet<String> {
    home.rows("select text from note join team_share on kind = 'note' and memory_id = note.id where state = 'approved'")
        .into_iter()
        .collect()
}

/// Returns the texts that a person has received.
fn received(home: &Home) -> BTreeSet<String> {
    home.rows("select coalesce(narrative, title) from team_memory where quarantine is null")
        .into_iter()
        .collect()
}

#[test]
fn two_homes_converge_after_a_week_without_the_server() {
    let mut server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), author(&server, "Ben"));
    let people = [(&ana, "Ana"), (&ben, "Ben")];
    for (home, name) in people {
        home.ok(&[
            "remember",
            "--team",
            &format!("{name} starts the week with {MARKER}"),
        ]);
    }
    for (home, _) in [people[0], people[1], people[0]] {
        home.ok(&["team", "sync"]);
    }
    server.kill();
    for day in 1..=7 {
        for (home, name) in people {
            // New, edited, taken back, taken back and shared again, and an opinion.
            home.ok(&[
                "remember",
                "--team",
                &format!("{name} learned lesson {day} about {MARKER}"),
            ]);
            home.ok(&[
                "edit",
                "N1",
                "--text",
                &format!("{name} starts day {day} with {MARKER}"),
            ]);
            assert!(!home.run(&["team", "sync"], b"").status.success());
            if day % 3 == 0 {
                home.ok(&["unshare", &format!("N{day}")]);
            }
            if day == 7 {
                home.ok(&["share", "N3"]);
                home.ok(&["forget", "N5", "--yes"]);
                home.ok(&["team", "rate", "useful", "T1"]);
            }
        }
    }
    server.resume();
    for (home, _) in [people[1], people[0], people[1]] {
        home.ok(&["team", "sync"]);
    }
    assert_eq!(shared(&ana).len(), 6);
    assert_eq!(received(&ben), shared(&ana));
    assert_eq!(received(&ana), shared(&ben));
    // Nothing is left to do, and nothing comes twice.
    for (home, _) in people {
        assert_eq!(home.ok(&["team", "sync"]), "0 sent, 0 received, 0 withdrawn\n");
        assert_eq!(home.ok(&["team", "resync"]), "0 sent, 0 received, 0 withdrawn\n");
    }
}

#[test]
fn an_old_backup_of_a_home_resurrects_nothing() {
    let server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), member(&server, "Ben", "reader"));
    ana.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} cache is cold at night"),
    ]);
    ana.ok(&["remember", "--team", "The staging host has no clock"]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    let backup = ben.outside().join("backup.db");
    ben.ok(&["backup", backup.to_str().unwrap()]);
    ana.ok(&["forget", "N1", "--yes"]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    ben.ok(&["restore", backup.to_str().unwrap(), "--yes"]);
    fs::remove_file(&backup).unwrap();
    // The copy is back until the next contact, and then gone for good.
    assert_eq!(ben.ok(&["team", "sync"]), "0 sent, 0 received, 1 withdrawn\n");
    assert!(!start_of_session(&ben).contains(MARKER));
}

#[test]
fn a_salvaged_database_still_knows_what_is_shared() {
    let server = TeamServer::start();
    let (ana, ben) = (author(&server, "Ana"), member(&server, "Ben", "reader"));
    ana.ok(&[
        "remember",
        "--team",
        &format!("The {MARKER} cache is cold at night"),
    ]);
    ana.ok(&["remember", "--team", "The staging host has no clock"]);
    ana.ok(&["unshare", "N2"]);
    ana.ok(&["team", "sync"]);
    ben.ok(&["team", "sync"]);
    settle(&ana);
    fs::remove_dir_all(ana.path().join("backups")).ok();
    let root = ana.rows(
        "select cast((rootpage - 1) * page_size as text) from sqlite_schema, pragma_page_size() where name = 'session'",
    );
    flip(&database(&ana), root[0].parse().unwrap(), 64);
    let said = text(&ana.run(&["sessions"], b"").stderr);
    assert!(said.contains("there was no backup"), "{said}");
    let status = ana.json(&["team", "status", "--json"]);
    assert_eq!(
        (&status["shared"], &status["withdrawn"]),
        (&1.into(), &1.into()),
        "{status}"
    );
    assert_eq!(ana.ok(&["team", "sync"]), "0 sent, 0 received, 0 withdrawn\n");
    ana.ok(&["unshare", "N1"]);
    ana.ok(&["team", "sync"]);
    assert_eq!(ben.ok(&["team", "sync"]), "0 sent, 0 received, 1 withdrawn\n");
    ben.assert_nowhere(MARKER);
}
