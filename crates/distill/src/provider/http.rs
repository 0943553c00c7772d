//! Cancelable HTTP calls, shared by the two APIs.

use std::{
    io,
    sync::{
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, sync_channel},
    },
    thread,
    time::Duration,
};

use serde_json::Value;
use ureq::{Agent, Proxy};

use super::{CALL_TIMEOUT, Endpoint, Trouble, trouble};

/// Maximum size of an answer.
const MAX_BYTES: u64 = 4 << 20;

/// Time between two checks of the stop flag.
const POLL_INTERVAL: Duration = Duration::from_millis(25);

/// Response of a server.
pub(super) struct Response {
    status: u16,
    retry_after: Option<Duration>,
    body: String,
}

/// Posts JSON and returns the response of a successful call.
///
/// A blocked read cannot be interrupted, so the call has a thread of its own. When the call is canceled, that thread is
/// left behind; it ends with its timeout or with the process.
pub(super) fn post(
    endpoint: &Endpoint,
    path: &str,
    headers: Vec<(&'static str, String)>,
    body: &Value,
    stop: &AtomicBool,
) -> Result<Value, Trouble> {
    if endpoint.key.is_some() && !is_protected(&endpoint.base_url) {
        let message =
            "the API key is not sent over http:// to another machine; use https:// in distill.base_url";
        return Err(Trouble::NotSetUp(message.to_owned()));
    }
    let agent = agent(endpoint)?;
    let url = format!("{}{path}", endpoint.base_url.trim_end_matches('/'));
    let body = body.to_string();
    let (send, receive) = sync_channel(1);
    let spawned = thread::Builder::new()
        .name("model call".to_owned())
        .spawn(move || {
            // The receiver is gone if the call was canceled.
            send.send(call(&agent, &url, headers, &body)).ok();
        });
    spawned.map_err(|error| unreachable(&error.to_string()))?;
    loop {
        match receive.recv_timeout(POLL_INTERVAL) {
            Ok(Ok(response)) => return judge(endpoint, &response),
            Ok(Err(error)) => {
                let message = hide(endpoint, &error.to_string());
                return Err(match never_left(&error) {
                    true => unreachable(&message),
                    false => broken_off(&message),
                });
            }
            Err(RecvTimeoutError::Disconnected) => return Err(broken_off("the call failed unexpectedly")),
            Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => return Err(Trouble::Stopped),
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// Reports whether a request cannot be read on its way: it is encrypted, or does not leave the machine.
pub fn is_protected(base_url: &str) -> bool {
    let Some((scheme, rest)) = base_url.split_once("://") else {
        return false;
    };
    if scheme.eq_ignore_ascii_case("https") {
        return true;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(address) => address.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host.eq_ignore_ascii_case("localhost")
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn agent(endpoint: &Endpoint) -> Result<Agent, Trouble> {
    let proxy = endpoint.proxy.as_deref().map(Proxy::new).transpose();
    let proxy = proxy.map_err(|error| Trouble::NotSetUp(format!("the proxy cannot be used: {error}")))?;
    Ok(Agent::config_builder()
        .timeout_global(Some(CALL_TIMEOUT))
        .timeout_connect(Some(Duration::from_secs(20)))
        .http_status_as_error(false)
        // A redirect would send the key to another server.
        .max_redirects(0)
        .proxy(proxy)
        .user_agent(concat!("backstory/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent())
}

fn call(
    agent: &Agent,
    url: &str,
    headers: Vec<(&'static str, String)>,
    body: &str,
) -> Result<Response, ureq::Error> {
    let mut request = agent.post(url).header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(name, value);
    }
    let mut response = request.send(body)?;
    let retry_after = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok())
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    Ok(Response {
        status: response.status().as_u16(),
        retry_after,
        body: response
            .body_mut()
            .with_config()
            .limit(MAX_BYTES)
            .lossy_utf8(true)
            .read_to_string()?,
    })
}

/// Distinguishes an answer from an error. Both APIs, and compatible ones, put errors into `error`.
fn judge(endpoint: &Endpoint, response: &Response) -> Result<Value, Trouble> {
    let body: Option<Value> = serde_json::from_str(&response.body).ok();
    if (200..300).contains(&response.status) {
        return body.ok_or_else(|| Trouble::Nonsense("the server did not answer with JSON".to_owned()));
    }
    let error = body.as_ref().map(|body| match &body[0] {
        // Gemini wraps it in a list.
        Value::Object(first) => &first["error"],
        _ => &body["error"],
    });
    let text = |name: &str| error.and_then(|error| error[name].as_str()).unwrap_or_default();
    let message = match (text("message"), error.and_then(Value::as_str)) {
        ("", Some(message)) => message,
        (message, _) => message,
    };
    let code = match text("code") {
        "" => text("type"),
        code => code,
    };
    let message = hide(endpoint, message);
    Err(trouble::of_status(
        response.status,
        code,
        &message,
        response.retry_after,
    ))
}

fn hide(endpoint: &Endpoint, text: &str) -> String {
    match &endpoint.key {
        Some(key) => key.hide(text),
        None => text.to_owned(),
    }
}

/// Returns true if no connection was made, so that the request was not sent.
fn never_left(error: &ureq::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, HostUnreachable, InvalidData, NetworkDown, NetworkUnreachable};
    use ureq::{Error, Timeout};
    match error {
        Error::Io(error) => matches!(
            error.kind(),
            // The last is an untrusted certificate.
            ConnectionRefused | HostUnreachable | NetworkDown | NetworkUnreachable | InvalidData
        ),
        Error::Timeout(step) => matches!(step, Timeout::Resolve | Timeout::Connect),
        Error::HostNotFound
        | Error::ConnectionFailed
        | Error::ConnectProxyFailed(_)
        | Error::InvalidProxyUrl
        | Error::BadUri(_)
        | Error::Http(_)
        | Error::Tls(_)
        | Error::Rustls(_) => true,
        _ => false,
    }
}

fn broken_off(message: &str) -> Trouble {
    Trouble::BrokenOff {
        usage: None,
        message: trouble::short(message),
    }
}

fn unreachable(message: &str) -> Trouble {
    Trouble::Unreachable {
        retry_after: None,
        message: trouble::short(message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_encrypted_and_local_addresses_are_protected() {
        for url in [
            "https://api.acme.dev/v1",
            "http://localhost:11434/v1",
            "http://127.0.0.1:8080",
            "http://[::1]:8080/v1",
        ] {
            assert!(is_protected(url), "{url}");
        }
        for url in [
            "http://api.acme.dev/v1",
            "http://192.168.1.5:11434",
            "http://localhost.acme.dev",
            "http://127.0.0.1@acme.dev/",
            "acme.dev",
        ] {
            assert!(!is_protected(url), "{url}");
        }
    }
}
