//! Viewer pages over plain HTTP. `viewer-tests` drives them in a real browser.

use std::{
    fs,
    io::Write as _,
    net::{Ipv4Addr, TcpStream},
    os::unix::fs::MetadataExt as _,
    sync::Arc,
    time::Duration,
};

use backstory_engine::{
    clock::ManualClock,
    engine::Engine,
    environment::Environment,
    worker::{HttpAddress, HttpServer as _},
};
use serde_json::json;

use crate::{
    home::{Home, eventually},
    http_client::{self, Answer, Served},
};

const PAGES: [&str; 10] = [
    "/",
    "/search",
    "/sessions",
    "/projects",
    "/files",
    "/recall",
    "/context",
    "/team",
    "/status",
    "/settings",
];

const MARKUP: &str = "<script>alert(1)</script>";

fn with_memories() -> Served {
    Served::start_in(memories())
}

fn memories() -> Home {
    let home = Home::new();
    home.report(
        "user-prompt-submit",
        &json!({"prompt": format!("Fix it {MARKUP}")}),
    );
    home.report(
        "post-tool-use",
        &json!({"tool_name": "Edit", "tool_use_id": "t1",
            "tool_input": {"file_path": home.project().join("src/a.py"), "old_string": "a", "new_string": "b"},
            "tool_response": {"filePath": home.project().join("src/a.py")}}),
    );
    home.report(
        "stop",
        &json!({"last_assistant_message": format!("The parser accepts tabs now. It also accepts {MARKUP}.")}),
    );
    home.drain();
    home
}

/// Submits a form like a browser that is signed in.
fn post(served: &Served, path: &str, form: &str, origin: &str) -> Answer {
    let link = served.home.ok(&["open", "--print"]);
    let (_, target) = link.trim().split_at(link.find("/login").unwrap());
    let login = served.raw(&format!(
        "GET {target} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
        served.port
    ));
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap();
    served.raw(&format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {cookie}\r\n{origin}Connection: close\r\n\
        Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
        served.port,
        form.len()
    ))
}

fn own_origin(served: &Served) -> String {
    format!("Origin: http://127.0.0.1:{}\r\n", served.port)
}

#[test]
fn every_page_renders_with_and_without_memories() {
    let empty = Served::start();
    for page in PAGES {
        let answer = empty.get(page);
        assert_eq!(answer.status, 200, "{page}: {}", answer.body);
        assert!(answer.header("content-type").unwrap().starts_with("text/html"));
        assert!(
            answer
                .header("content-security-policy")
                .unwrap()
                .contains("default-src 'none'")
        );
    }
    let full = with_memories();
    let id = full.home.rows("select key from project")[0].replace('/', "%2F");
    let project = format!("/projects/{id}");
    let more = [
        "/sessions/s1",
        "/sessions/s1?turn=1",
        "/memories/1",
        "/memories/1?edit",
        "/memories/S1",
        "/memories/P1",
        "/memories/V1",
        "/files?path=src/a.py",
        "/files?path=a.py",
        "/search?q=tabs",
        "/search?q=tabs&type=bugfix&kind=observation&since=1d",
        "/search?file=a.py",
        "/?project=acme",
        &project,
    ];
    for page in PAGES.iter().chain(&more) {
        let answer = full.get(page);
        assert_eq!(answer.status, 200, "{page}: {}", answer.body);
        assert!(!answer.body.contains(MARKUP), "{page}");
        assert!(
            !answer.body.contains(" style=") && !answer.body.contains(" onclick"),
            "{page}"
        );
    }
    assert!(full.get("/memories/1").body.contains("&lt;script&gt;"));
}

#[test]
fn the_outcome_of_a_session_is_shown_with_its_title() {
    let served = with_memories();
    for (page, class) in [("/sessions", "more"), ("/sessions/s1", "lead")] {
        let body = served.get(page).body;
        let shown = format!("<p class=\"{class}\"><bdi>The parser accepts tabs now");
        assert!(body.contains(&shown), "{page}: {body}");
    }
    let shown = served.home.ok(&["session", "s1"]);
    assert!(
        shown
            .lines()
            .any(|line| line.starts_with("outcome") && line.contains("accepts tabs now")),
        "{shown}"
    );
}

#[test]
fn a_missing_resource_is_a_page_for_browsers_and_json_for_programs() {
    let served = Served::start();
    for page in [
        "/memories/77",
        "/memories/nonsense",
        "/sessions/none",
        "/projects/none",
        "/sessions/s1?turn=9",
    ] {
        let answer = served.get(page);
        assert_eq!(answer.status, 404, "{page}");
        assert!(answer.body.contains("Page not found"), "{page}");
    }
    let get = |accept: &str| {
        let head = format!(
            "Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}",
            served.port, served.token
        );
        served.raw(&format!(
            "GET /nowhere HTTP/1.1\r\n{head}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n"
        ))
    };
    assert!(get("text/html").body.contains("Page not found"));
    assert_eq!(get("application/json").json()["error"]["code"], "not_found");
}

