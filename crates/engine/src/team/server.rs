//! Requests to the team's server.
//!
//! Blocking: only the worker's team thread and commands make them, never a hook, a search or a session start. A redirect is not
//! followed, because it would send the credential to another server.

use std::{fmt, time::Duration};

use backstory_protocol::{
    AuditAnswer, DEVICE_HEADER, DeviceId, Epoch, ErrorAnswer, ErrorCode, FeedbackAnswer, FeedbackRequest,
    ForgetAnswer, ForgetRequest, JoinAnswer, JoinRequest, Me, ProjectRequest, PullLine, PushLine, PushResult,
    STREAM_TYPE, SearchAnswer, SearchRequest, ServerInfo, SharedProject, SharedProjectId, Trailer, limits,
    stream,
};
use serde::{Serialize, de::DeserializeOwned};
use ureq::{Agent, Proxy, RequestBuilder, http::Response, typestate::WithBody, typestate::WithoutBody};

use super::identity::Membership;
use crate::{engine::Engine, error::HintedError};

/// Longest time for a request that does not wait for news.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The most bytes of an answer that is read: a page, deflated or not.
const MAX_ANSWER_BYTES: u64 = 16 << 20;

/// A server as this device reaches it.
#[derive(Clone, Debug)]
pub struct TeamServer {
    agent: Agent,
    base: String,
    device: Option<DeviceId>,
    token: Option<String>,
    timeout: Duration,
}

/// Reports why a request failed.
#[derive(Debug)]
pub enum TeamServerError {
    /// There was no answer.
    Unreachable(String),
    /// The server refused.
    Refused {
        /// The code.
        code: ErrorCode,
        /// The message.
        message: String,
        /// The earliest time for another attempt.
        retry_after: Option<Duration>,
    },
    /// The answer cannot be read: another program answers, or a newer version.
    Unreadable(String),
}

impl fmt::Display for TeamServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable(why) => write!(f, "the team's server does not answer: {why}"),
            Self::Refused { message, .. } => write!(f, "the team's server refused: {message}"),
            Self::Unreadable(why) => write!(f, "the team's server answers something else: {why}"),
        }
    }
}

impl std::error::Error for TeamServerError {}

impl TeamServerError {
    /// Returns the code of a refusal.
    pub fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            _ => None,
        }
    }
}

type Outcome<T> = Result<T, TeamServerError>;

impl TeamServer {
    /// Prepares to ask a server as somebody who has not joined.
    pub fn at(engine: &Engine, url: &str) -> anyhow::Result<Self> {
        let base = url.trim_end_matches('/').to_owned();
        if !backstory_distill::is_protected(&base) {
            return Err(
                HintedError::new(format_args!("{base} is not used: others could read along"))
                    .hint("a server on another machine needs an https:// address")
                    .into(),
            );
        }
        let proxy = engine
            .environment
            .proxy(&base)
            .as_deref()
            .map(Proxy::new)
            .transpose()?;
        let agent = Agent::config_builder()
            .timeout_connect(Some(Duration::from_secs(10)))
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(proxy)
            .user_agent(concat!("backstory/", env!("CARGO_PKG_VERSION")))
            .build()
            .new_agent();
        Ok(Self {
            agent,
            base,
            device: None,
            token: None,
            timeout: TIMEOUT,
        })
    }

    /// Returns the same server with another time limit for requests.
    pub(crate) fn within(&self, timeout: Duration) -> Self {
        Self {
            timeout,
            ..self.clone()
        }
    }

    /// Prepares to ask a server as a member.
    pub fn of_member(engine: &Engine, member: &Membership, device: DeviceId) -> anyhow::Result<Self> {
        Ok(Self {
            device: Some(device),
            token: Some(member.token.clone()),
            ..Self::at(engine, &member.url)?
        })
    }

    /// Returns what the server says about itself.
    pub fn info(&self) -> Outcome<ServerInfo> {
        self.get_json("/v1/info")
    }

    /// Registers this device.
    pub fn join(&self, request: &JoinRequest) -> Outcome<JoinAnswer> {
        self.send_json(self.agent.post(self.url("/v1/devices")), request)
    }

    /// Revokes this device.
    pub fn leave(&self, device: DeviceId) -> Outcome<()> {
        let request = self.agent.delete(self.url(&format!("/v1/devices/{device}")));
        self.call(request, self.timeout).map(drop)
    }

    /// Returns the account, its projects and the people in them.
    pub fn me(&self) -> Outcome<Me> {
        self.get_json("/v1/me")
    }

    /// Creates a shared project, or returns the one with this key.
    pub fn put_project(&self, request: &ProjectRequest) -> Outcome<SharedProject> {
        self.send_json(self.agent.put(self.url("/v1/projects")), request)
    }

    /// Deletes records of a project for good.
    pub fn forget(&self, project: SharedProjectId, request: &ForgetRequest) -> Outcome<ForgetAnswer> {
        let url = self.url(&format!("/v1/projects/{project}/forget"));
        self.send_json(self.agent.post(url), request)
    }

    /// Sends the account's opinions about records.
    pub fn feedback(&self, project: SharedProjectId, request: &FeedbackRequest) -> Outcome<FeedbackAnswer> {
        let url = self.url(&format!("/v1/projects/{project}/feedback"));
        self.send_json(self.agent.post(url), request)
    }

