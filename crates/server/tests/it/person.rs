//! A person with one device, who sends requests to a server. Also included by benchmarks with `#[path]`.
#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests and benchmarks fail by panicking, and none of them needs everything"
)]

use std::{
    io::Read as _,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use backstory_protocol::{
    AccountId, DEVICE_HEADER, DeletionReason, DeviceId, ErrorAnswer, ErrorCode, JoinAnswer, JoinRequest,
    PullLine, PushLine, PushResult, PushStatus, RecordId, RejectReason, STREAM_TYPE, SharedKind,
    SharedProject, SignedRecord, TeamRecord, Tombstone, Trailer, signature::DeviceSigner, stream,
};
use serde::{Serialize, de::DeserializeOwned};
use ureq::{
    Agent,
    http::{Request, Response},
};

/// A person with one device.
pub(crate) struct Person {
    pub(crate) url: String,
    pub(crate) account: AccountId,
    pub(crate) device: DeviceId,
    pub(crate) signer: DeviceSigner,
    pub(crate) token: String,
    agent: Agent,
}

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: ureq::http::HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    /// Parses the body of a success.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> T {
        assert_eq!(self.status, 200, "{}", self.text());
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Returns the code of an error.
    pub(crate) fn error(&self) -> ErrorCode {
        let answer: ErrorAnswer =
            serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()));
        assert_eq!(answer.error.code.status(), self.status);
        answer.error.code
    }

    /// Returns the lines of a record stream.
    pub(crate) fn lines(&self) -> Vec<Vec<u8>> {
        assert_eq!(self.status, 200, "{}", self.text());
        assert_eq!(self.headers["content-type"], STREAM_TYPE);
        let inflated = decode(&self.body);
        stream::lines(&inflated).map(<[u8]>::to_vec).collect()
    }

    pub(crate) fn text(&self) -> String {
        format!("{} {}", self.status, String::from_utf8_lossy(&self.body))
    }
}

/// Inflates a stream of any length.
fn decode(mut rest: &[u8]) -> Vec<u8> {
    let mut lines = Vec::new();
    while let Some((header, after)) = rest.split_first_chunk() {
        let (frame, after) = after.split_at(stream::frame_length(*header).unwrap());
        lines.extend(stream::inflate(frame, usize::MAX).unwrap());
        rest = after;
    }
    lines
}

/// The results of a push.
pub(crate) struct Pushed {
    pub(crate) results: Vec<PushResult>,
    pub(crate) trailer: Trailer,
}

impl Pushed {
    pub(crate) fn statuses(&self) -> Vec<PushStatus> {
        self.results.iter().map(|result| result.status).collect()
    }
}

/// A page of changes.
pub(crate) struct Pulled {
    pub(crate) changes: Vec<PullLine>,
    pub(crate) trailer: Trailer,
}

fn agent() -> Agent {
    Agent::config_builder()
        .http_status_as_error(false)
        .max_idle_connections_per_host(64)
        .timeout_global(Some(Duration::from_secs(60)))
        .build()
        .new_agent()
}

/// Returns bytes that differ with every call.
pub(crate) fn unique<const N: usize>() -> [u8; N] {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let number = NEXT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let mut bytes = [7; N];
    bytes[..8].copy_from_slice(&number);
    bytes
}

/// Sends a request without a token.
pub(crate) fn anonymous(method: &str, url: &str, body: &[u8]) -> Answer {
    send(&agent(), Request::builder().method(method).uri(url), body).unwrap()
}

fn send(agent: &Agent, request: ureq::http::request::Builder, body: &[u8]) -> Result<Answer, ureq::Error> {
    let response: Response<ureq::Body> = agent.run(request.body(body.to_vec())?)?;
    let (parts, body) = response.into_parts();
    let mut bytes = Vec::new();
    body.into_reader().read_to_end(&mut bytes)?;
    Ok(Answer {
        status: parts.status.as_u16(),
        headers: parts.headers,
        body: bytes,
    })
}

impl Person {
    /// Joins with an invitation.
    pub(crate) fn join(url: &str, code: &str, name: &str) -> Self {
        let signer = DeviceSigner::from_secret(&unique());
        let device = DeviceId(unique());
        let request = JoinRequest {
            code: code.to_owned(),
            name: name.to_owned(),
            device,
            device_name: format!("{name}'s laptop"),
            public_key: signer.public_key(),
        };
        let answer = anonymous(
            "POST",
            &format!("{url}/v1/devices"),
            &serde_json::to_vec(&request).unwrap(),
        );
        let joined: JoinAnswer = answer.json();
        Self {
            url: url.to_owned(),
            account: joined.account,
            device,
            signer,
            token: joined.token,
            agent: agent(),
        }
    }

    /// Returns the same person with another token or device.
    pub(crate) fn with(&self, token: &str, device: DeviceId) -> Self {
        Self {
            url: self.url.clone(),
            account: self.account,
            device,
            signer: DeviceSigner::from_secret(&unique()),
            token: token.to_owned(),
            agent: agent(),
        }
    }

    /// Sends a request.
    pub(crate) fn request(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        self.request_with(method, path, body, &[])
    }

    /// Sends a request with further headers.
    pub(crate) fn request_with(
        &self,
        method: &str,
        path: &str,
        body: &[u8],
        headers: &[(&str, &str)],
    ) -> Answer {
        self.try_request(method, path, body, headers).unwrap()
    }

