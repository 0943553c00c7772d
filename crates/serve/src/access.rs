//! Access control for TCP: only the owner of the home is served.
//!
//! Any web page can make a browser send requests to this machine. Such a request names another host (DNS rebinding),
//! another origin, or has no token; each of these alone is enough to reject it.
//!
//! A browser sends a cookie to every port of a host, so a server of another user that it visits on this machine can see it. A
//! cookie therefore opens the viewer, but never the settings that decide where data goes ([`Credential`]).

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    net::{IpAddr, SocketAddr},
    path::Path,
};

use axum::{
    body::Body,
    http::{
        HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
        header::{self, AUTHORIZATION, COOKIE, HOST, ORIGIN},
        request::Parts,
    },
    response::Response,
};
use backstory_model::Timestamp;
use backstory_system::{self as system, OwnerOnly as _};
use backstory_text::sha256;

use crate::{browser_logins::BrowserLogins, problem::ApiError, random::random};

/// Hosts, token and logins that a request is checked against.
#[derive(Debug)]
pub(crate) struct AccessGuard {
    hosts: Vec<String>,
    token: String,
    logins: BrowserLogins,
}

/// The credential that a request presented. Requests over the socket and of public routes have none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Credential {
    /// The content of the token file, which only the owner can read.
    Token,
    /// The cookie of a signed-in browser, by the id of its login.
    Cookie(String),
}

/// Start of the name of a cookie that browsers accept from this host alone, and over HTTP only on loopback.
const HOST_PREFIX: &str = "__Host-";

impl AccessGuard {
    /// Creates a guard for one address and port.
    pub(crate) fn new(bind: IpAddr, port: u16, token: String, logins: BrowserLogins) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        let mut hosts = names.to_vec();
        hosts.push(SocketAddr::new(bind, port).to_string());
        if port == 80 {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(ToOwned::to_owned));
        }
        Self { hosts, token, logins }
    }

    /// Returns the signed-in browsers.
    pub(crate) fn logins(&self) -> &BrowserLogins {
        &self.logins
    }

    /// Returns the `Set-Cookie` header that signs a browser in. Not every browser accepts the `__Host-` form over HTTP.
    pub(crate) fn set_cookie(&self, secret: &str, form: CookieForm) -> String {
        const MONTH: u32 = 30 * 24 * 3600;
        let name = self.logins.cookie_name();
        let common = format!("{secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={MONTH}");
        match form {
            CookieForm::Host => format!("{HOST_PREFIX}{name}={common}; Secure"),
            CookieForm::Plain => format!("{name}={common}"),
        }
    }

    /// Checks a request and returns its credential. Public routes are checked for host and origin only.
    pub(crate) fn check(&self, request: &Parts, now: Timestamp) -> Result<Option<Credential>, ApiError> {
        let forbidden = |message: &str| ApiError::new(StatusCode::FORBIDDEN, "forbidden", message);
        let mut hosts = request.headers.get_all(HOST).iter();
        let (Some(host), None) = (hosts.next(), hosts.next()) else {
            return Err(ApiError::bad("exactly one Host header is required"));
        };
        let named = request.uri.authority().map(|authority| authority.as_str());
        if !self.is_known_host(host.to_str().ok()) || !named.is_none_or(|name| self.is_known_host(Some(name)))
        {
            return Err(forbidden("unknown host").hint("use 127.0.0.1 and the port in worker.json"));
        }
        let origin = request.headers.get(ORIGIN);
        if !origin.is_none_or(|origin| self.is_own_origin(origin)) {
            return Err(forbidden("cross-origin requests are rejected"));
        }
        if is_cross_site(&request.headers) {
            return Err(forbidden("cross-site requests are rejected"));
        }
        let credential = self.credential(&request.headers, now);
        match &credential {
            _ if is_public(&request.method, request.uri.path()) => Ok(credential),
            Some(Credential::Token) => Ok(credential),
            // A browser sends its cookie with requests of any page; only pages of this server may change anything.
            Some(Credential::Cookie(_)) if is_safe(&request.method) || origin.is_some() => Ok(credential),
            Some(Credential::Cookie(_)) => Err(forbidden("changes with a cookie need an Origin header")),
            None => Err(
                ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "not signed in")
                    .hint("send `Authorization: Bearer` with the content of the file `token` in the home folder, or run `backstory open`"),
            ),
        }
    }

    fn is_known_host(&self, host: Option<&str>) -> bool {
        host.is_some_and(|host| self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host)))
    }

    fn is_own_origin(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().ok();
        self.is_known_host(origin.and_then(|origin| origin.strip_prefix("http://")))
    }

    fn credential(&self, headers: &HeaderMap, now: Timestamp) -> Option<Credential> {
        let text = |value: &HeaderValue| value.to_str().ok().map(ToOwned::to_owned);
        let bearer = headers.get(AUTHORIZATION).and_then(text);
        let token = bearer.as_deref().and_then(|bearer| {
            let (scheme, token) = bearer.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        if let Some(token) = token {
            return constant_time_eq(token, &self.token).then_some(Credential::Token);
        }
        let own = self.logins.cookie_name();
        let login = |pair: &str| {
            let (name, secret) = pair.trim().split_once('=')?;
            let is_own = !own.is_empty() && name.strip_prefix(HOST_PREFIX).unwrap_or(name) == own;
            is_own.then(|| self.logins.find(secret, now)).flatten()
        };
        let mut cookies = headers.get_all(COOKIE).iter().filter_map(text);
        let login = cookies.find_map(|cookies| cookies.split(';').find_map(login))?;
        Some(Credential::Cookie(login.id))
    }
}

/// Form of the cookie of a signed-in browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CookieForm {
    /// With the prefix `__Host-`.
    Host,
    /// Without it.
    Plain,
}