#[test]
fn assets_need_no_login_and_are_cached_until_they_change() {
    let served = Served::start();
    let page = served.get("/").body;
    let address = page
        .split("href=\"/assets/")
        .nth(2)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    let get = |path: &str, more: &str| {
        served.raw(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{more}Connection: close\r\n\r\n",
            served.port
        ))
    };
    let style = get(&format!("/assets/{address}"), "");
    assert_eq!(style.status, 200, "without any login");
    assert!(style.header("cache-control").unwrap().contains("immutable"));
    let known = format!("If-None-Match: {}\r\n", style.header("etag").unwrap());
    assert_eq!(get(&format!("/assets/{address}"), &known).status, 304);
    assert_eq!(
        get("/assets/style.css", "").header("cache-control"),
        Some("no-cache")
    );
    assert_eq!(get("/assets/0000000000000000-style.css", "").status, 404);
    assert_eq!(get("/", "").status, 401);
}

#[test]
fn forms_are_accepted_from_own_origin_only() {
    let served = with_memories();
    let changed = "title=Tabs+%26+spaces&type=decision&facts=one%0D%0Atwo";
    for origin in ["", "Origin: http://evil.test\r\n", "Origin: null\r\n"] {
        assert_eq!(
            post(&served, "/memories/1/edit", changed, origin).status,
            403,
            "{origin}"
        );
    }
    let own = own_origin(&served);
    let answer = post(&served, "/memories/1/edit", changed, &own);
    assert_eq!(
        (answer.status, answer.header("location")),
        (303, Some("/memories/1")),
        "{}",
        answer.body
    );
    let row = "select type || '|' || title || '|' || facts from observation where id = 1";
    assert_eq!(
        served.home.rows(row),
        ["decision|Tabs & spaces|[\"one\",\"two\"]"]
    );
    // A form cannot redirect to another site.
    let answer = post(&served, "/memories/1/pin", "to=https%3A%2F%2Fevil.test", &own);
    assert_eq!(answer.header("location"), Some("/"));
    let answer = post(&served, "/memories/1/edit", "title=+", &own);
    assert_eq!(answer.status, 400);
    assert!(answer.body.contains("role=\"alert\""));
    assert_eq!(post(&served, "/memories/1/supersede", "by=1", &own).status, 400);
    assert_eq!(post(&served, "/memories/1/supersede", "by=S1", &own).status, 400);
    assert_eq!(
        post(&served, "/settings", "section=ui&ui.timezone=Mars", &own).status,
        400
    );
    assert_eq!(
        post(&served, "/settings", "section=ui&ui.timezone=Asia%2FTokyo", &own).status,
        303
    );
    assert_eq!(served.home.ok(&["config", "get", "ui.timezone"]), "Asia/Tokyo\n");
}

#[test]
fn forgetting_can_be_undone_and_removes_every_byte_at_shutdown() {
    let served = with_memories();
    let own = own_origin(&served);
    let unique = "zebrafinch";
    post(
        &served,
        "/memories/1/edit",
        &format!("title={unique}&narrative={unique}"),
        &own,
    );
    assert_eq!(post(&served, "/memories/1/forget", "", &own).status, 303);
    assert!(served.get("/").body.contains("Forgetting"));
    assert!(
        !served
            .get("/search?q=zebrafinch")
            .body
            .contains("href=\"/memories/1\"")
    );
    assert_eq!(post(&served, "/memories/1/keep", "", &own).status, 303);
    assert_eq!(
        post(&served, "/memories/1/keep", "", &own).status,
        404,
        "nothing to undo"
    );
    assert!(
        served
            .get("/search?q=zebrafinch")
            .body
            .contains("href=\"/memories/1\"")
    );
    // A worker that shuts down forgets pending memories first.
    assert_eq!(post(&served, "/memories/1/forget", "", &own).status, 303);
    served.home.ok(&["worker", "stop"]);
    served.home.assert_nowhere(unique);
}

#[test]
fn forgetting_cannot_be_undone_once_started() {
    let home = memories();
    let time = ManualClock::at_ms(1_790_000_000_000);
    let engine = Engine {
        home: backstory_engine::home::Home::at(&home.path()),
        clock: time.clock(),
        environment: Environment::fixed([]),
    };
    let address = HttpAddress {
        bind: Ipv4Addr::LOCALHOST.into(),
        port: 0,
    };
    let server = backstory_serve::serve(&engine, address, Arc::default()).unwrap();
    let token = fs::read_to_string(home.path().join("token")).unwrap();
    let send = |method: &str, path: &str| {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            server.port(),
            token.trim()
        );
        stream.write_all(request.as_bytes()).unwrap();
        http_client::answer(stream)
    };
    assert_eq!(send("POST", "/memories/1/forget").status, 303);
    assert!(send("GET", "/").body.contains("Forgetting"));
    // Another writer holds the lock, so that deletion starts after the grace period and cannot finish.
    let other = rusqlite::Connection::open(home.path().join("backstory.db")).unwrap();
    other.execute_batch("begin immediate").unwrap();
    time.advance(Duration::from_secs(10));
    eventually("deletion starts", || {
        !send("GET", "/").body.contains("Forgetting")
    });
    let undone = send("POST", "/memories/1/keep");
    assert_eq!(undone.status, 404, "{undone:?}");
    assert_eq!(
        send("GET", "/api/observations/1").status,
        200,
        "it is not finished"
    );
    other.execute_batch("rollback").unwrap();
    eventually("the memory is forgotten", || {
        send("GET", "/api/observations/1").status == 404
    });
}

