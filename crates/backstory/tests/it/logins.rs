//! Logins of browsers: links, cookies, their limits, and logging out.

use std::{fs, process::Command};

use serde_json::json;

use crate::{
    home::eventually,
    http_client::{Answer, Served},
};

/// Signs a browser in with a link of `backstory open`, and returns its cookie.
pub(crate) fn sign_in(served: &Served) -> String {
    let url = served.home.ok(&["open", "--print"]);
    let (_, path) = url.trim().split_at(url.find("/login").unwrap());
    let login = served.raw(&format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nUser-Agent: Firefox\r\nConnection: close\r\n\r\n",
        served.port
    ));
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap();
    cookie.to_owned()
}

/// Sends a request of a signed-in browser.
fn by_cookie(served: &Served, cookie: &str, line: &str, body: &str) -> Answer {
    let port = served.port;
    let kind = if line.contains("/api/") {
        "application/json"
    } else {
        "application/x-www-form-urlencoded"
    };
    served.raw(&format!(
        "{line} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\nCookie: {cookie}\r\n\
        Connection: close\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ))
}

#[test]
fn a_one_time_link_logs_a_browser_in() {
    let served = Served::start();
    let url = served.home.ok(&["open", "--print", "search"]);
    let path = url
        .trim()
        .strip_prefix(&format!("http://127.0.0.1:{}", served.port))
        .unwrap();
    let host = format!("Host: 127.0.0.1:{}\r\nConnection: close\r\n", served.port);
    let answer = served.raw(&format!("GET {path} HTTP/1.1\r\n{host}\r\n"));
    assert_eq!(answer.status, 303);
    let confirm = answer.header("location").unwrap();
    let cookie = answer.header("set-cookie").unwrap();
    for part in [
        "__Host-backstory_",
        "HttpOnly",
        "SameSite=Strict",
        "Path=/",
        "Secure",
    ] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let cookie = cookie.split(';').next().unwrap();
    let confirmed = served.raw(&format!(
        "GET {confirm} HTTP/1.1\r\n{host}Cookie: {cookie}\r\n\r\n"
    ));
    assert_eq!(
        (confirmed.status, confirmed.header("location")),
        (303, Some("/search"))
    );
    assert_eq!(
        confirmed.header("set-cookie"),
        None,
        "the browser accepted the first"
    );
    let with = |method: &str, extra: &str| {
        served
            .raw(&format!(
                "{method} /api/pending-queue/process HTTP/1.1\r\n{host}Cookie: {cookie}\r\n{extra}Content-Length: 0\r\n\r\n"
            ))
            .status
    };
    assert_eq!(by_cookie(&served, cookie, "GET /api/health", "").status, 200);
    assert_eq!(with("POST", ""), 403, "a change by cookie needs an origin");
    assert_eq!(
        with("POST", &format!("Origin: http://127.0.0.1:{}\r\n", served.port)),
        200
    );
    assert_eq!(with("POST", "Origin: http://127.0.0.1:1\r\n"), 403);
    let again = served.raw(&format!("GET {path} HTTP/1.1\r\n{host}Accept: text/html\r\n\r\n"));
    assert_eq!(again.status, 401);
    assert!(again.body.contains("backstory open"), "{again:?}");
}

/// Safari accepts no secure cookie over HTTP, not even from loopback.
#[test]
fn a_browser_that_rejects_the_first_cookie_gets_a_plain_one() {
    let served = Served::start();
    let url = served.home.ok(&["open", "--print", "search"]);
    let (_, path) = url.trim().split_at(url.find("/login").unwrap());
    let host = format!("Host: 127.0.0.1:{}\r\nConnection: close\r\n", served.port);
    let begun = served.raw(&format!("GET {path} HTTP/1.1\r\n{host}\r\n"));
    let confirm = begun.header("location").unwrap();
    let confirmed = served.raw(&format!("GET {confirm} HTTP/1.1\r\n{host}\r\n"));
    let cookie = confirmed.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with("backstory_") && !cookie.contains("Secure"),
        "{cookie}"
    );
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(by_cookie(&served, cookie, "GET /api/health", "").status, 200);
    assert_eq!(
        served.home.json(&["logins", "--json"]).as_array().unwrap().len(),
        1
    );
}

#[test]
fn every_login_has_its_own_cookie_and_can_be_ended() {
    let served = Served::start();
    let (one, two) = (sign_in(&served), sign_in(&served));
    assert_ne!(one, two);
    let is_in = |cookie: &str| by_cookie(&served, cookie, "GET /api/health", "").status == 200;
    assert!(is_in(&one) && is_in(&two));
    let logins = served.home.json(&["logins", "--json"]);
    assert_eq!(logins.as_array().unwrap().len(), 2, "{logins}");
    assert_eq!(logins[0]["browser"], "Firefox");
    let file = fs::read_to_string(served.home.path().join("logins.json")).unwrap();
    assert!(
        !file.contains(one.split_once('=').unwrap().1),
        "only a hash is stored"
    );
    let id = logins[0]["id"].as_str().unwrap();
    assert_eq!(
        served.home.ok(&["logins", "--logout", id]),
        "Logged out 1 browser.\n"
    );
    assert!(!is_in(&one) && is_in(&two));
    assert_eq!(
        served.home.run(&["logins", "--logout", id], b"").status.code(),
        Some(1)
    );
    // Another home on the same machine has another cookie.
    let other = Served::start();
    let elsewhere = sign_in(&other);
    assert_ne!(
        elsewhere.split_once('=').unwrap().0,
        one.split_once('=').unwrap().0
    );
    served.home.ok(&["logins", "--logout-all"]);
    assert!(!is_in(&two));
    assert_eq!(served.home.ok(&["logins"]), "No browser is logged in.\n");
}

#[test]
fn a_cookie_cannot_change_where_data_goes_or_sign_others_in() {
    let served = Served::start();
    let cookie = sign_in(&served);
    let secret = served.home.outside().join("private");
    for (key, value) in [
        ("distill.provider", json!("openai")),
        ("distill.base_url", json!("http://127.0.0.1:9/")),
        ("distill.api_key_env", json!("AWS_SECRET_ACCESS_KEY")),
        ("distill.api_key_file", json!(secret)),
        ("capture.redact", json!(false)),
        ("capture.exclude", json!([])),
        ("mcp.all_projects", json!(true)),
    ] {
        let body = json!({key: value}).to_string();
        let answer = by_cookie(&served, &cookie, "PUT /api/settings", &body);
        assert_eq!(answer.status, 403, "{key}: {answer:?}");
        let hint = answer.json()["error"]["hint"].to_string();
        assert!(hint.contains(&format!("backstory config set {key}")), "{hint}");
        let form = format!("section={}&{key}=x", key.split_once('.').unwrap().0);
        let answer = by_cookie(&served, &cookie, "POST /settings", &form);
        assert_ne!(answer.status, 303, "{key}");
        let owner = served.send("PUT", "/api/settings", Some(&json!({key: value})));
        assert_eq!(owner.status, 200, "{key}: the token is the owner's");
        served.send("PUT", "/api/settings", Some(&json!({key: null})));
    }
    let other = by_cookie(&served, &cookie, "PUT /api/settings", r#"{"context.full": 3}"#);
    assert_eq!(other.status, 200);
    let link = by_cookie(&served, &cookie, "POST /api/login-link", "{}");
    assert_eq!(link.status, 403, "{link:?}");
}

/// Other users can read the arguments of every process.
#[test]
fn the_login_link_is_not_in_the_arguments_of_the_browser() {
    let served = Served::start();
    let bin = served.home.outside().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let log = served.home.outside().join("opened");
    let script = format!(
        "#!/bin/sh\n{{ echo \"$@\"; stat -c %a \"$1\"; cat \"$1\"; }} > {}\n",
        log.display()
    );
    fs::write(bin.join("xdg-open"), script).unwrap();
    let mut command = served.home.command(&["open", "search"]);
    Command::new("chmod")
        .args(["+x", bin.join("xdg-open").to_str().unwrap()])
        .status()
        .unwrap();
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    let mut open = command.spawn().unwrap();
    eventually("the browser is opened", || {
        fs::read_to_string(&log).is_ok_and(|text| text.contains("</html>"))
    });
    let opened = fs::read_to_string(&log).unwrap();
    let lines: Vec<&str> = opened.lines().collect();
    let page = served.home.path().join("open.html");
    assert_eq!((lines[0], lines[1]), (page.to_str().unwrap(), "600"));
    assert!(lines[2].contains("/login?code="), "{opened}");
    let link = lines[2]
        .split("url=")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .replace("&amp;", "&");
    let (_, path) = link.split_at(link.find("/login").unwrap());
    // A navigation from a file: a redirect would lose the cookie.
    let answer = served.raw(&format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n\
        Connection: close\r\n\r\n",
        served.port
    ));
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .body
            .contains("http-equiv=refresh content='0;url=/login?code="),
        "{answer:?}"
    );
    assert!(open.wait().unwrap().success());
    assert!(!page.exists(), "removed after the login");
}
