//! Hostile requests and their responses.

use std::{
    fmt::Write as _,
    io::{ErrorKind, Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    home::{eventually, settings},
    http_client::Served,
    logins::sign_in,
};

/// Requests; `PORT`, `AUTH`, `TOKEN` and cookies (`COOKIE`, `OWN` with our origin, `ENDED`) are replaced.
const REQUESTS: &[(&str, &str)] = &[
    (
        "no token",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
    ),
    (
        "wrong token",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: Bearer 00\r\n\r\n",
    ),
    (
        "token in the address",
        "GET /api/search?token=TOKEN HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
    ),
    (
        "another scheme",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAuthorization: Basic TOKEN\r\n\r\n",
    ),
    (
        "a made-up cookie",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nCookie: backstory_PORT=TOKEN\r\n\r\n",
    ),
    (
        "a made-up cookie with a prefix",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nCookie: __Host-=; =TOKEN; __Host-backstory_=TOKEN\r\n\r\n",
    ),
    (
        "a login code that was never issued",
        "GET /login?code=TOKEN HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
    ),
    (
        "an empty login code",
        "GET /login?code= HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
    ),
    (
        "a cookie that changes the provider",
        "PUT /api/settings HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOWN\r\nContent-Type: application/json\r\nContent-Length: 42\r\n\r\n{\"distill.base_url\":\"http://127.0.0.1:9/\"}",
    ),
    (
        "a cookie that turns redaction off",
        "PUT /api/settings HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOWN\r\nContent-Type: application/json\r\nContent-Length: 28\r\n\r\n{\"capture\":{\"redact\":false}}",
    ),
    (
        "a cookie that makes a login link",
        "POST /api/login-link HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOWN\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    ),
    (
        "a cookie from a page of another port",
        "POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:1\r\nCOOKIE\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{\"text\":\"x\"}",
    ),
    (
        "a cookie that was logged out",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nENDED\r\n\r\n",
    ),
    (
        "DNS rebinding",
        "GET /api/search HTTP/1.1\r\nHost: evil.test:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "localhost as a prefix",
        "GET /api/search HTTP/1.1\r\nHost: localhost.evil.test:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "an address as a prefix",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1.nip.io:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "an address as a user",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT@evil.test\r\nAUTH\r\n\r\n",
    ),
    (
        "another port",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:1\r\nAUTH\r\n\r\n",
    ),
    (
        "no port",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1\r\nAUTH\r\n\r\n",
    ),
    ("no host", "GET /api/search HTTP/1.1\r\nAUTH\r\n\r\n"),
    ("no host, old HTTP", "GET /api/search HTTP/1.0\r\nAUTH\r\n\r\n"),
    (
        "two hosts",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nHost: evil.test\r\nAUTH\r\n\r\n",
    ),
    (
        "mapped IPv6",
        "GET /api/search HTTP/1.1\r\nHost: [::ffff:127.0.0.1]:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "long IPv6",
        "GET /api/search HTTP/1.1\r\nHost: [0:0:0:0:0:0:0:1]:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "a number as address",
        "GET /api/search HTTP/1.1\r\nHost: 2130706433:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "a host in the address",
        "GET http://evil.test/api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "another origin",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: http://evil.test\r\nAUTH\r\n\r\n",
    ),
    (
        "no origin at all",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: null\r\nAUTH\r\n\r\n",
    ),
    (
        "an origin that begins like ours",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: http://127.0.0.1:PORT.evil.test\r\nAUTH\r\n\r\n",
    ),
    (
        "from another site",
        "GET /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nAUTH\r\n\r\n",
    ),
    (
        "asking for CORS",
        "OPTIONS /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nOrigin: http://evil.test\r\nAccess-Control-Request-Method: POST\r\n\r\n",
    ),
    (
        "a form",
        "POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\n{\"text\":\"x\"}",
    ),
    (
        "climbing out",
        "GET /assets/../../token HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
    ),
    (
        "climbing out, encoded",
        "GET /assets/%2e%2e%2f%2e%2e%2ftoken HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n",
    ),
    (
        "an unknown method",
        "BREW /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "a method the address does not know",
        "DELETE /api/search HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "a body that says it is huge",
        "POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\nContent-Type: application/json\r\nContent-Length: 99999999\r\n\r\n",
    ),
    (
        "a body that is no JSON",
        "POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\nContent-Type: application/json\r\nContent-Length: 4\r\n\r\n\\xff\\",
    ),
    (
        "two lengths",
        "POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nxxxx",
    ),
    (
        "a length and chunks",
        "POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\nContent-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ),
    (
        "a compressed body",
        "POST /api/memories HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\nContent-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nxxxx",
    ),
    (
        "a number too large",
        "GET /api/observations?limit=99999999999999999999 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "bytes that are no UTF-8",
        "GET /api/search?query=%ff%fe HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "a NUL in an id",
        "GET /api/sessions/%00 HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\n\r\n",
    ),
    (
        "SQL in a handle",
        "GET /api/observations/1;drop%20table%20note HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAUTH\r\n\r\n",
    ),
    ("no HTTP", "hello\r\n\r\n"),
];

#[test]
fn hostile_requests_are_rejected() {
    let served = Served::start();
    let port = served.port.to_string();
    let auth = format!("Authorization: Bearer {}\r\nConnection: close", served.token);
    let ended = sign_in(&served);
    served.home.ok(&["logins", "--logout-all"]);
    let cookie = format!("Cookie: {}", sign_in(&served));
    let mut table = String::new();
    for (what, request) in REQUESTS {
        let request = request
            .replace("OWN", &format!("Origin: http://127.0.0.1:{port}\r\n{cookie}"))
            .replace("COOKIE", &cookie)
            .replace("ENDED", &format!("Cookie: {ended}"))
            .replace("PORT", &port)
            .replace("AUTH", &auth)
            .replace("TOKEN", &served.token)
            .replacen(
                "\r\n\r\n",
                "\r\nConnection: close\r\n\r\n",
                usize::from(!request.contains("AUTH")),
            );
        let answer = served.raw(&request);
        let code = serde_json::from_str::<serde_json::Value>(&answer.body)
            .ok()
            .and_then(|body| body["error"]["code"].as_str().map(ToOwned::to_owned));
        writeln!(table, "{what:<36} {} {}", answer.status, code.unwrap_or_default()).unwrap();
        assert!(answer.header("access-control-allow-origin").is_none(), "{what}");
        assert!(!answer.body.contains(&served.token), "{what}");
    }
    let table: String = table
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect();
    settings().bind(|| insta::assert_snapshot!("hostile-requests", table));
    assert_eq!(served.get("/api/health").status, 200, "it still answers");
}

#[test]
fn an_oversized_head_or_body_is_rejected() {
    let served = Served::start();
    let head = format!(
        "GET /api/health HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nX: {}\r\n\r\n",
        served.port,
        "x".repeat(100_000)
    );
    assert_eq!(served.raw(&head).status, 431);
    let large = json!({"text": "x".repeat(9 << 20)});
    let answer = served.send("POST", "/api/memories", Some(&large));
    assert!([413, 0].contains(&answer.status), "{}", answer.status);
    assert_eq!(served.get("/api/health").status, 200);
}

/// Silent and slow connections are closed and do not block others.
#[test]
fn slow_and_numerous_connections_do_not_block_others() {
    let served = Served::start();
    let connect = || TcpStream::connect(("127.0.0.1", served.port)).unwrap();
    let mut slow = connect();
    slow.write_all(b"GET /health HT").unwrap();
    let started = Instant::now();
    // More than the server accepts: the rest is closed at once.
    let mut silent: Vec<TcpStream> = (0..600).map(|_| connect()).collect();
    let last = silent.last_mut().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    // Closed or reset: no bytes arrive, and the read does not time out.
    let read = last.read(&mut [0]).map_err(|error| error.kind());
    assert!(
        matches!(
            read,
            Ok(0) | Err(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
        ),
        "{read:?}"
    );
    // The owner is served on the socket meanwhile.
    let answer = served.through_socket("GET /api/health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    assert_eq!(answer.status, 200, "{answer:?}");
    drop(silent);
    eventually("others are served", || served.get("/api/health").status == 200);
    let mut rest = Vec::new();
    slow.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    slow.read_to_end(&mut rest).ok();
    assert!(
        started.elapsed() < Duration::from_secs(25),
        "{:?}",
        started.elapsed()
    );
}