/// Rejects a request that only a cookie authenticates: the route is for the owner of the token file.
pub(crate) fn require_owner(credential: Option<&Credential>) -> Result<(), ApiError> {
    if matches!(credential, Some(Credential::Cookie(_))) {
        let message = "a signed-in browser must not do this";
        return Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", message)
            .hint("use the command line, or the token"));
    }
    Ok(())
}

/// Returns whether a route is public: liveness, login and assets.
fn is_public(method: &Method, path: &str) -> bool {
    *method == Method::GET && (path == "/health" || path == "/login" || path.starts_with("/assets/"))
}

fn is_safe(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Returns whether the browser marks a request as cross-site. Navigations are allowed: they carry no `SameSite=Strict` cookie.
fn is_cross_site(headers: &HeaderMap) -> bool {
    const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
    let is_navigation = headers.get(MODE).is_some_and(|mode| mode == "navigate");
    is_from_elsewhere(headers) && !is_navigation
}

/// Returns whether another site, or a file, made the browser send a request.
pub(crate) fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
    let site = headers.get(SITE).and_then(|site| site.to_str().ok());
    !matches!(site, None | Some("same-origin" | "none"))
}

/// Compares two secrets in constant time.
fn constant_time_eq(one: &str, other: &str) -> bool {
    let (one, other) = (sha256(one), sha256(other));
    one.iter()
        .zip(other.iter())
        .fold(0, |different, (a, b)| different | (a ^ b))
        == 0
}

/// Returns whether the client accepts HTML, as browsers do.
pub(crate) fn wants_page(request: &Parts) -> bool {
    let accept = request.headers.get(header::ACCEPT);
    accept
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}

const CSP: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Adds the security headers to a response.
pub(crate) fn with_headers(mut response: Response<Body>) -> Response<Body> {
    let unauthorized = response.status() == StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    let mut set = |name, value| {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::CONTENT_SECURITY_POLICY, CSP);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    // `no-referrer` would strip the origin from forms of the viewer.
    set(header::REFERRER_POLICY, "same-origin");
    set(
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    );
    set(
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    );
    set(header::CACHE_CONTROL, "no-store");
    if unauthorized {
        set(header::WWW_AUTHENTICATE, "Bearer");
    }
    response
}

/// Reads the token of a home, or creates it.
pub fn token(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Ok(text) if text.trim().len() >= 32 => return Ok(text.trim().to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let token = random();
    // Renamed into place, so that a concurrent reader sees the whole token or none.
    let temporary = path.with_extension("tmp");
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .private()
        .open(&temporary)?;
    writeln!(file, "{token}")?;
    system::rename(temporary, path)?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use axum::extract::Request;

    use super::*;

    fn check(headers: &[(&str, &str)]) -> Result<(), u16> {
        let mut request = Request::builder().method("GET").uri("/api/search");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, _) = request.body(Body::empty()).unwrap().into_parts();
        let logins = BrowserLogins::at("/nonexistent/logins.json".into());
        AccessGuard::new(IpAddr::from([127, 0, 0, 1]), 4000, "t".repeat(64), logins)
            .check(&parts, Timestamp::EPOCH)
            .map(drop)
            .map_err(|problem| problem.status.as_u16())
    }

    #[test]
    fn requests_need_a_known_host_own_origin_and_a_credential() {
        let bearer = format!("Bearer {}", "t".repeat(64));
        let token = ("authorization", bearer.as_str());
        assert_eq!(check(&[("host", "127.0.0.1:4000"), token]), Ok(()));
        assert_eq!(check(&[("host", "LOCALHOST:4000"), token]), Ok(()));
        assert_eq!(check(&[("host", "[::1]:4000"), token]), Ok(()));
        for host in [
            "127.0.0.1",
            "127.0.0.1:4001",
            "localhost.evil.test:4000",
            "127.0.0.1.nip.io:4000",
            "evil.test",
            "",
            "[::ffff:127.0.0.1]:4000",
            "127.0.0.1:4000@evil.test",
        ] {
            assert_eq!(check(&[("host", host), token]), Err(403), "{host}");
        }
        assert_eq!(check(&[token]), Err(400));
        let host = ("host", "127.0.0.1:4000");
        assert_eq!(check(&[host]), Err(401));
        assert_eq!(check(&[host, ("authorization", "Bearer x")]), Err(401));
        assert_eq!(check(&[host, token, ("origin", "http://127.0.0.1:4000")]), Ok(()));
        for origin in [
            "http://127.0.0.1:4001",
            "https://127.0.0.1:4000",
            "null",
            "http://evil.test",
        ] {
            assert_eq!(check(&[host, token, ("origin", origin)]), Err(403), "{origin}");
        }
    }

    #[test]
    fn the_token_of_a_home_is_stable() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let first = token(&path).unwrap();
        assert_eq!(first.len(), 64);
        assert_eq!(token(&path).unwrap(), first);
    }
}