    /// Returns the latest entries of a project's audit log.
    pub fn audit(&self, project: SharedProjectId) -> Outcome<AuditAnswer> {
        self.get_json(&format!("/v1/projects/{project}/audit"))
    }

    /// Searches records.
    pub fn search(&self, request: &SearchRequest) -> Outcome<SearchAnswer> {
        self.send_json(self.agent.post(self.url("/v1/search")), request)
    }

    /// Sends records and deletions; returns one result per line.
    pub fn push(&self, project: SharedProjectId, lines: &[PushLine]) -> Outcome<Vec<PushResult>> {
        let lines: Result<Vec<String>, _> = lines.iter().map(PushLine::to_line).collect();
        let lines = lines.map_err(unreadable)?;
        let body = stream::encode(lines.iter().map(String::as_str));
        let url = self.url(&format!("/v1/projects/{project}/records"));
        let request = self
            .with_headers(self.agent.post(url))
            .header("content-type", STREAM_TYPE);
        let request = request.config().timeout_global(Some(self.timeout)).build();
        let answer = read(request.send(&body[..]))?;
        let inflated = stream::decode(&answer).map_err(unreadable)?;
        let mut results = Vec::new();
        for line in stream::lines(&inflated) {
            // The last line is the trailer.
            if serde_json::from_slice::<Trailer>(line).is_err() {
                results.push(serde_json::from_slice(line).map_err(unreadable)?);
            }
        }
        Ok(results)
    }

    /// Returns the changes after a sequence number; waits for news if there are none.
    pub fn pull(
        &self,
        project: SharedProjectId,
        epoch: Option<Epoch>,
        after: i64,
        wait: Duration,
    ) -> Outcome<(Vec<PullLine>, Trailer)> {
        let epoch = epoch.map(|epoch| format!("epoch={epoch}&")).unwrap_or_default();
        let url = self.url(&format!(
            "/v1/projects/{project}/records?{epoch}after={after}&limit={}&wait={}",
            limits::MAX_PULL_RECORDS,
            wait.as_secs()
        ));
        let answer = self.call(self.agent.get(url), self.timeout + wait)?;
        let inflated = stream::decode(&answer).map_err(unreadable)?;
        let mut lines = Vec::new();
        for line in stream::lines(&inflated) {
            match PullLine::parse(line) {
                Ok(PullLine::Trailer(trailer)) => return Ok((lines, trailer)),
                Ok(line) => lines.push(line),
                // A line of a newer version concerns no other.
                Err(_) => {}
            }
        }
        Err(unreadable("the answer was cut off"))
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    fn with_headers<B>(&self, mut request: RequestBuilder<B>) -> RequestBuilder<B> {
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if let Some(device) = self.device {
            request = request.header(DEVICE_HEADER, device.to_string());
        }
        request
    }

    fn call(&self, request: RequestBuilder<WithoutBody>, timeout: Duration) -> Outcome<Vec<u8>> {
        let request = self.with_headers(request);
        read(request.config().timeout_global(Some(timeout)).build().call())
    }

    fn get_json<T: DeserializeOwned>(&self, path: &str) -> Outcome<T> {
        let body = self.call(self.agent.get(self.url(path)), self.timeout)?;
        serde_json::from_slice(&body).map_err(unreadable)
    }

    fn send_json<T: DeserializeOwned>(
        &self,
        request: RequestBuilder<WithBody>,
        body: &impl Serialize,
    ) -> Outcome<T> {
        let body = serde_json::to_vec(body).map_err(unreadable)?;
        let request = self
            .with_headers(request)
            .header("content-type", "application/json");
        let request = request.config().timeout_global(Some(self.timeout)).build();
        let answer = read(request.send(&body[..]))?;
        serde_json::from_slice(&answer).map_err(unreadable)
    }
}

fn unreadable(why: impl fmt::Display) -> TeamServerError {
    TeamServerError::Unreadable(why.to_string())
}

/// Reads an answer; an error of the server becomes one of ours.
fn read(response: Result<Response<ureq::Body>, ureq::Error>) -> Outcome<Vec<u8>> {
    let unreachable = |error: ureq::Error| TeamServerError::Unreachable(error.to_string());
    let mut response = response.map_err(unreachable)?;
    let status = response.status().as_u16();
    let retry_after = response
        .headers()
        .get("retry-after")
        .and_then(|value| value.to_str().ok()?.trim().parse().ok())
        .map(Duration::from_secs);
    let body = response
        .body_mut()
        .with_config()
        .limit(MAX_ANSWER_BYTES)
        .read_to_vec()
        .map_err(unreachable)?;
    if (200..300).contains(&status) {
        return Ok(body);
    }
    match serde_json::from_slice::<ErrorAnswer>(&body) {
        Ok(answer) => Err(TeamServerError::Refused {
            code: answer.error.code,
            message: backstory_text::one_line(&answer.error.message, 300),
            retry_after,
        }),
        // A proxy in front of the server answers in its own words.
        Err(_) if status >= 500 => Err(TeamServerError::Unreachable(format!("status {status}"))),
        Err(_) => Err(unreadable(format_args!("status {status}"))),
    }
}
