//! Access control for TCP: only the owner of the home is served.
//!
//! Any web page can make a browser send requests to this machine. Such a request names another host (DNS rebinding),
//! another origin, or has no token; each of these alone is enough to reject it.

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
use backstory_system::{self as system, OwnerOnly as _};
use backstory_text::{hex, sha256, sha256_hex};

use crate::problem::ApiError;

/// Hosts, token and cookie that a request is checked against.
#[derive(Debug)]
pub(crate) struct AccessGuard {
    hosts: Vec<String>,
    token: String,
    cookie_name: String,
    cookie: String,
}

/// The credential that a request presented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Credential {
    Token,
    Cookie,
}

impl AccessGuard {
    /// Creates a guard for one address, port and token.
    pub(crate) fn new(bind: IpAddr, port: u16, token: String) -> Self {
        let names = ["127.0.0.1", "localhost", "[::1]"].map(|name| format!("{name}:{port}"));
        let mut hosts = names.to_vec();
        hosts.push(SocketAddr::new(bind, port).to_string());
        if port == 80 {
            hosts.extend(["127.0.0.1", "localhost", "[::1]"].map(ToOwned::to_owned));
        }
        // Derived from the token, so that a new token invalidates all cookies.
        let cookie = sha256_hex(format!("cookie of {token}"));
        Self {
            hosts,
            token,
            // Cookies are shared between ports: two homes must not sign each other out.
            cookie_name: format!("backstory_{port}"),
            cookie,
        }
    }

    /// Returns the `Set-Cookie` header that signs a browser in.
    pub(crate) fn set_cookie(&self) -> String {
        const YEAR: u32 = 365 * 24 * 3600;
        format!(
            "{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age={YEAR}",
            self.cookie_name, self.cookie
        )
    }

    /// Checks a request. Public routes are checked for host and origin only.
    pub(crate) fn check(&self, request: &Parts) -> Result<(), ApiError> {
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
        if is_public(&request.method, request.uri.path()) {
            return Ok(());
        }
        match self.credential(&request.headers) {
            Some(Credential::Token) => Ok(()),
            // A browser sends its cookie with requests of any page; only pages of this server may change anything.
            Some(Credential::Cookie) if is_safe(&request.method) || origin.is_some() => Ok(()),
            Some(Credential::Cookie) => Err(forbidden("changes with a cookie need an Origin header")),
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

    fn credential(&self, headers: &HeaderMap) -> Option<Credential> {
        let text = |value: &HeaderValue| value.to_str().ok().map(ToOwned::to_owned);
        let bearer = headers.get(AUTHORIZATION).and_then(text);
        let token = bearer.as_deref().and_then(|bearer| {
            let (scheme, token) = bearer.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then_some(token.trim())
        });
        if let Some(token) = token {
            return constant_time_eq(token, &self.token).then_some(Credential::Token);
        }
        let cookies = headers.get_all(COOKIE).iter().filter_map(text);
        let is_valid = |cookies: String| {
            cookies.split(';').any(|pair| {
                let (name, value) = pair.trim().split_once('=').unwrap_or_default();
                name == self.cookie_name && constant_time_eq(value, &self.cookie)
            })
        };
        cookies.into_iter().any(is_valid).then_some(Credential::Cookie)
    }
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
    const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
    const MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
    let site = headers.get(SITE).and_then(|site| site.to_str().ok());
    let is_navigation = headers.get(MODE).is_some_and(|mode| mode == "navigate");
    !matches!(site, None | Some("same-origin" | "none")) && !is_navigation
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

/// Returns 256 random bits as hex digits.
pub(crate) fn random() -> String {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).expect("the operating system provides randomness");
    hex(&bytes)
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
        AccessGuard::new(IpAddr::from([127, 0, 0, 1]), 4000, "t".repeat(64))
            .check(&parts)
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