/// Closing any descriptor of a file releases all POSIX locks that the process holds on it. Another process would then
/// believe that it is the last user of the database, and delete the WAL that the worker writes to.
#[test]
fn readers_do_not_break_the_locks_of_the_worker() {
    let served = Served::start();
    assert_eq!(
        served
            .send("POST", "/api/memories", Some(&json!({"text": "The first note"})))
            .status,
        200
    );
    let wal = served.home.path().join("backstory.db-wal");
    eventually("the worker writes to its WAL", || wal.exists());
    std::thread::sleep(Duration::from_millis(200));
    // The worker created this database, so it holds its locks from the start.
    let inode = fs::metadata(served.home.path().join("backstory.db"))
        .unwrap()
        .ino();
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let (pid, inode) = (format!(" {} ", served.pid()), format!(":{inode} "));
    assert!(
        locks
            .lines()
            .any(|line| line.contains(&pid) && line.contains(&inode)),
        "{locks}"
    );
    for n in 0..3 {
        served.home.rows("select text from note");
        assert!(fs::exists(&wal).unwrap(), "the WAL is gone");
        let saved = served.send(
            "POST",
            "/api/memories",
            Some(&json!({"text": format!("Note {n}")})),
        );
        assert_eq!(saved.status, 200);
    }
    assert_eq!(served.home.rows("select text from note").len(), 4);
}

#[test]
fn a_home_path_too_long_for_a_socket_still_has_a_viewer() {
    let home = Home::new();
    let deep = home.outside().join("deep".repeat(40));
    let home = home.with("BACKSTORY_HOME", deep.to_str().unwrap());
    home.ok(&["worker", "start"]);
    let facts = fs::read(deep.join("worker.json")).unwrap();
    let link = home.run(&["open", "--print"], b"");
    home.ok(&["worker", "stop"]);
    let facts: serde_json::Value = serde_json::from_slice(&facts).unwrap();
    assert_eq!(facts["socket"], serde_json::Value::Null);
    let link = String::from_utf8_lossy(&link.stdout);
    assert!(
        link.starts_with(&format!("http://127.0.0.1:{}/login?code=", facts["port"])),
        "{link}"
    );
}

#[test]
fn open_accepts_known_pages_only() {
    let served = with_memories();
    for page in ["", "/", "search?q=tabs", "sessions/s1", "memories/1"]
        .iter()
        .chain(&PAGES)
    {
        served.home.ok(&["open", page, "--print"]);
    }
    // An unknown page does not start a worker.
    let home = Home::new();
    for page in ["nosuch", "memories", "searches", "settings/x"] {
        let output = home.run(&["open", page, "--print"], b"");
        assert_eq!(output.status.code(), Some(1), "{page}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(
            said.starts_with(&format!(
                "error: the viewer has no page `{page}`\nhint: it has search, "
            )),
            "{said}"
        );
    }
    assert!(!home.path().exists());
}

#[test]
fn most_cited_files_are_listed_and_found_by_suffix() {
    let home = Home::new();
    let memory = |project: &str, number: usize| {
        json!({"kind": "observation", "title": format!("Memory {number} of {project}"), "project": project,
            "created_at": "2026-01-01T10:00:00Z", "files_modified": [format!("src/{project}.py")]})
        .to_string()
    };
    let mut lines: Vec<String> = (0..5).map(|number| memory("power", number)).collect();
    lines.push(memory("superpower", 0));
    for project in 0..9 {
        lines.push(memory(&format!("small{project}"), 0));
        // More recent, but without a file.
        lines.push(
            json!({"kind": "prompt", "text": "hello", "project": format!("empty{project}")}).to_string(),
        );
    }
    home.run(&["import", "jsonl", "-"], lines.join("\n").as_bytes());
    let served = Served::start_in(home);
    let list = served.get("/files").body;
    assert!(
        list.contains("src/power.py") && list.contains("5 memories"),
        "{list}"
    );
    let one = served.get("/files?path=power.py").body;
    assert!(
        one.contains("Memory 4 of power") && !one.contains("Memory 0 of superpower"),
        "{one}"
    );
    let several = served.get("/files?path=.py").body;
    assert!(
        several.contains("Several files match") && several.contains("src/superpower.py"),
        "{several}"
    );
}

#[test]
fn the_health_page_tells_whether_an_agent_is_connected() {
    let served = Served::start();
    let page = served.get("/status").body;
    assert!(
        page.contains("Not connected: no hook is installed."),
        "no hook was installed"
    );
    let used = with_memories().get("/status").body;
    assert!(used.contains("Healthy: all events are processed."));
    assert!(
        used.contains("Claude Code") && used.contains("last event"),
        "{used}"
    );
}