    /// Sends a request; fails if the connection does.
    pub(crate) fn try_request(
        &self,
        method: &str,
        path: &str,
        body: &[u8],
        headers: &[(&str, &str)],
    ) -> Result<Answer, ureq::Error> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.url))
            .header(DEVICE_HEADER, self.device.to_string())
            .header("authorization", format!("Bearer {}", self.token));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        send(&self.agent, request, body)
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, b"")
    }

    pub(crate) fn post(&self, path: &str, body: &impl Serialize) -> Answer {
        self.request("POST", path, &serde_json::to_vec(body).unwrap())
    }

    /// Shares a project with the person's only team.
    pub(crate) fn project(&self, key: &str) -> SharedProject {
        let body = serde_json::json!({"key": key, "name": key});
        self.request("PUT", "/v1/projects", body.to_string().as_bytes())
            .json()
    }

    /// Makes a record of this person.
    pub(crate) fn record(&self, title: &str) -> TeamRecord {
        TeamRecord {
            v: TeamRecord::FORMAT,
            id: RecordId(unique()),
            version: 1,
            kind: SharedKind::Observation,
            observation_type: None,
            title: title.to_owned(),
            subtitle: String::new(),
            narrative: String::new(),
            facts: Vec::new(),
            concepts: Vec::new(),
            files: Vec::new(),
            branch: None,
            commit: None,
            created_at: "2026-11-16T09:30:00Z".parse().unwrap(),
            supersedes: Vec::new(),
            author: "Ana".to_owned(),
            device: self.device,
            encoder: None,
            embedding: None,
        }
    }

    /// Signs a record for a project.
    pub(crate) fn sign(&self, project: &SharedProject, record: &TeamRecord) -> PushLine {
        let body = record.to_body().unwrap();
        PushLine::Put(SignedRecord {
            id: record.id,
            version: record.version,
            kind: record.kind,
            signature: self.signer.sign(&project.key, record.id, record.version, &body),
            body,
        })
    }

    /// Pushes raw lines.
    pub(crate) fn push_raw(&self, project: &SharedProject, lines: &[String]) -> Answer {
        let body = stream::encode(lines.iter().map(String::as_str));
        self.request("POST", &format!("/v1/projects/{}/records", project.id), &body)
    }

    /// Pushes lines.
    pub(crate) fn push(&self, project: &SharedProject, lines: &[PushLine]) -> Pushed {
        let lines: Vec<String> = lines.iter().map(|line| line.to_line().unwrap()).collect();
        pushed(&self.push_raw(project, &lines))
    }

    /// Pushes one new record and returns it.
    pub(crate) fn share(&self, project: &SharedProject, title: &str) -> TeamRecord {
        let record = self.record(title);
        let pushed = self.push(project, &[self.sign(project, &record)]);
        assert!(
            matches!(pushed.statuses()[..], [PushStatus::Stored { .. }]),
            "{:?}",
            pushed.results
        );
        record
    }

    /// Pulls the changes after a cursor.
    pub(crate) fn pull(&self, project: &SharedProject, after: i64, query: &str) -> Pulled {
        pulled(&self.get(&pull_path(project, after, query)))
    }

    /// Fetches all live records.
    pub(crate) fn snapshot(&self, project: &SharedProject) -> Pulled {
        pulled(&self.get(&format!("/v1/projects/{}/snapshot", project.id)))
    }
}

/// Returns the path of a pull.
pub(crate) fn pull_path(project: &SharedProject, after: i64, query: &str) -> String {
    format!(
        "/v1/projects/{}/records?epoch={}&after={after}{query}",
        project.id, project.epoch
    )
}

/// Reads the answer to a push.
pub(crate) fn pushed(answer: &Answer) -> Pushed {
    let lines = answer.lines();
    let (trailer, results) = lines.split_last().unwrap();
    Pushed {
        results: results
            .iter()
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect(),
        trailer: serde_json::from_slice(trailer).unwrap(),
    }
}

/// Reads the answer to a pull.
pub(crate) fn pulled(answer: &Answer) -> Pulled {
    let mut changes: Vec<PullLine> = answer
        .lines()
        .iter()
        .map(|line| PullLine::parse(line).unwrap())
        .collect();
    let Some(PullLine::Trailer(trailer)) = changes.pop() else {
        panic!("no trailer");
    };
    Pulled { changes, trailer }
}

/// Makes a tombstone.
pub(crate) fn tombstone(record: &TeamRecord, version: u32, reason: DeletionReason) -> PushLine {
    PushLine::Delete(Tombstone {
        id: record.id,
        version,
        reason,
    })
}

/// Returns a rejection.
pub(crate) fn rejected(reason: RejectReason) -> PushStatus {
    PushStatus::Rejected { reason }
}

/// Returns the titles of pulled records, and the ids of tombstones.
pub(crate) fn summary(changes: &[PullLine]) -> Vec<String> {
    changes
        .iter()
        .map(|change| match change {
            PullLine::Record(record) => TeamRecord::parse(&record.record.body).unwrap().title,
            PullLine::Tombstone(_, tombstone) => format!("{:?}", tombstone.reason),
            PullLine::Feedback(_, feedback) => format!("feedback {}", feedback.verdict),
            PullLine::Trailer(_) => "trailer".to_owned(),
        })
        .collect()
}
